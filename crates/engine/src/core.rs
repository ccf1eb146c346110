//! The heart of the engine: no threads, no clock, no disk. The runtime drives it, and so does the simulator.
//!
//! ```text
//!   ask(at, command) ──▶ decide ──▶ apply ──▶ batch being gathered ──take_batch──▶ (journal)
//!                          │                        │ replies ride along                │
//!                          │ nothing visible        ▼                                   ▼
//!                          └──▶ waiters      replies leave ◀───────────────────────── durable
//! ```
//!
//! A reply leaves when all that it depends on is durable. What a command saw may come from entries that are still on
//! their way to the disk, so every reply, a read's too, rides on the latest batch that isn't durable yet.

use crate::AskError;
use crate::waiters::{Ticket, Waiter, Waiters};
use bytes::Bytes;
use model::{QueueId, Timestamp};
use shard::{Answer, BacklogWork, Command, Entry, PayloadAt, Refusal, Reply, Shard};
use std::collections::VecDeque;

/// What a command gives in the end.
pub type Outcome = Result<Answer, AskError>;

/// Replies that may leave, each with what its asker gave along.
pub type Outbox<T> = Vec<(T, Outcome)>;

/// A batch isn't made longer once it has this many bytes.
const BATCH_BYTES_TARGET: usize = 1 << 20;

/// Most bytes that may wait for the disk; beyond, whatever would add to them is turned away.
const BACKLOG_BYTES_MAX: usize = 64 << 20;

/// `T` stands for whoever waits for a reply.
pub struct Core<T> {
    shard: Shard,
    /// Never goes back, whatever the clock does.
    at: Timestamp,
    journaling: Option<Journaling<T>>,
    waiters: Waiters<T>,
    /// Why nothing is accepted any more.
    stopped: Option<String>,
    /// Receives no longer wait.
    draining: bool,
    storage_full: bool,
}

/// What is on its way to the journal.
struct Journaling<T> {
    /// Position of the next byte to be gathered.
    end: u64,
    /// Bytes that the journal puts before each record.
    header_bytes: u64,
    gathered: VecDeque<Batch<T>>,
    gathered_bytes: usize,
    /// The batch that was taken and isn't durable yet: where it begins, and its replies.
    taken: Option<(u64, Vec<(T, Outcome)>)>,
    last_batch_bytes: usize,
}

struct Batch<T> {
    lsn: u64,
    position: u64,
    entries: Vec<u8>,
    replies: Vec<(T, Outcome)>,
}

/// A batch to be written: one record of the journal.
pub struct TakenBatch {
    /// Where its record will begin.
    pub lsn: u64,
    /// Where the first byte of its entries will stand.
    pub position: u64,
    pub entries: Bytes,
}

/// What became of a command that was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// Its reply is in the outbox, now or once its batch is durable.
    Answered,
    /// It waits for a message to become visible. [`Core::cancel`] takes it back.
    Waiting { queue: QueueId, ticket: Ticket },
}

impl<T> Core<T> {
    /// Goes on from `shard`. With `end`, the position at which the journal's next record will stand, entries are
    /// gathered for it; without, nothing is written anywhere.
    pub fn new(shard: Shard, journal_end: Option<u64>, header_bytes: u64) -> Self {
        let journaling = journal_end.map(|end| Journaling {
            end,
            header_bytes,
            gathered: VecDeque::new(),
            gathered_bytes: 0,
            taken: None,
            last_batch_bytes: 0,
        });
        Self {
            at: shard.at(),
            shard,
            journaling,
            waiters: Waiters::default(),
            stopped: None,
            draining: false,
            storage_full: false,
        }
    }

    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// What is to be done next about a backlog, if anything. Only what is durable is moved.
    pub fn next_backlog_work(&mut self) -> Option<BacklogWork> {
        let durable_end = self.journaling.as_ref()?.durable_end();
        self.shard.next_backlog_work().filter(|work| match work {
            BacklogWork::Thaw { .. } => true,
            BacklogWork::Freeze { messages, .. } => messages.iter().all(|(.., payload)| match payload {
                PayloadAt::Journal { position, .. } => *position < durable_end,
                _ => true,
            }),
        })
    }

    /// Carries out `command`, or lets it wait. `now` may jump back; what is stamped doesn't.
    pub fn ask(&mut self, now: Timestamp, command: Command, token: T, outbox: &mut Outbox<T>) -> Asked {
        self.at = self.at.max(now);
        if let Err(error) = self.admit(&command) {
            outbox.push((token, Err(error)));
            return Asked::Answered;
        }
        // A receive that finds nothing is asked again later, as it was. Nobody overtakes those who wait: what has become
        // visible meanwhile is theirs.
        let receive = match &command {
            Command::Receive(receive) => {
                if let Some(queue) = self.shard.queue_id(&receive.queue).filter(|&queue| self.waiters.any(queue)) {
                    self.settle(queue, outbox);
                }
                Some(receive.clone())
            }
            _ => None,
        };
        let decision = self.shard.decide(self.at, command);
        if let (Some(receive), Some(queue), Some(seconds)) = (receive, decision.queue, wait_of(&decision.reply))
            && !self.draining
            && self.waiters.has_room()
        {
            let until = self.at.plus_seconds(u64::from(seconds));
            let next_visible_at = self.shard.next_visible_at(queue);
            let ticket = self.waiters.add(queue, Waiter { receive, until, token }, next_visible_at);
            return Asked::Waiting { queue, ticket };
        }
        self.commit(decision.entry);
        self.reply(token, decision.reply.map_err(AskError::Refused), outbox);
        if let Some(queue) = decision.queue {
            self.settle(queue, outbox);
        }
        Asked::Answered
    }

    /// Takes back a receive that waits. Nothing where it was answered meanwhile.
    pub fn cancel(&mut self, queue: QueueId, ticket: Ticket) -> Option<T> {
        self.waiters.remove(queue, ticket).map(|waiter| waiter.token)
    }

    /// Lets time pass: answers the receives whose time is up, and those whose messages have become visible.
    pub fn advance(&mut self, now: Timestamp, outbox: &mut Outbox<T>) {
        self.at = self.at.max(now);
        while let Some(queue) = self.waiters.next_woken(self.at) {
            self.settle(queue, outbox);
        }
        while let Some(waiter) = self.waiters.next_expired(self.at) {
            self.reply(waiter.token, Ok(NO_MESSAGES), outbox);
        }
    }

    /// When [`Self::advance`] next has something to do.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.waiters.next_deadline()
    }

    /// The next batch to write, once the one before is durable.
    pub fn take_batch(&mut self) -> Option<TakenBatch> {
        let journaling = self.journaling.as_mut()?;
        if journaling.taken.is_some() {
            return None;
        }
        let mut batch = journaling.gathered.pop_front()?;
        if batch.entries.capacity() > batch.entries.len() + batch.entries.len() / 4 {
            // It is kept for a while, to be received from.
            batch.entries.shrink_to_fit();
        }
        journaling.gathered_bytes -= batch.entries.len();
        journaling.last_batch_bytes = batch.entries.len();
        journaling.taken = Some((batch.lsn, batch.replies));
        Some(TakenBatch { lsn: batch.lsn, position: batch.position, entries: batch.entries.into() })
    }

    /// Says that the batch taken last is durable. Its replies leave.
    pub fn durable(&mut self, outbox: &mut Outbox<T>) {
        let journaling = self.journaling.as_mut().expect("only what was taken becomes durable");
        let (_, replies) = journaling.taken.take().expect("only what was taken becomes durable");
        outbox.extend(replies);
    }

    /// Nothing is accepted from now on, and nothing that waits will be carried out: the journal failed.
    pub fn stop(&mut self, reason: &str, outbox: &mut Outbox<T>) {
        self.stopped = Some(reason.to_owned());
        let refuse = |token| (token, Err(AskError::Stopped { reason: reason.to_owned() }));
        if let Some(journaling) = &mut self.journaling {
            let taken = journaling.taken.take().map(|(_, replies)| replies).unwrap_or_default();
            let gathered = journaling.gathered.drain(..).flat_map(|batch| batch.replies);
            outbox.extend(taken.into_iter().chain(gathered).map(|(token, _)| refuse(token)));
            journaling.gathered_bytes = 0;
        }
        outbox.extend(self.waiters.remove_all().map(|waiter| refuse(waiter.token)));
    }

    /// Why nothing is accepted any more, if that is so.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// From now on receives don't wait; those that do are answered.
    pub fn drain(&mut self, outbox: &mut Outbox<T>) {
        self.draining = true;
        let waiters: Vec<_> = self.waiters.remove_all().collect();
        for waiter in waiters {
            self.reply(waiter.token, Ok(NO_MESSAGES), outbox);
        }
    }

    /// While the storage is full, whatever adds to it is turned away; receives and deletes go on.
    pub fn set_storage_full(&mut self, full: bool) {
        self.storage_full = full;
    }

    pub fn is_storage_full(&self) -> bool {
        self.storage_full
    }

    pub fn waiting_count(&self) -> usize {
        self.waiters.len()
    }

    /// Everything that was asked is durable.
    pub fn is_quiet(&self) -> bool {
        self.journaling.as_ref().is_none_or(|journaling| journaling.taken.is_none() && journaling.gathered.is_empty())
    }

    fn admit(&self, command: &Command) -> Result<(), AskError> {
        if let Some(reason) = &self.stopped {
            return Err(AskError::Stopped { reason: reason.clone() });
        }
        let grows = matches!(
            command,
            Command::Send { .. } | Command::CreateQueue { .. } | Command::SetAttributes { .. } | Command::Tag { .. }
        );
        if grows && self.storage_full {
            return Err(AskError::StorageFull);
        }
        let backlog = self.journaling.as_ref().map_or(0, |journaling| journaling.gathered_bytes);
        if backlog > BACKLOG_BYTES_MAX {
            return Err(AskError::Overloaded);
        }
        Ok(())
    }

    /// Carries out an entry and adds it to the batch that is being gathered.
    fn commit(&mut self, mut entry: Entry) {
        if entry.changes.is_empty() {
            return;
        }
        if let Some(journaling) = &mut self.journaling {
            journaling.gather(&mut entry);
        }
        self.shard.apply(&entry);
    }

    fn reply(&mut self, token: T, outcome: Outcome, outbox: &mut Outbox<T>) {
        let latest = self.journaling.as_mut().and_then(|journaling| match journaling.gathered.back_mut() {
            Some(batch) => Some(&mut batch.replies),
            None => journaling.taken.as_mut().map(|(_, replies)| replies),
        });
        latest.unwrap_or(outbox).push((token, outcome));
    }

    /// Gives what is visible to those who wait for it, first come, first served.
    fn settle(&mut self, queue: QueueId, outbox: &mut Outbox<T>) {
        if !self.waiters.any(queue) {
            return;
        }
        if !self.shard.has_queue(queue) {
            for waiter in self.waiters.remove_queue(queue) {
                self.reply(waiter.token, Err(AskError::Refused(Refusal::QueueDoesNotExist)), outbox);
            }
            return;
        }
        while self.shard.has_visible(queue, self.at) {
            let Some(receive) = self.waiters.first(queue) else { break };
            let decision = self.shard.decide(self.at, Command::Receive(receive.clone()));
            if wait_of(&decision.reply).is_some() {
                // As many messages as may be are in flight. A delete or the next deadline brings us back here.
                break;
            }
            let waiter = self.waiters.remove_first(queue).expect("it was there a moment ago");
            self.commit(decision.entry);
            self.reply(waiter.token, decision.reply.map_err(AskError::Refused), outbox);
        }
        self.waiters.wake_at(queue, self.shard.next_visible_at(queue));
    }
}

const NO_MESSAGES: Answer = Answer::Received { deliveries: Vec::new(), wait_seconds: 0 };

/// How long the asker of a receive that found nothing may wait.
fn wait_of(reply: &Reply) -> Option<u32> {
    match reply {
        Ok(Answer::Received { deliveries, wait_seconds }) if deliveries.is_empty() => {
            Some(*wait_seconds).filter(|&seconds| seconds > 0)
        }
        _ => None,
    }
}

impl<T> Journaling<T> {
    /// Everything before this position is durable.
    fn durable_end(&self) -> u64 {
        let taken = self.taken.as_ref().map(|(lsn, _)| *lsn);
        taken.or(self.gathered.front().map(|batch| batch.lsn)).unwrap_or(self.end)
    }

    fn gather(&mut self, entry: &mut Entry) {
        if self.gathered.back().is_none_or(|batch| batch.entries.len() >= BATCH_BYTES_TARGET) {
            // The next batch is likely as long as the last one.
            let entries = Vec::with_capacity(self.last_batch_bytes.clamp(1 << 10, BATCH_BYTES_TARGET) + (4 << 10));
            let (lsn, position) = (self.end, self.end + self.header_bytes);
            self.gathered.push_back(Batch { lsn, position, entries, replies: Vec::new() });
            self.end = position;
        }
        let batch = self.gathered.back_mut().expect("there is a batch now");
        let before = batch.entries.len();
        entry.encode(&mut batch.entries, batch.position);
        let added = batch.entries.len() - before;
        self.gathered_bytes += added;
        self.end += added as u64;
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
