//! The answers that say no, in AWS's words where they are known.
//!
//! Each sentence names the parameter and what is wrong with it. What a client wrote is said back only up to a bound.

use api::{Error, ErrorKind};
use engine::AskError;
use model::QueueKey;
use shard::{ReceiptError, Refusal, Rules};
use std::fmt::Display;

/// Longest text of a client's that an error says back, in characters. Chosen: the longest value that a recorded answer
/// says back, a group id, has 129; a receipt handle of ours fits as well.
const ECHO_CHARS_MAX: usize = 256;

/// What a client wrote, short enough to be said back.
pub(crate) fn clipped(text: &str) -> &str {
    match text.char_indices().nth(ECHO_CHARS_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Observed in recordings of 2024.
pub(crate) fn missing(parameter: &str) -> Error {
    Error::new(ErrorKind::MissingParameter, format!("The request must contain the parameter {parameter}."))
}

/// Observed in recordings of 2024 and 2025, for many parameters.
pub(crate) fn invalid_value(value: impl Display, parameter: &str, reason: &str) -> Error {
    let value = value.to_string();
    let message = format!("Value {} for parameter {parameter} is invalid. Reason: {reason}", clipped(&value));
    Error::new(ErrorKind::InvalidParameterValue, message)
}

pub(crate) fn invalid_parameter(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidParameterValue, message)
}

/// Source: SQS API Reference, InvalidAddress.
pub(crate) fn invalid_address(url: &str) -> Error {
    Error::new(ErrorKind::InvalidAddress, format!("The address {} is not valid for this endpoint.", clipped(url)))
}

/// Observed in recordings of 2024.
pub(crate) fn queue_does_not_exist() -> Error {
    Error::new(ErrorKind::QueueDoesNotExist, "The specified queue does not exist.")
}

/// Observed in recordings of 2024, of CreateQueue and SetQueueAttributes.
pub(crate) fn unknown_attribute(name: &str) -> Error {
    Error::new(ErrorKind::InvalidAttributeName, format!("Unknown Attribute {}.", clipped(name)))
}

/// Observed in a recording of 2024, of SetQueueAttributes: the form; the reasons are ours.
pub(crate) fn invalid_attribute_value(name: &str, reason: &str) -> Error {
    let message = format!("Invalid value for the parameter {name}. Reason: {reason}");
    Error::new(ErrorKind::InvalidAttributeValue, message)
}

/// Observed in a recording of 2024.
pub(crate) fn encryption_conflict() -> Error {
    Error::new(
        ErrorKind::InvalidAttributeName,
        "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.",
    )
}

/// What AWS has and we don't have yet.
pub(crate) fn not_built(message: &str) -> Error {
    Error::new(ErrorKind::UnsupportedOperation, message)
}

/// Source: AWS Knowledge Center, "receipt handle" errors of DeleteMessage.
pub(crate) fn receipt_handle_is_invalid(handle: &str) -> Error {
    let message = format!("The input receipt handle \"{}\" is not a valid receipt handle.", clipped(handle));
    Error::new(ErrorKind::ReceiptHandleIsInvalid, message)
}

/// Observed in recordings of 2024 and 2025. In a batch, AWS's words differ: `is_batch`.
pub(crate) fn message_too_long(bytes_max: usize, is_batch: bool) -> Error {
    let what = if is_batch { "cannot be validated" } else { "are invalid" };
    let reason = format!("Message must be shorter than {bytes_max} bytes.");
    invalid_parameter(format!("One or more parameters {what}. Reason: {reason}"))
}

pub(crate) fn too_many_tags() -> Error {
    let tags_max = model::limits::TAGS_MAX;
    invalid_parameter(format!("A queue can have at most {tags_max} tags. Remove some with UntagQueue first."))
}

pub(crate) fn denied(denied: auth::Denied) -> Error {
    Error::new(ErrorKind::AccessDenied, denied.to_string())
}

/// Why the engine didn't carry out a command about `queue`.
pub(crate) fn asked(error: AskError, queue: &QueueKey, rules: &Rules) -> Error {
    match error {
        AskError::Refused(refusal) => refused(refusal, queue, rules),
        other => unavailable(other),
    }
}

fn refused(refusal: Refusal, queue: &QueueKey, rules: &Rules) -> Error {
    match refusal {
        Refusal::QueueDoesNotExist => queue_does_not_exist(),
        // Observed in recordings of 2024.
        Refusal::QueueNameExists { attribute } => Error::new(
            ErrorKind::QueueNameExists,
            format!("A queue already exists with the same name and a different value for attribute {attribute}"),
        ),
        // Source: SQS API Reference, CreateQueue, QueueDeletedRecently.
        Refusal::QueueDeletedRecently { .. } => Error::new(
            ErrorKind::QueueDeletedRecently,
            format!(
                "You must wait {} seconds after deleting a queue before you can create another with the same name.",
                rules.deleted_name_seconds
            ),
        ),
        // Observed in recordings of 2024.
        Refusal::PurgeInProgress { .. } => Error::new(
            ErrorKind::PurgeQueueInProgress,
            format!(
                "Only one PurgeQueue operation on {} is allowed every {} seconds.",
                queue.name, rules.purge_interval_seconds
            ),
        ),
        // Chosen: AWS's text for short polls isn't recorded.
        Refusal::TooManyInFlight => Error::new(
            ErrorKind::OverLimit,
            format!(
                "Too many messages in flight: the queue has {} that were received and not deleted. Delete some first.",
                rules.in_flight_max
            ),
        ),
        Refusal::TooManyTags => too_many_tags(),
        Refusal::EncryptionConflict => encryption_conflict(),
        Refusal::KeyNotFound { key } => {
            Error::new(ErrorKind::KmsNotFound, format!("Key '{}' does not exist.", clipped(&key)))
        }
    }
}

/// Why the engine carries out nothing at the moment. Clients try again by themselves.
pub(crate) fn unavailable(error: AskError) -> Error {
    let retry = |message: &str| Error::new(ErrorKind::ServiceUnavailable, message);
    match error {
        AskError::Refused(_) => unreachable!("a refusal is the caller's to mend"),
        AskError::StorageFull => {
            retry("There is no room left on the disk for new messages. Receive and delete still work. Try again.")
        }
        AskError::Overloaded => retry("More requests are waiting than there is memory for. Try again."),
        AskError::Stopped { .. } => retry("The server is stopping, or its journal has failed. Try again."),
        // The details are the operator's business; the engine logs them.
        AskError::Unreadable { .. } => {
            Error::new(ErrorKind::InternalFailure, "The content of a message can't be read from the disk.")
        }
    }
}

/// Why a receipt was turned away when it was used to change the visibility of its message to `seconds`.
pub(crate) fn receipt_refused(error: ReceiptError, handle: &str, seconds: u32) -> Error {
    match error {
        ReceiptError::OtherQueue => receipt_handle_is_invalid(handle),
        // Observed by field reports, of ChangeMessageVisibility after DeleteMessage.
        ReceiptError::Gone => invalid_value(
            handle,
            "ReceiptHandle",
            "Message does not exist or is not available for visibility timeout change.",
        ),
        // Source: SQS API Reference, ChangeMessageVisibility, MessageNotInflight.
        ReceiptError::NotInFlight => {
            Error::new(ErrorKind::MessageNotInflight, "The specified message isn't in flight.")
        }
        // Observed by field reports.
        ReceiptError::HiddenTooLong => invalid_value(
            seconds,
            "VisibilityTimeout",
            &format!(
                "Total VisibilityTimeout for the message is beyond the limit [{} seconds]",
                model::limits::VISIBILITY_TIMEOUT_SECONDS_MAX
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{AccountId, QueueName, Region};

    fn check(refusal: Refusal, kind: ErrorKind, message: &str) {
        let queue = QueueKey {
            account: AccountId::parse("123456789012").expect("an account"),
            region: Region::parse("us-east-1").expect("a Region"),
            name: QueueName::parse("orders").expect("a name"),
        };
        let seen = asked(AskError::Refused(refusal), &queue, &Rules::default());
        assert_eq!(seen, Error::new(kind, message));
    }

    #[test]
    fn refusals_have_the_recorded_texts() {
        check(Refusal::QueueDoesNotExist, ErrorKind::QueueDoesNotExist, "The specified queue does not exist.");
        check(
            Refusal::QueueNameExists { attribute: "DelaySeconds" },
            ErrorKind::QueueNameExists,
            "A queue already exists with the same name and a different value for attribute DelaySeconds",
        );
        check(
            Refusal::QueueDeletedRecently { wait_seconds: 7 },
            ErrorKind::QueueDeletedRecently,
            "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
        );
        check(
            Refusal::PurgeInProgress { wait_seconds: 7 },
            ErrorKind::PurgeQueueInProgress,
            "Only one PurgeQueue operation on orders is allowed every 60 seconds.",
        );
        check(
            Refusal::EncryptionConflict,
            ErrorKind::InvalidAttributeName,
            "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.",
        );
        check(Refusal::KeyNotFound { key: "k".into() }, ErrorKind::KmsNotFound, "Key 'k' does not exist.");
    }

    #[test]
    fn what_is_said_back_is_bounded() {
        assert_eq!(clipped("short"), "short");
        assert_eq!(clipped(&"é".repeat(1_000)), "é".repeat(ECHO_CHARS_MAX));
        assert!(receipt_handle_is_invalid(&"h".repeat(1_000_000)).message.len() < 400);
        assert!(invalid_value("v".repeat(1_000_000), "MessageGroupId", "No.").message.len() < 400);
    }

    #[test]
    fn a_client_may_try_again_when_the_fault_is_ours() {
        for error in [AskError::StorageFull, AskError::Overloaded, AskError::Stopped { reason: "disk".into() }] {
            assert_eq!(unavailable(error).kind, ErrorKind::ServiceUnavailable);
        }
        assert_eq!(unavailable(AskError::Unreadable { reason: "crc".into() }).kind, ErrorKind::InternalFailure);
    }
}
