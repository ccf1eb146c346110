//! What a message carries, and where that is kept.
//!
//! ```text
//! payload:  check 4 · version 1 · message id 16 · md5 of body 16 · sender id · body · attributes · parts
//! check:    CRC-32C of all that follows, little-endian
//! parts:    (kind, value)*        1 trace header · 2 message group id
//! attribute: name · type · kind of value (1 text, 2 binary) · value
//! ```
//!
//! A payload carries a check of its own, since it is read by itself, long after the record it came in was checked, and
//! moves from file to file.
//!
//! The shard never looks inside: it hands out where a payload is, and whoever answers the client reads it there.

use crate::codec::{Malformed, Reader, Unreadable, Writer, check_version};
use bytes::Bytes;
use model::{MessageId, Text};
use std::sync::Arc;

/// A message as it was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payload {
    pub id: MessageId,
    pub body_md5: [u8; 16],
    /// Who sent it, as `SenderId` shows it.
    pub sender_id: Text,
    pub body: Text,
    /// In the order of their names.
    pub attributes: Vec<Attribute>,
    /// System attribute `AWSTraceHeader`.
    pub trace_header: Option<Text>,
    pub message_group_id: Option<Text>,
}

/// A message attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    pub name: Text,
    /// With its custom label: `Number.int`.
    pub data_type: Text,
    pub value: AttributeValue,
}

/// The value of an attribute: text for the types String and Number, bytes for Binary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttributeValue {
    Text(Text),
    Binary(Bytes),
}

const CHECK_BYTES: usize = 4;
const VERSION: u8 = 1;
const PART_TRACE_HEADER: u8 = 1;
const PART_MESSAGE_GROUP_ID: u8 = 2;

impl Payload {
    pub fn encode(&self) -> Bytes {
        let mut bytes = Vec::with_capacity(self.body.len() + 128);
        let mut out = Writer(&mut bytes);
        out.fixed(&[0; CHECK_BYTES]);
        out.byte(VERSION);
        out.fixed(&self.id.0.to_be_bytes());
        out.fixed(&self.body_md5);
        out.text(&self.sender_id);
        out.text(&self.body);
        out.length(self.attributes.len());
        for attribute in &self.attributes {
            out.text(&attribute.name);
            out.text(&attribute.data_type);
            match &attribute.value {
                AttributeValue::Text(text) => {
                    out.byte(1);
                    out.text(text);
                }
                AttributeValue::Binary(binary) => {
                    out.byte(2);
                    out.bytes(binary);
                }
            }
        }
        for (kind, part) in [(PART_TRACE_HEADER, &self.trace_header), (PART_MESSAGE_GROUP_ID, &self.message_group_id)] {
            if let Some(part) = part {
                out.byte(kind);
                out.text(part);
            }
        }
        let check = crc32c::crc32c(&bytes[CHECK_BYTES..]);
        bytes[..CHECK_BYTES].copy_from_slice(&check.to_le_bytes());
        bytes.into()
    }

    /// Reads a payload. Its texts share the buffer of `bytes`.
    pub fn decode(bytes: &Bytes) -> Result<Self, Unreadable> {
        let mut from = Reader::new(bytes);
        if u32::from_le_bytes(from.fixed()?) != crc32c::crc32c(&bytes[CHECK_BYTES..]) {
            return Err(Malformed("a message's bytes have changed on disk").into());
        }
        check_version("message format", from.byte()?.into(), VERSION.into())?;
        let id = MessageId(u128::from_be_bytes(from.fixed()?));
        let body_md5 = from.fixed()?;
        let sender_id = text(&mut from, bytes)?;
        let body = text(&mut from, bytes)?;
        let count = from.length()?;
        let mut attributes = Vec::with_capacity(count.min(16));
        for _ in 0..count {
            let name = text(&mut from, bytes)?;
            let data_type = text(&mut from, bytes)?;
            let value = match from.byte()? {
                1 => AttributeValue::Text(text(&mut from, bytes)?),
                2 => AttributeValue::Binary(from.shared_bytes(bytes)?),
                _ => return Err(Malformed("an attribute of an unknown kind").into()),
            };
            attributes.push(Attribute { name, data_type, value });
        }
        let (mut trace_header, mut message_group_id) = (None, None);
        while !from.is_at_end() {
            match from.byte()? {
                PART_TRACE_HEADER => trace_header = Some(text(&mut from, bytes)?),
                PART_MESSAGE_GROUP_ID => message_group_id = Some(text(&mut from, bytes)?),
                _ => return Err(Malformed("a message with an unknown part").into()),
            }
        }
        Ok(Self { id, body_md5, sender_id, body, attributes, trace_header, message_group_id })
    }
}

fn text(from: &mut Reader<'_>, shared: &Bytes) -> Result<Text, Malformed> {
    Text::from_utf8(from.shared_bytes(shared)?).ok_or(Malformed("a text is not UTF-8"))
}

/// Where the bytes of a payload are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PayloadAt {
    /// Here: nothing is on disk.
    Held(Arc<[u8]>),
    /// In the journal, at this position of the endless stream of records.
    Journal { position: u64, bytes: u32 },
    /// In a page, at this offset.
    Page { page: u64, offset: u32, bytes: u32 },
}

impl PayloadAt {
    /// Length of the payload.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Held(bytes) => bytes.len() as u64,
            Self::Journal { bytes, .. } | Self::Page { bytes, .. } => u64::from(*bytes),
        }
    }

    pub(crate) fn encode(&self, out: &mut Writer<'_>) {
        match self {
            Self::Held(bytes) => {
                out.byte(0);
                out.bytes(bytes);
            }
            Self::Journal { position, bytes } => {
                out.pair(1, *position);
                out.number(u64::from(*bytes));
            }
            Self::Page { page, offset, bytes } => {
                out.pair(2, *page);
                out.number(u64::from(*offset));
                out.number(u64::from(*bytes));
            }
        }
    }

    pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match from.byte()? {
            0 => Self::Held(from.bytes()?.into()),
            1 => Self::Journal { position: from.number()?, bytes: from.number_u32()? },
            2 => Self::Page { page: from.number()?, offset: from.number_u32()?, bytes: from.number_u32()? },
            _ => return Err(Malformed("a payload at an unknown place")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_read_as_written() {
        let plain = Payload {
            id: MessageId::from_random([7; 16]),
            body_md5: [9; 16],
            sender_id: "AIDA".into(),
            body: "hällo\r\n".into(),
            attributes: vec![],
            trace_header: None,
            message_group_id: None,
        };
        let full = Payload {
            attributes: vec![
                Attribute { name: "a".into(), data_type: "Number.int".into(), value: AttributeValue::Text("1".into()) },
                Attribute {
                    name: "b".into(),
                    data_type: "Binary".into(),
                    value: AttributeValue::Binary(Bytes::from_static(&[0, 255])),
                },
            ],
            trace_header: Some("Root=1".into()),
            message_group_id: Some("tenant".into()),
            ..plain.clone()
        };
        for payload in [plain, full] {
            let bytes = payload.encode();
            assert_eq!(Payload::decode(&bytes), Ok(payload));
            for end in 0..bytes.len() {
                assert!(Payload::decode(&bytes.slice(..end)).is_err(), "cut at {end}");
            }
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(Payload::decode(&flipped.into()).is_err(), "bit {bit}");
            }
        }
    }
}
