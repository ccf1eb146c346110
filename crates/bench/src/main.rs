//! `posthouse-bench`: how fast is Posthouse, and against what?
//!
//!   compare   bare hyper · Posthouse · moto, ministack, fauxqs: the same work in one run, as ratios   compare.rs
//!   bounds    what memory, time and disk are bounded by, each against its aim                            bounds/
//!   soak      everything at once with restarts and a full disk, and an account at the end               soak/
//!   load      the load generator alone, against any server that speaks SQS                            load/
//!   bare      the server that everything is measured against                                          bare.rs
//!   sync      how long this disk takes to make bytes durable                                          sync.rs

mod bare;
mod bounds;
mod compare;
mod load;
mod posthouse;
mod process;
mod report;
mod soak;
mod sync;
mod target;

use clap::{Args, Parser, Subcommand, ValueEnum};
use load::{Encoder, Mix, Pace, Percentiles, Plan, Wire};
use std::error::Error;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use target::{Name, Places};

/// Measures Posthouse, and compares it with other servers that speak SQS.
///
/// Numbers depend on the machine and on what else it does: trust ratios within one run, and look at how far its rounds
/// lie apart.
#[derive(Parser, Debug)]
#[command(name = "posthouse-bench", version)]
struct Cli {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Subcommand, Debug)]
enum Subcommands {
    Compare(CompareOptions),
    Bounds(BoundsOptions),
    Soak(SoakOptions),
    Load(LoadOptions),
    /// Serve fixed replies as fast as hyper can: what any HTTP server on this machine is bounded by
    Bare {
        #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
        listen: SocketAddr,
        /// Size of each message body in the reply to a receive
        #[arg(long, default_value_t = 1024)]
        body_bytes: usize,
    },
    /// Measure how long the disk takes to make an append durable (pwrite and fdatasync, in a file filled before)
    Sync {
        /// A directory on the disk in question
        directory: PathBuf,
        #[arg(long, default_value_t = 1000)]
        appends: usize,
    },
}

/// Start each server in turn, let all do the same work, print ratios, and write them as JSON
///
/// Workloads: start and idle memory; SendMessage; SendMessageBatch of ten; draining those; send + receive + delete in
/// tens; SendMessage at a fixed rate; long polls that wait. Peers are installed from PyPI and npm the first time; what
/// cannot be installed is skipped.
#[derive(Args, Debug)]
struct CompareOptions {
    /// Which servers, in this order [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    targets: Vec<Name>,
    /// Times that every server gets its turn; the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Measured time of each workload, in seconds
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Time before each measurement, in seconds
    #[arg(long, default_value_t = 1.0)]
    warm_up: f64,
    #[command(flatten)]
    shape: Shape,
    /// Messages that wait in the queue when draining begins; servers that are slow to take them get ten seconds
    #[arg(long, default_value_t = 100_000)]
    backlog: u64,
    /// Messages a second in the open loop
    #[arg(long, default_value_t = 2000.0)]
    paced_rate: f64,
    /// Long polls that wait at a time. Fewer where the limit of open files is lower; at most 1,000 for peers
    #[arg(long, default_value_t = 10_000)]
    polls: usize,
    /// Where the JSON goes [default: bench-results/compare-<date>.json]
    #[arg(long)]
    out: Option<PathBuf>,
    /// The server's program [default: posthouse beside this program]
    #[arg(long)]
    posthouse: Option<PathBuf>,
    /// Where Posthouse's data goes while it is measured: its disk is what fsync waits for [default: target/bench-data]
    #[arg(long)]
    data: Option<PathBuf>,
    /// Skip peers that are not installed yet
    #[arg(long)]
    no_install: bool,
}

/// Measure what memory, time and disk are bounded by: a deep backlog, many queues, bytes written, snapshots
///
/// Prints each figure, and those that have an aim with it; writes all as JSON. Ten million messages of 1 KB take 25 GB of
/// disk for a while.
#[derive(Args, Debug)]
struct BoundsOptions {
    /// Which parts, in this order [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    parts: Vec<bounds::Part>,
    /// Messages of the deep backlog
    #[arg(long, default_value_t = 10_000_000)]
    messages: u64,
    /// Size of each message body
    #[arg(long, default_value_t = 1024, value_parser = at_least_one)]
    body_bytes: usize,
    /// Queues to be made
    #[arg(long, default_value_t = 100_000)]
    queues: u64,
    /// Delayed messages that a snapshot has to write
    #[arg(long, default_value_t = 1_000_000)]
    hot: u64,
    /// Where the JSON goes [default: bench-results/bounds-<date>.json]
    #[arg(long)]
    out: Option<PathBuf>,
    /// The server's program [default: posthouse beside this program]
    #[arg(long)]
    posthouse: Option<PathBuf>,
    /// Where the data goes meanwhile [default: target/bench-data]
    #[arg(long)]
    data: Option<PathBuf>,
}

/// Do everything at once for minutes or days, with restarts and a full disk, and count what was lost or delivered twice
///
/// Writes an account as JSON and curves of memory and disk as SVG to bench-results. Fails where a promise was broken. A full
/// disk needs root, for the data then lies on a small disk of its own (ext4 on a loop device).
#[derive(Args, Debug)]
struct SoakOptions {
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Connections that do something all the time
    #[arg(long, default_value_t = 16, value_parser = at_least_one)]
    clients: usize,
    /// What chance begins with. The same seed draws the same numbers, but threads and disk still differ from run to run
    /// [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// The server's program [default: posthouse beside this program]
    #[arg(long)]
    posthouse: Option<PathBuf>,
    /// Where the data goes meanwhile [default: target/bench-data]
    #[arg(long)]
    data: Option<PathBuf>,
}

/// Put load on any server that speaks SQS, and print what it did
///
/// Example: posthouse-bench load 127.0.0.1:4566 --mix life-cycle --batch 10 --connections 64 --seconds 10
#[derive(Args, Debug)]
struct LoadOptions {
    /// Where the server listens, without TLS: HOST:PORT or http://HOST:PORT
    server: String,
    /// What each connection does, round after round
    #[arg(long, value_enum, default_value = "send")]
    mix: Mix,
    /// Keep so many long polls waiting instead, and measure the server (needs --pid)
    #[arg(long, value_name = "COUNT", requires = "pid", conflicts_with = "mix")]
    idle_polls: Option<usize>,
    /// Rounds a second over all connections (open loop), with latency counted from when each was due
    /// [default: as fast as replies come]
    #[arg(long)]
    rate: Option<f64>,
    /// Messages per request, 1 to 10
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=10))]
    batch: u8,
    /// Measured time, in seconds
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Time before that, in seconds
    #[arg(long, default_value_t = 1.0)]
    warm_up: f64,
    /// End after so many rounds, if that is sooner
    #[arg(long)]
    rounds: Option<u64>,
    #[command(flatten)]
    shape: Shape,
    /// Made if it isn't there, and kept
    #[arg(long, default_value = "bench")]
    queue: String,
    #[arg(long, value_enum, default_value = "json")]
    wire: Wire,
    #[arg(long, default_value = "us-east-1")]
    region: String,
    /// Access key in the made-up signature
    #[arg(long, default_value = "test")]
    access_key: String,
    /// The server's process id, to measure its CPU time and memory
    #[arg(long)]
    pid: Option<u32>,
}

/// What load of any kind is made of.
#[derive(Args, Clone, Copy, Debug)]
struct Shape {
    /// Connections, each with one request at a time
    #[arg(long, default_value_t = 64, value_parser = at_least_one)]
    connections: usize,
    /// Threads of the load generator
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    threads: usize,
    /// Size of each message body
    #[arg(long, default_value_t = 1024, value_parser = at_least_one)]
    body_bytes: usize,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let count: usize = text.parse().map_err(|error| format!("{error}"))?;
    if count == 0 { Err("must be at least 1".to_owned()) } else { Ok(count) }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    match Cli::parse().command {
        Subcommands::Compare(options) => compare(options)?,
        Subcommands::Bounds(options) => bounds(options)?,
        Subcommands::Soak(options) => return soak(options),
        Subcommands::Load(options) => load(&options)?,
        Subcommands::Bare { listen, body_bytes } => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind(listen).await?;
                println!("listening on http://{}", listener.local_addr()?);
                bare::serve(listener, body_bytes).await
            })?;
        }
        Subcommands::Sync { directory, appends } => {
            for sync::SyncLatency { append_bytes, milliseconds } in sync::measure(&directory, appends)? {
                println!("append of {append_bytes:>6} bytes and fdatasync, ms: {}", percentiles(milliseconds));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The program to measure and a directory to do it in, where none is given: beside our own.
fn default_places() -> Result<(PathBuf, PathBuf), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let release = program.parent().ok_or("our own program has no directory")?;
    let build = release.parent().ok_or("our own program has no build directory")?;
    Ok((release.join("posthouse"), build.join("bench-data")))
}

fn soak(options: SoakOptions) -> Result<ExitCode, Box<dyn Error>> {
    let (program, scratch) = default_places()?;
    let from_the_clock = || std::time::UNIX_EPOCH.elapsed().map_or(0, |now| now.as_secs());
    let outcome = soak::run(&soak::Settings {
        duration: Duration::from_secs_f64(options.minutes * 60.0),
        clients: options.clients,
        seed: options.seed.unwrap_or_else(from_the_clock),
        program: options.posthouse.unwrap_or(program),
        scratch: options.data.unwrap_or(scratch),
    })?;
    soak::publish(&outcome, Path::new("bench-results"))?;
    Ok(if outcome.account.broken_promises() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compare(options: CompareOptions) -> Result<(), Box<dyn Error>> {
    let (program, scratch) = default_places()?;
    let places = Places {
        posthouse: options.posthouse.unwrap_or(program),
        peers: scratch.with_file_name("bench-peers"),
        scratch: options.data.unwrap_or(scratch),
        may_install: !options.no_install,
    };
    let settings = compare::Settings {
        names: if options.targets.is_empty() { Name::ALL.to_vec() } else { options.targets },
        rounds: options.rounds,
        warm_up: Duration::from_secs_f64(options.warm_up),
        duration: Duration::from_secs_f64(options.seconds),
        connections: options.shape.connections,
        threads: options.shape.threads,
        body_bytes: options.shape.body_bytes,
        backlog: options.backlog,
        paced_per_second: options.paced_rate,
        polls: options.polls,
        polls_duration: Duration::from_secs(8),
    };
    let report = compare::compare(&settings, &places)?;
    print!("{}", report.tables(compare::WORKLOADS));
    save("compare", &report.at, options.out, &report)
}

fn bounds(options: BoundsOptions) -> Result<(), Box<dyn Error>> {
    let (program, scratch) = default_places()?;
    let all = bounds::Part::value_variants();
    let report = bounds::run(&bounds::Settings {
        parts: if options.parts.is_empty() { all.to_vec() } else { options.parts },
        messages: options.messages,
        body_bytes: options.body_bytes,
        queues: options.queues,
        hot: options.hot,
        program: options.posthouse.unwrap_or(program),
        scratch: options.data.unwrap_or(scratch),
    })?;
    print!("{}", report.table());
    save("bounds", &report.at, options.out, &report)
}

/// Writes a report as JSON, to where the caller wants it or to a file named after its date.
fn save(kind: &str, at: &str, out: Option<PathBuf>, report: &impl serde::Serialize) -> Result<(), Box<dyn Error>> {
    let date = at.replace([':', '-'], "");
    let out = out.unwrap_or_else(|| Path::new("bench-results").join(format!("{kind}-{date}.json")));
    if let Some(directory) = out.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(&out, serde_json::to_string_pretty(report)?)?;
    println!("\nwritten to {}", out.display());
    Ok(())
}

fn load(options: &LoadOptions) -> Result<(), Box<dyn Error>> {
    let host = options.server.trim_start_matches("http://").trim_end_matches('/');
    let address = host.to_socket_addrs()?.next().ok_or_else(|| format!("{host} has no address"))?;
    let encoder = Encoder::new(options.wire, host, &options.access_key, &options.region);
    let queue_url = load::create_queue(address, &encoder, &options.queue)?;
    let duration = Duration::from_secs_f64(options.seconds);
    process::open_files_max();
    if let Some((polls, pid)) = options.idle_polls.zip(options.pid) {
        let idle = load::idle_polls(address, &encoder, &queue_url, polls, duration, pid)?;
        let (cpu, seconds) = (idle.server_cpu.as_secs_f64(), idle.elapsed.as_secs_f64());
        let mebibytes = idle.memory.resident_bytes / 1024 / 1024;
        println!("{polls} long polls for {seconds:.1} s: {cpu:.2} s of CPU, {mebibytes} MiB resident");
        println!("ended early: {}", idle.ended_early);
        return Ok(());
    }
    let plan = Plan {
        address,
        encoder,
        queue_url,
        mix: options.mix,
        pace: options.rate.map_or(Pace::Closed, |rounds_per_second| Pace::Open { rounds_per_second }),
        connections: options.shape.connections,
        threads: options.shape.threads,
        batch: usize::from(options.batch),
        body_bytes: options.shape.body_bytes,
        warm_up: Duration::from_secs_f64(options.warm_up),
        duration,
        rounds_max: options.rounds,
        server_pid: options.pid,
    };
    print_outcome(&load::run(&plan)?, options.pid)
}

fn print_outcome(outcome: &load::Outcome, pid: Option<u32>) -> Result<(), Box<dyn Error>> {
    let tally = &outcome.tally;
    println!(
        "{:.0} requests/s, {:.0} messages/s over {:.2} s",
        outcome.requests_per_second(),
        outcome.messages_per_second(),
        outcome.elapsed.as_secs_f64()
    );
    println!(
        "sent {}, received {}, deleted {}; receives that found nothing: {}",
        tally.sent, tally.received, tally.deleted, tally.receives_empty
    );
    println!("latency, ms: {}", percentiles(tally.latencies.percentiles()));
    println!("generator: {:.1} µs of CPU per request", outcome.generator_cpu_microseconds_per_request());
    let others = if pid.is_some() { "others on this machine" } else { "the server and others on this machine" };
    println!("{others}: {:.2} cores", outcome.others_cores());
    if let Some(pid) = pid {
        let memory = process::memory(pid)?;
        println!(
            "server: {:.1} µs of CPU per request, {:.2} per message; {} MiB resident, {} MiB at most",
            outcome.server_cpu_microseconds_per_request().unwrap_or(f64::NAN),
            outcome.server_cpu_microseconds_per_message().unwrap_or(f64::NAN),
            memory.resident_bytes / 1024 / 1024,
            memory.resident_bytes_peak / 1024 / 1024
        );
    }
    for (kind, count) in &tally.errors {
        println!("error: {count} × {kind}");
    }
    Ok(())
}

fn percentiles(Percentiles { p50, p90, p99, p99_9, max }: Percentiles) -> String {
    format!("p50 {p50:.3}, p90 {p90:.3}, p99 {p99:.3}, p99.9 {p99_9:.3}, max {max:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
