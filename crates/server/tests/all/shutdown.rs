//! Stopping: what is under way ends, and nothing new begins.

use crate::kit::{Http2, Posthouse, request, soon, until};
use serde_json::json;
use tokio::net::TcpStream;

#[tokio::test]
async fn long_polls_return_and_idle_connections_close() {
    let mut server = Posthouse::start(&[]).await;
    let url = server.queue("q").await;
    let poll = json!({ "QueueUrl": url, "WaitTimeSeconds": 20 });
    let mut polling = server.client().await;
    polling.send(&request("ReceiveMessage", "", poll.to_string().as_bytes())).await;
    let mut http2 = Http2::connect(&server).await;
    let (answer, _stream) = http2.begin("ReceiveMessage", poll).await;
    let mut idle = server.client().await;
    assert_eq!(idle.call("ListQueues", json!({})).await.status, 200);
    let silent = server.client().await;
    until("both polls wait", || server.engine.waiting_count() == 2).await;

    server.stop();
    let empty = polling.answer().await;
    assert_eq!((empty.status, empty.body.as_str()), (200, "{}"));
    assert!(polling.rest().await.is_empty());
    assert_eq!(soon("the poll", answer).await.expect("an answer").status(), 200);
    assert!(idle.rest().await.is_empty());
    assert!(silent.rest().await.is_empty());
    let address = server.address;
    server.ended().await;
    TcpStream::connect(address).await.expect_err("nobody listens any more");
}

#[tokio::test]
async fn a_request_that_does_not_end_is_cut_off() {
    let mut server = Posthouse::start(&[("shutdown_seconds_max", "1")]).await;
    let whole = request("SendMessage", "", b"{\"QueueUrl\":");
    let mut client = server.client().await;
    client.send(&whole[..whole.len() - 4]).await;
    assert_eq!(server.client().await.call("ListQueues", json!({})).await.status, 200, "the other was accepted before");
    server.stop();
    server.ended().await;
}
