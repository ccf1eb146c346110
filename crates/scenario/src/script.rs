//! A scenario file: comments, commands, and the lines that each command must print.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a scenario can be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Altitude {
    /// The state machine alone; nothing is written.
    Shard,
    /// Over a journal; after every step the power goes.
    Recovered,
    /// The program, in the AWS JSON protocol.
    Json,
    /// The program, in the Query protocol.
    Query,
}

impl Altitude {
    pub const ALL: [Self; 4] = [Self::Shard, Self::Recovered, Self::Json, Self::Query];

    pub fn name(self) -> &'static str {
        match self {
            Self::Shard => "shard",
            Self::Recovered => "recovered",
            Self::Json => "json",
            Self::Query => "query",
        }
    }
}

/// A command and what it must print.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Counted from 1.
    pub line: usize,
    pub command: String,
    pub expected: Vec<String>,
}

/// A scenario.
///
/// ```text
/// # altitudes: shard recovered       optional, first line: where it is run
/// # rules: in_flight_max=10          optional: settings of the server other than the default
/// # anything else                    the manual
/// ```
#[derive(Clone, Debug)]
pub struct Script {
    pub path: PathBuf,
    pub altitudes: Vec<Altitude>,
    /// Settings by name.
    pub rules: Vec<(String, u32)>,
    pub steps: Vec<Step>,
    lines: Vec<String>,
}

const INDENT: &str = "  ";

impl Script {
    /// All scenarios below a directory, in the order of their names.
    pub fn read_all(dir: &Path) -> Vec<Self> {
        let mut scripts = Vec::new();
        let mut dirs = vec![dir.to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).unwrap_or_else(|error| panic!("cannot list {}: {error}", dir.display())) {
                let path = entry.expect("an entry of a directory").path();
                if path.is_dir() {
                    dirs.push(path);
                } else if path.extension().is_some_and(|extension| extension == "txt") {
                    let text = fs::read_to_string(&path);
                    let text = text.unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
                    scripts.push(Self::parse(path, &text));
                }
            }
        }
        scripts.sort_by(|left, right| left.path.cmp(&right.path));
        scripts
    }

    pub fn parse(path: PathBuf, text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let header = |name: &str| {
            let prefix = format!("# {name}: ");
            lines.iter().find_map(|line| line.strip_prefix(&prefix)).unwrap_or_default().split_whitespace()
        };
        // A reason may follow in parentheses.
        let named: Vec<_> = header("altitudes").take_while(|word| !word.starts_with('(')).collect();
        let unknown = named.iter().find(|name| Altitude::ALL.iter().all(|altitude| altitude.name() != **name));
        assert!(unknown.is_none(), "{}: no altitude is called {unknown:?}", path.display());
        let is_named = |altitude: &Altitude| named.is_empty() || named.contains(&altitude.name());
        let altitudes = Altitude::ALL.into_iter().filter(is_named).collect();
        let rule = |word: &str| {
            let rule = word.split_once('=').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
            rule.unwrap_or_else(|| panic!("{}: {word} is no rule", path.display()))
        };
        let rules = header("rules").map(rule).collect();

        let mut steps: Vec<Step> = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let line_number = index + 1;
            if let Some(printed) = line.strip_prefix(INDENT) {
                let at = || panic!("{}:{line_number}: nothing printed this", path.display());
                steps.last_mut().unwrap_or_else(at).expected.push(printed.to_owned());
            } else if !line.is_empty() && !line.starts_with('#') {
                steps.push(Step { line: line_number, command: line.clone(), expected: Vec::new() });
            }
        }
        Self { path, altitudes, rules, steps, lines }
    }

    /// The file with these lines in place of the printed ones.
    pub fn rewritten(&self, printed: &[Vec<String>]) -> String {
        let mut text = String::new();
        let mut steps = self.steps.iter().zip(printed).peekable();
        for (index, line) in self.lines.iter().enumerate() {
            if line.starts_with(INDENT) {
                continue;
            }
            text.push_str(line);
            text.push('\n');
            if let Some((_, printed)) = steps.next_if(|(step, _)| step.line == index + 1) {
                for line in printed {
                    writeln!(text, "{INDENT}{line}").expect("a string takes everything");
                }
            }
        }
        text
    }

    /// What was printed otherwise than the file says, for people; nothing where all is as it should be.
    pub fn difference(&self, printed: &[Vec<String>]) -> Option<String> {
        let mut text = String::new();
        for (step, printed) in self.steps.iter().zip(printed) {
            if *printed != step.expected {
                writeln!(text, "{}:{}: {}", self.path.display(), step.line, step.command).expect("a string");
                let missing = step.expected.iter().map(|line| ('-', line));
                let extra = printed.iter().map(|line| ('+', line));
                for (sign, line) in missing.chain(extra) {
                    writeln!(text, "  {sign} {line}").expect("a string takes everything");
                }
            }
        }
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# altitudes: shard query (because)\n# rules: in_flight_max=10\n\nsend a\nreceive\n  a receives=1\n";

    #[test]
    fn a_file_is_rewritten_with_what_was_printed() {
        let script = Script::parse("x.txt".into(), TEXT);
        assert_eq!(script.altitudes, [Altitude::Shard, Altitude::Query]);
        assert_eq!(script.rules, [("in_flight_max".to_owned(), 10)]);
        let same = [vec![], vec!["a receives=1".to_owned()]];
        assert_eq!(script.rewritten(&same), TEXT);
        assert_eq!(script.difference(&same), None);

        let other = [vec!["error X".to_owned()], vec![]];
        assert_eq!(
            script.rewritten(&other),
            TEXT.replace("  a receives=1\n", "").replace("send a\n", "send a\n  error X\n")
        );
        let expected = "x.txt:4: send a\n  + error X\nx.txt:5: receive\n  - a receives=1\n";
        assert_eq!(script.difference(&other).as_deref(), Some(expected));
    }
}
