//! The account of a soak: what was promised of each message, and whether it was kept.
//!
//! ```text
//!   asked to send ─▶ acknowledged ─▶ delivered ─▶ … ─▶ deleted, purged or expired
//!        │                │
//!        └ never answered:└ from here on it must come back until it has been deleted or has expired
//!          may exist
//! ```
//!
//! No I/O in here. A client learns of a moment at the server only that it lay between asking and being answered, so
//! moments are spans, and a promise counts as broken where it is broken for every moment within them.

use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// For how long it is remembered when a message went, in milliseconds: longer than any request takes.
const GONE_REMEMBERED: u64 = 10 * 60 * 1000;

/// Something happened at the server at some moment from here to there, in milliseconds of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: u64,
    pub to: u64,
}

pub type MessageId = u64;
pub type QueueIndex = usize;

#[derive(Debug)]
struct Message {
    queue: QueueIndex,
    /// When it was asked to be sent.
    asked: u64,
    /// When it was sent. None where that was never answered.
    sent: Option<Span>,
    delay: u64,
    latest: Option<Delivery>,
    /// A delete or a purge that may have met it was not answered, or its receipt was an old one.
    may_be_gone: bool,
}

#[derive(Debug)]
struct Delivery {
    at: Span,
    /// It cannot be delivered again before this.
    hidden_until: u64,
    receipt: String,
}

#[derive(Debug)]
struct Queue {
    /// Shortest and longest time that a message is kept.
    retention: (u64, u64),
    /// Purges under way. What is sent meanwhile may be met by them.
    purges: usize,
    live: u64,
}

/// What became of all messages. The last seven must be zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    pub asked: u64,
    pub acknowledged: u64,
    /// Refused with an error that says that nothing was stored.
    pub refused: u64,
    /// Never answered: the message may exist.
    pub unanswered: u64,
    pub deliveries: u64,
    /// Messages that were delivered at least once.
    pub delivered: u64,
    /// Deliveries of a message that had been delivered before, when that was allowed.
    pub redeliveries: u64,
    pub deleted: u64,
    pub purged: u64,
    pub expired: u64,
    /// Not there at the end, and nobody can say whether rightly: a delete or a send was never answered.
    pub unsure: u64,

    /// Acknowledged, not deleted, not expired, and not there at the end.
    pub lost: u64,
    /// Delivered again within a visibility timeout.
    pub duplicated: u64,
    /// Delivered after it had been deleted or purged.
    pub back_from_the_dead: u64,
    /// Delivered before its delay had passed.
    pub early: u64,
    /// Delivered after its retention had passed.
    pub late: u64,
    /// Delivered, though nobody sent it, or sent it to another queue or with another body.
    pub never_sent: u64,
    /// Messages that the queues still counted after everything was received and deleted.
    pub miscounted: u64,
}

impl Account {
    pub fn broken_promises(&self) -> u64 {
        self.lost
            + self.duplicated
            + self.back_from_the_dead
            + self.early
            + self.late
            + self.never_sent
            + self.miscounted
    }
}

#[derive(Debug, Default)]
pub struct Ledger {
    queues: Vec<Queue>,
    next_id: MessageId,
    messages: BTreeMap<MessageId, Message>,
    /// Messages that went lately, and the moment by which they had gone.
    gone: HashMap<MessageId, u64>,
    gone_swept_at: u64,
    account: Account,
    /// The first promises that were broken, in words.
    complaints: Vec<String>,
}

/// More complaints than these help nobody.
const COMPLAINTS_MAX: usize = 50;

impl Ledger {
    pub fn add_queue(&mut self, retention_seconds: (u64, u64)) -> QueueIndex {
        let retention = (retention_seconds.0 * 1000, retention_seconds.1 * 1000);
        self.queues.push(Queue { retention, purges: 0, live: 0 });
        self.queues.len() - 1
    }

    /// About how many messages a queue holds.
    pub fn live(&self, queue: QueueIndex) -> u64 {
        self.queues[queue].live
    }

    pub fn live_total(&self) -> u64 {
        self.queues.iter().map(|queue| queue.live).sum()
    }

    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// A message is about to be sent.
    pub fn asks_to_send(&mut self, queue: QueueIndex, delay_seconds: u64, now: Span) -> MessageId {
        let id = self.next_id;
        self.next_id += 1;
        self.account.asked += 1;
        let may_be_gone = self.queues[queue].purges > 0;
        let delay = delay_seconds * 1000;
        let message = Message { queue, asked: now.from, sent: None, delay, latest: None, may_be_gone };
        self.messages.insert(id, message);
        self.queues[queue].live += 1;
        id
    }

    pub fn sent(&mut self, id: MessageId, at: Span) {
        self.account.acknowledged += 1;
        // It may have been received and deleted before its sender heard.
        if let Some(message) = self.messages.get_mut(&id) {
            message.sent = Some(at);
        }
    }

    /// The server said that it didn't take the message.
    pub fn refused(&mut self, id: MessageId) {
        self.account.refused += 1;
        self.remove(id);
    }

    pub fn unanswered(&mut self, _: MessageId) {
        self.account.unanswered += 1;
    }

    /// A message came from a queue, hidden from others for so long.
    pub fn delivered(&mut self, id: MessageId, queue: QueueIndex, at: Span, hidden_seconds: u64, receipt: &str) {
        self.account.deliveries += 1;
        let Some(message) = self.messages.get_mut(&id) else {
            if self.next_id <= id {
                return self.never_sent(&format!("message {id} from queue {queue}"));
            }
            // Received before it went, and only heard of now?
            if self.gone.get(&id).is_none_or(|&gone_at| gone_at < at.from) {
                self.account.back_from_the_dead += 1;
                self.complain(format!("message {id} of queue {queue} was delivered at {at:?}, after it had gone"));
            }
            return;
        };
        let retention_max = self.queues[message.queue].retention.1;
        let hidden_until = at.from + hidden_seconds * 1000;
        let mut complaint = None;
        if message.queue != queue {
            self.account.never_sent += 1;
            complaint = Some(format!("message {id} of queue {} was delivered by queue {queue}", message.queue));
        } else if at.to < message.asked + message.delay {
            self.account.early += 1;
            complaint = Some(format!("message {id} was delivered at {at:?}, before its delay: {message:?}"));
        } else if message.sent.is_some_and(|sent| sent.to + retention_max < at.from) {
            self.account.late += 1;
            complaint = Some(format!("message {id} was delivered at {at:?}, after its retention: {message:?}"));
        }
        match &mut message.latest {
            None => {
                self.account.delivered += 1;
                message.latest = Some(Delivery { at, hidden_until, receipt: receipt.to_owned() });
            }
            Some(latest) => {
                // Whichever of the two was first: the other came within its time.
                if at.to < latest.hidden_until && latest.at.to < hidden_until {
                    self.account.duplicated += 1;
                    complaint = Some(format!("message {id} was delivered at {at:?}, but before: {latest:?}"));
                } else {
                    self.account.redeliveries += 1;
                }
                // Heard of late, it may be the older of the two.
                if latest.at.from <= at.from {
                    *latest = Delivery { at, hidden_until, receipt: receipt.to_owned() };
                }
            }
        }
        complaint.into_iter().for_each(|complaint| self.complain(complaint));
    }

    /// Something came that is no message of ours.
    pub fn never_sent(&mut self, what: &str) {
        self.account.never_sent += 1;
        self.complain(format!("nobody sent {what}"));
    }

    /// The visibility timeout is about to be changed: from now on the message may come back that soon.
    pub fn asks_to_hide(&mut self, id: MessageId, seconds: u64, now: Span) {
        if let Some(latest) = self.messages.get_mut(&id).and_then(|message| message.latest.as_mut()) {
            latest.hidden_until = latest.hidden_until.min(now.from + seconds * 1000);
        }
    }

    /// It was changed.
    pub fn hidden(&mut self, id: MessageId, receipt: &str, seconds: u64, at: Span) {
        let latest = self.messages.get_mut(&id).and_then(|message| message.latest.as_mut());
        if let Some(latest) = latest.filter(|latest| latest.receipt == receipt) {
            latest.hidden_until = at.from + seconds * 1000;
        }
    }

    pub fn asks_to_delete(&mut self, id: MessageId) {
        if let Some(message) = self.messages.get_mut(&id) {
            message.may_be_gone = true;
        }
    }

    /// A delete was answered with success. With an old receipt that says nothing.
    pub fn deleted(&mut self, id: MessageId, receipt: &str, at: Span) {
        let latest = self.messages.get(&id).and_then(|message| message.latest.as_ref());
        if latest.is_some_and(|latest| latest.receipt == receipt) {
            self.account.deleted += 1;
            self.remove(id);
            self.gone.insert(id, at.to);
        }
        if self.gone_swept_at + GONE_REMEMBERED < at.from {
            self.gone.retain(|_, gone_at| at.from < *gone_at + GONE_REMEMBERED);
            self.gone_swept_at = at.from;
        }
    }

    /// A queue is about to be purged or deleted.
    pub fn asks_to_purge(&mut self, queue: QueueIndex) {
        self.queues[queue].purges += 1;
        self.messages
            .values_mut()
            .filter(|message| message.queue == queue)
            .for_each(|message| message.may_be_gone = true);
    }

    /// It was, or that was never answered.
    pub fn purged(&mut self, queue: QueueIndex, at: Option<Span>) {
        self.queues[queue].purges -= 1;
        let Some(at) = at else { return };
        let is_met = |message: &Message| message.queue == queue && message.sent.is_some_and(|sent| sent.to < at.from);
        let met: Vec<_> = self.messages.iter().filter(|(_, message)| is_met(message)).map(|(&id, _)| id).collect();
        self.account.purged += met.len() as u64;
        for id in met {
            self.remove(id);
            self.gone.insert(id, at.to);
        }
    }

    /// Everything has been received that there was, with all times of hiding and delaying passed: what is missing?
    pub fn settle(&mut self, now: Span, miscounted: u64) -> Account {
        self.account.miscounted = miscounted;
        let mut complaints = Vec::new();
        for (id, message) in &self.messages {
            match message.sent {
                Some(sent) if sent.from + self.queues[message.queue].retention.0 <= now.to => self.account.expired += 1,
                Some(_) if !message.may_be_gone => {
                    self.account.lost += 1;
                    complaints.push(format!("message {id} is lost: {message:?}"));
                }
                _ => self.account.unsure += 1,
            }
        }
        complaints.into_iter().for_each(|complaint| self.complain(complaint));
        self.account.clone()
    }

    fn remove(&mut self, id: MessageId) {
        if let Some(message) = self.messages.remove(&id) {
            self.queues[message.queue].live -= 1;
        }
    }

    fn complain(&mut self, complaint: String) {
        if self.complaints.len() < COMPLAINTS_MAX {
            self.complaints.push(complaint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: QueueIndex = 0;

    /// A moment known to the millisecond.
    fn at(second: u64) -> Span {
        Span { from: second * 1000, to: second * 1000 }
    }

    fn between(from: u64, to: u64) -> Span {
        Span { from: from * 1000, to: to * 1000 }
    }

    /// One queue that keeps messages for 100 s, with one message sent at 0 s, and what `then` does.
    fn settled(delay_seconds: u64, then: impl FnOnce(&mut Ledger, MessageId)) -> Account {
        let mut ledger = Ledger::default();
        ledger.add_queue((100, 100));
        let id = ledger.asks_to_send(QUEUE, delay_seconds, at(0));
        ledger.sent(id, at(0));
        then(&mut ledger, id);
        let account = ledger.settle(at(50), 0);
        assert_eq!(account.broken_promises() > 0, !ledger.complaints().is_empty(), "a complaint for what is broken");
        account
    }

    /// The names of the promises that were broken, by what is counted.
    fn broken(account: &Account) -> Vec<&'static str> {
        let Account { lost, duplicated, back_from_the_dead, early, late, never_sent, .. } = account;
        let counts = [
            ("lost", lost),
            ("duplicated", duplicated),
            ("back", back_from_the_dead),
            ("early", early),
            ("late", late),
            ("never sent", never_sent),
        ];
        counts.into_iter().filter(|(_, count)| **count > 0).map(|(name, _)| name).collect()
    }

    fn deliver(ledger: &mut Ledger, id: MessageId, at: Span, receipt: &str) {
        ledger.delivered(id, QUEUE, at, 10, receipt);
    }

    #[test]
    fn a_message_that_is_gone_without_reason_is_lost() {
        assert_eq!(broken(&settled(0, |_, _| {})), ["lost"]);
        assert_eq!(broken(&settled(0, |ledger, id| deliver(ledger, id, at(1), "a"))), ["lost"]);
        let deleted = settled(0, |ledger, id| {
            deliver(ledger, id, at(1), "a");
            ledger.asks_to_delete(id);
            ledger.deleted(id, "a", at(2));
        });
        assert_eq!((broken(&deleted), deleted.deleted), (vec![], 1));
        let unsure = settled(0, |ledger, id| {
            deliver(ledger, id, at(1), "a");
            ledger.asks_to_delete(id);
        });
        assert_eq!((broken(&unsure), unsure.unsure), (vec![], 1));
        let purged = settled(0, |ledger, _| {
            ledger.asks_to_purge(QUEUE);
            ledger.purged(QUEUE, Some(at(2)));
        });
        assert_eq!((broken(&purged), purged.purged), (vec![], 1));
    }

    #[test]
    fn what_was_never_acknowledged_cannot_be_lost() {
        let mut ledger = Ledger::default();
        ledger.add_queue((100, 100));
        let unanswered = ledger.asks_to_send(QUEUE, 0, at(0));
        ledger.unanswered(unanswered);
        let refused = ledger.asks_to_send(QUEUE, 0, at(0));
        ledger.refused(refused);
        let account = ledger.settle(at(1), 0);
        assert_eq!((account.lost, account.unsure, account.refused, account.unanswered), (0, 1, 1, 1));
    }

    #[test]
    fn a_second_delivery_must_wait_for_the_visibility_timeout() {
        type Second = (Span, &'static [&'static str]);
        let cases: [Second; 4] = [
            (at(10), &["duplicated", "lost"]),
            (at(11), &["lost"]),
            // Perhaps it was at 11 s.
            (between(5, 11), &["lost"]),
            (between(5, 10), &["duplicated", "lost"]),
        ];
        for (second, wanted) in cases {
            let account = settled(0, |ledger, id| {
                deliver(ledger, id, at(1), "a");
                deliver(ledger, id, second, "b");
            });
            let mut found = broken(&account);
            found.sort_unstable();
            assert_eq!(found, wanted, "{second:?}");
        }
    }

    #[test]
    fn hiding_for_longer_or_shorter_moves_the_next_delivery() {
        for (seconds, second, duplicated) in [(0, 3, 0), (30, 31, 1), (30, 32, 0)] {
            let account = settled(0, |ledger, id| {
                deliver(ledger, id, at(1), "a");
                ledger.asks_to_hide(id, seconds, at(2));
                ledger.hidden(id, "a", seconds, at(2));
                deliver(ledger, id, at(second), "b");
            });
            assert_eq!(account.duplicated, duplicated, "{seconds} {second}");
        }
        let never_answered = settled(0, |ledger, id| {
            deliver(ledger, id, at(1), "a");
            ledger.asks_to_hide(id, 3, at(2));
            deliver(ledger, id, at(6), "b");
        });
        assert_eq!(never_answered.duplicated, 0);
    }

    #[test]
    fn delay_and_retention_bound_the_first_delivery() {
        let early = settled(5, |ledger, id| deliver(ledger, id, at(4), "a"));
        assert_eq!(broken(&early), ["lost", "early"]);
        assert_eq!(broken(&settled(5, |ledger, id| deliver(ledger, id, at(5), "a"))), ["lost"]);
        assert_eq!(broken(&settled(0, |ledger, id| deliver(ledger, id, at(101), "a"))), ["lost", "late"]);
        let mut ledger = Ledger::default();
        ledger.add_queue((100, 100));
        let id = ledger.asks_to_send(QUEUE, 0, at(0));
        ledger.sent(id, at(0));
        assert_eq!(ledger.settle(at(100), 0), Account { asked: 1, acknowledged: 1, expired: 1, ..Account::default() });
    }

    #[test]
    fn what_comes_back_from_the_dead_or_from_nowhere_is_noticed() {
        let back = settled(0, |ledger, id| {
            deliver(ledger, id, at(1), "a");
            ledger.deleted(id, "a", at(2));
            // Received before it was deleted, heard of later.
            deliver(ledger, id, between(0, 3), "b");
            assert_eq!(ledger.account.back_from_the_dead, 0);
            deliver(ledger, id, between(3, 4), "c");
        });
        assert_eq!(broken(&back), ["back"]);
        let stranger = settled(0, |ledger, id| {
            deliver(ledger, id + 1, at(1), "a");
            ledger.asks_to_delete(id);
        });
        assert_eq!(broken(&stranger), ["never sent"]);
    }

    #[test]
    fn an_old_receipt_deletes_nothing_for_sure() {
        let account = settled(0, |ledger, id| {
            deliver(ledger, id, at(1), "a");
            deliver(ledger, id, at(20), "b");
            ledger.asks_to_delete(id);
            ledger.deleted(id, "a", at(21));
            deliver(ledger, id, at(40), "c");
        });
        assert_eq!((account.deleted, account.unsure, account.broken_promises()), (0, 1, 0));
    }

    #[test]
    fn what_is_sent_during_a_purge_may_be_met_by_it() {
        let account = settled(0, |ledger, id| {
            ledger.asks_to_purge(QUEUE);
            let meanwhile = ledger.asks_to_send(QUEUE, 0, at(1));
            ledger.sent(meanwhile, at(3));
            ledger.purged(QUEUE, Some(between(1, 4)));
            assert!(!ledger.messages.contains_key(&id));
        });
        assert_eq!((account.purged, account.unsure, account.lost), (1, 1, 0));
    }
}
