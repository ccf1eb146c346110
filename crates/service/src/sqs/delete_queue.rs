//! DeleteQueue.

use crate::{Context, Handle};
use api::Error;
use api::sqs::{DeleteQueue, Done};
use shard::Command;

impl Handle for DeleteQueue {
    async fn handle(self, context: &Context) -> Result<Done, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        context.ask(&queue, Command::DeleteQueue { queue: queue.clone() }).await?;
        Ok(Done {})
    }
}
