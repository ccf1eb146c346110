//! What a queue URL says, whatever host it names.
//!
//! ```text
//! http://localhost:4566/123456789012/orders                        ours, and AWS's
//! https://sqs.eu-west-1.amazonaws.com/123456789012/orders          the Region is in the host
//! https://eu-west-1.queue.amazonaws.com/123456789012/orders        legacy
//! http://localhost:4566/queue/eu-west-1/123456789012/orders        the Region is in the path
//! orders                                                           a bare name, in the caller's own account
//! ```
//!
//! Only the last two segments of the path name the queue. The host never matters: behind Docker and proxies it is
//! rarely the one that the server knows itself by.

use crate::{AccountId, QueueName, Region};

/// A queue as a URL names it. What the URL doesn't say comes from the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueAddress {
    pub account: Option<AccountId>,
    /// Only where the path says it.
    pub region: Option<Region>,
    pub name: QueueName,
}

impl QueueAddress {
    /// Reads a queue URL, a path of one, or a bare name. Nothing where it can't name a queue.
    ///
    /// Source: SQS Developer Guide, Queue and message identifiers; bare names: Observed in recordings of 2024.
    pub fn parse(url: &str) -> Option<Self> {
        let (path, is_url) = match url.split_once("://") {
            Some((_scheme, rest)) => (rest.split_once('/')?.1, true),
            None => (url.strip_prefix('/').unwrap_or(url), url.starts_with('/')),
        };
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.strip_suffix('/').unwrap_or(path);
        let mut segments = path.rsplit('/');
        let name = QueueName::parse(segments.next()?)?;
        let Some(account) = segments.next() else {
            return (!is_url).then_some(Self { account: None, region: None, name });
        };
        let account = Some(AccountId::parse(account)?);
        let region = match (segments.next(), segments.next()) {
            (Some(region), Some("queue")) => Region::parse(region),
            _ => None,
        };
        Some(Self { account, region, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Option<&str>) {
        let seen = QueueAddress::parse(url).map(|address| {
            let part = |text: Option<String>| text.unwrap_or_else(|| "-".into());
            let account = part(address.account.map(|account| account.to_string()));
            format!("{account} {} {}", part(address.region.map(|region| region.to_string())), address.name)
        });
        assert_eq!(seen.as_deref(), expected, "{url}");
    }

    #[test]
    fn every_form_names_the_same_queue() {
        for url in [
            "http://localhost:4566/123456789012/q",
            "https://sqs.us-east-1.amazonaws.com/123456789012/q",
            "https://sqs.us-east-1.api.aws/123456789012/q",
            "https://sqs-fips.us-east-1.amazonaws.com/123456789012/q",
            "https://us-east-1.queue.amazonaws.com/123456789012/q",
            "https://queue.amazonaws.com/123456789012/q",
            "http://proxy.example/some/prefix/123456789012/q",
            "http://localhost:4566/123456789012/q/",
            "http://localhost:4566/123456789012/q?Action=SendMessage",
            "/123456789012/q",
        ] {
            check(url, Some("123456789012 - q"));
        }
        check("http://localhost:4566/queue/eu-west-1/123456789012/q", Some("123456789012 eu-west-1 q"));
        check("q", Some("- - q"));
        check("Orders.fifo", Some("- - Orders.fifo"));
    }

    #[test]
    fn what_names_no_queue_is_refused() {
        for url in [
            "",
            "/",
            "//",
            "http://",
            "http://host",
            "http://host/",
            "http://host/q",
            "/q",
            "http://host/12/q",
            "http://host/123456789012/",
            "http://host/123456789012/a b",
            "http://host/123456789012/q//",
            "not a url",
        ] {
            check(url, None);
        }
    }
}
