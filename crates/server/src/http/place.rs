//! Where does the client think we are? Queue URLs follow that, and so does the Region of requests that name none.
//!
//! ```text
//!   Host: localhost:4566                          http://localhost:4566/123456789012/orders
//!   Host: queues, X-Forwarded-Host: sqs.example   http://sqs.example/123456789012/orders
//!   Host: sqs.eu-west-1.localhost:4566            …, and the Region is eu-west-1
//! ```
//!
//! Behind Docker and proxies nobody but the client knows the address that it can reach. What it says is only ever said
//! back to it, and only if it is made of the characters of a host name.

use http::request::Parts;
use http::{HeaderMap, header};
use model::{QueueAddress, Region};

/// Longest host and port that is said back. Source: RFC 1035, 255 octets for a name; and a port.
const AUTHORITY_BYTES_MAX: usize = 255 + ":65535".len();

/// What queue URLs in the answer begin with. `listen_authority` is for clients that don't say.
pub fn base_url(parts: &Parts, listen_authority: &str) -> String {
    let forwarded_scheme = first_of_list(&parts.headers, "x-forwarded-proto");
    let scheme = if forwarded_scheme == Some("https") { "https" } else { "http" };
    let forwarded_host = first_of_list(&parts.headers, "x-forwarded-host").filter(|host| is_authority(host));
    let authority = forwarded_host.or_else(|| requested_authority(parts)).unwrap_or(listen_authority);
    let mut url = String::with_capacity(scheme.len() + "://".len() + authority.len());
    url.push_str(scheme);
    url.push_str("://");
    url.push_str(authority);
    url
}

/// The Region that the host or the path of a request names.
pub fn region(parts: &Parts) -> Option<Region> {
    let host = requested_authority(parts).and_then(region_of_host);
    host.or_else(|| {
        parts.uri.path().strip_prefix("/queue/").and_then(|_| QueueAddress::parse(parts.uri.path())?.region)
    })
}

/// Source: Amazon SQS endpoints and quotas; `{region}.queue.amazonaws.com` is its legacy form.
fn region_of_host(authority: &str) -> Option<Region> {
    let mut labels = authority.split('.');
    let region = match (labels.next()?, labels.next()?, labels.next()?) {
        ("sqs" | "sqs-fips", region, _) => region,
        (region, "queue", _) => region,
        _ => return None,
    };
    // So that sqs.example.com is nobody's Region.
    let looks_like_one = region.matches('-').count() >= 2 && region.ends_with(|last: char| last.is_ascii_digit());
    Region::parse(region).filter(|_| looks_like_one)
}

/// The host that the request is for: `:authority` of HTTP/2, else the header `Host`.
pub fn requested_authority(parts: &Parts) -> Option<&str> {
    let in_uri = parts.uri.authority().map(|authority| authority.as_str());
    let in_header = || parts.headers.get(header::HOST)?.to_str().ok();
    in_uri.or_else(in_header).filter(|authority| is_authority(authority))
}

/// Proxies append; what the client used comes first.
fn first_of_list<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    Some(headers.get(name)?.to_str().ok()?.split(',').next()?.trim())
}

fn is_authority(text: &str) -> bool {
    (1..=AUTHORITY_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let request = headers.iter().fold(Request::post(uri), |request, (name, value)| request.header(*name, *value));
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn queue_urls_follow_the_client() {
        for (uri, headers, expected) in [
            ("/", &[("Host", "localhost:4566")][..], "http://localhost:4566"),
            ("/", &[("Host", "queues")], "http://queues"),
            ("/", &[("Host", "[::1]:4566")], "http://[::1]:4566"),
            ("/", &[("Host", "sqs.eu-west-1.localhost:4566")], "http://sqs.eu-west-1.localhost:4566"),
            ("http://h2.example:8080/", &[], "http://h2.example:8080"),
            ("/", &[("Host", "queues"), ("X-Forwarded-Proto", "https")], "https://queues"),
            ("/", &[("Host", "queues"), ("X-Forwarded-Proto", "gopher")], "http://queues"),
            ("/", &[("Host", "queues"), ("X-Forwarded-Host", "sqs.example")], "http://sqs.example"),
            (
                "/",
                &[("Host", "q"), ("X-Forwarded-Host", "a.example:1, b"), ("X-Forwarded-Proto", "https, http")],
                "https://a.example:1",
            ),
            ("/", &[("Host", "queues"), ("X-Forwarded-Host", "evil/<script>")], "http://queues"),
            ("/", &[("Host", "a\"b")], "http://127.0.0.1:4566"),
            ("/", &[("Host", "user@host")], "http://127.0.0.1:4566"),
            ("/", &[("Host", "")], "http://127.0.0.1:4566"),
            ("/", &[], "http://127.0.0.1:4566"),
        ] {
            assert_eq!(base_url(&parts(uri, headers), "127.0.0.1:4566"), expected, "{headers:?}");
        }
        let endless = "a".repeat(AUTHORITY_BYTES_MAX + 1);
        assert_eq!(base_url(&parts("/", &[("Host", &endless)]), "x"), "http://x");
    }

    #[test]
    fn host_or_path_can_name_the_region() {
        for (host, uri, expected) in [
            ("sqs.eu-west-1.amazonaws.com", "/", Some("eu-west-1")),
            ("sqs.us-gov-west-1.localhost:4566", "/", Some("us-gov-west-1")),
            ("sqs-fips.us-east-2.api.aws", "/", Some("us-east-2")),
            ("ap-south-1.queue.amazonaws.com", "/123456789012/q", Some("ap-south-1")),
            ("localhost:4566", "/queue/eu-west-1/123456789012/q", Some("eu-west-1")),
            ("queue.amazonaws.com", "/123456789012/q", None),
            ("sqs.example.com", "/", None),
            ("sqs.eu-west-1", "/", None),
            ("localhost:4566", "/123456789012/q", None),
            ("localhost:4566", "/queue/", None),
        ] {
            let seen = region(&parts(uri, &[("Host", host)]));
            assert_eq!(seen.as_ref().map(Region::as_str), expected, "{host}{uri}");
        }
    }
}
