//! The comparison: every server does the same work, round after round, and the medians are set against each other.
//!
//!   round 1:  bare · fsync · os · memory · moto · …      each: start, idle, the workloads below, stop
//!   round 2:  bare · fsync · …
//!
//! Rounds are interleaved so that a machine that gets slower for a while slows all of them; how far the rounds lie
//! apart tells how much to trust the medians. Only ratios within one run mean anything.

use crate::load::{self, Encoder, Mix, Outcome, Pace, Percentiles, Plan, Wire};
use crate::report::{self, Aim, Machine, Measure, Report, TargetReport, Workload, percent};
use crate::target::{self, Name, Places, Running, Target};
use crate::{process, sync};
use std::io;
use std::time::Duration;

/// How the comparison is made.
#[derive(Clone, Debug)]
pub struct Settings {
    pub names: Vec<Name>,
    pub rounds: usize,
    pub warm_up: Duration,
    pub duration: Duration,
    pub connections: usize,
    pub threads: usize,
    pub body_bytes: usize,
    /// Messages in the queue when draining begins.
    pub backlog: u64,
    pub paced_per_second: f64,
    pub polls: usize,
    pub polls_duration: Duration,
}

/// Batches are as large as SQS allows.
const BATCH: usize = 10;
/// Time to fill the queue that is drained.
const FILL_SECONDS_MAX: u64 = 10;
const MEBIBYTE: f64 = 1024.0 * 1024.0;

const fn measure(key: &'static str, heading: &'static str, digits: usize) -> Measure {
    Measure { key, heading, digits }
}

const REQUESTS: Measure = measure("requests_per_second", "requests/s", 0);
const MESSAGES: Measure = measure("messages_per_second", "messages/s", 0);
const SERVER_REQUEST: Measure = measure("server_us_per_request", "server µs/request", 1);
const SERVER_MESSAGE: Measure = measure("server_us_per_message", "server µs/message", 2);
const GENERATOR: Measure = measure("generator_us_per_request", "generator µs/request", 1);
const P50: Measure = measure("p50_ms", "p50 ms", 2);
const P99: Measure = measure("p99_ms", "p99 ms", 2);
const P99_9: Measure = measure("p99_9_ms", "p99.9 ms", 2);
const MAX: Measure = measure("max_ms", "max ms", 1);
/// What else ran on the machine meanwhile. Where it is more than a little, the row says more about that than about the server.
const OTHERS: Measure = measure(report::OTHERS_PERCENT, "others %", 0);
const ERRORS: Measure = measure("errors", "errors", 0);

const BY_MESSAGE: &[Measure] =
    &[MESSAGES, REQUESTS, SERVER_REQUEST, SERVER_MESSAGE, GENERATOR, P50, P99, OTHERS, ERRORS];

/// Every workload, in the order in which it is run and printed.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        key: "start",
        title: "Start, then idle",
        measures: &[measure("first_answer_ms", "first answer ms", 1), measure("idle_mib", "idle MiB", 1)],
        against_bare: false,
    },
    Workload {
        key: "send",
        title: "SendMessage",
        measures: &[REQUESTS, SERVER_REQUEST, GENERATOR, P50, P99, P99_9, OTHERS, ERRORS],
        against_bare: true,
    },
    Workload { key: "send-batch", title: "SendMessageBatch of ten", measures: BY_MESSAGE, against_bare: true },
    Workload {
        key: "drain",
        title: "Drain a backlog in tens",
        measures: &[
            MESSAGES,
            measure("backlog", "backlog", 0),
            REQUESTS,
            SERVER_REQUEST,
            SERVER_MESSAGE,
            P50,
            P99,
            OTHERS,
            ERRORS,
        ],
        against_bare: true,
    },
    Workload { key: "life-cycle", title: "Life cycle in tens", measures: BY_MESSAGE, against_bare: true },
    Workload {
        key: "paced",
        title: "SendMessage, open loop",
        measures: &[P99, P50, P99_9, MAX, REQUESTS, SERVER_REQUEST, OTHERS, ERRORS],
        against_bare: false,
    },
    Workload {
        key: "polls",
        title: "Waiting long polls",
        measures: &[
            measure("cpu_percent", "CPU % of a core", 2),
            measure("polls", "polls", 0),
            measure("ended_early", "ended early", 0),
            measure("resident_mib", "MiB", 0),
        ],
        against_bare: false,
    },
    Workload { key: "peak", title: "Peak memory", measures: &[measure("mib", "MiB", 0)], against_bare: false },
];

/// Runs the whole comparison. Servers that cannot be had are skipped, and the report says why.
pub fn compare(settings: &Settings, places: &Places) -> io::Result<Report> {
    let open_files = process::open_files_max();
    let sync = sync::measure(&places.scratch, 200)?;
    let mut prepared = Vec::new();
    let mut reports = Vec::new();
    for &name in &settings.names {
        let mut report = TargetReport::default();
        match target::prepare(name, places, settings.body_bytes) {
            Ok(target) => {
                report.version = target.version.clone();
                prepared.push((reports.len(), target));
            }
            Err(reason) => {
                eprintln!("skipping {}: {reason}", name.label());
                report.skipped = Some(reason);
            }
        }
        reports.push((name.label(), report));
    }
    for round in 1..=settings.rounds {
        for (index, target) in &prepared {
            let report = &mut reports[*index].1;
            if report.skipped.is_some() {
                continue;
            }
            eprintln!("round {round} of {}: {}", settings.rounds, target.name.label());
            if let Err(error) = measure_target(target, settings, open_files, report) {
                eprintln!("giving up on {}: {error}", target.name.label());
                report.skipped = Some(format!("round {round}: {error}"));
            }
        }
    }
    for (_, report) in &mut reports {
        report.finish();
    }
    let mut report = Report {
        at: report::now_text(),
        machine: Machine::describe(sync),
        settings: describe(settings),
        targets: reports,
        aims: Vec::new(),
    };
    report.aims = aims(&report);
    Ok(report)
}

fn describe(settings: &Settings) -> serde_json::Value {
    serde_json::json!({
        "rounds": settings.rounds,
        "seconds": settings.duration.as_secs_f64(),
        "connections": settings.connections,
        "threads": settings.threads,
        "body_bytes": settings.body_bytes,
        "backlog": settings.backlog,
        "paced_per_second": settings.paced_per_second,
    })
}

/// One server's turn in one round: a fresh process, all workloads.
fn measure_target(target: &Target, settings: &Settings, open_files: u64, report: &mut TargetReport) -> io::Result<()> {
    let server = target.start()?;
    report.note("start", "first_answer_ms", server.first_answer.as_secs_f64() * 1000.0);
    report.note("start", "idle_mib", process::memory(server.pid())?.resident_bytes as f64 / MEBIBYTE);

    let mut turn = Turn { server: &server, settings, report };
    let send = turn.queue("send")?;
    turn.run("send", &send, Mix::Send, 1, Pace::Closed)?;
    turn.delete_queue(&send)?;

    let batches = turn.queue("batches")?;
    turn.run("send-batch", &batches, Mix::Send, BATCH, Pace::Closed)?;
    turn.delete_queue(&batches)?;

    // Not what the batches left: a fast server would then have more to drain than a slow one.
    let backlog = turn.queue("backlog")?;
    turn.fill(&backlog)?;
    turn.run("drain", &backlog, Mix::Drain, BATCH, Pace::Closed)?;
    turn.delete_queue(&backlog)?;

    let life_cycle = turn.queue("life-cycle")?;
    turn.run("life-cycle", &life_cycle, Mix::LifeCycle, BATCH, Pace::Closed)?;
    turn.delete_queue(&life_cycle)?;

    let paced = turn.queue("paced")?;
    turn.run("paced", &paced, Mix::Send, 1, Pace::Open { rounds_per_second: settings.paced_per_second })?;
    turn.delete_queue(&paced)?;

    let peak = process::memory(server.pid())?.resident_bytes_peak;
    report.note("peak", "mib", peak as f64 / MEBIBYTE);
    drop(server);

    // A few files are open besides the connections, on either side.
    let polls_possible = usize::try_from(open_files.saturating_sub(200)).unwrap_or(usize::MAX);
    let polls = settings.polls.min(polls_possible).min(target.name.polls_max());
    if polls > 0 {
        // A fresh one: this is about waiting, and not about what is left to tidy up after the workloads.
        let server = target.start()?;
        Turn { server: &server, settings, report }.polls(polls)?;
    }
    Ok(())
}

/// A running server and what is noted about it.
struct Turn<'a> {
    server: &'a Running,
    settings: &'a Settings,
    report: &'a mut TargetReport,
}

impl Turn<'_> {
    fn encoder(&self) -> Encoder {
        Encoder::new(Wire::Json, &self.server.address.to_string(), "test", "us-east-1")
    }

    /// A new queue's URL.
    fn queue(&self, name: &str) -> io::Result<String> {
        load::create_queue(self.server.address, &self.encoder(), name)
    }

    fn delete_queue(&self, queue_url: &str) -> io::Result<()> {
        load::call_once(self.server.address, &self.encoder().delete_queue(queue_url)).map(|_| ())
    }

    fn run(&mut self, workload: &'static str, queue: &str, mix: Mix, batch: usize, pace: Pace) -> io::Result<()> {
        // What is drained cannot be drained again, so none of it goes into a warm-up.
        let warm_up = if mix == Mix::Drain { Duration::ZERO } else { self.settings.warm_up };
        let outcome = load::run(&Plan { mix, batch, pace, warm_up, ..self.plan(queue) })?;
        self.note(workload, &outcome);
        Ok(())
    }

    /// Sends the backlog that is to be drained.
    fn fill(&mut self, queue: &str) -> io::Result<()> {
        let outcome = load::run(&Plan {
            batch: BATCH,
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(FILL_SECONDS_MAX),
            rounds_max: Some(self.settings.backlog.div_ceil(BATCH as u64)),
            ..self.plan(queue)
        })?;
        self.report.note("drain", "backlog", outcome.tally.sent as f64);
        self.report.note_errors("filling", &outcome.tally.errors);
        Ok(())
    }

    /// A closed loop of single sends, to be varied.
    fn plan(&self, queue: &str) -> Plan {
        Plan {
            address: self.server.address,
            encoder: self.encoder(),
            queue_url: queue.to_owned(),
            mix: Mix::Send,
            pace: Pace::Closed,
            connections: self.settings.connections,
            threads: self.settings.threads,
            batch: 1,
            body_bytes: self.settings.body_bytes,
            warm_up: self.settings.warm_up,
            duration: self.settings.duration,
            rounds_max: None,
            server_pid: Some(self.server.pid()),
        }
    }

    fn note(&mut self, workload: &'static str, outcome: &Outcome) {
        let Percentiles { p50, p99, p99_9, max, .. } = outcome.tally.latencies.percentiles();
        let values = [
            (REQUESTS, outcome.requests_per_second()),
            (MESSAGES, outcome.messages_per_second()),
            (SERVER_REQUEST, outcome.server_cpu_microseconds_per_request().unwrap_or(f64::NAN)),
            (SERVER_MESSAGE, outcome.server_cpu_microseconds_per_message().unwrap_or(f64::NAN)),
            (GENERATOR, outcome.generator_cpu_microseconds_per_request()),
            (P50, p50),
            (P99, p99),
            (P99_9, p99_9),
            (MAX, max),
            (OTHERS, outcome.others_cores() * 100.0),
            (ERRORS, outcome.tally.errors_total() as f64),
        ];
        for (measure, value) in values {
            self.report.note(workload, measure.key, value);
        }
        self.report.note_errors(workload, &outcome.tally.errors);
    }

    fn polls(&mut self, polls: usize) -> io::Result<()> {
        let queue = self.queue("polls")?;
        let duration = self.settings.polls_duration;
        let (address, pid) = (self.server.address, self.server.pid());
        let idle = load::idle_polls(address, &self.encoder(), &queue, polls, duration, pid)?;
        let values = [
            ("cpu_percent", idle.server_cpu.as_secs_f64() / idle.elapsed.as_secs_f64() * 100.0),
            ("polls", idle.polls as f64),
            ("ended_early", idle.ended_early as f64),
            ("resident_mib", idle.memory.resident_bytes as f64 / MEBIBYTE),
        ];
        for (measure, value) in values {
            self.report.note("polls", measure, value);
        }
        Ok(())
    }
}

/// What Posthouse promises on two cores shared with the load generator.
fn aims(report: &Report) -> Vec<Aim> {
    let bare = |workload, measure| report.target("bare")?.median(workload, measure);
    let fsync = |workload, measure| report.target("posthouse fsync")?.median(workload, measure);
    let at_least = |what, wanted: f64, found: Option<f64>, show: fn(f64) -> String| Aim {
        what,
        wanted: format!("≥ {}", show(wanted)),
        found: found.map(show),
        kept: found.map(|found| wanted <= found),
    };
    let at_most = |what, wanted: f64, found: Option<f64>, show: fn(f64) -> String| Aim {
        what,
        wanted: format!("≤ {}", show(wanted)),
        found: found.map(show),
        kept: found.map(|found| found <= wanted),
    };
    let part = fsync("send", REQUESTS.key).zip(bare("send", REQUESTS.key)).map(|(ours, bare)| ours / bare);
    vec![
        at_least("SendMessage with fsync, requests/s against bare", 0.6, part, percent),
        at_most("SendMessage with fsync, server CPU", 20.0, fsync("send", SERVER_REQUEST.key), |found| {
            format!("{found:.1} µs")
        }),
        at_least("life cycles in tens with fsync", 100_000.0, fsync("life-cycle", MESSAGES.key), |found| {
            format!("{found:.0} /s")
        }),
        at_most("start to first answer", 20.0, fsync("start", "first_answer_ms"), |found| format!("{found:.1} ms")),
        at_most("idle memory", 15.0, fsync("start", "idle_mib"), |found| format!("{found:.1} MiB")),
        at_most(
            "CPU of waiting long polls, of a core",
            0.005,
            fsync("polls", "cpu_percent").map(|cpu| cpu / 100.0),
            |found| format!("{:.2} %", found * 100.0),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(send: f64, cpu: f64, life_cycles: f64) -> TargetReport {
        let mut report = TargetReport::default();
        report.note("send", REQUESTS.key, send);
        report.note("send", SERVER_REQUEST.key, cpu);
        report.note("life-cycle", MESSAGES.key, life_cycles);
        report.finish();
        report
    }

    #[test]
    fn aims_are_kept_missed_or_not_measured() {
        let report = Report {
            at: String::new(),
            machine: Machine { processor: String::new(), cores: 2, kernel: String::new(), sync: vec![] },
            settings: serde_json::Value::Null,
            targets: vec![("bare", target(100.0, 5.0, 1.0)), ("posthouse fsync", target(60.0, 20.1, 100_000.0))],
            aims: vec![],
        };
        let kept: Vec<_> = aims(&report).iter().map(|aim| aim.kept).collect();
        assert_eq!(kept, [Some(true), Some(false), Some(true), None, None, None]);
    }

    #[test]
    fn every_workload_and_each_of_its_measures_has_its_own_key() {
        for (index, workload) in WORKLOADS.iter().enumerate() {
            assert!(!workload.measures.is_empty(), "{}", workload.key);
            assert!(WORKLOADS[..index].iter().all(|before| before.key != workload.key), "{}", workload.key);
            for (index, measure) in workload.measures.iter().enumerate() {
                let before = &workload.measures[..index];
                assert!(before.iter().all(|before| before.key != measure.key), "{} {}", workload.key, measure.key);
            }
        }
    }
}
