//! TagQueue.

use super::tags;
use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{Done, TagQueue};
use shard::Command;

impl Handle for TagQueue {
    async fn handle(self, context: &Context) -> Result<Done, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let tags = self.tags.filter(|tags| !tags.is_empty()).ok_or_else(|| errors::missing("Tags"))?;
        tags::check(&tags)?;
        context.ask(&queue, Command::Tag { queue: queue.clone(), tags }).await?;
        Ok(Done {})
    }
}
