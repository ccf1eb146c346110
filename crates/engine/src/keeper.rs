//! The threads on which the house is kept: when it is time for what.

use crate::core::Outcome;
use crate::house::House;
use crate::pager::{Living, Pager};
use crate::runtime::Shared;
use crate::store::Store;
use bytes::Bytes;
use shard::{BacklogWork, Command, PayloadAt};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// How often it looks, if nobody calls.
const TICK: Duration = Duration::from_secs(1);

/// After a failure it waits for so many ticks; shorter where somebody may be waiting.
const KEEPER_TICKS_AFTER_FAILURE: u32 = 10;
const PAGER_TICKS_AFTER_FAILURE: u32 = 1;

/// After so many ticks without an append, what can be let go is let go: memory, disk, and with a snapshot the journal, if
/// at least so much was appended.
const TICKS_IDLE: u32 = 10;
const IDLE_GROWN_BYTES_MIN: u64 = 64 << 10;

/// Lets threads sleep until they are called, or a tick has passed.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    pub fn ring(&self) {
        *self.rung.lock().expect("nothing panics while it holds this lock") = true;
        self.heard.notify_one();
    }

    fn wait(&self) {
        let rung = self.rung.lock().expect("nothing panics while it holds this lock");
        let waited = self.heard.wait_timeout_while(rung, TICK, |rung| !*rung);
        *waited.expect("nothing panics while it holds this lock").0 = false;
    }
}

/// Does `work` at each tick and each ring of the bell, until the engine stops. After a failure it waits for a while.
fn work_on(shared: &Shared, bell: &Bell, ticks_after_failure: u32, mut work: impl FnMut() -> Result<(), String>) {
    let is_stopping = || shared.stopping.load(Ordering::SeqCst);
    // Whoever has just started the server wants its first answer.
    bell.wait();
    while !is_stopping() {
        if let Err(reason) = work()
            && !is_stopping()
        {
            tracing::warn!(reason, "cannot keep house; the journal keeps growing until that works again");
            (0..ticks_after_failure).take_while(|_| !is_stopping()).for_each(|_| std::thread::sleep(TICK));
        }
        bell.wait();
    }
}

/// Makes room and snapshots.
pub(crate) fn keep(shared: Arc<Shared>, mut house: House) {
    let store = shared.store.clone().expect("there is a keeper only where there is a store");
    let mut keeper = Keeper { shared: &shared, store, end_seen: 0, idle_ticks: 0 };
    work_on(&shared, &shared.keeper, KEEPER_TICKS_AFTER_FAILURE, || keeper.work(&mut house));
}

/// Freezes and thaws the backlog.
pub(crate) fn page(shared: Arc<Shared>, pager: Pager) {
    work_on(&shared, &shared.pager, PAGER_TICKS_AFTER_FAILURE, || {
        let mut living = LivingShard(&shared);
        loop {
            let has_worked = pager.work_on_backlog(&mut living)?;
            if !has_worked || shared.stopping.load(Ordering::SeqCst) {
                return Ok(());
            }
        }
    });
}

struct Keeper<'a> {
    shared: &'a Shared,
    store: Arc<dyn Store>,
    end_seen: u64,
    idle_ticks: u32,
}

impl Keeper<'_> {
    fn work(&mut self, house: &mut House) -> Result<(), String> {
        let has_room = self.store.make_room()?;
        let end = self.store.end();
        self.idle_ticks = if end == self.end_seen { self.idle_ticks.saturating_add(1) } else { 0 };
        self.end_seen = end;
        let grown = house.grown_bytes();
        let is_due = grown >= self.shared.snapshot_bytes
            || !has_room && grown > 0
            || self.idle_ticks == TICKS_IDLE && grown >= IDLE_GROWN_BYTES_MIN;
        // During a backup the snapshot waits; making room doesn't.
        if is_due && let Ok(_alone) = self.shared.snapshots.try_lock() {
            house.snapshot(&mut LivingShard(self.shared), has_room)?;
            self.end_seen = self.store.end();
        }
        if self.idle_ticks == TICKS_IDLE {
            self.store.give_back_room()?;
            self.shared.payloads.forget();
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
        // A full disk has no room for pages.
        let full = self.0.is_storage_full();
        self.0.next_backlog_work().filter(|work| !full || matches!(work, BacklogWork::Thaw { .. }))
    }

    fn in_memory(&self, payload: &PayloadAt) -> Option<Bytes> {
        self.0.payloads.young(payload)
    }

    fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::SeqCst)
    }

    fn expect_page(&mut self, page: u64, bytes: Bytes) {
        self.0.payloads.expect_page(page, bytes);
    }
}
