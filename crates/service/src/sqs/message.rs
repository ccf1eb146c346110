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
    let AttributeValue::Text(header) = &attribute.value else {
        return Err(errors::invalid_parameter(format!("{TRACE_HEADER} must be of type 'String'.")));
    };
    let mut fields = header.split(';').map(str::trim).filter(|field| !field.is_empty());
    let is_header = fields.clone().all(|field| field.contains('=')) && fields.any(|field| field.starts_with("Root="));
    if &*attribute.data_type != "String" || !is_header {
        return Err(errors::invalid_parameter(format!(
            "{TRACE_HEADER} must be of type 'String' and hold an X-Ray trace header: \
             Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
        )));
    }
    Ok(Some(attribute))
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
