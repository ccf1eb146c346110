//! What a client asks and what it is told, whatever carries it.

use std::collections::BTreeMap;

/// Attributes and tags by name.
pub type StringMap = BTreeMap<String, String>;

/// The older code of an AWS error, as `x-amzn-query-error` has it.
pub type Code = String;

/// One operation of SQS. Queues go by their names, receipts by their handles; numbers are in seconds.
#[derive(Clone, Debug)]
pub enum Call {
    CreateQueue { queue: String, attributes: StringMap, tags: StringMap },
    DeleteQueue { queue: String },
    PurgeQueue { queue: String },
    GetQueueUrl { queue: String },
    SetAttributes { queue: String, attributes: StringMap },
    Attributes { queue: String, names: Vec<String> },
    Tag { queue: String, tags: StringMap },
    Untag { queue: String, keys: Vec<String> },
    Tags { queue: String },
    List { prefix: Option<String>, results_max: Option<i64>, next: Option<String> },
    Send { queue: String, message: Message },
    SendBatch { queue: String, entries: Vec<(String, Message)> },
    Receive(Receive),
    Delete { queue: String, receipt: String },
    DeleteBatch { queue: String, entries: Vec<(String, String)> },
    ChangeVisibility { queue: String, receipt: String, seconds: i64 },
    ChangeVisibilityBatch { queue: String, entries: Vec<(String, String, i64)> },
}

/// A message to be sent.
#[derive(Clone, Default, Debug)]
pub struct Message {
    pub body: String,
    pub delay_seconds: Option<i64>,
    pub attributes: BTreeMap<String, Attribute>,
    pub trace_header: Option<String>,
    pub group_id: Option<String>,
}

/// A message attribute. The value of a binary one is in base64.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    pub data_type: String,
    pub value: String,
}

impl Attribute {
    pub fn is_binary(&self) -> bool {
        self.data_type.split('.').next() == Some("Binary")
    }
}

/// Asks for messages.
#[derive(Clone, Default, Debug)]
pub struct Receive {
    pub queue: String,
    pub messages_max: Option<i64>,
    pub visibility_seconds: Option<i64>,
    pub wait_seconds: Option<i64>,
    /// Message attributes to show.
    pub attributes: Vec<String>,
    /// System attributes to show, apart from the receive count, which is always asked for.
    pub system_attributes: Vec<String>,
}

/// What a call that succeeded gives.
#[derive(Clone, Debug)]
pub enum Reply {
    Done,
    /// Attributes or tags.
    Map(StringMap),
    Names {
        names: Vec<String>,
        next: Option<String>,
    },
    Sent {
        id: String,
    },
    /// By the entries' ids; a message that was sent has one of its own.
    Outcomes(BTreeMap<String, Result<Option<String>, Code>>),
    Messages(Vec<Received>),
}

/// A message that was received.
#[derive(Clone, Debug)]
pub struct Received {
    pub id: String,
    pub receipt: String,
    pub body: String,
    pub system_attributes: StringMap,
    pub attributes: BTreeMap<String, Attribute>,
}
