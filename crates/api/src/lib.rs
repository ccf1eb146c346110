//! Requests, replies and errors of every operation, as plain data.
//!
//! The members have AWS's names (serde renames them), so one derive serves every wire protocol. A member that a client
//! may leave out is an `Option` or an empty collection here, also where AWS requires it: that it is missing is for the
//! operation to say, in AWS's words.

mod error;
pub mod sqs;

pub use error::{Error, ErrorKind, Fault};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// An AWS service whose API we speak.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Service {
    Sqs,
}

/// One operation, named by its request. An operation that doesn't say which IAM action on which resource it asks for
/// does not compile.
pub trait Operation: DeserializeOwned + Send + 'static {
    const SERVICE: Service;
    /// `SendMessage`
    const NAME: &'static str;
    /// The IAM action that the caller needs: `sqs:SendMessage`. Batches ask for the action of their single form.
    const ACTION: &'static str;
    type Reply: Serialize + Send;

    /// What the caller wants to act on.
    fn resource(&self) -> Resource<'_>;
}

/// What an operation acts on, as its request names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource<'a> {
    /// The queue at this URL; `None` where the request names none.
    QueueUrl(Option<&'a str>),
    /// The queue with this name, in `account` or else in the caller's own.
    QueueName { name: Option<&'a str>, account: Option<&'a str> },
    /// All queues of the caller's account and Region.
    AllQueues,
}
