//! What a comparison found, as a table to read and as JSON to keep.

use crate::sync::SyncLatency;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// The measure that tells how busy the machine was with other things.
pub const OTHERS_PERCENT: &str = "others_percent_of_a_core";
/// From here on a reader is told. Chosen: an idle machine's own doings stay below it.
const OTHERS_PERCENT_NOTABLE: f64 = 15.0;

/// The values of one measure over all rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub rounds: Vec<f64>,
}

impl Spread {
    /// Of at least one value.
    pub fn of(rounds: Vec<f64>) -> Self {
        let mut sorted = rounds.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(!sorted.is_empty(), "a measure without a value");
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Self { median, min: sorted[0], max: sorted[sorted.len() - 1], rounds }
    }
}

/// One column of a workload's table: the measure's name in the JSON, its heading, its digits behind the point.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    pub key: &'static str,
    pub heading: &'static str,
    pub digits: usize,
}

/// A workload and what is measured of it, the main measure first.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    pub key: &'static str,
    pub title: &'static str,
    pub measures: &'static [Measure],
    /// Whether the main measure is also given as a part of the bare server's.
    pub against_bare: bool,
}

/// Everything that was found about one server.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TargetReport {
    pub version: Option<String>,
    /// Why it wasn't measured, or not to the end.
    pub skipped: Option<String>,
    /// By workload, then measure.
    pub workloads: BTreeMap<&'static str, BTreeMap<&'static str, Spread>>,
    /// By workload and kind, over all rounds.
    pub errors: BTreeMap<String, u64>,
    #[serde(skip)]
    pub(crate) rounds: BTreeMap<&'static str, BTreeMap<&'static str, Vec<f64>>>,
}

impl TargetReport {
    /// Notes one round's value.
    pub fn note(&mut self, workload: &'static str, measure: &'static str, value: f64) {
        // What could not be measured, such as the CPU time per request of no request, is left out.
        if value.is_finite() {
            self.rounds.entry(workload).or_default().entry(measure).or_default().push(value);
        }
    }

    pub fn note_errors(&mut self, workload: &str, errors: &BTreeMap<String, u64>) {
        for (kind, count) in errors {
            *self.errors.entry(format!("{workload}: {kind}")).or_default() += count;
        }
    }

    /// Sums up the rounds.
    pub fn finish(&mut self) {
        for (workload, measures) in std::mem::take(&mut self.rounds) {
            let spreads = measures.into_iter().map(|(measure, values)| (measure, Spread::of(values)));
            self.workloads.insert(workload, spreads.collect());
        }
    }

    pub fn median(&self, workload: &str, measure: &str) -> Option<f64> {
        Some(self.workloads.get(workload)?.get(measure)?.median)
    }
}

/// The machine that was measured on.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub kernel: String,
    pub sync: Vec<SyncLatency>,
}

impl Machine {
    pub fn describe(sync: Vec<SyncLatency>) -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Self {
            processor: model.map_or("unknown", |(_, model)| model).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            sync,
        }
    }
}

/// A promise, and whether this run kept it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aim {
    pub what: &'static str,
    pub wanted: String,
    /// None where something that it needs was not measured.
    pub found: Option<String>,
    pub kept: Option<bool>,
}

/// A whole comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// UTC, `YYYY-MM-DDTHH:MM:SSZ`.
    pub at: String,
    pub machine: Machine,
    pub settings: serde_json::Value,
    pub targets: Vec<(&'static str, TargetReport)>,
    pub aims: Vec<Aim>,
}

impl Report {
    pub fn target(&self, label: &str) -> Option<&TargetReport> {
        self.targets.iter().find(|(name, _)| *name == label).map(|(_, report)| report)
    }

    /// The report as tables, one for each workload.
    pub fn tables(&self, workloads: &[Workload]) -> String {
        let mut out = String::new();
        let Machine { processor, cores, kernel, sync } = &self.machine;
        let _ = writeln!(out, "{} on {processor}, {cores} cores, Linux {kernel}; settings {}", self.at, self.settings);
        for SyncLatency { append_bytes, milliseconds } in sync {
            let (p50, p99) = (milliseconds.p50, milliseconds.p99);
            let _ =
                writeln!(out, "disk: append of {append_bytes} bytes and fdatasync p50 {p50:.2} ms, p99 {p99:.2} ms");
        }
        for workload in workloads {
            self.table(workload, &mut out);
        }
        let _ = writeln!(out, "\nAims");
        for Aim { what, wanted, found, kept } in &self.aims {
            let verdict = kept.map_or("?", |kept| if kept { "kept" } else { "MISSED" });
            let found = found.as_deref().unwrap_or("not measured");
            let _ = writeln!(out, "  {verdict:<7} {what:<58} wanted {wanted:<14} found {found}");
        }
        let others = self.others_percent_max();
        if OTHERS_PERCENT_NOTABLE < others {
            let _ =
                writeln!(out, "\nOther processes used up to {others:.0} % of a core: repeat this on a quiet machine.");
        }
        for (name, target) in &self.targets {
            if let Some(reason) = &target.skipped {
                let _ = writeln!(out, "\nskipped {name}: {reason}");
            }
            for (kind, count) in &target.errors {
                let _ = writeln!(out, "errors of {name}: {count} × {kind}");
            }
        }
        out
    }

    /// The most that others used of the machine in any run.
    fn others_percent_max(&self) -> f64 {
        let measures = self.targets.iter().flat_map(|(_, target)| target.workloads.values());
        measures.filter_map(|measures| Some(measures.get(OTHERS_PERCENT)?.max)).fold(0.0, f64::max)
    }

    fn table(&self, workload: &Workload, out: &mut String) {
        let main = workload.measures[0].key;
        let bare = self.target("bare").and_then(|bare| bare.median(workload.key, main));
        let mut rows = vec![vec![workload.title.to_owned()]];
        for measure in workload.measures {
            rows[0].push(measure.heading.to_owned());
            if measure.key == main {
                rows[0].push("min … max".to_owned());
                rows[0].extend(workload.against_bare.then(|| "of bare".to_owned()));
            }
        }
        for (name, target) in &self.targets {
            let Some(spreads) = target.workloads.get(workload.key) else { continue };
            let mut row = vec![(*name).to_owned()];
            for measure in workload.measures {
                let number = |value: f64| format!("{value:.*}", measure.digits);
                let spread = spreads.get(measure.key);
                row.push(spread.map_or("-".to_owned(), |spread| number(spread.median)));
                if measure.key == main {
                    let range = spread.map(|spread| format!("{} … {}", number(spread.min), number(spread.max)));
                    row.push(range.unwrap_or_default());
                    let ratio = spread.zip(bare).map(|(spread, bare)| percent(spread.median / bare));
                    row.extend(workload.against_bare.then(|| ratio.unwrap_or("-".to_owned())));
                }
            }
            rows.push(row);
        }
        if rows.len() > 1 {
            out.push('\n');
            out.push_str(&aligned(&rows));
        }
    }
}

pub fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// The first column to the left, all others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let _ = if column == 0 { write!(out, "{cell:<width$}") } else { write!(out, "  {cell:>width$}") };
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

/// The current time as `YYYY-MM-DDTHH:MM:SSZ`.
pub fn now_text() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    utc_text(seconds)
}

fn utc_text(seconds: u64) -> String {
    // Years begin in March here, so that the leap day comes last; day 0 is 0000-03-01.
    let day = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_median_and_bounds() {
        let cases = [(vec![3.0], 3.0, 3.0, 3.0), (vec![9.0, 1.0, 2.0], 2.0, 1.0, 9.0), (vec![4.0, 2.0], 3.0, 2.0, 4.0)];
        for (rounds, median, min, max) in cases {
            assert_eq!(Spread::of(rounds.clone()), Spread { median, min, max, rounds });
        }
    }

    #[test]
    fn dates() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
        ];
        for (seconds, wanted) in cases {
            assert_eq!(utc_text(seconds), wanted);
        }
    }

    #[test]
    fn tables_show_medians_spreads_and_parts_of_bare() {
        const MEASURES: &[Measure] = &[
            Measure { key: "rate", heading: "requests/s", digits: 0 },
            Measure { key: "cpu", heading: "µs", digits: 1 },
        ];
        const SEND: Workload = Workload { key: "send", title: "Send", measures: MEASURES, against_bare: true };
        let mut bare = TargetReport::default();
        let mut ours = TargetReport::default();
        for rate in [900.0, 1000.0, 1100.0] {
            bare.note("send", "rate", rate);
            ours.note("send", "rate", rate / 2.0);
        }
        ours.note("send", "cpu", 1.25);
        ours.note("send", "cpu", f64::NAN);
        ours.note_errors("send", &BTreeMap::from([("503".to_owned(), 2)]));
        ours.note("send", OTHERS_PERCENT, 80.0);
        bare.finish();
        ours.finish();
        let missing = TargetReport { skipped: Some("no network".to_owned()), ..TargetReport::default() };
        let report = Report {
            at: "today".to_owned(),
            machine: Machine { processor: "P".to_owned(), cores: 2, kernel: "7".to_owned(), sync: vec![] },
            settings: serde_json::json!({}),
            targets: vec![("bare", bare), ("ours", ours), ("peer", missing)],
            aims: vec![Aim { what: "fast", wanted: "much".to_owned(), found: None, kept: None }],
        };
        let tables = report.tables(&[SEND]);
        let wanted = "\
Send  requests/s   min … max  of bare   µs
bare        1000  900 … 1100    100 %    -
ours         500   450 … 550     50 %  1.2
";
        assert!(tables.contains(wanted), "{tables}");
        assert!(tables.contains("skipped peer: no network"), "{tables}");
        assert!(tables.contains("errors of ours: 2 × send: 503"), "{tables}");
        assert!(tables.contains("Other processes used up to 80 % of a core"), "{tables}");
        assert!(tables.contains("not measured"), "{tables}");
    }
}
