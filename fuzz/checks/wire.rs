//! What must hold for any bytes that reach the wire protocols: they are read or refused, never worse, and a refusal is
//! written in the protocol of the request.

use api::Operation;
use api::sqs::*;
use bytes::Bytes;
use http::Request;
use model::QueueAddress;
use wire::{Call, WireProtocol};

/// The first line is the target, the rest is the body.
pub fn json_request(input: &[u8]) {
    let (target, body) = first_line(input);
    request(Request::post("/").header("x-amz-target", target), body, WireProtocol::AwsJson10);
}

/// The first line is the path and query of the URL, the rest is the body.
pub fn query_request(input: &[u8]) {
    let (uri, body) = first_line(input);
    request(Request::post(uri), body, WireProtocol::Query);
}

/// The whole input is a queue URL.
pub fn queue_url(input: &[u8]) {
    let Ok(url) = std::str::from_utf8(input) else { return };
    let Some(address) = QueueAddress::parse(url) else { return };
    let Some(account) = &address.account else { return };
    let path = match &address.region {
        Some(region) => format!("/queue/{region}/{account}/{}", address.name),
        None => format!("/{account}/{}", address.name),
    };
    assert_eq!(QueueAddress::parse(&path), Some(address), "what a URL says can be said shorter");
}

fn first_line(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(input.len());
    (&input[..end], input.get(end + 1..).unwrap_or_default())
}

fn request(request: http::request::Builder, body: &[u8], protocol: WireProtocol) {
    // What isn't HTTP never gets here.
    let Ok(request) = request.body(()) else { return };
    let (parts, ()) = request.into_parts();
    let _ = wire::credential_scope(&parts);
    let outcome = wire::detect(&parts, Bytes::copy_from_slice(body));
    let error = match &outcome {
        Ok(call) => decode(call).err(),
        Err(rejected) => Some(rejected.error.clone()),
    };
    let Some(error) = error else { return };
    assert!(error.message.len() < 2_000, "an error doesn't send the request back");
    let answer = wire::error(protocol, &error, "request-1");
    assert!(answer.status().is_client_error(), "the request is wrong, not the server");
    match protocol {
        WireProtocol::AwsJson10 => {
            let body: serde_json::Value = serde_json::from_slice(answer.body()).expect("an error is JSON");
            assert!(body["__type"].is_string(), "an error says what it is");
        }
        WireProtocol::Query => {
            let body = std::str::from_utf8(answer.body()).expect("an error is UTF-8");
            assert!(body.ends_with("</ErrorResponse>"), "an error is XML");
        }
    }
}

/// Reads the members of any operation that is built, as the dispatcher does.
fn decode(call: &Call) -> Result<(), api::Error> {
    macro_rules! decode_one_of {
        ($($operation:ident)+) => {
            match call.operation.as_str() {
                $($operation::NAME => call.decode::<$operation>().map(drop),)+
                _ => Ok(()),
            }
        };
    }
    decode_one_of! {
        ChangeMessageVisibility ChangeMessageVisibilityBatch CreateQueue DeleteMessage DeleteMessageBatch DeleteQueue
        GetQueueAttributes GetQueueUrl ListQueueTags ListQueues PurgeQueue ReceiveMessage SendMessage SendMessageBatch
        SetQueueAttributes TagQueue UntagQueue
    }
}
