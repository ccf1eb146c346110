//! DeleteMessage.

use super::receipt;
use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{DeleteMessage, Done};
use shard::ReceiptError;

impl Handle for DeleteMessage {
    async fn handle(self, context: &Context) -> Result<Done, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let handle = self.receipt_handle.as_deref();
        let receipt = receipt::read(context, handle)?;
        let outcome = context.delete(&queue, vec![receipt]).await?.next().expect("one outcome for one receipt");
        outcome.or_else(|error| tolerate_gone(error, handle.unwrap_or_default())).map(|()| Done {})
    }
}

/// A message that is gone already, or that was received again since, is a success.
///
/// Source: SQS API Reference, DeleteMessage.
pub(super) fn tolerate_gone(error: ReceiptError, handle: &str) -> Result<(), Error> {
    match error {
        ReceiptError::OtherQueue => Err(errors::receipt_handle_is_invalid(handle)),
        ReceiptError::Gone | ReceiptError::NotInFlight | ReceiptError::HiddenTooLong => Ok(()),
    }
}
