//! The promises, as a small reference model that is easy to believe.
//!
//! ```text
//!   asked ──▶ (engine) ──▶ answered:   `answered` checks the answer and takes over what it says happened
//!     │
//!     └── never answered (a crash):    `crashed` takes it for possible that it happened, and possible that it did not
//! ```
//!
//! Answers come in the order in which the engine decided, so what is certain follows from the answers alone. What a crash
//! leaves open is kept as a span from the least to the most that may be true, and a promise is broken only where no value
//! in the span keeps it. Nothing here knows how the engine works.

mod crash;
mod message;

pub use crash::queue_of;
pub use message::{Content, Message};

use message::Span;
use model::limits::TAGS_MAX;
use model::{QueueId, QueueKey, Timestamp};
use shard::{
    Answer, Command, Delivery, NewMessage, QueueFacts, Receipt, ReceiptError, Receive, Refusal, Reply, Rules,
    SendError, Sent, Setting, Settings,
};
use std::collections::{BTreeMap, BTreeSet};

/// A promise that was broken, in words.
pub type Broken = String;

/// Goes on if a promise is kept.
macro_rules! promise {
    ($kept:expr, $($words:tt)*) => {
        if !$kept {
            return Err(format!($($words)*));
        }
    };
}
pub(crate) use promise;

/// When something was decided: not before the first, not after the second moment.
pub type When = Span<Timestamp>;

#[derive(Clone)]
pub struct Promises {
    rules: Rules,
    queues: BTreeMap<QueueKey, Queue>,
    /// When each queue that is no more was deleted: one of these moments, or never where one is missing.
    deleted_at: BTreeMap<QueueKey, Vec<Option<Timestamp>>>,
    /// Queues that are no more.
    old_ids: BTreeSet<QueueId>,
    /// After a crash, until each queue was looked at.
    open: BTreeMap<QueueKey, Vec<crash::Possible>>,
}

/// What a queue is known to be.
#[derive(Clone)]
pub struct Queue {
    /// As receipts name it; unknown before the first.
    id: Option<QueueId>,
    facts: Facts,
    /// Serial numbers that are certainly used up.
    next_serial: u64,
    messages: BTreeMap<u64, Message>,
    /// Sends that were never answered: each may or may not have happened.
    open_sends: Vec<OpenSend>,
    /// Expired, and when that was noticed. They may be back after a crash that took the latest moments with it.
    expired: Vec<(Timestamp, u64, Message)>,
    purged_at: Option<Timestamp>,
    may_be_purged_at: Vec<Timestamp>,
}

#[derive(Clone)]
struct OpenSend {
    content: Content,
    sent_at: Timestamp,
    visible_at: Timestamp,
}

/// What Describe says about a queue, apart from counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    pub created_at: Timestamp,
    pub modified_at: Timestamp,
    pub settings: Settings,
    pub tags: BTreeMap<String, String>,
}

impl Facts {
    fn of(facts: &QueueFacts) -> Self {
        Self {
            created_at: facts.created_at,
            modified_at: facts.modified_at,
            settings: facts.settings.clone(),
            tags: facts.tags.clone(),
        }
    }
}

impl Promises {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            queues: BTreeMap::new(),
            deleted_at: BTreeMap::new(),
            old_ids: BTreeSet::new(),
            open: BTreeMap::new(),
        }
    }

    pub fn queue(&self, key: &QueueKey) -> Option<&Queue> {
        self.queues.get(key)
    }

    pub fn queues(&self) -> impl Iterator<Item = (&QueueKey, &Queue)> {
        self.queues.iter()
    }

    /// What a message that was just handed out may carry.
    pub fn contents(&self, receipt: Receipt) -> Vec<Content> {
        let queue = self.queues.values().find(|queue| queue.id == Some(receipt.queue));
        let message = queue.and_then(|queue| queue.messages.get(&receipt.serial.0));
        message.map_or(Vec::new(), |message| message.contents.clone())
    }

    /// A message that was handed out was read.
    pub fn read(&mut self, receipt: Receipt, content: &Content) -> Result<(), Broken> {
        let Some(queue) = self.queues.values_mut().find(|queue| queue.id == Some(receipt.queue)) else { return Ok(()) };
        queue.open_sends.retain(|send| send.content.id != content.id);
        for (serial, message) in &mut queue.messages {
            if *serial == receipt.serial.0 {
                message.contents = vec![content.clone()];
            } else {
                let is_other = message.contents.len() > 1 || message.id() != content.id;
                promise!(is_other, "message {} is in its queue twice", content.id);
                message.contents.retain(|other| other.id != content.id);
            }
        }
        Ok(())
    }

    /// Checks an answer and takes over what it says. `all_in_memory`: no message is in a page that must be read first.
    pub fn answered(
        &mut self,
        command: &Command,
        when: When,
        reply: &Reply,
        all_in_memory: bool,
    ) -> Result<(), Broken> {
        match command {
            Command::CreateQueue { queue, settings, tags } => self.created(queue, settings, tags, when, reply),
            Command::DeleteQueue { queue } => {
                if self.exists(queue, reply)? {
                    promise!(*reply == Ok(Answer::Done), "DeleteQueue answers {reply:?}");
                    let removed = self.queues.remove(queue).expect("it exists");
                    self.old_ids.extend(removed.id);
                    self.deleted_at.insert(queue.clone(), vec![Some(when.low)]);
                }
                Ok(())
            }
            Command::List { account, region, prefix, after, results_max } => {
                let all = self.queues.keys().filter(|key| key.account == *account && key.region == *region);
                // A name that can't be is no place to start from.
                let after = after.as_deref().and_then(model::QueueName::parse);
                let mut names = all.map(|key| key.name.clone()).filter(|name| {
                    name.as_str().starts_with(prefix) && after.as_ref().is_none_or(|after| name > after)
                });
                let page: Vec<_> = names.by_ref().take(*results_max).collect();
                let expected = shard::Listing { names: page, more: names.next().is_some() };
                promise!(
                    *reply == Ok(Answer::Queues(expected.clone())),
                    "ListQueues answers {reply:?}, not {expected:?}"
                );
                Ok(())
            }
            Command::Undo { receipts } => {
                for receipt in receipts {
                    if let Some(queue) = self.queues.values_mut().find(|queue| queue.id == Some(receipt.queue)) {
                        queue.pass(when);
                        queue.undone(*receipt, when);
                    }
                }
                Ok(())
            }
            Command::PurgeQueue { queue } => {
                self.on_queue(queue, when, reply, |queue, rules| queue.purged(rules, when, reply))
            }
            Command::SetAttributes { queue, settings } => {
                self.on_queue(queue, when, reply, |queue, _| queue.set(settings, when, reply, all_in_memory))
            }
            Command::Tag { queue, tags } => self.on_queue(queue, when, reply, |queue, _| {
                let mut after = queue.facts.tags.clone();
                after.extend(tags.clone());
                let expected = if after.len() > TAGS_MAX { Err(Refusal::TooManyTags) } else { Ok(Answer::Done) };
                promise!(*reply == expected, "TagQueue answers {reply:?}, not {expected:?}");
                if reply.is_ok() {
                    queue.facts.tags = after;
                }
                Ok(())
            }),
            Command::Untag { queue, keys } => self.on_queue(queue, when, reply, |queue, _| {
                promise!(*reply == Ok(Answer::Done), "UntagQueue answers {reply:?}");
                queue.facts.tags.retain(|key, _| !keys.contains(key));
                Ok(())
            }),
            Command::Describe { queue } => {
                self.on_queue(queue, when, reply, |queue, _| queue.described(when, reply, all_in_memory))
            }
            Command::Send { queue, messages } => {
                self.on_queue(queue, when, reply, |queue, _| queue.sent(messages, when, reply))
            }
            Command::Receive(receive) => self.received(receive, when, reply, all_in_memory),
            Command::Delete { queue, receipts } => self.on_queue(queue, when, reply, |queue, _| {
                let Ok(Answer::Outcomes(outcomes)) = reply else {
                    return Err(format!("DeleteMessage answers {reply:?}"));
                };
                for (receipt, outcome) in receipts.iter().zip(outcomes) {
                    queue.deleted(*receipt, *outcome)?;
                }
                Ok(())
            }),
            Command::ChangeVisibility { queue, receipts } => self.on_queue(queue, when, reply, |queue, _| {
                let Ok(Answer::Outcomes(outcomes)) = reply else {
                    return Err(format!("ChangeMessageVisibility answers {reply:?}"));
                };
                for (&(receipt, seconds), outcome) in receipts.iter().zip(outcomes) {
                    queue.check_change(receipt, seconds, *outcome, when)?;
                    if outcome.is_ok() {
                        queue.changed(receipt, seconds, when);
                    }
                }
                Ok(())
            }),
            Command::Found { .. } | Command::MovePayloads { .. } | Command::Freeze { .. } | Command::Thaw { .. } => {
                Ok(())
            }
        }
    }

    /// Whether a queue exists; what was answered must agree.
    fn exists(&self, key: &QueueKey, reply: &Reply) -> Result<bool, Broken> {
        let exists = self.queues.contains_key(key);
        let denied = *reply == Err(Refusal::QueueDoesNotExist);
        promise!(
            exists != denied,
            "queue {} {}, but the answer is {reply:?}",
            key.name,
            if exists { "exists" } else { "doesn't exist" }
        );
        Ok(exists)
    }

    fn on_queue(
        &mut self,
        key: &QueueKey,
        when: When,
        reply: &Reply,
        then: impl FnOnce(&mut Queue, &Rules) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        if !self.exists(key, reply)? {
            return Ok(());
        }
        let queue = self.queues.get_mut(key).expect("it exists");
        queue.pass(when);
        then(queue, &self.rules)
    }

    fn created(
        &mut self,
        key: &QueueKey,
        settings: &[Setting],
        tags: &BTreeMap<String, String>,
        when: When,
        reply: &Reply,
    ) -> Result<(), Broken> {
        if let Some(queue) = self.queues.get(key) {
            let differs = settings.iter().find(|setting| apply(&queue.facts.settings, setting) != queue.facts.settings);
            let expected = match differs {
                None => Ok(Answer::Done),
                Some(setting) => Err(Refusal::QueueNameExists { attribute: setting.name() }),
            };
            promise!(*reply == expected, "CreateQueue on an existing queue answers {reply:?}, not {expected:?}");
            return Ok(());
        }
        let seconds = u64::from(self.rules.deleted_name_seconds);
        let blocks = |at: &Option<Timestamp>| at.is_some_and(|at| when.low < at.plus_seconds(seconds));
        let deleted_at = self.deleted_at.get(key).map_or(&[None][..], Vec::as_slice);
        let (must_be_refused, may_be_refused) = (deleted_at.iter().all(blocks), deleted_at.iter().any(blocks));
        match reply {
            Ok(Answer::Done) => {
                promise!(!must_be_refused, "queue {} is made again too soon after it was deleted", key.name);
                let facts = Facts {
                    created_at: when.low,
                    modified_at: when.low,
                    settings: settings.iter().fold(Settings::default(), |all, setting| apply(&all, setting)),
                    tags: tags.clone(),
                };
                self.deleted_at.remove(key);
                self.queues.insert(key.clone(), Queue::new(facts));
                Ok(())
            }
            Err(Refusal::QueueDeletedRecently { .. }) => {
                promise!(may_be_refused, "the name {} is free, but CreateQueue answers {reply:?}", key.name);
                Ok(())
            }
            other => Err(format!("CreateQueue answers {other:?}")),
        }
    }

    fn received(&mut self, receive: &Receive, when: When, reply: &Reply, all_in_memory: bool) -> Result<(), Broken> {
        let old_ids = self.old_ids.clone();
        self.on_queue(&receive.queue, when, reply, |queue, rules| match reply {
            Err(Refusal::TooManyInFlight) => {
                let most = queue.count(when).in_flight.high;
                promise!(most >= rules.in_flight_max, "OverLimit with at most {most} messages in flight");
                Ok(())
            }
            Ok(Answer::Received { deliveries, .. }) => {
                promise!(
                    deliveries.len() <= receive.messages_max,
                    "{} messages handed out where {} were asked for",
                    deliveries.len(),
                    receive.messages_max
                );
                if all_in_memory && when.low == when.high {
                    queue.check_all_handed_out(rules, receive, when, deliveries)?;
                }
                let seconds = receive.visibility_seconds.unwrap_or(queue.facts.settings.visibility_seconds);
                for delivery in deliveries {
                    promise!(!old_ids.contains(&delivery.receipt.queue), "a message of a deleted queue is handed out");
                    queue.delivered(delivery, seconds, when)?;
                }
                let in_flight = queue.count(when).in_flight.low;
                promise!(
                    deliveries.is_empty() || in_flight <= rules.in_flight_max,
                    "{in_flight} messages are in flight, {} may be",
                    rules.in_flight_max
                );
                Ok(())
            }
            other => Err(format!("ReceiveMessage answers {other:?}")),
        })
    }

    /// A moment's peace: everything was answered, and each long poll that still waits is named. None may wait for what is
    /// there.
    pub fn check_waiting(&self, receive: &Receive, now: Timestamp) -> Result<(), Broken> {
        let Some(queue) = self.queues.get(&receive.queue) else {
            return Err(format!("a long poll waits on queue {}, which doesn't exist", receive.queue.name));
        };
        let when = When::exactly(now);
        if queue.count(when).in_flight.high >= self.rules.in_flight_max {
            return Ok(());
        }
        for (serial, message) in &queue.messages {
            let is_there =
                !message.may_be_gone && message.visible_at.high <= now && !queue.may_be_expired(message, when);
            promise!(!is_there, "a long poll waits while message {serial} of queue {} is visible", receive.queue.name);
        }
        Ok(())
    }
}

/// How many messages of a queue are where.
struct Counts {
    visible: Span<usize>,
    delayed: Span<usize>,
    in_flight: Span<usize>,
    total: Span<usize>,
}

impl Queue {
    fn new(facts: Facts) -> Self {
        Self {
            id: None,
            facts,
            next_serial: 1,
            messages: BTreeMap::new(),
            open_sends: Vec::new(),
            expired: Vec::new(),
            purged_at: None,
            may_be_purged_at: Vec::new(),
        }
    }

    /// Messages that must be there, however one looks at it.
    pub fn certain_messages(&self) -> impl Iterator<Item = (u64, &Message)> {
        self.messages.iter().filter(|(_, message)| !message.may_be_gone).map(|(&serial, message)| (serial, message))
    }

    fn expires_at(&self, message: &Message) -> Timestamp {
        message.sent_at.plus_seconds(u64::from(self.facts.settings.retention_seconds))
    }

    fn may_be_expired(&self, message: &Message, when: When) -> bool {
        self.expires_at(message) <= when.high
    }

    /// Time passes: what has expired is gone.
    fn pass(&mut self, when: When) {
        let retention = u64::from(self.facts.settings.retention_seconds);
        let gone: Vec<u64> = self
            .messages
            .iter()
            .filter(|(_, message)| message.sent_at.plus_seconds(retention) <= when.low)
            .map(|(&serial, _)| serial)
            .collect();
        for serial in gone {
            let message = self.messages.remove(&serial).expect("it was just seen");
            self.expired.push((when.low, serial, message));
        }
    }

    fn empty(&mut self) {
        self.messages.clear();
        self.open_sends.clear();
        self.expired.clear();
    }

    fn purged(&mut self, rules: &Rules, when: When, reply: &Reply) -> Result<(), Broken> {
        let blocks = |at: &Timestamp| when.low < at.plus_seconds(u64::from(rules.purge_interval_seconds));
        let must_be_refused = self.purged_at.as_ref().is_some_and(blocks);
        let may_be_refused = must_be_refused || self.may_be_purged_at.iter().any(blocks);
        match reply {
            Ok(Answer::Done) => {
                promise!(!must_be_refused, "PurgeQueue is carried out twice within its interval");
                self.empty();
                self.purged_at = Some(when.low);
                Ok(())
            }
            Err(Refusal::PurgeInProgress { .. }) => {
                promise!(may_be_refused, "PurgeQueueInProgress, but the last purge is long ago");
                Ok(())
            }
            other => Err(format!("PurgeQueue answers {other:?}")),
        }
    }

    fn set(&mut self, settings: &[Setting], when: When, reply: &Reply, all_in_memory: bool) -> Result<(), Broken> {
        let after = settings.iter().fold(self.facts.settings.clone(), |all, setting| apply(&all, setting));
        let conflict = after.sqs_managed_sse && after.kms_master_key.is_some();
        let expected = if conflict { Err(Refusal::EncryptionConflict) } else { Ok(Answer::Done) };
        promise!(*reply == expected, "SetQueueAttributes answers {reply:?}, not {expected:?}");
        if !conflict {
            self.facts.settings = after;
            self.facts.modified_at = when.low;
            if !all_in_memory {
                // What expires in a page is not noticed before all of the page has, and a longer retention saves it.
                for (_, serial, mut message) in std::mem::take(&mut self.expired) {
                    message.may_be_gone = true;
                    self.messages.insert(serial, message);
                }
            }
            self.pass(when);
        }
        Ok(())
    }

    fn described(&mut self, when: When, reply: &Reply, all_in_memory: bool) -> Result<(), Broken> {
        let Ok(Answer::Queue(told)) = reply else { return Err(format!("GetQueueAttributes answers {reply:?}")) };
        promise!(
            Facts::of(told) == self.facts,
            "a queue is said to be {:?}, but it is {:?}",
            Facts::of(told),
            self.facts
        );
        let mut counts = self.count(when);
        if !all_in_memory {
            // What is in a page is counted until all of the page has expired, or it is read.
            counts.visible.high += self.expired.len();
            counts.total.high += self.expired.len();
        }
        let total = told.visible + told.delayed + told.in_flight;
        for (what, told, counted) in [
            ("visible", told.visible, counts.visible),
            ("delayed", told.delayed, counts.delayed),
            ("in flight", told.in_flight, counts.in_flight),
            ("there", total, counts.total),
        ] {
            promise!(counted.has(told), "{told} messages are said to be {what}, but {counted} are");
        }
        if total == 0 {
            // What a crash left open did not happen or is over, unless it has expired: that can be taken back.
            let retention = u64::from(self.facts.settings.retention_seconds);
            self.messages.clear();
            self.open_sends.retain(|send| send.sent_at.plus_seconds(retention) <= when.high);
        }
        Ok(())
    }

    fn count(&self, when: When) -> Counts {
        let zero = Span::exactly(0);
        let mut counts = Counts { visible: zero, delayed: zero, in_flight: zero, total: zero };
        for message in self.messages.values() {
            let is_certain = !message.may_be_gone && !self.may_be_expired(message, when);
            let may_be_visible = message.visible_at.low <= when.high;
            let may_be_hidden = message.visible_at.high > when.low;
            let may_be_delayed = may_be_hidden && message.receive_count.low == 0;
            let may_be_in_flight = may_be_hidden && message.receive_count.high > 0;
            let ways = usize::from(may_be_visible) + usize::from(may_be_delayed) + usize::from(may_be_in_flight);
            for (count, may_be) in [
                (&mut counts.visible, may_be_visible),
                (&mut counts.delayed, may_be_delayed),
                (&mut counts.in_flight, may_be_in_flight),
                (&mut counts.total, true),
            ] {
                count.high += usize::from(may_be);
                count.low += usize::from(may_be && is_certain && ways == 1);
            }
            counts.total.low += usize::from(is_certain && ways > 1);
        }
        for count in [&mut counts.visible, &mut counts.delayed, &mut counts.in_flight, &mut counts.total] {
            count.high += self.open_sends.len();
        }
        counts
    }

    fn sent(&mut self, messages: &[NewMessage], when: When, reply: &Reply) -> Result<(), Broken> {
        if let Some(key) = &self.facts.settings.kms_master_key {
            let expected = Err(Refusal::KeyNotFound { key: key.clone() });
            promise!(*reply == expected, "SendMessage to a queue without its key answers {reply:?}");
            return Ok(());
        }
        let Ok(Answer::Sent(outcomes)) = reply else { return Err(format!("SendMessage answers {reply:?}")) };
        promise!(outcomes.len() == messages.len(), "{} outcomes for {} messages", outcomes.len(), messages.len());
        let bytes_max = self.facts.settings.message_bytes_max;
        for (message, outcome) in messages.iter().zip(outcomes) {
            let is_too_long = message.size_bytes > bytes_max as usize;
            match outcome {
                Err(SendError::TooLong { .. }) if is_too_long => continue,
                Ok(Sent { id, serial }) if !is_too_long && *id == message.id => {
                    promise!(self.next_serial <= serial.0, "serial {} was used before", serial.0);
                    self.next_serial = serial.0 + 1;
                    let OpenSend { content, sent_at, visible_at } = self.as_sent(message, when.low);
                    self.messages.insert(serial.0, Message::new(content, sent_at, visible_at));
                }
                other => return Err(format!("a message of {} bytes is answered {other:?}", message.size_bytes)),
            }
        }
        Ok(())
    }

    fn as_sent(&self, message: &NewMessage, at: Timestamp) -> OpenSend {
        let delay_seconds = message.delay_seconds.unwrap_or(self.facts.settings.delay_seconds);
        OpenSend {
            content: Content { id: message.id, payload: message.payload.clone() },
            sent_at: at,
            visible_at: at.plus_seconds(u64::from(delay_seconds)),
        }
    }

    /// A receive that asked for more than it got leaves nothing behind that was there for it.
    fn check_all_handed_out(
        &self,
        rules: &Rules,
        receive: &Receive,
        when: When,
        deliveries: &[Delivery],
    ) -> Result<(), Broken> {
        let room = rules.in_flight_max.saturating_sub(self.count(when).in_flight.high);
        if deliveries.len() >= receive.messages_max.min(room) {
            return Ok(());
        }
        for (serial, message) in self.certain_messages() {
            let was_there = message.visible_at.high <= when.low && !self.may_be_expired(message, when);
            let is_handed_out = deliveries.iter().any(|delivery| delivery.receipt.serial.0 == serial);
            promise!(
                is_handed_out || !was_there,
                "message {serial} ({}) is visible and not handed out, though there was room for it",
                message.id()
            );
        }
        Ok(())
    }

    fn delivered(&mut self, delivery: &Delivery, seconds: u32, when: When) -> Result<(), Broken> {
        let receipt = delivery.receipt;
        let id = *self.id.get_or_insert(receipt.queue);
        promise!(id == receipt.queue, "a message of queue {} is handed out by queue {}", receipt.queue.0, id.0);
        if !self.messages.contains_key(&receipt.serial.0) {
            let message = self.origin_of(delivery, when).ok_or_else(|| {
                let serial = receipt.serial.0;
                format!("message {serial} is handed out, but it was never sent, or is deleted, purged or expired")
            })?;
            self.messages.insert(receipt.serial.0, message);
        }
        self.next_serial = self.next_serial.max(receipt.serial.0 + 1);
        self.messages.get_mut(&receipt.serial.0).expect("it is there now").delivered(delivery, seconds, when)
    }

    /// The message of a send that was never answered, where one can be the origin of this delivery.
    fn origin_of(&self, delivery: &Delivery, when: When) -> Option<Message> {
        let retention = u64::from(self.facts.settings.retention_seconds);
        let is_expired = delivery.sent_at.plus_seconds(retention) <= when.low;
        let sends: Vec<_> = self.open_sends.iter().filter(|send| send.sent_at == delivery.sent_at).collect();
        let earliest = sends.iter().map(|send| send.visible_at).min().filter(|_| !is_expired)?;
        let latest = sends.iter().map(|send| send.visible_at).max()?;
        let contents = sends.iter().map(|send| send.content.clone()).collect();
        Some(Message::one_of(contents, delivery.sent_at, Span { low: earliest, high: latest }))
    }

    fn undone(&mut self, receipt: Receipt, when: When) {
        if let Some(message) = self.messages.get_mut(&receipt.serial.0) {
            message.undone(receipt.delivery, when);
        }
    }

    fn deleted(&mut self, receipt: Receipt, outcome: Result<(), ReceiptError>) -> Result<(), Broken> {
        let is_ours = self.id == Some(receipt.queue);
        match outcome {
            Err(ReceiptError::OtherQueue) if !is_ours => Ok(()),
            Ok(()) if is_ours => {
                if let Some(message) = self.messages.get_mut(&receipt.serial.0) {
                    match message.is_latest(receipt.delivery) {
                        Some(true) => drop(self.messages.remove(&receipt.serial.0)),
                        Some(false) => {}
                        None => message.may_be_gone = true,
                    }
                }
                Ok(())
            }
            other => Err(format!(
                "deleting with a receipt of {} queue gives {other:?}",
                if is_ours { "this" } else { "another" }
            )),
        }
    }

    fn check_change(
        &self,
        receipt: Receipt,
        seconds: u32,
        outcome: Result<(), ReceiptError>,
        when: When,
    ) -> Result<(), Broken> {
        let is_ours = self.id == Some(receipt.queue);
        promise!(
            is_ours == (outcome != Err(ReceiptError::OtherQueue)),
            "changing visibility with a receipt of {} queue gives {outcome:?}",
            if is_ours { "this" } else { "another" }
        );
        if !is_ours {
            return Ok(());
        }
        let message = self.messages.get(&receipt.serial.0);
        let is_latest = message.map_or(Some(false), |message| message.is_latest(receipt.delivery));
        match (outcome, message) {
            (Err(ReceiptError::Gone), Some(message)) => {
                let is_there = !message.may_be_gone && is_latest == Some(true) && !self.may_be_expired(message, when);
                promise!(!is_there, "the latest receipt of message {} is refused as gone", receipt.serial.0);
            }
            (Err(ReceiptError::Gone), None) => {}
            (_, None) => {
                return Err(format!("message {} is gone, but its receipt gives {outcome:?}", receipt.serial.0));
            }
            (_, Some(_)) if is_latest == Some(false) => {
                return Err(format!("a stale receipt of message {} gives {outcome:?}", receipt.serial.0));
            }
            (Ok(()), Some(message)) => {
                promise!(
                    message.may_hide_for(seconds, when),
                    "message {} is hidden for more than twelve hours",
                    receipt.serial.0
                );
            }
            (Err(ReceiptError::HiddenTooLong), Some(message)) => {
                promise!(
                    !message.must_hide_for(seconds, when),
                    "message {} may be hidden for {seconds} s more, but that is refused",
                    receipt.serial.0
                );
            }
            (Err(ReceiptError::NotInFlight), Some(message)) => {
                promise!(
                    message.visible_at.low <= when.high,
                    "message {} is in flight, but is refused as if it were not",
                    receipt.serial.0
                );
            }
            (Err(ReceiptError::OtherQueue), Some(_)) => unreachable!("checked above"),
        }
        Ok(())
    }

    fn changed(&mut self, receipt: Receipt, seconds: u32, when: When) {
        if let Some(message) = self.messages.get_mut(&receipt.serial.0) {
            message.changed(receipt.delivery, seconds, when);
        }
    }
}

/// One attribute taken over, by AWS's rules.
fn apply(settings: &Settings, setting: &Setting) -> Settings {
    let mut after = settings.clone();
    match setting.clone() {
        Setting::VisibilityTimeout { seconds } => after.visibility_seconds = seconds,
        Setting::Delay { seconds } => after.delay_seconds = seconds,
        Setting::Retention { seconds } => after.retention_seconds = seconds,
        Setting::MaximumMessageSize { bytes } => after.message_bytes_max = bytes,
        Setting::ReceiveWait { seconds } => after.wait_seconds = seconds,
        Setting::SqsManagedSse { enabled } => after.sqs_managed_sse = enabled,
        Setting::KmsMasterKey { id } => {
            match id {
                Some(_) => after.sqs_managed_sse = false,
                None => after.kms_data_key_reuse_seconds = None,
            }
            after.kms_master_key = id;
        }
        Setting::KmsDataKeyReuse { seconds } => after.kms_data_key_reuse_seconds = Some(seconds),
        Setting::Policy { document } => after.policy = document,
    }
    after
}
