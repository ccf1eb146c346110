//! Amazon SQS.
//!
//! Source: the API model of botocore 1.44.8.

mod messages;
mod queues;

pub use messages::*;
pub use queues::*;

use crate::{Operation, Resource, Service};
use serde::{Deserialize, Serialize};

/// The operations that this server has.
pub const BUILT: &[&str] = &[
    ChangeMessageVisibility::NAME,
    ChangeMessageVisibilityBatch::NAME,
    CreateQueue::NAME,
    DeleteMessage::NAME,
    DeleteMessageBatch::NAME,
    DeleteQueue::NAME,
    GetQueueAttributes::NAME,
    GetQueueUrl::NAME,
    ListQueueTags::NAME,
    ListQueues::NAME,
    PurgeQueue::NAME,
    ReceiveMessage::NAME,
    SendMessage::NAME,
    SendMessageBatch::NAME,
    SetQueueAttributes::NAME,
    TagQueue::NAME,
    UntagQueue::NAME,
];

/// The operations that AWS has and this server doesn't have yet.
pub const NOT_BUILT: &[&str] = &[
    "AddPermission",
    "CancelMessageMoveTask",
    "ListDeadLetterSourceQueues",
    "ListMessageMoveTasks",
    "RemovePermission",
    "StartMessageMoveTask",
];

/// The answer of an operation that has nothing to say but yes.
#[derive(Serialize, PartialEq, Eq, Default, Debug)]
pub struct Done {}

/// Ties a request to its name, its IAM action and its reply.
macro_rules! operation {
    ($name:ident, $action:literal, $reply:ty, $resource:expr) => {
        impl Operation for $name {
            const SERVICE: Service = Service::Sqs;
            const NAME: &'static str = stringify!($name);
            const ACTION: &'static str = $action;
            type Reply = $reply;

            fn resource(&self) -> Resource<'_> {
                let resource: fn(&Self) -> Resource<'_> = $resource;
                resource(self)
            }
        }
    };
}

operation!(CreateQueue, "sqs:CreateQueue", QueueUrlReply, |request| Resource::QueueName {
    name: request.queue_name.as_deref(),
    account: None
});
operation!(GetQueueUrl, "sqs:GetQueueUrl", QueueUrlReply, |request| Resource::QueueName {
    name: request.queue_name.as_deref(),
    account: request.queue_owner_aws_account_id.as_deref()
});
operation!(ListQueues, "sqs:ListQueues", ListQueuesReply, |_| Resource::AllQueues);

/// The operations on one queue, which all name it by its URL.
macro_rules! operation_on_a_queue {
    ($($name:ident, $action:literal, $reply:ty;)+) => {$(
        operation!($name, $action, $reply, |request| Resource::QueueUrl(request.queue_url.as_deref()));
    )+};
}

operation_on_a_queue! {
    DeleteQueue, "sqs:DeleteQueue", Done;
    GetQueueAttributes, "sqs:GetQueueAttributes", GetQueueAttributesReply;
    SetQueueAttributes, "sqs:SetQueueAttributes", Done;
    PurgeQueue, "sqs:PurgeQueue", Done;
    TagQueue, "sqs:TagQueue", Done;
    UntagQueue, "sqs:UntagQueue", Done;
    ListQueueTags, "sqs:ListQueueTags", ListQueueTagsReply;
    SendMessage, "sqs:SendMessage", SendMessageReply;
    SendMessageBatch, "sqs:SendMessage", SendMessageBatchReply;
    ReceiveMessage, "sqs:ReceiveMessage", ReceiveMessageReply;
    DeleteMessage, "sqs:DeleteMessage", Done;
    DeleteMessageBatch, "sqs:DeleteMessage", BatchReply;
    ChangeMessageVisibility, "sqs:ChangeMessageVisibility", Done;
    ChangeMessageVisibilityBatch, "sqs:ChangeMessageVisibility", BatchReply;
}
