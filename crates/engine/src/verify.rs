//! Checks a whole data directory on which no server runs, and names what is wrong.
//!
//! ```text
//!   every record of every segment ─┐
//!   every block of every snapshot  ├─▶ snapshot + journal ─▶ state ─▶ its invariants
//!   every block of every page     ─┘                           │
//!                                                              ▼
//!              every message it knows: is its payload where it should be, and intact?
//!              every page it knows: is it there, and does it hold what is remembered of it?
//! ```
//!
//! Nothing is changed, not even what a start would tidy up.

use crate::look_only::LookOnlyDisk;
use crate::recovery::{self, Recovered};
use crate::store::{LocalOptions, LocalStore, Store};
use bytes::Bytes;
use host::disk::Disk;
use journal::{FileError, Found, VerifiedSegment};
use model::{QueueId, Serial};
use shard::{FrozenPage, PagedMessage, Payload, PayloadAt, Rules, Shard, read_page};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Of so many findings each is told; of more, how many there are.
pub const FINDINGS_MAX: usize = 100;

/// What [`verify`] found.
#[derive(Clone, Default, Debug)]
pub struct Report {
    /// What is wrong: file, byte, what was expected, what to do. At most [`FINDINGS_MAX`].
    pub findings: Vec<String>,
    /// How many there are.
    pub findings_count: u64,
    /// What is worth knowing and does no harm.
    pub notes: Vec<String>,
    pub counts: Counts,
}

/// How much was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    pub segments: u64,
    pub records: u64,
    pub snapshots: u64,
    pub pages: u64,
    pub queues: u64,
    /// Messages that a start has in memory.
    pub messages_in_memory: u64,
    /// Messages that wait in pages.
    pub messages_frozen: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} segments with {} records, {} snapshots, {} pages; {} queues with {} messages in memory and {} in pages",
            self.segments,
            self.records,
            self.snapshots,
            self.pages,
            self.queues,
            self.messages_in_memory,
            self.messages_frozen
        )
    }
}

impl Report {
    fn wrong(&mut self, finding: impl fmt::Display) {
        self.findings_count += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding.to_string());
        }
    }
}

/// Checks the data directory `dir`, telling `progress` what it is at.
///
/// Errors: sentences for people. It can't be looked at: a server runs on it, or it is no data directory.
pub fn verify(disk: Arc<dyn Disk>, dir: &Path, progress: &mut dyn FnMut(&str)) -> Result<Report, String> {
    let look_only = Arc::new(LookOnlyDisk::lock(disk, dir)?);
    let mut report = Report::default();
    let segments = check_journal(look_only.as_ref(), dir, &mut report, progress)?;
    if segments.is_empty() && report.findings.is_empty() {
        return Err(format!("`{}` holds no journal; is it a data directory?", dir.display()));
    }
    check_snapshots(look_only.clone(), dir, &mut report, progress)?;

    progress("opening");
    let local = LocalOptions { sync: journal::SyncMode::Fsync, segment_bytes: 64 << 20, identity: 0 };
    let mut checker = Checker { dir, segments, report };
    match LocalStore::open(look_only, dir, &local) {
        Ok((store, _)) => {
            let state = checker.rebuild(&store, progress);
            checker.check_pages(&store, state.as_ref(), progress)?;
        }
        // What stands in its way was found already; if not, here it is.
        Err(error) => checker.also(error),
    }
    Ok(checker.report)
}

fn check_journal(
    disk: &dyn Disk,
    dir: &Path,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<VerifiedSegment>, String> {
    let mut segments = Vec::new();
    let each = &mut |found| match found {
        Found::Segment(segment) => {
            progress(&format!("read `{}`", segment.file.display()));
            report.counts.segments += 1;
            report.counts.records += segment.records;
            segments.push(segment);
        }
        Found::Wrong(error) => report.wrong(error),
        Found::Torn(torn) => report.notes.push(format!(
            "`{}` ends in a write that a crash cut short: {} bytes at byte {}. The next start removes it",
            torn.file.display(),
            torn.bytes,
            torn.byte
        )),
        Found::Leftover(file) => report.notes.push(format!("`{}` is left over; nothing needs it", file.display())),
    };
    journal::verify(disk, &dir.join("journal"), each).map_err(|error| error.to_string())?;
    Ok(segments)
}

fn check_snapshots(
    disk: Arc<LookOnlyDisk>,
    dir: &Path,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let snapshots = journal::SnapshotStore::open(disk, &dir.join("snapshots")).map_err(|error| error.to_string())?;
    for lsn in snapshots.list().map_err(|error| error.to_string())? {
        progress(&format!("read the snapshot at {lsn}"));
        report.counts.snapshots += 1;
        match snapshots.verify(lsn) {
            Ok(()) => {}
            Err(FileError::Disk(error)) => return Err(error.to_string()),
            Err(error) => report.wrong(error),
        }
    }
    Ok(())
}

/// What to do about damage in what a state is made of.
const RESTORE: &str = "Restore the data directory from a backup";

/// A message that the state has in memory, and where it looks for the payload in a page.
struct InPage {
    queue: QueueId,
    serial: Serial,
    offset: u32,
    bytes: u32,
}

/// What the state needs of one page.
#[derive(Default)]
struct Needed {
    frozen: Option<(QueueId, FrozenPage)>,
    payloads: Vec<InPage>,
}

struct Checker<'a> {
    dir: &'a Path,
    segments: Vec<VerifiedSegment>,
    report: Report,
}

impl Checker<'_> {
    /// Tells what another step told too, once.
    fn also(&mut self, error: String) {
        if !self.report.findings.contains(&error) {
            self.report.wrong(error);
        }
    }

    /// Rebuilds the state, as a start would, and checks it. Nothing where that can't be done.
    fn rebuild(&mut self, store: &LocalStore, progress: &mut dyn FnMut(&str)) -> Option<Shard> {
        progress("rebuilding the state");
        let mut recovered = match recovery::from_snapshot(store, &Rules::default()) {
            Ok(recovered) => recovered,
            Err(error) => {
                self.also(error);
                return None;
            }
        };
        match catching(|| recovery::catch_up(store, &mut recovered)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                self.also(error);
                return None;
            }
            Err(panic) => {
                let place = self.place(recovered.lsn);
                self.report.wrong(format!(
                    "{place}: the record with LSN {} does not fit the state before it: {panic}. {RESTORE}",
                    recovered.lsn
                ));
                return None;
            }
        }
        let Recovered { mut shard, lsn } = recovered;
        let checked = catching(|| {
            let at = shard.at();
            shard.advance(at);
            shard.check_invariants();
        });
        if let Err(panic) = checked {
            self.report.wrong(format!("the state as of LSN {lsn} is not sound: {panic}. {RESTORE}"));
            return None;
        }
        self.report.counts.queues = shard.queue_count() as u64;
        self.report.counts.messages_in_memory = shard.payloads().count() as u64;
        self.report.counts.messages_frozen = shard.frozen().map(|(_, page)| u64::from(page.messages)).sum();
        self.check_payloads_in_journal(store, &shard, progress);
        Some(shard)
    }

    /// The file and the byte at which a position of the journal lies.
    fn place(&self, position: u64) -> String {
        // As the journal's segments say: its header takes what the first record's position is.
        let header_bytes = journal::Lsn::FIRST.0;
        match self.segments.iter().rev().find(|segment| segment.base.0 <= position) {
            Some(segment) => {
                format!("`{}` byte {}", segment.file.display(), position - segment.base.0 + header_bytes)
            }
            None => format!("position {position} of the journal, which is not there any more"),
        }
    }

    fn check_payloads_in_journal(&mut self, store: &LocalStore, shard: &Shard, progress: &mut dyn FnMut(&str)) {
        progress("reading messages in the journal");
        for (queue, serial, _, payload) in shard.payloads() {
            let PayloadAt::Journal { position, bytes } = payload else { continue };
            let read = store.read(*position, *bytes);
            let decoded = read.and_then(|bytes| Payload::decode(&bytes).map(drop).map_err(|error| error.to_string()));
            if let Err(error) = decoded {
                let (place, message) = (self.place(*position), name(shard, queue, serial));
                self.report.wrong(format!("{place}: expected {message}, found: {error}. {RESTORE}"));
            }
        }
    }

    /// Reads every page, and compares it with what the state knows of it.
    fn check_pages(
        &mut self,
        store: &LocalStore,
        shard: Option<&Shard>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        let mut needed = shard.map(needed_pages).unwrap_or_default();
        let pages = store.pages()?;
        for (index, &page) in pages.iter().enumerate() {
            progress(&format!("read {index} of {} pages", pages.len()));
            self.report.counts.pages += 1;
            let contents = read_whole(store, page);
            let (file, wanted) = (self.page_file(page), needed.remove(&page));
            match (contents, shard, wanted) {
                (Ok(contents), Some(shard), Some(wanted)) => self.compare(&file, shard, &wanted, &contents),
                (Ok(_), Some(_), None) => {
                    self.report.notes.push(format!("`{file}` is needed by no message; the next snapshot removes it"));
                }
                (Ok(_), None, _) => {}
                (Err(error), Some(_), None) => {
                    self.report.notes.push(format!("`{file}` is damaged, but needed by no message ({error})"));
                }
                (Err(error), ..) => self.report.wrong(error),
            }
        }
        for (page, wanted) in needed {
            let messages = wanted.frozen.map_or(wanted.payloads.len(), |(_, frozen)| frozen.messages as usize);
            let file = self.page_file(page);
            self.report.wrong(format!("`{file}` is missing: expected {messages} messages in it. {RESTORE}"));
        }
        Ok(())
    }

    fn page_file(&self, page: u64) -> String {
        let file: PathBuf = self.dir.join("pages").join(format!("{page:020}.page"));
        file.display().to_string()
    }

    fn compare(&mut self, file: &str, shard: &Shard, wanted: &Needed, contents: &[PagedMessage]) {
        if let Some((queue, frozen)) = &wanted.frozen
            && let Some((expected, found)) = difference(*queue, frozen, contents)
        {
            let queue = queue_name(shard, *queue);
            self.report.wrong(format!("`{file}`: expected {expected} of queue {queue}, found {found}. {RESTORE}"));
        }
        if wanted.payloads.is_empty() {
            return;
        }
        let listed: BTreeMap<(QueueId, Serial), (u32, u32)> =
            contents.iter().map(|message| ((message.queue, message.serial), (message.offset, message.bytes))).collect();
        for InPage { queue, serial, offset, bytes } in &wanted.payloads {
            if listed.get(&(*queue, *serial)) != Some(&(*offset, *bytes)) {
                let message = name(shard, *queue, *serial);
                self.report.wrong(format!("`{file}`: expected {message} at its byte {offset}, found none. {RESTORE}"));
            }
        }
    }
}

/// Reads a page and every message in it, all with their checks.
fn read_whole(store: &LocalStore, page: u64) -> Result<Vec<PagedMessage>, String> {
    let bytes: Bytes = store.read_whole_page(page)?;
    let messages = read_page(&bytes).map_err(|error| format!("page {page}: {error}. {RESTORE}"))?;
    for PagedMessage { serial, offset, bytes: length, .. } in &messages {
        let payload = bytes.slice(*offset as usize..(offset + length) as usize);
        Payload::decode(&payload).map_err(|error| format!("page {page}, message {}: {error}. {RESTORE}", serial.0))?;
    }
    Ok(messages)
}

fn needed_pages(shard: &Shard) -> BTreeMap<u64, Needed> {
    let mut needed: BTreeMap<u64, Needed> = BTreeMap::new();
    for (queue, frozen) in shard.frozen() {
        needed.entry(frozen.page).or_default().frozen = Some((queue, *frozen));
    }
    for (queue, serial, _, payload) in shard.payloads() {
        if let PayloadAt::Page { page, offset, bytes } = *payload {
            needed.entry(page).or_default().payloads.push(InPage { queue, serial, offset, bytes });
        }
    }
    needed
}

/// What is remembered of a page and what it holds, where these differ.
fn difference(queue: QueueId, frozen: &FrozenPage, contents: &[PagedMessage]) -> Option<(String, String)> {
    let is_rising = contents.windows(2).all(|pair| pair[0].serial < pair[1].serial);
    if !is_rising || contents.iter().any(|message| message.queue != queue) {
        return Some(("messages in the order of arrival".to_owned(), "others".to_owned()));
    }
    let (Some(first), Some(last)) = (contents.first(), contents.last()) else {
        return Some(("messages".to_owned(), "none".to_owned()));
    };
    let found = FrozenPage {
        page: frozen.page,
        messages: contents.len() as u32,
        first: first.serial,
        last: last.serial,
        oldest_sent_at: first.sent_at,
        newest_sent_at: last.sent_at,
    };
    let told = |page: &FrozenPage| {
        let FrozenPage { messages, first, last, oldest_sent_at, newest_sent_at, .. } = page;
        format!("{messages} messages, {} to {}, sent from {oldest_sent_at} to {newest_sent_at},", first.0, last.0)
    };
    (found != *frozen).then(|| (told(frozen), told(&found)))
}

fn name(shard: &Shard, queue: QueueId, serial: Serial) -> String {
    format!("message {} of queue {}", serial.0, queue_name(shard, queue))
}

fn queue_name(shard: &Shard, queue: QueueId) -> String {
    shard.queue_key(queue).map_or_else(|| format!("number {}", queue.0), |key| key.name.to_string())
}

/// Runs what may run into an assertion, and says which.
fn catching<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| said(panic.as_ref()))
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").replace('\n', " ")
}
