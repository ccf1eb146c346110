//! The MD5 digests by which SDKs check that a message arrived as it was sent.
//!
//! ```text
//! of a body:         its bytes
//! of attributes:     for each, in the order of the names:
//!                      length 4 · name · length 4 · type · kind 1 · length 4 · value
//!                      lengths are big-endian; kind: 1 String and Number, 2 Binary
//! ```
//!
//! Source: SQS Developer Guide, Calculating the MD5 message digest for message attributes.

use md5::{Digest, Md5};
use shard::{Attribute, AttributeValue};

pub(super) fn of_body(body: &str) -> [u8; 16] {
    Md5::digest(body.as_bytes()).into()
}

/// The digest of `attributes`, which come in the order of their names, in hex; nothing where there are none.
pub(super) fn of_attributes<'a>(attributes: impl IntoIterator<Item = &'a Attribute>) -> Option<String> {
    let mut attributes = attributes.into_iter().peekable();
    attributes.peek()?;
    let mut digest = Md5::new();
    for attribute in attributes {
        add(&mut digest, attribute.name.as_bytes());
        add(&mut digest, attribute.data_type.as_bytes());
        match &attribute.value {
            AttributeValue::Text(text) => {
                digest.update([1]);
                add(&mut digest, text.as_bytes());
            }
            AttributeValue::Binary(binary) => {
                digest.update([2]);
                add(&mut digest, binary);
            }
        }
    }
    Some(hex(&digest.finalize().into()))
}

fn add(digest: &mut Md5, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("an attribute is at most 1 MiB");
    digest.update(length.to_be_bytes());
    digest.update(bytes);
}

/// 32 hex digits in lower case.
pub(super) fn hex(md5: &[u8; 16]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = md5.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// `(name, type, value)`; binary where the type says so.
    fn check(attributes: &[(&str, &str, &[u8])], expected: Option<&str>) {
        let attribute = |&(name, data_type, value): &(&str, &str, &[u8])| Attribute {
            name: name.into(),
            data_type: data_type.into(),
            value: match data_type.starts_with("Binary") {
                true => AttributeValue::Binary(Bytes::copy_from_slice(value)),
                false => AttributeValue::Text(std::str::from_utf8(value).expect("text").into()),
            },
        };
        let attributes: Vec<_> = attributes.iter().map(attribute).collect();
        assert_eq!(of_attributes(&attributes).as_deref(), expected, "{attributes:?}");
    }

    /// Observed in recordings of 2024 and 2025, except that of `content-encoding`, which the Java SDK computed.
    #[test]
    fn digests_are_those_that_aws_gives() {
        assert_eq!(hex(&of_body("message")), "78e731027d8fd50ed642340b7c9a63b3");
        assert_eq!(hex(&of_body("a\r\nb")), "65d5f03c46e62e3f2babbe712d2ce464");

        check(&[], None);
        check(&[("Foo", "String", b"Bar")], Some("ae7155c6026991b6d54b11589678bf9c"));
        check(&[("attr1", "Number", b"19.12")], Some("1f07082409022a373fa2a2601f82b3cb"));
        check(&[("content-encoding", "String", b"lz4")], Some("d5b1c8868f6406a7a6a8f4cebc4fcc94"));
        check(
            &[("attr1", "Binary", b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01")],
            Some("8cbe4db156db8a94db8b801b7addb984"),
        );
        check(&[("test-key", "String", b"test-value")], Some("befa18540a897f7d022bf07057754a03"));
        check(
            &[("test-key", "String", b"test-value"), ("test-key-alt", "String", b"test-value-alt")],
            Some("2256c3b617e2b4b3ae4f2d455dcf54d0"),
        );
        check(
            &[(
                "AWSTraceHeader",
                "String",
                b"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
            )],
            Some("5ae4d5d7636402d80f4eb6d213245a88"),
        );
    }
}
