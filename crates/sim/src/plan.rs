//! A run, written down before it begins: how the engine is set up, and step after step what happens to it.
//!
//! A step never depends on the steps before it being there: it picks among what there is when its turn comes. So any of
//! them can be left out and the rest still makes sense, which is how a failing run is made short.

use crate::chance::Chance;
use shard::{Paging, Rules, Setting};
use std::collections::BTreeMap;

/// All that decides a run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub rules: Rules,
    /// Each with its number, so that what is left of a shortened plan can be named.
    pub steps: Vec<(usize, Step)>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Step {
    /// A client asks something.
    Ask(Op),
    /// A client reads the reply that has come.
    Read(u64),
    /// A client hangs up: while it waits, or with its reply on the way.
    HangUp(u64),
    /// The writer does its next thing: takes a batch, or writes the one it has.
    Write,
    /// The writer can't get on for so many steps.
    SlowDisk(u64),
    /// The keeper goes so many steps further.
    Keep(u64),
    /// The pager goes so many steps further.
    Page(u64),
    /// The keeper, if it has nothing to do, begins to make a snapshot.
    Snapshot,
    Clock(Tick),
    /// So many inputs and outputs from now one goes wrong.
    Fault {
        after: u64,
        kind: FaultKind,
    },
    /// So many bytes are free on the disk, and no more.
    DiskHolds {
        free_bytes: u64,
    },
    DiskGrows,
    /// The program dies; the disk stays as it is.
    Crash,
    /// The power goes now.
    PowerCut,
    /// The program is stopped in good order and started again.
    Restart,
    /// A bit of some file is flipped.
    FlipBit(u64),
}

#[derive(Clone, Copy, Debug)]
pub enum Tick {
    Forward {
        milliseconds: u64,
    },
    Back {
        milliseconds: u64,
    },
    /// To the next moment at which something happens by itself.
    ToDeadline,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    PowerCut,
    Fails,
    Torn,
}

/// What a client asks. Queues are named by their index, receipts by a number that picks among those known.
#[derive(Clone, Debug)]
pub enum Op {
    Create {
        queue: usize,
        settings: Vec<Setting>,
        tags: BTreeMap<String, String>,
    },
    DeleteQueue {
        queue: usize,
    },
    Purge {
        queue: usize,
    },
    Set {
        queue: usize,
        settings: Vec<Setting>,
    },
    Tag {
        queue: usize,
        tags: BTreeMap<String, String>,
    },
    Untag {
        queue: usize,
        keys: Vec<String>,
    },
    Describe {
        queue: usize,
    },
    List {
        account: usize,
        prefix: &'static str,
        after: Option<&'static str>,
        results_max: usize,
    },
    /// Bodies by their lengths in bytes.
    Send {
        queue: usize,
        messages: Vec<(Option<u32>, usize)>,
    },
    Receive {
        queue: usize,
        messages_max: usize,
        visibility_seconds: Option<u32>,
        wait_seconds: Option<u32>,
    },
    /// Without `queue`, that of the first receipt.
    Delete {
        queue: Option<usize>,
        receipts: Vec<u64>,
    },
    ChangeVisibility {
        queue: Option<usize>,
        receipts: Vec<(u64, u32)>,
    },
}

/// The queues there may be: (account, name).
pub const QUEUES: [(usize, &str); 5] = [(0, "alpha"), (0, "beta"), (0, "beta-2"), (1, "alpha"), (1, "gamma")];
pub const ACCOUNTS: [&str; 2] = ["000000000000", "123456789012"];

/// Longest body that a queue takes by default here, so that some are too long.
pub const LONG_BODY_BYTES: usize = 1_500;

/// What a run is made of: some do without this or that, so that the rest gets further.
struct Flavour {
    queues: u64,
    /// Of [`Flavour::STEPS`].
    weights: [u64; 16],
    /// Of [`Flavour::OPS`].
    ops: [u64; 12],
    long_polls: bool,
    changes_settings: bool,
}

impl Flavour {
    fn draw(chance: &mut Chance) -> Self {
        //            ask read hang write slow keep snap clock fault small grows crash power restart flip page
        let mut weights = [400, 250, 15, 380, 6, 70, 8, 60, 6, 4, 4, 3, 3, 1, 0, 70];
        for kind in [2, 4, 5, 7, 8, 9, 11, 12, 13] {
            if chance.percent(35) {
                weights[kind] = 0;
            }
        }
        if weights[5] == 0 {
            weights[6] = 0;
        }
        if chance.percent(15) {
            weights[14] = 6;
        }
        if chance.percent(10) {
            weights[8] *= 8;
        }
        //             create del purge set tag untag desc list send receive delete change
        let mut ops = [60, 8, 8, 14, 8, 8, 40, 10, 220, 260, 120, 60];
        match chance.below(4) {
            0 => (ops[1], ops[2]) = (0, 0),
            // A backlog that grows.
            1 => (ops[1], ops[2], ops[8], ops[9]) = (0, 1, 400, 100),
            _ => {}
        }
        Self {
            queues: chance.within(1, QUEUES.len() as u64),
            weights,
            ops,
            long_polls: chance.percent(60),
            changes_settings: chance.percent(60),
        }
    }
}

impl Plan {
    /// The run that belongs to a seed.
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let flavour = Flavour::draw(&mut chance);
        let page_messages = chance.within(3, 8) as usize;
        let thaw_below = chance.within(1, 6) as usize;
        let window = thaw_below + page_messages + chance.below(4) as usize;
        let paging = Paging {
            page_messages,
            page_bytes: 4 << 10,
            window,
            thaw_below,
            freeze_above: window + page_messages + chance.below(4) as usize,
            look_every: 4,
        };
        let rules = Rules {
            purge_interval_seconds: 5,
            deleted_name_seconds: 2,
            in_flight_max: *chance.pick(&[5, 15, 1_000]),
            paging,
        };
        let count = chance.within(150, 600) as usize;
        let mut steps = vec![Step::Ask(Op::Create { queue: 0, settings: vec![], tags: BTreeMap::new() })];
        steps.extend(std::iter::repeat_with(|| step(&mut chance, &flavour)).take(count));
        Self { seed, rules, steps: steps.into_iter().enumerate().collect() }
    }

    /// The same with some of the steps only.
    pub fn only(&self, numbers: &[usize]) -> Self {
        let steps = self.steps.iter().filter(|(number, _)| numbers.contains(number)).cloned().collect();
        Self { steps, ..self.clone() }
    }
}

fn step(chance: &mut Chance, flavour: &Flavour) -> Step {
    match chance.weighted(&flavour.weights) {
        0 => Step::Ask(op(chance, flavour)),
        1 => Step::Read(chance.next()),
        2 => Step::HangUp(chance.next()),
        3 => Step::Write,
        4 => Step::SlowDisk(chance.within(5, 40)),
        5 => Step::Keep(chance.within(1, 12)),
        6 => Step::Snapshot,
        7 => Step::Clock(tick(chance)),
        8 => Step::Fault {
            after: chance.below(40),
            kind: *chance.pick(&[FaultKind::PowerCut, FaultKind::PowerCut, FaultKind::Fails, FaultKind::Torn]),
        },
        9 => Step::DiskHolds { free_bytes: chance.below(2) * chance.below(10_000) },
        10 => Step::DiskGrows,
        11 => Step::Crash,
        12 => Step::PowerCut,
        13 => Step::Restart,
        14 => Step::FlipBit(chance.next()),
        _ => Step::Page(chance.within(1, 10)),
    }
}

fn tick(chance: &mut Chance) -> Tick {
    match chance.below(12) {
        0..=3 => Tick::Forward { milliseconds: chance.within(1, 3_000) },
        4..=5 => Tick::Forward { milliseconds: chance.within(3_000, 60_000) },
        6 => Tick::Forward { milliseconds: chance.within(60_000, 20_000_000) },
        7 => Tick::Forward { milliseconds: chance.within(1, 6) * 86_400_000 },
        8 => Tick::Back { milliseconds: chance.within(1, 100_000_000) },
        _ => Tick::ToDeadline,
    }
}

fn op(chance: &mut Chance, flavour: &Flavour) -> Op {
    let queue = chance.below(flavour.queues) as usize;
    let anywhere = |chance: &mut Chance| chance.percent(6).then(|| chance.below(flavour.queues) as usize);
    match chance.weighted(&flavour.ops) {
        0 => {
            let settings = if chance.percent(30) { settings(chance) } else { vec![] };
            Op::Create { queue, settings, tags: if chance.percent(20) { tags(chance) } else { BTreeMap::new() } }
        }
        1 => Op::DeleteQueue { queue },
        2 => Op::Purge { queue },
        3 if flavour.changes_settings => Op::Set { queue, settings: settings(chance) },
        3 => Op::Describe { queue },
        4 => Op::Tag { queue, tags: tags(chance) },
        5 => Op::Untag { queue, keys: tags(chance).into_keys().collect() },
        6 => Op::Describe { queue },
        7 => Op::List {
            account: chance.below(2) as usize,
            prefix: chance.pick::<&str>(&["", "", "beta", "x"]),
            after: *chance.pick(&[None, None, Some("alpha"), Some("beta"), Some("not/a/name")]),
            results_max: chance.within(1, 3) as usize,
        },
        8 => {
            let count = if chance.percent(50) { 1 } else { chance.within(1, 10) };
            Op::Send { queue, messages: (0..count).map(|_| message(chance)).collect() }
        }
        9 => {
            let wait_seconds = if flavour.long_polls && chance.percent(40) {
                Some(chance.within(1, 20) as u32)
            } else {
                *chance.pick(&[None, Some(0), Some(0)])
            };
            Op::Receive {
                queue,
                messages_max: *chance.pick(&[1, 1, 2, 3, 10, 10]),
                visibility_seconds: *chance.pick(&[None, Some(0), Some(1), Some(5), Some(30), Some(600), Some(43_200)]),
                wait_seconds,
            }
        }
        10 => {
            let count = *chance.pick(&[1, 1, 2, 5, 10]);
            Op::Delete { queue: anywhere(chance), receipts: (0..count).map(|_| chance.next()).collect() }
        }
        _ => {
            let count = *chance.pick(&[1, 1, 3]);
            let seconds = [0, 0, 1, 10, 60, 3_600, 43_200];
            let receipts = (0..count).map(|_| (chance.next(), *chance.pick(&seconds))).collect();
            Op::ChangeVisibility { queue: anywhere(chance), receipts }
        }
    }
}

fn message(chance: &mut Chance) -> (Option<u32>, usize) {
    let delay_seconds = *chance.pick(&[None, None, None, Some(0), Some(0), Some(1), Some(20), Some(900)]);
    let body_bytes = match chance.below(40) {
        0 => LONG_BODY_BYTES,
        1 => 0,
        _ => chance.within(1, 250) as usize,
    };
    (delay_seconds, body_bytes)
}

fn settings(chance: &mut Chance) -> Vec<Setting> {
    if chance.percent(4) {
        return vec![Setting::KmsMasterKey { id: Some("key".into()) }, Setting::SqsManagedSse { enabled: true }];
    }
    let count = chance.below(3) + 1;
    (0..count).map(|_| setting(chance)).collect()
}

fn setting(chance: &mut Chance) -> Setting {
    match chance.below(24) {
        0..=3 => Setting::VisibilityTimeout { seconds: *chance.pick(&[0, 2, 30, 43_200]) },
        4..=7 => Setting::Delay { seconds: *chance.pick(&[0, 0, 3, 900]) },
        8..=11 => Setting::Retention { seconds: *chance.pick(&[60, 3_600, 345_600, 1_209_600]) },
        12..=14 => Setting::MaximumMessageSize { bytes: *chance.pick(&[1_024, 262_144]) },
        15..=18 => Setting::ReceiveWait { seconds: *chance.pick(&[0, 0, 5, 20]) },
        19 => Setting::SqsManagedSse { enabled: chance.percent(50) },
        20 => Setting::KmsMasterKey { id: chance.percent(30).then(|| "key".to_owned()) },
        21 => Setting::KmsDataKeyReuse { seconds: 60 },
        _ => Setting::Policy { document: chance.percent(50).then(|| "{}".to_owned()) },
    }
}

fn tags(chance: &mut Chance) -> BTreeMap<String, String> {
    // Two long lists in a row are more than a queue may have.
    let count = if chance.percent(30) { 45 } else { chance.within(1, 3) };
    (0..count).map(|_| (format!("tag{}", chance.below(120)), format!("{}", chance.below(5)))).collect()
}
