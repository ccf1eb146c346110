//! The AWS SDK for Rust against the real binary.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{Config, Credentials, Region};
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName,
    SendMessageBatchRequestEntry,
};
use conformance::Server;
use std::time::{Duration, Instant};

fn client(server: &Server) -> Client {
    let config = Config::builder()
        .behavior_version_latest()
        .endpoint_url(server.endpoint())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "conformance"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    Client::from_conf(config)
}

/// A server and a queue on it, for one test.
async fn with_queue() -> (Server, Client, String) {
    let server = Server::start("fsync");
    let sqs = client(&server);
    let made = sqs.create_queue().queue_name("q").send().await.expect("a queue");
    let url = made.queue_url().expect("its URL").to_owned();
    (server, sqs, url)
}

fn text(value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("String").string_value(value).build().expect("it has a type")
}

#[tokio::test]
async fn a_message_s_life() {
    let (_server, sqs, url) = with_queue().await;
    let bytes = MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([0, 255])).build();
    let sent = sqs
        .send_message()
        .queue_url(&url)
        .message_body("hello \u{1f426} \u{85}\r\n")
        .message_attributes("text", text("v"))
        .message_attributes("bytes", bytes.expect("it has a type"))
        .send()
        .await
        .expect("sent");
    let received = sqs
        .receive_message()
        .queue_url(&url)
        .message_attribute_names("All")
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .send()
        .await
        .expect("received");
    let [message] = received.messages() else { panic!("one message: {received:?}") };
    assert_eq!(message.body(), Some("hello \u{1f426} \u{85}\r\n"));
    assert_eq!(message.message_id(), sent.message_id());
    assert_eq!(message.md5_of_body(), sent.md5_of_message_body());
    assert_eq!(message.md5_of_message_attributes(), sent.md5_of_message_attributes());
    let attributes = message.message_attributes().expect("both attributes");
    assert_eq!(attributes["text"].string_value(), Some("v"));
    assert_eq!(attributes["bytes"].binary_value().map(Blob::as_ref), Some(&[0, 255][..]));
    let count = &message.attributes().expect("system attributes")[&MessageSystemAttributeName::ApproximateReceiveCount];
    assert_eq!(count, "1");

    let handle = message.receipt_handle().expect("a handle");
    sqs.delete_message().queue_url(&url).receipt_handle(handle).send().await.expect("deleted");
    let left = sqs.get_queue_attributes().queue_url(&url).attribute_names(QueueAttributeName::All).send().await;
    let left = left.expect("attributes").attributes.expect("all of them");
    assert_eq!(left[&QueueAttributeName::ApproximateNumberOfMessagesNotVisible], "0");
}

#[tokio::test]
async fn batches() {
    let (_server, sqs, url) = with_queue().await;
    let mut batch = sqs.send_message_batch().queue_url(&url);
    for index in 0..10 {
        let entry = SendMessageBatchRequestEntry::builder().id(format!("e{index}")).message_body(format!("{index}"));
        batch = batch.entries(entry.build().expect("id and body"));
    }
    let sent = batch.send().await.expect("sent");
    assert_eq!((sent.successful().len(), sent.failed().len()), (10, 0));

    let received = sqs.receive_message().queue_url(&url).max_number_of_messages(10).send().await.expect("received");
    let bodies: Vec<_> = received.messages().iter().filter_map(|message| message.body()).collect();
    assert_eq!(bodies, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);

    let mut batch = sqs.delete_message_batch().queue_url(&url);
    for (index, message) in received.messages().iter().enumerate() {
        let handle = if index == 3 { "garbage" } else { message.receipt_handle().expect("a handle") };
        let entry = DeleteMessageBatchRequestEntry::builder().id(format!("e{index}")).receipt_handle(handle);
        batch = batch.entries(entry.build().expect("id and handle"));
    }
    let deleted = batch.send().await.expect("answered");
    assert_eq!(deleted.successful().len(), 9);
    let [failed] = deleted.failed() else { panic!("one failure: {deleted:?}") };
    assert_eq!((failed.id(), failed.code(), failed.sender_fault()), ("e3", "ReceiptHandleIsInvalid", true));
}

#[tokio::test]
async fn a_long_poll_returns_when_a_message_comes() {
    let (_server, sqs, url) = with_queue().await;
    let poll = tokio::spawn(sqs.receive_message().queue_url(&url).wait_time_seconds(20).send());
    // Answered on another connection, after the poll had every chance to be sent.
    sqs.list_queues().send().await.expect("a list");
    let started = Instant::now();
    sqs.send_message().queue_url(&url).message_body("hello").send().await.expect("sent");
    let received = poll.await.expect("no panic").expect("received");
    assert_eq!(received.messages()[0].body(), Some("hello"));
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn errors_are_typed() {
    let (_server, sqs, url) = with_queue().await;
    let missing = sqs.send_message().queue_url(format!("{url}-missing")).message_body("x").send().await;
    let error = missing.expect_err("no such queue").into_service_error();
    assert!(error.is_queue_does_not_exist(), "{error:?}");
    assert_eq!(error.message(), Some("The specified queue does not exist."));

    let garbage = sqs.delete_message().queue_url(&url).receipt_handle("garbage").send().await;
    assert!(garbage.expect_err("no such handle").into_service_error().is_receipt_handle_is_invalid());

    let different = sqs.create_queue().queue_name("q").attributes(QueueAttributeName::DelaySeconds, "7").send().await;
    assert!(different.expect_err("another value").into_service_error().is_queue_name_exists());
}

#[tokio::test]
async fn pages_of_queues() {
    let (_server, sqs, _) = with_queue().await;
    for index in 0..5 {
        sqs.create_queue().queue_name(format!("page-{index}")).send().await.expect("a queue");
    }
    let pages = sqs.list_queues().queue_name_prefix("page-").max_results(2).into_paginator().send();
    let pages = pages.collect::<Result<Vec<_>, _>>().await.expect("all pages");
    assert_eq!(pages.iter().map(|page| page.queue_urls().len()).collect::<Vec<_>>(), [2, 2, 1]);
}
