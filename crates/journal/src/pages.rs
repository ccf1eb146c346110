//! Pages: immutable numbered blocks of bytes, one file each. What outlives its journal segment is kept here.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use host::disk::Disk;

use crate::block_file::{PAGE, Store};
use crate::{DiskError, FileError};

/// The pages of one journal.
pub struct PageStore {
    store: Store,
}

/// Why a part of a page could not be read.
#[derive(Clone, Debug)]
pub enum PageError {
    /// The page is shorter.
    OutOfRange,
    File(FileError),
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange => write!(f, "the page is shorter than that"),
            Self::File(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PageError {}

impl PageStore {
    /// Opens the directory, or makes it. What a crash left unfinished is removed.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path) -> Result<Self, DiskError> {
        Ok(Self { store: Store::open(disk, dir, &PAGE)? })
    }

    /// Writes a page, replacing one with the same number. When this returns it is safe.
    pub fn put(&self, page_number: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.store.write(page_number, bytes)
    }

    /// Reads `len` bytes from `offset`. The blocks that they lie in are checked, 16 KiB each.
    pub fn read(&self, page_number: u64, offset: u64, len: u32) -> Result<Bytes, PageError> {
        let page = self.store.open_file(page_number).map_err(PageError::File)?;
        let bytes = page.read(offset, len).map_err(PageError::File)?;
        bytes.map(Bytes::from).ok_or(PageError::OutOfRange)
    }

    /// Length of a page, in bytes.
    pub fn page_bytes(&self, page_number: u64) -> Result<u64, FileError> {
        Ok(self.store.open_file(page_number)?.header.body_bytes)
    }

    /// Checks all of a page.
    pub fn verify(&self, page_number: u64) -> Result<(), FileError> {
        self.store.open_file(page_number)?.verify()
    }

    /// Removes a page. After a power cut it may be back, so whoever opens the store removes those that nobody knows.
    pub fn remove(&self, page_number: u64) -> Result<(), DiskError> {
        self.store.remove(page_number)
    }

    /// The numbers of all pages, in order.
    pub fn list(&self) -> Result<Vec<u64>, DiskError> {
        self.store.list()
    }
}
