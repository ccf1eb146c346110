//! The journal: appends records, reads them back, drops old segments.
//!
//! ```text
//!   append ──▶ active segment ──full──▶ roll: header into a spare, sync, rename to its base LSN, sync the directory
//!                   ▲                                  ▲
//!   trim ──▶ old segments ──rename──▶ spares ──────────┘
//!                                       ▲
//!   prepare_spare (in the background) ──┘  preallocated and filled with zeros
//! ```
//!
//! A sync of a file that has its length and its blocks already writes data and nothing else, about half the work of a sync
//! of a growing file. A recycled segment still holds old records, but theirs are other positions.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};

use bytes::Bytes;
use host::disk::Disk;

use crate::error::{Corruption, Doing, FileError, Remedy};
use crate::record::{HEADER, RECORD_HEADER_BYTES, RecordHeader};
use crate::scan::{self, Tail};
use crate::segment::{SEGMENT_HEADER_BYTES, Segment, SegmentHeader, log_name, parse_log_name};
use crate::spares::{Spare, Spares};
use crate::{AppendError, DiskError, Lsn, ReadError, ReplayError};

/// When a record counts as written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SyncMode {
    /// When the disk says that it is safe.
    #[default]
    Fsync,
    /// When the operating system has it: it survives the program, not a power cut.
    Os,
}

/// How the journal lays out its files.
#[derive(Clone, Debug)]
pub struct Options {
    pub sync: SyncMode,
    /// Length of a segment's file. A record never spans two.
    pub segment_bytes: u64,
    /// Length of the very first segment, which is made while someone waits for the start.
    pub first_segment_bytes: u64,
    /// Longest payload.
    pub record_bytes_max: u32,
    /// How many old segments are kept to be used again.
    pub spares_max: usize,
    /// A random number that tells a new journal's files from those of any other; an existing journal keeps its own.
    pub identity: u64,
    /// LSN of a new journal's first record. A copy of another journal begins where that one does.
    pub begins_at: Lsn,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync: SyncMode::Fsync,
            segment_bytes: 64 << 20,
            first_segment_bytes: 1 << 20,
            record_bytes_max: 8 << 20,
            spares_max: 2,
            identity: 0,
            begins_at: Lsn::FIRST,
        }
    }
}

impl Options {
    /// Shortest segment in which the longest record fits.
    pub fn segment_bytes_min(&self) -> u64 {
        SEGMENT_HEADER_BYTES + RECORD_HEADER_BYTES + u64::from(self.record_bytes_max)
    }
}

/// What was found when a journal was opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opened {
    /// The oldest record that is kept, or the end if there is none.
    pub oldest: Lsn,
    /// Where the next record goes.
    pub end: Lsn,
    /// What was cut off at the end.
    pub torn: Option<TornTail>,
    /// Whether there was no journal and a new one was made.
    pub created: bool,
}

/// A write that a crash had cut short.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TornTail {
    pub file: PathBuf,
    /// Where in the file it began.
    pub byte: u64,
    pub bytes: u64,
}

/// A segment, for deciding what to trim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentInfo {
    pub base: Lsn,
    /// Where its records end.
    pub end: Lsn,
    /// Length of the file.
    pub bytes: u64,
}

/// What [`Journal::trim`] did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Trimmed {
    pub segments: usize,
    /// Bytes of the files that were given back to the disk.
    pub freed_bytes: u64,
}

/// The journal of one shard. One thread appends; others read, replay, prepare and trim at the same time.
pub struct Journal {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    options: Options,
    identity: u64,
    appender: Mutex<Appender>,
    end: AtomicU64,
    /// By base LSN, the active one last.
    segments: RwLock<BTreeMap<Lsn, Arc<Segment>>>,
    spares: Spares,
    /// One trims at a time, so that the oldest segment always goes first.
    trimming: Mutex<()>,
    stopped: OnceLock<DiskError>,
}

struct Appender {
    active: Arc<Segment>,
    /// Whether everything before the end is known to be on disk.
    earlier_are_safe: bool,
}

const NO_PANIC: &str = "nothing panics while it holds this lock";

impl Journal {
    /// Opens the journal in `dir`, or makes one. Cuts off what a crash left half-written at the end.
    ///
    /// Locks nothing: whoever opens it holds the lock of the data directory.
    ///
    /// Errors: [`FileError::Corrupt`] if what was once safe is not there any more: a missing segment, or a broken record
    /// that is not the last one. Segments before the last are not read here; [`Self::replay`] checks those it passes. A
    /// journal whose newest segments were taken away as a whole looks like one that ended earlier; compare the end with
    /// the newest snapshot.
    ///
    /// Panics if the longest record doesn't fit into a segment, see [`Options::segment_bytes_min`].
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, options: Options) -> Result<(Self, Opened), FileError> {
        assert!(options.segment_bytes_min() <= options.segment_bytes, "the longest record must fit into a segment");
        assert!(SEGMENT_HEADER_BYTES + RECORD_HEADER_BYTES < options.first_segment_bytes, "a segment holds records");
        disk.create_dir_all(dir).doing("create directory", dir)?;
        let names = disk.list(dir).doing("list directory", dir)?;
        let spares = Spares::open(disk.clone(), dir, &names, options.segment_bytes, options.spares_max)?;
        let mut segments = open_segments(disk.as_ref(), dir, &names)?;
        let created = segments.is_empty();
        let torn = if created {
            if let Some(spare) = spares.first_path() {
                return Err(missing_segments(spare).into());
            }
            segments.push(create_first(disk.as_ref(), dir, &spares, &options)?);
            None
        } else {
            let torn = recover_tail(segments.last().expect("there is at least one"))?;
            // Whoever wrote this may have been killed between a rename and its sync.
            disk.sync_dir(dir).doing("sync directory", dir)?;
            torn
        };

        let segments: BTreeMap<Lsn, Arc<Segment>> =
            segments.into_iter().map(|segment| (segment.base(), Arc::new(segment))).collect();
        let (oldest, newest) = (segments.first_key_value(), segments.last_key_value());
        let (oldest, newest) = (oldest.expect("one exists"), newest.expect("one exists"));
        let end = newest.1.end();
        let opened = Opened { oldest: *oldest.0, end, torn, created };
        let journal = Self {
            identity: newest.1.header.identity,
            appender: Mutex::new(Appender { active: newest.1.clone(), earlier_are_safe: true }),
            end: AtomicU64::new(end.0),
            segments: RwLock::new(segments),
            spares,
            trimming: Mutex::new(()),
            stopped: OnceLock::new(),
            disk,
            dir: dir.to_path_buf(),
            options,
        };
        Ok((journal, opened))
    }

    /// Where the next record will be. Everything before it is as safe as [`SyncMode`] says.
    pub fn end(&self) -> Lsn {
        Lsn(self.end.load(Ordering::Acquire))
    }

    /// The oldest position that can still be read.
    pub fn oldest(&self) -> Lsn {
        *self.segments.read().expect(NO_PANIC).first_key_value().expect("the active segment stays").0
    }

    /// Appends one record whose payload is the parts joined together, and returns when it is safe.
    ///
    /// The parts are written where they lie, in one call to the system, so nothing needs to be copied together first.
    pub fn append(&self, payload: &[&[u8]]) -> Result<Lsn, AppendError> {
        let payload_bytes: usize = payload.iter().map(|part| part.len()).sum();
        let payload_bytes_max = self.options.record_bytes_max;
        if payload_bytes > payload_bytes_max as usize {
            return Err(AppendError::TooLong { payload_bytes, payload_bytes_max });
        }
        let mut appender = self.appender.lock().expect(NO_PANIC);
        if let Some(error) = self.stopped.get() {
            return Err(AppendError::Stopped(error.clone()));
        }
        if !appender.active.fits(payload_bytes as u64) {
            self.roll(&mut appender)?;
        }
        let active = &appender.active;
        let lsn = self.end();
        let header = RecordHeader {
            lsn,
            payload_bytes: payload_bytes as u32,
            payload_check: payload.iter().fold(0, |check, part| crc32c::crc32c_append(check, part)),
            earlier_are_safe: appender.earlier_are_safe,
        };
        let encoded = header.encode(self.identity);
        let offset = active.offset(lsn.0);
        let written = match payload {
            [payload] => active.file.write_at(offset, &[&encoded, payload]),
            _ => {
                let mut parts = Vec::with_capacity(1 + payload.len());
                parts.push(&encoded[..]);
                parts.extend_from_slice(payload);
                active.file.write_at(offset, &parts)
            }
        };
        self.or_stop(written.doing("write segment", &active.path))?;
        if self.options.sync == SyncMode::Fsync {
            self.or_stop(active.file.sync_data().doing("sync segment", &active.path))?;
        }
        let end = Lsn(header.end());
        active.set_end(end);
        self.end.store(end.0, Ordering::Release);
        appender.earlier_are_safe = self.options.sync == SyncMode::Fsync;
        Ok(lsn)
    }

    /// Makes the next segment the active one.
    fn roll(&self, appender: &mut Appender) -> Result<(), AppendError> {
        let spare = self.spares.take().map_err(AppendError::NoSegment)?;
        let full = &appender.active;
        if self.options.sync == SyncMode::Os {
            // The next segment must not be on disk before this one is, or a power cut leaves a hole between them.
            self.or_stop(full.file.sync_data().doing("sync segment", &full.path))?;
        }
        let base = full.end();
        // One that is too small even for a first record, as the very first segment can be, is replaced.
        let previous = if base == full.base() { full.header.previous } else { full.base() };
        let header = SegmentHeader { identity: self.identity, base, previous, capacity: spare.bytes };
        let next = Arc::new(self.or_stop(put_in_place(self.disk.as_ref(), &self.dir, header, spare))?);
        self.segments.write().expect(NO_PANIC).insert(base, next.clone());
        *appender = Appender { active: next, earlier_are_safe: true };
        Ok(())
    }

    /// After this error nobody knows what the disk holds: no more appends.
    fn or_stop<T>(&self, result: Result<T, DiskError>) -> Result<T, AppendError> {
        result.map_err(|error| AppendError::Stopped(self.stop(error)))
    }

    fn stop(&self, error: DiskError) -> DiskError {
        self.stopped.get_or_init(|| error).clone()
    }

    /// Makes everything up to the end safe, whatever the mode. With [`SyncMode::Fsync`] it is already.
    ///
    /// Do this before writing a snapshot: one that is ahead of the journal on disk would leave a hole after a power cut.
    pub fn sync(&self) -> Result<(), AppendError> {
        let mut appender = self.appender.lock().expect(NO_PANIC);
        if let Some(error) = self.stopped.get() {
            return Err(AppendError::Stopped(error.clone()));
        }
        if self.options.sync == SyncMode::Os {
            let active = &appender.active;
            self.or_stop(active.file.sync_data().doing("sync segment", &active.path))?;
            appender.earlier_are_safe = true;
        }
        Ok(())
    }

    /// Why the journal takes no more records, if it has stopped.
    pub fn stopped(&self) -> Option<&DiskError> {
        self.stopped.get()
    }

    /// Reads `len` bytes of a payload, at any position `at` of the stream inside it.
    ///
    /// The bytes come as they lie on disk; whoever needs to notice that they have changed keeps a digest of them.
    pub fn read(&self, at: u64, len: u32) -> Result<Bytes, ReadError> {
        // The segment stays readable while we hold it, even if it is trimmed meanwhile.
        let segment = {
            let segments = self.segments.read().expect(NO_PANIC);
            segments.range(..=Lsn(at)).next_back().map(|(_, segment)| segment.clone())
        };
        let until = at.checked_add(u64::from(len));
        let segment = segment.filter(|segment| until.is_some_and(|until| until <= segment.end().0));
        let out_of_range = || ReadError::OutOfRange { oldest: self.oldest(), end: self.end() };
        let segment = segment.ok_or_else(out_of_range)?;
        let mut bytes = vec![0; len as usize];
        let read = segment.read_at(at, &mut bytes).map_err(ReadError::Disk)?;
        if read < bytes.len() { Err(out_of_range()) } else { Ok(bytes.into()) }
    }

    /// Calls `each` with every record from `from` to where the journal ends now, in order, until it says to break.
    ///
    /// `from` is the LSN of a record, or the end. Every record is checked, and so is that each segment ends where the next
    /// one begins. Runs beside appends and trims.
    pub fn replay(&self, from: Lsn, each: &mut dyn FnMut(Lsn, &[u8]) -> ControlFlow<()>) -> Result<(), ReplayError> {
        let end = self.end();
        let segments: Vec<Arc<Segment>> = {
            let segments = self.segments.read().expect(NO_PANIC);
            let holding = segments.range(..=from).next_back().map(|(base, _)| *base);
            match holding {
                Some(base) if from <= end => segments.range(base..).map(|(_, segment)| segment.clone()).collect(),
                _ => {
                    let oldest = *segments.first_key_value().expect("the active segment stays").0;
                    return Err(ReplayError::OutOfRange { oldest, end });
                }
            }
        };
        for segment in segments {
            let (from, to) = (from.max(segment.base()), segment.end().min(end));
            if from < to && !scan::walk(&segment, from, to, each)? {
                break;
            }
        }
        Ok(())
    }

    /// Gives up every segment that lies wholly before `before`. Some are kept as spares, the others removed.
    ///
    /// Runs beside everything else. Whoever is reading a segment at this moment can finish.
    pub fn trim(&self, before: Lsn) -> Result<Trimmed, DiskError> {
        let _alone = self.trimming.lock().expect(NO_PANIC);
        let mut trimmed = Trimmed::default();
        loop {
            let oldest = {
                let segments = self.segments.read().expect(NO_PANIC);
                let mut oldest_first = segments.values();
                let (oldest, next) = (oldest_first.next(), oldest_first.next());
                match (oldest, next) {
                    (Some(oldest), Some(next)) if next.base() <= before => oldest.clone(),
                    _ => return Ok(trimmed),
                }
            };
            if let Some(error) = self.stopped.get() {
                return Err(error.clone());
            }
            let base = oldest.base();
            let retired = self.spares.retire(&oldest)?;
            // The older one must be gone for good before the next one goes, or a power cut leaves a hole.
            self.disk.sync_dir(&self.dir).doing("sync directory", &self.dir).map_err(|error| self.stop(error))?;
            self.segments.write().expect(NO_PANIC).remove(&base);
            trimmed.segments += 1;
            match retired {
                Some(path) => self.spares.add_retired(oldest, path),
                None => trimmed.freed_bytes += oldest.header.capacity,
            }
        }
    }

    /// Makes sure that a spare segment is ready, so that appending need not wait for one. Returns whether it made one.
    ///
    /// For a background thread: filling a segment with zeros takes a while.
    ///
    /// Errors: a full disk among others. Nothing is lost by that, and it can be tried again.
    pub fn prepare_spare(&self) -> Result<bool, DiskError> {
        self.spares.prepare()
    }

    /// Gives the space of spare segments back to the disk, but for one.
    pub fn give_back_spares(&self) -> Result<(), DiskError> {
        self.spares.give_back(1)
    }

    /// Bytes that can be appended without asking the disk for space: the rest of the active segment and the spares.
    ///
    /// A record takes its payload and [`RECORD_HEADER_BYTES`]. One that doesn't fit into the rest of a segment leaves it
    /// unused, so count up to the longest record less.
    pub fn writable_bytes(&self) -> u64 {
        let active = {
            let segments = self.segments.read().expect(NO_PANIC);
            segments.last_key_value().expect("the active segment stays").1.clone()
        };
        active.limit().0 - active.end().0 + self.spares.writable_bytes()
    }

    /// All segments, the oldest first and the active one last.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let segments = self.segments.read().expect(NO_PANIC);
        let info = |segment: &Arc<Segment>| SegmentInfo {
            base: segment.base(),
            end: segment.end(),
            bytes: segment.header.capacity,
        };
        segments.values().map(info).collect()
    }
}

/// Turns a spare into the segment with this header.
fn put_in_place(disk: &dyn Disk, dir: &Path, header: SegmentHeader, spare: Spare) -> Result<Segment, DiskError> {
    spare.file.write_at(0, &[&header.encode()]).doing("write segment", &spare.path)?;
    spare.file.sync_data().doing("sync segment", &spare.path)?;
    let path = dir.join(log_name(header.base));
    disk.rename(&spare.path, &path).doing("rename segment", &spare.path)?;
    disk.sync_dir(dir).doing("sync directory", dir)?;
    Ok(Segment::new(header, path, spare.file, header.base))
}

fn create_first(disk: &dyn Disk, dir: &Path, spares: &Spares, options: &Options) -> Result<Segment, DiskError> {
    let spare = spares.create(options.first_segment_bytes)?;
    let header = SegmentHeader {
        identity: options.identity,
        base: options.begins_at,
        previous: Lsn(0),
        capacity: options.first_segment_bytes,
    };
    put_in_place(disk, dir, header, spare)
}

/// Opens all segments, the oldest first, and checks that none is missing between them.
fn open_segments(disk: &dyn Disk, dir: &Path, names: &[String]) -> Result<Vec<Segment>, FileError> {
    let mut segments: Vec<Segment> = Vec::new();
    for (name, base) in names.iter().filter_map(|name| Some((name, parse_log_name(name)?))) {
        let segment = Segment::open(disk, dir.join(name))?;
        check_place(&segment, base, segments.last())?;
        if let Some(before) = segments.last() {
            before.set_end(base);
        }
        segments.push(segment);
    }
    Ok(segments)
}

/// Checks that a segment is the one that its name says, and the one after `before`.
pub(crate) fn check_place(segment: &Segment, named: Lsn, before: Option<&Segment>) -> Result<(), Corruption> {
    let header = segment.header;
    let wrong = |byte, expected: String, found: String| {
        Err(Corruption { file: segment.path.clone(), byte, expected, found, remedy: Remedy::Restore })
    };
    if header.base != named {
        return wrong(24, format!("base LSN {named}, as its name says"), header.base.to_string());
    }
    let Some(before) = before else { return Ok(()) };
    if header.identity != before.header.identity {
        let expected = "a segment of the same journal as the one before it".to_owned();
        return wrong(16, expected, "one of another journal".to_owned());
    }
    if header.previous != before.base() {
        let expected = format!("the segment that follows `{}`", log_name(before.base()));
        let found = format!("one that follows `{}`, which is missing", log_name(header.previous));
        return wrong(32, expected, found);
    }
    Ok(())
}

fn missing_segments(spare: PathBuf) -> Corruption {
    Corruption {
        file: spare,
        byte: 0,
        expected: "segments (`*.log`) beside this spare one".to_owned(),
        found: "none".to_owned(),
        remedy: Remedy::Restore,
    }
}

/// Finds the end of the last segment, cuts off what was torn and makes sure that what is kept is safe.
fn recover_tail(segment: &Segment) -> Result<Option<TornTail>, FileError> {
    let Tail { end, last, torn_until } = scan::find_tail(segment)?;
    segment.set_end(end);
    // Whoever wrote the last record may not have lived to sync it, or may have failed to; a sync alone would not tell us
    // that the system has dropped it since. So it is written once more.
    if let Some(last) = last {
        let mut bytes = vec![0; HEADER + last.payload_bytes as usize];
        segment.read_at(last.lsn.0, &mut bytes)?;
        segment.file.write_at(segment.offset(last.lsn.0), &[&bytes]).doing("write segment", &segment.path)?;
    }
    let torn = match torn_until {
        None => None,
        Some(until) => {
            let (byte, bytes) = (segment.offset(end.0), until.0 - end.0);
            crate::spares::write_zeros(segment.file.as_ref(), byte, bytes).doing("write segment", &segment.path)?;
            Some(TornTail { file: segment.path.clone(), byte, bytes })
        }
    };
    segment.file.sync_data().doing("sync segment", &segment.path)?;
    Ok(torn)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect(NO_PANIC)
}
