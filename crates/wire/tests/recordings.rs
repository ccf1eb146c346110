//! What AWS's clients sent and what AWS answered. See fixtures/README.md.

mod common;

use api::Operation;
use api::sqs::*;
use common::{form_of, json_call, query_call};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

struct Exchange {
    request: Value,
    reply_headers: Value,
    reply: String,
}

/// All exchanges, by operation.
fn exchanges() -> BTreeMap<String, Vec<Exchange>> {
    let mut exchanges: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in include_str!("../fixtures/recorded.jsonl").lines() {
        let mut line: Value = serde_json::from_str(line).expect("a line is JSON");
        let target = line["target"].as_str().expect("a target").strip_prefix("AmazonSQS.").expect("SQS");
        exchanges.entry(target.to_owned()).or_default().push(Exchange {
            request: serde_json::from_str(line["request"].as_str().expect("a body")).expect("JSON"),
            reply_headers: line["reply_headers"].take(),
            reply: line["reply"].as_str().expect("a body").to_owned(),
        });
    }
    exchanges
}

/// Reads each request in both protocols, and writes each reply as it was recorded.
///
/// `rebuild` makes our reply of theirs.
fn check<T: Operation + PartialEq + Debug>(rebuild: impl Fn(&Value) -> T::Reply) {
    for exchange in &exchanges()[T::NAME] {
        let call = json_call(T::NAME, exchange.request.to_string());
        let request = call.decode::<T>().expect("a recorded request");
        let as_form = query_call(T::NAME, &form_of(T::NAME, &exchange.request));
        assert_eq!(as_form.decode::<T>().as_ref(), Ok(&request), "both protocols say the same");
        for (name, value) in exchange.request.as_object().expect("an object") {
            let seen = format!("{request:?}");
            let text = value.as_str().map(|text| format!("{text:?}"));
            assert!(text.is_none_or(|text| seen.contains(&text)), "{name} was not read: {seen}");
        }

        let theirs = serde_json::from_str(&exchange.reply).unwrap_or(Value::Null);
        let answer = wire::reply(&call, &rebuild(&theirs), "4421389f-e75b-5018-81a1-5827a00d06d3");
        let ours = serde_json::from_slice(answer.body()).unwrap_or(Value::Null);
        assert_eq!(ours, theirs);
        assert_eq!(exchange.reply.is_empty(), answer.body().is_empty());
        assert_eq!(answer.headers()["content-type"], exchange.reply_headers["content-type"].as_str().expect("a type"));
        let headers: BTreeSet<_> = answer.headers().keys().map(|name| name.as_str()).collect();
        // The length is for the HTTP server to say.
        let recorded = exchange.reply_headers.as_object().expect("headers");
        assert!(headers.iter().all(|name| recorded.contains_key(*name)), "{headers:?}");
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn required(value: &Value) -> String {
    text(value).expect("a text")
}

#[test]
fn queues() {
    check::<CreateQueue>(|reply| QueueUrlReply { queue_url: required(&reply["QueueUrl"]) });
    check::<GetQueueUrl>(|reply| QueueUrlReply { queue_url: required(&reply["QueueUrl"]) });
    check::<GetQueueAttributes>(|reply| GetQueueAttributesReply {
        attributes: serde_json::from_value(reply["Attributes"].clone()).expect("a map"),
    });
    check::<DeleteQueue>(|_| Done {});
}

#[test]
fn messages() {
    check::<SendMessage>(|reply| SendMessageReply {
        md5_of_message_body: required(&reply["MD5OfMessageBody"]),
        md5_of_message_attributes: text(&reply["MD5OfMessageAttributes"]),
        md5_of_message_system_attributes: text(&reply["MD5OfMessageSystemAttributes"]),
        message_id: required(&reply["MessageId"]),
        sequence_number: text(&reply["SequenceNumber"]),
    });
    check::<DeleteMessage>(|_| Done {});
    check::<ReceiveMessage>(|reply| ReceiveMessageReply {
        messages: reply["Messages"].as_array().into_iter().flatten().map(received).collect(),
    });
}

fn received(message: &Value) -> ReceivedMessage {
    const NAMES: &[&str] =
        &["ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp"];
    let attributes = NAMES.iter().filter_map(|name| Some((*name, text(&message["Attributes"][name])?.into())));
    let message_attributes = message["MessageAttributes"].as_object().into_iter().flatten();
    ReceivedMessage {
        message_id: required(&message["MessageId"]),
        receipt_handle: required(&message["ReceiptHandle"]),
        md5_of_body: required(&message["MD5OfBody"]),
        body: required(&message["Body"]).into(),
        attributes: attributes.collect(),
        md5_of_message_attributes: text(&message["MD5OfMessageAttributes"]),
        message_attributes: message_attributes
            .map(|(name, value)| (name.as_str().into(), serde_json::from_value(value.clone()).expect("an attribute")))
            .collect(),
    }
}
