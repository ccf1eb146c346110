//! Moments and lengths of time.

use std::fmt;

/// A moment: milliseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The moment before which nothing happened.
    pub const ZERO: Self = Self(0);
    /// The moment that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// This moment and `seconds` more; [`Self::NEVER`] where that can't be told.
    pub fn plus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000)))
    }

    /// Milliseconds from `earlier` until this moment, 0 if it isn't earlier.
    pub fn milliseconds_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whole seconds since 1970, as queue attributes show them.
    pub fn as_seconds(self) -> u64 {
        self.0 / 1_000
    }

    /// Milliseconds since 1970, as message attributes show them.
    pub fn as_milliseconds(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}
