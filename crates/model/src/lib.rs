//! The nouns: what everything else talks about, and every limit with its source.
//!
//! Nothing here does anything; these are plain values. Text that came from outside is turned into one of these
//! types once, and from then on its shape needs no second check.

mod blob;
mod id;
pub mod limits;
mod name;
mod queue_address;
mod text;
mod time;

pub use blob::Blob;
pub use id::{DeliveryNumber, MessageId, QueueId, Serial};
pub use name::{AccountId, QueueKey, QueueName, Region};
pub use queue_address::QueueAddress;
pub use text::Text;
pub use time::Timestamp;
