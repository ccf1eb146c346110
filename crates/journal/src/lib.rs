//! The local write-ahead log, snapshots and pages: what makes an answer durable on one machine.
//!
//! ```text
//!   journal/                      one endless stream of records, in segments of equal length
//!     00000000000000004096.log      ┌────────┬────────┬──────────┐
//!     00000000000000981233.log      │ record │ record │ record … │  ◀─ append: one write, one sync
//!     7.spare                       └────────┴────────┴──────────┘
//!   snapshots/                    LSN 4096     4170     …
//!     00000000000000981233.snapshot   the state as of an LSN; segments before the newest are trimmed
//!   pages/
//!     00000000000000000012.page       immutable; what outlives its segment moves here
//! ```
//!
//! Payloads are opaque here. Each file begins with a magic and a format version that are read before anything else in it
//! is believed, and everything after it is covered by a checksum. [`dump`] prints any of them.
//!
//! **What survives.** With [`SyncMode::Fsync`], once [`Journal::append`] has returned, its record is there after a crash
//! or a power cut. A record whose append did not return is there whole or not at all. After a write or sync has failed
//! nobody knows what the disk holds, so nothing is tried again: the journal says why and stops.

mod block_file;
mod dump;
mod error;
mod journal;
mod pages;
mod record;
mod scan;
mod segment;
mod snapshots;
mod spares;
mod verify;

use std::fmt;

pub use dump::{Content, DumpError, cut, dump};
pub use error::{AppendError, Corruption, DiskError, FileError, ReadError, Remedy, ReplayError};
pub use journal::{Journal, Opened, Options, SegmentInfo, SyncMode, TornTail, Trimmed};
pub use pages::{PageError, PageStore};
pub use record::RECORD_HEADER_BYTES;
pub use snapshots::{Snapshot, SnapshotStore};
pub use verify::{Found, VerifiedSegment, verify};

/// A byte's position in the endless stream of records; a record's LSN is the position of its header.
///
/// The payload is at `lsn + RECORD_HEADER_BYTES`, and the end of one record is the LSN of the next, across segments too.
/// The stream begins at [`Lsn::FIRST`], so 0 is before everything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Lsn(pub u64);

impl Lsn {
    /// The first record of a new journal.
    ///
    /// Chosen: in the first segment, positions in the stream and in the file are the same number.
    pub const FIRST: Self = Self(segment::SEGMENT_HEADER_BYTES);
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
