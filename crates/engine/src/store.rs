//! Where a shard is kept: journal, snapshots and pages behind one border.
//!
//! The local implementation is files in a directory. A replicated one has the same shape: append in order, acknowledge
//! in order, replay, trim; immutable pages; snapshots named by the LSN at which they hold.

use bytes::Bytes;
use host::disk::Disk;
use shard::PayloadAt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a batch was not written.
#[derive(Debug)]
pub enum AppendError {
    /// There is no room for it now. Nothing was written; it may be tried again.
    Full(String),
    /// The journal failed and takes no more.
    Failed(String),
}

/// Keeps one shard. One thread appends; others read, replay, trim and write pages at the same time.
///
/// Errors are sentences for people: what was being done, to what, and why it failed.
pub trait Store: Send + Sync + 'static {
    /// Writes one record and returns once it is durable, with the position at which it begins.
    fn append(&self, entries: &[u8]) -> Result<u64, AppendError>;
    /// Position at which the next record will begin.
    fn end(&self) -> u64;
    /// Bytes before the entries of each record.
    fn header_bytes(&self) -> u64;
    /// Bytes that can be appended for sure.
    fn writable_bytes(&self) -> u64;
    /// Makes more room. False where there is no space for it.
    fn make_room(&self) -> Result<bool, String>;
    /// Gives room that is not needed for now back to the disk.
    fn give_back_room(&self) -> Result<(), String> {
        Ok(())
    }
    /// Part of a record, by position.
    fn read(&self, position: u64, bytes: u32) -> Result<Bytes, String>;
    /// Hands over each record from the one that begins at `from` (0: the oldest) to the end, with the position of its
    /// entries.
    fn replay(&self, from: u64, each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<(), String>;
    /// Position of the very first record there ever was.
    fn first(&self) -> u64;
    /// Position of the oldest record that is kept.
    fn oldest(&self) -> u64;
    /// Gives up all that lies before; less may go.
    fn trim(&self, before: u64) -> Result<(), String>;

    /// The newest snapshot, with the position from which the journal goes on.
    fn latest_snapshot(&self) -> Result<Option<(u64, Vec<u8>)>, String>;
    /// Keeps a snapshot in place of all earlier ones.
    fn write_snapshot(&self, lsn: u64, bytes: &[u8]) -> Result<(), String>;

    fn put_page(&self, page: u64, bytes: &[u8]) -> Result<(), String>;
    fn read_page(&self, page: u64, offset: u32, bytes: u32) -> Result<Bytes, String>;
    fn read_whole_page(&self, page: u64) -> Result<Bytes, String>;
    /// A payload that is in the journal or in a page.
    fn read_payload(&self, payload: &PayloadAt) -> Result<Bytes, String> {
        match payload {
            PayloadAt::Held(bytes) => Ok(Bytes::from_owner(bytes.clone())),
            PayloadAt::Journal { position, bytes } => self.read(*position, *bytes),
            PayloadAt::Page { page, offset, bytes } => self.read_page(*page, *offset, *bytes),
        }
    }
    fn remove_page(&self, page: u64) -> Result<(), String>;
    fn pages(&self) -> Result<Vec<u64>, String>;
}

/// Files in a data directory that this process has locked.
pub struct LocalStore {
    journal: journal::Journal,
    snapshots: journal::SnapshotStore,
    pages: journal::PageStore,
    _lock: host::disk::DirLock,
}

/// Longest record: a batch is closed at 1 MiB, and one more entry of a little over 1 MiB may have joined it before.
const RECORD_BYTES_MAX: u32 = 4 << 20;

/// Length of the very first segment, which someone waits for: small, so that a new server answers at once. A record that
/// doesn't fit goes into the next.
const FIRST_SEGMENT_BYTES: u64 = 256 << 10;

/// Most old segments kept to be used again: as many as go with a snapshot under full load, so that a busy journal writes no
/// zeros. An idle server gives them back.
const SPARES_MAX: usize = 8;

/// How a [`LocalStore`] is laid out.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    pub sync: journal::SyncMode,
    pub segment_bytes: u64,
    /// Tells a new journal's files from those of any other.
    pub identity: u64,
}

impl LocalOptions {
    pub(crate) fn journal(&self) -> journal::Options {
        journal::Options {
            sync: self.sync,
            segment_bytes: self.segment_bytes,
            first_segment_bytes: FIRST_SEGMENT_BYTES.min(self.segment_bytes),
            // Tests use segments too short for the longest record; the server doesn't allow them.
            record_bytes_max: RECORD_BYTES_MAX.min((self.segment_bytes / 2) as u32),
            identity: self.identity,
            spares_max: SPARES_MAX,
            ..journal::Options::default()
        }
    }
}

impl LocalStore {
    /// Opens the data in `dir`, or makes it, and locks it against every other process.
    ///
    /// Errors: the directory is in use; a file is damaged, or written by a newer version. Each says which and what to do.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, options: &LocalOptions) -> Result<(Self, journal::Opened), String> {
        Self::open_with(disk, dir, options.journal())
    }

    /// [`Self::open`] with a journal of any measures, for tests of what happens at their bounds.
    pub fn open_with(
        disk: Arc<dyn Disk>,
        dir: &Path,
        options: journal::Options,
    ) -> Result<(Self, journal::Opened), String> {
        let within = |name: &str| -> PathBuf { dir.join(name) };
        disk.create_dir_all(dir)
            .map_err(|error| format!("cannot create the data directory {}: {error}", dir.display()))?;
        let lock = disk.lock_dir(dir).map_err(|error| error.to_string())?;
        let (journal, opened) =
            journal::Journal::open(disk.clone(), &within("journal"), options).map_err(|error| error.to_string())?;
        let snapshots =
            journal::SnapshotStore::open(disk.clone(), &within("snapshots")).map_err(|error| error.to_string())?;
        let pages = journal::PageStore::open(disk, &within("pages")).map_err(|error| error.to_string())?;
        Ok((Self { journal, snapshots, pages, _lock: lock }, opened))
    }

    /// Makes all that was appended safe, whatever the mode.
    pub(crate) fn sync(&self) -> Result<(), String> {
        self.journal.sync().map_err(|error| error.to_string())
    }
}

impl Store for LocalStore {
    fn append(&self, entries: &[u8]) -> Result<u64, AppendError> {
        self.journal.append(&[entries]).map(|lsn| lsn.0).map_err(|error| match error {
            journal::AppendError::NoSegment(_) => AppendError::Full(error.to_string()),
            _ => AppendError::Failed(error.to_string()),
        })
    }

    fn end(&self) -> u64 {
        self.journal.end().0
    }

    fn header_bytes(&self) -> u64 {
        journal::RECORD_HEADER_BYTES
    }

    fn writable_bytes(&self) -> u64 {
        self.journal.writable_bytes()
    }

    fn make_room(&self) -> Result<bool, String> {
        match self.journal.prepare_spare() {
            Ok(_) => Ok(true),
            Err(error) if error.is_full() => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    fn give_back_room(&self) -> Result<(), String> {
        self.journal.give_back_spares().map_err(|error| error.to_string())
    }

    fn read(&self, position: u64, bytes: u32) -> Result<Bytes, String> {
        self.journal.read(position, bytes).map_err(|error| error.to_string())
    }

    fn replay(&self, from: u64, each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<(), String> {
        let from = if from == 0 { self.journal.oldest() } else { journal::Lsn(from) };
        self.journal
            .replay(from, &mut |lsn, entries| each(lsn.0 + journal::RECORD_HEADER_BYTES, entries))
            .map_err(|error| error.to_string())
    }

    fn first(&self) -> u64 {
        journal::Lsn::FIRST.0
    }

    fn oldest(&self) -> u64 {
        self.journal.oldest().0
    }

    fn trim(&self, before: u64) -> Result<(), String> {
        self.journal.trim(journal::Lsn(before)).map(drop).map_err(|error| error.to_string())
    }

    fn latest_snapshot(&self) -> Result<Option<(u64, Vec<u8>)>, String> {
        let latest = self.snapshots.latest_valid().map_err(|error| error.to_string())?;
        Ok(latest.map(|snapshot| (snapshot.lsn.0, snapshot.bytes)))
    }

    fn write_snapshot(&self, lsn: u64, bytes: &[u8]) -> Result<(), String> {
        // A snapshot must not outlive the journal that it holds at the end of.
        self.journal.sync().map_err(|error| error.to_string())?;
        self.snapshots.write(journal::Lsn(lsn), bytes).map_err(|error| error.to_string())?;
        self.snapshots.remove_before(journal::Lsn(lsn)).map(drop).map_err(|error| error.to_string())
    }

    fn put_page(&self, page: u64, bytes: &[u8]) -> Result<(), String> {
        self.pages.put(page, bytes).map_err(|error| error.to_string())
    }

    fn read_page(&self, page: u64, offset: u32, bytes: u32) -> Result<Bytes, String> {
        self.pages.read(page, u64::from(offset), bytes).map_err(|error| error.to_string())
    }

    fn read_whole_page(&self, page: u64) -> Result<Bytes, String> {
        let bytes = self.pages.page_bytes(page).map_err(|error| error.to_string())?;
        let bytes = u32::try_from(bytes).map_err(|_| format!("page {page} is too large to be one of ours"))?;
        self.pages.read(page, 0, bytes).map_err(|error| error.to_string())
    }

    fn remove_page(&self, page: u64) -> Result<(), String> {
        self.pages.remove(page).map_err(|error| error.to_string())
    }

    fn pages(&self) -> Result<Vec<u64>, String> {
        self.pages.list().map_err(|error| error.to_string())
    }
}
