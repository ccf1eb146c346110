//! The operations: one file each, all of one shape.
//!
//! ```text
//!   request ──authorize──▶ validate ──▶ command ──engine──▶ answer ──▶ reply
//!                │             │                      │
//!                └─────────────┴──────── error ◀──────┘
//! ```
//!
//! What can be told from the request alone is checked here, in AWS's words; what depends on the state of a queue is
//! decided by the shard, and put into AWS's words here.

mod context;
mod dispatch;
mod errors;
pub mod sqs;

pub use context::Context;
pub use dispatch::{Dispatch, Handle, carry_out, dispatch};
pub use shard::Rules;
