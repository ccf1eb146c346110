//! Where the value of each setting comes from.
//!
//! ```text
//!   command line  ▶  environment  ▶  file  ▶  default          the first that has one decides
//! ```

mod file;

use crate::settings::{ALL, Setting, Settings};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

pub use file::DeclaredQueue;

/// The environment variable that names the file.
pub const FILE_VARIABLE: &str = "POSTHOUSE_CONFIG";

/// Everything that was configured.
#[derive(Clone, Debug)]
pub struct Config {
    pub settings: Settings,
    /// In the order of the file.
    pub queues: Vec<DeclaredQueue>,
    given: Given,
}

/// What is wrong with a configuration, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem(String);

impl Problem {
    pub fn new(source: &Source, sentence: impl fmt::Display) -> Self {
        Self(format!("{source}: {sentence}"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who gave a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// `--public-url`
    Flag(String),
    /// `POSTHOUSE_PUBLIC_URL`
    Variable(String),
    File {
        path: PathBuf,
        /// From 1; 0 for the file as a whole.
        line: usize,
    },
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => f.write_str(name),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::File { path, line: 0 } => write!(f, "{}", path.display()),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value as text, and who gave it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    pub text: String,
    pub source: Source,
}

/// The values that were given, by key. What isn't here has its default.
#[derive(Clone, Default, Debug)]
pub struct Given(BTreeMap<&'static str, Origin>);

impl Given {
    /// Adds a value, unless one was added before: the strongest source comes first.
    fn add(&mut self, setting: &'static Setting, text: String, source: Source) {
        self.0.entry(setting.key).or_insert(Origin { text, source });
    }

    /// The text of a setting and who gave it.
    pub fn origin(&self, key: &str) -> Origin {
        let default = || {
            let setting = Settings::by_key(key).expect("settings are read by their own keys");
            Origin { text: setting.default.into(), source: Source::Default }
        };
        self.0.get(key).cloned().unwrap_or_else(default)
    }
}

/// What was said on the command line.
#[derive(Clone, Default, Debug)]
pub struct CommandLine {
    /// `--config`
    pub file: Option<PathBuf>,
    pub flags: Vec<(&'static Setting, String)>,
}

impl Config {
    /// Brings command line, environment and file together.
    ///
    /// Errors: everything that is wrong with any of them, not only the first.
    pub fn load(
        command_line: CommandLine,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, Vec<Problem>> {
        let mut given = Given::default();
        let mut problems = Vec::new();
        for (setting, text) in command_line.flags {
            given.add(setting, text, Source::Flag(format!("--{}", setting.flag())));
        }
        let named_in_environment = read_environment(environment, &mut given, &mut problems);
        let mut queues = Vec::new();
        if let Some(path) = command_line.file.or(named_in_environment) {
            // Only here does the program read a file that is not its own data.
            match std::fs::read_to_string(&path) {
                Ok(text) => queues = file::read(&path, &text, &mut given, &mut problems),
                Err(error) => {
                    let source = Source::File { path, line: 0 };
                    problems.push(Problem::new(&source, format!("cannot read the configuration: {error}")));
                }
            }
        }
        match Settings::read(&given) {
            Ok(settings) if problems.is_empty() => Ok(Self { settings, queues, given }),
            Ok(_) => Err(problems),
            Err(more) => {
                problems.extend(more);
                Err(problems)
            }
        }
    }
}

/// The settings in effect, as a file that would give them, each with where it came from.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for setting in ALL {
            let Origin { text, source } = self.given.origin(setting.key);
            if text.is_empty() {
                writeln!(f, "# {} is not set", setting.key)?;
                continue;
            }
            // An account's number begins with zeros, and has to stay text.
            let is_bare = setting.is_switch() || (setting.form != "TWELVE DIGITS" && text.parse::<u64>().is_ok());
            let value = if is_bare { text } else { format!("{text:?}") };
            writeln!(f, "{:<60} # {source}", format!("{} = {value}", setting.key))?;
        }
        self.queues.iter().try_for_each(|queue| write!(f, "\n{queue}"))
    }
}

/// Takes what is ours. Returns the name of the file, where the environment has one.
fn read_environment(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    given: &mut Given,
    problems: &mut Vec<Problem>,
) -> Option<PathBuf> {
    let mut file = None;
    let mut ours: Vec<(String, OsString)> = environment
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with(Setting::VARIABLE_PREFIX) && !is_made_by_kubernetes(name))
        .collect();
    ours.sort();
    for (name, value) in ours {
        let source = Source::Variable(name.clone());
        if name == FILE_VARIABLE {
            file = Some(PathBuf::from(value));
            continue;
        }
        let Some(setting) = ALL.iter().find(|setting| setting.variable() == name) else {
            let names = ALL.iter().map(Setting::variable).chain([FILE_VARIABLE.to_owned()]);
            problems.push(Problem::new(&source, format!("no such setting{}", did_you_mean(&name, names))));
            continue;
        };
        match value.to_str() {
            Some(text) => given.add(setting, text.into(), source),
            None => problems.push(Problem::new(&source, format!("{:?} is not UTF-8", OsStr::new(&value)))),
        }
    }
    file
}

/// Kubernetes tells every container of a namespace about a service called `posthouse` in variables of these names.
///
/// Source: Kubernetes documentation, Service, Environment variables.
fn is_made_by_kubernetes(name: &str) -> bool {
    ["POSTHOUSE_SERVICE_", "POSTHOUSE_PORT_"].iter().any(|prefix| name.starts_with(prefix)) || name == "POSTHOUSE_PORT"
}

/// A hint for whoever mistyped a name; empty if none is near.
fn did_you_mean(name: &str, names: impl IntoIterator<Item = String>) -> String {
    let nearest = names
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, &candidate), candidate))
        .max_by(|(left, _), (right, _)| left.total_cmp(right));
    match nearest {
        Some((likeness, candidate)) if likeness > 0.5 => format!("; did you mean `{candidate}`?"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
