//! Health, readiness, the clock, and what is found where nothing is.

use crate::kit::{Answer, Posthouse, until};
use serde_json::json;

async fn ask(server: &Posthouse, method: &str, path: &str, body: &str) -> Answer {
    let mut client = server.client().await;
    let length = body.len();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}");
    client.send(request.as_bytes()).await;
    client.answer().await
}

#[tokio::test]
async fn operators_can_ask_how_it_is() {
    let server = Posthouse::start(&[]).await;
    for (path, member, value) in
        [("/health", "status", "up"), ("/ready", "status", "ready"), ("/", "service", "posthouse")]
    {
        let answer = ask(&server, "GET", path, "").await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.json()[member], value, "{path}");
        assert!(answer.header("x-amzn-requestid").is_some());
    }
    for path in ["/favicon.ico", "/index.html", "/health/x"] {
        let answer = ask(&server, "GET", path, "").await;
        assert_eq!((answer.status, answer.header("content-type")), (400, Some("text/xml")), "{path}");
    }
    assert_eq!(ask(&server, "GET", "/_posthouse/nothing", "").await.status, 404);
}

#[tokio::test]
async fn tests_move_the_clock() {
    let server = Posthouse::start(&[]).await;
    let url = server.queue("q").await;
    let delayed = json!({ "QueueUrl": url, "MessageBody": "late", "DelaySeconds": 900 });
    assert_eq!(server.client().await.call("SendMessage", delayed).await.status, 200);

    let mut poll = server.client().await;
    let body = json!({ "QueueUrl": url, "WaitTimeSeconds": 20 }).to_string();
    poll.send(&crate::kit::request("ReceiveMessage", "", body.as_bytes())).await;
    until("the poll waits", || server.engine.waiting_count() == 1).await;
    let answer = ask(&server, "POST", "/_posthouse/clock/advance", r#"{"seconds": 900}"#).await;
    assert_eq!(answer.status, 200);
    assert!(answer.json()["now_milliseconds"].as_u64().is_some());
    assert_eq!(poll.answer().await.json()["Messages"][0]["Body"], "late");

    for (method, body, status) in [("POST", "{}", 400), ("POST", r#"{"seconds": -1}"#, 400), ("GET", "", 405)] {
        assert_eq!(ask(&server, method, "/_posthouse/clock/advance", body).await.status, status, "{method} {body}");
    }
}

#[tokio::test]
async fn without_the_setting_the_clock_is_not_there() {
    let server = Posthouse::start(&[("test_clock", "false")]).await;
    assert_eq!(ask(&server, "POST", "/_posthouse/clock/advance", r#"{"seconds": 1}"#).await.status, 404);
}

#[tokio::test]
async fn a_backup_is_asked_for_from_this_machine() {
    let server = Posthouse::start(&[]).await;
    for (method, host, body, status, expected) in [
        ("GET", "localhost", "", 405, "is a POST"),
        ("POST", "rebound.example", r#"{"to": "/x"}"#, 403, "on the server's own machine"),
        ("POST", "localhost", "{}", 400, "expected a body such as"),
        ("POST", "localhost", r#"{"to": "x"}"#, 400, "an absolute path"),
        ("POST", "127.0.0.1:4566", r#"{"to": "/nowhere/x"}"#, 409, "all messages are in memory only"),
    ] {
        let mut client = server.client().await;
        let length = body.len();
        let head = format!("{method} /_posthouse/backup HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n");
        client.send((head + body).as_bytes()).await;
        let answer = client.answer().await;
        let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(answer.status == status && error.contains(expected), "{method} {host} {body}: {answer:?}");
    }
}
