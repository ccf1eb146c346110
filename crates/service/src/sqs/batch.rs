//! What the batch operations share: the shape of a batch, and the answer for each entry.
//!
//! What is wrong with the batch itself fails the call; what is wrong with one entry fails that entry.

use crate::errors;
use api::sqs::{BatchReply, BatchResultEntry, BatchResultErrorEntry};
use api::{Error, ErrorKind, Fault};
use model::limits::{BATCH_ENTRIES_MAX, BATCH_ENTRY_ID_CHARS_MAX};
use std::collections::BTreeSet;

/// The entries of a batch, each with its id.
///
/// `entry_name` is the type of an entry as AWS's texts name it: `SendMessageBatchRequestEntry`.
///
/// Errors: EmptyBatchRequest, TooManyEntriesInBatchRequest, MissingParameter, InvalidBatchEntryId,
/// BatchEntryIdsNotDistinct, in this order. Chosen: the order.
pub(super) fn entries<T>(
    entries: Option<Vec<T>>,
    entry_name: &str,
    take_id: impl Fn(&mut T) -> Option<String>,
) -> Result<Vec<(String, T)>, Error> {
    let entries = entries.unwrap_or_default();
    if entries.is_empty() {
        // Observed by field reports.
        let message = format!("There should be at least one {entry_name} in the request.");
        return Err(Error::new(ErrorKind::EmptyBatchRequest, message));
    }
    if entries.len() > BATCH_ENTRIES_MAX {
        // Observed in recordings of 2024.
        let sent = entries.len();
        let message = format!("Maximum number of entries per request are {BATCH_ENTRIES_MAX}. You have sent {sent}.");
        return Err(Error::new(ErrorKind::TooManyEntriesInBatchRequest, message));
    }

    let mut named = Vec::with_capacity(entries.len());
    for (index, mut entry) in entries.into_iter().enumerate() {
        let id = take_id(&mut entry).ok_or_else(|| errors::missing(&format!("{entry_name}.{}.Id", index + 1)))?;
        if !is_id(&id) {
            // Observed in recordings of 2024.
            let message = format!(
                "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
                 It can be at most {BATCH_ENTRY_ID_CHARS_MAX} letters long."
            );
            return Err(Error::new(ErrorKind::InvalidBatchEntryId, message));
        }
        named.push((id, entry));
    }
    let mut seen = BTreeSet::new();
    if let Some((id, _)) = named.iter().find(|(id, _)| !seen.insert(id.as_str())) {
        return Err(Error::new(ErrorKind::BatchEntryIdsNotDistinct, format!("Id {id} repeated.")));
    }
    Ok(named)
}

fn is_id(id: &str) -> bool {
    (1..=BATCH_ENTRY_ID_CHARS_MAX).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The answer for an entry that failed.
pub(super) fn failed(id: String, error: Error) -> BatchResultErrorEntry {
    BatchResultErrorEntry {
        id,
        sender_fault: error.kind.fault() == Fault::Sender,
        code: error.kind.query_code().to_owned(),
        message: Some(error.message),
    }
}

/// Sorts the outcomes of a batch whose successes have nothing to tell.
pub(super) fn reply(outcomes: impl IntoIterator<Item = (String, Result<(), Error>)>) -> BatchReply {
    let mut reply = BatchReply::default();
    for (id, outcome) in outcomes {
        match outcome {
            Ok(()) => reply.successful.push(BatchResultEntry { id }),
            Err(error) => reply.failed.push(failed(id, error)),
        }
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ids: &[Option<&str>], expected: Result<(), (ErrorKind, &str)>) {
        let batch = ids.iter().map(|id| id.map(str::to_owned)).collect();
        let seen = entries(Some(batch), "DeleteMessageBatchRequestEntry", Option::take).map(|named| {
            let named: Vec<_> = named.iter().map(|(id, _)| Some(id.as_str())).collect();
            assert_eq!(named, ids, "the order is kept");
        });
        assert_eq!(seen, expected.map_err(|(kind, message)| Error::new(kind, message)), "{ids:?}");
    }

    #[test]
    fn the_shape_of_a_batch() {
        let eighty = "i".repeat(80);
        check(&[Some("a"), Some("b-_9"), Some(&eighty)], Ok(()));
        check(&[Some("0"); 0], Err((ErrorKind::EmptyBatchRequest, NONE)));
        check(
            &[Some("same"); 15],
            Err((
                ErrorKind::TooManyEntriesInBatchRequest,
                "Maximum number of entries per request are 10. You have sent 15.",
            )),
        );
        check(
            &[Some("a"), None],
            Err((
                ErrorKind::MissingParameter,
                "The request must contain the parameter DeleteMessageBatchRequestEntry.2.Id.",
            )),
        );
        for bad in ["", "a:b", "a b", "é", &"i".repeat(81)] {
            check(&[Some("a"), Some("a"), Some(bad)], Err((ErrorKind::InvalidBatchEntryId, BAD_ID)));
        }
        check(&[Some("a"), Some("b"), Some("a")], Err((ErrorKind::BatchEntryIdsNotDistinct, "Id a repeated.")));
    }

    const NONE: &str = "There should be at least one DeleteMessageBatchRequestEntry in the request.";
    const BAD_ID: &str = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
                          It can be at most 80 letters long.";

    #[test]
    fn a_failed_entry_says_whose_fault_it_was() {
        let mine = failed("a".into(), Error::new(ErrorKind::ServiceUnavailable, "later"));
        assert_eq!((mine.sender_fault, mine.code.as_str()), (false, "ServiceUnavailable"));
        let yours = failed("a".into(), Error::new(ErrorKind::ReceiptHandleIsInvalid, "bad"));
        assert_eq!((yours.sender_fault, yours.code.as_str()), (true, "ReceiptHandleIsInvalid"));
        assert_eq!(yours.message.as_deref(), Some("bad"));
    }
}
