//! One record: a header with a check of its own, then the payload.
//!
//! ```text
//!   byte  0        4         8        16       20       24
//!         ├────────┼─────────┼────────┼────────┼────────┼───────────────
//!         │ header │ payload │  LSN   │ payload│ flags  │ payload …
//!         │ check  │ check   │        │ length │        │
//! ```
//!
//! Numbers are little-endian. Both checks are CRC-32C; the header's covers the journal's identity and everything that
//! follows it in the header, so a header from elsewhere, or one that a client put into a message, is no header here.

use crate::Lsn;

/// Length of a record's header, in bytes; the payload comes right after it.
pub const RECORD_HEADER_BYTES: u64 = 24;

pub(crate) const HEADER: usize = RECORD_HEADER_BYTES as usize;

/// When this was written, every earlier byte of the journal was known to be safe on disk.
///
/// It turns a later record into a witness: if one before it is broken, that one wasn't torn but damaged.
///
/// Both values have many bits set. The flags end the header, so a header that was torn at a sector's edge lacks them, and
/// must not look like one in which a single bit was flipped.
const EARLIER_ARE_SAFE: u32 = 0x5afe_a5a5;
const EARLIER_MAY_BE_UNSAFE: u32 = 0xa501_5a5a;

/// The header of a record, without the checks that only matter on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordHeader {
    pub lsn: Lsn,
    pub payload_bytes: u32,
    pub payload_check: u32,
    pub earlier_are_safe: bool,
}

impl RecordHeader {
    pub fn encode(&self, identity: u64) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[4..8].copy_from_slice(&self.payload_check.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.lsn.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.payload_bytes.to_le_bytes());
        let flags = if self.earlier_are_safe { EARLIER_ARE_SAFE } else { EARLIER_MAY_BE_UNSAFE };
        bytes[20..24].copy_from_slice(&flags.to_le_bytes());
        let check = header_check(identity, &bytes);
        bytes[0..4].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Reads the header of the record that should begin at `lsn`; anything else is none.
    pub fn decode(bytes: &[u8; HEADER], identity: u64, lsn: Lsn) -> Option<Self> {
        if u64_at(bytes, 8) != lsn.0 || u32_at(bytes, 0) != header_check(identity, bytes) {
            return None;
        }
        let earlier_are_safe = match u32_at(bytes, 20) {
            EARLIER_ARE_SAFE => true,
            EARLIER_MAY_BE_UNSAFE => false,
            _ => return None,
        };
        Some(Self { lsn, payload_bytes: u32_at(bytes, 16), payload_check: u32_at(bytes, 4), earlier_are_safe })
    }

    /// Where the next record begins.
    pub fn end(&self) -> u64 {
        self.lsn.0 + RECORD_HEADER_BYTES + u64::from(self.payload_bytes)
    }
}

fn header_check(identity: u64, bytes: &[u8; HEADER]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&identity.to_le_bytes()), &bytes[4..])
}

/// Finds the one bit that was flipped in a header, if flipping it back gives the header of the record at `lsn`.
pub(crate) fn flipped_header_bit(bytes: &[u8; HEADER], identity: u64, lsn: Lsn) -> Option<(usize, RecordHeader)> {
    (0..HEADER * 8).find_map(|bit| {
        let mut restored = *bytes;
        restored[bit / 8] ^= 1 << (bit % 8);
        Some((bit, RecordHeader::decode(&restored, identity, lsn)?))
    })
}

/// Longest payload in which a flipped bit is looked for, in bytes.
///
/// Chosen: a torn write looks like a flipped bit once in 2³² / bits; at this length, once in 8,192 torn writes.
const FLIP_SEARCH_BYTES_MAX: usize = 65_536;

/// Finds the one bit that was flipped in a payload, if flipping it back gives the check.
///
/// A checksum is linear: what flipping one bit does to it depends only on how many bits follow. So the differences that
/// one bit can make are walked from the last bit to the first.
pub(crate) fn flipped_payload_bit(payload: &[u8], check: u32) -> Option<usize> {
    /// CRC-32C's polynomial, lowest bit first.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    if payload.len() > FLIP_SEARCH_BYTES_MAX {
        return None;
    }
    let difference = crc32c::crc32c(payload) ^ check;
    let mut made_by_one_bit = POLYNOMIAL;
    for bit in (0..payload.len() * 8).rev() {
        if made_by_one_bit == difference {
            return Some(bit);
        }
        let carry = if made_by_one_bit & 1 == 1 { POLYNOMIAL } else { 0 };
        made_by_one_bit = (made_by_one_bit >> 1) ^ carry;
    }
    None
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes were cut"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were cut"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: u64 = 0x1234_5678_9abc_def0;

    fn header() -> RecordHeader {
        RecordHeader { lsn: Lsn(5_000), payload_bytes: 77, payload_check: 0xdead_beef, earlier_are_safe: true }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for earlier_are_safe in [true, false] {
            let header = RecordHeader { earlier_are_safe, ..header() };
            assert_eq!(RecordHeader::decode(&header.encode(IDENTITY), IDENTITY, header.lsn), Some(header));
        }
    }

    #[test]
    fn a_header_is_valid_only_in_its_own_place_and_journal() {
        let bytes = header().encode(IDENTITY);
        assert_eq!(RecordHeader::decode(&bytes, IDENTITY, Lsn(5_001)), None);
        assert_eq!(RecordHeader::decode(&bytes, IDENTITY + 1, Lsn(5_000)), None);
        assert_eq!(RecordHeader::decode(&[0; HEADER], 0, Lsn(0)), None);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_found() {
        let bytes = header().encode(IDENTITY);
        for bit in 0..HEADER * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(RecordHeader::decode(&bytes, IDENTITY, Lsn(5_000)), None, "bit {bit}");
            assert_eq!(flipped_header_bit(&bytes, IDENTITY, Lsn(5_000)), Some((bit, header())));
        }
    }

    #[test]
    fn every_flipped_bit_of_a_payload_is_found() {
        let payload: Vec<u8> = (0..300u32).map(|number| (number * 7) as u8).collect();
        let check = crc32c::crc32c(&payload);
        assert_eq!(flipped_payload_bit(&payload, check), None);
        for bit in 0..payload.len() * 8 {
            let mut payload = payload.clone();
            payload[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(flipped_payload_bit(&payload, check), Some(bit));
        }
    }

    #[test]
    fn a_torn_payload_is_not_taken_for_a_flipped_bit() {
        let payload = vec![7; 4_096];
        let check = crc32c::crc32c(&payload);
        for kept in (0..4_096).step_by(512) {
            let mut torn = payload.clone();
            torn[kept..].fill(0);
            assert_eq!(flipped_payload_bit(&torn, check), None);
        }
    }
}
