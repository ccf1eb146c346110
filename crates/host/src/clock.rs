//! What time it is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time. It may stand still or jump back; whoever needs order keeps the latest moment seen.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since 1970-01-01 00:00 UTC.
    fn now_milliseconds(&self) -> u64;
}

/// The machine's own clock.
#[derive(Default, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_milliseconds(&self) -> u64 {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The machine's clock, moved ahead by as much as a test has asked for.
#[derive(Default, Debug)]
pub struct AdvancedClock {
    ahead_milliseconds: AtomicU64,
}

impl AdvancedClock {
    /// Moves time forward. It never goes back.
    pub fn advance(&self, milliseconds: u64) {
        let moved = |ahead: u64| Some(ahead.saturating_add(milliseconds));
        self.ahead_milliseconds
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, moved)
            .expect("the update always yields a value");
    }
}

impl Clock for AdvancedClock {
    fn now_milliseconds(&self) -> u64 {
        SystemClock.now_milliseconds().saturating_add(self.ahead_milliseconds.load(Ordering::Relaxed))
    }
}

/// A clock that shows what it was set to.
#[derive(Default, Debug)]
pub struct FakeClock {
    now_milliseconds: AtomicU64,
}

impl FakeClock {
    pub fn new(now_milliseconds: u64) -> Self {
        Self { now_milliseconds: AtomicU64::new(now_milliseconds) }
    }

    pub fn set(&self, now_milliseconds: u64) {
        self.now_milliseconds.store(now_milliseconds, Ordering::Relaxed);
    }
}

impl Clock for FakeClock {
    fn now_milliseconds(&self) -> u64 {
        self.now_milliseconds.load(Ordering::Relaxed)
    }
}
