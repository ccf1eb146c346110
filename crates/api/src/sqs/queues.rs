//! Making, finding, describing and removing queues.

use super::*;
use std::collections::BTreeMap;

/// Attributes and tags by name, in the order of their names.
pub type StringMap = BTreeMap<String, String>;

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct CreateQueue {
    pub queue_name: Option<String>,
    pub attributes: Option<StringMap>,
    #[serde(rename = "tags", alias = "Tags")]
    pub tags: Option<StringMap>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct GetQueueUrl {
    pub queue_name: Option<String>,
    #[serde(rename = "QueueOwnerAWSAccountId")]
    pub queue_owner_aws_account_id: Option<String>,
}

/// The answer of CreateQueue and GetQueueUrl.
#[derive(Serialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct QueueUrlReply {
    pub queue_url: String,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct ListQueues {
    pub queue_name_prefix: Option<String>,
    pub next_token: Option<String>,
    pub max_results: Option<i64>,
}

#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct ListQueuesReply {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue_urls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_token: Option<String>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct DeleteQueue {
    pub queue_url: Option<String>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct GetQueueAttributes {
    pub queue_url: Option<String>,
    pub attribute_names: Option<Vec<String>>,
}

#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct GetQueueAttributesReply {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: StringMap,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct SetQueueAttributes {
    pub queue_url: Option<String>,
    pub attributes: Option<StringMap>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct PurgeQueue {
    pub queue_url: Option<String>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct TagQueue {
    pub queue_url: Option<String>,
    pub tags: Option<StringMap>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct UntagQueue {
    pub queue_url: Option<String>,
    pub tag_keys: Option<Vec<String>>,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(default, rename_all = "PascalCase")]
pub struct ListQueueTags {
    pub queue_url: Option<String>,
}

#[derive(Serialize, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "PascalCase")]
pub struct ListQueueTagsReply {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: StringMap,
}
