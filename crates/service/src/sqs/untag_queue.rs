//! UntagQueue.

use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{Done, UntagQueue};
use shard::Command;

impl Handle for UntagQueue {
    async fn handle(self, context: &Context) -> Result<Done, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let keys = self.tag_keys.filter(|keys| !keys.is_empty()).ok_or_else(|| errors::missing("TagKeys"))?;
        context.ask(&queue, Command::Untag { queue: queue.clone(), keys }).await?;
        Ok(Done {})
    }
}
