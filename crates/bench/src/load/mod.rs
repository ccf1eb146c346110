//! The load generator.
//!
//!   Plan ──▶ threads ──▶ connections, each:   wait for its turn ─▶ a round of requests ─▶ tally ─┐
//!                                                   ▲                                            │
//!                                                   └────────────────────────────────────────────┘
//!
//! In a **closed loop** a connection's next turn is at once: throughput follows from how fast the server answers. In an
//! **open loop** turns come at a fixed rate, whoever is free takes the next, and latency counts from the moment the
//! turn was due, so that a server that stalls is charged for all who would have come meanwhile.
//!
//! It shares the machine with the server that it measures, so it spends as little as it can: one thread by default,
//! requests encoded beforehand, replies searched rather than parsed. A SendMessage of 1 KB costs it two system calls and
//! 5.5 µs of CPU time, against 9.6 µs with hyper's client on the same machine.

mod connection;
mod polls;
mod reply;
mod request;
mod tally;
mod timer;
mod worker;

pub use connection::{CallError, Connection, call_once};
pub use polls::idle_polls;
pub use request::{Encoder, Wire};
pub use tally::{Latencies, Percentiles, Tally};

use crate::process;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What one round of a connection consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mix {
    /// Send a message, or a batch of them.
    Send,
    /// Send, then receive, then delete what was received. Connections share the queue.
    LifeCycle,
    /// Receive and delete until the queue is empty.
    Drain,
}

/// When the rounds happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Back to back on every connection.
    Closed,
    /// At a fixed rate over all connections.
    Open { rounds_per_second: f64 },
}

/// One run against one queue of one server.
#[derive(Clone, Debug)]
pub struct Plan {
    pub address: SocketAddr,
    pub encoder: Encoder,
    pub queue_url: String,
    pub mix: Mix,
    pub pace: Pace,
    pub connections: usize,
    pub threads: usize,
    /// Messages per request, 1 to 10.
    pub batch: usize,
    pub body_bytes: usize,
    /// Not counted.
    pub warm_up: Duration,
    /// Counted; draining ends sooner when the queue is empty.
    pub duration: Duration,
    /// Ends the run after so many rounds if that comes first. The warm-up's rounds count.
    pub rounds_max: Option<u64>,
    /// Whose CPU time to measure.
    pub server_pid: Option<u32>,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub mix: Mix,
    pub tally: Tally,
    pub elapsed: Duration,
    /// CPU time that the server and we used meanwhile.
    pub server_cpu: Option<Duration>,
    pub generator_cpu: Duration,
    /// CPU time that the machine used beyond that: how far others disturbed the run.
    pub others_cpu: Duration,
}

impl Outcome {
    pub fn requests_per_second(&self) -> f64 {
        self.tally.requests as f64 / self.elapsed.as_secs_f64()
    }

    /// Messages that reached the end of the mix: sent where nothing is deleted, else deleted.
    pub fn messages(&self) -> u64 {
        if self.mix == Mix::Send { self.tally.sent } else { self.tally.deleted }
    }

    pub fn messages_per_second(&self) -> f64 {
        self.messages() as f64 / self.elapsed.as_secs_f64()
    }

    pub fn generator_cpu_microseconds_per_request(&self) -> f64 {
        self.generator_cpu.as_secs_f64() * 1e6 / self.tally.requests as f64
    }

    /// In parts of one core.
    pub fn others_cores(&self) -> f64 {
        self.others_cpu.as_secs_f64() / self.elapsed.as_secs_f64()
    }

    pub fn server_cpu_microseconds_per_request(&self) -> Option<f64> {
        self.server_cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / self.tally.requests as f64)
    }

    pub fn server_cpu_microseconds_per_message(&self) -> Option<f64> {
        self.server_cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / self.messages() as f64)
    }
}

/// Hands out turns, to all threads alike.
#[derive(Debug)]
struct Turns {
    taken: AtomicU64,
    start: Instant,
    measured_from: Instant,
    end: Instant,
    pace: Pace,
    rounds_max: u64,
}

/// One round to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Turn {
    /// When it is due. None: at once.
    due: Option<Instant>,
}

impl Turns {
    /// The next turn, or none once the run is over.
    fn next(&self, now: Instant) -> Option<Turn> {
        if self.pace == Pace::Closed && self.rounds_max == u64::MAX {
            return (now < self.end).then_some(Turn { due: None });
        }
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        if self.rounds_max <= taken {
            return None;
        }
        match self.pace {
            Pace::Closed => (now < self.end).then_some(Turn { due: None }),
            Pace::Open { rounds_per_second } => {
                let due = self.start + Duration::from_secs_f64(taken as f64 / rounds_per_second);
                // A server that cannot keep up must not hold us for ever: turns still due at the end are dropped.
                (due < self.end && now < self.end).then_some(Turn { due: Some(due) })
            }
        }
    }

    fn is_measured(&self, completed: Instant) -> bool {
        self.measured_from <= completed && completed <= self.end
    }
}

/// Carries out a plan. Blocks for as long as it takes.
///
/// Errors: only what keeps the generator itself from working. What the server does wrong is in the tally.
pub fn run(plan: &Plan) -> io::Result<Outcome> {
    let start = Instant::now();
    let turns = Arc::new(Turns {
        taken: AtomicU64::new(0),
        start,
        measured_from: start + plan.warm_up,
        end: start + plan.warm_up + plan.duration,
        pace: plan.pace,
        rounds_max: plan.rounds_max.unwrap_or(u64::MAX),
    });
    let threads: Vec<_> = (0..plan.threads)
        .map(|thread| {
            let (plan, turns) = (plan.clone(), turns.clone());
            let connections = plan.connections / plan.threads + usize::from(thread < plan.connections % plan.threads);
            std::thread::spawn(move || worker::run_thread(plan, turns, connections))
        })
        .collect();

    std::thread::sleep(plan.warm_up);
    let cpu_before = cpu_times(plan.server_pid)?;
    // Nobody ends sooner in a plain closed loop, so the CPU time is read when the counting ends, not when the last
    // reply has come.
    let ends_by_the_clock = plan.rounds_max.is_none() && plan.mix != Mix::Drain;
    if ends_by_the_clock {
        std::thread::sleep(turns.end.saturating_duration_since(Instant::now()));
    }
    let cpu_after_clock = cpu_times(plan.server_pid)?;

    let mut tally = Tally::default();
    let mut last_reply = turns.measured_from;
    for thread in threads {
        let (counted, completed) = thread.join().expect("load threads don't panic")?;
        tally.add(&counted);
        last_reply = last_reply.max(completed);
    }
    let (end, cpu_after) = match ends_by_the_clock {
        true => (turns.end, cpu_after_clock),
        false => (last_reply.min(turns.end), cpu_times(plan.server_pid)?),
    };
    let server_cpu = cpu_after.server.zip(cpu_before.server).map(|(after, before)| after.saturating_sub(before));
    let generator_cpu = cpu_after.generator.saturating_sub(cpu_before.generator);
    let machine_cpu = cpu_after.machine.saturating_sub(cpu_before.machine);
    Ok(Outcome {
        mix: plan.mix,
        tally,
        elapsed: end.saturating_duration_since(turns.measured_from),
        server_cpu,
        generator_cpu,
        others_cpu: machine_cpu.saturating_sub(generator_cpu + server_cpu.unwrap_or_default()),
    })
}

/// Makes a queue, or finds it, and returns its URL.
pub fn create_queue(address: SocketAddr, encoder: &Encoder, name: &str) -> io::Result<String> {
    let reply = call_once(address, &encoder.create_queue(name))?;
    let url = request::values(&reply, "QueueUrl").next();
    let url = url.ok_or_else(|| io::Error::other(format!("no QueueUrl in {}", String::from_utf8_lossy(&reply))))?;
    Ok(String::from_utf8_lossy(url).into_owned())
}

/// CPU time used so far.
struct CpuTimes {
    server: Option<Duration>,
    generator: Duration,
    machine: Duration,
}

fn cpu_times(server_pid: Option<u32>) -> io::Result<CpuTimes> {
    Ok(CpuTimes {
        server: server_pid.map(process::cpu_time).transpose()?,
        generator: process::cpu_time(std::process::id())?,
        machine: process::machine_cpu_time()?,
    })
}

#[cfg(test)]
mod tests;
