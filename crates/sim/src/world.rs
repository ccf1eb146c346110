//! The world around an engine: its machine, its clients, its clock. One thing happens at a time, and the plan says which.
//!
//! ```text
//!   plan ──step──▶ world ──ask──▶ core ──take_batch──▶ writer ──append──▶ store ──▶ fake disk
//!                    │             ▲ │                                      ▲
//!                    │             │ └──answers──▶ promises: kept?          │
//!                    └──go────▶ keeper ─────────────────────────────────────┘
//! ```
//!
//! What the engine's runtime does with threads, locks and a clock is done here by hand: the core, the store, the recovery
//! and the house are the real ones.

mod clients;
mod machine;
mod peace;

use crate::chance::Chance;
use crate::helper::Helper;
use crate::plan::{ACCOUNTS, FaultKind, Plan, QUEUES, Step, Tick};
use crate::promises::Promises;
use crate::sabotage::Sabotage;
use crate::trace::{Reach, Trace};
use clients::{Held, Request};
use engine::core::{Core, Outbox, TakenBatch};
use engine::store::Store;
use host::disk::{Disk, EIO, FakeDisk, Fault};
use host::entropy::FakeEntropy;
use machine::{HelperAt, Which};
use model::{AccountId, QueueKey, QueueName, Region, Timestamp};
use shard::{Command, Receipt};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What came of a run.
pub struct Run {
    /// Of everything that happened: the same for the same plan.
    pub hash: u64,
    pub lines: Vec<String>,
    pub reach: Reach,
    pub failure: Option<Failure>,
}

/// A promise was broken.
#[derive(Clone, Debug)]
pub struct Failure {
    pub promise: String,
    /// The number of the step at which that showed; none after the last one.
    pub step: Option<usize>,
}

/// How a run ends before its plan does.
pub(crate) enum Ended {
    Broken(String),
    /// A flipped bit was found out, and the engine says so instead of going on.
    Noticed,
}

pub(crate) type Going = Result<(), Ended>;

pub(crate) struct World {
    rules: shard::Rules,
    sabotage: Option<Sabotage>,
    chance: Chance,
    trace: Trace,
    promises: Promises,
    entropy: FakeEntropy,

    disk: FakeDisk,
    /// Faults that were ordered, by the number of the input or output.
    faults: Vec<(u64, FaultKind)>,
    /// Those before this number were counted in the reach.
    counted_until: u64,
    /// The disk has been made small in this life.
    is_small: bool,
    /// A bit was flipped.
    is_damaged: bool,
    /// The program, while it runs.
    life: Option<Life>,
    /// How many inputs and outputs there had been when this life began.
    life_began: u64,
    /// Nothing goes wrong any more.
    is_peace: bool,
    slow_steps: u64,
    steps_since_stop: u32,

    clock: u64,
    /// The latest moment that the core has seen.
    at: Timestamp,
    requests: BTreeMap<u64, Request>,
    next_request: u64,
    next_message: u64,
    /// When the latest answer that came was decided, at the earliest.
    decided_at: Timestamp,
    /// Asked in this life, and told that nobody knows what became of it.
    unknown: BTreeMap<u64, (Command, Timestamp)>,
    held: Vec<Held>,
    receipts: Vec<(QueueKey, Receipt)>,
}

/// A running program.
struct Life {
    core: Core<u64>,
    store: Arc<dyn Store>,
    /// The keeper and the pager, in this order, and where each is.
    helpers: [(Helper, HelperAt); 2],
    taken: Option<TakenBatch>,
    /// Payloads were moved since the pager was last told what to do.
    has_moved_payloads: bool,
}

/// Carries out a plan.
pub fn run(plan: &Plan, sabotage: Option<Sabotage>, keeps_lines: bool) -> Run {
    let mut world = World::new(plan, sabotage, keeps_lines);
    let mut at_step = None;
    crate::panics::silence();
    let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.live(plan, &mut at_step)));
    let ended = lived.unwrap_or_else(|_| Err(Ended::Broken(format!("a panic: {}", crate::panics::last()))));
    // What is left may be in the middle of something; its end is nobody's business.
    let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(world.life.take())));
    drop(closed);
    crate::panics::speak();
    let failure = match ended {
        Ok(()) => None,
        Err(Ended::Noticed) => None,
        Err(Ended::Broken(promise)) => Some(Failure { promise, step: at_step }),
    };
    let (hash, lines, reach) = world.trace.into_parts();
    Run { hash, lines, reach, failure }
}

pub(crate) fn queue_key(index: usize) -> QueueKey {
    let (account, name) = QUEUES[index];
    QueueKey {
        account: AccountId::parse(ACCOUNTS[account]).expect("an account of ours"),
        region: Region::parse("eu-west-1").expect("a Region of ours"),
        name: QueueName::parse(name).expect("a name of ours"),
    }
}

pub(crate) fn all_queues() -> impl Iterator<Item = QueueKey> {
    (0..QUEUES.len()).map(queue_key)
}

impl World {
    fn new(plan: &Plan, sabotage: Option<Sabotage>, keeps_lines: bool) -> Self {
        Self {
            rules: plan.rules.clone(),
            sabotage,
            chance: Chance::new(!plan.seed),
            trace: Trace::new(keeps_lines),
            promises: Promises::new(plan.rules.clone()),
            entropy: FakeEntropy::new(plan.seed),
            disk: FakeDisk::default(),
            faults: Vec::new(),
            counted_until: 0,
            is_small: false,
            is_damaged: false,
            life: None,
            life_began: 0,
            is_peace: false,
            slow_steps: 0,
            steps_since_stop: 0,
            clock: 1_700_000_000_000,
            at: Timestamp::ZERO,
            requests: BTreeMap::new(),
            next_request: 0,
            next_message: 0,
            decided_at: Timestamp::ZERO,
            unknown: BTreeMap::new(),
            held: Vec::new(),
            receipts: Vec::new(),
        }
    }

    fn live(&mut self, plan: &Plan, at_step: &mut Option<usize>) -> Going {
        self.open()?;
        for (number, step) in &plan.steps {
            *at_step = Some(*number);
            self.trace.line(format_args!("{number:>5}  {step:?}"));
            self.step(step)?;
            self.look_after_machine()?;
        }
        *at_step = None;
        self.make_peace()
    }

    fn step(&mut self, step: &Step) -> Going {
        self.slow_steps = self.slow_steps.saturating_sub(1);
        match step {
            Step::Ask(op) => self.ask_op(op),
            Step::Read(pick) => self.read(*pick),
            Step::HangUp(pick) => self.hang_up(*pick),
            Step::Write if self.slow_steps > 0 => {
                self.trace.reached("fault: slow disk");
                Ok(())
            }
            Step::Write => self.write(),
            Step::SlowDisk(steps) => {
                self.slow_steps = *steps;
                Ok(())
            }
            Step::Keep(moves) => self.help(Which::Keeper, *moves, false),
            Step::Page(moves) => self.help(Which::Pager, *moves, false),
            Step::Snapshot => self.help(Which::Keeper, 1, true),
            Step::Clock(tick) => self.tick(*tick),
            Step::Fault { after, kind } => {
                let number = self.disk.counts().total() + after;
                let fault = match kind {
                    FaultKind::PowerCut => Fault::PowerCut,
                    FaultKind::Fails => Fault::Fails(EIO),
                    FaultKind::Torn => Fault::Torn,
                };
                self.disk.fault(number, fault);
                self.faults.retain(|(other, _)| *other != number);
                self.faults.push((number, *kind));
                Ok(())
            }
            Step::DiskHolds { free_bytes } => {
                self.disk.set_capacity(self.disk.used_bytes() + free_bytes);
                self.is_small = true;
                Ok(())
            }
            Step::DiskGrows => {
                self.disk.set_capacity(u64::MAX);
                Ok(())
            }
            Step::Crash => {
                self.trace.reached("fault: crash");
                self.die();
                self.open()
            }
            Step::PowerCut => {
                self.trace.reached("fault: power cut between two steps");
                self.cut_power()
            }
            Step::Restart => self.restart(),
            Step::FlipBit(pick) => self.flip_bit(*pick),
        }
    }

    fn tick(&mut self, tick: Tick) -> Going {
        match tick {
            Tick::Forward { milliseconds } => self.clock += milliseconds,
            Tick::Back { milliseconds } => {
                self.trace.reached("fault: clock jumps back");
                self.clock = self.clock.saturating_sub(milliseconds);
            }
            Tick::ToDeadline => {
                let deadline = self.life.as_ref().and_then(|life| life.core.next_deadline());
                self.clock = deadline.map_or(self.clock, |deadline| deadline.0.max(self.clock));
            }
        }
        self.advance()
    }

    /// Lets the core know the time, and looks whether someone waits in vain.
    fn advance(&mut self) -> Going {
        if self.sabotage != Some(Sabotage::ForgetsLongPolls) {
            let now = Timestamp(self.clock);
            self.with_core(|core, outbox| core.advance(now, outbox))?;
        }
        self.check_waiting()
    }

    /// Does something with the core and hands out the replies that leave.
    fn with_core(&mut self, run: impl FnOnce(&mut Core<u64>, &mut Outbox<u64>)) -> Going {
        self.at = self.at.max(Timestamp(self.clock));
        let Some(life) = &mut self.life else { return Ok(()) };
        let mut outbox = Outbox::new();
        run(&mut life.core, &mut outbox);
        self.hand_out(outbox)
    }

    fn broken<T>(&self, promise: impl Into<String>) -> Result<T, Ended> {
        Err(Ended::Broken(promise.into()))
    }

    /// Whether an input or output of this life has gone wrong as ordered.
    fn has_fault_fired(&self) -> bool {
        let done = self.disk.counts().total();
        self.faults.iter().any(|(number, _)| (self.life_began..done).contains(number))
    }

    fn is_power_gone(&self) -> bool {
        let done = self.disk.counts().total();
        self.faults.iter().any(|(number, kind)| *kind == FaultKind::PowerCut && *number < done)
    }

    fn flip_bit(&mut self, pick: u64) -> Going {
        let mut files = Vec::new();
        for dir in ["journal", "snapshots", "pages"].map(|dir| machine::data().join(dir)) {
            files.extend(self.disk.list(&dir).unwrap_or_default().into_iter().map(|name| dir.join(name)));
        }
        if files.is_empty() {
            return Ok(());
        }
        let file = &files[pick as usize % files.len()];
        let bytes = self.disk.contents(file).map_or(0, |contents| contents.len());
        if bytes == 0 {
            return Ok(());
        }
        // Mostly near the beginning, where there is something.
        let among = if pick >> 61 == 0 { bytes } else { bytes.min(12_000) };
        let bit = (pick >> 8) as usize % (among * 8);
        self.trace.line(format_args!("       bit {bit} of {} is flipped", file.display()));
        self.trace.reached("fault: flipped bit");
        self.disk.flip_bit(file, bit);
        self.is_damaged = true;
        Ok(())
    }

    /// Goes by what a flipped bit has done: if it was found out, that's the end, and a good one.
    fn noticed<T>(&mut self, how: &str, reason: &str) -> Result<T, Ended> {
        self.trace.line(format_args!("       damage is noticed {how}: {reason}"));
        self.trace.reached(&format!("damage: noticed {how}"));
        Err(Ended::Noticed)
    }
}
