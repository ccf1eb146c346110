//! Running a command, showing what it says, and counting the tests it reports.

use crate::count::{Counts, counts_of};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// How a command ended.
pub struct Outcome {
    pub succeeded: bool,
    /// What its test runners reported; nothing for a command that runs no tests.
    pub counts: Counts,
}

/// Runs a command to its end. Its output is shown as it comes.
pub fn run_counting(command: &mut Command) -> Outcome {
    let mut child = match command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            println!("cannot run {}: {error}", command_name(command));
            return Outcome { succeeded: false, counts: Counts::default() };
        }
    };
    let mut counts = Counts::default();
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = Vec::new();
    // In bytes, for a test may print what is no UTF-8.
    while output.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        // A closed terminal is no reason to stop testing.
        let _ = std::io::stdout().write_all(&line);
        counts += counts_of(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Outcome { succeeded: child.wait().is_ok_and(|status| status.success()), counts }
}

/// Runs a command of which only the success matters; what it said is shown when it fails.
pub fn run_quietly(command: &mut Command) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "{} failed:\n{}{}",
            command_name(command),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => Err(format!("cannot run {}: {error}", command_name(command))),
    }
}

fn command_name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
