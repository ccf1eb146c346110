//! The log: lines about what the server does, on standard error.

use crate::settings::{LogFormat, LogLevel};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

/// Starts the log of this process.
pub fn start(format: LogFormat, level: LogLevel) {
    // What the HTTP libraries say at lower levels is about their own insides.
    let targets = Targets::new()
        .with_default(level.0)
        .with_target("h2", LevelFilter::WARN.min(level.0))
        .with_target("hyper", LevelFilter::WARN.min(level.0));
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => {
            let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
            lines.with_target(false).with_ansi(is_terminal).boxed()
        }
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    // One that was started before, by a test, stays.
    let _ = tracing_subscriber::registry().with(lines.with_filter(targets)).try_init();
}
