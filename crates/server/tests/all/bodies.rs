//! Chunked, compressed, announced, too large, too slow.

use crate::kit::{Posthouse, request};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

#[tokio::test]
async fn a_client_that_asks_first_is_told_to_go_on() {
    let server = Posthouse::start(&[]).await;
    let url = server.queue("q").await;
    let body = json!({ "QueueUrl": url, "MessageBody": "hello" }).to_string();
    let whole = request("SendMessage", "Expect: 100-continue\r\n", body.as_bytes());
    let (head, body) = whole.split_at(whole.len() - body.len());
    let mut client = server.client().await;
    client.send(head).await;
    assert_eq!(client.answer().await.status, 100);
    client.send(body).await;
    assert_eq!(client.answer().await.status, 200);

    // Not where the answer is no anyway.
    let head = request("SendMessage", "Expect: 100-continue\r\n", b"");
    let head = String::from_utf8(head).expect("ASCII").replace("Content-Length: 0", "Content-Length: 99999999");
    client.send(head.as_bytes()).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.error().as_str()), (413, "RequestEntityTooLargeException"));
}

#[tokio::test]
async fn a_body_may_come_in_chunks() {
    let server = Posthouse::start(&[]).await;
    let url = server.queue("q").await;
    let text = "long ".repeat(100_000);
    let body = json!({ "QueueUrl": url, "MessageBody": text }).to_string();
    let head = String::from_utf8(request("SendMessage", "", b"")).expect("ASCII");
    let mut client = server.client().await;
    client.send(head.replace("Content-Length: 0", "Transfer-Encoding: chunked").as_bytes()).await;
    for chunk in body.as_bytes().chunks(70_001) {
        client.send(format!("{:x}\r\n", chunk.len()).as_bytes()).await;
        client.send(chunk).await;
        client.send(b"\r\n").await;
    }
    client.send(b"0\r\n\r\n").await;
    assert_eq!(client.answer().await.status, 200);
    let received = client.call("ReceiveMessage", json!({ "QueueUrl": url })).await;
    assert_eq!(received.json()["Messages"][0]["Body"], text);
}

#[tokio::test]
async fn a_body_may_be_compressed() {
    let server = Posthouse::start(&[("body_bytes_max", "1MiB")]).await;
    let url = server.queue("q").await;
    let mut client = server.client().await;
    let body = json!({ "QueueUrl": url, "MessageBody": "hello" }).to_string();
    for (encoding, body, status, error) in [
        ("gzip", gzip(body.as_bytes()), 200, ""),
        ("identity", body.clone().into_bytes(), 200, ""),
        ("gzip", gzip(&vec![b' '; 100 << 20]), 413, "RequestEntityTooLargeException"),
        ("gzip", body.clone().into_bytes(), 400, "SerializationException"),
        ("br", body.clone().into_bytes(), 415, "UnsupportedMediaTypeException"),
    ] {
        client.send(&request("SendMessage", &format!("Content-Encoding: {encoding}\r\n"), &body)).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, status, "{}", answer.body);
        if status != 200 {
            assert_eq!(answer.error(), error);
        }
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_in_words() {
    let server = Posthouse::start(&[("body_bytes_max", "64KiB")]).await;
    let mut client = server.client().await;
    // The client sends all of it before it listens, as most do.
    client.send(&request("SendMessage", "", &vec![b' '; 300 << 10])).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.error().as_str()), (413, "RequestEntityTooLargeException"));
    // And its connection is still good.
    client.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n").await;
    client.send(&vec![b' '; 300_000]).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.error().as_str()), (413, "RequestEntityTooLarge"));
    assert_eq!(client.call("ListQueues", json!({})).await.status, 200);
}

#[tokio::test]
async fn bodies_share_a_budget_of_memory() {
    let server = Posthouse::start(&[("body_bytes_max", "1MiB"), ("body_memory_bytes_max", "1MiB")]).await;
    let url = server.queue("q").await;
    let half_and_more = 600 << 10;
    let mut slow = server.client().await;
    let whole = request("SendMessage", "", &vec![b' '; half_and_more]);
    slow.send(&whole[..whole.len() - 1]).await;
    let mut other = server.client().await;
    // Until the first is in memory, the second finds room.
    crate::kit::soon("the budget is spent", async {
        loop {
            other.send(&whole).await;
            if other.answer().await.status == 503 {
                break;
            }
        }
    })
    .await;
    let small = json!({ "QueueUrl": url, "MessageBody": "hello" });
    assert_eq!(server.client().await.call("SendMessage", small).await.status, 200, "small ones go on");
    slow.send(b" ").await;
    assert_eq!(slow.answer().await.status, 400, "blanks are no request");
    let mut again = server.client().await;
    again.send(&whole).await;
    assert_eq!(again.answer().await.status, 400, "there is room again");
}

#[tokio::test]
async fn a_body_that_stops_is_given_up() {
    let server = Posthouse::start(&[("body_seconds_max", "1")]).await;
    let whole = request("SendMessage", "", b"{\"QueueUrl\":");
    let mut client = server.client().await;
    client.send(&whole[..whole.len() - 4]).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.error().as_str()), (408, "RequestTimeout"));
}
