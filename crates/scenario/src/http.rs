//! The plainest HTTP/1.1 client.

use crate::server::PATIENCE;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// One connection, with one request on it at a time.
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

impl Connection {
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("an open socket");
        Self { stream: BufReader::new(stream), host: address.to_string() }
    }

    /// Sends a request.
    pub fn post(&mut self, path: &str, headers: &[String], body: &str) {
        let mut request = format!("POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n", self.host, body.len());
        for header in headers {
            request += header;
            request += "\r\n";
        }
        request += "\r\n";
        request += body;
        self.stream.get_mut().write_all(request.as_bytes()).expect("the server listens");
    }

    /// Whether an answer has begun to arrive.
    pub fn is_answered(&self) -> bool {
        let stream = self.stream.get_ref();
        stream.set_nonblocking(true).expect("an open socket");
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false).expect("an open socket");
        match peeked {
            Ok(bytes) => bytes > 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(error) => panic!("the connection broke: {error}"),
        }
    }

    /// Waits for the answer.
    pub fn answer(&mut self) -> Answer {
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).expect("an open socket");
        let status_line = self.line();
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status line: {status_line}"));
        let line = || Some(self.line()).filter(|line| !line.is_empty());
        let split =
            |line: String| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
        let headers: Vec<_> = std::iter::from_fn(line).filter_map(split).collect();
        let mut answer = Answer { status, headers, body: String::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("the whole body arrives");
        answer.body = String::from_utf8(body).expect("a body of text");
        answer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server answers");
        line.trim_end().to_owned()
    }
}
