//! ReceiveMessage.

use super::selection::{Selection, SystemSelection};
use super::{digest, range, receipt};
use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{MessageAttributeValue, ReceiveMessage, ReceiveMessageReply, ReceivedMessage};
use model::limits::{BATCH_ENTRIES_MAX, VISIBILITY_TIMEOUT_SECONDS_MAX, WAIT_SECONDS_MAX};
use model::{Blob, QueueKey, Text, Timestamp};
use shard::{Attribute, AttributeValue, Delivery, Payload, ReceiptKey, Receive};
use std::collections::BTreeMap;

impl Handle for ReceiveMessage {
    async fn handle(self, context: &Context) -> Result<ReceiveMessageReply, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let receive = checked(&self, queue.clone())?;
        let attributes = Selection::new(self.message_attribute_names.as_deref().unwrap_or_default());
        let system_names =
            self.attribute_names.iter().flatten().chain(self.message_system_attribute_names.iter().flatten());
        let system_attributes = SystemSelection::new(system_names);

        let deliveries = context.engine.receive(receive).await;
        let deliveries = deliveries.map_err(|error| errors::asked(error, &queue, &context.rules))?;
        // Nothing waits from here on: whoever hangs up sooner has the receive undone.
        let messages = deliveries.into_messages();
        let key = context.engine.receipt_key();
        let message = |(delivery, payload)| received(key, delivery, payload, &attributes, &system_attributes);
        Ok(ReceiveMessageReply { messages: messages.into_iter().map(message).collect() })
    }
}

/// `ReceiveRequestAttemptId` belongs to FIFO queues; a standard queue takes no notice of it. Observed by field reports.
///
/// Observed in recordings of 2024 and 2025: the texts, but for that of `VisibilityTimeout`.
fn checked(request: &ReceiveMessage, queue: QueueKey) -> Result<Receive, Error> {
    let messages_max = range::optional(
        request.max_number_of_messages,
        1..=BATCH_ENTRIES_MAX as u32,
        "MaxNumberOfMessages",
        "Must be between 1 and 10, if provided.",
    )?;
    let visibility_seconds = range::optional(
        request.visibility_timeout,
        0..=VISIBILITY_TIMEOUT_SECONDS_MAX,
        "VisibilityTimeout",
        "Must be >= 0 and <= 43200, if provided.",
    )?;
    let wait_seconds = range::optional(
        request.wait_time_seconds,
        0..=WAIT_SECONDS_MAX,
        "WaitTimeSeconds",
        "Must be >= 0 and <= 20, if provided.",
    )?;
    Ok(Receive { queue, messages_max: messages_max.unwrap_or(1) as usize, visibility_seconds, wait_seconds })
}

fn received(
    key: &ReceiptKey,
    delivery: Delivery,
    payload: Payload,
    selection: &Selection<'_>,
    system_selection: &SystemSelection,
) -> ReceivedMessage {
    let receipt_handle = receipt::write(key, delivery.receipt);
    let message_id = payload.id.to_string();
    let md5_of_body = digest::hex(&payload.body_md5);
    let body = payload.body.clone();
    let attributes = system_attributes(&delivery, &payload, system_selection);

    // The digest is that of the attributes returned. Observed in recordings of 2024.
    let is_selected = |attribute: &&Attribute| selection.contains(&attribute.name);
    let md5_of_message_attributes = digest::of_attributes(payload.attributes.iter().filter(is_selected));
    let is_selected = |attribute: &Attribute| selection.contains(&attribute.name);
    let message_attributes = payload.attributes.into_iter().filter(is_selected).map(shown).collect();
    ReceivedMessage {
        message_id,
        receipt_handle,
        md5_of_body,
        body,
        attributes,
        md5_of_message_attributes,
        message_attributes,
    }
}

/// Source: SQS API Reference, ReceiveMessage, `MessageSystemAttributeNames`.
fn system_attributes(
    delivery: &Delivery,
    payload: &Payload,
    selection: &SystemSelection,
) -> BTreeMap<&'static str, Text> {
    let milliseconds = |at: Timestamp| Text::from(at.as_milliseconds().to_string());
    let mut attributes = BTreeMap::new();
    if selection.sender_id {
        attributes.insert("SenderId", payload.sender_id.clone());
    }
    if selection.sent_timestamp {
        attributes.insert("SentTimestamp", milliseconds(delivery.sent_at));
    }
    if selection.receive_count {
        attributes.insert("ApproximateReceiveCount", delivery.receive_count.to_string().into());
    }
    if selection.first_receive_timestamp {
        attributes.insert("ApproximateFirstReceiveTimestamp", milliseconds(delivery.first_received_at));
    }
    if let Some(group) = payload.message_group_id.as_ref().filter(|_| selection.message_group_id) {
        attributes.insert("MessageGroupId", group.clone());
    }
    if let Some(header) = payload.trace_header.as_ref().filter(|_| selection.trace_header) {
        attributes.insert("AWSTraceHeader", header.clone());
    }
    attributes
}

fn shown(attribute: Attribute) -> (Text, MessageAttributeValue) {
    let (string_value, binary_value) = match attribute.value {
        AttributeValue::Text(text) => (Some(text), None),
        AttributeValue::Binary(binary) => (None, Some(Blob(binary))),
    };
    let data_type = Some(attribute.data_type);
    (attribute.name, MessageAttributeValue { string_value, binary_value, data_type, ..Default::default() })
}
