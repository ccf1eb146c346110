//! Amazon SQS: one file per operation, and beside them what several of them share.
//!
//! ```text
//! shared by sending            message · number · characters · digest · batch
//! shared by receipts           receipt · batch
//! shared by receiving          selection · digest
//! shared by queues             attributes · tags
//! ```

mod attributes;
mod batch;
mod characters;
mod digest;
mod message;
mod number;
mod range;
mod receipt;
mod selection;
mod tags;

mod change_message_visibility;
mod change_message_visibility_batch;
mod create_queue;
mod delete_message;
mod delete_message_batch;
mod delete_queue;
mod get_queue_attributes;
mod get_queue_url;
mod list_queue_tags;
mod list_queues;
mod purge_queue;
mod receive_message;
mod send_message;
mod send_message_batch;
mod set_queue_attributes;
mod tag_queue;
mod untag_queue;

pub use create_queue::declare;
