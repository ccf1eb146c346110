//! What the Query protocol calls the members of the model.
//!
//! Lists and maps of SQS are *flattened*: instead of one element (or name) around all items there is one for each, and
//! it has a name of its own, mostly the singular. All else is called what the model calls it.
//!
//! ```text
//!   model   AttributeNames: ["All"]              Attributes: {"DelaySeconds": "5"}
//!   form    AttributeName.1=All                  Attribute.1.Name=DelaySeconds&Attribute.1.Value=5
//!   XML     <AttributeName>All</AttributeName>   <Attribute><Name>DelaySeconds</Name><Value>5</Value></Attribute>
//! ```

/// How a flattened list or map is written.
#[derive(Debug)]
pub struct Flattened {
    /// The operation that has this member, where several call it differently.
    operation: Option<&'static str>,
    member: &'static str,
    /// The name of each item.
    pub item: &'static str,
    /// What the key and the value of an item are called, in a map.
    pub entry: (&'static str, &'static str),
}

/// What the key and the value are called where the table doesn't say.
pub const ENTRY: (&str, &str) = ("key", "value");

const fn list(member: &'static str, item: &'static str) -> Flattened {
    Flattened { operation: None, member, item, entry: ENTRY }
}

const fn list_of(operation: &'static str, member: &'static str, item: &'static str) -> Flattened {
    Flattened { operation: Some(operation), member, item, entry: ENTRY }
}

const fn map(member: &'static str, item: &'static str, entry: (&'static str, &'static str)) -> Flattened {
    Flattened { operation: None, member, item, entry }
}

/// Source: the SQS API model of botocore before it moved to JSON (1.29), `locationName` of flattened members.
///
/// `MessageSystemAttributeNames` is written as `AttributeName.N` by clients of that model. It reaches the request as
/// `AttributeNames`, and the operation asks for the union of both.
static SQS: &[Flattened] = &[
    list("AttributeNames", "AttributeName"),
    list("BinaryListValues", "BinaryListValue"),
    list_of("ChangeMessageVisibilityBatch", "Entries", "ChangeMessageVisibilityBatchRequestEntry"),
    list_of("DeleteMessageBatch", "Entries", "DeleteMessageBatchRequestEntry"),
    list_of("SendMessageBatch", "Entries", "SendMessageBatchRequestEntry"),
    list("Failed", "BatchResultErrorEntry"),
    list("MessageAttributeNames", "MessageAttributeName"),
    list("MessageSystemAttributeNames", "MessageSystemAttributeName"),
    list("Messages", "Message"),
    list("QueueUrls", "QueueUrl"),
    list("StringListValues", "StringListValue"),
    list_of("ChangeMessageVisibilityBatch", "Successful", "ChangeMessageVisibilityBatchResultEntry"),
    list_of("DeleteMessageBatch", "Successful", "DeleteMessageBatchResultEntry"),
    list_of("SendMessageBatch", "Successful", "SendMessageBatchResultEntry"),
    list("TagKeys", "TagKey"),
    map("Attributes", "Attribute", ("Name", "Value")),
    map("MessageAttributes", "MessageAttribute", ("Name", "Value")),
    map("MessageSystemAttributes", "MessageSystemAttribute", ("Name", "Value")),
    map("Tags", "Tag", ("Key", "Value")),
    map("tags", "Tag", ("Key", "Value")),
];

impl Flattened {
    fn belongs_to(&self, operation: &str) -> bool {
        self.operation.is_none_or(|own| own == operation)
    }
}

/// How `member` is flattened in the requests and replies of `operation`, if it is.
pub fn flattened(operation: &str, member: &str) -> Option<&'static Flattened> {
    SQS.iter().find(|row| row.member == member && row.belongs_to(operation))
}

/// Which of `members` a client means by `name`: its own name, or that of its items.
pub fn member(operation: &str, members: &'static [&'static str], name: &str) -> Option<usize> {
    let position = |wanted: &str| members.iter().position(|member| *member == wanted);
    position(name).or_else(|| {
        SQS.iter().filter(|row| row.item == name && row.belongs_to(operation)).find_map(|row| position(row.member))
    })
}
