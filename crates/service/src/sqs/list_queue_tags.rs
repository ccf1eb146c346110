//! ListQueueTags.

use crate::{Context, Handle};
use api::Error;
use api::sqs::{ListQueueTags, ListQueueTagsReply};

impl Handle for ListQueueTags {
    async fn handle(self, context: &Context) -> Result<ListQueueTagsReply, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let facts = context.describe(&queue).await?;
        Ok(ListQueueTagsReply { tags: facts.tags })
    }
}
