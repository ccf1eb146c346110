//! GetQueueUrl.

use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{GetQueueUrl, QueueUrlReply};
use model::{AccountId, QueueKey, QueueName};

impl Handle for GetQueueUrl {
    async fn handle(self, context: &Context) -> Result<QueueUrlReply, Error> {
        let name = self.queue_name.filter(|name| !name.is_empty()).ok_or_else(|| errors::missing("QueueName"))?;
        let account = match self.queue_owner_aws_account_id.as_deref() {
            None => context.caller.account.clone(),
            Some(owner) => AccountId::parse(owner).ok_or_else(|| {
                errors::invalid_value(owner, "QueueOwnerAWSAccountId", "An account is a number of 12 digits.")
            })?,
        };
        // A queue can't have a name that isn't one. Chosen: so it doesn't exist.
        let name = QueueName::parse(&name).ok_or_else(errors::queue_does_not_exist)?;
        let queue = QueueKey { account, region: context.caller.region.clone(), name };
        context.describe(&queue).await?;
        Ok(QueueUrlReply { queue_url: context.queue_url(&queue) })
    }
}
