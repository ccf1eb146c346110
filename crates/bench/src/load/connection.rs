//! One client connection: bytes out, a reply back, and a new socket when the server closed the old one.

use super::reply::{Malformed, Reply, ReplyReader};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest wait for a reply. Longer than the longest long poll.
const REPLY_WAIT_MAX: Duration = Duration::from_secs(30);

/// Why a call got no reply.
#[derive(Debug)]
pub enum CallError {
    Connect(io::Error),
    /// Writing or reading failed, or the server hung up, after the connection was made.
    Broken(io::Error),
    Malformed(Malformed),
    TimedOut,
}

impl CallError {
    /// What to count this under.
    pub fn kind(&self) -> String {
        match self {
            Self::Connect(error) => format!("cannot connect: {}", error.kind()),
            Self::Broken(error) => format!("connection broke: {}", error.kind()),
            Self::Malformed(malformed) => malformed.to_string(),
            Self::TimedOut => format!("no reply within {} s", REPLY_WAIT_MAX.as_secs()),
        }
    }
}

/// A connection that is opened when it is first used.
#[derive(Debug)]
pub struct Connection {
    address: SocketAddr,
    stream: Option<TcpStream>,
    reader: ReplyReader,
}

impl Connection {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, stream: None, reader: ReplyReader::default() }
    }

    /// Sends a request and waits for its reply. After an error the next call opens a new connection.
    pub async fn call(&mut self, request: &[u8]) -> Result<Reply<'_>, CallError> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address).await.map_err(CallError::Connect)?;
            stream.set_nodelay(true).map_err(CallError::Connect)?;
            self.stream = Some(stream);
            self.reader = ReplyReader::default();
        }
        let stream = self.stream.as_mut().expect("opened above");
        let exchange = tokio::time::timeout(REPLY_WAIT_MAX, exchange(stream, &mut self.reader, request)).await;
        let keeps_alive = match exchange {
            Ok(Ok(())) => self.reader.reply().keeps_alive,
            Ok(Err(error)) => {
                self.stream = None;
                return Err(error);
            }
            Err(_) => {
                self.stream = None;
                return Err(CallError::TimedOut);
            }
        };
        if !keeps_alive {
            self.stream = None;
        }
        Ok(self.reader.reply())
    }
}

async fn exchange(stream: &mut TcpStream, reader: &mut ReplyReader, request: &[u8]) -> Result<(), CallError> {
    stream.write_all(request).await.map_err(CallError::Broken)?;
    while !reader.is_complete().map_err(CallError::Malformed)? {
        let bytes = stream.read(reader.space()).await.map_err(CallError::Broken)?;
        reader.filled(bytes);
    }
    Ok(())
}

/// One request on a connection of its own, without a runtime: for setting up and for waiting until a server answers.
/// Returns the body of a reply with status 200.
pub fn call_once(address: SocketAddr, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(REPLY_WAIT_MAX))?;
    stream.write_all(request)?;
    let mut reader = ReplyReader::default();
    while !reader.is_complete().map_err(|malformed| io::Error::other(malformed.to_string()))? {
        let bytes = stream.read(reader.space())?;
        reader.filled(bytes);
    }
    let Reply { status, body, .. } = reader.reply();
    if status != 200 {
        return Err(io::Error::other(format!("answered {status}: {}", String::from_utf8_lossy(body))));
    }
    Ok(body.to_vec())
}
