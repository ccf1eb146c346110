//! DeleteMessageBatch.

use super::delete_message::tolerate_gone;
use super::{batch, receipt};
use crate::{Context, Handle};
use api::Error;
use api::sqs::{BatchReply, DeleteMessageBatch};

impl Handle for DeleteMessageBatch {
    async fn handle(self, context: &Context) -> Result<BatchReply, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let entries = batch::entries(self.entries, "DeleteMessageBatchRequestEntry", |entry| entry.id.take())?;

        let read = |handle: &Option<String>| receipt::read(context, handle.as_deref());
        let receipts: Vec<_> = entries.iter().map(|(_, entry)| read(&entry.receipt_handle)).collect();
        // Asked even if no receipt is left, so that a queue that doesn't exist fails the call.
        let mut outcomes = context.delete(&queue, receipts.iter().flatten().copied().collect()).await?;
        Ok(batch::reply(entries.into_iter().zip(receipts).map(|((id, entry), receipt)| {
            let outcome = receipt.and_then(|_| {
                let outcome = outcomes.next().expect("an outcome for every receipt");
                outcome.or_else(|error| tolerate_gone(error, entry.receipt_handle.as_deref().unwrap_or_default()))
            });
            (id, outcome)
        })))
    }
}
