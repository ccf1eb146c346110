//! SetQueueAttributes.

use super::attributes;
use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{Done, SetQueueAttributes};
use shard::Command;

impl Handle for SetQueueAttributes {
    async fn handle(self, context: &Context) -> Result<Done, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let attributes =
            self.attributes.filter(|attributes| !attributes.is_empty()).ok_or_else(|| errors::missing("Attributes"))?;
        let settings = attributes::settings(&attributes)?;
        context.ask(&queue, Command::SetAttributes { queue: queue.clone(), settings }).await?;
        Ok(Done {})
    }
}
