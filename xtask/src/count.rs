//! How many tests a runner says it ran.

use std::ops::AddAssign;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    pub passed: u32,
    pub failed: u32,
    /// Tests that this machine can't run, and that said so.
    pub skipped: u32,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// Reads the closing line of cargo test, of pytest, or of Node's test runner (one of its two, in TAP).
///
/// A test in Rust that this machine can't run begins a line with `skipped: `. Every other line counts nothing.
pub fn counts_of(line: &str) -> Counts {
    let line = line.trim();
    let number = |text: &str| text.parse().unwrap_or(0);
    if let Some(passed) = line.strip_prefix("# pass ") {
        return Counts { passed: number(passed), ..Counts::default() };
    }
    if let Some(failed) = line.strip_prefix("# fail ") {
        return Counts { failed: number(failed), ..Counts::default() };
    }
    if line.starts_with("skipped: ") {
        return Counts { skipped: 1, ..Counts::default() };
    }
    let parts = if let Some(("test result", result)) = line.split_once(": ") {
        result.split_once(". ").map_or("", |(_, counts)| counts)
    } else if let Some((counts, duration)) = line.trim_matches(['=', ' ']).rsplit_once(" in ")
        && duration.starts_with(|c: char| c.is_ascii_digit())
    {
        counts
    } else {
        ""
    };
    let mut counts = Counts::default();
    for part in parts.split([';', ',']) {
        match part.trim().split_once(' ') {
            Some((count, "passed")) => counts.passed += number(count),
            // pytest calls a fixture that fails an error.
            Some((count, "failed" | "error" | "errors")) => counts.failed += number(count),
            Some((count, "skipped")) => counts.skipped += number(count),
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_counted_and_others_are_not() {
        for (line, passed, failed, skipped) in [
            (
                "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
                12,
                0,
                0,
            ),
            (
                "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
                3,
                2,
                0,
            ),
            ("3 failed, 245 passed, 1 skipped in 12.34s", 245, 3, 1),
            ("==== 7 passed in 0.10s ====", 7, 0, 0),
            ("400 errors in 0.77s", 0, 400, 0),
            ("1 failed, 2 passed, 1 error in 103.59s (0:01:43)", 2, 2, 0),
            ("# pass 11", 11, 0, 0),
            ("# fail 2", 0, 2, 0),
            ("no tests ran in 0.01s", 0, 0, 0),
            ("test kill::kill_9_loses_nothing ... ok", 0, 0, 0),
            ("60 rounds: 10 passed in the night", 0, 0, 0),
            ("skipped: no power was cut, for losetup does not run", 0, 0, 1),
            ("", 0, 0, 0),
        ] {
            assert_eq!(counts_of(line), Counts { passed, failed, skipped }, "{line}");
        }
    }
}
