//! SendMessageBatch.

use super::batch;
use super::message::{Checked, Draft};
use crate::{Context, Handle, errors};
use api::sqs::{SendMessageBatch, SendMessageBatchEntry, SendMessageBatchReply, SendMessageBatchResultEntry};
use api::{Error, ErrorKind};
use model::MessageId;
use model::limits::BATCH_BYTES_MAX;
use shard::{SendError, Sent};

impl Handle for SendMessageBatch {
    async fn handle(self, context: &Context) -> Result<SendMessageBatchReply, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let entries = batch::entries(self.entries, "SendMessageBatchRequestEntry", |entry| entry.id.take())?;
        let drafts: Vec<_> = entries.into_iter().map(|(id, entry)| (id, draft(entry))).collect();
        check_length(&drafts)?;

        // What can't be sent fails alone; the rest is one command, and so one entry of the journal.
        let mut reply = SendMessageBatchReply::default();
        let mut messages = Vec::with_capacity(drafts.len());
        let mut waiting = Vec::with_capacity(drafts.len());
        for (entry_id, draft) in drafts {
            let message_id = MessageId::from_random(context.engine.random_16());
            match draft.check(message_id, &context.caller.sender_id, true) {
                Ok(Checked { message, md5_of_body, md5_of_attributes, md5_of_system_attributes }) => {
                    messages.push(message);
                    waiting.push((entry_id, md5_of_body, md5_of_attributes, md5_of_system_attributes));
                }
                Err(error) => reply.failed.push(batch::failed(entry_id, error)),
            }
        }

        // Asked even if nothing is left to send, so that a queue that doesn't exist fails the call.
        let outcomes = context.send(&queue, messages).await?;
        for ((id, md5_of_message_body, md5_of_message_attributes, md5_of_message_system_attributes), outcome) in
            waiting.into_iter().zip(outcomes)
        {
            match outcome {
                Ok(Sent { id: message_id, .. }) => reply.successful.push(SendMessageBatchResultEntry {
                    id,
                    message_id: message_id.to_string(),
                    md5_of_message_body,
                    md5_of_message_attributes,
                    md5_of_message_system_attributes,
                    sequence_number: None,
                }),
                Err(SendError::TooLong { bytes_max }) => {
                    reply.failed.push(batch::failed(id, errors::message_too_long(bytes_max as usize, true)));
                }
            }
        }
        Ok(reply)
    }
}

fn draft(entry: SendMessageBatchEntry) -> Draft {
    Draft {
        body: entry.message_body,
        delay_seconds: entry.delay_seconds,
        attributes: entry.message_attributes,
        system_attributes: entry.message_system_attributes,
        deduplication_id: entry.message_deduplication_id,
        group_id: entry.message_group_id,
    }
}

/// Errors: BatchRequestTooLong. Observed in a recording of 2025: the text.
fn check_length(drafts: &[(String, Draft)]) -> Result<(), Error> {
    let bytes: usize = drafts.iter().map(|(_, draft)| draft.size_bytes()).sum();
    if bytes <= BATCH_BYTES_MAX {
        return Ok(());
    }
    let message = format!("Batch requests cannot be longer than {BATCH_BYTES_MAX} bytes. You have sent {bytes} bytes.");
    Err(Error::new(ErrorKind::BatchRequestTooLong, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_measured_as_a_whole() {
        let draft = |bytes: usize| ("id".to_owned(), Draft { body: Some("x".repeat(bytes)), ..Draft::default() });
        assert_eq!(check_length(&[draft(BATCH_BYTES_MAX - 1), draft(1)]), Ok(()));
        assert_eq!(
            check_length(&[draft(BATCH_BYTES_MAX - 1), draft(2)]),
            Err(Error::new(
                ErrorKind::BatchRequestTooLong,
                "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
            ))
        );
    }
}
