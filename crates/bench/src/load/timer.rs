//! A timer that is on time to some tens of microseconds.
//!
//! Tokio's own timers count whole milliseconds, which would drown the latencies that an open loop is there to measure.

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;

#[derive(Debug)]
pub struct PreciseTimer(AsyncFd<OwnedFd>);

impl PreciseTimer {
    /// Must be called within a runtime.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // An `OwnedFd` is the same descriptor for as long as it lives, which is all that the replacement asks its callers
        // to promise in an `unsafe` block.
        #[expect(deprecated, reason = "the replacement is unsafe")]
        let timer = AsyncFd::new(timer)?;
        Ok(Self(timer))
    }

    /// Returns at once when the moment has passed.
    pub async fn sleep_until(&mut self, moment: Instant) -> io::Result<()> {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let once = Itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(left) };
        rustix::time::timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut guard = self.0.readable().await?;
            let mut expirations = [0; 8];
            match guard.try_io(|timer| Ok(rustix::io::read(timer, &mut expirations)?)) {
                Ok(expired) => return expired.map(|_| ()),
                Err(_would_block) => continue,
            }
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: i64::from(duration.subsec_nanos()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_never_early() {
        let mut timer = PreciseTimer::new().expect("timers are available");
        for microseconds in [0, 1, 200, 1500] {
            let moment = Instant::now() + Duration::from_micros(microseconds);
            timer.sleep_until(moment).await.expect("timers can be read");
            assert!(moment <= Instant::now(), "{microseconds} µs");
        }
    }
}
