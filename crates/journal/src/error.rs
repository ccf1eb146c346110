//! What goes wrong between the journal and the disk.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Lsn;

/// The disk refused something. `Display` says what, to which file, and why.
#[derive(Clone, Debug)]
pub struct DiskError {
    doing: &'static str,
    path: PathBuf,
    cause: Arc<io::Error>,
}

impl DiskError {
    pub(crate) fn new(doing: &'static str, path: &Path, cause: io::Error) -> Self {
        Self { doing, path: path.to_path_buf(), cause: Arc::new(cause) }
    }

    /// Whether the disk, or the share of it that we may use, is full.
    pub fn is_full(&self) -> bool {
        matches!(self.cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// What the operating system said.
    pub fn cause(&self) -> &io::Error {
        &self.cause
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} `{}`: {}", self.doing, self.path.display(), self.cause)
    }
}

impl std::error::Error for DiskError {}

/// Adds what was being done, and to what, to an error of the disk.
pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, DiskError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, DiskError> {
        self.map_err(|cause| DiskError::new(doing, path, cause))
    }
}

/// A file does not hold what was written to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Corruption {
    pub file: PathBuf,
    /// Where in the file.
    pub byte: u64,
    pub expected: String,
    pub found: String,
    pub remedy: Remedy,
}

/// What someone can do about a damaged file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// Only a copy of the data directory from before helps.
    Restore,
    /// The record at this byte, and all that was written after it, can be given up with [`crate::cut`].
    Cut,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, byte, expected, found, remedy } = self;
        let file = file.display();
        write!(f, "`{file}` is damaged at byte {byte}: expected {expected}, found {found}. ")?;
        match remedy {
            Remedy::Restore => write!(f, "Restore the data directory from a backup."),
            Remedy::Cut => write!(
                f,
                "Look at it with `posthouse journal dump {file}`. Then restore the data directory from a backup, or give \
                 up this record and all later ones with `posthouse journal cut {file} {byte}`."
            ),
        }
    }
}

/// A file could not be used as what it should be.
#[derive(Clone, Debug)]
pub enum FileError {
    /// It could not be read or written.
    Disk(DiskError),
    /// It was written in a format that came after this program.
    NewerVersion { file: PathBuf, found: u32, known: u32 },
    /// It was damaged.
    Corrupt(Corruption),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(error) => error.fmt(f),
            Self::NewerVersion { file, found, known } => write!(
                f,
                "`{}` was written by a newer version of this program: its format is {found} and this program knows {known}. \
                 Run the newer version, or restore the data directory from a backup of the older one.",
                file.display()
            ),
            Self::Corrupt(corruption) => corruption.fmt(f),
        }
    }
}

impl std::error::Error for FileError {}

impl From<DiskError> for FileError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

impl From<Corruption> for FileError {
    fn from(corruption: Corruption) -> Self {
        Self::Corrupt(corruption)
    }
}

/// Why a record was not appended. Nothing of it will ever be replayed, unless this says [`AppendError::Stopped`].
#[derive(Clone, Debug)]
pub enum AppendError {
    /// Its payload is longer than `Options::record_bytes_max`.
    TooLong { payload_bytes: usize, payload_bytes_max: u32 },
    /// The active segment is full and another could not be made. Nothing was written; try again when there is space.
    NoSegment(DiskError),
    /// A write or a sync has failed, now or earlier, and nobody knows what is on the disk. The record may turn up, whole,
    /// when the journal is opened again.
    Stopped(DiskError),
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { payload_bytes, payload_bytes_max } => {
                write!(f, "a record of {payload_bytes} bytes is over the limit of {payload_bytes_max}")
            }
            Self::NoSegment(error) => write!(f, "no room for another journal segment: {error}"),
            Self::Stopped(error) => write!(f, "the journal has stopped: {error}"),
        }
    }
}

impl std::error::Error for AppendError {}

/// Why bytes could not be read back.
#[derive(Clone, Debug)]
pub enum ReadError {
    /// They were trimmed, are not written yet, or lie in more than one record.
    OutOfRange {
        oldest: Lsn,
        end: Lsn,
    },
    Disk(DiskError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { oldest, end } => write!(f, "the journal holds bytes {oldest} to {end} only"),
            Self::Disk(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// Why a replay stopped early.
#[derive(Clone, Debug)]
pub enum ReplayError {
    /// It was to begin where the journal holds nothing.
    OutOfRange {
        oldest: Lsn,
        end: Lsn,
    },
    File(FileError),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { oldest, end } => write!(f, "the journal holds records {oldest} to {end} only"),
            Self::File(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReplayError {}

impl<E: Into<FileError>> From<E> for ReplayError {
    fn from(error: E) -> Self {
        Self::File(error.into())
    }
}
