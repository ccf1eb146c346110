//! Names that people choose, and where in the world they hold.

use crate::limits::QUEUE_NAME_CHARS_MAX;
use std::fmt;
use std::sync::Arc;

/// A 12-digit account number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(Arc<str>);

impl AccountId {
    /// The account, or nothing where `text` isn't twelve digits.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A Region such as `us-east-1`. Any name of that shape works; Regions share nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region(Arc<str>);

impl Region {
    /// Longest name of a Region. Chosen: AWS's longest has 14 characters; this leaves room for made-up ones.
    pub const CHARS_MAX: usize = 32;

    /// The Region, or nothing where `text` is empty, too long, or has anything but lower-case letters, digits, dashes.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=Self::CHARS_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        fits.then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a queue: 1 to 80 letters, digits, dashes and underscores, with `.fifo` at the end for a FIFO queue.
///
/// Source: CreateQueue, `QueueName`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueName(Arc<str>);

impl QueueName {
    /// What ends the name of a FIFO queue, and counts towards its length.
    pub const FIFO_SUFFIX: &str = ".fifo";

    /// The name, or nothing where no queue can have it.
    pub fn parse(text: &str) -> Option<Self> {
        let stem = text.strip_suffix(Self::FIFO_SUFFIX).unwrap_or(text);
        let fits = text.len() <= QUEUE_NAME_CHARS_MAX
            && !stem.is_empty()
            && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        fits.then(|| Self(text.into()))
    }

    pub fn is_fifo(&self) -> bool {
        self.0.ends_with(Self::FIFO_SUFFIX)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a queue is known by: its name means something only within its account and Region.
///
/// Ordered by account, Region, name, so that a listing is one walk.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueueKey {
    pub account: AccountId,
    pub region: Region,
    pub name: QueueName,
}

impl QueueKey {
    /// `arn:aws:sqs:{region}:{account}:{name}`
    pub fn arn(&self) -> String {
        format!("arn:aws:sqs:{}:{}:{}", self.region, self.account, self.name)
    }
}

macro_rules! shows_as_its_text {
    ($($name:ident)+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    )+};
}
shows_as_its_text!(AccountId Region QueueName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_names() {
        let eighty = "a".repeat(80);
        let fifo_eighty = format!("{}.fifo", "a".repeat(75));
        for good in ["a", "A-b_9", "x.fifo", &eighty, &fifo_eighty] {
            assert!(QueueName::parse(good).is_some(), "{good}");
        }
        for bad in
            ["", ".fifo", "a.b", "a/b", "a b", "é", "x.fifo.fifo", &format!("{eighty}a"), &format!("a{fifo_eighty}")]
        {
            assert!(QueueName::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn accounts_and_regions() {
        assert!(AccountId::parse("123456789012").is_some());
        for bad in ["", "12345678901", "1234567890123", "12345678901a", "١٢٣٤٥٦٧٨٩٠١٢"] {
            assert!(AccountId::parse(bad).is_none(), "{bad}");
        }
        assert!(Region::parse("us-east-1").is_some());
        for bad in ["", "US-EAST-1", "us east", "a/b", &"r".repeat(33)] {
            assert!(Region::parse(bad).is_none(), "{bad}");
        }
    }
}
