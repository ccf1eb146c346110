//! Sending, receiving and deleting messages.

use super::*;
use model::{Blob, Text};
use serde::Deserializer;
use std::collections::BTreeMap;

/// A message attribute, or a system attribute of a message, as a client writes and reads it.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct MessageAttributeValue {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string_value: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary_value: Option<Blob>,
    /// Reserved by AWS: not empty is an error.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub string_list_values: Vec<String>,
    /// Reserved by AWS: not empty is an error.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub binary_list_values: Vec<Blob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_type: Option<Text>,
}

/// Reads a list that some clients write as null.
fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Message attributes by name, in the order of their names.
pub type MessageAttributes = BTreeMap<String, MessageAttributeValue>;

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct SendMessage {
    pub queue_url: Option<String>,
    pub message_body: Option<String>,
    pub delay_seconds: Option<i64>,
    pub message_attributes: Option<MessageAttributes>,
    pub message_system_attributes: Option<MessageAttributes>,
    pub message_deduplication_id: Option<String>,
    pub message_group_id: Option<String>,
}

#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct SendMessageReply {
    #[serde(rename = "MD5OfMessageBody")]
    pub md5_of_message_body: String,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    pub md5_of_message_attributes: Option<String>,
    #[serde(rename = "MD5OfMessageSystemAttributes", skip_serializing_if = "Option::is_none")]
    pub md5_of_message_system_attributes: Option<String>,
    pub message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence_number: Option<String>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct SendMessageBatch {
    pub queue_url: Option<String>,
    pub entries: Option<Vec<SendMessageBatchEntry>>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct SendMessageBatchEntry {
    pub id: Option<String>,
    pub message_body: Option<String>,
    pub delay_seconds: Option<i64>,
    pub message_attributes: Option<MessageAttributes>,
    pub message_system_attributes: Option<MessageAttributes>,
    pub message_deduplication_id: Option<String>,
    pub message_group_id: Option<String>,
}

#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct SendMessageBatchReply {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successful: Vec<SendMessageBatchResultEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<BatchResultErrorEntry>,
}

#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct SendMessageBatchResultEntry {
    pub id: String,
    pub message_id: String,
    #[serde(rename = "MD5OfMessageBody")]
    pub md5_of_message_body: String,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    pub md5_of_message_attributes: Option<String>,
    #[serde(rename = "MD5OfMessageSystemAttributes", skip_serializing_if = "Option::is_none")]
    pub md5_of_message_system_attributes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence_number: Option<String>,
}

/// Why one entry of a batch failed while others may not have.
#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct BatchResultErrorEntry {
    pub id: String,
    pub sender_fault: bool,
    pub code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct ReceiveMessage {
    pub queue_url: Option<String>,
    /// The older name of `message_system_attribute_names`; both together ask for the union.
    pub attribute_names: Option<Vec<String>>,
    pub message_system_attribute_names: Option<Vec<String>>,
    pub message_attribute_names: Option<Vec<String>>,
    pub max_number_of_messages: Option<i64>,
    pub visibility_timeout: Option<i64>,
    pub wait_time_seconds: Option<i64>,
    pub receive_request_attempt_id: Option<String>,
}

#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct ReceiveMessageReply {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<ReceivedMessage>,
}

#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct ReceivedMessage {
    pub message_id: String,
    pub receipt_handle: String,
    #[serde(rename = "MD5OfBody")]
    pub md5_of_body: String,
    pub body: Text,
    /// System attributes by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<&'static str, Text>,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    pub md5_of_message_attributes: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub message_attributes: BTreeMap<Text, MessageAttributeValue>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct DeleteMessage {
    pub queue_url: Option<String>,
    pub receipt_handle: Option<String>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct DeleteMessageBatch {
    pub queue_url: Option<String>,
    pub entries: Option<Vec<DeleteMessageBatchEntry>>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct DeleteMessageBatchEntry {
    pub id: Option<String>,
    pub receipt_handle: Option<String>,
}

/// The answer of DeleteMessageBatch and ChangeMessageVisibilityBatch.
#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct BatchReply {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successful: Vec<BatchResultEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<BatchResultErrorEntry>,
}

#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct BatchResultEntry {
    pub id: String,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct ChangeMessageVisibility {
    pub queue_url: Option<String>,
    pub receipt_handle: Option<String>,
    pub visibility_timeout: Option<i64>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct ChangeMessageVisibilityBatch {
    pub queue_url: Option<String>,
    pub entries: Option<Vec<ChangeMessageVisibilityBatchEntry>>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct ChangeMessageVisibilityBatchEntry {
    pub id: Option<String>,
    pub receipt_handle: Option<String>,
    pub visibility_timeout: Option<i64>,
}
