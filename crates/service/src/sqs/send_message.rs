//! SendMessage.

use super::message::Draft;
use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{SendMessage, SendMessageReply};
use model::MessageId;
use shard::SendError;

impl Handle for SendMessage {
    async fn handle(self, context: &Context) -> Result<SendMessageReply, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let draft = Draft {
            body: self.message_body,
            delay_seconds: self.delay_seconds,
            attributes: self.message_attributes,
            system_attributes: self.message_system_attributes,
            deduplication_id: self.message_deduplication_id,
            group_id: self.message_group_id,
        };
        let id = MessageId::from_random(context.engine.random_16());
        let checked = draft.check(id, &context.caller.sender_id, false)?;

        let outcomes = context.send(&queue, vec![checked.message]).await?;
        match outcomes.into_iter().next().expect("one outcome for one message") {
            Ok(sent) => Ok(SendMessageReply {
                md5_of_message_body: checked.md5_of_body,
                md5_of_message_attributes: checked.md5_of_attributes,
                md5_of_message_system_attributes: checked.md5_of_system_attributes,
                message_id: sent.id.to_string(),
                sequence_number: None,
            }),
            Err(SendError::TooLong { bytes_max }) => Err(errors::message_too_long(bytes_max as usize, false)),
        }
    }
}
