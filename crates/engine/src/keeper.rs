//! The thread on which the house is kept: when it is time for what.

use crate::core::Outcome;
use crate::house::{House, Living};
use crate::runtime::Shared;
use crate::store::Store;
use bytes::Bytes;
use shard::{BacklogWork, Command, PayloadAt};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it looks, if nobody calls.
const TICK: Duration = Duration::from_secs(1);

/// After a failure it waits for so many ticks.
const TICKS_AFTER_FAILURE: u32 = 10;

/// After so many ticks without an append, what can be let go is let go, if at least so much was appended.
const TICKS_IDLE: u32 = 10;
const IDLE_GROWN_BYTES_MIN: u64 = 64 << 10;

pub(crate) fn keep(shared: Arc<Shared>) {
    let store = shared.store.clone().expect("there is a keeper only where there is a store");
    let mut house = match House::new(store.clone(), shared.rules.clone(), shared.snapshot_bytes) {
        Ok(house) => house,
        Err(reason) => return tracing::error!(reason, "cannot keep house: the journal will grow without end"),
    };
    let mut keeper = Keeper { shared: &shared, store, end_seen: 0, idle_ticks: 0, has_room: true };
    let mut ticks_to_skip = 0;
    while !keeper.is_stopping() {
        if ticks_to_skip > 0 {
            ticks_to_skip -= 1;
        } else if let Err(reason) = keeper.work(&mut house)
            && !keeper.is_stopping()
        {
            tracing::warn!(reason, "cannot keep house; the journal keeps growing until that works again");
            ticks_to_skip = TICKS_AFTER_FAILURE;
        }
        let called = shared.keeper_called.lock().expect("nothing panics while it holds this lock");
        // After a failure it waits out its ticks, whoever calls.
        let waited = shared.keeper.wait_timeout_while(called, TICK, |called| !*called || ticks_to_skip > 0);
        *waited.expect("nothing panics while it holds this lock").0 = false;
    }
}

struct Keeper<'a> {
    shared: &'a Shared,
    store: Arc<dyn Store>,
    end_seen: u64,
    idle_ticks: u32,
    has_room: bool,
}

impl Keeper<'_> {
    fn is_stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::SeqCst)
    }

    fn work(&mut self, house: &mut House) -> Result<(), String> {
        self.snapshot_if_due(house)?;
        while self.has_room && !self.is_stopping() && house.work_on_backlog(&mut LivingShard(self.shared))? {
            if house.grown_bytes() >= self.shared.snapshot_bytes {
                self.snapshot_if_due(house)?;
            }
        }
        Ok(())
    }

    fn snapshot_if_due(&mut self, house: &mut House) -> Result<(), String> {
        self.has_room = self.store.make_room()?;
        let end = self.store.end();
        self.idle_ticks = if end == self.end_seen { self.idle_ticks.saturating_add(1) } else { 0 };
        self.end_seen = end;
        let grown = house.grown_bytes();
        let is_due = grown >= self.shared.snapshot_bytes
            || !self.has_room && grown > 0
            || self.idle_ticks == TICKS_IDLE && grown >= IDLE_GROWN_BYTES_MIN;
        if is_due {
            house.snapshot(&mut LivingShard(self.shared), self.has_room)?;
            self.end_seen = self.store.end();
        }
        if self.shared.is_storage_full() && self.store.make_room()? && self.shared.has_reserve() {
            self.shared.set_storage_full(false);
        }
        Ok(())
    }
}

struct LivingShard<'a>(&'a Shared);

impl Living for LivingShard<'_> {
    fn ask(&mut self, command: Command) -> Outcome {
        self.0.ask_blocking(command)
    }

    fn next_backlog_work(&mut self) -> Option<BacklogWork> {
        self.0.next_backlog_work()
    }

    fn in_memory(&self, payload: &PayloadAt) -> Option<Bytes> {
        self.0.payloads.young(payload)
    }

    fn expect_page(&mut self, page: u64, bytes: Bytes) {
        self.0.payloads.expect_page(page, bytes);
    }
}
