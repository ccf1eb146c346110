//! What every operation is given.

use crate::errors;
use api::{Error, Resource};
use auth::Caller;
use engine::Engine;
use model::{QueueAddress, QueueKey};
use shard::{Answer, Command, NewMessage, QueueFacts, Receipt, ReceiptError, Rules, SendError, Sent};
use std::sync::Arc;

/// The circumstances of one call.
#[derive(Clone)]
pub struct Context {
    pub engine: Engine,
    pub caller: Caller,
    /// What queue URLs in the reply start with: `http://localhost:4566`
    pub base_url: String,
    /// The rules that the engine's shard follows. Some of AWS's texts name them.
    pub rules: Arc<Rules>,
}

impl Context {
    /// The queue that a request's `QueueUrl` names. What the URL doesn't say is the caller's own.
    ///
    /// Errors: [`api::ErrorKind::MissingParameter`]; [`api::ErrorKind::InvalidAddress`] for what can't name a queue.
    pub(crate) fn queue(&self, url: Option<&str>) -> Result<QueueKey, Error> {
        let url = url.filter(|url| !url.is_empty()).ok_or_else(|| errors::missing("QueueUrl"))?;
        let address = QueueAddress::parse(url).ok_or_else(|| errors::invalid_address(url))?;
        Ok(QueueKey {
            account: address.account.unwrap_or_else(|| self.caller.account.clone()),
            region: address.region.unwrap_or_else(|| self.caller.region.clone()),
            name: address.name,
        })
    }

    /// The URL by which the client reaches a queue.
    pub(crate) fn queue_url(&self, queue: &QueueKey) -> String {
        format!("{}/{}/{}", self.base_url, queue.account, queue.name)
    }

    /// The ARN of what an operation acts on.
    ///
    /// Errors: as [`Self::queue`].
    pub(crate) fn arn(&self, resource: &Resource<'_>) -> Result<String, Error> {
        let Caller { account, region, .. } = &self.caller;
        match resource {
            Resource::QueueUrl(url) => Ok(self.queue(*url)?.arn()),
            Resource::QueueName { name, account: owner } => {
                let name = name.ok_or_else(|| errors::missing("QueueName"))?;
                let owner = owner.unwrap_or(account.as_str());
                Ok(format!("arn:aws:sqs:{region}:{owner}:{name}"))
            }
            Resource::AllQueues => Ok(format!("arn:aws:sqs:{region}:{account}:*")),
        }
    }

    /// Asks the engine something about `queue`.
    pub(crate) async fn ask(&self, queue: &QueueKey, command: Command) -> Result<Answer, Error> {
        self.engine.ask(command).await.map_err(|error| errors::asked(error, queue, &self.rules))
    }

    /// All that can be said of `queue`.
    pub(crate) async fn describe(&self, queue: &QueueKey) -> Result<Box<QueueFacts>, Error> {
        match self.ask(queue, Command::Describe { queue: queue.clone() }).await? {
            Answer::Queue(facts) => Ok(facts),
            _ => unreachable!("a shard describes a queue by its facts"),
        }
    }

    /// Sends to `queue`, and gives the outcome of each message in order.
    pub(crate) async fn send(
        &self,
        queue: &QueueKey,
        messages: Vec<NewMessage>,
    ) -> Result<Vec<Result<Sent, SendError>>, Error> {
        match self.ask(queue, Command::Send { queue: queue.clone(), messages }).await? {
            Answer::Sent(outcomes) => Ok(outcomes),
            _ => unreachable!("a shard answers a send with what was sent"),
        }
    }

    /// Deletes from `queue`, and gives the outcome of each receipt in order.
    pub(crate) async fn delete(&self, queue: &QueueKey, receipts: Vec<Receipt>) -> Result<Outcomes, Error> {
        self.outcomes(queue, Command::Delete { queue: queue.clone(), receipts }).await
    }

    /// Hides messages of `queue` for so many seconds each, and gives the outcome of each receipt in order.
    pub(crate) async fn change_visibility(
        &self,
        queue: &QueueKey,
        receipts: Vec<(Receipt, u32)>,
    ) -> Result<Outcomes, Error> {
        self.outcomes(queue, Command::ChangeVisibility { queue: queue.clone(), receipts }).await
    }

    async fn outcomes(&self, queue: &QueueKey, command: Command) -> Result<Outcomes, Error> {
        match self.ask(queue, command).await? {
            Answer::Outcomes(outcomes) => Ok(outcomes.into_iter()),
            _ => unreachable!("a shard answers receipts with outcomes"),
        }
    }
}

type Outcomes = std::vec::IntoIter<Result<(), ReceiptError>>;
