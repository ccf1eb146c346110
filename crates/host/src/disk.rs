//! The disk: files in directories, with every promise about durability spelled out.
//!
//! ```text
//!   create ─▶ allocate ─▶ write_at ─▶ sync_data ─▶ rename ─▶ sync_dir
//!                                     contents      the name follows only
//!                                     are safe      when its directory is synced
//! ```
//!
//! What was written and not synced may be there after a power cut, or not, or in part, sector by sector. The same goes
//! for names: until its directory is synced, a created, renamed or removed file may be found in either state.
//!
//! [`RealDisk`] is the operating system's; [`FakeDisk`] lives in memory and does all the bad things that the words above
//! allow, on demand.

mod fake;
mod real;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::Path;

pub use fake::{EIO, ENOSPC, FakeDisk, Fault, IoCounts, Survivors, every_choice};
pub use real::RealDisk;

/// What a disk writes whole or not at all, in bytes.
///
/// Chosen: the smallest sector of drives in use. A drive with larger ones only tears less.
pub const SECTOR_BYTES: usize = 512;

/// Directories and the files in them.
pub trait Disk: Send + Sync + 'static {
    /// Creates the directory and those above it, where missing. They survive a power cut from then on.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;

    /// The names in the directory, sorted. Names that are not UTF-8 are nobody's of ours and left out.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Creates an empty file, readable by its owner only. One that has this name already is emptied.
    fn create(&self, path: &Path) -> io::Result<Box<dyn File>>;

    /// Opens an existing file for reading, and for writing where that is permitted.
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>>;

    /// Gives a file another name, replacing what had that name, at one stroke.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file. Whoever has it open can go on reading it.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Waits until the names in the directory are as safe as the disk can make them.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Makes this process the only one that uses the directory, until the lock is dropped or the process ends.
    fn lock_dir(&self, dir: &Path) -> Result<DirLock, LockError>;

    /// Bytes that can still be written to the file system that holds the directory.
    fn free_bytes(&self, dir: &Path) -> io::Result<u64>;
}

/// An open file. Reads and writes name their place, so many threads can share it.
pub trait File: Send + Sync {
    /// Fills `into` from the bytes at `at`. Returns less than asked only where the file ends.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Writes the parts one after the other at `at`: one request to the system, however many parts.
    fn write_at(&self, at: u64, parts: &[&[u8]]) -> io::Result<()>;

    /// Waits until everything written to this file, and its length, is as safe as the disk can make it.
    ///
    /// After an error the unsynced writes may be lost even if a later call succeeds, so don't call it again.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes the file at least this long and sets the space aside, so that writing there cannot run out of it. New bytes
    /// read as zero.
    ///
    /// The first write to such space still updates the file's metadata; write zeros to be rid of that too.
    fn allocate(&self, bytes: u64) -> io::Result<()>;

    /// Cuts the file off or extends it with zeros that take no space yet.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file holds no byte.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// The name of the lock file inside a locked directory.
pub const LOCK_FILE: &str = "lock";

/// Holds a directory for this process; dropping it lets go.
pub struct DirLock {
    _held: Box<dyn Send + Sync>,
}

/// Why a directory could not be locked.
#[derive(Debug)]
pub enum LockError {
    /// Another process holds it, or another part of this one.
    Held {
        /// The holder, if its number could be read.
        process: Option<u32>,
    },
    /// The lock file could not be used.
    Io(io::Error),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { process: Some(process) } => write!(f, "in use by process {process}"),
            Self::Held { process: None } => write!(f, "in use by another process"),
            Self::Io(error) => write!(f, "cannot use its lock file: {error}"),
        }
    }
}

impl std::error::Error for LockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Held { .. } => None,
            Self::Io(error) => Some(error),
        }
    }
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
