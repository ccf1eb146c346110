//! A client that hangs up during a long poll hides nothing.

use crate::kit::{Http2, Posthouse, request, until};
use serde_json::json;

async fn check_nothing_is_hidden(server: &Posthouse, url: &str) {
    let mut client = server.client().await;
    let send = json!({ "QueueUrl": url, "MessageBody": "hello" });
    assert_eq!(client.call("SendMessage", send).await.status, 200);
    let receive = json!({ "QueueUrl": url, "AttributeNames": ["ApproximateReceiveCount"] });
    let received = client.call("ReceiveMessage", receive).await.json();
    assert_eq!(received["Messages"][0]["Body"], "hello");
    assert_eq!(received["Messages"][0]["Attributes"]["ApproximateReceiveCount"], "1");
}

#[tokio::test]
async fn a_connection_that_closes_ends_its_poll() {
    let server = Posthouse::start(&[]).await;
    let url = server.queue("q").await;
    let body = json!({ "QueueUrl": url, "WaitTimeSeconds": 20 }).to_string();
    let mut client = server.client().await;
    client.send(&request("ReceiveMessage", "", body.as_bytes())).await;
    until("the poll waits", || server.engine.waiting_count() == 1).await;
    drop(client);
    until("the poll has ended", || server.engine.waiting_count() == 0).await;
    check_nothing_is_hidden(&server, &url).await;
}

#[tokio::test]
async fn a_stream_that_is_reset_ends_its_poll() {
    let server = Posthouse::start(&[]).await;
    let url = server.queue("q").await;
    let mut client = Http2::connect(&server).await;
    let (answer, mut stream) = client.begin("ReceiveMessage", json!({ "QueueUrl": url, "WaitTimeSeconds": 20 })).await;
    until("the poll waits", || server.engine.waiting_count() == 1).await;
    stream.send_reset(h2::Reason::CANCEL);
    drop(answer);
    until("the poll has ended", || server.engine.waiting_count() == 0).await;
    check_nothing_is_hidden(&server, &url).await;
}

#[tokio::test]
async fn an_http2_connection_that_closes_ends_its_polls() {
    let server = Posthouse::start(&[]).await;
    let url = server.queue("q").await;
    let mut client = Http2::connect(&server).await;
    let poll = json!({ "QueueUrl": url, "WaitTimeSeconds": 20 });
    let _polls = (client.begin("ReceiveMessage", poll.clone()).await, client.begin("ReceiveMessage", poll).await);
    until("the polls wait", || server.engine.waiting_count() == 2).await;
    client.connection.abort();
    until("the polls have ended", || server.engine.waiting_count() == 0).await;
    check_nothing_is_hidden(&server, &url).await;
}
