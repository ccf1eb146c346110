//! ChangeMessageVisibility.

use super::{range, receipt};
use crate::{Context, Handle, errors};
use api::Error;
use api::sqs::{ChangeMessageVisibility, Done};
use model::limits::VISIBILITY_TIMEOUT_SECONDS_MAX;
use shard::Receipt;

impl Handle for ChangeMessageVisibility {
    async fn handle(self, context: &Context) -> Result<Done, Error> {
        let queue = context.queue(self.queue_url.as_deref())?;
        let handle = self.receipt_handle.as_deref();
        let (receipt, seconds) = checked(context, handle, self.visibility_timeout)?;
        let mut outcomes = context.change_visibility(&queue, vec![(receipt, seconds)]).await?;
        let outcome = outcomes.next().expect("one outcome for one receipt");
        let refused = |error| errors::receipt_refused(error, handle.unwrap_or_default(), seconds);
        outcome.map(|()| Done {}).map_err(refused)
    }
}

/// What both forms of the operation are asked for. Chosen: the text of the range.
pub(super) fn checked(context: &Context, handle: Option<&str>, seconds: Option<i64>) -> Result<(Receipt, u32), Error> {
    let receipt = receipt::read(context, handle)?;
    let reason = "Must be >= 0 and <= 43200.";
    let seconds = range::required(seconds, 0..=VISIBILITY_TIMEOUT_SECONDS_MAX, "VisibilityTimeout", reason)?;
    Ok((receipt, seconds))
}
