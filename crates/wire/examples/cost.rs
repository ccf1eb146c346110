//! What it costs to read and write the requests that matter: `cargo run --release -p wire --example cost`

use api::sqs::*;
use bytes::Bytes;
use model::Text;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let body = "x".repeat(1000) + "\"quoted\" line\n";
    let quoted = serde_json::to_string(&body).expect("a string is JSON");
    let url = "http://localhost:4566/123456789012/q";
    let escaped = body.replace('"', "%22").replace(' ', "+").replace('\n', "%0A");

    let send = format!(r#"{{"QueueUrl":"{url}","MessageBody":{quoted}}}"#);
    measure("decode SendMessage, 1 KB, JSON", || decode::<SendMessage>("SendMessage", &send));
    let form = format!("Action=SendMessage&Version=2012-11-05&QueueUrl={url}&MessageBody={escaped}");
    measure("decode SendMessage, 1 KB, Query", || decode_form::<SendMessage>(&form));
    let entries: Vec<_> = (0..10).map(|n| format!(r#"{{"Id":"{n}","MessageBody":{quoted}}}"#)).collect();
    let batch = format!(r#"{{"QueueUrl":"{url}","Entries":[{}]}}"#, entries.join(","));
    measure("decode SendMessageBatch, 10 x 1 KB, JSON", || decode::<SendMessageBatch>("SendMessageBatch", &batch));
    let receive = format!(r#"{{"QueueUrl":"{url}","MaxNumberOfMessages":10,"WaitTimeSeconds":20}}"#);
    measure("decode ReceiveMessage, JSON", || decode::<ReceiveMessage>("ReceiveMessage", &receive));
    let handle = "A".repeat(120);
    let entries: Vec<_> = (0..10).map(|n| format!(r#"{{"Id":"{n}","ReceiptHandle":"{handle}"}}"#)).collect();
    let delete = format!(r#"{{"QueueUrl":"{url}","Entries":[{}]}}"#, entries.join(","));
    measure("decode DeleteMessageBatch of 10, JSON", || decode::<DeleteMessageBatch>("DeleteMessageBatch", &delete));

    let (json, query) = (detect("SendMessage", &send), detect_form(&form));
    let sent = SendMessageReply {
        md5_of_message_body: "0123456789abcdef0123456789abcdef".into(),
        message_id: "4421389f-e75b-5018-81a1-5827a00d06d3".into(),
        ..SendMessageReply::default()
    };
    measure("encode SendMessageReply, JSON", || wire::reply(&json, &sent, "4421389f-e75b-5018-81a1-5827a00d06d3"));
    measure("encode SendMessageReply, XML", || wire::reply(&query, &sent, "4421389f-e75b-5018-81a1-5827a00d06d3"));
    let message = || ReceivedMessage {
        message_id: "4421389f-e75b-5018-81a1-5827a00d06d3".into(),
        receipt_handle: handle.clone(),
        md5_of_body: "0123456789abcdef0123456789abcdef".into(),
        body: Text::from(&*body),
        ..ReceivedMessage::default()
    };
    let received = ReceiveMessageReply { messages: (0..10).map(|_| message()).collect() };
    measure("encode ReceiveMessageReply, 10 x 1 KB, JSON", || wire::reply(&json, &received, "request"));
    measure("encode ReceiveMessageReply, 10 x 1 KB, XML", || wire::reply(&query, &received, "request"));
}

fn detect(operation: &str, body: &str) -> wire::Call {
    let (parts, ()) = http::Request::post("/")
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", format!("AmazonSQS.{operation}"))
        .body(())
        .expect("a request")
        .into_parts();
    wire::detect(&parts, Bytes::copy_from_slice(body.as_bytes())).expect("a call")
}

fn detect_form(body: &str) -> wire::Call {
    let (parts, ()) = http::Request::post("/").body(()).expect("a request").into_parts();
    wire::detect(&parts, Bytes::copy_from_slice(body.as_bytes())).expect("a call")
}

/// With what it takes to make the request, a copy of its body included.
fn decode<T: serde::de::DeserializeOwned>(operation: &str, body: &str) -> T {
    detect(operation, body).decode().expect("a request")
}

fn decode_form<T: serde::de::DeserializeOwned>(body: &str) -> T {
    detect_form(body).decode().expect("a request")
}

fn measure<T>(what: &str, run: impl Fn() -> T) {
    const RUNS: u32 = 20_000;
    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..RUNS {
                black_box(run());
            }
            start.elapsed() / RUNS
        })
        .min();
    println!("{:>7} ns  {what}", best.unwrap_or_default().as_nanos());
}
