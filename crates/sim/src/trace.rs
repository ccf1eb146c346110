//! What happened in a run: a hash of all of it, the lines on request, and which things occurred at all.

use engine::core::Outcome;
use shard::Answer;
use std::collections::BTreeMap;
use std::fmt;

/// How often each thing occurred.
pub type Reach = BTreeMap<String, u64>;

pub struct Trace {
    hash: u64,
    lines: Option<Vec<String>>,
    pub reach: Reach,
}

impl Trace {
    pub fn new(keeps_lines: bool) -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, lines: keeps_lines.then(Vec::new), reach: Reach::new() }
    }

    pub fn line(&mut self, line: fmt::Arguments<'_>) {
        if let Some(lines) = &mut self.lines {
            lines.push(line.to_string());
        }
        let _ = fmt::write(&mut Hasher(&mut self.hash), line);
    }

    pub fn reached(&mut self, what: &str) {
        match self.reach.get_mut(what) {
            Some(count) => *count += 1,
            None => drop(self.reach.insert(what.to_owned(), 1)),
        }
    }

    pub fn into_parts(self) -> (u64, Vec<String>, Reach) {
        (self.hash, self.lines.unwrap_or_default(), self.reach)
    }
}

/// FNV-1a.
struct Hasher<'a>(&'a mut u64);

impl fmt::Write for Hasher<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            *self.0 = (*self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        Ok(())
    }
}

/// An answer in a few words.
pub fn show(outcome: &Outcome) -> String {
    match outcome {
        Err(error) => error.to_string(),
        Ok(Answer::Queue(facts)) => format!(
            "{} visible, {} delayed, {} in flight; made at {}, retention {} s, visibility {} s, delay {} s",
            facts.visible,
            facts.delayed,
            facts.in_flight,
            facts.created_at,
            facts.settings.retention_seconds,
            facts.settings.visibility_seconds,
            facts.settings.delay_seconds,
        ),
        Ok(Answer::Sent(outcomes)) => {
            let serials = outcomes.iter().map(|outcome| match outcome {
                Ok(sent) => sent.serial.0.to_string(),
                Err(error) => format!("{error:?}"),
            });
            format!("sent {}", serials.collect::<Vec<_>>().join(" "))
        }
        Ok(Answer::Received { deliveries, .. }) => {
            let deliveries = deliveries.iter().map(|delivery| {
                let (receipt, count) = (delivery.receipt, delivery.receive_count);
                format!("{} (delivery {}, received {count} times)", receipt.serial.0, receipt.delivery.0)
            });
            format!("received {}", deliveries.collect::<Vec<_>>().join(", "))
        }
        Ok(answer) => format!("{answer:?}"),
    }
}

/// What must occur, or a simulation says less than it seems to.
pub const EXPECTED: &[&str] = &[
    "a client hung up before its messages came",
    "a client hung up while it waited",
    "a client hung up with its messages on the way",
    "a long poll's queue is deleted",
    "a long poll waits",
    "answer: Done",
    "answer: Outcomes",
    "answer: Queue",
    "answer: Queues",
    "answer: Sent",
    "answer: messages",
    "answer: no messages",
    "asked: ChangeVisibility",
    "asked: CreateQueue",
    "asked: Delete",
    "asked: DeleteQueue",
    "asked: Describe",
    "asked: List",
    "asked: PurgeQueue",
    "asked: Receive",
    "asked: Send",
    "asked: SetAttributes",
    "asked: Tag",
    "asked: Untag",
    "damage: harmless",
    "damage: noticed at start",
    "damage: noticed by reading",
    "damage: noticed by the keeper",
    "damage: noticed by the pager",
    "fault: a failing input or output",
    "fault: a torn write, or a failing input or output",
    "fault: clock jumps back",
    "fault: crash",
    "fault: flipped bit",
    "fault: full disk",
    "fault: nearly full disk",
    "fault: power cut at an input or output",
    "fault: power cut between two steps",
    "fault: power cut during recovery",
    "fault: slow disk",
    "fault: the journal failed",
    "keeper: failed",
    "keeper: make room",
    "keeper: put page",
    "keeper: read snapshot",
    "keeper: remove page",
    "keeper: replay",
    "keeper: trim",
    "keeper: write snapshot",
    "pager: a page was touched meanwhile",
    "pager: failed",
    "pager: froze a page",
    "pager: put page",
    "pager: read page",
    "peace: drained",
    "peace: nothing left",
    "read: failed by the disk",
    "read: failed, the message was gone",
    "read: from a page",
    "read: from the journal",
    "recovery: a torn record was cut off",
    "recovery: after a stop in good order",
    "recovery: after the engine had stopped",
    "recovery: failed once by a failing disk",
    "recovery: from a snapshot alone",
    "recovery: from a snapshot and the journal after it",
    "recovery: from nothing",
    "recovery: from the journal alone",
    "recovery: room on a full disk again",
    "recovery: with a backlog in pages",
    "refused: EncryptionConflict",
    "refused: KeyNotFound",
    "refused: PurgeInProgress",
    "refused: QueueDeletedRecently",
    "refused: QueueDoesNotExist",
    "refused: QueueNameExists",
    "refused: TooManyInFlight",
    "refused: TooManyTags",
    "refused: a message is too long",
    "refused: receipt Gone",
    "refused: receipt HiddenTooLong",
    "refused: receipt NotInFlight",
    "refused: receipt OtherQueue",
    "refused: stopped",
    "refused: storage full",
];
