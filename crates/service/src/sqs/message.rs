//! A message as a client sends it, alone or in a batch: what is checked of it, and what is stored.
//!
//! ```text
//!   Draft ──size──▶ is the batch short enough?
//!     └────check──▶ Checked { message for the shard, digests for the reply }
//! ```

use super::{characters, digest, number, range};
use crate::errors;
use api::sqs::{MessageAttributeValue, MessageAttributes};
use api::{Error, ErrorKind};
use model::limits::*;
use model::{MessageId, Text};
use shard::{Attribute, AttributeValue, NewMessage, Payload};

/// What both forms of sending say of a message.
#[derive(Default)]
pub(super) struct Draft {
    pub body: Option<String>,
    pub delay_seconds: Option<i64>,
    pub attributes: Option<MessageAttributes>,
    pub system_attributes: Option<MessageAttributes>,
    pub deduplication_id: Option<String>,
    pub group_id: Option<String>,
}

/// A message that may be sent.
pub(super) struct Checked {
    pub message: NewMessage,
    pub md5_of_body: String,
    pub md5_of_attributes: Option<String>,
    pub md5_of_system_attributes: Option<String>,
}

impl Draft {
    /// What counts against the limits of queue and batch, in bytes: the body, and names, types and values of the
    /// attributes. System attributes are free.
    ///
    /// Source: SQS Developer Guide, Message metadata.
    pub fn size_bytes(&self) -> usize {
        let attribute_bytes = |(name, value): (&String, &MessageAttributeValue)| {
            let text_bytes = |text: &Option<Text>| text.as_ref().map_or(0, |text| text.bytes().len());
            let binary_bytes = value.binary_value.as_ref().map_or(0, |binary| binary.0.len());
            name.len() + text_bytes(&value.data_type) + text_bytes(&value.string_value) + binary_bytes
        };
        let attributes = self.attributes.iter().flatten().map(attribute_bytes);
        self.body.as_ref().map_or(0, String::len) + attributes.sum::<usize>()
    }

    /// Checks everything that can be told without knowing the queue, and makes the message that the shard stores.
    ///
    /// The text for messages that are too long depends on `is_batch`.
    pub fn check(self, id: MessageId, sender_id: &str, is_batch: bool) -> Result<Checked, Error> {
        let size_bytes = self.size_bytes();
        let body = self.body.filter(|body| !body.is_empty()).ok_or_else(|| errors::missing("MessageBody"))?;
        if size_bytes > MESSAGE_BYTES_MAX {
            return Err(errors::message_too_long(MESSAGE_BYTES_MAX, is_batch));
        }
        if let Some(character) = characters::first_forbidden(&body) {
            let message = characters::forbidden_text(character, "the message body");
            return Err(Error::new(ErrorKind::InvalidMessageContents, message));
        }
        let attributes = check_attributes(self.attributes.unwrap_or_default())?;
        let trace_header = check_system_attributes(self.system_attributes.unwrap_or_default())?;
        // Observed by field reports: the text.
        let reason = "DelaySeconds must be >= 0 and <= 900.";
        let delay_seconds = range::optional(self.delay_seconds, 0..=DELAY_SECONDS_MAX, "DelaySeconds", reason)?;
        check_deduplication_id(self.deduplication_id.as_deref())?;
        check_id(self.group_id.as_deref(), "MessageGroupId")?;

        let body_md5 = digest::of_body(&body);
        let md5_of_attributes = digest::of_attributes(&attributes);
        let md5_of_system_attributes = digest::of_attributes(&trace_header);
        let payload = Payload {
            id,
            body_md5,
            sender_id: sender_id.into(),
            body: body.into(),
            attributes,
            trace_header: trace_header.and_then(into_text),
            message_group_id: self.group_id.map(Text::from),
        };
        Ok(Checked {
            message: NewMessage { id, delay_seconds, size_bytes, payload: payload.encode() },
            md5_of_body: digest::hex(&body_md5),
            md5_of_attributes,
            md5_of_system_attributes,
        })
    }
}

/// The attributes of a message, in the order of their names.
///
/// Source: SQS Developer Guide, Message metadata. Observed in recordings of 2024 and by field reports: the texts.
fn check_attributes(attributes: MessageAttributes) -> Result<Vec<Attribute>, Error> {
    if attributes.len() > MESSAGE_ATTRIBUTES_MAX {
        let sent = attributes.len();
        return Err(errors::invalid_parameter(format!(
            "Number of message attributes [{sent}] exceeds the allowed maximum [{MESSAGE_ATTRIBUTES_MAX}]."
        )));
    }
    let check = |(name, value): (String, MessageAttributeValue)| {
        check_name(&name)?;
        check_attribute(name, value)
    };
    attributes.into_iter().map(check).collect()
}

fn check_name(name: &str) -> Result<(), Error> {
    let refuse = |message: String| Err(errors::invalid_parameter(message));
    if name.is_empty() {
        return refuse("The name of a message attribute can't be empty.".into());
    }
    if name.len() > MESSAGE_ATTRIBUTE_NAME_CHARS_MAX {
        return refuse(format!(
            "Length of message attribute name must be less than {MESSAGE_ATTRIBUTE_NAME_CHARS_MAX} bytes."
        ));
    }
    if let Some(character) = name.chars().find(|&character| !is_name_character(character)) {
        let code = u32::from(character);
        return refuse(format!(
            "Invalid non-alphanumeric character '#x{code:X}' was found in the message attribute name. \
             Can only include alphanumeric characters, hyphens, underscores, or dots."
        ));
    }
    if name.starts_with('.') {
        return refuse("Invalid message attribute name starting with character '.' was found.".into());
    }
    if name.ends_with('.') {
        return refuse("Invalid message attribute name ending with character '.' was found.".into());
    }
    if name.contains("..") {
        return refuse("Message attribute name can not have successive '.' character.".into());
    }
    let begins_with =
        |reserved: &str| name.get(..reserved.len()).is_some_and(|start| start.eq_ignore_ascii_case(reserved));
    if begins_with("AWS.") || begins_with("Amazon.") {
        return refuse(
            "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. \
             These strings are reserved for internal use."
                .into(),
        );
    }
    Ok(())
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
}

fn check_attribute(name: String, value: MessageAttributeValue) -> Result<Attribute, Error> {
    let refuse = |message: String| Err(errors::invalid_parameter(message));
    let MessageAttributeValue { string_value, binary_value, string_list_values, binary_list_values, data_type } = value;
    if !string_list_values.is_empty() || !binary_list_values.is_empty() {
        return refuse(format!(
            "The message attribute '{name}' can't have list values: StringListValues and BinaryListValues are reserved."
        ));
    }
    let Some(data_type) = data_type.filter(|data_type| !data_type.is_empty()) else {
        return refuse(format!("The message attribute '{name}' must contain a non-empty message attribute type."));
    };
    if data_type.len() > MESSAGE_ATTRIBUTE_NAME_CHARS_MAX {
        return refuse(format!(
            "Length of message attribute type must be less than {MESSAGE_ATTRIBUTE_NAME_CHARS_MAX} bytes."
        ));
    }
    let base = data_type.split('.').next().unwrap_or_default();
    if !matches!(base, "String" | "Number" | "Binary") || !data_type.chars().all(is_name_character) {
        return refuse(format!(
            "The message attribute '{name}' has an invalid message attribute type, \
             the set of supported type prefixes is Binary, Number, and String."
        ));
    }

    let value = match (base, string_value, binary_value) {
        ("Binary", None, Some(binary)) if !binary.0.is_empty() => AttributeValue::Binary(binary.0),
        ("String" | "Number", Some(text), None) if !text.is_empty() => AttributeValue::Text(text),
        ("Binary", Some(_), _) => {
            return refuse(format!("The message attribute '{name}' with type 'Binary' must use field 'Binary'."));
        }
        ("String" | "Number", _, Some(_)) => {
            return refuse(format!("The message attribute '{name}' with type '{base}' must use field 'String'."));
        }
        _ => {
            return refuse(format!(
                "Message (user) attribute '{name}' must contain a non-empty value of type '{base}'."
            ));
        }
    };
    if let AttributeValue::Text(text) = &value {
        if base == "Number" && !number::is_number(text) {
            return refuse(format!("Can't cast the value of message (user) attribute '{name}' to a number."));
        }
        if let Some(character) = characters::first_forbidden(text) {
            let place = format!("the value of message attribute '{name}'");
            return refuse(characters::forbidden_text(character, &place));
        }
    }
    Ok(Attribute { name: name.into(), data_type, value })
}

/// The system attributes of a message: the trace header, or none.
///
/// Source: SQS API Reference, SendMessage, `MessageSystemAttributes`. Chosen: the texts; a trace header is any list of
/// `key=value` that has a `Root`.
fn check_system_attributes(mut attributes: MessageAttributes) -> Result<Option<Attribute>, Error> {
    const TRACE_HEADER: &str = "AWSTraceHeader";
    let value = attributes.remove(TRACE_HEADER);
    if let Some(name) = attributes.keys().next() {
        let name = errors::clipped(name);
        return Err(errors::invalid_parameter(format!(
            "The message system attribute '{name}' can't be sent. The only one that can is {TRACE_HEADER}."
        )));
    }
    let Some(value) = value else { return Ok(None) };
    let attribute = check_attribute(TRACE_HEADER.into(), value)?;
    match &attribute.value {
        AttributeValue::Text(header) if &*attribute.data_type == "String" && is_trace_header(header) => {
            Ok(Some(attribute))
        }
        _ => Err(errors::invalid_parameter(format!(
            "{TRACE_HEADER} must be of type 'String' and hold an X-Ray trace header: \
             Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
        ))),
    }
}

fn is_trace_header(text: &str) -> bool {
    let fields = || text.split(';').map(str::trim).filter(|field| !field.is_empty());
    fields().all(|field| field.contains('=')) && fields().any(|field| field.starts_with("Root="))
}

fn into_text(attribute: Attribute) -> Option<Text> {
    match attribute.value {
        AttributeValue::Text(text) => Some(text),
        AttributeValue::Binary(_) => None,
    }
}

/// A deduplication id means nothing to a standard queue, so that one is refused.
///
/// Observed in recordings of 2024 and 2025: the texts.
fn check_deduplication_id(id: Option<&str>) -> Result<(), Error> {
    const PARAMETER: &str = "MessageDeduplicationId";
    check_id(id, PARAMETER)?;
    let Some(id) = id else { return Ok(()) };
    let reason = "The request include parameter that is not valid for this queue type.";
    Err(errors::invalid_value(id, PARAMETER, reason))
}

/// Group and deduplication ids are made of letters, digits and punctuation: every ASCII character that shows.
///
/// Observed in recordings of 2025: the text.
fn check_id(id: Option<&str>, parameter: &str) -> Result<(), Error> {
    let Some(id) = id else { return Ok(()) };
    if (1..=MESSAGE_GROUP_ID_CHARS_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    let reason = format!("{parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.");
    Err(errors::invalid_value(id, parameter, &reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::ErrorKind::{self, *};
    use bytes::Bytes;
    use model::Blob;

    fn plain() -> Draft {
        Draft { body: Some("message".into()), ..Draft::default() }
    }

    fn text(data_type: &str, value: &str) -> MessageAttributeValue {
        let (data_type, string_value) = (Some(data_type.into()), Some(value.into()));
        MessageAttributeValue { data_type, string_value, ..Default::default() }
    }

    fn binary(data_type: &str, value: &'static [u8]) -> MessageAttributeValue {
        let (data_type, binary_value) = (Some(data_type.into()), Some(Blob(Bytes::from_static(value))));
        MessageAttributeValue { data_type, binary_value, ..Default::default() }
    }

    fn with(name: &str, value: MessageAttributeValue) -> Draft {
        Draft { attributes: Some([(name.to_owned(), value)].into()), ..plain() }
    }

    fn check(draft: Draft) -> Result<Checked, Error> {
        draft.check(MessageId::from_random([7; 16]), "AIDA", false)
    }

    fn refused(draft: Draft, kind: ErrorKind, message: &str) {
        assert_eq!(check(draft).err(), Some(Error::new(kind, message)));
    }

    #[test]
    fn a_message_is_stored_as_it_was_sent() {
        let attributes = [
            ("attr1".to_owned(), text("Number.int", "19.12")),
            ("Foo".to_owned(), text("String", "Bar")),
            ("raw".to_owned(), binary("Binary.png", b"\x00\xff")),
        ];
        let header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
        let draft = Draft {
            delay_seconds: Some(900),
            attributes: Some(attributes.into()),
            system_attributes: Some([("AWSTraceHeader".to_owned(), text("String", header))].into()),
            group_id: Some("tenant-1".into()),
            ..plain()
        };
        let checked = check(draft).expect("a message");
        // "message" 7, attr1 5 + 10 + 5, Foo 3 + 6 + 3, raw 3 + 10 + 2
        assert_eq!(checked.message.size_bytes, 7 + 20 + 12 + 15);
        assert_eq!(checked.message.delay_seconds, Some(900));
        assert_eq!(checked.md5_of_body, "78e731027d8fd50ed642340b7c9a63b3");
        assert_eq!(checked.md5_of_system_attributes.as_deref(), Some("5ae4d5d7636402d80f4eb6d213245a88"));

        let payload = Payload::decode(&checked.message.payload).expect("a payload");
        let names: Vec<_> = payload.attributes.iter().map(|attribute| &*attribute.name).collect();
        assert_eq!(names, ["Foo", "attr1", "raw"]);
        assert_eq!(digest::of_attributes(&payload.attributes), checked.md5_of_attributes);
        let expected = Payload {
            id: MessageId::from_random([7; 16]),
            body_md5: digest::of_body("message"),
            sender_id: "AIDA".into(),
            body: "message".into(),
            attributes: payload.attributes.clone(),
            trace_header: Some(header.into()),
            message_group_id: Some("tenant-1".into()),
        };
        assert_eq!(payload, expected);
    }

    #[test]
    fn digests_of_what_was_not_sent_are_absent() {
        let checked = check(plain()).expect("a message");
        assert_eq!((checked.md5_of_attributes, checked.md5_of_system_attributes), (None, None));
    }

    #[test]
    fn bodies() {
        for body in [None, Some(String::new())] {
            refused(Draft { body, ..plain() }, MissingParameter, "The request must contain the parameter MessageBody.");
        }
        let long = |bytes| Draft { body: Some("x".repeat(bytes)), ..plain() };
        assert!(check(long(MESSAGE_BYTES_MAX)).is_ok());
        let too_long = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.";
        refused(long(MESSAGE_BYTES_MAX + 1), InvalidParameterValue, too_long);
        let mut draft = with("k", text("String", "x"));
        draft.body = Some("x".repeat(MESSAGE_BYTES_MAX - 7));
        refused(draft, InvalidParameterValue, too_long);

        for body in ["A\u{7f}\u{85}Ã\u{2028}B", "\u{1f600}", "\t\r\n", "{\"S\":\"Box – reset\"}", "\u{fffd}"] {
            assert!(check(Draft { body: Some(body.into()), ..plain() }).is_ok(), "{body:?}");
        }
        refused(
            Draft { body: Some("a\u{1}".into()), ..plain() },
            InvalidMessageContents,
            "Invalid binary character '#x1' was found in the message body, the set of allowed characters is \
             #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].",
        );
    }

    #[test]
    fn attribute_names() {
        let name_256 = "n".repeat(256);
        for good in ["a", "A-b_9.c", "AWSome", "amazon", "x.aws.y", &name_256] {
            assert!(check(with(good, text("String", "x"))).is_ok(), "{good}");
        }
        let reserved = "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. \
                        These strings are reserved for internal use.";
        for (name, message) in [
            ("", "The name of a message attribute can't be empty."),
            (".a", "Invalid message attribute name starting with character '.' was found."),
            ("a.", "Invalid message attribute name ending with character '.' was found."),
            ("a..b", "Message attribute name can not have successive '.' character."),
            (
                "a^b",
                "Invalid non-alphanumeric character '#x5E' was found in the message attribute name. \
                 Can only include alphanumeric characters, hyphens, underscores, or dots.",
            ),
            (
                "é",
                "Invalid non-alphanumeric character '#xE9' was found in the message attribute name. \
                 Can only include alphanumeric characters, hyphens, underscores, or dots.",
            ),
            ("AWS.x", reserved),
            ("aws.x", reserved),
            ("AMAZON.x", reserved),
            (&"n".repeat(257), "Length of message attribute name must be less than 256 bytes."),
        ] {
            refused(with(name, text("String", "x")), InvalidParameterValue, message);
        }
    }

    #[test]
    fn attribute_types_and_values() {
        let bad_type = |name: &str| {
            format!(
                "The message attribute '{name}' has an invalid message attribute type, \
                 the set of supported type prefixes is Binary, Number, and String."
            )
        };
        for data_type in ["string", "Foo", "Strings", "String\n", "String.é", ".String"] {
            refused(with("Author", text(data_type, "A")), InvalidParameterValue, &bad_type("Author"));
        }
        assert!(check(with("n", text(&format!("String.{}", "l".repeat(249)), "1"))).is_ok());
        let cases = [
            (
                text(&format!("String.{}", "l".repeat(250)), "1"),
                "Length of message attribute type must be less than 256 bytes.",
            ),
            (text("", "A"), "The message attribute 'a' must contain a non-empty message attribute type."),
            (text("String", ""), "Message (user) attribute 'a' must contain a non-empty value of type 'String'."),
            (binary("Binary", b""), "Message (user) attribute 'a' must contain a non-empty value of type 'Binary'."),
            (text("Number", "abc"), "Can't cast the value of message (user) attribute 'a' to a number."),
            (text("Number.int", "1e127"), "Can't cast the value of message (user) attribute 'a' to a number."),
            (binary("String", b"x"), "The message attribute 'a' with type 'String' must use field 'String'."),
            (binary("Number", b"1"), "The message attribute 'a' with type 'Number' must use field 'String'."),
            (text("Binary", "x"), "The message attribute 'a' with type 'Binary' must use field 'Binary'."),
            (
                text("String", "a\u{0}"),
                "Invalid binary character '#x0' was found in the value of message attribute 'a', the set of allowed \
                 characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].",
            ),
            (
                MessageAttributeValue { string_list_values: vec!["x".into()], ..text("String", "x") },
                "The message attribute 'a' can't have list values: StringListValues and BinaryListValues are reserved.",
            ),
        ];
        for (value, message) in cases {
            refused(with("a", value), InvalidParameterValue, message);
        }
    }

    #[test]
    fn ten_attributes_at_most() {
        let many = |count: usize| Draft {
            attributes: Some((0..count).map(|n| (format!("a{n}"), text("String", "x"))).collect()),
            ..plain()
        };
        assert!(check(many(10)).is_ok());
        refused(many(11), InvalidParameterValue, "Number of message attributes [11] exceeds the allowed maximum [10].");
    }

    #[test]
    fn the_trace_header_is_the_only_system_attribute() {
        let with = |name: &str, value| Draft { system_attributes: Some([(name.to_owned(), value)].into()), ..plain() };
        for good in ["Root=1-5759e988-bd862e3fe1be46a994272793", "Sampled=1; Root=1-1-2;Lineage=a:b"] {
            assert!(check(with("AWSTraceHeader", text("String", good))).is_ok(), "{good}");
        }
        for draft in [
            with("SenderId", text("String", "me")),
            with("AWSTraceHeader", text("String", "")),
            with("AWSTraceHeader", text("String", "nonsense")),
            with("AWSTraceHeader", text("String", "Parent=1")),
            with("AWSTraceHeader", text("Number", "1")),
            with("AWSTraceHeader", text("String.x", "Root=1")),
            with("AWSTraceHeader", binary("Binary", b"Root=1")),
        ] {
            assert_eq!(check(draft).err().map(|error| error.kind), Some(InvalidParameterValue));
        }
    }

    #[test]
    fn delays() {
        let delayed = |seconds| Draft { delay_seconds: Some(seconds), ..plain() };
        for good in [0, 900] {
            assert!(check(delayed(good)).is_ok(), "{good}");
        }
        for bad in [-1, 901, i64::MAX] {
            let message = format!(
                "Value {bad} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900."
            );
            refused(delayed(bad), InvalidParameterValue, &message);
        }
    }

    /// Observed in recordings of 2025.
    #[test]
    fn group_and_deduplication_ids() {
        let id_128 = "!".repeat(128);
        for good in ["a", "tenant-1", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", &id_128] {
            assert!(check(Draft { group_id: Some(good.into()), ..plain() }).is_ok(), "{good}");
            refused(
                Draft { deduplication_id: Some(good.into()), ..plain() },
                InvalidParameterValue,
                &format!(
                    "Value {good} for parameter MessageDeduplicationId is invalid. Reason: \
                     The request include parameter that is not valid for this queue type."
                ),
            );
        }
        let syntax = |id: &str, parameter: &str| {
            format!(
                "Value {id} for parameter {parameter} is invalid. Reason: {parameter} can only include alphanumeric and \
                 punctuation characters. 1 to 128 in length."
            )
        };
        for bad in ["", "group 123", &"a".repeat(129), "é", "a\n"] {
            let (group_id, deduplication_id) = (Some(bad.to_owned()), Some(bad.to_owned()));
            refused(Draft { group_id, ..plain() }, InvalidParameterValue, &syntax(bad, "MessageGroupId"));
            refused(
                Draft { deduplication_id, ..plain() },
                InvalidParameterValue,
                &syntax(bad, "MessageDeduplicationId"),
            );
        }
    }

    #[test]
    fn what_is_wrong_with_one_entry_of_a_batch_is_said_in_other_words() {
        let draft = Draft { body: Some("x".repeat(MESSAGE_BYTES_MAX + 1)), ..plain() };
        let error = draft.check(MessageId::from_random([7; 16]), "AIDA", true).err().expect("too long");
        assert_eq!(
            error.message,
            "One or more parameters cannot be validated. Reason: Message must be shorter than 1048576 bytes."
        );
    }
}
