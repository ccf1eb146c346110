//! What each command on one queue decides: pure functions of the queue and the moment.

use crate::change::{Change, NumberedDelivery, SentPayload};
use crate::command::*;
use crate::queue::{Message, Queue};
use crate::shard::Decided;
use crate::{Receipt, Rules, Setting};
use model::limits::{TAGS_MAX, VISIBILITY_TIMEOUT_SECONDS_MAX};
use model::{DeliveryNumber, QueueId, Serial};
use std::collections::BTreeMap;

/// While messages are being thawed, a receive that finds none in memory waits for them so long.
const THAW_WAIT_SECONDS: u32 = 5;

pub(crate) fn describe(queue: &Queue) -> Answer {
    Answer::Queue(Box::new(QueueFacts {
        created_at: queue.created_at,
        modified_at: queue.modified_at,
        settings: queue.settings.clone(),
        tags: queue.tags.clone(),
        visible: queue.visible_count(),
        delayed: queue.delayed_count(),
        in_flight: queue.in_flight_count(),
    }))
}

pub(crate) fn set(id: QueueId, queue: &Queue, decided: &mut Decided, settings: Vec<Setting>) -> Reply {
    let mut after = queue.settings.clone();
    settings.iter().for_each(|setting| after.set(setting));
    if after.sqs_managed_sse && after.kms_master_key.is_some() {
        return Err(Refusal::EncryptionConflict);
    }
    if !settings.is_empty() {
        decided.changes.push(Change::AttributesSet { queue: id, settings });
    }
    Ok(Answer::Done)
}

pub(crate) fn tag(id: QueueId, queue: &Queue, decided: &mut Decided, tags: BTreeMap<String, String>) -> Reply {
    let added = tags.keys().filter(|key| !queue.tags.contains_key(*key)).count();
    if queue.tags.len() + added > TAGS_MAX {
        return Err(Refusal::TooManyTags);
    }
    if !tags.is_empty() {
        decided.changes.push(Change::Tagged { queue: id, tags });
    }
    Ok(Answer::Done)
}

pub(crate) fn send(id: QueueId, queue: &Queue, decided: &mut Decided, messages: Vec<NewMessage>) -> Reply {
    if let Some(key) = &queue.settings.kms_master_key {
        return Err(Refusal::KeyNotFound { key: key.clone() });
    }
    let mut serial = queue.next_serial;
    let mut outcomes = Vec::with_capacity(messages.len());
    for message in messages {
        let bytes_max = queue.settings.message_bytes_max;
        if message.size_bytes > bytes_max as usize {
            outcomes.push(Err(SendError::TooLong { bytes_max }));
            continue;
        }
        let delay_seconds = message.delay_seconds.unwrap_or(queue.settings.delay_seconds);
        decided.changes.push(Change::Sent {
            queue: id,
            serial,
            visible_at: decided.at.plus_seconds(u64::from(delay_seconds)),
            payload: SentPayload::New(message.payload),
        });
        outcomes.push(Ok(Sent { id: message.id, serial }));
        serial = Serial(serial.0 + 1);
    }
    Ok(Answer::Sent(outcomes))
}

/// Hands out the oldest visible messages and hides each.
///
/// Source: SQS API Reference, ReceiveMessage. A long poll at the in-flight quota waits instead of failing.
pub(crate) fn receive_from(
    rules: &Rules,
    id: QueueId,
    queue: &Queue,
    decided: &mut Decided,
    receive: &Receive,
) -> Reply {
    let mut wait_seconds = receive.wait_seconds.unwrap_or(queue.settings.wait_seconds);
    let room = rules.in_flight_max.saturating_sub(queue.in_flight_count());
    if room == 0 && wait_seconds == 0 {
        return Err(Refusal::TooManyInFlight);
    }
    let seconds = receive.visibility_seconds.unwrap_or(queue.settings.visibility_seconds);
    let mut numbered = Vec::new();
    let mut deliveries = Vec::new();
    for serial in queue.visible().take(receive.messages_max.min(room)) {
        let message = queue.get(serial).expect("a visible message exists");
        let delivery = DeliveryNumber(message.delivery.0.saturating_add(1));
        let receive_count = message.receive_count + 1;
        numbered.push(NumberedDelivery { serial, delivery, receive_count });
        deliveries.push(Delivery {
            receipt: Receipt { queue: id, serial, delivery },
            sent_at: message.sent_at,
            first_received_at: if receive_count == 1 { decided.at } else { message.first_received_at },
            receive_count,
            payload: message.payload.clone(),
        });
    }
    if !numbered.is_empty() {
        let visible_at = decided.at.plus_seconds(u64::from(seconds));
        decided.changes.push(Change::Received { queue: id, visible_at, deliveries: numbered });
    } else if queue.has_frozen() && room > 0 {
        wait_seconds = wait_seconds.max(THAW_WAIT_SECONDS);
    }
    Ok(Answer::Received { deliveries, wait_seconds })
}

/// Removes each message whose latest delivery the receipt names. An older receipt succeeds and changes nothing.
///
/// Source: SQS API Reference, DeleteMessage.
pub(crate) fn delete(id: QueueId, queue: &Queue, decided: &mut Decided, receipts: &[Receipt]) -> Answer {
    let mut serials = Vec::new();
    let outcomes = receipts
        .iter()
        .map(|receipt| {
            if receipt.queue != id {
                return Err(ReceiptError::OtherQueue);
            }
            let is_latest = |message: &Message| message.delivery == receipt.delivery;
            if queue.get(receipt.serial).is_some_and(is_latest) && !serials.contains(&receipt.serial) {
                serials.push(receipt.serial);
            }
            Ok(())
        })
        .collect();
    if !serials.is_empty() {
        decided.changes.push(Change::Deleted { queue: id, serials });
    }
    Answer::Outcomes(outcomes)
}

/// Hides each message for so many seconds from now, in all no longer than twelve hours from its receive.
///
/// After its timeout has passed the latest receipt still works, as long as nobody else has received the message.
/// Observed in recordings of 2024. Chosen: a message that was put back by a timeout of zero is not in flight, and its
/// receipt is refused as such, which is what the error is for.
pub(crate) fn change_visibility(
    rules: &Rules,
    id: QueueId,
    queue: &Queue,
    decided: &mut Decided,
    receipts: &[(Receipt, u32)],
) -> Answer {
    let at = decided.at;
    let mut room = rules.in_flight_max.saturating_sub(queue.in_flight_count());
    // One after the other: what was put back by this very command is not in flight any more.
    let mut put_back = Vec::new();
    let outcomes = receipts
        .iter()
        .map(|&(receipt, seconds)| {
            if receipt.queue != id {
                return Err(ReceiptError::OtherQueue);
            }
            let message = queue.get(receipt.serial).filter(|message| message.delivery == receipt.delivery);
            let message = message.ok_or(ReceiptError::Gone)?;
            if message.is_released() || put_back.contains(&receipt.serial) {
                return Err(ReceiptError::NotInFlight);
            }
            let visible_at = at.plus_seconds(u64::from(seconds));
            let hidden_at_most = message.received_at.plus_seconds(u64::from(VISIBILITY_TIMEOUT_SECONDS_MAX));
            if visible_at > hidden_at_most {
                return Err(ReceiptError::HiddenTooLong);
            }
            if message.visible_at <= at && seconds > 0 {
                // It counts as in flight again.
                room = room.checked_sub(1).ok_or(ReceiptError::NotInFlight)?;
            }
            if seconds == 0 {
                put_back.push(receipt.serial);
            }
            decided.changes.push(Change::VisibilityChanged { queue: id, serial: receipt.serial, visible_at });
            Ok(())
        })
        .collect();
    Answer::Outcomes(outcomes)
}
