//! Write amplification: bytes written per byte of message bodies.
//!
//! Counted are the records appended to the journal (by how far its positions moved), pages and snapshots (by their
//! lengths), and the zeros that each new segment is filled with. All is done twice without a pause: a server that is new,
//! or was idle and gave its segments back, fills some with zeros the first time, and has them to use again the second.
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

/// What is sent each time.
const MESSAGES: u64 = 1_000_000;
/// Time to freeze the end of a backlog.
const SETTLE: Duration = Duration::from_secs(3);
/// Between two looks at the data directory. Pages and snapshots live longer than that.
const LOOK: Duration = Duration::from_millis(20);

pub fn measure(settings: &Settings, figures: &mut Figures) -> io::Result<()> {
    let posthouse = settings.posthouse(&[]);
    let server = posthouse.start()?;
    let twice = |work: &dyn Fn() -> io::Result<()>| twice(settings, &posthouse, &server, work);

    let [first, again] = twice(&|| live_and_die(settings, &server))?;
    figures.note("written per byte, short-lived, new server", first.sum());
    figures.at_most("written per byte, short-lived", 1.1, again.sum());
    figures.note("short-lived: journal", again.journal);
    figures.note("short-lived: zeros", again.zeros);
    figures.note("short-lived: as the kernel counts", again.kernel);

    let [first, again] = twice(&|| {
        settings.fill(&server, "long", MESSAGES)?;
        std::thread::sleep(SETTLE);
        settings.drain(&server, "long", None).map(drop)
    })?;
    figures.note("written per byte, long-lived, after idling", first.sum());
    figures.at_most("written per byte, long-lived", 2.2, again.sum());
    figures.note("long-lived: journal", again.journal);
    figures.note("long-lived: pages", again.pages);
    figures.note("long-lived: snapshots", again.snapshots);
    figures.note("long-lived: zeros", again.zeros);
    figures.note("long-lived: as the kernel counts", again.kernel);
    server.kill()
}

/// Bytes written per byte of bodies, by what for.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    journal: f64,
    pages: f64,
    snapshots: f64,
    zeros: f64,
    /// All of it, as the kernel counts.
    kernel: f64,
}

impl Written {
    fn sum(self) -> f64 {
        self.journal + self.pages + self.snapshots + self.zeros
    }
}

/// What is written by some work the first and the second time, and by tidying up after it.
fn twice(
    settings: &Settings,
    posthouse: &Posthouse,
    server: &Serving,
    work: &dyn Fn() -> io::Result<()>,
) -> io::Result<[Written; 2]> {
    let position_before = newest_snapshot(&posthouse.data);
    let mut both = [Written::default(); 2];
    for (written, pause) in both.iter_mut().zip([Duration::ZERO, IDLE]) {
        let kernel_before = process::written_bytes(server.pid())?;
        let watch = Watch::start(&posthouse.data);
        work()?;
        std::thread::sleep(pause);
        *written = watch.end();
        written.kernel = (process::written_bytes(server.pid())? - kernel_before) as f64;
    }
    // Known only at rest, so both times together.
    let journal = (newest_snapshot(&posthouse.data) - position_before) as f64 / 2.0;
    let bodies = MESSAGES as f64 * settings.body_bytes as f64;
    Ok(both.map(|Written { pages, snapshots, zeros, kernel, .. }| Written {
        journal: journal / bodies,
        pages: pages / bodies,
        snapshots: snapshots / bodies,
        zeros: zeros / bodies,
        kernel: kernel / bodies,
    }))
}

/// Sends, receives and deletes in tens, each batch at once.
fn live_and_die(settings: &Settings, server: &Serving) -> io::Result<()> {
    let plan = settings.plan(server, "short", Mix::LifeCycle, SENDERS / 2)?;
    let rounds_max = Some(MESSAGES.div_ceil(BATCH as u64));
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
            Written { pages, snapshots, zeros, ..Written::default() }
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
