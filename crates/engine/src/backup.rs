//! A copy of the data, consistent as of one moment, on which a server starts like on any data directory.
//!
//! ```text
//!   snapshot S ──── journal from its oldest record to E ──┤ E   ◀─ the moment: all that is durable when it begins
//!   every page that there is at E
//! ```
//!
//! That is all that a state needs: entries up to E name pages that were written before them. While the copy is made the
//! engine goes on, later entries don't matter to it, and only the keeper holds off: it makes no snapshot, and so removes
//! neither pages nor segments. Records, snapshot and pages are read with their checks and written anew, so a damaged file
//! ends the backup instead of being handed on.

use crate::Engine;
use crate::look_only::LookOnlyDisk;
use crate::store::{AppendError, LocalOptions, LocalStore, Store};
use host::disk::Disk;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copied {
    /// The journal's position as of which the copy holds.
    pub lsn: u64,
    pub records: u64,
    pub pages: u64,
    /// Of records, snapshot and pages together.
    pub bytes: u64,
}

/// Where a copy goes.
#[derive(Clone)]
pub struct Target {
    pub disk: Arc<dyn Disk>,
    /// A directory that isn't there yet, or is empty.
    pub dir: PathBuf,
    /// Length of the copy's journal segments.
    pub segment_bytes: u64,
    /// Tells the copy's journal from any other; a random number.
    pub identity: u64,
}

impl Engine {
    /// Copies all that is durable by now. Takes as long as reading and writing everything does; meanwhile the journal
    /// grows, and nothing else is held up.
    ///
    /// Errors: sentences for people. There is nothing at the target then but perhaps a directory that ends in
    /// `.unfinished`.
    pub fn backup(&self, target: &Target) -> Result<Copied, String> {
        let shared = &self.shared;
        let store = shared.store.as_ref().ok_or("all messages are in memory only, so there is nothing to copy")?;
        let _keeper_holds_off = shared.snapshots.lock().expect("nothing panics while it holds this lock");
        copy(store.as_ref(), target, &|| !shared.stopping.load(Ordering::SeqCst))
    }
}

/// Copies the data directory `dir`, on which no server runs, without changing anything in it.
///
/// Errors: as [`Engine::backup`]; and a server runs on it, or it can't be opened.
pub fn backup_stopped(disk: Arc<dyn Disk>, dir: &Path, target: &Target) -> Result<Copied, String> {
    let look_only = LookOnlyDisk::lock(disk, dir)?;
    let options = LocalOptions { sync: journal::SyncMode::Fsync, segment_bytes: target.segment_bytes, identity: 0 };
    let (store, _) = LocalStore::open(Arc::new(look_only), dir, &options)?;
    copy(&store, target, &|| true)
}

/// Copies until `goes_on` says no. Nothing may be trimmed or removed meanwhile.
fn copy(from: &dyn Store, target: &Target, goes_on: &dyn Fn() -> bool) -> Result<Copied, String> {
    // The pages of every entry before the end were written before that entry was.
    let (end, pages) = (from.end(), from.pages()?);
    let unfinished = prepare(target)?;
    let copied = fill(from, target, &unfinished, end, &pages, goes_on)?;
    let cannot = |error| format!("cannot rename `{}` to `{}`: {error}", unfinished.display(), target.dir.display());
    target.disk.rename(&unfinished, &target.dir).map_err(cannot)?;
    let above = target.dir.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    target.disk.sync_dir(above).map_err(|error| format!("cannot sync `{}`: {error}", above.display()))?;
    Ok(copied)
}

/// Makes sure that nothing is in the way, and returns where the copy is made. It gets its name when it is whole, so nobody
/// ever starts on half a copy.
fn prepare(target: &Target) -> Result<PathBuf, String> {
    let Target { disk, dir, .. } = target;
    let name = dir.file_name().ok_or_else(|| format!("`{}` has no name", dir.display()))?;
    let mut name = name.to_owned();
    name.push(".unfinished");
    let unfinished = dir.with_file_name(name);
    if disk.list(dir).is_ok_and(|names| !names.is_empty()) {
        return Err(format!("`{}` is not empty; a backup goes into a new directory", dir.display()));
    }
    if disk.list(&unfinished).is_ok() {
        let unfinished = unfinished.display();
        return Err(format!(
            "`{unfinished}` is left of a backup that was cut short, or one is being made; remove it first"
        ));
    }
    Ok(unfinished)
}

fn fill(
    from: &dyn Store,
    target: &Target,
    dir: &Path,
    end: u64,
    pages: &[u64],
    goes_on: &dyn Fn() -> bool,
) -> Result<Copied, String> {
    let still_goes_on =
        || if goes_on() { Ok(()) } else { Err("the server is stopping; the backup was cut short".to_owned()) };
    // One sync at the end is enough: nobody counts on the copy before.
    let sync = journal::SyncMode::Os;
    let local = LocalOptions { sync, segment_bytes: target.segment_bytes, identity: target.identity };
    let options = journal::Options { begins_at: journal::Lsn(from.oldest()), ..local.journal() };
    let (to, _) = LocalStore::open_with(target.disk.clone(), dir, options)?;
    let mut copied = Copied { lsn: end, records: 0, pages: 0, bytes: 0 };
    let mut outcome = Ok(());
    from.replay(0, &mut |position, entries| {
        let lsn = position - from.header_bytes();
        if lsn >= end {
            return ControlFlow::Break(());
        }
        outcome = still_goes_on().and_then(|()| append(&to, lsn, entries));
        copied.records += 1;
        copied.bytes += from.header_bytes() + entries.len() as u64;
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    outcome?;
    if to.end() != end {
        return Err(format!("the journal's records end at {} instead of {end}", to.end()));
    }
    to.sync()?;
    if let Some((lsn, bytes)) = from.latest_snapshot()? {
        copied.bytes += bytes.len() as u64;
        to.write_snapshot(lsn, &bytes)?;
    }
    for &page in pages {
        still_goes_on()?;
        let bytes = from.read_whole_page(page)?;
        to.put_page(page, &bytes)?;
        copied.pages += 1;
        copied.bytes += bytes.len() as u64;
    }
    Ok(copied)
}

fn append(to: &LocalStore, lsn: u64, entries: &[u8]) -> Result<(), String> {
    match to.append(entries) {
        Ok(copied) if copied == lsn => Ok(()),
        Ok(copied) => Err(format!("the record with LSN {lsn} would have {copied} in the copy")),
        Err(AppendError::Full(reason) | AppendError::Failed(reason)) => Err(reason),
    }
}
