//! How values are read from text, whether it came from the file, the environment or the command line.

use engine::Durability;
use model::{AccountId, Region};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use tracing::level_filters::LevelFilter;

/// What a setting can hold.
pub trait Value: Sized {
    /// Errors: what was expected, as the end of a sentence.
    fn parse(text: &str) -> Result<Self, String>;
}

impl Value for SocketAddr {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:4566 or [::1]:4566".into())
    }
}

impl Value for PathBuf {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("expected a path".into()) } else { Ok(text.into()) }
    }
}

impl Value for bool {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("expected true or false".into()),
        }
    }
}

macro_rules! whole_numbers {
    ($($type:ty)+) => {
        $(impl Value for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("expected a whole number from 0 to {}", Self::MAX))
            }
        })+
    };
}

whole_numbers!(u32 usize);

impl Value for AccountId {
    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| "expected twelve digits, in quotes in the file: \"123456789012\"".into())
    }
}

impl Value for Region {
    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| "expected lower-case letters, digits and dashes, such as us-east-1".into())
    }
}

impl Value for Durability {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "fsync" => Ok(Self::Fsync),
            "os" => Ok(Self::Os),
            "memory" => Ok(Self::Memory),
            _ => Err("expected fsync, os or memory".into()),
        }
    }
}

/// A number of bytes: `65536`, `64KiB`, `8MiB`, `1GiB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// For what is kept in memory.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Value for ByteSize {
    fn parse(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit: Option<u64> = match &text[digits.len()..] {
            "" | "B" => Some(1),
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => None,
        };
        let number: Option<u64> = digits.trim_end().parse().ok();
        number
            .zip(unit)
            .and_then(|(number, unit)| number.checked_mul(unit))
            .map(Self)
            .ok_or_else(|| "expected a number of bytes, such as 65536, 64KiB, 8MiB or 1GiB".into())
    }
}

/// How lines of the log are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    Text,
    Json,
}

impl Value for LogFormat {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("expected text or json".into()),
        }
    }
}

/// Least severity that is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLevel(pub LevelFilter);

impl Value for LogLevel {
    fn parse(text: &str) -> Result<Self, String> {
        let level = match text {
            "error" => LevelFilter::ERROR,
            "warn" => LevelFilter::WARN,
            "info" => LevelFilter::INFO,
            "debug" => LevelFilter::DEBUG,
            "trace" => LevelFilter::TRACE,
            _ => return Err("expected error, warn, info, debug or trace".into()),
        };
        Ok(Self(level))
    }
}

/// What queue URLs begin with: scheme, host, and perhaps port and path, without a slash at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicUrl(String);

impl PublicUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Value for Option<PublicUrl> {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let url = text.trim_end_matches('/');
        let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]/".contains(&byte);
        if host.is_empty() || host.starts_with('/') || !host.bytes().all(allowed) {
            return Err("expected a URL without a query, such as https://sqs.example.com".into());
        }
        Ok(Some(PublicUrl(url.into())))
    }
}

/// Web origins, all of them where `*` is among them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Origins(Vec<String>);

impl Origins {
    pub fn contains(&self, origin: &str) -> bool {
        self.0.iter().any(|allowed| allowed == "*" || allowed == origin)
    }
}

impl Value for Origins {
    fn parse(text: &str) -> Result<Self, String> {
        let origins: Vec<String> =
            text.split(',').map(str::trim).filter(|origin| !origin.is_empty()).map(str::to_owned).collect();
        let is_origin = |origin: &String| {
            let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            origin == "*" || host.is_some_and(|host| !host.is_empty() && !host.contains('/'))
        };
        if origins.iter().all(is_origin) {
            Ok(Self(origins))
        } else {
            Err("expected origins such as https://console.example, without a slash at the end, or *".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Value + fmt::Debug>(text: &str, expected: Option<&str>) {
        let seen = T::parse(text).ok().map(|value| format!("{value:?}"));
        assert_eq!(seen.as_deref(), expected, "{text:?}");
    }

    #[test]
    fn sizes_may_have_units() {
        check::<ByteSize>("0", Some("ByteSize(0)"));
        check::<ByteSize>("65536", Some("ByteSize(65536)"));
        check::<ByteSize>("64KiB", Some("ByteSize(65536)"));
        check::<ByteSize>("8 MiB", Some("ByteSize(8388608)"));
        check::<ByteSize>("1GiB", Some("ByteSize(1073741824)"));
        for wrong in ["", "MiB", "8MB", "8mib", "-1", "1.5GiB", "99999999999GiB", "8MiBMiB", "é"] {
            check::<ByteSize>(wrong, None);
        }
    }

    #[test]
    fn a_public_url_names_a_host_and_nothing_else() {
        check::<Option<PublicUrl>>("", Some("None"));
        check::<Option<PublicUrl>>("https://sqs.example.com/", Some(r#"Some(PublicUrl("https://sqs.example.com"))"#));
        check::<Option<PublicUrl>>("http://[::1]:80/base", Some(r#"Some(PublicUrl("http://[::1]:80/base"))"#));
        for wrong in
            ["sqs.example.com", "ftp://host", "http://", "http:///x", "http://a b", "http://h?x=1", "http://u@h"]
        {
            check::<Option<PublicUrl>>(wrong, None);
        }
    }

    #[test]
    fn origins_have_no_path() {
        check::<Origins>("", Some("Origins([])"));
        check::<Origins>("*", Some(r#"Origins(["*"])"#));
        check::<Origins>("https://a.example, http://b:1", Some(r#"Origins(["https://a.example", "http://b:1"])"#));
        for wrong in ["a.example", "https://a.example/", "https://"] {
            check::<Origins>(wrong, None);
        }
    }
}
