//! The machine: how the program starts, writes, keeps house and dies.

use super::clients::Asker;
use super::{Ended, Going, Life, World, all_queues};
use crate::helper::{Go, Helper, SteppedStore, Stop};
use crate::plan::FaultKind;
use crate::sabotage::{Sabotage, SabotagedStore};
use engine::core::{Core, Outcome};
use engine::house::House;
use engine::recovery;
use engine::store::{AppendError, LocalStore, Store};
use host::disk::{FakeDisk, Survivors};
use host::entropy::Entropy;
use model::Timestamp;
use shard::{BacklogWork, Command, ReceiptKey};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SEGMENT_BYTES: u64 = 80 << 10;
const RECORD_BYTES_MAX: u32 = 64 << 10;
const SNAPSHOT_BYTES: u64 = 12 << 10;
/// As in the engine's runtime: what is left below this is for receives and deletes.
///
/// Chosen: less than there, so that some batches don't fit.
const RESERVE_BYTES: u64 = 3 << 10;

pub(super) fn data() -> PathBuf {
    Path::new("/data").to_path_buf()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Keeper,
    Pager,
}

impl Which {
    fn name(self) -> &'static str {
        match self {
            Self::Keeper => "keeper",
            Self::Pager => "pager",
        }
    }
}

/// Where a helper is.
pub(super) enum HelperAt {
    Rest,
    /// It goes on with this.
    Ready(Go),
    /// It waits for the answer to this request.
    Asking(u64),
}

impl World {
    /// Starts the program, as often as it takes.
    pub(super) fn open(&mut self) -> Going {
        loop {
            self.life_began = self.disk.counts().total();
            let opened = self.try_open();
            if self.is_power_gone() {
                self.trace.reached("fault: power cut during recovery");
                self.lose_power();
                continue;
            }
            match opened {
                Ok(life) => {
                    self.life = Some(life);
                    return self.begin_life();
                }
                Err(reason) if self.is_damaged => return self.noticed("at start", &reason),
                Err(reason) if self.has_fault_fired() => {
                    self.trace.line(format_args!("       cannot start: {reason}"));
                    self.trace.reached("recovery: failed once by a failing disk");
                }
                Err(reason) if self.is_small => {
                    self.trace.line(format_args!("       cannot start on a full disk: {reason}"));
                    self.trace.reached("recovery: failed by a full disk");
                    self.disk.set_capacity(u64::MAX);
                    self.is_small = false;
                }
                Err(reason) => return self.broken(format!("the data can't be opened: {reason}")),
            }
        }
    }

    fn try_open(&mut self) -> Result<Life, String> {
        let sync = match self.sabotage {
            Some(Sabotage::NeverSyncs) => journal::SyncMode::Os,
            _ => journal::SyncMode::Fsync,
        };
        let mut identity = [0; 8];
        self.entropy.fill(&mut identity);
        let options = journal::Options {
            sync,
            segment_bytes: SEGMENT_BYTES,
            first_segment_bytes: SEGMENT_BYTES / 2,
            record_bytes_max: RECORD_BYTES_MAX,
            spares_max: 2,
            identity: u64::from_le_bytes(identity),
            ..journal::Options::default()
        };
        let (store, opened) = LocalStore::open_with(Arc::new(self.disk.clone()), &data(), options)?;
        let mut store: Arc<dyn Store> = Arc::new(store);
        if let Some(sabotage) = self.sabotage {
            store = Arc::new(SabotagedStore { store, sabotage });
        }
        if let Some(torn) = &opened.torn {
            self.trace.reached("recovery: a torn record was cut off");
            if self.is_damaged {
                return Err(format!("{} bytes of a record were cut off", torn.bytes));
            }
        }
        let mut recovered = recovery::from_snapshot(store.as_ref(), &self.rules)?;
        let from_snapshot = recovered.lsn > 0;
        let snapshot_lsn = recovered.lsn;
        recovery::catch_up(store.as_ref(), &mut recovered)?;
        self.trace.reached(match (from_snapshot, recovered.lsn > snapshot_lsn) {
            (false, false) => "recovery: from nothing",
            (false, true) => "recovery: from the journal alone",
            (true, false) => "recovery: from a snapshot alone",
            (true, true) => "recovery: from a snapshot and the journal after it",
        });
        if recovered.shard.frozen_pages().next().is_some() {
            self.trace.reached("recovery: with a backlog in pages");
        }
        recovered.shard.check_invariants();
        let core = Core::new(recovered.shard, Some(store.end()), store.header_bytes());
        store = Arc::new(SteppedStore(store));
        let house = House::new(store.clone(), self.rules.clone(), SNAPSHOT_BYTES)?;
        let pager = Helper::pager(house.pager());
        let keeper = Helper::keeper(house, store.clone(), SNAPSHOT_BYTES);
        Ok(Life {
            core,
            store,
            helpers: [(keeper, HelperAt::Rest), (pager, HelperAt::Rest)],
            taken: None,
            has_moved_payloads: false,
        })
    }

    /// The program runs. Tells the promises what the last life left open, and looks at every queue.
    fn begin_life(&mut self) -> Going {
        let life = self.life.as_ref().expect("it was just opened");
        let recovered_at = life.core.shard().at();
        let is_new = life.core.shard().receipt_key().is_none();
        self.trace.line(format_args!("       started: the latest entry is from {recovered_at}"));
        let unanswered: Vec<_> = std::mem::take(&mut self.unknown).into_values().collect();
        self.promises.crashed(&unanswered, self.at, recovered_at);
        self.at = recovered_at;
        self.decided_at = recovered_at;
        self.steps_since_stop = 0;
        if is_new {
            let mut secret = [0; 32];
            self.entropy.fill(&mut secret);
            self.ask(Command::Found { receipt_key: ReceiptKey::new(secret) }, Asker::Nobody)?;
        }
        for queue in all_queues() {
            self.ask(Command::Describe { queue }, Asker::FirstLook)?;
        }
        self.write_all()?;
        self.look_after_machine()
    }

    /// The program is gone at this moment. Nobody hears of what it was doing.
    pub(super) fn die(&mut self) {
        self.life = None;
        for (id, request) in std::mem::take(&mut self.requests) {
            self.unknown.insert(id, (request.command, request.asked_at));
        }
        self.held.clear();
    }

    /// The disk after a power cut; what was ordered to go wrong no longer will.
    fn lose_power(&mut self) {
        let survivors = Survivors::Seeded(self.chance.next());
        self.change_disk(self.disk.power_cut(&survivors));
    }

    pub(super) fn change_disk(&mut self, disk: FakeDisk) {
        self.disk = disk;
        self.faults.clear();
        self.counted_until = 0;
    }

    pub(super) fn cut_power(&mut self) -> Going {
        self.die();
        self.lose_power();
        self.open()
    }

    /// Notices that the power has gone, or that the engine has stopped.
    pub(super) fn look_after_machine(&mut self) -> Going {
        self.count_faults();
        if self.is_power_gone() {
            self.trace.line(format_args!("       the power is gone"));
            return self.cut_power();
        }
        let Some(life) = &self.life else { return Ok(()) };
        if let Some(reason) = life.core.stopped() {
            if !self.has_fault_fired() {
                return if self.is_damaged {
                    let reason = reason.to_owned();
                    self.noticed("by stopping", &reason)
                } else {
                    self.broken(format!("the engine stopped though nothing went wrong: {reason}"))
                };
            }
            self.steps_since_stop += 1;
            if self.steps_since_stop > 4 {
                self.trace.reached("recovery: after the engine had stopped");
                self.die();
                if self.chance.percent(50) {
                    self.lose_power();
                }
                return self.open();
            }
        }
        Ok(())
    }

    fn count_faults(&mut self) {
        let done = self.disk.counts().total();
        for (number, kind) in &self.faults {
            if (self.counted_until..done).contains(number) {
                self.trace.reached(match kind {
                    FaultKind::PowerCut => "fault: power cut at an input or output",
                    FaultKind::Fails => "fault: a failing input or output",
                    FaultKind::Torn => "fault: a torn write, or a failing input or output",
                });
            }
        }
        self.counted_until = done;
    }

    pub(super) fn restart(&mut self) -> Going {
        self.trace.reached("recovery: after a stop in good order");
        self.with_core(|core, outbox| core.drain(outbox))?;
        self.write_all()?;
        let is_alive = !self.is_power_gone() && self.life.as_ref().is_some_and(|life| life.core.stopped().is_none());
        if is_alive
            && self.requests.values().any(|request| !matches!(request.asker, Asker::Helper(_)))
            && !self.is_small
        {
            return self.broken("a stop in good order leaves someone without an answer");
        }
        self.die();
        self.open()
    }

    /// Writes until there is nothing to write, or no way to.
    pub(super) fn write_all(&mut self) -> Going {
        for _ in 0..1_000 {
            let is_stuck = |life: &Life| life.core.is_quiet() || life.core.stopped().is_some();
            if self.is_power_gone() || self.life.as_ref().is_none_or(is_stuck) {
                return Ok(());
            }
            let is_full = self.is_small && self.life.as_ref().is_some_and(|life| life.core.is_storage_full());
            if is_full {
                self.disk.set_capacity(u64::MAX);
            }
            self.write()?;
        }
        self.broken("there is no end to what is to be written")
    }

    /// The writer's next move.
    pub(super) fn write(&mut self) -> Going {
        if self.is_power_gone() {
            return Ok(());
        }
        let Some(life) = &mut self.life else { return Ok(()) };
        if life.core.stopped().is_some() {
            return Ok(());
        }
        let Some(batch) = &life.taken else { return self.take_batch() };
        match life.store.append(&batch.entries) {
            Ok(lsn) => {
                assert_eq!(lsn, batch.lsn, "a batch stands elsewhere than its entries were told");
                life.taken = None;
                self.make_room_in_time();
                if self.sabotage == Some(Sabotage::AnswersTooEarly) {
                    return Ok(());
                }
                self.with_core(|core, outbox| core.durable(outbox))
            }
            Err(AppendError::Full(reason)) => {
                if self.is_power_gone() {
                    return Ok(());
                }
                if !self.is_small && !self.has_fault_fired() && !self.is_damaged {
                    return self.broken(format!("the disk is said to be full: {reason}"));
                }
                self.trace.reached("fault: full disk");
                self.set_storage_full(true);
                Ok(())
            }
            Err(AppendError::Failed(reason)) => {
                // Without power there is nobody to say anything.
                if self.is_power_gone() {
                    return Ok(());
                }
                self.trace.line(format_args!("       the journal failed: {reason}"));
                self.trace.reached("fault: the journal failed");
                self.with_core(|core, outbox| core.stop(&reason, outbox))
            }
        }
    }

    fn take_batch(&mut self) -> Going {
        self.advance()?;
        let Some(life) = &mut self.life else { return Ok(()) };
        life.taken = life.core.take_batch();
        if let Some(batch) = &life.taken {
            self.trace.line(format_args!("       a batch of {} bytes is taken", batch.entries.len()));
            if self.sabotage == Some(Sabotage::AnswersTooEarly) {
                return self.with_core(|core, outbox| core.durable(outbox));
            }
        }
        Ok(())
    }

    fn set_storage_full(&mut self, full: bool) {
        if let Some(life) = &mut self.life {
            if life.core.is_storage_full() && !full {
                self.trace.reached("recovery: room on a full disk again");
            }
            life.core.set_storage_full(full);
        }
    }

    fn make_room_in_time(&mut self) {
        let Some(life) = &self.life else { return };
        if life.store.writable_bytes() < RESERVE_BYTES {
            let full = !life.store.make_room().unwrap_or(false);
            if full {
                self.trace.reached("fault: nearly full disk");
            }
            self.set_storage_full(full);
        }
    }

    /// Lets a helper go so many steps.
    pub(super) fn help(&mut self, which: Which, moves: u64, anyway: bool) -> Going {
        for _ in 0..moves {
            if self.is_power_gone() {
                return Ok(());
            }
            let Some(life) = &mut self.life else { return Ok(()) };
            let (helper, at) = &mut life.helpers[which as usize];
            let go = match std::mem::replace(at, HelperAt::Rest) {
                HelperAt::Rest => Go::Look { anyway },
                HelperAt::Ready(go) => go,
                asking @ HelperAt::Asking(_) => {
                    *at = asking;
                    return Ok(());
                }
            };
            let stop = helper.go(go);
            self.helper_stopped(which, stop)?;
        }
        Ok(())
    }

    fn helper_stopped(&mut self, which: Which, stop: Stop) -> Going {
        let Some(life) = &mut self.life else { return Ok(()) };
        let (name, at) = (which.name(), &mut life.helpers[which as usize].1);
        match stop {
            Stop::Before(what) => {
                self.trace.line(format_args!("       the {name} is about to {what}"));
                self.trace.reached(&format!("{name}: {what}"));
                *at = HelperAt::Ready(Go::On);
            }
            Stop::AsksForWork => {
                // A full disk has no room for pages, as the engine's runtime has it.
                let is_full = life.core.is_storage_full();
                let work = life.core.next_backlog_work();
                let work = work.filter(|work| !is_full || matches!(work, BacklogWork::Thaw { .. }));
                *at = HelperAt::Ready(Go::Work(work));
                life.has_moved_payloads = false;
            }
            Stop::Asks(command) => {
                *at = HelperAt::Asking(self.next_request);
                self.ask(command, Asker::Helper(which))?;
            }
            Stop::Done(Ok(())) => {
                let has_reserve = life.store.writable_bytes() >= RESERVE_BYTES;
                if which == Which::Keeper && life.core.is_storage_full() && has_reserve {
                    self.set_storage_full(false);
                }
            }
            Stop::Done(Err(reason)) => {
                let is_stopped = life.core.stopped().is_some();
                self.trace.line(format_args!("       the {name} failed: {reason}"));
                self.trace.reached(&format!("{name}: failed"));
                // What it was told to freeze may be elsewhere by now; it is told anew. (BUG 5)
                let is_overtaken = which == Which::Pager && life.has_moved_payloads;
                let is_excused = self.has_fault_fired() || self.is_small || is_stopped || is_overtaken;
                if self.is_damaged && !is_excused {
                    return self.noticed(&format!("by the {name}"), &reason);
                }
                if !is_excused {
                    return self.broken(format!("the {name} failed though nothing went wrong: {reason}"));
                }
            }
            Stop::Panicked(reason) => return self.broken(format!("the {name} panicked: {reason}")),
        }
        Ok(())
    }

    /// A helper has its answer.
    pub(super) fn answer_helper(&mut self, which: Which, request: u64, outcome: Outcome) {
        let Some(life) = &mut self.life else { return };
        let at = &mut life.helpers[which as usize].1;
        if matches!(at, HelperAt::Asking(asked) if *asked == request) {
            *at = HelperAt::Ready(Go::Outcome(outcome));
        }
    }

    pub(super) fn is_at_rest(&self, which: Which) -> bool {
        self.life.as_ref().is_none_or(|life| matches!(life.helpers[which as usize].1, HelperAt::Rest))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.at.max(Timestamp(self.clock))
    }

    pub(super) fn store(&self) -> Result<Arc<dyn Store>, Ended> {
        match &self.life {
            Some(life) => Ok(life.store.clone()),
            None => self.broken("the program does not run"),
        }
    }
}
