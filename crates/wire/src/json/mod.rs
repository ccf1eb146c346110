//! AWS JSON 1.0: one object there, one object back.

mod strict;

use crate::call::{MEMBERS_MAX, clipped, too_many_members};
use api::{Error, ErrorKind};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use strict::Strict;

/// Reads a request. Strings are copied once, from the body into the request.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    // Chosen: no body at all is an object without members. The operation then names what it misses.
    let body = if body.is_empty() { b"{}" } else { body };
    if has_too_many_members(body) {
        return Err(too_many_members());
    }
    from_slice(body).map_err(|error| {
        // serde_json quotes what it found, which may be as long as the request.
        let reason = error.to_string();
        let message = format!("The request body is not the JSON that this operation takes: {}", clipped(&reason));
        Error::new(ErrorKind::Serialization, message)
    })
}

/// As serde_json's, but strict about types.
fn from_slice<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let request = T::deserialize(Strict(&mut json))?;
    json.end()?;
    Ok(request)
}

/// Counts the commas that are not in strings, of which there is one between any two members or items.
fn has_too_many_members(body: &[u8]) -> bool {
    // Each takes two bytes or more, so that hardly any request is looked through at all.
    if body.len() <= MEMBERS_MAX * 2 || body.iter().filter(|&&byte| byte == b',').count() < MEMBERS_MAX {
        return false;
    }
    let (mut commas, mut in_string) = (0, false);
    let mut bytes = body.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            // What is escaped, a quotation mark perhaps, ends nothing.
            b'\\' if in_string => _ = bytes.next(),
            b',' if !in_string => commas += 1,
            _ => {}
        }
    }
    commas >= MEMBERS_MAX
}

/// Writes a reply.
pub fn encode<T: Serialize>(reply: &T) -> Result<Bytes, serde_json::Error> {
    /// Most replies fit, and a buffer for a full receive is soon reached by doubling.
    const CAPACITY_BYTES: usize = 512;
    let mut out = Vec::with_capacity(CAPACITY_BYTES);
    serde_json::to_writer(&mut out, reply)?;
    Ok(out.into())
}

/// Writes an error: `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"…"}`
pub fn encode_error(error: &Error) -> Result<Bytes, serde_json::Error> {
    use serde::ser::SerializeMap;

    let mut out = Vec::with_capacity(128 + error.message.len());
    let mut serializer = serde_json::Serializer::new(&mut out);
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("__type", &TypeName(error.kind))?;
    // Observed in October 2026 by others: the layer that denies access writes its member with a capital letter.
    let message = if error.kind == ErrorKind::AccessDenied { "Message" } else { "message" };
    map.serialize_entry(message, &error.message)?;
    map.end()?;
    Ok(out.into())
}

/// The name of an error with the namespace of the model that it is in.
struct TypeName(ErrorKind);

impl Serialize for TypeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let namespace = if is_modelled(self.0) { "com.amazonaws.sqs" } else { "com.amazon.coral.service" };
        serializer.collect_str(&format_args!("{namespace}#{}", self.0.json_name()))
    }
}

/// Is it an error of SQS's own model, rather than one that the framework beneath every service gives?
///
/// Source: the API model of botocore 1.44.8. Observed: the other namespace, in recordings of several services.
fn is_modelled(kind: ErrorKind) -> bool {
    use ErrorKind::*;
    !matches!(
        kind,
        InvalidParameterValue
            | MissingParameter
            | AccessDenied
            | Serialization
            | UnknownOperation
            | InvalidAction
            | MissingAction
            | RequestEntityTooLarge
            | InternalFailure
            | ServiceUnavailable
    )
}
