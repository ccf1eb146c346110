//! What a run has counted.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Longest latency told apart; a longer one counts as this.
const LATENCY_MICROSECONDS_MAX: u64 = 60_000_000;

/// Latencies in microseconds, to three significant digits.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u32>);

/// The latencies that so many in a hundred requests were answered within, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub max: f64,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_MICROSECONDS_MAX, 3);
        Self(histogram.expect("three digits from 1 µs to 60 s fit a histogram"))
    }
}

impl Latencies {
    pub fn record(&mut self, latency: Duration) {
        let microseconds = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.0.saturating_record(microseconds.max(1));
    }

    pub fn percentiles(&self) -> Percentiles {
        let at = |quantile| self.0.value_at_quantile(quantile) as f64 / 1000.0;
        Percentiles { p50: at(0.5), p90: at(0.9), p99: at(0.99), p99_9: at(0.999), max: self.0.max() as f64 / 1000.0 }
    }

    fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("both have the same bounds");
    }
}

/// Counts of one thread, or of all once they are added up.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests that were answered with success.
    pub requests: u64,
    /// Messages that were accepted, handed out, and deleted.
    pub sent: u64,
    pub received: u64,
    pub deleted: u64,
    /// Receives that found nothing.
    pub receives_empty: u64,
    pub latencies: Latencies,
    /// Failed requests and failed entries of batches, by what was wrong.
    pub errors: BTreeMap<String, u64>,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
        self.deleted += other.deleted;
        self.receives_empty += other.receives_empty;
        self.latencies.add(&other.latencies);
        for (kind, count) in &other.errors {
            *self.errors.entry(kind.clone()).or_default() += count;
        }
    }

    pub fn count_error(&mut self, kind: String, count: u64) {
        *self.errors.entry(kind).or_default() += count;
    }

    pub fn errors_total(&self) -> u64 {
        self.errors.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_one_to_a_thousand_milliseconds() {
        let mut latencies = Latencies::default();
        for milliseconds in 1..=1000 {
            latencies.record(Duration::from_millis(milliseconds));
        }
        let Percentiles { p50, p90, p99, p99_9, max } = latencies.percentiles();
        for (found, wanted) in [(p50, 500.0), (p90, 900.0), (p99, 990.0), (p99_9, 999.0), (max, 1000.0)] {
            assert!((found / wanted - 1.0).abs() < 0.001, "{found} is not within 0.1 % of {wanted}");
        }
    }

    #[test]
    fn nothing_measured_is_zero_and_too_long_is_the_longest() {
        assert_eq!(Latencies::default().percentiles(), Percentiles::default());
        let mut latencies = Latencies::default();
        latencies.record(Duration::from_secs(3600));
        assert!(59_000.0 < latencies.percentiles().p50);
    }

    #[test]
    fn tallies_add_up() {
        let mut one = Tally { requests: 1, sent: 10, ..Tally::default() };
        one.count_error("503".into(), 2);
        one.latencies.record(Duration::from_millis(1));
        let mut sum = one.clone();
        sum.add(&one);
        assert_eq!((sum.requests, sum.sent, sum.errors_total()), (2, 20, 4));
        assert_eq!(sum.latencies.0.len(), 2);
    }
}
