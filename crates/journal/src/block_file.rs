//! A file that is written once and whole: a snapshot or a page.
//!
//! ```text
//!   byte  0       8         12       16       24       32       36      40
//!         ├───────┼─────────┼────────┼────────┼────────┼────────┼───────┼─────────┬───────┬─────────┬───────┬─
//!         │ magic │ format  │ header │ number │ body   │ block  │ zeros │ block 0 │ check │ block 1 │ check │ …
//!         │       │ version │ check  │        │ length │ length │       │         │       │         │       │
//! ```
//!
//! The body is cut into blocks of equal length, the last one shorter, each followed by the CRC-32C of the file's number,
//! the block's own and its bytes. So any part of the body can be read and checked without reading the rest, and a block in
//! the wrong place is noticed.
//!
//! The file is written under another name, synced, and only then renamed: under its own name it is whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::disk::{Disk, File};

use crate::DiskError;
use crate::error::{Corruption, Doing, FileError, Remedy};
use crate::record::{u32_at, u64_at};
use crate::segment::{UNFINISHED_SUFFIX, check_magic_and_version};

/// What tells one kind of block file from another.
pub(crate) struct Kind {
    pub magic: [u8; 8],
    /// The newest format of this kind that this program knows, and the one it writes.
    pub version: u32,
    /// Ends the file's name.
    pub suffix: &'static str,
}

pub(crate) const SNAPSHOT: Kind = Kind { magic: *b"PHSNAPSH", version: 1, suffix: ".snapshot" };
pub(crate) const PAGE: Kind = Kind { magic: *b"PHPAGEBF", version: 1, suffix: ".page" };

const HEADER_BYTES: usize = 40;
const CHECK_BYTES: usize = 4;

/// Length of a block.
///
/// Chosen: reading one message costs one block, and checking 16 KiB takes about 2 µs.
const BLOCK_BYTES: u32 = 16 * 1_024;
/// Longest block that is believed, so that a file cannot ask for more memory than that at once.
const BLOCK_BYTES_MAX: u32 = 1 << 20;
/// How many blocks are written in one call.
const BLOCKS_TOGETHER: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub number: u64,
    pub body_bytes: u64,
    pub block_bytes: u32,
}

impl Header {
    fn encode(&self, kind: &Kind) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&kind.magic);
        bytes[8..12].copy_from_slice(&kind.version.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.body_bytes.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.block_bytes.to_le_bytes());
        let check = header_check(&bytes);
        bytes[12..16].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    fn blocks(&self) -> u64 {
        self.body_bytes.div_ceil(u64::from(self.block_bytes))
    }

    /// Length of the whole file, unless no file is that long.
    fn file_bytes(&self) -> Option<u64> {
        let checks = self.blocks().checked_mul(CHECK_BYTES as u64)?;
        self.body_bytes.checked_add(checks)?.checked_add(HEADER_BYTES as u64)
    }
}

/// Everything in the header except the check itself.
fn header_check(bytes: &[u8; HEADER_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[0..12]), &bytes[16..])
}

fn block_check(number: u64, block: u64, bytes: &[u8]) -> u32 {
    let seed = crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), &block.to_le_bytes());
    crc32c::crc32c_append(seed, bytes)
}

/// An open block file.
pub(crate) struct BlockFile {
    pub header: Header,
    path: PathBuf,
    file: Box<dyn File>,
}

impl BlockFile {
    /// Opens a file of this kind and checks its header and its length.
    pub fn open(disk: &dyn Disk, path: PathBuf, kind: &Kind) -> Result<Self, FileError> {
        let file = disk.open(&path).doing("open", &path)?;
        let mut bytes = [0; HEADER_BYTES];
        let read = file.read_at(0, &mut bytes).doing("read", &path)?;
        let damaged = |byte, expected: String, found: String| FileError::Corrupt(damaged(&path, byte, expected, found));
        if read < HEADER_BYTES {
            return Err(damaged(read as u64, "a header".to_owned(), "the end of the file".to_owned()));
        }
        check_magic_and_version(&bytes, &kind.magic, kind.version, &path)?;
        if u32_at(&bytes, 12) != header_check(&bytes) {
            let found = format!("{:#010x} instead of {:#010x}", u32_at(&bytes, 12), header_check(&bytes));
            return Err(damaged(12, "the header's checksum".to_owned(), found));
        }
        let (number, body_bytes, block_bytes) = (u64_at(&bytes, 16), u64_at(&bytes, 24), u32_at(&bytes, 32));
        if !(1..=BLOCK_BYTES_MAX).contains(&block_bytes) {
            return Err(damaged(32, "a block length up to 1 MiB".to_owned(), block_bytes.to_string()));
        }
        let header = Header { number, body_bytes, block_bytes };
        let length = file.len().doing("measure", &path)?;
        if header.file_bytes() != Some(length) {
            let expected = format!("a file that holds a body of {body_bytes} bytes");
            return Err(damaged(24, expected, format!("one of {length} bytes")));
        }
        Ok(Self { header, path, file })
    }

    /// Reads a part of the body, after checking the blocks that it lies in. `None` if the body is shorter.
    pub fn read(&self, offset: u64, len: u32) -> Result<Option<Vec<u8>>, FileError> {
        let Some(end) = offset.checked_add(u64::from(len)).filter(|end| *end <= self.header.body_bytes) else {
            return Ok(None);
        };
        let mut bytes = Vec::with_capacity(len as usize);
        let block_bytes = u64::from(self.header.block_bytes);
        let mut block_buffer = Vec::new();
        for block in offset / block_bytes..end.div_ceil(block_bytes) {
            let start = block * block_bytes;
            let block = self.block(block, &mut block_buffer)?;
            let (from, to) = (offset.max(start) - start, end.min(start + block_bytes) - start);
            bytes.extend_from_slice(&block[from as usize..to as usize]);
        }
        Ok(Some(bytes))
    }

    /// Reads the whole body.
    pub fn read_all(&self) -> Result<Vec<u8>, FileError> {
        // The length is the file's own, so this much is on disk.
        let mut bytes = Vec::with_capacity(usize::try_from(self.header.body_bytes).unwrap_or(0));
        let mut buffer = Vec::new();
        for block in 0..self.header.blocks() {
            bytes.extend_from_slice(self.block(block, &mut buffer)?);
        }
        Ok(bytes)
    }

    /// Checks every block.
    pub fn verify(&self) -> Result<(), FileError> {
        let mut buffer = Vec::new();
        (0..self.header.blocks()).try_for_each(|block| self.block(block, &mut buffer).map(drop))
    }

    /// Reads and checks one block.
    fn block<'a>(&self, block: u64, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], FileError> {
        let block_bytes = u64::from(self.header.block_bytes);
        let length = block_bytes.min(self.header.body_bytes - block * block_bytes) as usize;
        let at = HEADER_BYTES as u64 + block * (block_bytes + CHECK_BYTES as u64);
        buffer.resize(length + CHECK_BYTES, 0);
        let read = self.file.read_at(at, buffer).doing("read", &self.path)?;
        let check = block_check(self.header.number, block, &buffer[..length]);
        if read < buffer.len() || check != u32_at(buffer, length) {
            let expected = format!("{length} bytes that match their checksum");
            return Err(damaged(&self.path, at, expected, "others".to_owned()).into());
        }
        Ok(&buffer[..length])
    }
}

fn damaged(path: &Path, byte: u64, expected: String, found: String) -> Corruption {
    Corruption { file: path.to_path_buf(), byte, expected, found, remedy: Remedy::Restore }
}

/// A directory of block files of one kind.
pub(crate) struct Store {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    kind: &'static Kind,
}

impl Store {
    /// Opens the directory, or makes it, and clears away what was left unfinished.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, kind: &'static Kind) -> Result<Self, DiskError> {
        disk.create_dir_all(dir).doing("create directory", dir)?;
        for name in disk.list(dir).doing("list directory", dir)? {
            if name.ends_with(UNFINISHED_SUFFIX) {
                let path = dir.join(name);
                disk.remove(&path).doing("remove unfinished file", &path)?;
            }
        }
        // Whoever wrote the others may have been killed between a rename and its sync.
        disk.sync_dir(dir).doing("sync directory", dir)?;
        Ok(Self { disk, dir: dir.to_path_buf(), kind })
    }

    /// The numbers of all files, in order.
    pub fn list(&self) -> Result<Vec<u64>, DiskError> {
        let names = self.disk.list(&self.dir).doing("list directory", &self.dir)?;
        let number = |name: &String| -> Option<u64> {
            let number = name.strip_suffix(self.kind.suffix)?.parse().ok()?;
            (self.name(number) == *name).then_some(number)
        };
        let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Writes a file, replacing one with the same number. It is safe when this returns, and not there at all when this
    /// fails or a crash intervenes, unless it was the last step that failed: then it may be there, whole.
    pub fn write(&self, number: u64, body: &[u8]) -> Result<(), DiskError> {
        let path = self.path(number);
        let unfinished = self.dir.join(format!("{}{UNFINISHED_SUFFIX}", self.name(number)));
        let written = self
            .fill(&unfinished, number, body)
            .and_then(|()| self.disk.rename(&unfinished, &path).doing("rename", &unfinished));
        if written.is_err() {
            // What stays behind is cleared away when the store is next opened.
            let _ = self.disk.remove(&unfinished);
        }
        written?;
        self.disk.sync_dir(&self.dir).doing("sync directory", &self.dir)
    }

    fn fill(&self, path: &Path, number: u64, body: &[u8]) -> Result<(), DiskError> {
        let file = self.disk.create(path).doing("create", path)?;
        let header = Header { number, body_bytes: body.len() as u64, block_bytes: BLOCK_BYTES };
        let header = header.encode(self.kind);
        file.write_at(0, &[&header]).doing("write", path)?;
        let mut at = HEADER_BYTES as u64;
        let blocks: Vec<&[u8]> = body.chunks(BLOCK_BYTES as usize).collect();
        for (together, blocks) in blocks.chunks(BLOCKS_TOGETHER).enumerate() {
            let first = (together * BLOCKS_TOGETHER) as u64;
            let numbered = (first..).zip(blocks);
            let checks: Vec<[u8; CHECK_BYTES]> =
                numbered.map(|(block, bytes)| block_check(number, block, bytes).to_le_bytes()).collect();
            let parts: Vec<&[u8]> = blocks.iter().zip(&checks).flat_map(|(block, check)| [*block, check]).collect();
            file.write_at(at, &parts).doing("write", path)?;
            at += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        }
        file.sync_data().doing("sync", path)
    }

    /// Opens a file and checks that it is the one that its name says.
    pub fn open_file(&self, number: u64) -> Result<BlockFile, FileError> {
        let file = BlockFile::open(self.disk.as_ref(), self.path(number), self.kind)?;
        if file.header.number != number {
            let expected = format!("number {number}, as its name says");
            return Err(damaged(&file.path, 16, expected, file.header.number.to_string()).into());
        }
        Ok(file)
    }

    /// Removes a file. After a power cut it may be back.
    pub fn remove(&self, number: u64) -> Result<(), DiskError> {
        let path = self.path(number);
        self.disk.remove(&path).doing("remove", &path)
    }

    fn name(&self, number: u64) -> String {
        format!("{number:020}{}", self.kind.suffix)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(self.name(number))
    }
}
