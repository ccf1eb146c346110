//! A segment: one file that holds a stretch of the stream of records.
//!
//! ```text
//!   byte  0       8         12       16         24         32         40         48          4,096
//!         ├───────┼─────────┼────────┼──────────┼──────────┼──────────┼──────────┼───────────┼─────────────────
//!         │ magic │ format  │ header │ journal's│ base LSN │ previous │ capacity │ zeros     │ records …  zeros
//!         │       │ version │ check  │ identity │          │ base LSN │          │           │
//! ```
//!
//! The byte of the stream with position `p` lies at `p - base + 4,096` in the file. The file has its full length, the
//! capacity, before it gets its name.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use host::disk::{Disk, File};

use crate::error::{Corruption, Doing, FileError, Remedy};
use crate::record::{RECORD_HEADER_BYTES, u32_at, u64_at};
use crate::{DiskError, Lsn};

pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"PHSEGMNT";
/// The newest format of segments that this program knows, and the one it writes.
pub(crate) const SEGMENT_VERSION: u32 = 1;
/// The header has a page of the file for itself, so that records begin where a page does.
pub(crate) const SEGMENT_HEADER_BYTES: u64 = 4_096;
/// As much of the header as has a meaning.
pub(crate) const SEGMENT_HEADER_USED: usize = 48;

/// No stream gets this long (4 exabytes); it keeps sums of positions and lengths from overflowing.
const POSITION_MAX: u64 = 1 << 62;

const LOG_SUFFIX: &str = ".log";
const SPARE_SUFFIX: &str = ".spare";
/// Ends the name of a file that is still being made.
pub(crate) const UNFINISHED_SUFFIX: &str = ".tmp";

/// `00000000000000004096.log`: the base LSN in decimal.
pub(crate) fn log_name(base: Lsn) -> String {
    format!("{:020}{LOG_SUFFIX}", base.0)
}

pub(crate) fn parse_log_name(name: &str) -> Option<Lsn> {
    let base = Lsn(name.strip_suffix(LOG_SUFFIX)?.parse().ok()?);
    (log_name(base) == name).then_some(base)
}

pub(crate) fn spare_name(number: u64) -> String {
    format!("{number}{SPARE_SUFFIX}")
}

pub(crate) fn parse_spare_name(name: &str) -> Option<u64> {
    name.strip_suffix(SPARE_SUFFIX)?.parse().ok()
}

/// What the first bytes of a segment say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentHeader {
    pub identity: u64,
    pub base: Lsn,
    /// Base LSN of the segment before this one; 0 for the first ever.
    pub previous: Lsn,
    /// Length of the file, this header included.
    pub capacity: u64,
}

impl SegmentHeader {
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_USED] {
        let mut bytes = [0; SEGMENT_HEADER_USED];
        bytes[0..8].copy_from_slice(&SEGMENT_MAGIC);
        bytes[8..12].copy_from_slice(&SEGMENT_VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.identity.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.base.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.previous.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.capacity.to_le_bytes());
        let check = header_check(&bytes);
        bytes[12..16].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Reads the header of an open file; `path` is for messages.
    pub fn read(file: &dyn File, path: &Path) -> Result<Self, FileError> {
        let mut bytes = [0; SEGMENT_HEADER_USED];
        let read = file.read_at(0, &mut bytes).doing("read segment", path)?;
        let damaged = |byte, expected: &str, found: String| Corruption {
            file: path.to_path_buf(),
            byte,
            expected: expected.to_owned(),
            found,
            remedy: Remedy::Restore,
        };
        if read < bytes.len() {
            return Err(damaged(read as u64, "a segment's header", "the end of the file".to_owned()).into());
        }
        check_magic_and_version(&bytes, &SEGMENT_MAGIC, SEGMENT_VERSION, path)?;
        if u32_at(&bytes, 12) != header_check(&bytes) {
            let found = format!("{:#010x} instead of {:#010x}", u32_at(&bytes, 12), header_check(&bytes));
            return Err(damaged(12, "the header's checksum", found).into());
        }
        let header = Self {
            identity: u64_at(&bytes, 16),
            base: Lsn(u64_at(&bytes, 24)),
            previous: Lsn(u64_at(&bytes, 32)),
            capacity: u64_at(&bytes, 40),
        };
        if header.base.0 > POSITION_MAX || header.previous >= header.base {
            let found = format!("{} after {}", header.base, header.previous);
            return Err(damaged(24, "a base LSN after the previous one", found).into());
        }
        if header.capacity <= SEGMENT_HEADER_BYTES || header.capacity > POSITION_MAX {
            return Err(damaged(40, "a capacity with room for records", header.capacity.to_string()).into());
        }
        let length = file.len().doing("measure segment", path)?;
        if length != header.capacity {
            let expected = format!("a file of {} bytes", header.capacity);
            return Err(damaged(length.min(header.capacity), &expected, format!("one of {length} bytes")).into());
        }
        Ok(header)
    }
}

/// Everything in the header except the check itself.
fn header_check(bytes: &[u8; SEGMENT_HEADER_USED]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[0..12]), &bytes[16..])
}

/// Looks at the first 12 bytes of any of our files, before anything else in it is believed.
pub(crate) fn check_magic_and_version(bytes: &[u8], magic: &[u8; 8], known: u32, path: &Path) -> Result<(), FileError> {
    let damaged = |byte, expected: String, found: String| {
        FileError::Corrupt(Corruption { file: path.to_path_buf(), byte, expected, found, remedy: Remedy::Restore })
    };
    if bytes[0..8] != magic[..] {
        let expected = format!("a file that begins with `{}`", magic.escape_ascii());
        return Err(damaged(0, expected, format!("`{}`", bytes[0..8].escape_ascii())));
    }
    match u32_at(bytes, 8) {
        0 => Err(damaged(8, format!("a format version from 1 to {known}"), "0".to_owned())),
        found if found > known => Err(FileError::NewerVersion { file: path.to_path_buf(), found, known }),
        _ => Ok(()),
    }
}

/// An open segment.
pub(crate) struct Segment {
    pub header: SegmentHeader,
    pub path: PathBuf,
    pub file: Box<dyn File>,
    /// Where its records end.
    end: AtomicU64,
}

impl Segment {
    /// A segment whose records end at `end`.
    pub fn new(header: SegmentHeader, path: PathBuf, file: Box<dyn File>, end: Lsn) -> Self {
        Self { header, path, file, end: AtomicU64::new(end.0) }
    }

    /// Opens a segment by name. Its end is not known yet and stands at its base.
    pub fn open(disk: &dyn Disk, path: PathBuf) -> Result<Self, FileError> {
        let file = disk.open(&path).doing("open segment", &path)?;
        let header = SegmentHeader::read(file.as_ref(), &path)?;
        Ok(Self::new(header, path, file, header.base))
    }

    pub fn base(&self) -> Lsn {
        self.header.base
    }

    pub fn end(&self) -> Lsn {
        Lsn(self.end.load(Ordering::Acquire))
    }

    pub fn set_end(&self, end: Lsn) {
        self.end.store(end.0, Ordering::Release);
    }

    /// Where the stream would leave the file.
    pub fn limit(&self) -> Lsn {
        Lsn(self.base().0 + self.header.capacity - SEGMENT_HEADER_BYTES)
    }

    /// Whether a record with so long a payload fits whole at its end.
    pub fn fits(&self, payload_bytes: u64) -> bool {
        self.end().0 + RECORD_HEADER_BYTES + payload_bytes <= self.limit().0
    }

    /// Where in the file the stream's position `at` lies.
    pub fn offset(&self, at: u64) -> u64 {
        at - self.base().0 + SEGMENT_HEADER_BYTES
    }

    /// Reads the stream from `at`; it ends with the file.
    pub fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.file.read_at(self.offset(at), into).doing("read segment", &self.path)
    }

    /// Damage at the stream's position `at`.
    pub fn damaged(&self, at: u64, expected: String, found: String) -> Corruption {
        Corruption { file: self.path.clone(), byte: self.offset(at), expected, found, remedy: Remedy::Cut }
    }
}
