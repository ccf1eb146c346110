//! Connections: how many, how long, and in which version of HTTP.
//!
//! ```text
//!   accept ─▶ a place free? ──no──▶ 503, closed
//!                │ yes
//!                ▼
//!           first bytes ──"PRI "──▶ HTTP/2          both end
//!                │                                   · when the client closes
//!                └─────────────────▶ HTTP/1.1        · after a while without a request
//!                                                    · when the server stops, as soon as nothing is under way
//! ```

use crate::http::{App, Peer, answer};
use crate::settings::Settings;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

/// What connections are served with.
pub struct Connections {
    app: Arc<App>,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    idle_max: Duration,
    connections_max: usize,
    places: Arc<Semaphore>,
    /// Turns true once, when the server stops.
    stopping: watch::Receiver<bool>,
}

/// Most requests at a time on one HTTP/2 connection. Chosen: room for many long polls.
const STREAMS_MAX: u32 = 1_000;

impl Connections {
    pub fn new(app: Arc<App>, settings: &Settings, stopping: watch::Receiver<bool>) -> Self {
        let idle_max = Duration::from_secs(settings.idle_seconds_max.into());
        let header_bytes_max = settings.header_bytes_max.as_usize();
        let mut http1 = http1::Builder::new();
        // Its timer runs whenever no request is under way, so it covers idle connections and slow heads alike, and
        // there is none while a long poll waits.
        http1.timer(TokioTimer::new()).header_read_timeout(idle_max).max_buf_size(header_bytes_max);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(u32::try_from(header_bytes_max).unwrap_or(u32::MAX));
        let connections_max = settings.connections_max;
        let places = Arc::new(Semaphore::new(connections_max));
        Self { app, http1, http2, idle_max, connections_max, places, stopping }
    }

    /// Accepts connections until the server stops.
    pub async fn accept(self: Arc<Self>, listener: TcpListener) {
        let mut stopping = self.stopping.clone();
        let is_full = AtomicBool::new(false);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = has_stopped(&mut stopping) => return,
            };
            match accepted {
                Ok((stream, _address)) => self.start(stream, &is_full),
                Err(error) => {
                    // Too many open files, most likely: it passes when connections end.
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Waits until the last connection has ended.
    pub async fn ended(&self) {
        let all = u32::try_from(self.connections_max).unwrap_or(u32::MAX);
        // Fails only once the semaphore is closed, and nobody closes it.
        let _ = self.places.acquire_many(all).await;
    }

    fn start(self: &Arc<Self>, stream: TcpStream, is_full: &AtomicBool) {
        match self.places.clone().try_acquire_owned() {
            Ok(place) => {
                is_full.store(false, Ordering::Relaxed);
                tokio::spawn(self.clone().serve(stream, place));
            }
            Err(_) => {
                if !is_full.swap(true, Ordering::Relaxed) {
                    let connections_max = self.connections_max;
                    tracing::warn!(connections_max, "all places for connections are taken; further ones are refused");
                }
                refuse(&stream);
            }
        }
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, _place: OwnedSemaphorePermit) {
        let mut stopping = self.stopping.clone();
        let is_http2 = tokio::select! {
            is_http2 = timeout(self.idle_max, is_http2(&stream)) => is_http2,
            () = has_stopped(&mut stopping) => return,
        };
        let ended = match is_http2 {
            Ok(Ok(true)) => Box::pin(self.serve_http2(stream, stopping)).await,
            Ok(Ok(false)) => self.serve_http1(stream, stopping).await,
            Ok(Err(_)) | Err(_) => Ok(()),
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended badly");
        }
    }

    async fn serve_http1(&self, stream: TcpStream, mut stopping: watch::Receiver<bool>) -> hyper::Result<()> {
        let peer = Peer::of(&stream);
        let requests = service_fn(|request| {
            let request = peer.sends(request);
            async { Ok::<_, Infallible>(answer(&self.app, request).await) }
        });
        let mut connection = pin!(self.http1.serve_connection(TokioIo::new(stream), requests));
        tokio::select! {
            biased;
            ended = connection.as_mut() => return ended,
            () = has_stopped(&mut stopping) => connection.as_mut().graceful_shutdown(),
        }
        connection.await
    }

    async fn serve_http2(&self, stream: TcpStream, mut stopping: watch::Receiver<bool>) -> hyper::Result<()> {
        let traffic = Arc::new(Traffic::default());
        let peer = Peer::of(&stream);
        // Its requests run as tasks of their own, so they share what they need.
        let requests = service_fn(|request| {
            let (app, running) = (self.app.clone(), Traffic::begin(&traffic));
            let request = peer.sends(request);
            async move {
                let _running = running;
                Ok::<_, Infallible>(answer(&app, request).await)
            }
        });
        let mut connection = pin!(self.http2.serve_connection(TokioIo::new(stream), requests));
        let mut seen = 0;
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => return ended,
                () = has_stopped(&mut stopping) => {
                    connection.as_mut().graceful_shutdown();
                    return connection.await;
                }
                () = sleep(self.idle_max) => {
                    let begun = traffic.begun.load(Ordering::Relaxed);
                    if begun == seen && traffic.running.load(Ordering::Relaxed) == 0 {
                        connection.as_mut().graceful_shutdown();
                        return timeout(self.idle_max, connection).await.unwrap_or(Ok(()));
                    }
                    seen = begun;
                }
            }
        }
    }
}

/// Waits until the server stops.
async fn has_stopped(stopping: &mut watch::Receiver<bool>) {
    // Without a sender there's nobody who could go on.
    let _ = stopping.wait_for(|&stopping| stopping).await;
}

/// What happens on an HTTP/2 connection.
#[derive(Default)]
struct Traffic {
    begun: AtomicUsize,
    running: AtomicUsize,
}

/// A request under way.
struct UnderWay(Arc<Traffic>);

impl Traffic {
    fn begin(traffic: &Arc<Self>) -> UnderWay {
        traffic.begun.fetch_add(1, Ordering::Relaxed);
        traffic.running.fetch_add(1, Ordering::Relaxed);
        UnderWay(traffic.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Looks at the first bytes, without taking them.
///
/// Source: RFC 9113, section 3.4, HTTP/2 connection preface. No method of HTTP/1.1 is called PRI.
async fn is_http2(stream: &TcpStream) -> io::Result<bool> {
    const PREFACE: &[u8] = b"PRI ";
    loop {
        let mut first = [0; PREFACE.len()];
        let seen = stream.peek(&mut first).await?;
        if seen == PREFACE.len() || !PREFACE.starts_with(&first[..seen]) || seen == 0 {
            return Ok(first == PREFACE);
        }
        // A client that sends its first bytes one by one. What was seen stays, so there is nothing to wait for but time.
        sleep(Duration::from_millis(10)).await;
    }
}

/// Says that there is no place, as well as that can be said to someone who isn't listened to.
fn refuse(stream: &TcpStream) {
    const BODY: &str = r#"{"__type":"ServiceUnavailable","message":"Too many connections are open. Try again."}"#;
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/x-amz-json-1.0\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{BODY}",
        BODY.len()
    );
    let _ = stream.try_write(answer.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    async fn sees_http2(first: &[u8]) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut client =
            std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        client.write_all(first).expect("it is sent");
        drop(client);
        let (stream, _) = listener.accept().await.expect("a connection");
        is_http2(&stream).await.expect("it can be told")
    }

    #[tokio::test]
    async fn the_first_bytes_tell_the_version() {
        assert!(sees_http2(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await);
        for first in [&b"POST / HTTP/1.1\r\n"[..], b"PUT / HTTP/1.1\r\n", b"GET", b"\0", b"\x16\x03\x01\x02", b""] {
            assert!(!sees_http2(first).await, "{first:?}");
        }
    }
}
