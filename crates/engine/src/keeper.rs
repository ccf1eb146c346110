//! Keeps house: snapshots, pages, room on the disk.
//!
//! ```text
//!   journal   ├── old segments ──┼──────── younger ones ────────┤ end
//!                     │                                      ▲
//!                     │ payloads still needed                │ MovePayloads, an entry like any other
//!                     ▼                                      │
//!                   pages  ──────────────────────────────────┘
//! ```
//!
//! A snapshot is made by a second shard, rebuilt from the last snapshot and the journal: the state machine is
//! deterministic, so it ends up the same. The living one is never stopped, copied or walked. Payloads that are still
//! needed and lie in the oldest segments are copied to pages first; then a snapshot is written, and the segments go.

use crate::recovery::{self, Recovered};
use crate::runtime::Shared;
use crate::store::Store;
use shard::{Command, MovedPayload, PayloadAt};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it looks, if nobody calls.
const TICK: Duration = Duration::from_secs(1);

/// After a failure it waits so many ticks.
const TICKS_AFTER_FAILURE: u32 = 10;

/// After so many ticks without an append, what can be trimmed is trimmed.
const TICKS_IDLE: u32 = 10;

/// A page is closed once it has this many bytes.
const PAGE_BYTES_TARGET: usize = 4 << 20;

/// Most payloads of one command, so that no client waits long behind it.
const MOVED_PER_COMMAND: usize = 256;

pub(crate) fn keep(shared: Arc<Shared>) {
    let store = shared.store.clone().expect("there is a keeper only where there is a store");
    let mut keeper = Keeper::new(&shared, store);
    while !shared.stopping.load(Ordering::SeqCst) {
        keeper.tick();
        let called = shared.keeper_called.lock().expect("nothing panics while it holds this lock");
        let wait = shared.keeper.wait_timeout_while(called, TICK, |called| !*called);
        *wait.expect("nothing panics while it holds this lock").0 = false;
    }
}

struct Keeper<'a> {
    shared: &'a Shared,
    store: Arc<dyn Store>,
    /// Where the newest snapshot holds.
    snapshot_lsn: u64,
    next_page: u64,
    end_seen: u64,
    idle_ticks: u32,
    ticks_to_skip: u32,
}

impl<'a> Keeper<'a> {
    fn new(shared: &'a Shared, store: Arc<dyn Store>) -> Self {
        let end_seen = store.end();
        Self { shared, snapshot_lsn: store.oldest(), next_page: 0, end_seen, store, idle_ticks: 0, ticks_to_skip: 0 }
    }

    fn tick(&mut self) {
        if self.ticks_to_skip > 0 {
            self.ticks_to_skip -= 1;
            return;
        }
        if let Err(reason) = self.work() {
            tracing::warn!(reason, "cannot make a snapshot; the journal keeps growing");
            self.ticks_to_skip = TICKS_AFTER_FAILURE;
        }
    }

    fn work(&mut self) -> Result<(), String> {
        let has_room = self.store.make_room()?;
        let end = self.store.end();
        self.idle_ticks = if end == self.end_seen { self.idle_ticks.saturating_add(1) } else { 0 };
        self.end_seen = end;
        let grown = end - self.snapshot_lsn;
        let is_due = grown >= self.shared.snapshot_bytes
            || !has_room && grown > 0
            || self.idle_ticks == TICKS_IDLE && grown >= self.shared.snapshot_bytes / 4;
        if is_due {
            self.snapshot(has_room)?;
        }
        if self.shared.is_storage_full() && self.store.make_room()? && self.shared.has_reserve() {
            self.shared.set_storage_full(false);
        }
        Ok(())
    }

    /// Moves what is needed out of the oldest segments, writes a snapshot, and lets the segments go.
    fn snapshot(&mut self, has_room: bool) -> Result<(), String> {
        let mut shadow = recovery::from_snapshot(self.store.as_ref(), &self.shared.rules)?;
        recovery::catch_up(self.store.as_ref(), &mut shadow)?;
        if has_room {
            self.evacuate(&mut shadow)?;
        }
        // Nothing may be expired here that a later entry still counts on: time stands where the entries are.
        let at = shadow.shard.at();
        shadow.shard.advance(at);
        self.store.write_snapshot(shadow.lsn, &shadow.shard.snapshot())?;
        self.snapshot_lsn = shadow.lsn;

        let mut oldest_needed = shadow.lsn;
        let mut pages_needed = BTreeSet::new();
        for (_, _, payload) in shadow.shard.payloads() {
            match payload {
                PayloadAt::Journal { position, .. } => oldest_needed = oldest_needed.min(*position),
                PayloadAt::Page { page, .. } => drop(pages_needed.insert(*page)),
                PayloadAt::Held(_) => {}
            }
        }
        self.store.trim(oldest_needed)?;
        // Later entries only ever name pages that are made later, so what the snapshot doesn't need nobody does.
        for page in self.store.pages()? {
            if !pages_needed.contains(&page) {
                self.store.remove_page(page)?;
            }
        }
        Ok(())
    }

    /// Copies payloads that have lain in the journal for long to pages, and tells the shard.
    fn evacuate(&mut self, shadow: &mut Recovered) -> Result<(), String> {
        let cutoff = shadow.lsn.saturating_sub(self.shared.snapshot_bytes);
        let old = |payload: &PayloadAt| match payload {
            PayloadAt::Journal { position, bytes } if *position < cutoff => Some((*position, *bytes)),
            _ => None,
        };
        let newest_page = self.store.pages()?.into_iter().max();
        self.next_page = self.next_page.max(newest_page.map_or(1, |page| page + 1));
        let mut page = Page::default();
        let mut any = false;
        for (queue, serial, payload) in shadow.shard.payloads() {
            let Some((position, bytes)) = old(payload) else { continue };
            any = true;
            let offset = page.bytes.len() as u32;
            page.bytes.extend_from_slice(&self.store.read(position, bytes)?);
            page.moved.push(MovedPayload { queue, serial, offset, bytes });
            if page.bytes.len() >= PAGE_BYTES_TARGET {
                self.put(std::mem::take(&mut page))?;
            }
        }
        if !page.moved.is_empty() {
            self.put(page)?;
        }
        if any {
            recovery::catch_up(self.store.as_ref(), shadow)?;
        }
        Ok(())
    }

    fn put(&mut self, page: Page) -> Result<(), String> {
        let number = self.next_page;
        self.next_page += 1;
        self.store.put_page(number, &page.bytes)?;
        for moved in page.moved.chunks(MOVED_PER_COMMAND) {
            let command = Command::MovePayloads { page: number, moved: moved.to_vec() };
            self.shared.ask_blocking(command).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// A page being filled.
#[derive(Default)]
struct Page {
    bytes: Vec<u8>,
    moved: Vec<MovedPayload>,
}
