//! A backlog that is much larger than memory should ever be.

use super::{BATCH, Figures, IDLE, MEGABYTE, RECEIVERS, Settings};
use crate::load::call_once;
use crate::posthouse::{Serving, disk_bytes};
use crate::process;
use std::io;
use std::time::Duration;

const DEEP: &str = "deep";
/// A backlog that never leaves memory, to compare with.
const SHALLOW_MESSAGES: u64 = 10_000;
/// Shallow queues that are drained one after the other against as many messages of the deep one, and how often.
const SHALLOW_QUEUES: u64 = 10;
const ROUNDS: usize = 5;
/// Time to freeze what was sent last.
const SETTLE: Duration = Duration::from_secs(5);
/// What the memory for a hundred million messages is extrapolated to.
const EXTRAPOLATED_MESSAGES: f64 = 1e8;

pub fn measure(settings: &Settings, figures: &mut Figures) -> io::Result<()> {
    let posthouse = settings.posthouse(&[]);
    let server = posthouse.start()?;
    let tenth = settings.messages / 10;
    let rest = settings.messages - tenth;

    settings.fill(&server, DEEP, tenth)?;
    // No time to tidy up: what the journal holds must be read again.
    server.kill()?;
    let server = posthouse.start()?;
    let reopening_tenth = server.first_answer.as_secs_f64();
    figures.note("backlog/10: reopening after kill -9, s", reopening_tenth);
    std::thread::sleep(SETTLE);
    let resident_tenth = resident(&server)?;
    figures.note("backlog/10: resident MB", resident_tenth);

    let filled = settings.fill(&server, DEEP, rest)?;
    figures.note("backlog: sent per second", filled.messages_per_second());
    figures.at_most("backlog: resident MB at most while sending", 300.0, peak(&server)?);
    server.kill()?;
    let server = posthouse.start()?;
    figures.at_most("backlog: reopening after kill -9, s", 10.0, server.first_answer.as_secs_f64());
    figures.note("backlog: reopening, against a tenth of it", server.first_answer.as_secs_f64() / reopening_tenth);
    std::thread::sleep(SETTLE);
    let resident_whole = resident(&server)?;
    figures.at_most("backlog: resident MB", 300.0, resident_whole);
    let bytes_per_message = (resident_whole - resident_tenth).max(0.0) * MEGABYTE / rest as f64;
    figures.note("backlog: resident bytes per message", bytes_per_message);
    let more = EXTRAPOLATED_MESSAGES - settings.messages as f64;
    figures.note(
        "backlog of 100 million: resident MB, extrapolated",
        resident_whole + bytes_per_message * more / MEGABYTE,
    );
    figures.note("backlog: disk bytes per body byte", {
        disk_bytes(&posthouse.data) as f64 / (settings.messages as f64 * settings.body_bytes as f64)
    });

    receive_rates(settings, &server, figures)?;
    figures.note("backlog: resident MB after receiving", resident(&server)?);

    let queue = settings.plan(&server, DEEP, crate::load::Mix::Drain, RECEIVERS)?;
    let purge = queue.encoder.json("PurgeQueue", &serde_json::json!({ "QueueUrl": queue.queue_url }));
    call_once(server.address, &purge)?;
    std::thread::sleep(IDLE);
    figures.at_most("purged: disk MB", 300.0, disk_bytes(&posthouse.data) as f64 / MEGABYTE);
    figures.note("purged: resident MB", resident(&server)?);
    let started = std::time::Instant::now();
    server.terminate()?;
    figures.note("purged: SIGTERM to end, s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Drains shallow queues and the deep one in turns, as many messages each.
fn receive_rates(settings: &Settings, server: &Serving, figures: &mut Figures) -> io::Result<()> {
    let (mut shallow_rates, mut deep_rates) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut seconds = 0.0;
        for number in 0..SHALLOW_QUEUES {
            settings.fill(server, &format!("shallow-{number}"), SHALLOW_MESSAGES)?;
        }
        for number in 0..SHALLOW_QUEUES {
            let rounds = SHALLOW_MESSAGES / BATCH as u64;
            seconds += settings.drain(server, &format!("shallow-{number}"), Some(rounds))?.elapsed.as_secs_f64();
        }
        shallow_rates.push((SHALLOW_QUEUES * SHALLOW_MESSAGES) as f64 / seconds);
        let rounds = SHALLOW_QUEUES * SHALLOW_MESSAGES / BATCH as u64;
        deep_rates.push(settings.drain(server, DEEP, Some(rounds))?.messages_per_second());
    }
    let (shallow, deep) = (median(shallow_rates), median(deep_rates));
    figures.note("received per second at ten thousand", shallow);
    figures.note("received per second at the backlog", deep);
    figures.at_least("received at the backlog, of that", 0.8, deep / shallow);
    Ok(())
}

fn median(values: Vec<f64>) -> f64 {
    crate::report::Spread::of(values).median
}

fn resident(server: &Serving) -> io::Result<f64> {
    Ok(process::memory(server.pid())?.resident_bytes as f64 / MEGABYTE)
}

fn peak(server: &Serving) -> io::Result<f64> {
    Ok(process::memory(server.pid())?.resident_bytes_peak as f64 / MEGABYTE)
}
