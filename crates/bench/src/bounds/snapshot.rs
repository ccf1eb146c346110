//! What a client notices of a snapshot with many hot messages.
//!
//! The same sends at a fixed rate on the same data, in turns: with a `snapshot_bytes` that is never reached, and with one
//! that makes a snapshot every few seconds. Of each the better turn counts: whatever else the machine does only adds.

use super::{Figures, MEGABYTE, Settings};
use crate::load::{self, Mix, Pace, Percentiles, Plan, call_once};
use crate::posthouse::{Posthouse, Serving};
use crate::process;
use serde_json::json;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const RATE: f64 = 1000.0;
/// At this size and rate 64 MiB are written in about eight seconds.
const BODY_BYTES: usize = 8 * 1024;
const MEASURED: Duration = Duration::from_secs(20);
const CONNECTIONS: usize = 32;
const TURNS: usize = 2;
/// Between two looks at the directory of snapshots.
const LOOK: Duration = Duration::from_millis(20);

pub fn measure(settings: &Settings, figures: &mut Figures) -> io::Result<()> {
    let never = settings.posthouse(&["--snapshot-bytes=1024GiB"]);
    let often = Posthouse { options: vec!["--snapshot-bytes=64MiB".to_owned()], ..never.clone() };
    let server = never.start()?;
    make_hot(settings, &server)?;
    server.terminate()?;

    let server = never.start()?;
    let resident = process::memory(server.pid())?.resident_bytes as f64;
    figures.note("snapshot: resident MB with hot messages", resident / MEGABYTE);
    server.terminate()?;
    // The first snapshot has everything to do that was put off; the measured ones come after it.
    let server = often.start()?;
    wait_for_snapshots(&often.data);
    server.terminate()?;
    let (mut without, mut meanwhile) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        without.push(paced(settings, &never)?);
        meanwhile.push(paced(settings, &often)?);
    }
    let ((quiet, none), (busy, snapshots)) = (better(without), better(meanwhile));
    figures.note("snapshot: sends without, p50 ms", quiet.p50);
    figures.note("snapshot: sends without, p99.9 ms", quiet.p99_9);
    figures.note("snapshot: sends meanwhile, p50 ms", busy.p50);
    figures.note("snapshot: sends meanwhile, p99.9 ms", busy.p99_9);
    figures.note("snapshot: sends meanwhile, max ms", busy.max);
    figures.at_least("snapshot: snapshots made meanwhile", 2.0, snapshots as f64);
    figures.note("snapshot: snapshots made without", none as f64);
    figures.at_most("snapshot: p99.9 meanwhile, against without", 4.0, busy.p99_9 / quiet.p99_9);
    Ok(())
}

/// Fills a queue whose messages are all delayed for longer than this takes.
fn make_hot(settings: &Settings, server: &Serving) -> io::Result<()> {
    let plan = settings.plan(server, "hot", Mix::Send, super::SENDERS)?;
    let members = json!({ "QueueUrl": plan.queue_url, "Attributes": { "DelaySeconds": "900" } });
    call_once(server.address, &plan.encoder.json("SetQueueAttributes", &members))?;
    settings.fill(server, "hot", settings.hot).map(drop)
}

fn better(turns: Vec<(Percentiles, usize)>) -> (Percentiles, usize) {
    let best = turns.into_iter().min_by(|(one, _), (other, _)| one.p99_9.total_cmp(&other.p99_9));
    best.expect("there are two turns")
}

/// Sends at a fixed rate, and tells the latencies and how many snapshots were made meanwhile.
fn paced(settings: &Settings, posthouse: &Posthouse) -> io::Result<(Percentiles, usize)> {
    let server = posthouse.start()?;
    let plan = Plan {
        pace: Pace::Open { rounds_per_second: RATE },
        batch: 1,
        body_bytes: BODY_BYTES,
        warm_up: Duration::from_secs(2),
        duration: MEASURED,
        ..settings.plan(&server, "paced", Mix::Send, CONNECTIONS)?
    };
    let is_over = AtomicBool::new(false);
    let (outcome, snapshots) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while !is_over.load(Ordering::Relaxed) {
                seen.extend(snapshots(&posthouse.data));
                std::thread::sleep(LOOK);
            }
            seen.len()
        });
        let outcome = load::run(&plan);
        is_over.store(true, Ordering::Relaxed);
        (outcome, watcher.join().expect("watching doesn't panic"))
    });
    let percentiles = super::without_errors(outcome?)?.tally.latencies.percentiles();
    server.terminate()?;
    // One was there before, if any.
    Ok((percentiles, snapshots.saturating_sub(1)))
}

/// Returns once there has been no new snapshot for a while.
fn wait_for_snapshots(data: &Path) {
    let mut before = None;
    loop {
        std::thread::sleep(super::IDLE);
        let now = snapshots(data);
        if before.replace(now.clone()) == Some(now) {
            return;
        }
    }
}

/// The names of all finished snapshots.
fn snapshots(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data.join("snapshots")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".snapshot")).collect()
}
