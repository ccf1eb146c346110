//! CreateQueue, and the queues that an operator declares.

use super::{attributes, tags};
use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{CreateQueue, QueueUrlReply, StringMap};
use engine::{AskError, Engine};
use model::limits::QUEUE_NAME_CHARS_MAX;
use model::{AccountId, QueueKey, QueueName, Region};
use shard::{Command, Refusal, Rules, Setting};

impl Handle for CreateQueue {
    async fn handle(self, context: &Context) -> Result<QueueUrlReply, Error> {
        let name = self.queue_name.filter(|name| !name.is_empty()).ok_or_else(|| errors::missing("QueueName"))?;
        let tags = self.tags.unwrap_or_default();
        let (name, settings) = checked(&name, self.attributes.unwrap_or_default(), &tags)?;
        let queue = QueueKey { account: context.caller.account.clone(), region: context.caller.region.clone(), name };
        context.ask(&queue, Command::CreateQueue { queue: queue.clone(), settings, tags }).await?;
        Ok(QueueUrlReply { queue_url: context.queue_url(&queue) })
    }
}

/// Makes a queue that an operator has declared, by the rules of CreateQueue.
///
/// A queue that exists is given the attributes and tags declared, so that a declaration can be changed. Attributes and
/// tags that aren't declared stay as they are, and so do the queue's messages.
///
/// Errors: those of CreateQueue and SetQueueAttributes. Chosen: all of this; AWS has nothing of the kind.
pub async fn declare(
    engine: &Engine,
    rules: &Rules,
    account: AccountId,
    region: Region,
    name: &str,
    attributes: StringMap,
    tags: StringMap,
) -> Result<(), Error> {
    let (name, settings) = checked(name, attributes, &tags)?;
    let queue = QueueKey { account, region, name };
    let asked = |error| errors::asked(error, &queue, rules);

    let command = Command::CreateQueue { queue: queue.clone(), settings: settings.clone(), tags: tags.clone() };
    match engine.ask(command).await {
        Ok(_) => {}
        Err(AskError::Refused(Refusal::QueueNameExists { .. })) => {
            engine.ask(Command::SetAttributes { queue: queue.clone(), settings }).await.map_err(asked)?;
        }
        Err(error) => return Err(asked(error)),
    }
    engine.ask(Command::Tag { queue: queue.clone(), tags }).await.map_err(asked)?;
    Ok(())
}

/// The name and the settings of a queue that may be made.
///
/// Errors: InvalidParameterValue for a name that can't be, and those of [`attributes::settings`] and [`tags::check`];
/// UnsupportedOperation for FIFO queues, which aren't built yet.
fn checked(name: &str, attributes: StringMap, tags: &StringMap) -> Result<(QueueName, Vec<Setting>), Error> {
    // "false" is no value that AWS takes; it stays among the attributes and is refused there.
    let is_fifo = match attributes.get("FifoQueue") {
        Some(value) => attributes::boolean("FifoQueue", value)?,
        None => false,
    };
    let name = checked_name(name, is_fifo)?;
    if is_fifo {
        return Err(errors::not_built(
            "FIFO queues are not built yet in this version of Posthouse. Make a standard queue: leave out the attribute \
             FifoQueue, and .fifo at the end of the name.",
        ));
    }
    let settings = attributes::settings(&attributes)?;
    tags::check(tags)?;
    Ok((name, settings))
}

/// Observed by field reports: both texts.
fn checked_name(name: &str, is_fifo: bool) -> Result<QueueName, Error> {
    let parsed = QueueName::parse(name).filter(|name| name.is_fifo() == is_fifo);
    parsed.ok_or_else(|| {
        errors::invalid_parameter(if is_fifo {
            format!(
                "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, \
                 must end with .fifo suffix and be 1 to {QUEUE_NAME_CHARS_MAX} in length."
            )
        } else {
            format!(
                "Can only include alphanumeric characters, hyphens, or underscores. 1 to {QUEUE_NAME_CHARS_MAX} in length"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::ErrorKind::{self, *};

    fn check(name: &str, attributes: &[(&str, &str)], expected: Result<(), (ErrorKind, &str)>) {
        let attributes = attributes.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let seen = checked(name, attributes, &StringMap::new()).map(|(seen, _)| assert_eq!(seen.as_str(), name));
        match expected {
            Ok(()) => assert_eq!(seen, Ok(()), "{name}"),
            Err((kind, start)) => {
                let error = seen.expect_err(name);
                assert_eq!(error.kind, kind, "{name}");
                assert!(error.message.starts_with(start), "{name}: {}", error.message);
            }
        }
    }

    const NAME: &str = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length";
    const FIFO_NAME: &str = "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, \
                             must end with .fifo suffix and be 1 to 80 in length.";

    #[test]
    fn names() {
        check(&"q".repeat(80), &[], Ok(()));
        check("Orders_9-a", &[("DelaySeconds", "5")], Ok(()));
        for bad in [&"q".repeat(81), "a.b", "a/b", "a b", "é", "x.fifo", ".fifo"] {
            check(bad, &[], Err((InvalidParameterValue, NAME)));
        }
        let fifo = [("FifoQueue", "true")];
        for bad in ["x", "a.b.fifo", ".fifo", "x.FIFO", &format!("{}.fifo", "q".repeat(76))] {
            check(bad, &fifo, Err((InvalidParameterValue, FIFO_NAME)));
        }
        check("x.fifo", &fifo, Err((UnsupportedOperation, "FIFO queues are not built yet")));
    }

    #[test]
    fn a_standard_queue_is_not_given_what_fifo_queues_have() {
        check("x", &[("FifoQueue", "false")], Err((InvalidAttributeName, "Unknown Attribute FifoQueue.")));
        check("x", &[("FifoQueue", "yes")], Err((InvalidAttributeValue, "Invalid value for the parameter FifoQueue.")));
        check(
            "x",
            &[("ContentBasedDeduplication", "true")],
            Err((InvalidAttributeName, "Unknown Attribute ContentBasedDeduplication.")),
        );
    }
}
