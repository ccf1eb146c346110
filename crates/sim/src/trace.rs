//! What happened in a run: a hash of all of it, the lines on request, and which things occurred at all.

use std::collections::BTreeMap;
use std::fmt;

/// How often each thing occurred.
pub type Reach = BTreeMap<String, u64>;

pub struct Trace {
    hash: u64,
    lines: Option<Vec<String>>,
    pub reach: Reach,
}

impl Trace {
    pub fn new(keeps_lines: bool) -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, lines: keeps_lines.then(Vec::new), reach: Reach::new() }
    }

    pub fn line(&mut self, line: fmt::Arguments<'_>) {
        if let Some(lines) = &mut self.lines {
            lines.push(line.to_string());
        }
        let _ = fmt::write(&mut Hasher(&mut self.hash), line);
    }

    pub fn reached(&mut self, what: &str) {
        match self.reach.get_mut(what) {
            Some(count) => *count += 1,
            None => drop(self.reach.insert(what.to_owned(), 1)),
        }
    }

    pub fn into_parts(self) -> (u64, Vec<String>, Reach) {
        (self.hash, self.lines.unwrap_or_default(), self.reach)
    }
}

/// FNV-1a.
struct Hasher<'a>(&'a mut u64);

impl fmt::Write for Hasher<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            *self.0 = (*self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        Ok(())
    }
}
