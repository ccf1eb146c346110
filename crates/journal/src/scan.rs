//! Walks the records of a segment, and tells where they end from where they are broken.
//!
//! ```text
//!   record │ record │ record │ ? ……………………………………………………… limit
//!                            ▲
//!                            └─ no valid record: nothing was ever written here, or a write was cut short (torn),
//!                               or what was written has changed since (damaged)
//! ```

use host::disk::SECTOR_BYTES;

use crate::error::{Corruption, FileError};
use crate::record::{HEADER, RECORD_HEADER_BYTES, RecordHeader, flipped_header_bit, flipped_payload_bit, u64_at};
use crate::segment::Segment;
use crate::spares::ZEROS;
use crate::{DiskError, Lsn};

/// How much is read at once, in bytes.
const WINDOW_BYTES: usize = 256 * 1_024;

/// Reads one record after the other.
pub(crate) struct RecordReader<'a> {
    segment: &'a Segment,
    /// Where the next record should begin.
    position: u64,
    /// No record reaches over this.
    limit: u64,
    window: Window,
}

/// What stands where a record should begin.
pub(crate) enum Found<'a> {
    Record(RecordHeader, &'a [u8]),
    /// A valid header whose payload doesn't match it.
    BrokenPayload(RecordHeader, &'a [u8]),
    /// Not the header of the record that should begin here, or too few bytes for one.
    NoHeader,
    /// A valid header of a record that reaches over the limit.
    TooLong(RecordHeader),
}

impl<'a> RecordReader<'a> {
    /// Reads from the record at `from` up to `limit`.
    pub fn new(segment: &'a Segment, from: Lsn, limit: Lsn) -> Self {
        Self { segment, position: from.0, limit: limit.0, window: Window::default() }
    }

    /// Where the next record should begin.
    pub fn position(&self) -> Lsn {
        Lsn(self.position)
    }

    /// Moves on behind the record, if there is one.
    pub fn next(&mut self) -> Result<Found<'_>, DiskError> {
        let lsn = Lsn(self.position);
        let left = self.limit - self.position;
        if left < RECORD_HEADER_BYTES {
            return Ok(Found::NoHeader);
        }
        let bytes = self.window.get(self.segment, lsn.0, HEADER, self.limit)?;
        let Ok(bytes) = bytes.try_into() else { return Ok(Found::NoHeader) };
        let Some(header) = RecordHeader::decode(bytes, self.segment.header.identity, lsn) else {
            return Ok(Found::NoHeader);
        };
        if header.end() > self.limit {
            return Ok(Found::TooLong(header));
        }
        let whole = HEADER + header.payload_bytes as usize;
        let payload = self.window.get(self.segment, lsn.0, whole, self.limit)?.get(HEADER..whole).unwrap_or(&[]);
        if crc32c::crc32c(payload) != header.payload_check || payload.len() != header.payload_bytes as usize {
            return Ok(Found::BrokenPayload(header, payload));
        }
        self.position = header.end();
        Ok(Found::Record(header, payload))
    }
}

/// A stretch of a segment held in memory.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    start: u64,
}

impl Window {
    /// The `length` bytes at `at`; fewer where the file ends.
    fn get(&mut self, segment: &Segment, at: u64, length: usize, limit: u64) -> Result<&[u8], DiskError> {
        let held = self.start..self.start + self.bytes.len() as u64;
        if !(held.start <= at && at + length as u64 <= held.end) {
            let useful = usize::try_from(limit - at).unwrap_or(usize::MAX);
            self.bytes.resize(length.max(WINDOW_BYTES).min(useful), 0);
            let read = segment.read_at(at, &mut self.bytes)?;
            self.bytes.truncate(read);
            self.start = at;
        }
        let from = (at - self.start) as usize;
        Ok(&self.bytes[from..self.bytes.len().min(from + length)])
    }
}

/// Where the records of the last segment end, and what stands behind them.
pub(crate) struct Tail {
    pub end: Lsn,
    /// The last record, if there is one.
    pub last: Option<RecordHeader>,
    /// How far what was cut short reaches, if that can be seen.
    pub torn_until: Option<Lsn>,
}

/// Finds the end of the last segment.
///
/// What is broken at the end is a torn write unless something says otherwise:
///
/// * one flipped bit explains it (looked for in payloads of up to 64 KiB) and a lost sector doesn't: damaged;
/// * a valid header follows of a record that was written when everything before it was safe: damaged;
/// * valid headers follow, but only of records written when that was not so (`SyncMode::Os`): torn.
///
/// What can't be told apart, all of it in the very last record only:
///
/// * More than one flipped bit, one in a payload over 64 KiB, or an unreadable sector that now reads as zeros looks like a
///   torn write. The record is given up and reported as a torn tail; if it was its header that was hit, not even that, for
///   an unknown header looks like space that was never written.
/// * A flipped bit in a piece of the record that is alone in its sector and shorter than 4 bytes, or that leaves nothing but
///   zeros there, is given up and reported as a torn tail too.
/// * A torn payload of up to 64 KiB matches a flipped bit by chance once in 8,192 times or less. Then the journal refuses
///   to open, and [`crate::cut`] helps.
pub(crate) fn find_tail(segment: &Segment) -> Result<Tail, FileError> {
    let identity = segment.header.identity;
    let limit = segment.limit();
    let mut records = RecordReader::new(segment, segment.base(), limit);
    let mut last = None;
    // Where the search for later records begins, and how far the broken one reaches.
    let (search_from, mut torn_until) = loop {
        let lsn = records.position();
        match records.next()? {
            Found::Record(header, _) => last = Some(header),
            Found::BrokenPayload(header, payload) => {
                if let Some(bit) = flipped_payload_bit(payload, header.payload_check) {
                    check_flip(segment, &header, RECORD_HEADER_BYTES as usize * 8 + bit)?;
                }
                // What the payload holds is a client's business and no place to look for records.
                break (header.end(), Some(header.end()));
            }
            Found::TooLong(header) => return Err(too_long(segment, &header, limit).into()),
            Found::NoHeader => {
                let mut bytes = [0; HEADER];
                if limit.0 - lsn.0 < RECORD_HEADER_BYTES || segment.read_at(lsn.0, &mut bytes)? < HEADER {
                    break (limit.0, None);
                }
                let flipped = flipped_header_bit(&bytes, identity, lsn);
                if let Some((bit, header)) = flipped.filter(|(_, header)| header.end() <= limit.0) {
                    // If the payload is wrong too, it is more than one bit.
                    let mut payload = vec![0; header.payload_bytes as usize];
                    segment.read_at(lsn.0 + RECORD_HEADER_BYTES, &mut payload)?;
                    if crc32c::crc32c(&payload) == header.payload_check {
                        check_flip(segment, &header, bit)?;
                    }
                    break (header.end(), Some(header.end()));
                }
                break (lsn.0 + 1, None);
            }
        }
    };
    let end = records.position();
    for later in later_headers(segment, search_from, limit.0)? {
        if later.earlier_are_safe {
            let expected = format!(
                "the record with LSN {end}, for the one at byte {} was written after it",
                segment.offset(later.lsn.0)
            );
            return Err(segment.damaged(end.0, expected, "something else".to_owned()).into());
        }
        torn_until = torn_until.max(Some(later.end().min(limit.0)));
    }
    Ok(Tail { end, last, torn_until: torn_until.map(Lsn) })
}

/// The headers of records that begin at or after `from`, whether their payloads are whole or not.
pub(crate) fn later_headers(segment: &Segment, from: u64, limit: u64) -> Result<Vec<RecordHeader>, DiskError> {
    let mut found = Vec::new();
    let mut bytes = vec![0; ZEROS.len()];
    let mut start = from;
    while start + RECORD_HEADER_BYTES <= limit {
        let useful = ZEROS.len().min(usize::try_from(limit - start).unwrap_or(usize::MAX));
        let read = segment.read_at(start, &mut bytes[..useful])?;
        if read < HEADER {
            break;
        }
        let places = read - HEADER + 1;
        // Space that was never used is all zeros, and most of the tail is.
        if bytes[..read] != ZEROS[..read] {
            for (place, candidate) in bytes[..read].windows(HEADER).enumerate() {
                let lsn = start + place as u64;
                if u64_at(candidate, 8) == lsn {
                    let candidate = candidate.try_into().expect("a window is as long as a header");
                    found.extend(RecordHeader::decode(candidate, segment.header.identity, Lsn(lsn)));
                }
            }
        }
        start += places as u64;
    }
    Ok(found)
}

/// A piece of a record that is alone in its sector and shorter than this may differ in one bit by accident, in bytes.
const TELLING_PIECE_BYTES_MIN: u64 = 4;

/// Calls it damage that a record has one bit wrong, counted from its start, unless a torn write explains that too: if what
/// was lost is the record's piece in one sector, and what was there before differs in that bit only.
fn check_flip(segment: &Segment, header: &RecordHeader, bit: usize) -> Result<(), FileError> {
    let lsn = header.lsn;
    let (start, end) = (segment.offset(lsn.0), segment.offset(header.end()));
    let flipped = start + bit as u64 / 8;
    let sector = flipped - flipped % SECTOR_BYTES as u64;
    let (from, to) = (start.max(sector), end.min(sector + SECTOR_BYTES as u64));
    let mut piece = [0; SECTOR_BYTES];
    let piece = &mut piece[..(to - from) as usize];
    segment.read_at(lsn.0 + (from - start), piece)?;
    if to - from < TELLING_PIECE_BYTES_MIN || *piece == ZEROS[..piece.len()] {
        return Ok(());
    }
    let found = format!("it with bit {} of byte {flipped} flipped", bit % 8);
    Err(segment.damaged(lsn.0, format!("the record with LSN {lsn}"), found).into())
}

fn too_long(segment: &Segment, header: &RecordHeader, limit: Lsn) -> Corruption {
    let expected = format!("a record that ends at byte {} at the latest", segment.offset(limit.0));
    segment.damaged(header.lsn.0, expected, format!("one that ends at byte {}", segment.offset(header.end())))
}

/// Calls `each` with the records from `from` to `to`, all of which must be there. Returns whether it went to the end.
pub(crate) fn walk(
    segment: &Segment,
    from: Lsn,
    to: Lsn,
    each: &mut dyn FnMut(Lsn, &[u8]) -> std::ops::ControlFlow<()>,
) -> Result<bool, FileError> {
    let mut records = RecordReader::new(segment, from, to);
    while records.position() < to {
        let lsn = records.position();
        let found = match records.next()? {
            Found::Record(_, payload) => {
                if each(lsn, payload).is_break() {
                    return Ok(false);
                }
                continue;
            }
            Found::NoHeader => "something that is not its header".to_owned(),
            Found::BrokenPayload(..) => "a payload that does not match its checksum".to_owned(),
            Found::TooLong(header) => return Err(too_long(segment, &header, to).into()),
        };
        return Err(segment.damaged(lsn.0, format!("the record with LSN {lsn}"), found).into());
    }
    Ok(true)
}
