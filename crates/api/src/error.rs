//! What a caller did wrong, or what we couldn't do.
//!
//! An error is a kind and a sentence. The kind says everything that a wire protocol needs: the name in JSON, the older
//! code in XML and in `x-amzn-query-error`, the status.

use std::fmt;

/// An answer that says no.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    pub kind: ErrorKind,
    /// For people: AWS's own words wherever they are known, and what to do next.
    pub message: String,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.query_code(), self.message)
    }
}

impl std::error::Error for Error {}

/// Whose fault it is. A client may try again when it is ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Sender,
    Receiver,
}

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident => $json:literal, $query:literal, $status:literal;)+) => {
        /// Which error of AWS's.
        ///
        /// Source: the API models of botocore 1.44.8; recorded answers for those that no model lists.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ErrorKind { $($(#[$doc])* $kind,)+ }

        impl ErrorKind {
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// Its name in the model, which JSON answers as `__type`.
            pub fn json_name(self) -> &'static str {
                match self { $(Self::$kind => $json,)+ }
            }

            /// Its code in the Query protocol, in `x-amzn-query-error` and in the failed entries of a batch.
            pub fn query_code(self) -> &'static str {
                match self { $(Self::$kind => $query,)+ }
            }

            /// The HTTP status.
            pub fn status(self) -> u16 {
                match self { $(Self::$kind => $status,)+ }
            }
        }
    };
}

error_kinds! {
    // SQS
    BatchEntryIdsNotDistinct => "BatchEntryIdsNotDistinct", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400;
    BatchRequestTooLong => "BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", 400;
    EmptyBatchRequest => "EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", 400;
    InvalidAddress => "InvalidAddress", "InvalidAddress", 404;
    InvalidAttributeName => "InvalidAttributeName", "InvalidAttributeName", 400;
    InvalidAttributeValue => "InvalidAttributeValue", "InvalidAttributeValue", 400;
    InvalidBatchEntryId => "InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId", 400;
    InvalidMessageContents => "InvalidMessageContents", "InvalidMessageContents", 400;
    KmsNotFound => "KmsNotFound", "KMS.NotFoundException", 400;
    MessageNotInflight => "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", 400;
    OverLimit => "OverLimit", "OverLimit", 403;
    PurgeQueueInProgress => "PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress", 403;
    QueueDeletedRecently => "QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently", 400;
    QueueDoesNotExist => "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", 400;
    QueueNameExists => "QueueNameExists", "QueueAlreadyExists", 400;
    ReceiptHandleIsInvalid => "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404;
    TooManyEntriesInBatchRequest => "TooManyEntriesInBatchRequest", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400;
    UnsupportedOperation => "UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation", 400;

    // Every service: recorded, though no model lists them
    InvalidParameterValue => "InvalidParameterValueException", "InvalidParameterValue", 400;
    MissingParameter => "MissingRequiredParameterException", "MissingParameter", 400;
    AccessDenied => "AccessDeniedException", "AccessDenied", 403;
    /// The body isn't what the wire protocol says it must be.
    Serialization => "SerializationException", "MalformedInput", 400;
    /// No such operation, asked in JSON.
    UnknownOperation => "UnknownOperationException", "InvalidAction", 400;
    /// No such operation, asked in the Query protocol, or one that this address doesn't serve.
    InvalidAction => "InvalidAction", "InvalidAction", 400;
    /// A Query request that doesn't say what it wants.
    MissingAction => "MissingAction", "MissingAction", 400;
    RequestEntityTooLarge => "RequestEntityTooLargeException", "RequestEntityTooLarge", 413;
    /// The rest of the request did not arrive in time. Source: IAM API Reference, Common Errors, for its name.
    RequestTimeout => "RequestTimeout", "RequestTimeout", 408;
    /// A Content-Encoding that isn't known. Source: Smithy, UnsupportedMediaTypeException.
    UnsupportedMediaType => "UnsupportedMediaTypeException", "UnsupportedMediaType", 415;

    // Ours to mend; clients try again
    InternalFailure => "InternalFailure", "InternalFailure", 500;
    ServiceUnavailable => "ServiceUnavailable", "ServiceUnavailable", 503;
}

impl ErrorKind {
    pub fn fault(self) -> Fault {
        if self.status() >= 500 { Fault::Receiver } else { Fault::Sender }
    }
}
