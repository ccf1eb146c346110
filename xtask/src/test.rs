//! All tests, cheap ones first, and one line at the end that says how many passed.

use crate::count::Counts;
use crate::install::{install_node, install_python, python};
use crate::run::{Outcome, run_counting, run_quietly};
use crate::{cargo, root, target};
use clap::ValueEnum;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// A part of the tests, in the order of running.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Step {
    /// Formatting
    Fmt,
    /// Lints, warnings are errors
    Clippy,
    /// Tests of all crates, scenarios and crash tests included
    Unit,
    /// Our API against botocore's model of it
    Model,
    /// boto3 in both wire protocols, HTTP, the process
    Python,
    /// The AWS CLI
    Cli,
    /// The AWS SDK for JavaScript
    Js,
    /// The AWS SDK for Rust, and quotas in full
    RustSdk,
    /// Hundreds of bad requests
    BadInput,
    /// kill -9 under load
    Kill,
    /// Backup, verification and restore
    Backup,
    /// Power cuts on a real file system; skipped where there are no loop devices
    PowerCut,
}

impl Step {
    fn needs_python(self) -> bool {
        matches!(self, Self::Model | Self::Python | Self::Cli | Self::BadInput)
    }

    fn needs_node(self) -> bool {
        self == Self::Js
    }

    /// Whether it talks to the real binary.
    fn needs_server(self) -> bool {
        !matches!(self, Self::Fmt | Self::Clippy | Self::Unit | Self::Model)
    }

    fn name(self) -> String {
        self.to_possible_value().expect("no step is hidden").get_name().to_owned()
    }

    fn run(self) -> Outcome {
        match self {
            Self::Fmt => as_one_test(&mut cargo(&["fmt", "--all", "--check"])),
            Self::Clippy => as_one_test(&mut cargo(&[
                "clippy",
                "--release",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ])),
            Self::Unit => run_counting(&mut cargo(&["test", "--release", "--workspace", "--exclude", "conformance"])),
            Self::Model => model(),
            Self::Python => pytest(&["sqs", "transport"]),
            Self::Cli => pytest(&["cli"]),
            Self::Js => {
                run_counting(with_binary(Command::new("node").args(["--test", "--test-reporter=tap"]).arg(js_tests())))
            }
            Self::RustSdk => conformance(&["sdk::", "quota::"]),
            Self::BadInput => pytest(&["bad_input"]),
            Self::Kill => conformance(&["kill::"]),
            Self::Backup => conformance(&["backup::"]),
            Self::PowerCut => conformance(&["power_cut::"]),
        }
    }
}

/// Runs the steps, or all of them where none is named; true when everything passed.
///
/// The last line of stdout is `N passed, M failed`.
pub fn run(only: &[Step]) -> bool {
    let started = Instant::now();
    let steps: Vec<Step> =
        Step::value_variants().iter().copied().filter(|step| only.is_empty() || only.contains(step)).collect();
    let mut report: Vec<(String, Counts, Duration)> = Vec::new();
    let mut total = Counts::default();

    if let Err(reason) = prepare(&steps) {
        println!("{reason}");
        total.failed += 1;
    } else {
        for (index, step) in steps.iter().enumerate() {
            println!(
                "\n=== {} of {}: {} ({} s so far)",
                index + 1,
                steps.len(),
                step.name(),
                started.elapsed().as_secs()
            );
            let step_started = Instant::now();
            let Outcome { succeeded, mut counts } = step.run();
            // A runner that broke before it could count, or that found no test, has failed too.
            if (!succeeded && counts.failed == 0) || counts == Counts::default() {
                counts.failed += 1;
            }
            total += counts;
            report.push((step.name(), counts, step_started.elapsed()));
        }
    }

    println!("\n{:<10} {:>7} {:>7} {:>7} {:>8}", "step", "passed", "failed", "skipped", "seconds");
    for (name, Counts { passed, failed, skipped }, duration) in &report {
        println!("{name:<10} {passed:>7} {failed:>7} {skipped:>7} {:>8.1}", duration.as_secs_f64());
    }
    println!("{:.0} s in all\n", started.elapsed().as_secs_f64());
    println!("{} passed, {} failed", total.passed, total.failed);
    total.failed == 0
}

/// Installs and builds what the steps need.
///
/// Errors: a sentence that says what failed and what to do.
fn prepare(steps: &[Step]) -> Result<(), String> {
    if steps.iter().any(|step| step.needs_python()) {
        install_python()?;
    }
    if steps.iter().any(|step| step.needs_node()) {
        install_node()?;
    }
    if steps.iter().any(|step| step.needs_server()) {
        println!("building the server");
        run_quietly(&mut cargo(&["build", "--release", "-p", "server"]))?;
    }
    Ok(())
}

/// A command that is one test: it passes when it succeeds.
fn as_one_test(command: &mut Command) -> Outcome {
    let Outcome { succeeded, .. } = run_counting(command);
    Outcome { succeeded, counts: Counts { passed: succeeded.into(), failed: (!succeeded).into(), skipped: 0 } }
}

/// Writes down the members of all our requests and replies, and compares them with botocore's model.
fn model() -> Outcome {
    let members = target().join("members.json");
    let output = cargo(&["run", "--release", "-p", "wire", "--example", "members"]).output();
    let written = match output {
        Ok(output) if output.status.success() => fs::write(&members, output.stdout),
        Ok(output) => {
            println!("{}", String::from_utf8_lossy(&output.stderr));
            return Outcome { succeeded: false, counts: Counts::default() };
        }
        Err(error) => Err(error),
    };
    if let Err(error) = written {
        println!("cannot write {}: {error}", members.display());
        return Outcome { succeeded: false, counts: Counts::default() };
    }
    as_one_test(Command::new(python()).arg(root().join("conformance/model_check.py")).arg(members))
}

fn pytest(folders: &[&str]) -> Outcome {
    let mut command = Command::new(python());
    command.args(["-m", "pytest", "-q", "--tb=short"]).args(folders).current_dir(root().join("conformance"));
    run_counting(with_binary(&mut command))
}

fn conformance(filters: &[&str]) -> Outcome {
    let mut arguments = vec!["test", "--release", "-p", "conformance", "--", "--nocapture"];
    arguments.extend(filters);
    let mut outcome = run_counting(with_binary(&mut cargo(&arguments)));
    // Rust's runner takes those that were skipped for passed.
    outcome.counts.passed = outcome.counts.passed.saturating_sub(outcome.counts.skipped);
    outcome
}

fn js_tests() -> std::path::PathBuf {
    root().join("conformance/js/sqs.test.mjs")
}

/// Tells the suites which binary to test and where their tools are.
fn with_binary(command: &mut Command) -> &mut Command {
    command.env("CONFORMANCE_BIN", target().join("release/posthouse")).env("CARGO_TARGET_DIR", target())
}
