//! Replies with every member filled, and a strict reader of XML.

#![allow(dead_code, reason = "each test program uses its part")]

use api::sqs::*;
use bytes::Bytes;
use model::{Blob, Text};

/// Takes apart what a request would be on its way in.
pub fn call(request: http::request::Builder, body: impl Into<Bytes>) -> Result<wire::Call, wire::Rejected> {
    let (parts, ()) = request.body(()).expect("a request").into_parts();
    wire::detect(&parts, body.into())
}

/// A call in JSON.
pub fn json_call(operation: &str, body: impl Into<Bytes>) -> wire::Call {
    let request = http::Request::post("/")
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", format!("AmazonSQS.{operation}"));
    call(request, body).expect("a call")
}

/// A call in the Query protocol; `form` has all but the action.
pub fn query_call(operation: &str, form: &str) -> wire::Call {
    let request = http::Request::post("/").header("content-type", "application/x-www-form-urlencoded");
    call(request, format!("Action={operation}&Version=2012-11-05&{form}")).expect("a call")
}

pub fn string_attribute(value: &str) -> MessageAttributeValue {
    MessageAttributeValue {
        string_value: Some(value.into()),
        data_type: Some("String".into()),
        ..MessageAttributeValue::default()
    }
}

pub fn binary_attribute(value: &'static [u8]) -> MessageAttributeValue {
    MessageAttributeValue {
        binary_value: Some(Blob(Bytes::from_static(value))),
        data_type: Some("Binary".into()),
        ..MessageAttributeValue::default()
    }
}

pub fn string_map(entries: &[(&str, &str)]) -> StringMap {
    entries.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub fn queue_url_reply() -> QueueUrlReply {
    QueueUrlReply { queue_url: "http://localhost:4566/123456789012/q".into() }
}

pub fn list_queues_reply() -> ListQueuesReply {
    ListQueuesReply { queue_urls: vec!["http://h/1/a".into(), "http://h/1/b".into()], next_token: Some("t".into()) }
}

pub fn get_queue_attributes_reply() -> GetQueueAttributesReply {
    GetQueueAttributesReply { attributes: string_map(&[("DelaySeconds", "0"), ("VisibilityTimeout", "30")]) }
}

pub fn list_queue_tags_reply() -> ListQueueTagsReply {
    ListQueueTagsReply { tags: string_map(&[("team", "a & b")]) }
}

pub fn send_message_reply() -> SendMessageReply {
    SendMessageReply {
        md5_of_message_body: "md5b".into(),
        md5_of_message_attributes: Some("md5a".into()),
        md5_of_message_system_attributes: Some("md5s".into()),
        message_id: "id".into(),
        sequence_number: Some("1".into()),
    }
}

pub fn send_message_batch_reply() -> SendMessageBatchReply {
    SendMessageBatchReply {
        successful: vec![SendMessageBatchResultEntry {
            id: "e1".into(),
            message_id: "id".into(),
            md5_of_message_body: "md5b".into(),
            md5_of_message_attributes: Some("md5a".into()),
            md5_of_message_system_attributes: Some("md5s".into()),
            sequence_number: Some("1".into()),
        }],
        failed: failed(),
    }
}

fn failed() -> Vec<BatchResultErrorEntry> {
    vec![BatchResultErrorEntry {
        id: "e2".into(),
        sender_fault: true,
        code: "InvalidParameterValue".into(),
        message: Some("No <b>.".into()),
    }]
}

pub fn batch_reply() -> BatchReply {
    BatchReply { successful: vec![BatchResultEntry { id: "e1".into() }], failed: failed() }
}

pub fn receive_message_reply() -> ReceiveMessageReply {
    let attribute = MessageAttributeValue {
        string_list_values: vec!["s".into()],
        binary_list_values: vec![Blob(Bytes::from_static(b"b"))],
        ..binary_attribute(b"\x00\xff")
    };
    ReceiveMessageReply {
        messages: vec![ReceivedMessage {
            message_id: "id".into(),
            receipt_handle: "handle".into(),
            md5_of_body: "md5b".into(),
            body: "a\r\nb".into(),
            attributes: [("SenderId", Text::from("AIDA")), ("SentTimestamp", "1700000000000".into())].into(),
            md5_of_message_attributes: Some("md5a".into()),
            message_attributes: [("bin".into(), attribute), ("str".into(), string_attribute("v"))].into(),
        }],
    }
}

/// An element: its name, the text in it, the elements in it. Never both text and elements.
#[derive(PartialEq, Eq, Debug)]
pub struct Xml {
    pub name: String,
    pub text: String,
    pub children: Vec<Xml>,
}

impl Xml {
    /// Reads a document as a strict parser of XML 1.0 does, and nothing that this server has no use for: one root, its
    /// namespace the only attribute, no comments, no text beside elements.
    pub fn parse(document: &[u8]) -> Self {
        let document = std::str::from_utf8(document).expect("UTF-8");
        let rest = document.strip_prefix("<?xml version=\"1.0\"?><").expect("a declaration, then the root");
        // What a parser does with line ends before it looks at anything else.
        let rest = rest.replace("\r\n", "\n").replace('\r', "\n");
        let (root, rest) = Self::element(&rest);
        assert_eq!(rest, "", "something follows the root");
        Self { name: root.name.replace(" xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"", ""), ..root }
    }

    /// Reads an element whose `<` is gone already.
    fn element(document: &str) -> (Self, &str) {
        let (tag, mut rest) = document.split_once('>').expect("a tag ends");
        let mut element = Self { name: tag.into(), text: String::new(), children: Vec::new() };
        if let Some(name) = tag.strip_suffix('/') {
            element.name = name.into();
            return (element, rest);
        }
        let end = format!("/{}>", tag.split(' ').next().expect("a name"));
        loop {
            let (text, after) = rest.split_once('<').expect("an element ends");
            element.text.push_str(&Self::unescape(text));
            if let Some(after) = after.strip_prefix(&*end) {
                assert!(element.text.is_empty() || element.children.is_empty(), "text beside elements in {tag}");
                return (element, after);
            }
            let (child, after) = Self::element(after);
            element.children.push(child);
            rest = after;
        }
    }

    fn unescape(text: &str) -> String {
        let legal = |c: char| {
            assert!(matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..), "{c:?} is not legal in XML");
            c
        };
        let mut parts = text.split('&');
        let mut plain: String = parts.next().unwrap_or_default().chars().map(legal).collect();
        for part in parts {
            let (entity, rest) = part.split_once(';').expect("an entity ends");
            plain.push(match entity {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                _ => {
                    let hex = entity.strip_prefix("#x").expect("a character reference");
                    legal(char::from_u32(u32::from_str_radix(hex, 16).expect("digits")).expect("a character"))
                }
            });
            plain.extend(rest.chars().map(legal));
        }
        plain
    }

    /// The text of the element at `path`, below this one.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        let Some((first, rest)) = path.split_first() else { return Some(&self.text) };
        self.children.iter().find(|child| child.name == *first)?.text_at(rest)
    }
}

/// Writes a JSON request as a client of the Query protocol does, but for the action.
pub fn form_of(operation: &str, request: &serde_json::Value) -> String {
    let mut parameters = Vec::new();
    flatten(operation, "", request, &mut parameters);
    let pairs: Vec<_> = parameters.iter().map(|(key, value)| format!("{key}={}", percent_encoded(value))).collect();
    pairs.join("&")
}

fn flatten(operation: &str, prefix: &str, value: &serde_json::Value, parameters: &mut Vec<(String, String)>) {
    use serde_json::Value;

    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let singular = match name.as_str() {
                    "Entries" => format!("{prefix}{operation}RequestEntry"),
                    "AttributeNames"
                    | "MessageAttributeNames"
                    | "MessageSystemAttributeNames"
                    | "TagKeys"
                    | "Attributes"
                    | "MessageAttributes"
                    | "MessageSystemAttributes" => {
                        format!("{prefix}{}", name.strip_suffix('s').expect("a plural"))
                    }
                    "tags" | "Tags" => format!("{prefix}Tag"),
                    _ => format!("{prefix}{name}"),
                };
                match value {
                    Value::Object(entries) => {
                        let key = if singular.ends_with("Tag") { "Key" } else { "Name" };
                        for (index, (name, value)) in entries.iter().enumerate() {
                            let item = format!("{singular}.{}", index + 1);
                            parameters.push((format!("{item}.{key}"), name.clone()));
                            if value.is_object() {
                                flatten(operation, &format!("{item}.Value."), value, parameters);
                            } else {
                                flatten(operation, &format!("{item}.Value"), value, parameters);
                            }
                        }
                    }
                    Value::Array(items) => {
                        for (index, value) in items.iter().enumerate() {
                            let dot = if value.is_object() { "." } else { "" };
                            flatten(operation, &format!("{singular}.{}{dot}", index + 1), value, parameters);
                        }
                    }
                    _ => flatten(operation, &singular, value, parameters),
                }
            }
        }
        Value::String(text) => parameters.push((prefix.to_owned(), text.clone())),
        other => parameters.push((prefix.to_owned(), other.to_string())),
    }
}

fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escape = |byte: u8| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}
