//! Keeps house: snapshots, and what of the journal and the pages is still needed.
//!
//! ```text
//!   journal   ├── old segments ──┼──────── younger ones ────────┤ end
//!                  │ payloads still needed     │ backlog past the window of its queue
//!                  ▼                           ▼
//!                pages                       pages (see `pager`)
//!                  └── MovePayloads ──▶ shard ◀── Freeze, Thaw: entries like any other
//! ```
//!
//! A snapshot is made by a second shard, rebuilt from the last snapshot and the journal: the state machine is
//! deterministic, so it ends up the same. The living one is never stopped, copied or walked. Payloads that are still
//! needed and lie in the oldest segments are copied to pages first; then a snapshot is written, and the segments go.
//!
//! Everything here may take its time. It runs on a thread of its own, or step by step in the simulator.

use crate::pager::{Living, Pager, SettledPages};
use crate::recovery::{self, Recovered};
use crate::store::Store;
use shard::{Command, PageBuilder, PayloadAt, Rules};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A page of moved payloads is closed once it has this many bytes.
const PAGE_BYTES_TARGET: usize = 4 << 20;

/// Most payloads of one command, so that no client waits long behind it.
const MOVED_PER_COMMAND: usize = 256;

pub struct House {
    store: Arc<dyn Store>,
    rules: Rules,
    /// How much of the journal's end is left alone when payloads are moved to pages.
    young_bytes: u64,
    /// Where the newest snapshot holds, as far as we know.
    snapshot_lsn: u64,
    pager: Pager,
}

impl House {
    pub fn new(store: Arc<dyn Store>, rules: Rules, young_bytes: u64) -> Result<Self, String> {
        let pager = Pager::new(store.clone())?;
        let snapshot_lsn = store.oldest();
        Ok(Self { store, rules, young_bytes, snapshot_lsn, pager })
    }

    /// What writes this house's pages.
    pub fn pager(&self) -> Pager {
        self.pager.clone()
    }

    /// How much was appended since the newest snapshot, in bytes.
    pub fn grown_bytes(&self) -> u64 {
        self.store.end() - self.snapshot_lsn
    }

    /// Writes a snapshot and lets go what it doesn't need. With room to write, payloads that are needed are moved out of
    /// the oldest segments first, so that these can go too.
    pub fn snapshot(&mut self, living: &mut dyn Living, has_room: bool) -> Result<(), String> {
        let mut shadow = recovery::from_snapshot(self.store.as_ref(), &self.rules)?;
        recovery::catch_up(self.store.as_ref(), &mut shadow)?;
        if has_room {
            self.evacuate(living, &shadow)?;
        }
        let settled = self.pager.settled();
        recovery::catch_up(self.store.as_ref(), &mut shadow)?;
        // Nothing may be expired here that a later entry still counts on: time stands where the entries are.
        let at = shadow.shard.at();
        shadow.shard.advance(at);
        self.store.write_snapshot(shadow.lsn, &shadow.shard.snapshot())?;
        self.snapshot_lsn = shadow.lsn;
        self.let_go(living, &shadow, &settled)
    }

    /// Removes segments and pages that a snapshot doesn't need. No entry names a page once more that was named before, so
    /// what the snapshot doesn't need nobody does, unless it was just in the making.
    fn let_go(&self, living: &dyn Living, snapshot: &Recovered, settled: &SettledPages) -> Result<(), String> {
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
            if living.is_stopping() {
                break;
            }
            if settled.contains(page) && !pages_needed.contains(&page) {
                self.store.remove_page(page)?;
            }
        }
        Ok(())
    }

    /// Copies payloads that have lain in the journal for long to pages, and tells the shard. The backlog isn't touched: it
    /// is about to be frozen.
    fn evacuate(&self, living: &mut dyn Living, shadow: &Recovered) -> Result<(), String> {
        let cutoff = shadow.lsn.saturating_sub(self.young_bytes);
        let mut builder = PageBuilder::default();
        for (queue, serial, sent_at, payload) in shadow.shard.window_payloads() {
            match payload {
                PayloadAt::Journal { position, .. } if *position < cutoff => {}
                _ => continue,
            }
            builder.push(queue, serial, sent_at, &self.store.read_payload(payload)?);
            if builder.payload_bytes() >= PAGE_BYTES_TARGET {
                self.move_payloads(living, std::mem::take(&mut builder))?;
            }
        }
        if builder.is_empty() { Ok(()) } else { self.move_payloads(living, builder) }
    }

    fn move_payloads(&self, living: &mut dyn Living, builder: PageBuilder) -> Result<(), String> {
        self.pager.put(builder, |page, messages| {
            messages.chunks(MOVED_PER_COMMAND).try_for_each(|moved| {
                let command = Command::MovePayloads { page, moved: moved.to_vec() };
                living.ask(command).map(drop).map_err(|error| error.to_string())
            })
        })
    }
}
