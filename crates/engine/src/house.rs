//! Keeps house: pages, snapshots, and what of the journal is still needed.
//!
//! ```text
//!   journal   ├── old segments ──┼──────── younger ones ────────┤ end
//!                  │ payloads still needed     │ backlog past the window of its queue
//!                  ▼                           ▼
//!                pages ── MovePayloads, Freeze, Thaw: entries like any other ──▶ shard
//! ```
//!
//! A snapshot is made by a second shard, rebuilt from the last snapshot and the journal: the state machine is
//! deterministic, so it ends up the same. The living one is never stopped, copied or walked. Payloads that are still
//! needed and lie in the oldest segments are copied to pages first; then a snapshot is written, and the segments go.
//!
//! Everything here may take its time. It runs on a thread of its own, or step by step in the simulator.

use crate::core::Outcome;
use crate::recovery::{self, Recovered};
use crate::store::Store;
use bytes::Bytes;
use model::{QueueId, Serial, Timestamp};
use shard::{BacklogWork, Command, PageBuilder, PayloadAt, Rules, read_page};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A page of moved payloads is closed once it has this many bytes.
const PAGE_BYTES_TARGET: usize = 4 << 20;

/// Most payloads of one command, so that no client waits long behind it.
const MOVED_PER_COMMAND: usize = 256;

/// The living shard, as the house sees it.
pub trait Living {
    /// Carries out a command, and returns once that is durable.
    fn ask(&mut self, command: Command) -> Outcome;
    fn next_backlog_work(&mut self) -> Option<BacklogWork>;
    /// A payload, where it is still in memory.
    fn in_memory(&self, payload: &PayloadAt) -> Option<Bytes>;
    /// A page whose messages will be received soon.
    fn expect_page(&mut self, page: u64, bytes: Bytes);
}

pub struct House {
    store: Arc<dyn Store>,
    rules: Rules,
    /// How much of the journal's end is left alone when payloads are moved to pages.
    young_bytes: u64,
    /// Where the newest snapshot holds, as far as we know.
    snapshot_lsn: u64,
    next_page: u64,
}

impl House {
    pub fn new(store: Arc<dyn Store>, rules: Rules, young_bytes: u64) -> Result<Self, String> {
        // A page that the journal names since the newest snapshot is still there: pages only go with a snapshot.
        let next_page = store.pages()?.into_iter().max().map_or(1, |newest| newest + 1);
        let snapshot_lsn = store.oldest();
        Ok(Self { store, rules, young_bytes, snapshot_lsn, next_page })
    }

    /// How much was appended since the newest snapshot, in bytes.
    pub fn grown_bytes(&self) -> u64 {
        self.store.end() - self.snapshot_lsn
    }

    /// Freezes or thaws one page. False where there is nothing to do.
    pub fn work_on_backlog(&mut self, living: &mut dyn Living) -> Result<bool, String> {
        match living.next_backlog_work() {
            None => return Ok(false),
            Some(BacklogWork::Freeze { queue, messages }) => self.freeze(living, queue, messages)?,
            Some(BacklogWork::Thaw { queue, page }) => {
                let bytes = self.store.read_whole_page(page)?;
                let messages = read_page(&bytes).map_err(|error| format!("page {page}: {error}"))?;
                living.expect_page(page, bytes);
                living.ask(Command::Thaw { queue, page, messages }).map_err(|error| error.to_string())?;
            }
        }
        Ok(true)
    }

    fn freeze(
        &mut self,
        living: &mut dyn Living,
        queue: QueueId,
        messages: Vec<(Serial, Timestamp, PayloadAt)>,
    ) -> Result<(), String> {
        let mut builder = PageBuilder::default();
        for (serial, sent_at, payload) in messages {
            let bytes = living.in_memory(&payload).map_or_else(|| self.read(&payload), Ok)?;
            builder.push(queue, serial, sent_at, &bytes);
        }
        let (page, messages) = self.put_page(builder)?;
        let frozen = living.ask(Command::Freeze { queue, page, messages });
        // Where one was touched meanwhile none is frozen; the next snapshot removes the page.
        frozen.map(drop).map_err(|error| error.to_string())
    }

    fn read(&self, payload: &PayloadAt) -> Result<Bytes, String> {
        match payload {
            PayloadAt::Held(_) => unreachable!("what is held in memory is never moved"),
            PayloadAt::Journal { position, bytes } => self.store.read(*position, *bytes),
            PayloadAt::Page { page, offset, bytes } => self.store.read_page(*page, *offset, *bytes),
        }
    }

    fn put_page(&mut self, builder: PageBuilder) -> Result<(u64, Vec<shard::PagedMessage>), String> {
        let page = self.next_page;
        self.next_page += 1;
        let (bytes, messages) = builder.finish();
        self.store.put_page(page, &bytes)?;
        Ok((page, messages))
    }

    /// Writes a snapshot and lets go what it doesn't need. With room to write, payloads that are needed are moved out of
    /// the oldest segments first, so that these can go too.
    pub fn snapshot(&mut self, living: &mut dyn Living, has_room: bool) -> Result<(), String> {
        let mut shadow = recovery::from_snapshot(self.store.as_ref(), &self.rules)?;
        recovery::catch_up(self.store.as_ref(), &mut shadow)?;
        if has_room && self.evacuate(living, &shadow)? {
            recovery::catch_up(self.store.as_ref(), &mut shadow)?;
        }
        // Nothing may be expired here that a later entry still counts on: time stands where the entries are.
        let at = shadow.shard.at();
        shadow.shard.advance(at);
        self.store.write_snapshot(shadow.lsn, &shadow.shard.snapshot())?;
        self.snapshot_lsn = shadow.lsn;
        self.let_go(&shadow)
    }

    /// Removes segments and pages that a snapshot doesn't need. Later entries only ever name pages that are made later,
    /// so what the snapshot doesn't need nobody does.
    fn let_go(&self, snapshot: &Recovered) -> Result<(), String> {
        let mut oldest_needed = snapshot.lsn;
        let mut pages_needed: BTreeSet<u64> = snapshot.shard.frozen_pages().collect();
        for (.., payload) in snapshot.shard.payloads() {
            match payload {
                PayloadAt::Journal { position, .. } => oldest_needed = oldest_needed.min(*position),
                PayloadAt::Page { page, .. } => drop(pages_needed.insert(*page)),
                PayloadAt::Held(_) => {}
            }
        }
        self.store.trim(oldest_needed)?;
        for page in self.store.pages()? {
            if !pages_needed.contains(&page) {
                self.store.remove_page(page)?;
            }
        }
        Ok(())
    }

    /// Copies payloads that have lain in the journal for long to pages, and tells the shard. False where there are none.
    fn evacuate(&mut self, living: &mut dyn Living, shadow: &Recovered) -> Result<bool, String> {
        let cutoff = shadow.lsn.saturating_sub(self.young_bytes);
        let mut builder = PageBuilder::default();
        let mut any = false;
        for (queue, serial, sent_at, payload) in shadow.shard.payloads() {
            match payload {
                PayloadAt::Journal { position, .. } if *position < cutoff => {}
                _ => continue,
            }
            any = true;
            builder.push(queue, serial, sent_at, &self.read(payload)?);
            if builder.payload_bytes() >= PAGE_BYTES_TARGET {
                self.move_payloads(living, std::mem::take(&mut builder))?;
            }
        }
        if !builder.is_empty() {
            self.move_payloads(living, builder)?;
        }
        Ok(any)
    }

    fn move_payloads(&mut self, living: &mut dyn Living, builder: PageBuilder) -> Result<(), String> {
        let (page, messages) = self.put_page(builder)?;
        for moved in messages.chunks(MOVED_PER_COMMAND) {
            let command = Command::MovePayloads { page, moved: moved.to_vec() };
            living.ask(command).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}
