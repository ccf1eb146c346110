//! For people: prints what a file holds, and cuts a damaged journal off.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use host::disk::{Disk, File};

use crate::block_file::{BlockFile, Kind, PAGE, SNAPSHOT};
use crate::error::{Doing, FileError};
use crate::record::RecordHeader;
use crate::scan::{Found, RecordReader, Tail, find_tail, later_headers};
use crate::segment::{SEGMENT_HEADER_BYTES, Segment, SegmentHeader, log_name, parse_log_name};
use crate::spares::write_zeros;
use crate::{DiskError, Lsn};

/// What the bytes that are to be described are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// The payload of the record with this LSN.
    Record(Lsn),
    /// A snapshot as of this LSN.
    Snapshot(Lsn),
    /// The page with this number.
    Page(u64),
}

/// Why a file could not be printed.
#[derive(Debug)]
pub enum DumpError {
    File(FileError),
    /// It could be read, but not printed.
    Output(io::Error),
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Output(error) => write!(f, "cannot print: {error}"),
        }
    }
}

impl std::error::Error for DumpError {}

impl<E: Into<FileError>> From<E> for DumpError {
    fn from(error: E) -> Self {
        Self::File(error.into())
    }
}

/// Prints a segment, a spare, a snapshot or a page, whatever it is named, record by record. Changes nothing.
///
/// Damage inside a segment is part of what is printed, and the records behind it are listed as far as they are found.
///
/// Errors: if the file's header is damaged or of a newer version, or the output is closed.
pub fn dump(
    disk: &dyn Disk,
    path: &Path,
    out: &mut dyn io::Write,
    describe: &dyn Fn(Content, &[u8]) -> String,
) -> Result<(), DumpError> {
    let file = disk.open(path).doing("open", path)?;
    let mut magic = [0; 8];
    file.read_at(0, &mut magic).doing("read", path)?;
    match magic {
        _ if magic == SNAPSHOT.magic => dump_block_file(disk, path, &SNAPSHOT, out, describe),
        _ if magic == PAGE.magic => dump_block_file(disk, path, &PAGE, out, describe),
        _ if magic == [0; 8] && file.len().doing("measure", path)? > 0 => {
            writeln!(out, "zeros: a spare segment that was never used, or no file of ours").map_err(DumpError::Output)
        }
        _ => dump_segment(file, path, out, describe),
    }
}

fn dump_block_file(
    disk: &dyn Disk,
    path: &Path,
    kind: &Kind,
    out: &mut dyn io::Write,
    describe: &dyn Fn(Content, &[u8]) -> String,
) -> Result<(), DumpError> {
    let file = BlockFile::open(disk, path.to_path_buf(), kind)?;
    let number = file.header.number;
    let (title, content) = if kind.magic == SNAPSHOT.magic {
        (format!("snapshot as of LSN {number}"), Content::Snapshot(Lsn(number)))
    } else {
        (format!("page {number}"), Content::Page(number))
    };
    writeln!(out, "{title}, {} bytes", file.header.body_bytes).map_err(DumpError::Output)?;
    let bytes = file.read_all()?;
    writeln!(out, "{}", describe(content, &bytes)).map_err(DumpError::Output)
}

fn dump_segment(
    file: Box<dyn File>,
    path: &Path,
    out: &mut dyn io::Write,
    describe: &dyn Fn(Content, &[u8]) -> String,
) -> Result<(), DumpError> {
    let header = SegmentHeader::read(file.as_ref(), path)?;
    let SegmentHeader { identity, base, previous, capacity } = header;
    let segment = Segment::new(header, path.to_path_buf(), file, base);
    let after = if previous == Lsn(0) { "the first".to_owned() } else { format!("after {}", log_name(previous)) };
    writeln!(out, "segment of journal {identity:016x}, base LSN {base}, {capacity} bytes, {after}")
        .map_err(DumpError::Output)?;
    let mut end = print_records(&segment, base, out, describe)?;
    let tail = match find_tail(&segment) {
        Ok(Tail { torn_until: Some(until), .. }) => format!("end of the records, then {} torn bytes", until.0 - end.0),
        Ok(Tail { torn_until: None, .. }) => "end of the records".to_owned(),
        Err(FileError::Corrupt(corruption)) => corruption.to_string(),
        Err(error) => return Err(error.into()),
    };
    writeln!(out, "LSN {end}  byte {}  {tail}", segment.offset(end.0)).map_err(DumpError::Output)?;
    for later in later_headers(&segment, end.0 + 1, segment.limit().0)? {
        // What was printed already or lies in a printed payload doesn't count.
        if end < later.lsn {
            writeln!(out, "LSN {}  byte {}  goes on", later.lsn, segment.offset(later.lsn.0))
                .map_err(DumpError::Output)?;
            end = print_records(&segment, later.lsn, out, describe)?;
        }
    }
    Ok(())
}

/// Prints the records from `from` on, and returns where they end.
fn print_records(
    segment: &Segment,
    from: Lsn,
    out: &mut dyn io::Write,
    describe: &dyn Fn(Content, &[u8]) -> String,
) -> Result<Lsn, DumpError> {
    let mut records = RecordReader::new(segment, from, segment.limit());
    while let Found::Record(RecordHeader { lsn, .. }, payload) = records.next()? {
        let (byte, length) = (segment.offset(lsn.0), payload.len());
        let described = describe(Content::Record(lsn), payload);
        writeln!(out, "LSN {lsn}  byte {byte}  {length} bytes  {described}").map_err(DumpError::Output)?;
    }
    Ok(records.position())
}

/// Gives up the record at `byte` of a segment and everything that was written after it, so that the journal opens again.
///
/// The rest of the segment is filled with zeros, and later segments get `.given-up` added to their names, which are
/// returned. Nothing else may use the directory meanwhile.
pub fn cut(disk: &dyn Disk, path: &Path, byte: u64) -> Result<Vec<PathBuf>, FileError> {
    let segment = Segment::open(disk, path.to_path_buf())?;
    let dir = path.parent().unwrap_or(Path::new("."));
    let names = disk.list(dir).doing("list directory", dir)?;
    let mut given_up = Vec::new();
    for name in names.iter().rev().filter(|name| parse_log_name(name).is_some_and(|base| base > segment.base())) {
        let path = dir.join(format!("{name}.given-up"));
        disk.rename(&dir.join(name), &path).doing("rename segment", &path)?;
        // The newest first, one by one: a crash here leaves a journal without a hole.
        disk.sync_dir(dir).doing("sync directory", dir)?;
        given_up.push(path);
    }
    let byte = byte.clamp(SEGMENT_HEADER_BYTES, segment.header.capacity);
    let cut = |rest| -> Result<(), DiskError> {
        write_zeros(segment.file.as_ref(), byte, rest).doing("write segment", path)?;
        segment.file.sync_data().doing("sync segment", path)
    };
    cut(segment.header.capacity - byte)?;
    Ok(given_up)
}
