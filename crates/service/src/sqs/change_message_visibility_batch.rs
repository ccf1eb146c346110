//! ChangeMessageVisibilityBatch.

use super::batch;
use super::change_message_visibility::checked;
use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{BatchReply, ChangeMessageVisibilityBatch};

impl Handle for ChangeMessageVisibilityBatch {
    async fn handle(self, context: &Context) -> Result<BatchReply, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let entry_name = "ChangeMessageVisibilityBatchRequestEntry";
        let entries = batch::entries(self.entries, entry_name, |entry| entry.id.take())?;

        let changes: Vec<_> = entries
            .iter()
            .map(|(_, entry)| checked(context, entry.receipt_handle.as_deref(), entry.visibility_timeout))
            .collect();
        // Asked even if no receipt is left, so that a queue that doesn't exist fails the call.
        let mut outcomes = context.change_visibility(&queue, changes.iter().flatten().copied().collect()).await?;
        Ok(batch::reply(entries.into_iter().zip(changes).map(|((id, entry), change)| {
            let outcome = change.and_then(|(_, seconds)| {
                let outcome = outcomes.next().expect("an outcome for every receipt");
                let handle = entry.receipt_handle.as_deref().unwrap_or_default();
                outcome.map_err(|error| errors::receipt_refused(error, handle, seconds))
            });
            (id, outcome)
        })))
    }
}
