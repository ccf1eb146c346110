//! The program `posthouse`.

use clap::Parser;
use server::cli::{Cli, ConfigTask, JournalTask, Task};
use server::config::{CommandLine, Config, Problem};
use std::io::Write;
use std::process::ExitCode;

/// Requests are made of many small pieces that one thread allocates and another frees. Measured with 64 connections that
/// send 1 KB with fsync: see docs/performance.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What was asked for can't be done as it was configured; the same as for a command line that makes no sense.
const EXIT_CONFIGURATION: u8 = 2;

fn main() -> ExitCode {
    match Cli::parse().command {
        Task::Serve { config, flags } => match load(flags.with_file(config)) {
            Ok(config) => done(server::serve::run(&config)),
            Err(code) => code,
        },
        Task::Config { task: ConfigTask::Check { file, flags } } => match load(flags.with_file(file)) {
            Ok(config) => {
                // Whoever reads the first lines only may close the pipe.
                let _ = write!(std::io::stdout(), "{config}");
                ExitCode::SUCCESS
            }
            Err(code) => code,
        },
        Task::Journal { task: JournalTask::Dump { file } } => done(server::inspect::dump(&file)),
        Task::Journal { task: JournalTask::Cut { file, byte } } => done(server::inspect::cut(&file, byte)),
        Task::Journal { task: JournalTask::Verify { data } } => done(server::inspect::verify(&data)),
        Task::Backup(backup) => done(server::backup::run(&backup)),
        Task::Version => {
            println!("posthouse {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
    }
}

fn load(command_line: CommandLine) -> Result<Config, ExitCode> {
    Config::load(command_line, std::env::vars_os()).map_err(|problems: Vec<Problem>| {
        for problem in problems {
            eprintln!("posthouse: {problem}");
        }
        ExitCode::from(EXIT_CONFIGURATION)
    })
}

fn done(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("posthouse: {reason}");
            ExitCode::FAILURE
        }
    }
}
