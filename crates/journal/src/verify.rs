//! Looks through a journal's directory without changing anything in it.
//!
//! Opening stops at the first thing that is wrong, and reads the last segment only. This reads every record of every
//! segment, and goes on behind what is damaged.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use host::disk::Disk;

use crate::error::{Doing, FileError};
use crate::journal::{TornTail, check_place};
use crate::record::RECORD_HEADER_BYTES;
use crate::scan::{self, Tail, later_headers};
use crate::segment::{Segment, UNFINISHED_SUFFIX, parse_log_name};
use crate::{DiskError, Lsn};

/// After so many pieces of damage in one segment it is left alone: finding the next intact record takes a while.
const DAMAGES_PER_SEGMENT_MAX: usize = 8;

/// What [`verify`] came across.
#[derive(Debug)]
pub enum Found {
    /// A segment, read to its end.
    Segment(VerifiedSegment),
    /// Something that a file should not hold, or that can't be read.
    Wrong(FileError),
    /// A write at the end that a crash had cut short. The next start cuts it off.
    Torn(TornTail),
    /// A file that was being made when a crash came; the next start removes it. Or one that was given up by
    /// [`crate::cut`].
    Leftover(PathBuf),
}

/// A segment whose records were read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedSegment {
    pub file: PathBuf,
    pub base: Lsn,
    /// Where its records end.
    pub end: Lsn,
    /// How many are intact.
    pub records: u64,
}

/// Checks every segment, the oldest first, and tells `each` what there is. Spares hold nothing, and are not looked at.
///
/// Nothing else may append to the journal meanwhile.
pub fn verify(disk: &dyn Disk, dir: &Path, each: &mut dyn FnMut(Found)) -> Result<(), DiskError> {
    let names = disk.list(dir).doing("list directory", dir)?;
    for name in &names {
        if name.ends_with(UNFINISHED_SUFFIX) || name.ends_with(".given-up") {
            each(Found::Leftover(dir.join(name)));
        }
    }
    let logs: Vec<(Lsn, &String)> = names.iter().filter_map(|name| Some((parse_log_name(name)?, name))).collect();
    let mut before: Option<Segment> = None;
    for (index, &(named, name)) in logs.iter().enumerate() {
        let segment = match Segment::open(disk, dir.join(name)) {
            Ok(segment) => segment,
            Err(error) => {
                each(Found::Wrong(error));
                before = None;
                continue;
            }
        };
        if let Err(corruption) = check_place(&segment, named, before.as_ref()) {
            each(Found::Wrong(corruption.into()));
        }
        let verified = match logs.get(index + 1) {
            Some(&(next, _)) if segment.base() <= next && next <= segment.limit() => verify_full(&segment, next, each)?,
            Some(_) => verify_full(&segment, segment.base(), each)?,
            None => verify_last(&segment, each)?,
        };
        each(Found::Segment(verified));
        before = Some(segment);
    }
    Ok(())
}

/// A segment before the last: its records reach to where the next one begins.
fn verify_full(segment: &Segment, to: Lsn, each: &mut dyn FnMut(Found)) -> Result<VerifiedSegment, DiskError> {
    let mut verified = none_read(segment, to);
    let mut from = segment.base();
    for _ in 0..DAMAGES_PER_SEGMENT_MAX {
        let (reached, damage) = count(segment, from, to, &mut verified.records)?;
        let Some(damage) = damage else { break };
        each(Found::Wrong(damage));
        let later = later_headers(segment, reached.0 + 1, to.0)?;
        match later.first() {
            Some(header) => from = header.lsn,
            None => break,
        }
    }
    Ok(verified)
}

fn verify_last(segment: &Segment, each: &mut dyn FnMut(Found)) -> Result<VerifiedSegment, DiskError> {
    match scan::find_tail(segment) {
        Ok(Tail { end, torn_until, .. }) => {
            if let Some(until) = torn_until {
                let (file, byte, bytes) = (segment.path.clone(), segment.offset(end.0), until.0 - end.0);
                each(Found::Torn(TornTail { file, byte, bytes }));
            }
            verify_full(segment, end, each)
        }
        Err(FileError::Disk(error)) => Err(error),
        Err(error) => {
            each(Found::Wrong(error));
            Ok(none_read(segment, segment.base()))
        }
    }
}

fn none_read(segment: &Segment, end: Lsn) -> VerifiedSegment {
    VerifiedSegment { file: segment.path.clone(), base: segment.base(), end, records: 0 }
}

/// Counts intact records from `from` on. Gives where they end, and what is wrong there if that is before `to`.
fn count(segment: &Segment, from: Lsn, to: Lsn, records: &mut u64) -> Result<(Lsn, Option<FileError>), DiskError> {
    let mut reached = from;
    let each = &mut |lsn: Lsn, payload: &[u8]| {
        *records += 1;
        reached = Lsn(lsn.0 + RECORD_HEADER_BYTES + payload.len() as u64);
        ControlFlow::Continue(())
    };
    match scan::walk(segment, from, to, each) {
        Ok(_) => Ok((reached, None)),
        Err(FileError::Disk(error)) => Err(error),
        Err(damage) => Ok((reached, Some(damage))),
    }
}
