//! The state machine: everything that must not be lost, and how each command changes it.
//!
//! ```text
//!   Command ──decide(at)──▶ Entry { at, changes } ──▶ journal
//!                 │                    │
//!                 ▼                    ▼
//!               Reply               apply ──▶ the next state        (replay starts here)
//! ```
//!
//! `decide` holds the branching and may refuse; `apply` carries out what was decided and cannot. The same entries give
//! the same state on any machine: nothing here does I/O, reads a clock, draws randomness or walks an unordered map.
//!
//! Nothing is written down when time passes. Whether a message is delayed, visible, in flight or expired follows from
//! its times and from the moment at which one asks; [`Shard`] keeps indexes over that, and moves them along as it is
//! told of later moments.

mod change;
mod codec;
mod command;
mod decisions;
mod deleted_names;
mod page;
mod payload;
mod queue;
mod receipt;
mod setting;
mod shard;
mod snapshot;
mod visible;

pub use change::{Change, Entry, FORMAT_VERSION, NumberedDelivery, SentPayload};
pub use codec::{Malformed, Unreadable};
pub use command::{
    Answer, BacklogWork, Command, Delivery, Listing, NewMessage, QueueFacts, ReceiptError, Receive, Refusal, Reply,
    SendError, Sent,
};
pub use page::{FrozenPage, PageBuilder, PagedMessage, read_page};
pub use payload::{Attribute, AttributeValue, Payload, PayloadAt};
pub use receipt::{Receipt, ReceiptKey};
pub use setting::{Setting, Settings};
pub use shard::{Decision, Paging, Rules, Shard};
