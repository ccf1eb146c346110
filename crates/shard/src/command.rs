//! What can be asked of a shard, and what it answers.

use crate::{PagedMessage, PayloadAt, Receipt, ReceiptKey, Setting, Settings};
use bytes::Bytes;
use model::{AccountId, MessageId, QueueId, QueueKey, Region, Serial, Timestamp};
use std::collections::BTreeMap;

/// Something asked of the shard. Those that change nothing give an empty entry.
#[derive(Clone, Debug)]
pub enum Command {
    /// Gives the shard its secret, once, when its data is made. Answer: [`Answer::Done`].
    Found { receipt_key: ReceiptKey },

    /// Makes a queue, or finds it where one of this name holds every setting given. Answer: [`Answer::Done`].
    CreateQueue { queue: QueueKey, settings: Vec<Setting>, tags: BTreeMap<String, String> },
    /// Removes a queue and its messages. Answer: [`Answer::Done`].
    DeleteQueue { queue: QueueKey },
    /// Removes all messages of a queue: visible, delayed and in flight. Answer: [`Answer::Done`].
    PurgeQueue { queue: QueueKey },
    /// Answer: [`Answer::Done`].
    SetAttributes { queue: QueueKey, settings: Vec<Setting> },
    /// Adds tags, replacing those with the same key. Answer: [`Answer::Done`].
    Tag { queue: QueueKey, tags: BTreeMap<String, String> },
    /// Removes tags; keys that aren't there don't matter. Answer: [`Answer::Done`].
    Untag { queue: QueueKey, keys: Vec<String> },
    /// Answer: [`Answer::Queue`].
    Describe { queue: QueueKey },
    /// Answer: [`Answer::Queues`].
    List { account: AccountId, region: Region, prefix: String, after: Option<String>, results_max: usize },

    /// Answer: [`Answer::Sent`], an outcome for each message in order.
    Send { queue: QueueKey, messages: Vec<NewMessage> },
    /// Answer: [`Answer::Received`].
    Receive(Receive),
    /// Takes back deliveries that nobody heard of: the messages are visible at once, as if not received. Those that were
    /// deleted or received again meanwhile stay as they are. Answer: [`Answer::Done`].
    Undo { receipts: Vec<Receipt> },
    /// Answer: [`Answer::Outcomes`], one for each receipt in order.
    Delete { queue: QueueKey, receipts: Vec<Receipt> },
    /// Hides each message for so many seconds from now. Answer: [`Answer::Outcomes`], in order.
    ChangeVisibility { queue: QueueKey, receipts: Vec<(Receipt, u32)> },

    /// Tells that payloads were copied to a page; those still needed are read there from now on. Answer:
    /// [`Answer::Done`].
    MovePayloads { page: u64, moved: Vec<PagedMessage> },
    /// Tells that messages of the backlog were copied to a page: all of them are frozen, or none where one has been
    /// touched meanwhile. Answer: [`Answer::Frozen`].
    Freeze { queue: QueueId, page: u64, messages: Vec<PagedMessage> },
    /// Brings back all messages of a frozen page. Answer: [`Answer::Done`].
    Thaw { queue: QueueId, page: u64, messages: Vec<PagedMessage> },
}

/// What a shard would like done with its backlog, by whoever can write and read pages.
#[derive(Clone, PartialEq, Debug)]
pub enum BacklogWork {
    /// Copy these messages to a page, then [`Command::Freeze`].
    Freeze { queue: QueueId, messages: Vec<(Serial, Timestamp, PayloadAt)> },
    /// Read this page, then [`Command::Thaw`].
    Thaw { queue: QueueId, page: u64 },
}

/// One message of a [`Command::Send`].
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// The id inside the payload, for the answer.
    pub id: MessageId,
    /// `None`: the queue's own delay. At most [`model::limits::DELAY_SECONDS_MAX`].
    pub delay_seconds: Option<u32>,
    /// What counts against the queue's `MaximumMessageSize`: body, and names, types and values of attributes.
    pub size_bytes: usize,
    /// A [`crate::Payload`], encoded.
    pub payload: Bytes,
}

/// Asks for up to `messages_max` of the oldest visible messages.
#[derive(Clone, Debug)]
pub struct Receive {
    pub queue: QueueKey,
    /// 1 to 10.
    pub messages_max: usize,
    /// `None`: the queue's own visibility timeout.
    pub visibility_seconds: Option<u32>,
    /// How long to wait while there are none; `None`: as long as the queue says. The shard never waits, it only
    /// answers how long its caller may.
    pub wait_seconds: Option<u32>,
}

/// What a command gives.
pub type Reply = Result<Answer, Refusal>;

/// The answer to a command that was carried out.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    Done,
    Queue(Box<QueueFacts>),
    Queues(Listing),
    Sent(Vec<Result<Sent, SendError>>),
    /// No deliveries, and `wait_seconds` above zero: the caller may wait that long for one.
    Received {
        deliveries: Vec<Delivery>,
        wait_seconds: u32,
    },
    Outcomes(Vec<Result<(), ReceiptError>>),
    /// Whether the messages were frozen.
    Frozen(bool),
}

/// All that can be said of a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueFacts {
    pub created_at: Timestamp,
    pub modified_at: Timestamp,
    pub settings: Settings,
    pub tags: BTreeMap<String, String>,
    pub visible: usize,
    pub delayed: usize,
    pub in_flight: usize,
}

/// A page of queue names, in the order of the names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    pub names: Vec<model::QueueName>,
    /// There are more after the last one.
    pub more: bool,
}

/// A message that was stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    pub id: MessageId,
    pub serial: Serial,
}

/// One hand-out of a message.
#[derive(Clone, PartialEq, Debug)]
pub struct Delivery {
    pub receipt: Receipt,
    pub sent_at: Timestamp,
    pub first_received_at: Timestamp,
    /// This delivery included.
    pub receive_count: u32,
    pub payload: PayloadAt,
}

/// Why a command changed nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    QueueDoesNotExist,
    /// A queue of this name holds a different value for this attribute.
    QueueNameExists {
        attribute: &'static str,
    },
    /// AWS code: QueueDeletedRecently.
    QueueDeletedRecently {
        wait_seconds: u32,
    },
    /// AWS code: PurgeQueueInProgress.
    PurgeInProgress {
        wait_seconds: u32,
    },
    /// As many messages as may be are in flight. AWS code: OverLimit.
    TooManyInFlight,
    TooManyTags,
    /// The two kinds of encryption at rest exclude each other.
    EncryptionConflict,
    /// The queue asks for a key, and there is none of that name.
    KeyNotFound {
        key: String,
    },
}

/// Why one message of several was not stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SendError {
    /// Longer than the queue's `MaximumMessageSize`.
    TooLong { bytes_max: u32 },
}

/// Why a receipt was turned away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiptError {
    /// It belongs to another queue, or to an earlier one of this name. AWS code: ReceiptHandleIsInvalid.
    OtherQueue,
    /// The message was deleted, has expired, or was received again since. AWS code: InvalidParameterValue.
    Gone,
    /// The message was put back by a visibility timeout of zero. AWS code: MessageNotInflight.
    NotInFlight,
    /// It would stay hidden for more than twelve hours after it was received. AWS code: InvalidParameterValue.
    HiddenTooLong,
}
