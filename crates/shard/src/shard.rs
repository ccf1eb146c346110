//! The shard: all queues, and the one way in which they change.

use crate::change::{Change, Entry, SentPayload};
use crate::command::*;
use crate::decisions::{change_visibility, delete, describe, receive_from, send, set, tag};
use crate::deleted_names::DeletedNames;
use crate::queue::{Message, Queue};
use crate::{FrozenPage, PagedMessage, PayloadAt, Receipt, ReceiptKey, Setting, Settings};
use model::limits::{DELETED_NAME_SECONDS, TAGS_MAX};
use model::{QueueId, QueueKey, QueueName, Serial, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Rules that an operator may set. They bear on decisions only, so a journal written under other rules replays the same.
#[derive(Clone, Debug)]
pub struct Rules {
    pub purge_interval_seconds: u32,
    /// At most [`DELETED_NAME_SECONDS`]; names are not remembered for longer.
    pub deleted_name_seconds: u32,
    pub in_flight_max: usize,
    pub paging: Paging,
}

/// How much of a queue's backlog is in memory. All but `page_bytes` in messages.
#[derive(Clone, Debug)]
pub struct Paging {
    /// Messages of one page, at most.
    pub page_messages: usize,
    /// A page is not made longer once its payloads have this many bytes.
    pub page_bytes: u64,
    /// So many visible messages at the head of a queue are never frozen.
    pub window: usize,
    /// With fewer visible messages in memory than this, the next page is thawed.
    pub thaw_below: usize,
    /// With more visible messages in memory than this, the backlog is frozen.
    pub freeze_above: usize,
    /// After so many arrivals one looks whether there are more.
    pub look_every: u64,
}

impl Default for Paging {
    /// Chosen: a page is read in a millisecond or two, and ten of them are received in less time than the next ten take
    /// to come from the disk.
    fn default() -> Self {
        Self {
            page_messages: 4 << 10,
            page_bytes: 4 << 20,
            window: 16 << 10,
            thaw_below: 12 << 10,
            freeze_above: 24 << 10,
            look_every: 256,
        }
    }
}

impl Paging {
    /// What was just thawed must not be frozen again.
    fn check(&self) {
        assert!(self.thaw_below + self.page_messages <= self.window, "a page is thawed into the window");
        assert!(self.window + self.page_messages <= self.freeze_above, "a page is frozen beyond the window");
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            purge_interval_seconds: model::limits::PURGE_INTERVAL_SECONDS,
            deleted_name_seconds: DELETED_NAME_SECONDS,
            in_flight_max: model::limits::IN_FLIGHT_MESSAGES_MAX,
            paging: Paging::default(),
        }
    }
}

/// The state, and the rules by which it is changed.
pub struct Shard {
    rules: Rules,
    pub(crate) receipt_key: Option<ReceiptKey>,
    pub(crate) next_queue: QueueId,
    /// Of the latest entry.
    pub(crate) at: Timestamp,
    pub(crate) names: BTreeMap<QueueKey, QueueId>,
    pub(crate) queues: BTreeMap<QueueId, Queue>,
    pub(crate) deleted: DeletedNames,
    /// Queues whose backlog may be due for freezing or thawing. Not part of the state: it follows from it.
    backlogs: BTreeSet<QueueId>,
}

/// What [`Shard::decide`] gives.
pub struct Decision {
    /// Without changes where nothing is to be written down.
    pub entry: Entry,
    pub reply: Reply,
    /// The queue that the command was about, if there is one.
    pub queue: Option<QueueId>,
}

impl Shard {
    pub fn new(rules: Rules) -> Self {
        rules.paging.check();
        Self {
            rules,
            receipt_key: None,
            next_queue: QueueId(1),
            at: Timestamp::ZERO,
            names: BTreeMap::new(),
            queues: BTreeMap::new(),
            deleted: DeletedNames::default(),
            backlogs: BTreeSet::new(),
        }
    }

    /// What seals receipt handles; nothing before [`Command::Found`].
    pub fn receipt_key(&self) -> Option<&ReceiptKey> {
        self.receipt_key.as_ref()
    }

    /// The moment of the latest entry. The next one may not be earlier.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    pub fn queue_count(&self) -> usize {
        self.queues.len()
    }

    /// The queue that has this name now.
    pub fn queue_id(&self, key: &QueueKey) -> Option<QueueId> {
        self.names.get(key).copied()
    }

    /// Whether a queue still exists.
    pub fn has_queue(&self, queue: QueueId) -> bool {
        self.queues.contains_key(&queue)
    }

    /// The name of a queue that exists.
    pub fn queue_key(&self, queue: QueueId) -> Option<&QueueKey> {
        self.queues.get(&queue).map(|queue| &queue.key)
    }

    /// Whether a receive at `now` would find something.
    pub fn has_visible(&mut self, queue: QueueId, now: Timestamp) -> bool {
        self.queues.get_mut(&queue).is_some_and(|queue| {
            queue.advance(now);
            queue.ready_count() > 0
        })
    }

    /// When the next hidden message of a queue becomes visible.
    pub fn next_visible_at(&self, queue: QueueId) -> Option<Timestamp> {
        self.queues.get(&queue)?.next_visible_at()
    }

    /// Moves every queue along to `now`, so that what has expired is let go.
    pub fn advance(&mut self, now: Timestamp) {
        self.queues.values_mut().for_each(|queue| queue.advance(now));
    }

    /// Every message in memory, with when it was sent and the place of its payload: what the journal and the pages must
    /// keep.
    pub fn payloads(&self) -> impl Iterator<Item = (QueueId, Serial, Timestamp, &PayloadAt)> {
        self.queues.iter().flat_map(|(&id, queue)| {
            queue.messages().map(move |(serial, message)| (id, serial, message.sent_at, &message.payload))
        })
    }

    /// As [`Self::payloads`], without what is due to be frozen.
    pub fn window_payloads(&self) -> impl Iterator<Item = (QueueId, Serial, Timestamp, &PayloadAt)> {
        self.queues.iter().flat_map(|(&id, queue)| {
            let backlog_after = queue.backlog_after(&self.rules.paging);
            queue
                .messages()
                .filter(move |(serial, message)| {
                    let is_backlog = backlog_after.is_some_and(|after| after < *serial) && message.is_untouched();
                    !is_backlog
                })
                .map(move |(serial, message)| (id, serial, message.sent_at, &message.payload))
        })
    }

    /// How many messages that are to be frozen are still in memory, and others with them.
    pub fn backlog_in_memory(&self) -> usize {
        let in_memory = |id: &QueueId| self.queues.get(id).map_or(0, Queue::visible_in_memory);
        self.backlogs.iter().map(in_memory).sum()
    }

    /// Where the payload of a message is now, if it is in memory.
    pub fn payload_of(&self, receipt: Receipt) -> Option<PayloadAt> {
        Some(self.queues.get(&receipt.queue)?.get(receipt.serial)?.payload.clone())
    }

    /// Every page with frozen messages.
    pub fn frozen_pages(&self) -> impl Iterator<Item = u64> {
        self.queues.values().flat_map(|queue| queue.frozen().map(|frozen| frozen.page))
    }

    /// What is remembered of each page with frozen messages, and the queue they are in.
    pub fn frozen(&self) -> impl Iterator<Item = (QueueId, &FrozenPage)> {
        self.queues.iter().flat_map(|(&id, queue)| queue.frozen().map(move |frozen| (id, frozen)))
    }

    /// Whether [`Self::next_backlog_work`] may have something.
    pub fn has_backlog_work(&self) -> bool {
        !self.backlogs.is_empty()
    }

    /// What is to be done next about a backlog, if anything.
    pub fn next_backlog_work(&mut self) -> Option<BacklogWork> {
        // What has expired is no work: a snapshot may have let go of it.
        for id in &self.backlogs {
            if let Some(queue) = self.queues.get_mut(id) {
                queue.advance(self.at);
            }
        }
        // Somebody may be waiting for what is thawed, and for no other.
        let urgent = self.backlogs.iter().copied().find(|&id| self.is_thaw_due(id));
        loop {
            let id = urgent.or(self.backlogs.first().copied())?;
            if let Some(queue) = self.queues.get(&id) {
                if let Some(page) = queue.page_to_thaw(&self.rules.paging) {
                    return Some(BacklogWork::Thaw { queue: id, page: page.page });
                }
                let messages = queue.messages_to_freeze(&self.rules.paging);
                if !messages.is_empty() {
                    return Some(BacklogWork::Freeze { queue: id, messages });
                }
            }
            self.backlogs.remove(&id);
        }
    }

    /// Decides what `command` does at the moment `at`, without doing it. Only the indexes over time move along.
    pub fn decide(&mut self, at: Timestamp, command: Command) -> Decision {
        assert!(self.at <= at, "time ran backwards");
        let mut decided = Decided { at, changes: Vec::new(), queue: None };
        let reply = match command {
            Command::Found { receipt_key } => {
                if self.receipt_key.is_none() {
                    decided.changes.push(Change::Founded { receipt_key });
                }
                Ok(Answer::Done)
            }
            Command::CreateQueue { queue, settings, tags } => self.create_queue(&mut decided, queue, settings, tags),
            Command::List { account, region, prefix, after, results_max } => {
                Ok(Answer::Queues(self.list(&QueueSpace { account, region }, &prefix, after.as_deref(), results_max)))
            }
            Command::Undo { receipts } => self.undo(&mut decided, &receipts),
            Command::MovePayloads { page, moved } => self.move_payloads(&mut decided, page, moved),
            Command::Freeze { queue, page, messages } => self.freeze(&mut decided, queue, page, &messages),
            Command::Thaw { queue, page, messages } => self.thaw(&mut decided, queue, page, messages),
            Command::DeleteQueue { queue } => self.on_queue(&mut decided, &queue, |_, id, _, decided| {
                decided.changes.push(Change::QueueDeleted { queue: id });
                Ok(Answer::Done)
            }),
            Command::PurgeQueue { queue } => self.on_queue(&mut decided, &queue, Self::purge),
            Command::SetAttributes { queue, settings } => {
                self.on_queue(&mut decided, &queue, |_, id, queue, decided| set(id, queue, decided, settings))
            }
            Command::Tag { queue, tags } => {
                self.on_queue(&mut decided, &queue, |_, id, queue, decided| tag(id, queue, decided, tags))
            }
            Command::Untag { queue, keys } => self.on_queue(&mut decided, &queue, |_, id, queue, decided| {
                let keys: Vec<_> = keys.into_iter().filter(|key| queue.tags.contains_key(key)).collect();
                if !keys.is_empty() {
                    decided.changes.push(Change::Untagged { queue: id, keys });
                }
                Ok(Answer::Done)
            }),
            Command::Describe { queue } => self.on_queue(&mut decided, &queue, |_, _, queue, _| Ok(describe(queue))),
            Command::Send { queue, messages } => {
                self.on_queue(&mut decided, &queue, |_, id, queue, decided| send(id, queue, decided, messages))
            }
            Command::Receive(receive) => self.on_queue(&mut decided, &receive.queue, |rules, id, queue, decided| {
                receive_from(rules, id, queue, decided, &receive)
            }),
            Command::Delete { queue, receipts } => {
                self.on_queue(&mut decided, &queue, |_, id, queue, decided| Ok(delete(id, queue, decided, &receipts)))
            }
            Command::ChangeVisibility { queue, receipts } => {
                self.on_queue(&mut decided, &queue, |rules, id, queue, decided| {
                    Ok(change_visibility(rules, id, queue, decided, &receipts))
                })
            }
        };
        Decision { entry: Entry { at, changes: decided.changes }, reply, queue: decided.queue }
    }

    fn on_queue(
        &mut self,
        decided: &mut Decided,
        key: &QueueKey,
        then: impl FnOnce(&Rules, QueueId, &Queue, &mut Decided) -> Reply,
    ) -> Reply {
        let id = *self.names.get(key).ok_or(Refusal::QueueDoesNotExist)?;
        let queue = self.queues.get_mut(&id).expect("a name leads to a queue");
        queue.advance(decided.at);
        decided.queue = Some(id);
        self.note_thaw(id);
        then(&self.rules, id, &self.queues[&id], decided)
    }

    fn create_queue(
        &mut self,
        decided: &mut Decided,
        key: QueueKey,
        settings: Vec<Setting>,
        tags: BTreeMap<String, String>,
    ) -> Reply {
        if let Some(id) = self.names.get(&key) {
            // Only what the request names is compared. Observed in recordings of 2024.
            let queue = &self.queues[id];
            return match settings.iter().find(|setting| !queue.settings.holds(setting)) {
                None => Ok(Answer::Done),
                Some(setting) => Err(Refusal::QueueNameExists { attribute: setting.name() }),
            };
        }
        if let Some(deleted_at) = self.deleted.when(&key) {
            let free_at = deleted_at.plus_seconds(u64::from(self.rules.deleted_name_seconds));
            if let Some(wait_seconds) = seconds_until(decided.at, free_at) {
                return Err(Refusal::QueueDeletedRecently { wait_seconds });
            }
        }
        if tags.len() > TAGS_MAX {
            return Err(Refusal::TooManyTags);
        }
        decided.queue = Some(self.next_queue);
        decided.changes.push(Change::QueueCreated { queue: self.next_queue, key, settings, tags });
        Ok(Answer::Done)
    }

    fn list(&self, space: &QueueSpace, prefix: &str, after: Option<&str>, results_max: usize) -> Listing {
        // A name that can't be is no place to start from; the walk then starts at the beginning of the account.
        let after = after.and_then(QueueName::parse).map(|name| space.key(name));
        let start = match &after {
            Some(key) => Bound::Excluded(key),
            None => Bound::Unbounded,
        };
        let first = space.first_key();
        let start = match start {
            Bound::Unbounded => Bound::Included(&first),
            bound => bound,
        };
        let mut names = self
            .names
            .range((start, Bound::Unbounded))
            .map(|(key, _)| key)
            .take_while(|key| space.contains(key))
            .filter(|key| key.name.as_str().starts_with(prefix))
            .map(|key| key.name.clone());
        let page = names.by_ref().take(results_max).collect();
        Listing { names: page, more: names.next().is_some() }
    }

    fn purge(rules: &Rules, id: QueueId, queue: &Queue, decided: &mut Decided) -> Reply {
        if let Some(purged_at) = queue.purged_at {
            let free_at = purged_at.plus_seconds(u64::from(rules.purge_interval_seconds));
            if let Some(wait_seconds) = seconds_until(decided.at, free_at) {
                return Err(Refusal::PurgeInProgress { wait_seconds });
            }
        }
        decided.changes.push(Change::QueuePurged { queue: id });
        Ok(Answer::Done)
    }

    fn undo(&mut self, decided: &mut Decided, receipts: &[Receipt]) -> Reply {
        for receipt in receipts {
            let Some(queue) = self.queues.get_mut(&receipt.queue) else { continue };
            queue.advance(decided.at);
            decided.queue = Some(receipt.queue);
            let is_latest = |message: &Message| message.delivery == receipt.delivery && message.receive_count > 0;
            if queue.get(receipt.serial).is_some_and(is_latest) {
                decided.changes.push(Change::Undone { queue: receipt.queue, serial: receipt.serial });
            }
        }
        Ok(Answer::Done)
    }

    fn move_payloads(&mut self, decided: &mut Decided, page: u64, moved: Vec<PagedMessage>) -> Reply {
        let still_there = |moved: &PagedMessage| {
            let message = self.queues.get(&moved.queue).and_then(|queue| queue.get(moved.serial));
            message.is_some_and(|message| matches!(message.payload, PayloadAt::Journal { .. }))
        };
        let moved: Vec<_> = moved.into_iter().filter(still_there).collect();
        if !moved.is_empty() {
            decided.changes.push(Change::PayloadsMoved { page, moved });
        }
        Ok(Answer::Done)
    }

    fn freeze(&mut self, decided: &mut Decided, id: QueueId, page: u64, messages: &[PagedMessage]) -> Reply {
        let Some(queue) = self.queues.get_mut(&id) else { return Ok(Answer::Frozen(false)) };
        queue.advance(decided.at);
        decided.queue = Some(id);
        let can = queue.can_freeze(messages);
        if can {
            let serials = messages.iter().map(|message| message.serial).collect();
            decided.changes.push(Change::Frozen { queue: id, page, serials });
        }
        Ok(Answer::Frozen(can))
    }

    fn thaw(&mut self, decided: &mut Decided, id: QueueId, page: u64, messages: Vec<PagedMessage>) -> Reply {
        let Some(queue) = self.queues.get_mut(&id) else { return Ok(Answer::Done) };
        queue.advance(decided.at);
        decided.queue = Some(id);
        let first = messages.first().map(|message| message.serial);
        let frozen = first.and_then(|first| queue.frozen_page(first, page));
        if frozen.is_some_and(|frozen| frozen.messages as usize == messages.len()) {
            decided.changes.push(Change::Thawed { queue: id, page, messages });
        }
        Ok(Answer::Done)
    }

    /// Carries out what was decided. It cannot refuse: an entry that doesn't fit the state is a bug, or a journal that
    /// isn't this shard's, and stops the program before wrong data is written.
    pub fn apply(&mut self, entry: &Entry) {
        assert!(self.at <= entry.at, "time ran backwards");
        self.at = entry.at;
        for change in &entry.changes {
            self.apply_change(entry.at, change);
            if let Some(queue) = change.queue() {
                self.note_thaw(queue);
            }
        }
    }

    /// Notes whether a page of a queue is due.
    fn note_thaw(&mut self, id: QueueId) {
        if self.is_thaw_due(id) {
            self.backlogs.insert(id);
        }
    }

    fn is_thaw_due(&self, id: QueueId) -> bool {
        self.queues.get(&id).is_some_and(|queue| queue.page_to_thaw(&self.rules.paging).is_some())
    }

    fn apply_change(&mut self, at: Timestamp, change: &Change) {
        match change {
            Change::Founded { receipt_key } => self.receipt_key = Some(receipt_key.clone()),
            Change::QueueCreated { queue, key, settings, tags } => {
                assert!(self.next_queue <= *queue, "a queue id was reused");
                self.next_queue = QueueId(queue.0 + 1);
                let mut all = Settings::default();
                settings.iter().for_each(|setting| all.set(setting));
                self.deleted.forget(key);
                self.names.insert(key.clone(), *queue);
                self.queues.insert(*queue, Queue::new(key.clone(), at, all, tags.clone()));
            }
            Change::QueueDeleted { queue } => {
                let removed = self.queues.remove(queue).expect("a queue that is deleted exists");
                self.names.remove(&removed.key);
                self.deleted.remember(removed.key, at);
            }
            Change::QueuePurged { queue } => self.queue_at(*queue, at).purge(at),
            Change::AttributesSet { queue, settings } => self.queue_at(*queue, at).set(settings, at),
            Change::Tagged { queue, tags } => {
                self.queue_at(*queue, at).tags.extend(tags.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            Change::Untagged { queue, keys } => {
                let queue = self.queue_at(*queue, at);
                keys.iter().for_each(|key| drop(queue.tags.remove(key)));
            }
            Change::Sent { queue: id, serial, visible_at, payload } => {
                let freezes = matches!(payload, SentPayload::Written { .. });
                let queue = self.queue_at(*id, at);
                queue.insert(*serial, Message::new(at, *visible_at, payload.place()));
                let in_memory = queue.visible_in_memory();
                // Now and then is enough: a page takes many messages.
                let paging = &self.rules.paging;
                if freezes && serial.0.is_multiple_of(paging.look_every) && in_memory > paging.freeze_above {
                    self.backlogs.insert(*id);
                }
            }
            Change::Received { queue, visible_at, deliveries } => {
                let queue = self.queue_at(*queue, at);
                for delivery in deliveries {
                    let found = queue.change(delivery.serial, |message| {
                        message.visible_at = *visible_at;
                        message.received_at = at;
                        message.delivery = delivery.delivery;
                        message.receive_count = delivery.receive_count;
                        if delivery.receive_count == 1 {
                            message.first_received_at = at;
                        }
                    });
                    assert!(found, "a message that is received exists");
                }
            }
            Change::Undone { queue, serial } => {
                let found = self.queue_at(*queue, at).change(*serial, |message| {
                    message.visible_at = at;
                    message.receive_count -= 1;
                });
                assert!(found, "a message whose receive is undone exists");
            }
            Change::Deleted { queue, serials } => {
                let queue = self.queue_at(*queue, at);
                for serial in serials {
                    assert!(queue.remove(*serial).is_some(), "a message that is deleted exists");
                }
            }
            Change::VisibilityChanged { queue, serial, visible_at } => {
                let found = self.queue_at(*queue, at).change(*serial, |message| {
                    message.visible_at = *visible_at;
                    if *visible_at <= at {
                        // Told apart from a timeout that has passed: see `Message::is_released`.
                        message.received_at = at;
                    }
                });
                assert!(found, "a message whose visibility changes exists");
            }
            Change::PayloadsMoved { page, moved } => {
                for payload in moved {
                    let at = PayloadAt::Page { page: *page, offset: payload.offset, bytes: payload.bytes };
                    let queue = self.queues.get_mut(&payload.queue).expect("a queue whose payload moves exists");
                    queue.move_payload(payload.serial, at);
                }
            }
            Change::Frozen { queue, page, serials } => self.queue_at(*queue, at).freeze(*page, serials),
            Change::Thawed { queue, page, messages } => self.queue_at(*queue, at).thaw(*page, messages),
        }
    }

    fn queue_at(&mut self, queue: QueueId, at: Timestamp) -> &mut Queue {
        let queue = self.queues.get_mut(&queue).expect("a queue that is changed exists");
        queue.advance(at);
        queue
    }

    /// What is true between any two entries.
    pub fn check_invariants(&self) {
        assert_eq!(self.names.len(), self.queues.len(), "a queue has no name, or two");
        for (key, id) in &self.names {
            assert_eq!(&self.queues[id].key, key, "a name leads to the wrong queue");
        }
        self.queues.values().for_each(Queue::check_invariants);
    }
}

/// What is being decided.
pub(crate) struct Decided {
    pub at: Timestamp,
    pub changes: Vec<Change>,
    pub queue: Option<QueueId>,
}

/// The queues of one account in one Region.
struct QueueSpace {
    account: model::AccountId,
    region: model::Region,
}

impl QueueSpace {
    fn key(&self, name: QueueName) -> QueueKey {
        QueueKey { account: self.account.clone(), region: self.region.clone(), name }
    }

    /// The least key there can be: no character of a name sorts before a dash.
    fn first_key(&self) -> QueueKey {
        self.key(QueueName::parse("-").expect("a dash is a queue name"))
    }

    fn contains(&self, key: &QueueKey) -> bool {
        key.account == self.account && key.region == self.region
    }
}

/// Whole seconds from `now` until `then`, rounded up; nothing where that has passed.
fn seconds_until(now: Timestamp, then: Timestamp) -> Option<u32> {
    let milliseconds = then.milliseconds_since(now);
    (milliseconds > 0).then(|| u32::try_from(milliseconds.div_ceil(1_000)).unwrap_or(u32::MAX))
}
