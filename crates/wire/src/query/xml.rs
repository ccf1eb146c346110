//! Replies of the Query protocol.
//!
//! ```xml
//! <?xml version="1.0"?><SendMessageResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/">
//!   <SendMessageResult>
//!     <MessageId>…</MessageId>
//!   </SendMessageResult>
//!   <ResponseMetadata><RequestId>…</RequestId></ResponseMetadata>
//! </SendMessageResponse>
//! ```
//!
//! Without the line breaks: strict parsers get no text between elements, no comments, nothing that isn't meant.

use super::names::{self, Flattened};
use crate::answer::fault;
use api::{Error, ErrorKind};
use bytes::Bytes;
use serde::ser::{self, Serialize, Serializer};
use std::fmt;

const DECLARATION: &[u8] = b"<?xml version=\"1.0\"?>";
const SQS_NAMESPACE: &[u8] = b" xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">";

/// Writes the reply of `operation`, with no result element where there is nothing to tell.
pub fn encode<T: Serialize>(operation: &str, reply: Option<&T>, request_id: &str) -> Result<Bytes, Unwritable> {
    /// Most replies fit.
    const CAPACITY_BYTES: usize = 1024;
    let mut out = Vec::with_capacity(CAPACITY_BYTES);
    let operation_bytes = operation.as_bytes();
    concat(&mut out, &[DECLARATION, b"<", operation_bytes, b"Response", SQS_NAMESPACE]);
    if let Some(reply) = reply {
        concat(&mut out, &[b"<", operation_bytes, b"Result>"]);
        reply.serialize(Element { out: &mut out, operation, name: None, flattened: None })?;
        concat(&mut out, &[b"</", operation_bytes, b"Result>"]);
    }
    out.extend_from_slice(b"<ResponseMetadata>");
    element(&mut out, "RequestId", request_id);
    concat(&mut out, &[b"</ResponseMetadata></", operation_bytes, b"Response>"]);
    Ok(out.into())
}

/// Writes an error.
pub fn encode_error(error: &Error, request_id: &str) -> Bytes {
    let mut out = Vec::with_capacity(384 + error.message.len());
    concat(&mut out, &[DECLARATION, b"<ErrorResponse", SQS_NAMESPACE, b"<Error>"]);
    element(&mut out, "Type", fault(error.kind));
    element(&mut out, "Code", error.kind.query_code());
    element(&mut out, "Message", &message(error));
    out.extend_from_slice(b"<Detail/></Error>");
    element(&mut out, "RequestId", request_id);
    out.extend_from_slice(b"</ErrorResponse>");
    out.into()
}

/// The Query protocol keeps an older text for queues that don't exist.
///
/// Observed: recording test_non_existent_queue, queue-does-not-exist-query.
fn message(error: &Error) -> String {
    match error.message.strip_suffix("does not exist.") {
        Some(queue) if error.kind == ErrorKind::QueueDoesNotExist => {
            format!("{queue}does not exist for this wsdl version.")
        }
        _ => error.message.clone(),
    }
}

fn concat(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

fn element(out: &mut Vec<u8>, name: &str, text: &str) {
    open(out, name);
    escape(out, text);
    close(out, name);
}

fn open(out: &mut Vec<u8>, name: &str) {
    concat(out, &[b"<", name.as_bytes(), b">"]);
}

fn close(out: &mut Vec<u8>, name: &str) {
    concat(out, &[b"</", name.as_bytes(), b">"]);
}

/// Writes text so that a parser reads exactly it.
///
/// Parsers turn a carriage return into a newline, and some drop or join white space; a character reference they leave
/// alone. A parser of XML 1.1 would take U+0085 and U+2028 for newlines too. What XML cannot say at all becomes U+FFFD;
/// in messages that can't occur, for SQS refuses them, but an error may quote anything.
fn escape(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let (mut done, mut at) = (0, 0);
    while let Some(next) = bytes[at..].iter().position(|&byte| NEEDS_A_LOOK[byte as usize]) {
        at += next;
        let (length, written): (usize, &[u8]) = match &bytes[at..] {
            [b'&', ..] => (1, b"&amp;"),
            [b'<', ..] => (1, b"&lt;"),
            [b'>', ..] => (1, b"&gt;"),
            [b'"', ..] => (1, b"&quot;"),
            [b'\t', ..] => (1, b"&#x9;"),
            [b'\n', ..] => (1, b"&#xA;"),
            [b'\r', ..] => (1, b"&#xD;"),
            [0xC2, 0x85, ..] => (2, b"&#x85;"),
            [0xE2, 0x80, 0xA8, ..] => (3, b"&#x2028;"),
            [0x00..=0x1F, ..] => (1, "\u{FFFD}".as_bytes()),
            [0xEF, 0xBF, 0xBE | 0xBF, ..] => (3, "\u{FFFD}".as_bytes()),
            _ => {
                at += 1;
                continue;
            }
        };
        concat(out, &[&bytes[done..at], written]);
        at += length;
        done = at;
    }
    out.extend_from_slice(&bytes[done..]);
}

/// The bytes that may begin something that [`escape`] replaces.
static NEEDS_A_LOOK: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = byte < 0x20 || matches!(byte as u8, b'&' | b'<' | b'>' | b'"' | 0xC2 | 0xE2 | 0xEF);
        byte += 1;
    }
    table
};

/// A reply that has no shape in XML, which is a mistake in its type.
#[derive(Debug)]
pub struct Unwritable(String);

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unwritable {}

impl ser::Error for Unwritable {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self(reason.to_string())
    }
}

/// Where the next value goes.
struct Element<'a> {
    out: &'a mut Vec<u8>,
    operation: &'a str,
    /// Nothing for the reply itself, whose members stand in the result element.
    name: Option<&'static str>,
    /// How the items are written if the value is a list or a map.
    flattened: Option<&'static Flattened>,
}

impl<'a> Element<'a> {
    fn text(self, text: &str) -> Result<(), Unwritable> {
        let name = self.name.ok_or_else(|| ser::Error::custom("a reply must be a struct"))?;
        element(self.out, name, text);
        Ok(())
    }

    /// Opens the element around a value that has elements inside.
    fn open(self) -> Container<'a> {
        if let Some(name) = self.name {
            open(self.out, name);
        }
        Container { out: self.out, operation: self.operation, close: self.name, item: "", entry: names::ENTRY }
    }

    /// Opens the element around the items of a list or a map, if there is one around all of them.
    fn open_items(self, item: &'static str) -> Container<'a> {
        match self.flattened {
            Some(flattened) => Container {
                out: self.out,
                operation: self.operation,
                close: None,
                item: flattened.item,
                entry: flattened.entry,
            },
            None => Container { item, ..self.open() },
        }
    }
}

/// A value with elements inside, begun and not ended.
struct Container<'a> {
    out: &'a mut Vec<u8>,
    operation: &'a str,
    /// The element to close at the end.
    close: Option<&'static str>,
    /// What each item of a list or a map is called.
    item: &'static str,
    /// What the key and the value of a map's item are called.
    entry: (&'static str, &'static str),
}

impl Container<'_> {
    fn write<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        flattened: Option<&'static Flattened>,
        value: &T,
    ) -> Result<(), Unwritable> {
        value.serialize(Element { out: self.out, operation: self.operation, name: Some(name), flattened })
    }

    fn close(self) {
        if let Some(name) = self.close {
            close(self.out, name);
        }
    }
}

impl<'a> Serializer for Element<'a> {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Container<'a>;
    type SerializeMap = Container<'a>;
    type SerializeStruct = Container<'a>;
    type SerializeTuple = ser::Impossible<(), Unwritable>;
    type SerializeTupleStruct = ser::Impossible<(), Unwritable>;
    type SerializeTupleVariant = ser::Impossible<(), Unwritable>;
    type SerializeStructVariant = ser::Impossible<(), Unwritable>;

    fn serialize_str(self, text: &str) -> Result<(), Unwritable> {
        self.text(text)
    }

    fn serialize_bool(self, value: bool) -> Result<(), Unwritable> {
        self.text(if value { "true" } else { "false" })
    }

    fn serialize_i64(self, value: i64) -> Result<(), Unwritable> {
        self.text(itoa::Buffer::new().format(value))
    }

    fn serialize_u64(self, value: u64) -> Result<(), Unwritable> {
        self.text(itoa::Buffer::new().format(value))
    }

    fn serialize_i8(self, value: i8) -> Result<(), Unwritable> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Unwritable> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Unwritable> {
        self.serialize_i64(value.into())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Unwritable> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Unwritable> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Unwritable> {
        self.serialize_u64(value.into())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Unwritable> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Unwritable> {
        self.text(&value.to_string())
    }

    fn serialize_char(self, value: char) -> Result<(), Unwritable> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Unwritable> {
        Err(ser::Error::custom("bytes have no shape in XML; a Blob writes base64"))
    }

    fn serialize_none(self) -> Result<(), Unwritable> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unwritable> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unwritable> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Unwritable> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Unwritable> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Unwritable> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unwritable> {
        Err(ser::Error::custom("variants with values have no shape in XML"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Container<'a>, Unwritable> {
        Ok(self.open_items("member"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Container<'a>, Unwritable> {
        Ok(self.open_items("entry"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Container<'a>, Unwritable> {
        Ok(self.open())
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Unwritable> {
        Err(ser::Error::custom("tuples have no shape in XML"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Unwritable> {
        Err(ser::Error::custom("tuples have no shape in XML"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unwritable> {
        Err(ser::Error::custom("variants with values have no shape in XML"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unwritable> {
        Err(ser::Error::custom("variants with values have no shape in XML"))
    }
}

impl ser::SerializeStruct for Container<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unwritable> {
        self.write(name, names::flattened(self.operation, name), value)
    }

    fn end(self) -> Result<(), Unwritable> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeSeq for Container<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unwritable> {
        self.write(self.item, None, value)
    }

    fn end(self) -> Result<(), Unwritable> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeMap for Container<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unwritable> {
        open(self.out, self.item);
        self.write(self.entry.0, None, key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unwritable> {
        self.write(self.entry.1, None, value)?;
        close(self.out, self.item);
        Ok(())
    }

    fn end(self) -> Result<(), Unwritable> {
        self.close();
        Ok(())
    }
}
