//! Keep-alive, pipelining, HTTP/2, and what is not HTTP.

use crate::kit::{Http2, Posthouse, request};
use serde_json::json;

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let server = Posthouse::start(&[]).await;
    let mut client = server.client().await;
    for number in 0..3 {
        let answer = client.call("CreateQueue", json!({ "QueueName": format!("q{number}") })).await;
        assert_eq!(answer.status, 200);
        let url = answer.json()["QueueUrl"].to_string();
        assert_eq!(url, format!("\"http://localhost:4566/000000000000/q{number}\""));
        assert_eq!(answer.header("x-amzn-requestid").expect("a request id").len(), 36);
    }
}

#[tokio::test]
async fn requests_may_be_sent_before_the_answers_came() {
    let server = Posthouse::start(&[]).await;
    let url = server.queue("q").await;
    let mut client = server.client().await;
    let body = json!({ "QueueUrl": url, "MessageBody": "hello" }).to_string();
    let three = request("SendMessage", "", body.as_bytes()).repeat(3);
    // Broken anywhere, as a network would.
    for piece in three.chunks(97) {
        client.send(piece).await;
    }
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(client.answer().await.json()["MessageId"].to_string());
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[tokio::test]
async fn an_answer_does_not_wait_for_a_long_poll_behind_it() {
    let server = Posthouse::start(&[]).await;
    let (url, empty) = (server.queue("q").await, server.queue("empty").await);
    let mut client = server.client().await;
    let send = json!({ "QueueUrl": url, "MessageBody": "hello" }).to_string();
    let poll = json!({ "QueueUrl": empty, "WaitTimeSeconds": 20 }).to_string();
    let both = [request("SendMessage", "", send.as_bytes()), request("ReceiveMessage", "", poll.as_bytes())].concat();
    client.send(&both).await;
    assert_eq!(client.answer().await.status, 200);
    let wake = json!({ "QueueUrl": empty, "MessageBody": "wake" });
    assert_eq!(server.client().await.call("SendMessage", wake).await.status, 200);
    assert_eq!(client.answer().await.json()["Messages"][0]["Body"], "wake");
}

#[tokio::test]
async fn both_protocols_share_a_connection() {
    let server = Posthouse::start(&[]).await;
    let url = server.queue("q").await;
    let mut client = server.client().await;
    client.send(b"GET /000000000000/q?Action=SendMessage&MessageBody=by+GET HTTP/1.1\r\nHost: h\r\n\r\n").await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/xml")));
    let answer = client.call("ReceiveMessage", json!({ "QueueUrl": url })).await;
    assert_eq!(answer.json()["Messages"][0]["Body"], "by GET");
}

#[tokio::test]
async fn http2_is_told_by_its_preface() {
    let server = Posthouse::start(&[]).await;
    let mut client = Http2::connect(&server).await;
    let (status, reply) = client.call("CreateQueue", json!({ "QueueName": "q" })).await;
    assert_eq!((status, &reply["QueueUrl"]), (200, &json!("http://h2.example:4566/000000000000/q")));
    // A long poll doesn't hold up the requests beside it.
    let (poll, _stream) = client.begin("ReceiveMessage", json!({ "QueueUrl": "q", "WaitTimeSeconds": 20 })).await;
    let (status, _) = client.call("SendMessage", json!({ "QueueUrl": "q", "MessageBody": "hello" })).await;
    assert_eq!(status, 200);
    assert_eq!(crate::kit::soon("the poll", poll).await.expect("an answer").status(), 200);
}

#[tokio::test]
async fn what_is_not_http_is_cut_off_and_harms_nobody() {
    let server = Posthouse::start(&[]).await;
    for garbage in [
        &b"\0\0\0\0\0\0\0\0"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"hello\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnot a length\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n",
    ] {
        let mut client = server.client().await;
        client.send(garbage).await;
        let answer = String::from_utf8_lossy(&client.rest().await).into_owned();
        assert!(!answer.contains(" 200 "), "{garbage:?}: {answer}");
        assert!(!answer.contains(" 500 "), "{garbage:?}: {answer}");
    }
    let endless = [b"GET / HTTP/1.1\r\nx: ".to_vec(), vec![b'x'; 100 << 10]].concat();
    let mut client = server.client().await;
    client.send(&endless).await;
    assert!(client.rest().await.starts_with(b"HTTP/1.1 431 "));

    assert_eq!(server.client().await.call("ListQueues", json!({})).await.status, 200);
}

#[tokio::test]
async fn a_connection_too_many_is_told_so() {
    let server = Posthouse::start(&[("connections_max", "1")]).await;
    let mut first = server.client().await;
    assert_eq!(first.call("ListQueues", json!({})).await.status, 200);
    let mut second = server.client().await;
    let refusal = second.answer().await;
    assert_eq!((refusal.status, refusal.error().as_str()), (503, "ServiceUnavailable"));
    assert!(second.rest().await.is_empty());
    assert_eq!(first.call("ListQueues", json!({})).await.status, 200);
    drop(first);
    crate::kit::soon("the place is free again", async {
        loop {
            let mut client = server.client().await;
            client.send(b"GET /health HTTP/1.1\r\nHost: h\r\n\r\n").await;
            // Its refusal may get lost in the reset of its connection.
            if client.first_bytes().await.starts_with(b"HTTP/1.1 200 ") {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_in_the_end() {
    let server = Posthouse::start(&[("idle_seconds_max", "1")]).await;
    for said in [&b""[..], b"P", b"POST / HT", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut client = server.client().await;
        client.send(said).await;
        let answer = client.rest().await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{said:?}");
    }
}

#[tokio::test]
async fn queue_urls_follow_the_client_or_the_setting() {
    let server = Posthouse::start(&[]).await;
    let create = |headers: &str| {
        let body = br#"{"QueueName":"q"}"#;
        format!(
            "POST / HTTP/1.1\r\nX-Amz-Target: AmazonSQS.CreateQueue\r\nContent-Length: {}\r\n{headers}\r\n{}",
            body.len(),
            String::from_utf8_lossy(body)
        )
    };
    for (headers, expected) in [
        ("Host: queues.internal:1234\r\n", "http://queues.internal:1234/000000000000/q".to_owned()),
        (
            "Host: q\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: sqs.example.com\r\n",
            "https://sqs.example.com/000000000000/q".to_owned(),
        ),
        ("Host: <script>\r\n", format!("http://{}/000000000000/q", server.address)),
        ("", format!("http://{}/000000000000/q", server.address)),
    ] {
        let mut client = server.client().await;
        client.send(create(headers).as_bytes()).await;
        assert_eq!(client.answer().await.json()["QueueUrl"], expected, "{headers}");
    }

    let server = Posthouse::start(&[("public_url", "https://sqs.example.com/base/")]).await;
    assert_eq!(server.queue("q").await, "https://sqs.example.com/base/000000000000/q");
}

#[tokio::test]
async fn region_and_account_come_from_the_credential_or_the_host() {
    let server = Posthouse::start(&[("region", "eu-north-1")]).await;
    let create = |credential: &str, host: &str| {
        let authorization = match credential {
            "" => String::new(),
            _ => format!(
                "Authorization: AWS4-HMAC-SHA256 Credential={credential}/aws4_request, SignedHeaders=host, Signature=0\r\n"
            ),
        };
        let form = "Action=CreateQueue&QueueName=q";
        let length = form.len();
        format!("POST / HTTP/1.1\r\nHost: {host}\r\n{authorization}Content-Length: {length}\r\n\r\n{form}")
    };
    for (credential, host, expected) in [
        ("", "h", "arn:aws:sqs:eu-north-1:000000000000:q"),
        ("", "sqs.us-west-2.localhost:4566", "arn:aws:sqs:us-west-2:000000000000:q"),
        ("test/20250101/ap-south-1/sqs", "sqs.us-west-2.localhost", "arn:aws:sqs:ap-south-1:000000000000:q"),
        ("123456789012/20250101/ap-south-1/sqs", "h", "arn:aws:sqs:ap-south-1:123456789012:q"),
    ] {
        let mut client = server.client().await;
        client.send(create(credential, host).as_bytes()).await;
        assert_eq!(client.answer().await.status, 200);
        let path = if credential.starts_with('1') { "/123456789012/q" } else { "/000000000000/q" };
        let get = create(credential, host)
            .replace("POST /", &format!("POST {path}"))
            .replace("Action=CreateQueue&QueueName=q", "Action=GetQueueAttributes&AttributeName.1=QueueArn")
            .replace("Content-Length: 30", "Content-Length: 50");
        client.send(get.as_bytes()).await;
        let answer = client.answer().await;
        assert!(answer.body.contains(expected), "{expected}: {}", answer.body);
    }
}
