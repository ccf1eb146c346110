//! A server in this process, and clients that see every byte.

use bytes::Bytes;
use engine::Engine;
use serde_json::{Value, json};
use server::config::{CommandLine, Config};
use server::serve::Server;
use server::settings::Settings;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Nothing here takes as long. What does is stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for what has to come.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("waited in vain: {what}"))
}

/// Waits until it holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    soon(what, async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// A running server, in memory.
pub struct Posthouse {
    pub address: SocketAddr,
    pub engine: Engine,
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<()>,
}

impl Posthouse {
    /// Starts a server with these settings besides a free port and `durability = memory`.
    pub async fn start(settings: &[(&str, &str)]) -> Self {
        let always = [("listen", "127.0.0.1:0"), ("durability", "memory"), ("test_clock", "true")];
        let flag = |(key, text): &(&str, &str)| (Settings::by_key(key).expect("a setting"), (*text).to_owned());
        let flags = settings.iter().chain(&always).map(flag).collect();
        let config = Config::load(CommandLine { file: None, flags }, []).expect("a configuration");
        let server = Server::open(&config).await.expect("it starts");
        let (address, engine) = (server.address(), server.engine());
        let (stop, stopped) = oneshot::channel::<()>();
        let run = server.run(async {
            let _ = stopped.await;
        });
        Self { address, engine, stop: Some(stop), ended: tokio::spawn(run) }
    }

    pub async fn client(&self) -> Client {
        Client { stream: TcpStream::connect(self.address).await.expect("a connection"), read: Vec::new() }
    }

    /// Makes a queue, and returns its URL.
    pub async fn queue(&self, name: &str) -> String {
        let answer = self.client().await.call("CreateQueue", json!({ "QueueName": name })).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["QueueUrl"].as_str().expect("a URL").to_owned()
    }

    /// Asks the server to stop.
    pub fn stop(&mut self) {
        self.stop.take().expect("it is stopped once").send(()).expect("it runs");
    }

    /// Waits until it has stopped.
    pub async fn ended(self) {
        soon("the server ends", self.ended).await.expect("it ends well");
    }
}

/// A connection in HTTP/1.1.
pub struct Client {
    pub stream: TcpStream,
    read: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Lines, in lower case.
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Name of the error, in either protocol.
    pub fn error(&self) -> String {
        match self.body.split_once("<Code>") {
            Some((_, rest)) => rest.split('<').next().unwrap_or_default().to_owned(),
            None => {
                self.json()["__type"].as_str().unwrap_or_default().rsplit('#').next().unwrap_or_default().to_owned()
            }
        }
    }
}

/// A request in AWS JSON, with further header lines.
pub fn request(operation: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost:4566\r\nX-Amz-Target: AmazonSQS.{operation}\r\n\
         Content-Type: application/x-amz-json-1.0\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

impl Client {
    pub async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("the server reads");
    }

    /// Sends a request and waits for its answer.
    pub async fn call(&mut self, operation: &str, body: Value) -> Answer {
        self.send(&request(operation, "", body.to_string().as_bytes())).await;
        self.answer().await
    }

    /// The next answer.
    pub async fn answer(&mut self) -> Answer {
        soon("an answer", async {
            let head = self.read_past(b"\r\n\r\n").await;
            let head = String::from_utf8(head).expect("a head is ASCII").to_lowercase();
            let status = head[9..12].parse().expect("a status");
            let mut answer = Answer { status, head, body: String::new() };
            let length = answer.header("content-length").map_or(0, |length| length.parse().expect("a length"));
            while self.read.len() < length {
                self.read_more().await;
            }
            let body = self.read.drain(..length).collect();
            answer.body = String::from_utf8(body).expect("bodies are UTF-8");
            answer
        })
        .await
    }

    /// What comes until the server closes.
    pub async fn rest(mut self) -> Vec<u8> {
        let read = soon("the server closes", self.stream.read_to_end(&mut self.read)).await;
        // A reset is an end, too.
        let _ = read;
        self.read
    }

    /// What comes first, or nothing where the server closed.
    pub async fn first_bytes(&mut self) -> Vec<u8> {
        let _ = soon("an answer or an end", self.stream.read_buf(&mut self.read)).await;
        std::mem::take(&mut self.read)
    }

    async fn read_past(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.read.windows(mark.len()).position(|window| window == mark) {
                return self.read.drain(..at + mark.len()).collect();
            }
            self.read_more().await;
        }
    }

    async fn read_more(&mut self) {
        let read = self.stream.read_buf(&mut self.read).await.expect("the server answers");
        assert!(read > 0, "the server closed after {:?}", String::from_utf8_lossy(&self.read));
    }
}

/// A connection in HTTP/2.
pub struct Http2 {
    pub requests: h2::client::SendRequest<Bytes>,
    pub connection: JoinHandle<()>,
}

impl Http2 {
    pub async fn connect(server: &Posthouse) -> Self {
        let stream = TcpStream::connect(server.address).await.expect("a connection");
        let (requests, connection) = h2::client::handshake(stream).await.expect("the server speaks HTTP/2");
        let connection = tokio::spawn(async {
            let _ = connection.await;
        });
        Self { requests, connection }
    }

    /// Sends a request. The answer comes with the future; the stream can be reset.
    pub async fn begin(&mut self, operation: &str, body: Value) -> (h2::client::ResponseFuture, h2::SendStream<Bytes>) {
        let request = http::Request::post("http://h2.example:4566/")
            .header("X-Amz-Target", format!("AmazonSQS.{operation}"))
            .header("Content-Type", "application/x-amz-json-1.0");
        let mut ready = self.requests.clone().ready().await.expect("the connection is open");
        let (answer, mut stream) = ready.send_request(request.body(()).expect("a request"), false).expect("it is sent");
        stream.send_data(body.to_string().into(), true).expect("it is sent");
        (answer, stream)
    }

    pub async fn call(&mut self, operation: &str, body: Value) -> (u16, Value) {
        let (answer, _stream) = self.begin(operation, body).await;
        let (head, mut body) = soon("an answer", answer).await.expect("an answer").into_parts();
        let mut all = Vec::new();
        while let Some(part) = soon("a body", body.data()).await {
            all.extend_from_slice(&part.expect("a part"));
        }
        (head.status.as_u16(), serde_json::from_slice(&all).unwrap_or(Value::Null))
    }
}
