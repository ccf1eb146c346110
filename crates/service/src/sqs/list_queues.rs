//! ListQueues.

use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{ListQueues, ListQueuesReply};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::limits::LIST_QUEUES_RESULTS_MAX;
use model::{QueueKey, QueueName};
use shard::{Answer, Command};

use super::range;

impl Handle for ListQueues {
    /// Pages go by name. A token is given only to who asked for pages.
    ///
    /// Source: SQS API Reference, ListQueues.
    async fn handle(self, context: &Context) -> Result<ListQueuesReply, Error> {
        let results_max = range::optional(
            self.max_results,
            1..=LIST_QUEUES_RESULTS_MAX as u32,
            "MaxResults",
            "Must be between 1 and 1000, if provided.",
        )?;
        let after = self.next_token.as_deref().map(read_token).transpose()?;

        let (account, region) = (context.caller.account.clone(), context.caller.region.clone());
        let command = Command::List {
            account: account.clone(),
            region: region.clone(),
            prefix: self.queue_name_prefix.unwrap_or_default(),
            after: after.map(|name| name.as_str().to_owned()),
            results_max: results_max.map_or(LIST_QUEUES_RESULTS_MAX, |max| max as usize),
        };
        let answer = context.engine.ask(command).await.map_err(errors::unavailable)?;
        let Answer::Queues(listing) = answer else { unreachable!("a listing is answered with queues") };

        let last = listing.names.last().filter(|_| listing.more && results_max.is_some());
        let next_token = last.map(write_token);
        let key = |name| QueueKey { account: account.clone(), region: region.clone(), name };
        let queue_urls = listing.names.into_iter().map(|name| context.queue_url(&key(name))).collect();
        Ok(ListQueuesReply { queue_urls, next_token })
    }
}

/// A token is the last name of a page, in base64.
fn write_token(last: &QueueName) -> String {
    STANDARD.encode(last.as_str())
}

/// Errors: InvalidParameterValue. Chosen: AWS's text isn't recorded.
fn read_token(token: &str) -> Result<QueueName, Error> {
    let name = STANDARD.decode(token).ok().and_then(|bytes| QueueName::parse(std::str::from_utf8(&bytes).ok()?));
    name.ok_or_else(|| errors::invalid_value(token, "NextToken", "It must be the NextToken of an earlier answer."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::ErrorKind;

    #[test]
    fn a_token_is_read_as_written_and_nothing_else_is() {
        let name = QueueName::parse("Orders_9-a").expect("a queue name");
        assert_eq!(read_token(&write_token(&name)), Ok(name));
        for bad in ["", "Orders_9-a", "????", "YSBi", "//79"] {
            assert_eq!(read_token(bad).map_err(|error| error.kind), Err(ErrorKind::InvalidParameterValue), "{bad}");
        }
    }
}
