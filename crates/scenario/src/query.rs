//! Between the shapes of AWS JSON and those of the Query protocol.
//!
//! ```text
//!   {"Attributes": {"DelaySeconds": "5"}}     ⇄    Attribute.1.Name=DelaySeconds&Attribute.1.Value=5
//!   {"Entries": [{"Id": "a"}]}                ⇄    SendMessageBatchRequestEntry.1.Id=a
//!   {"QueueUrls": ["…", "…"]}                 ⇄    <QueueUrl>…</QueueUrl><QueueUrl>…</QueueUrl>
//! ```
//!
//! Written for the operations of SQS only, and apart from the server's own code: two mistakes of one kind would agree.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

/// Members that are maps: their name in JSON, the name of an entry, and those of its key and value.
const MAPS: &[(&str, &str, &str, &str)] = &[
    ("Attributes", "Attribute", "Name", "Value"),
    ("MessageAttributes", "MessageAttribute", "Name", "Value"),
    ("MessageSystemAttributes", "MessageSystemAttribute", "Name", "Value"),
    ("Tags", "Tag", "Key", "Value"),
    ("tags", "Tag", "Key", "Value"),
];

/// Members of replies that are lists.
const LISTS: &[(&str, &str)] = &[
    ("Messages", "Message"),
    ("QueueUrls", "QueueUrl"),
    ("Successful", "SendMessageBatchResultEntry"),
    ("Successful", "DeleteMessageBatchResultEntry"),
    ("Successful", "ChangeMessageVisibilityBatchResultEntry"),
    ("Failed", "BatchResultErrorEntry"),
];

/// The body of a request.
pub fn form(operation: &str, members: &Value) -> String {
    let mut fields = vec![("Action".to_owned(), operation.to_owned()), ("Version".to_owned(), "2012-11-05".to_owned())];
    flatten(operation, "", members, &mut fields);
    const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    let encode = |text: &str| utf8_percent_encode(text, PLAIN).to_string();
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    fields.join("&")
}

fn flatten(operation: &str, prefix: &str, members: &Value, fields: &mut Vec<(String, String)>) {
    for (name, value) in members.as_object().expect("members of a request or an entry") {
        let map = MAPS.iter().find(|(json_name, ..)| json_name == name);
        match (value, map) {
            (Value::Object(entries), Some((_, entry, key_name, value_name))) => {
                for (number, (key, value)) in (1..).zip(entries) {
                    fields.push((format!("{prefix}{entry}.{number}.{key_name}"), key.clone()));
                    flatten_value(operation, format!("{prefix}{entry}.{number}.{value_name}"), value, fields);
                }
            }
            (Value::Array(items), _) => {
                let item_name = match name.as_str() {
                    "Entries" => format!("{operation}RequestEntry"),
                    plural => plural.trim_end_matches('s').to_owned(),
                };
                for (number, item) in (1..).zip(items) {
                    flatten_value(operation, format!("{prefix}{item_name}.{number}"), item, fields);
                }
            }
            (value, _) => flatten_value(operation, format!("{prefix}{name}"), value, fields),
        }
    }
}

fn flatten_value(operation: &str, name: String, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(_) => flatten(operation, &format!("{name}."), value, fields),
        Value::String(text) => fields.push((name, text.clone())),
        other => fields.push((name, other.to_string())),
    }
}

/// The members of a reply, as JSON has them.
pub fn members(operation: &str, document: &str) -> Value {
    let root = parse(document);
    match root.children.iter().find(|child| child.name == format!("{operation}Result")) {
        Some(result) => result.members(operation == "ListQueues"),
        None => json!({}),
    }
}

/// The code of an error.
pub fn error_code(document: &str) -> Option<String> {
    let root = parse(document);
    let error = root.children.iter().find(|child| child.name == "Error")?;
    Some(error.children.iter().find(|child| child.name == "Code")?.text.clone())
}

#[derive(Default)]
struct Element {
    name: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    fn members(&self, urls_are_listed: bool) -> Value {
        let mut members = Map::new();
        for child in &self.children {
            let map = MAPS.iter().find(|(_, entry, ..)| *entry == child.name);
            let list = LISTS.iter().find(|(_, item)| *item == child.name && (urls_are_listed || *item != "QueueUrl"));
            if let Some((json_name, _, key_name, value_name)) = map {
                let part =
                    |name: &str| child.children.iter().find(|part| part.name == name).expect("a key and a value");
                let map = members.entry(*json_name).or_insert_with(|| json!({}));
                map[part(key_name).text.clone()] = part(value_name).value();
            } else if let Some((json_name, _)) = list {
                let list = members.entry(*json_name).or_insert_with(|| json!([]));
                list.as_array_mut().expect("a list").push(child.value());
            } else {
                members.insert(child.name.clone(), child.value());
            }
        }
        Value::Object(members)
    }

    fn value(&self) -> Value {
        if self.children.is_empty() { Value::String(self.text.clone()) } else { self.members(false) }
    }
}

/// Reads a document. Namespaces and other attributes of elements are passed over.
fn parse(document: &str) -> Element {
    let mut open = vec![Element::default()];
    let mut rest = document;
    while let Some((text, after)) = rest.split_once('<') {
        open.last_mut().expect("the document itself is open").text += &unescaped(text);
        let (tag, after) = after.split_once('>').expect("a tag ends");
        rest = after;
        if tag.starts_with('?') {
            continue;
        }
        if !tag.starts_with('/') {
            let name = tag.trim_end_matches('/').split_whitespace().next().expect("a tag has a name");
            open.push(Element { name: name.to_owned(), ..Element::default() });
        }
        if tag.starts_with('/') || tag.ends_with('/') {
            let closed = open.pop().expect("something is open");
            open.last_mut().expect("no more is closed than was opened").children.push(closed);
        }
    }
    assert_eq!(open.len(), 1, "the document ends early: {document}");
    open.pop().and_then(|document| document.children.into_iter().next()).expect("a document has a root")
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        let (entity, after) = after.split_once(';').expect("an entity ends");
        plain += before;
        plain.push(match entity {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            number => {
                let code = match number.strip_prefix("#x") {
                    Some(hex) => u32::from_str_radix(hex, 16).ok(),
                    None => number.strip_prefix('#').and_then(|decimal| decimal.parse().ok()),
                };
                code.and_then(char::from_u32).unwrap_or_else(|| panic!("there is no entity {number}"))
            }
        });
        rest = after;
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_flattened() {
        let check = |operation: &str, members: Value, expected: &str| {
            let start = format!("Action={operation}&Version=2012-11-05");
            assert_eq!(form(operation, &members), format!("{start}{expected}"));
        };
        check("SetQueueAttributes", json!({"Attributes": {"A": "1 2"}}), "&Attribute.1.Name=A&Attribute.1.Value=1%202");
        check("UntagQueue", json!({"TagKeys": ["a", "b"]}), "&TagKey.1=a&TagKey.2=b");
        let message = json!({"Entries": [{"Id": "a", "MessageAttributes": {"F": {"DataType": "String"}}}]});
        let entry = "SendMessageBatchRequestEntry.1.";
        let attribute = format!("&{entry}MessageAttribute.1.Name=F&{entry}MessageAttribute.1.Value.DataType=String");
        check("SendMessageBatch", message, &format!("&{entry}Id=a{attribute}"));
    }

    #[test]
    fn replies_are_read() {
        let document = r#"<?xml version="1.0"?><ReceiveMessageResponse xmlns="x"><ReceiveMessageResult><Message>
            <Body>a &lt;&#x9;&amp;</Body><Attribute><Name>N</Name><Value>1</Value></Attribute></Message><Message/>
            </ReceiveMessageResult></ReceiveMessageResponse>"#;
        let expected = json!({"Messages": [{"Body": "a <\t&", "Attributes": {"N": "1"}}, ""]});
        assert_eq!(members("ReceiveMessage", document), expected);
        let error = "<ErrorResponse><Error><Type>Sender</Type><Code>X</Code></Error></ErrorResponse>";
        assert_eq!(error_code(error).as_deref(), Some("X"));
    }
}
