//! Web pages: which may ask, and how they are told.

use crate::kit::{Posthouse, request};

#[tokio::test]
async fn pages_of_this_machine_may_ask_and_others_may_not() {
    let server = Posthouse::start(&[("cors_origins", "https://console.example")]).await;
    for (origin, allowed) in [
        ("http://localhost:3000", true),
        ("https://console.example", true),
        ("https://evil.example", false),
        ("null", false),
    ] {
        let mut client = server.client().await;
        let preflight = format!(
            "OPTIONS / HTTP/1.1\r\nHost: h\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: authorization,x-amz-target\r\n\r\n"
        );
        client.send(preflight.as_bytes()).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, if allowed { 204 } else { 403 }, "{origin}");
        let headers = answer.header("access-control-allow-headers");
        assert_eq!(headers, allowed.then_some("authorization,x-amz-target"), "{origin}");

        client.send(&request("ListQueues", &format!("Origin: {origin}\r\n"), b"{}")).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, if allowed { 200 } else { 403 }, "{origin}");
        assert_eq!(answer.header("access-control-allow-origin"), allowed.then_some(origin));
    }
}

#[tokio::test]
async fn whoever_is_no_page_is_told_nothing_of_pages() {
    let server = Posthouse::start(&[]).await;
    let mut client = server.client().await;
    client.send(b"OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n").await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.header("allow")), (204, Some("get,head,post,options")));
    assert_eq!(answer.header("access-control-allow-origin"), None);
}
