//! Bounds: what memory, time and disk are bounded by, on the real program, each against its aim.
//!
//! ```text
//!   backlog     fill to a tenth ─ kill -9 ─ reopen ─ fill ─ kill -9 ─ reopen ─ drain, deep and shallow in turn ─ purge ─ idle
//!   queues      a hundred thousand of them
//!   writes      short-lived messages · long-lived ones: bytes written per byte sent
//!   snapshot    sends at a fixed rate with a million hot messages: without a snapshot, and with one after the other
//! ```
//!
//! Each part has a process and a data directory of its own. Ratios compare what was measured in turns within one run.

mod backlog;
mod queues;
mod snapshot;
mod writes;

use crate::load::{self, Encoder, Mix, Outcome, Pace, Plan, Wire};
use crate::posthouse::{Posthouse, Serving};
use crate::report::{self, Aim, Machine};
use crate::sync;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    Backlog,
    Queues,
    Writes,
    Snapshot,
}

/// How it is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    pub parts: Vec<Part>,
    /// Messages of the deep backlog.
    pub messages: u64,
    pub body_bytes: usize,
    pub queues: u64,
    /// Hot messages of the snapshot.
    pub hot: u64,
    pub program: PathBuf,
    pub scratch: PathBuf,
}

/// Batches are as large as SQS allows.
const BATCH: usize = 10;
/// Connections that fill, and connections that drain.
const SENDERS: usize = 64;
const RECEIVERS: usize = 16;
/// The server tidies up after so long without a request; with some time to spare.
const IDLE: Duration = Duration::from_secs(20);
const MEGABYTE: f64 = 1e6;

/// What was found.
#[derive(Debug, Serialize)]
pub struct Report {
    pub at: String,
    pub machine: Machine,
    pub settings: serde_json::Value,
    pub figures: BTreeMap<&'static str, f64>,
    pub aims: Vec<Aim>,
}

/// Figures as they come in.
#[derive(Debug, Default)]
pub struct Figures {
    figures: BTreeMap<&'static str, f64>,
    aims: Vec<Aim>,
}

impl Figures {
    /// Keeps a figure, and prints it.
    fn note(&mut self, name: &'static str, value: f64) {
        println!("  {name:<44} {value:>14.2}");
        self.figures.insert(name, value);
    }

    /// Keeps a figure that should be no larger than the aim.
    fn at_most(&mut self, name: &'static str, aim: f64, found: f64) {
        self.note(name, found);
        let (wanted, kept) = (format!("≤ {aim}"), Some(found <= aim));
        self.aims.push(Aim { what: name, wanted, found: Some(format!("{found:.2}")), kept });
    }

    /// Keeps a figure that should be no smaller than the aim.
    fn at_least(&mut self, name: &'static str, aim: f64, found: f64) {
        self.note(name, found);
        let (wanted, kept) = (format!("≥ {aim}"), Some(aim <= found));
        self.aims.push(Aim { what: name, wanted, found: Some(format!("{found:.2}")), kept });
    }
}

/// Measures everything that was asked for.
pub fn run(settings: &Settings) -> io::Result<Report> {
    std::fs::create_dir_all(&settings.scratch)?;
    let machine = Machine::describe(sync::measure(&settings.scratch, 200)?);
    let mut figures = Figures::default();
    for part in &settings.parts {
        println!("{part:?}");
        let measured = match part {
            Part::Backlog => backlog::measure(settings, &mut figures),
            Part::Queues => queues::measure(settings, &mut figures),
            Part::Writes => writes::measure(settings, &mut figures),
            Part::Snapshot => snapshot::measure(settings, &mut figures),
        };
        // However it ended, its data would only be in the way of what comes next.
        let _ = std::fs::remove_dir_all(settings.scratch.join(DATA));
        measured?;
    }
    Ok(Report {
        at: report::now_text(),
        machine,
        settings: serde_json::json!({
            "messages": settings.messages,
            "body_bytes": settings.body_bytes,
            "queues": settings.queues,
            "hot": settings.hot,
        }),
        figures: figures.figures,
        aims: figures.aims,
    })
}

const DATA: &str = "bounds-data";

impl Settings {
    /// The program on an empty data directory.
    fn posthouse(&self, options: &[&str]) -> Posthouse {
        let data = self.scratch.join(DATA);
        let _ = std::fs::remove_dir_all(&data);
        let options = options.iter().map(|&option| option.to_owned()).collect();
        Posthouse { program: self.program.clone(), data, log: self.scratch.join("bounds.log"), options }
    }

    /// Sends so many messages in batches, as fast as they are taken.
    fn fill(&self, server: &Serving, queue: &str, messages: u64) -> io::Result<Outcome> {
        let rounds_max = Some(messages.div_ceil(BATCH as u64));
        without_errors(load::run(&Plan { rounds_max, ..self.plan(server, queue, Mix::Send, SENDERS)? })?)
    }

    /// Receives and deletes until the queue is empty, or so many batches have been received.
    fn drain(&self, server: &Serving, queue: &str, rounds_max: Option<u64>) -> io::Result<Outcome> {
        without_errors(load::run(&Plan { rounds_max, ..self.plan(server, queue, Mix::Drain, RECEIVERS)? })?)
    }

    /// Work on a queue, which is made if need be, without an end.
    fn plan(&self, server: &Serving, queue: &str, mix: Mix, connections: usize) -> io::Result<Plan> {
        let encoder = encoder(server);
        Ok(Plan {
            address: server.address,
            queue_url: load::create_queue(server.address, &encoder, queue)?,
            encoder,
            mix,
            pace: Pace::Closed,
            connections,
            threads: 1,
            batch: BATCH,
            body_bytes: self.body_bytes,
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(24 * 3600),
            rounds_max: None,
            server_pid: Some(server.pid()),
        })
    }
}

fn encoder(server: &Serving) -> Encoder {
    Encoder::new(Wire::Json, &server.address.to_string(), "test", "us-east-1")
}

/// Messages that were refused would make every figure wrong.
fn without_errors(outcome: Outcome) -> io::Result<Outcome> {
    match outcome.tally.errors_total() {
        0 => Ok(outcome),
        _ => Err(io::Error::other(format!("requests failed: {:?}", outcome.tally.errors))),
    }
}

impl Report {
    /// The aims as a table.
    pub fn table(&self) -> String {
        let mut out = String::from("\nAims\n");
        for Aim { what, wanted, found, kept } in &self.aims {
            let verdict = if *kept == Some(true) { "kept" } else { "MISSED" };
            let found = found.as_deref().unwrap_or("not measured");
            let _ = writeln!(out, "  {verdict:<7} {what:<46} wanted {wanted:<10} found {found}");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_is_kept_up_to_its_very_bound() {
        let mut figures = Figures::default();
        figures.at_most("a", 2.0, 2.0);
        figures.at_most("b", 2.0, 2.1);
        figures.at_least("c", 2.0, 2.0);
        figures.at_least("d", 2.0, 1.9);
        let kept: Vec<_> = figures.aims.iter().map(|aim| aim.kept).collect();
        assert_eq!(kept, [Some(true), Some(false), Some(true), Some(false)]);
        assert_eq!(figures.figures["d"], 1.9);
    }
}
