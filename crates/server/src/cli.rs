//! The command line.

use crate::config::CommandLine;
use crate::settings::{ALL, Setting};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Parser, Subcommand};
use std::path::PathBuf;

/// A self-hosted message service that speaks the Amazon SQS API.
#[derive(Parser, Debug)]
#[command(name = "posthouse", version, about, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Task,
}

const EXAMPLES: &str = "\
Examples:
  posthouse serve
      A durable server on http://127.0.0.1:4566, with its data in ./posthouse-data
  AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test aws --region us-east-1 \\
      --endpoint-url http://127.0.0.1:4566 sqs create-queue --queue-name orders
      The first queue
  posthouse serve --listen 127.0.0.1:0 --durability memory --test-clock
      For a test suite: a free port, nothing on disk, time can be moved
  posthouse config check posthouse.toml
      The settings that a file gives, and where each comes from";

const SERVE_EXAMPLES: &str = "\
Examples:
  posthouse serve --data /var/lib/posthouse
  posthouse serve --config posthouse.toml --log-format json
  posthouse serve --listen 0.0.0.0:4566 --insecure-no-auth --public-url http://queues.example:4566

Every option is also an environment variable and a setting of the file: --public-url, POSTHOUSE_PUBLIC_URL, public_url.";

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Task {
    /// Run the server.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve {
        /// Read settings from this TOML file [env: POSTHOUSE_CONFIG]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        #[command(flatten)]
        flags: SettingFlags,
    },
    /// Look at the configuration.
    Config {
        #[command(subcommand)]
        task: ConfigTask,
    },
    /// Look at data files, or give up what is damaged in them.
    Journal {
        #[command(subcommand)]
        task: JournalTask,
    },
    /// Copy the data, consistent as of one moment. A server that is started on the copy goes on from there.
    #[command(after_help = BACKUP_EXAMPLES)]
    Backup(Backup),
    /// Print the version.
    Version,
}

const BACKUP_EXAMPLES: &str = "\
Examples:
  posthouse backup --url http://127.0.0.1:4566 /backups/monday
      Ask a running server of this machine, which goes on meanwhile
  posthouse backup --data /var/lib/posthouse /backups/monday
      Copy the data of a server that doesn't run
  posthouse journal verify /backups/monday
  posthouse serve --data /backups/monday
      Check a copy; start on it";

#[derive(Args, Debug)]
#[group(skip)]
pub struct Backup {
    /// The copy: a directory that isn't there yet
    pub to: PathBuf,
    #[command(flatten)]
    pub from: BackupSource,
}

/// Where the data is.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct BackupSource {
    /// A server of this machine that is running; it writes the copy
    #[arg(long)]
    pub url: Option<String>,
    /// A data directory on which no server runs
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub enum ConfigTask {
    /// Print the settings in effect and where each comes from; fail if anything is wrong.
    Check {
        /// The TOML file [env: POSTHOUSE_CONFIG]
        file: Option<PathBuf>,
        #[command(flatten)]
        flags: SettingFlags,
    },
}

#[derive(Subcommand, Debug)]
pub enum JournalTask {
    /// Print what a segment, a snapshot or a page holds. Changes nothing.
    #[command(after_help = "Example:\n  posthouse journal dump posthouse-data/journal/00000000000000004096.log")]
    Dump { file: PathBuf },
    /// Check a whole data directory and name what is wrong. Changes nothing.
    ///
    /// Reads every record, block and message, and rebuilds the state. The server must not be running. Exit code 0: all is
    /// sound; 1: it is not.
    #[command(after_help = "Example:\n  posthouse journal verify posthouse-data")]
    Verify { data: PathBuf },
    /// Give up the record at a byte of a damaged segment, and everything that was written after it.
    ///
    /// Make a copy of the data directory first. The server must not be running.
    #[command(after_help = "Example:\n  posthouse journal cut posthouse-data/journal/00000000000000004096.log 81920")]
    Cut { file: PathBuf, byte: u64 },
}

/// One option per setting.
#[derive(Clone, Default, Debug)]
pub struct SettingFlags(pub Vec<(&'static Setting, String)>);

impl SettingFlags {
    pub fn with_file(self, file: Option<PathBuf>) -> CommandLine {
        CommandLine { file, flags: self.0 }
    }
}

impl Args for SettingFlags {
    fn augment_args(mut command: Command) -> Command {
        for setting in ALL {
            let mut about = setting.about.trim().to_owned();
            if !setting.default.is_empty() && !setting.is_switch() {
                about += &format!(" [default: {}]", setting.default);
            }
            // clap keeps names for as long as the program runs.
            let mut arg = Arg::new(setting.key).long(&*setting.flag().leak()).value_name(setting.form).help(about);
            if setting.is_switch() {
                arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
            }
            command = command.arg(arg.action(ArgAction::Set).hide_possible_values(true));
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |setting: &'static Setting| Some((setting, matches.get_one::<String>(setting.key)?.clone()));
        Ok(Self(ALL.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FILE_VARIABLE;
    use clap::CommandFactory;

    fn flags(arguments: &str) -> Vec<(&'static str, String)> {
        let arguments = ["posthouse", "serve"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(arguments).expect("a command line").command {
            Task::Serve { flags, .. } => flags.0.into_iter().map(|(setting, text)| (setting.key, text)).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
        assert_eq!(FILE_VARIABLE, "POSTHOUSE_CONFIG", "the help says so");
    }

    #[test]
    fn flags_are_the_settings_with_dashes() {
        assert_eq!(flags(""), []);
        assert_eq!(flags("--listen 127.0.0.1:0"), [("listen", "127.0.0.1:0".into())]);
        assert_eq!(flags("--test-clock"), [("test_clock", "true".into())]);
        assert_eq!(flags("--test-clock=false"), [("test_clock", "false".into())]);
        assert_eq!(flags("--body-bytes-max=1MiB"), [("body_bytes_max", "1MiB".into())]);
    }
}
