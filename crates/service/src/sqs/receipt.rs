//! Receipt handles, to and from text.

use crate::{Context, errors};
use api::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use shard::{Receipt, ReceiptKey};

/// Longest handle that is looked at, in characters.
///
/// Source: AWS says that handles have at most 1,024 characters. Ours are much shorter.
const HANDLE_CHARS_MAX: usize = 1_024;

/// The text that stands for `receipt`.
pub(super) fn write(key: &ReceiptKey, receipt: Receipt) -> String {
    STANDARD.encode(key.seal(receipt))
}

/// The receipt that a request's `ReceiptHandle` stands for.
///
/// Errors: MissingParameter; ReceiptHandleIsInvalid for what this server never handed out.
pub(super) fn read(context: &Context, handle: Option<&str>) -> Result<Receipt, Error> {
    let handle = handle.filter(|handle| !handle.is_empty()).ok_or_else(|| errors::missing("ReceiptHandle"))?;
    open(context.engine.receipt_key(), handle).ok_or_else(|| errors::receipt_handle_is_invalid(handle))
}

fn open(key: &ReceiptKey, handle: &str) -> Option<Receipt> {
    if handle.len() > HANDLE_CHARS_MAX {
        return None;
    }
    key.open(&STANDARD.decode(handle).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DeliveryNumber, QueueId, Serial};

    #[test]
    fn a_handle_is_read_as_written_and_nothing_else_is() {
        let key = ReceiptKey::new([1; 32]);
        let receipt = Receipt { queue: QueueId(1), serial: Serial(2), delivery: DeliveryNumber(3) };
        let handle = write(&key, receipt);
        assert_eq!(open(&key, &handle), Some(receipt));
        let message_id = "d86cb431-0e1a-4edd-8892-3490f3592722";
        for bad in [&handle[1..], message_id, "", "=", "é", &"A".repeat(2_000)] {
            assert_eq!(open(&key, bad), None, "{bad}");
        }
    }
}
