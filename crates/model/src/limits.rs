//! Every limit, with its source. A number with a meaning stands here once.

/// Longest name of a queue, in characters, `.fifo` included.
///
/// Source: CreateQueue, `QueueName`.
pub const QUEUE_NAME_CHARS_MAX: usize = 80;

/// Largest message: body, and names, types and values of its attributes, in bytes of UTF-8.
///
/// Source: SQS Developer Guide, Message quotas (1 MiB since August 2025).
pub const MESSAGE_BYTES_MAX: usize = 1_048_576;

/// Smallest value of the queue attribute `MaximumMessageSize`.
///
/// Source: SetQueueAttributes.
pub const MAXIMUM_MESSAGE_SIZE_MIN: usize = 1_024;

/// Largest sum of the sizes of a batch's messages.
///
/// Source: SendMessageBatch.
pub const BATCH_BYTES_MAX: usize = 1_048_576;

/// Most entries of a batch, and most messages of one receive.
///
/// Source: SQS Developer Guide, Message quotas.
pub const BATCH_ENTRIES_MAX: usize = 10;

/// Longest id of a batch entry, in characters.
///
/// Source: SQS Developer Guide, Message quotas; text of InvalidBatchEntryId.
pub const BATCH_ENTRY_ID_CHARS_MAX: usize = 80;

/// Most attributes of a message.
///
/// Source: SQS Developer Guide, Message metadata.
pub const MESSAGE_ATTRIBUTES_MAX: usize = 10;

/// Longest name and longest type of a message attribute, in characters.
///
/// Source: SQS Developer Guide, Message metadata.
pub const MESSAGE_ATTRIBUTE_NAME_CHARS_MAX: usize = 256;

/// Longest message group id and deduplication id, in characters.
///
/// Source: SendMessage.
pub const MESSAGE_GROUP_ID_CHARS_MAX: usize = 128;

/// Longest delay of a queue or message, in seconds (15 minutes).
///
/// Source: SendMessage, `DelaySeconds`.
pub const DELAY_SECONDS_MAX: u32 = 900;

/// Longest visibility timeout, in seconds (12 hours), and longest time from a receive that a message can stay hidden.
///
/// Source: SQS Developer Guide, Visibility timeout.
pub const VISIBILITY_TIMEOUT_SECONDS_MAX: u32 = 43_200;

/// Visibility timeout of a queue that sets none.
///
/// Source: SetQueueAttributes.
pub const VISIBILITY_TIMEOUT_SECONDS_DEFAULT: u32 = 30;

/// Shortest and longest retention, in seconds (a minute, 14 days), and that of a queue that sets none (4 days).
///
/// Source: SetQueueAttributes.
pub const RETENTION_SECONDS_MIN: u32 = 60;
pub const RETENTION_SECONDS_MAX: u32 = 1_209_600;
pub const RETENTION_SECONDS_DEFAULT: u32 = 345_600;

/// Longest long poll, in seconds.
///
/// Source: ReceiveMessage, `WaitTimeSeconds`.
pub const WAIT_SECONDS_MAX: u32 = 20;

/// Most messages in flight of a standard queue.
///
/// Source: SQS Developer Guide, Queue quotas.
pub const IN_FLIGHT_MESSAGES_MAX: usize = 120_000;

/// Most tags of a queue, and the longest keys and values, in characters.
///
/// Source: SQS Developer Guide, Queue quotas and tags. AWS recommends 50; field reports of refusals make it a rule here.
pub const TAGS_MAX: usize = 50;
pub const TAG_KEY_CHARS_MAX: usize = 128;
pub const TAG_VALUE_CHARS_MAX: usize = 256;

/// Largest queue policy, in bytes.
///
/// Source: SQS Developer Guide, Policy quotas.
pub const POLICY_BYTES_MAX: usize = 8_192;

/// Longest id, ARN or alias of a key, in characters.
///
/// Source: KMS API Reference, `KeyId`.
pub const KMS_KEY_ID_CHARS_MAX: usize = 2_048;

/// How long a data key may be reused, in seconds (a minute to a day; five minutes where nothing is set).
///
/// Source: SetQueueAttributes, `KmsDataKeyReusePeriodSeconds`.
pub const KMS_REUSE_SECONDS_MIN: u32 = 60;
pub const KMS_REUSE_SECONDS_MAX: u32 = 86_400;
pub const KMS_REUSE_SECONDS_DEFAULT: u32 = 300;

/// Most queues on a page of ListQueues.
///
/// Source: ListQueues, `MaxResults`.
pub const LIST_QUEUES_RESULTS_MAX: usize = 1_000;

/// How long a queue can't be purged again, and how long a deleted queue's name can't be taken, in seconds.
///
/// Source: PurgeQueue; DeleteQueue. Both are settings, for test suites that can't wait.
pub const PURGE_INTERVAL_SECONDS: u32 = 60;
pub const DELETED_NAME_SECONDS: u32 = 60;

// One full receive must fit beneath the in-flight quota, or no receive could ever succeed.
const _: () = assert!(BATCH_ENTRIES_MAX <= IN_FLIGHT_MESSAGES_MAX);
// A batch can carry a message of the largest size.
const _: () = assert!(MESSAGE_BYTES_MAX <= BATCH_BYTES_MAX);
