//! The yardstick: a hyper server that reads a request and answers with bytes prepared beforehand.
//!
//! It does what any server behind HTTP must do, and nothing else. Its replies have the size of those of SQS, chosen by
//! operation, so that the load generator does the same work as against a real server: queues "exist", and every
//! receive finds ten messages. Only AWS JSON is told apart.

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Serves until the process is ended. Received messages have bodies of `body_bytes`.
pub async fn serve(listener: TcpListener, body_bytes: usize) -> std::io::Result<()> {
    let replies = Arc::new(Replies::new(listener.local_addr()?, body_bytes));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let replies = replies.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, replies.clone()));
            let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            // An error means that the client went away, which is how every run ends.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(request: Request<Incoming>, replies: Arc<Replies>) -> Result<Response<Full<Bytes>>, Infallible> {
    let reply = replies.to(request.headers().get("x-amz-target").map_or(b"", HeaderValue::as_bytes));
    // A body that breaks off ends the connection anyway.
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(reply));
    let content_type = HeaderValue::from_static("application/x-amz-json-1.0");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    let request_id = HeaderValue::from_static("5bafa80b-0d0f-5b1e-8c0e-f8e5f7a1d0c2");
    response.headers_mut().insert("x-amzn-requestid", request_id);
    Ok(response)
}

struct Replies {
    create_queue: Bytes,
    send: Bytes,
    send_batch: Bytes,
    receive: Bytes,
    delete_batch: Bytes,
    other: Bytes,
}

impl Replies {
    fn new(address: SocketAddr, body_bytes: usize) -> Self {
        const ID: &str = "5fea7756-0ea4-451a-a703-a558b933e274";
        const MD5: &str = "fafb00f5732ab283681e124bf8747ed1";
        let ten = |entry: &dyn Fn(usize) -> String| (0..10).map(entry).collect::<Vec<_>>().join(",");
        let sent = ten(&|id| format!(r#"{{"Id":"{id}","MessageId":"{ID}","MD5OfMessageBody":"{MD5}"}}"#));
        let deleted = ten(&|id| format!(r#"{{"Id":"{id}"}}"#));
        let (handle, body) = ("h".repeat(64), "b".repeat(body_bytes));
        let message =
            format!(r#"{{"MessageId":"{ID}","ReceiptHandle":"{handle}","MD5OfBody":"{MD5}","Body":"{body}"}}"#);
        Self {
            create_queue: format!(r#"{{"QueueUrl":"http://{address}/000000000000/bare"}}"#).into(),
            send: format!(r#"{{"MessageId":"{ID}","MD5OfMessageBody":"{MD5}"}}"#).into(),
            send_batch: format!(r#"{{"Successful":[{sent}]}}"#).into(),
            receive: format!(r#"{{"Messages":[{}]}}"#, ten(&|_| message.clone())).into(),
            delete_batch: format!(r#"{{"Successful":[{deleted}]}}"#).into(),
            other: Bytes::from_static(b"{}"),
        }
    }

    fn to(&self, target: &[u8]) -> Bytes {
        let reply = match target {
            b"AmazonSQS.SendMessage" => &self.send,
            b"AmazonSQS.SendMessageBatch" => &self.send_batch,
            b"AmazonSQS.ReceiveMessage" => &self.receive,
            b"AmazonSQS.DeleteMessageBatch" => &self.delete_batch,
            b"AmazonSQS.CreateQueue" => &self.create_queue,
            _ => &self.other,
        };
        reply.clone()
    }
}
