//! PurgeQueue.

use crate::{Context, Handle};
use api::Error;
use api::sqs::{Done, PurgeQueue};
use shard::Command;

impl Handle for PurgeQueue {
    async fn handle(self, context: &Context) -> Result<Done, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        context.ask(&queue, Command::PurgeQueue { queue: queue.clone() }).await?;
        Ok(Done {})
    }
}
