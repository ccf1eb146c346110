//! ChangeMessageVisibilityBatch.

use super::batch;
use super::change_message_visibility::checked;
use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{BatchReply, ChangeMessageVisibilityBatch};
use shard::{Answer, Command};

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
        let good = changes.iter().flatten().copied().collect();
        let command = Command::ChangeVisibility { queue: queue.clone(), receipts: good };
        let Answer::Outcomes(outcomes) = context.ask(&queue, command).await? else {
            unreachable!("a change of visibility is answered with its outcomes")
        };

        let mut outcomes = outcomes.into_iter();
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
