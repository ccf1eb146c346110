//! Write amplification: bytes written per byte of message bodies.
//!
//! Counted are the records appended to the journal (by how far its positions moved), pages and snapshots (by their
//! lengths), and the zeros that each new segment is filled with. Before counting, so much is sent and deleted that segments
//! are there to be used again, for a server is new only once.
//!
//! What the kernel counts for the process (`write_bytes` in `/proc/PID/io`) is several times more where the page cache keeps
//! files in large folios: a sync of 4 KB counts as the whole folio, though only the changed blocks of it are written. It is
//! noted, and no aim is set on it.

use super::{BATCH, Figures, IDLE, SENDERS, Settings};
use crate::load::{self, Mix, Plan};
use crate::posthouse::{Posthouse, Serving};
use crate::process;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is sent before, and what is counted, in messages.
const WARM_UP_MESSAGES: u64 = 600_000;
const MESSAGES: u64 = 1_000_000;
/// Between two looks at the data directory. Pages and snapshots live longer than that.
const LOOK: Duration = Duration::from_millis(20);

pub fn measure(settings: &Settings, figures: &mut Figures) -> io::Result<()> {
    let posthouse = settings.posthouse(&[]);
    let server = posthouse.start()?;
    let bodies = |messages: u64| messages as f64 * settings.body_bytes as f64;

    let (new, _) = counted(&posthouse, &server, || live_and_die(settings, &server, WARM_UP_MESSAGES))?;
    figures.note("written per byte, short-lived, new server", new.sum() / bodies(WARM_UP_MESSAGES));
    let (short, kernel) = counted(&posthouse, &server, || live_and_die(settings, &server, MESSAGES))?;
    figures.at_most("written per byte, short-lived", 1.1, short.sum() / bodies(MESSAGES));
    figures.note("of that, journal", short.journal / bodies(MESSAGES));
    figures.note("of that, zeros", short.zeros / bodies(MESSAGES));
    figures.note("as the kernel counts", kernel / bodies(MESSAGES));

    let (long, kernel) = counted(&posthouse, &server, || {
        settings.fill(&server, "long", MESSAGES)?;
        std::thread::sleep(IDLE);
        settings.drain(&server, "long", None).map(drop)
    })?;
    figures.at_most("written per byte, long-lived", 2.2, long.sum() / bodies(MESSAGES));
    figures.note("of that, long-lived, journal", long.journal / bodies(MESSAGES));
    figures.note("of that, long-lived, pages", long.pages / bodies(MESSAGES));
    figures.note("of that, long-lived, snapshots", long.snapshots / bodies(MESSAGES));
    figures.note("of that, long-lived, zeros", long.zeros / bodies(MESSAGES));
    figures.note("as the kernel counts, long-lived", kernel / bodies(MESSAGES));
    server.kill()
}

/// Bytes written, by what for.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    journal: f64,
    pages: f64,
    snapshots: f64,
    zeros: f64,
}

impl Written {
    fn sum(self) -> f64 {
        self.journal + self.pages + self.snapshots + self.zeros
    }
}

/// What is written by some work and by tidying up after it; and the kernel's count.
fn counted(
    posthouse: &Posthouse,
    server: &Serving,
    work: impl FnOnce() -> io::Result<()>,
) -> io::Result<(Written, f64)> {
    let position_before = newest_snapshot(&posthouse.data);
    let before = process::written_bytes(server.pid())?;
    let watch = Watch::start(&posthouse.data);
    work()?;
    std::thread::sleep(IDLE);
    let mut written = watch.end();
    written.journal = (newest_snapshot(&posthouse.data) - position_before) as f64;
    Ok((written, (process::written_bytes(server.pid())? - before) as f64))
}

/// Sends, receives and deletes in tens, each batch at once.
fn live_and_die(settings: &Settings, server: &Serving, messages: u64) -> io::Result<()> {
    let plan = settings.plan(server, "short", Mix::LifeCycle, SENDERS / 2)?;
    let rounds_max = Some(messages.div_ceil(BATCH as u64));
    super::without_errors(load::run(&Plan { rounds_max, ..plan })?).map(drop)
}

/// The position in the journal that the newest snapshot is named after. A server at rest has one at the journal's end.
fn newest_snapshot(data: &Path) -> u64 {
    let names = files(&data.join("snapshots")).into_keys();
    let position = |path: PathBuf| path.file_name()?.to_str()?.strip_suffix(".snapshot")?.parse().ok();
    names.filter_map(position).max().unwrap_or(0)
}

/// Notes every file that appears, from when it starts until it ends.
struct Watch {
    is_over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Written>,
}

impl Watch {
    fn start(data: &Path) -> Self {
        let (is_over, data) = (Arc::new(AtomicBool::new(false)), data.to_owned());
        let until = is_over.clone();
        let thread = std::thread::spawn(move || {
            let directories = ["pages", "snapshots", "journal"].map(|name| data.join(name));
            let old = directories.clone().map(|directory| files(&directory));
            let mut new: [BTreeMap<u64, u64>; 3] = Default::default();
            while !until.load(Ordering::Relaxed) {
                for ((directory, old), new) in directories.iter().zip(&old).zip(&mut new) {
                    for (inode, bytes) in files(directory).into_values() {
                        if old.values().all(|(known, _)| *known != inode) {
                            let longest = new.entry(inode).or_default();
                            *longest = bytes.max(*longest);
                        }
                    }
                }
                std::thread::sleep(LOOK);
            }
            let [pages, snapshots, zeros] = new.map(|files| files.values().sum::<u64>() as f64);
            Written { journal: 0.0, pages, snapshots, zeros }
        });
        Self { is_over, thread }
    }

    fn end(self) -> Written {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("watching doesn't panic")
    }
}

/// Inode and length of each file in a directory. A file that goes meanwhile is left out.
fn files(directory: &Path) -> BTreeMap<PathBuf, (u64, u64)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some((entry.path(), (metadata.ino(), metadata.len())))
    });
    files.collect()
}
