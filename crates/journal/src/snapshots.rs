//! Snapshots: the whole state as of a position of the journal, one file each.

use std::path::Path;
use std::sync::Arc;

use host::disk::Disk;

use crate::block_file::{SNAPSHOT, Store};
use crate::{DiskError, FileError, Lsn};

/// The snapshots of one journal.
pub struct SnapshotStore {
    store: Store,
}

/// A snapshot that was read back.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Where in the journal to go on from.
    pub lsn: Lsn,
    pub bytes: Vec<u8>,
    /// Newer ones that are damaged, the newest first. For the log: nothing is lost while the journal still reaches back to
    /// `lsn`.
    pub skipped: Vec<FileError>,
}

impl SnapshotStore {
    /// Opens the directory, or makes it. What a crash left unfinished is removed.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path) -> Result<Self, DiskError> {
        Ok(Self { store: Store::open(disk, dir, &SNAPSHOT)? })
    }

    /// Writes the state as of `lsn`. When this returns it is safe, and the journal before `lsn` can be trimmed.
    pub fn write(&self, lsn: Lsn, bytes: &[u8]) -> Result<(), DiskError> {
        self.store.write(lsn.0, bytes)
    }

    /// Reads the newest snapshot that is whole; none if there is no snapshot at all.
    ///
    /// Errors: if all that there are are damaged, or one was written by a newer version.
    pub fn latest_valid(&self) -> Result<Option<Snapshot>, FileError> {
        let mut skipped = Vec::new();
        for lsn in self.store.list()?.into_iter().rev() {
            match self.store.open_file(lsn).and_then(|file| file.read_all()) {
                Ok(bytes) => return Ok(Some(Snapshot { lsn: Lsn(lsn), bytes, skipped })),
                Err(error @ FileError::Corrupt(_)) => skipped.push(error),
                Err(error) => return Err(error),
            }
        }
        match skipped.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    /// The LSNs of all snapshots, in order.
    pub fn list(&self) -> Result<Vec<Lsn>, DiskError> {
        Ok(self.store.list()?.into_iter().map(Lsn).collect())
    }

    /// Checks all of a snapshot.
    pub fn verify(&self, lsn: Lsn) -> Result<(), FileError> {
        self.store.open_file(lsn.0)?.verify()
    }

    /// Removes the snapshots that are older than the one at `lsn`, and returns how many.
    pub fn remove_before(&self, lsn: Lsn) -> Result<usize, DiskError> {
        let mut removed = 0;
        for older in self.store.list()?.into_iter().take_while(|number| *number < lsn.0) {
            self.store.remove(older)?;
            removed += 1;
        }
        Ok(removed)
    }
}
