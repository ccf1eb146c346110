//! The project's chores: `cargo xtask test`, `cargo xtask check`, `cargo xtask bench`.

mod count;
mod install;
mod run;
mod test;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Install what the tests need and run all of them, cheap ones first
    Test {
        /// Run only these steps; may be given several times
        #[arg(long, value_enum)]
        only: Vec<test::Step>,
    },
    /// Formatting and lints only
    Check,
    /// Measure against a bare HTTP server and against peers from the package registries; `bench bounds` measures what
    /// memory, time and disk are bounded by
    Bench {
        /// Passed on to `posthouse-bench compare`, or where it begins with `bounds` to that
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run the engine on a simulated machine that misbehaves, many times over; `sim --seeds 10000`, `sim --seed 7 --trace`
    Sim {
        /// Passed on to the simulator
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Do everything at once, with restarts and a full disk, and count what was lost or delivered twice
    Soak {
        /// Passed on to `posthouse-bench soak`, such as `--minutes 60`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let passed = match Arguments::parse().chore {
        Chore::Test { only } => test::run(&only),
        Chore::Check => test::run(&[test::Step::Fmt, test::Step::Clippy]),
        Chore::Bench { arguments } if arguments.first().is_some_and(|first| first == "bounds") => bench(&arguments),
        Chore::Bench { arguments } => bench(&[vec!["compare".to_owned()], arguments].concat()),
        Chore::Sim { arguments } => {
            succeeds(cargo(&[&["run", "--release", "-p", "sim", "--"], &*as_strs(&arguments)].concat()))
        }
        Chore::Soak { arguments } => bench(&[vec!["soak".to_owned()], arguments].concat()),
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Builds the server, then the program that measures it, and runs that.
fn bench(arguments: &[String]) -> bool {
    let build = cargo(&["build", "--release", "-p", "server"]);
    let run = [&["run", "--release", "-p", "bench", "--"], &*as_strs(arguments)].concat();
    [build, cargo(&run)].into_iter().all(succeeds)
}

fn succeeds(mut command: Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

fn as_strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The top of the source tree.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("xtask runs where it was built")
}

/// Where cargo builds, and where the tests' own tools are installed.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The cargo that runs us, at the top of the source tree.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}
