//! GetQueueAttributes.

use super::attributes;
use crate::{Context, Handle};
use api::Error;
use api::sqs::{GetQueueAttributes, GetQueueAttributesReply};

impl Handle for GetQueueAttributes {
    async fn handle(self, context: &Context) -> Result<GetQueueAttributesReply, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let names = attributes::selected(self.attribute_names.as_deref().unwrap_or_default())?;
        let facts = context.describe(&queue).await?;
        Ok(GetQueueAttributesReply { attributes: attributes::show(&names, &queue, &facts) })
    }
}
