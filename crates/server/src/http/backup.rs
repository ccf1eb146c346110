//! `POST /_posthouse/backup {"to": "/backups/monday"}`: the server writes a copy of its data, and goes on meanwhile.
//!
//! It writes where it is told, as the user that it runs as, so only a program on the same machine may ask: not a web page,
//! and nobody whose request comes through a proxy.

use super::operations::json;
use super::place::requested_authority;
use super::{App, body, origin};
use bytes::Bytes;
use engine::backup::{Copied, Target};
use host::disk::RealDisk;
use http::header::ORIGIN;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Body;
use serde::Deserialize;
use serde_json::json;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpStream;

/// Who is at the other end of a connection.
#[derive(Clone, Copy)]
pub struct Peer(Option<IpAddr>);

impl Peer {
    pub fn of(stream: &TcpStream) -> Self {
        Self(stream.peer_addr().ok().map(|address| address.ip().to_canonical()))
    }

    /// Notes in a request who has sent it.
    pub fn sends<B>(self, mut request: Request<B>) -> Request<B> {
        request.extensions_mut().insert(self);
        request
    }

    fn is_this_machine(self) -> bool {
        self.0.is_some_and(|address| address.is_loopback())
    }
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Asked {
    to: PathBuf,
}

pub async fn answer<B>(app: &App, parts: &Parts, body: B) -> Response<Bytes>
where
    B: Body<Data = Bytes> + Unpin,
{
    if parts.method != Method::POST {
        return json(StatusCode::METHOD_NOT_ALLOWED, &json!({ "error": "making a backup is a POST" }));
    }
    if !is_from_here(parts) {
        let error = "a backup is asked for on the server's own machine, at its address 127.0.0.1 or localhost";
        return json(StatusCode::FORBIDDEN, &json!({ "error": error }));
    }
    let mut claim = app.body_budget.claim();
    let read = body::read(parts, body, app.body_limits, &mut claim).await;
    let to = match read.map_err(|error| error.message).and_then(|body| asked(&body)) {
        Ok(Asked { to }) => to,
        Err(error) => return json(StatusCode::BAD_REQUEST, &json!({ "error": error })),
    };
    let mut identity = [0; 8];
    app.entropy.fill(&mut identity);
    let target = Target {
        disk: Arc::new(RealDisk),
        dir: to.clone(),
        segment_bytes: app.segment_bytes,
        identity: u64::from_le_bytes(identity),
    };
    let engine = app.engine.clone();
    tracing::info!(to = %to.display(), "a backup begins");
    // Whoever asked may hang up; the copy is made all the same.
    let made = tokio::task::spawn_blocking(move || {
        let made = engine.backup(&target);
        match &made {
            Ok(Copied { lsn, bytes, .. }) => tracing::info!(to = %target.dir.display(), lsn, bytes, "a backup is made"),
            Err(reason) => tracing::error!(reason, to = %target.dir.display(), "a backup could not be made"),
        }
        made
    });
    match made.await.map_err(|error| error.to_string()).flatten() {
        Ok(Copied { lsn, records, pages, bytes }) => {
            let made = json!({ "to": to, "lsn": lsn, "records": records, "pages": pages, "bytes": bytes });
            json(StatusCode::OK, &made)
        }
        Err(reason) => json(StatusCode::CONFLICT, &json!({ "error": reason })),
    }
}

/// A proxy on this machine passes on what comes from anywhere, and says so. A page whose name leads to 127.0.0.1 has its
/// own name in the request.
fn is_from_here(parts: &Parts) -> bool {
    let is_forwarded = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"]
        .iter()
        .any(|header| parts.headers.contains_key(*header));
    parts.extensions.get::<Peer>().is_some_and(|peer| peer.is_this_machine())
        && requested_authority(parts).is_some_and(origin::is_this_machine)
        && !parts.headers.contains_key(ORIGIN)
        && !is_forwarded
}

fn asked(body: &[u8]) -> Result<Asked, String> {
    let asked: Asked = serde_json::from_slice(body)
        .map_err(|error| format!("expected a body such as {{\"to\": \"/backups/monday\"}}: {error}"))?;
    // Nobody but the server knows where it was started.
    if asked.to.is_absolute() { Ok(asked) } else { Err("expected an absolute path".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, host: &str, header: Option<(&str, &str)>, expected: bool) {
        let request = Request::post("/_posthouse/backup").header("Host", host);
        let request = header.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        let peer = Peer(peer.parse().ok());
        let (parts, ()) = peer.sends(request.body(()).expect("a request")).into_parts();
        assert_eq!(is_from_here(&parts), expected, "{host} {header:?}");
    }

    #[test]
    fn only_programs_of_this_machine_may_ask() {
        check("127.0.0.1", "127.0.0.1:4566", None, true);
        check("::1", "localhost:4566", None, true);
        check("192.168.0.7", "127.0.0.1:4566", None, false);
        check("nobody", "127.0.0.1:4566", None, false);
        check("127.0.0.1", "rebound.example:4566", None, false);
        check("127.0.0.1", "localhost", Some(("X-Forwarded-For", "192.168.0.7")), false);
        check("127.0.0.1", "localhost", Some(("Forwarded", "for=192.168.0.7")), false);
        check("127.0.0.1", "localhost", Some(("Origin", "http://localhost:3000")), false);
    }

    #[test]
    fn the_copy_has_an_absolute_path() {
        assert_eq!(asked(br#"{"to": "/backups/monday"}"#), Ok(Asked { to: "/backups/monday".into() }));
        for wrong in ["", "{}", r#"{"to": "monday"}"#, r#"{"to": 1}"#, r#"{"to": "/a", "from": "/b"}"#] {
            asked(wrong.as_bytes()).expect_err(wrong);
        }
    }
}
