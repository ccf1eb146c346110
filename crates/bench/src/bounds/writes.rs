//! Write amplification: bytes written per byte of message bodies.
//!
//! Counted is what the kernel counts for the process (`write_bytes` in `/proc/PID/io`): journal, pages, snapshots, and the
//! zeros that new segments are filled with, in whole pages of the page cache. Before counting, so much is sent and deleted
//! that segments are there to be used again, for a server is new only once.

use super::{BATCH, Figures, IDLE, RECEIVERS, SENDERS, Settings};
use crate::load::{self, Mix, Plan};
use crate::posthouse::Serving;
use crate::process;
use std::io;

/// What is sent before, and what is counted, in messages.
const WARM_UP_MESSAGES: u64 = 600_000;
const MESSAGES: u64 = 1_000_000;

pub fn measure(settings: &Settings, figures: &mut Figures) -> io::Result<()> {
    let server = settings.posthouse(&[]).start()?;
    let counted = |messages: u64, work: &dyn Fn() -> io::Result<()>| -> io::Result<f64> {
        let before = process::written_bytes(server.pid())?;
        work()?;
        let written = process::written_bytes(server.pid())? - before;
        Ok(written as f64 / (messages as f64 * settings.body_bytes as f64))
    };
    let new = counted(WARM_UP_MESSAGES, &|| live_and_die(settings, &server, WARM_UP_MESSAGES))?;
    figures.note("written per byte, short-lived, new server", new);
    let short = counted(MESSAGES, &|| live_and_die(settings, &server, MESSAGES))?;
    figures.at_most("written per byte, short-lived", 1.1, short);

    let fill_and_drain = || {
        settings.fill(&server, "long", MESSAGES)?;
        std::thread::sleep(IDLE);
        settings.drain(&server, "long", None)?;
        std::thread::sleep(IDLE);
        Ok(())
    };
    figures.note("written per byte, long-lived, first time", counted(MESSAGES, &fill_and_drain)?);
    figures.at_most("written per byte, long-lived", 2.2, counted(MESSAGES, &fill_and_drain)?);
    server.kill()
}

/// Sends, receives and deletes in tens, each batch at once.
fn live_and_die(settings: &Settings, server: &Serving, messages: u64) -> io::Result<()> {
    let plan = settings.plan(server, "short", Mix::LifeCycle, SENDERS.min(RECEIVERS * 2))?;
    let rounds_max = Some(messages.div_ceil(BATCH as u64));
    super::without_errors(load::run(&Plan { rounds_max, ..plan })?).map(drop)
}
