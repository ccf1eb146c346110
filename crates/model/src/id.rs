//! Numbers that name things.

use std::fmt;

/// Names a queue for as long as its shard lives. A queue that is deleted and made again gets a new one, so old receipt
/// handles don't reach the new queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueueId(pub u64);

/// The place of a message in the arrival order of its queue. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Serial(pub u64);

/// Tells one delivery of a message from the next. Never reused for the same message, so a receipt handle names exactly
/// one delivery.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct DeliveryNumber(pub u32);

/// What SendMessage answers as `MessageId`: a UUID of version 4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId(pub u128);

impl MessageId {
    /// A version-4 UUID made of 16 random bytes; six bits of them give way to version and variant.
    ///
    /// Source: RFC 9562, section 5.4.
    pub fn from_random(random: [u8; 16]) -> Self {
        let bits = u128::from_be_bytes(random);
        let bits = bits & !(0xf << 76) | 0x4 << 76;
        Self(bits & !(0x3 << 62) | 0x2 << 62)
    }

    /// The 36 characters of its text.
    pub fn to_text(self) -> [u8; 36] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; 36];
        let mut at = 0;
        for (index, byte) in self.0.to_be_bytes().into_iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                at += 1;
            }
            text[at] = HEX[usize::from(byte >> 4)];
            text[at + 1] = HEX[usize::from(byte & 15)];
            at += 2;
        }
        text
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_text()).expect("hex digits and dashes are ASCII"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_id_is_a_uuid_of_version_4() {
        assert_eq!(MessageId::from_random([0; 16]).to_string(), "00000000-0000-4000-8000-000000000000");
        assert_eq!(MessageId::from_random([255; 16]).to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let counted: [u8; 16] = std::array::from_fn(|index| index as u8);
        assert_eq!(MessageId::from_random(counted).to_string(), "00010203-0405-4607-8809-0a0b0c0d0e0f");
    }
}
