//! Runs a shard: stamps commands, gathers entries into batches, and lets no reply leave before its entry is durable.
//!
//! ```text
//!   request tasks ──ask──▶ ┌──────┐ take_batch ┌────────────────┐ append + sync ┌───────┐
//!                          │ core │ ─────────▶ │ writer thread  │ ────────────▶ │ store │
//!   request tasks ◀─reply─ └──────┘ ◀─durable─ └────────────────┘               └───────┘
//!                              ▲  MovePayloads  ┌────────────────┐ replay, pages    ▲
//!                              └─────────────── │ keeper thread  │ ─────────────────┘
//!                                               └────────────────┘ snapshots, trims
//! ```
//!
//! [`core::Core`] is the heart and knows no thread, clock or disk. The writer appends one batch after the other: while one
//! is being synced the next one gathers. The keeper runs [`house::House`]: it makes snapshots from what is on disk, never
//! from the living state, so nobody waits for it.

pub mod backup;
pub mod core;
pub mod house;
mod keeper;
mod look_only;
pub mod pager;
mod payloads;
pub mod recovery;
mod runtime;
pub mod store;
pub mod verify;
mod waiters;

pub use runtime::{Deliveries, Durability, Engine, Health, Opened, Options, Running, StartError, start};
pub use waiters::Ticket;

use shard::Refusal;
use std::fmt;

/// Why a command was not carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskError {
    /// The caller's fault, in the shard's terms.
    Refused(Refusal),
    /// There's no room for more on the disk. Receives and deletes still work. Try again.
    StorageFull,
    /// More is waiting to be written than memory is set aside for. Try again.
    Overloaded,
    /// The journal failed, or the program is stopping; nothing is accepted any more.
    Stopped { reason: String },
    /// A message's content can't be read from disk.
    Unreadable { reason: String },
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "refused: {refusal:?}"),
            Self::StorageFull => f.write_str("the disk is full"),
            Self::Overloaded => f.write_str("too much is waiting to be written"),
            Self::Stopped { reason } => write!(f, "stopped: {reason}"),
            Self::Unreadable { reason } => write!(f, "a message can't be read: {reason}"),
        }
    }
}

impl std::error::Error for AskError {}
