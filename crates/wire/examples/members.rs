//! Prints every operation with the members that we read and answer, as JSON, for `conformance/model_check.py`:
//! `cargo run --release -p wire --example members`
//!
//! ```text
//!   "request": {"QueueUrl": "string", "Entries": [{"Id": "string", …}], "Attributes": {"*": "string"}}
//!   "reply":   {"MessageId": "id", …}        a reply with every member filled
//! ```

#[path = "../tests/common/mod.rs"]
mod common;

use api::sqs::*;
use api::{ErrorKind, Operation};
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor, value,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, json};

fn main() {
    let errors: Map<_, _> = ErrorKind::ALL
        .iter()
        .map(|kind| (kind.json_name().into(), json!({"code": kind.query_code(), "status": kind.status()})))
        .collect();
    println!("{:#}", json!({"operations": operations(), "built": BUILT, "not_built": NOT_BUILT, "errors": errors}));
}

fn operations() -> Map<String, Value> {
    let mut all = Map::new();
    let mut add = |(name, members): (&str, Value)| all.insert(name.to_owned(), members);
    add(members::<ChangeMessageVisibility>(Done {}));
    add(members::<ChangeMessageVisibilityBatch>(common::batch_reply()));
    add(members::<CreateQueue>(common::queue_url_reply()));
    add(members::<DeleteMessage>(Done {}));
    add(members::<DeleteMessageBatch>(common::batch_reply()));
    add(members::<DeleteQueue>(Done {}));
    add(members::<GetQueueAttributes>(common::get_queue_attributes_reply()));
    add(members::<GetQueueUrl>(common::queue_url_reply()));
    add(members::<ListQueueTags>(common::list_queue_tags_reply()));
    add(members::<ListQueues>(common::list_queues_reply()));
    add(members::<PurgeQueue>(Done {}));
    add(members::<ReceiveMessage>(common::receive_message_reply()));
    add(members::<SendMessage>(common::send_message_reply()));
    add(members::<SendMessageBatch>(common::send_message_batch_reply()));
    add(members::<SetQueueAttributes>(Done {}));
    add(members::<TagQueue>(Done {}));
    add(members::<UntagQueue>(Done {}));
    all
}

fn members<T: Operation>(reply: T::Reply) -> (&'static str, Value) {
    let reply = serde_json::to_value(reply).expect("a reply is JSON");
    (T::NAME, json!({"request": members_read::<T>(), "reply": reply}))
}

/// What `T` asks for when it is read.
fn members_read<T: DeserializeOwned>() -> Value {
    let mut asked = Value::Null;
    T::deserialize(Recorder(&mut asked)).expect("everything that is asked for is there");
    asked
}

/// Gives a type whatever it asks for, and writes down what that was.
struct Recorder<'a>(&'a mut Value);

impl<'de> Deserializer<'de> for Recorder<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, value::Error> {
        Err(Error::custom("a member of any type cannot be compared with a model"))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        *self.0 = "string".into();
        visitor.visit_str("")
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        *self.0 = "integer".into();
        visitor.visit_i64(0)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        *self.0 = "boolean".into();
        visitor.visit_bool(false)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        *self.0 = json!([null]);
        visitor.visit_seq(OneItem(Some(&mut self.0[0])))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        self.deserialize_struct("", &["*"], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, value::Error> {
        *self.0 = json!({});
        visitor.visit_map(Members { members: members.iter(), asked: self.0, current: "" })
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct enum identifier ignored_any
    }
}

struct OneItem<'a>(Option<&'a mut Value>);

impl<'de> SeqAccess<'de> for OneItem<'_> {
    type Error = value::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, value::Error> {
        self.0.take().map(|item| seed.deserialize(Recorder(item))).transpose()
    }
}

struct Members<'a> {
    members: std::slice::Iter<'static, &'static str>,
    asked: &'a mut Value,
    current: &'static str,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = value::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, value::Error> {
        for member in self.members.by_ref() {
            let asked = self.asked.as_object_mut().expect("it was made one");
            // Another spelling of a member that was given already: giving it twice would be an error.
            let same = asked.iter().find(|(name, _)| name.eq_ignore_ascii_case(member)).map(|(_, asked)| asked.clone());
            if let Some(same) = same {
                asked.insert((*member).to_owned(), same);
                continue;
            }
            self.current = member;
            let name: StrDeserializer<'_, value::Error> = member.into_deserializer();
            return seed.deserialize(name).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, value::Error> {
        seed.deserialize(Recorder(&mut self.asked[self.current]))
    }
}
