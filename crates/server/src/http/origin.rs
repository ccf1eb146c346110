//! Which web pages may use this server: those of this machine, those that it serves itself, and those that were configured.
//!
//! A browser says with each request of a script which origin the script came from, and SDKs outside of browsers say
//! nothing. Any page on the web can make the browser of a developer send a request to 127.0.0.1; without this, it could
//! read the developer's queues.
//!
//! Source: Fetch Standard, HTTP-CORS protocol.

use super::place::requested_authority;
use crate::settings::Origins;
use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use std::net::IpAddr;

/// Whether the page behind a request, if there is one, may ask.
pub fn may_ask(parts: &Parts, configured: &Origins) -> bool {
    let Some(origin) = parts.headers.get(ORIGIN) else {
        return true;
    };
    let Ok(origin) = origin.to_str() else {
        return false;
    };
    let authority = origin.split_once("://").map(|(_scheme, authority)| authority);
    let is_our_own = authority.is_some() && authority == requested_authority(parts);
    is_our_own || authority.is_some_and(is_this_machine) || configured.contains(origin)
}

pub fn is_this_machine(authority: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host,
        _ => authority,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Lets the page read the answer.
pub fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    const READABLE: HeaderValue = HeaderValue::from_static("x-amzn-requestid,x-amzn-query-error,date");
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READABLE);
    headers.append(VARY, HeaderValue::from_static("origin"));
}

/// Answers the question that a browser asks before it lets a script send what it wants.
pub fn preflight(parts: &Parts) -> Response<Bytes> {
    const METHODS: HeaderValue = HeaderValue::from_static("GET,HEAD,POST,OPTIONS");
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ALLOW, METHODS);
    if parts.headers.contains_key(ORIGIN) {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
        if let Some(wanted) = parts.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn check(host: &str, origin: &str, expected: bool) {
        let request = Request::post("/").header("Host", host).header("Origin", origin);
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        assert_eq!(may_ask(&parts, &Origins::default()), expected, "{origin} at {host}");
    }

    #[test]
    fn pages_of_this_machine_may_ask() {
        for origin in [
            "http://localhost:3000",
            "https://localhost",
            "http://127.0.0.1:8080",
            "http://[::1]:5173",
            "http://app.localhost:3000",
        ] {
            check("127.0.0.1:4566", origin, true);
        }
        check("queues.example:4566", "http://queues.example:4566", true);
        for origin in [
            "https://evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "http://evil.example:80@localhost",
            "http://192.168.0.1",
            "null",
            "",
        ] {
            check("127.0.0.1:4566", origin, false);
        }
    }
}
