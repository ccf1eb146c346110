//! A standard queue: what it holds, and where each message is.
//!
//! ```text
//!              send                      receive
//!   (nothing) ──────▶ delayed ──▶ visible ──────▶ in flight ──delete──▶ (gone)
//!                       delay has   ▲                  │
//!                       passed      └──────────────────┘
//!                                   visibility timeout has passed
//! ```
//!
//! A message carries no state flag. Which box it is in follows from `visible_at` and the moment at which one asks, so
//! nothing has to be written down when time passes. The queue keeps an index over that, valid for the latest moment it
//! was told of: `hidden`, by the time at which each comes back, and `visible`, by arrival.
//!
//! A long backlog isn't kept in memory. Past a window at the head of the queue, messages are frozen into pages, of which
//! only a descriptor stays here, and thawed when the window reaches them:
//!
//! ```text
//!   head ├── window ──┤ page │ page │ page │ … │ page ├── latest arrivals ──┤ tail
//!          in memory     a descriptor each, in memory      in memory
//! ```

use crate::visible::Visible;
use crate::{FrozenPage, PagedMessage, Paging, PayloadAt, Settings};
use model::{DeliveryNumber, QueueKey, Serial, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) struct Queue {
    pub key: QueueKey,
    pub created_at: Timestamp,
    pub modified_at: Timestamp,
    pub purged_at: Option<Timestamp>,
    pub settings: Settings,
    pub tags: BTreeMap<String, String>,
    pub next_serial: Serial,
    messages: BTreeMap<Serial, Message>,
    /// The moment for which the index below holds.
    indexed_at: Timestamp,
    visible: Visible,
    hidden: BTreeSet<(Timestamp, Serial)>,
    /// How many of the hidden ones were received, the others being delayed.
    in_flight: usize,
    /// By first serial, then page.
    frozen: BTreeMap<(Serial, u64), FrozenPage>,
    frozen_messages: usize,
}

/// What is kept in memory of a message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Message {
    pub sent_at: Timestamp,
    pub visible_at: Timestamp,
    /// Of the latest delivery. It can't be hidden for more than twelve hours from then.
    pub received_at: Timestamp,
    pub first_received_at: Timestamp,
    pub receive_count: u32,
    /// Of the latest delivery, undone ones included; 0 before the first.
    pub delivery: DeliveryNumber,
    pub payload: PayloadAt,
}

impl Message {
    pub fn new(sent_at: Timestamp, visible_at: Timestamp, payload: PayloadAt) -> Self {
        Self {
            sent_at,
            visible_at,
            received_at: Timestamp::ZERO,
            first_received_at: Timestamp::ZERO,
            receive_count: 0,
            delivery: DeliveryNumber(0),
            payload,
        }
    }

    /// Nobody has received it, not even in vain.
    pub fn is_untouched(&self) -> bool {
        self.delivery == DeliveryNumber(0)
    }

    /// It was received, and put back since by a visibility timeout of zero.
    pub fn is_released(&self) -> bool {
        self.receive_count > 0 && self.visible_at <= self.received_at
    }

    pub fn expires_at(&self, settings: &Settings) -> Timestamp {
        self.sent_at.plus_seconds(u64::from(settings.retention_seconds))
    }
}

impl Queue {
    pub fn new(key: QueueKey, created_at: Timestamp, settings: Settings, tags: BTreeMap<String, String>) -> Self {
        Self {
            key,
            created_at,
            modified_at: created_at,
            purged_at: None,
            settings,
            tags,
            next_serial: Serial(1),
            messages: BTreeMap::new(),
            indexed_at: created_at,
            visible: Visible::default(),
            hidden: BTreeSet::new(),
            in_flight: 0,
            frozen: BTreeMap::new(),
            frozen_messages: 0,
        }
    }

    /// Moves the index along to `now`: what has come back is visible, what has expired is gone.
    pub fn advance(&mut self, now: Timestamp) {
        if now <= self.indexed_at {
            return;
        }
        self.indexed_at = now;
        while let Some(&(visible_at, serial)) = self.hidden.first() {
            if visible_at > now {
                break;
            }
            self.hidden.pop_first();
            self.visible.insert(serial);
            if self.messages[&serial].receive_count > 0 {
                self.in_flight -= 1;
            }
        }
        self.expire();
    }

    /// Removes what has expired. Messages arrive in the order of their times, so only the oldest can have.
    fn expire(&mut self) {
        while let Some((&serial, message)) = self.messages.first_key_value() {
            if message.expires_at(&self.settings) > self.indexed_at {
                break;
            }
            self.remove(serial);
        }
        // A page goes once all of it has expired; one of which a part has is thawed before.
        while let Some((&first, page)) = self.frozen.first_key_value() {
            if page.newest_sent_at.plus_seconds(u64::from(self.settings.retention_seconds)) > self.indexed_at {
                break;
            }
            self.frozen_messages -= page.messages as usize;
            self.frozen.remove(&first);
            self.set_barrier();
        }
    }

    fn set_barrier(&mut self) {
        self.visible.set_barrier(self.frozen.first_key_value().map(|((first, _), _)| *first));
    }

    pub fn get(&self, serial: Serial) -> Option<&Message> {
        self.messages.get(&serial)
    }

    /// Messages in the order of arrival.
    pub fn messages(&self) -> impl Iterator<Item = (Serial, &Message)> {
        self.messages.iter().map(|(&serial, message)| (serial, message))
    }

    /// Messages that can be handed out, oldest first. Those that arrived after a frozen one wait for it to be thawed.
    pub fn visible(&self) -> impl Iterator<Item = Serial> + '_ {
        self.visible.head()
    }

    /// How many [`Self::visible`] gives.
    pub fn ready_count(&self) -> usize {
        self.visible.head_len()
    }

    /// Frozen ones included.
    pub fn visible_count(&self) -> usize {
        self.visible.len() + self.frozen_messages
    }

    pub fn has_frozen(&self) -> bool {
        self.frozen_messages > 0
    }

    pub fn frozen(&self) -> impl Iterator<Item = &FrozenPage> {
        self.frozen.values()
    }

    pub fn in_flight_count(&self) -> usize {
        self.in_flight
    }

    pub fn delayed_count(&self) -> usize {
        self.hidden.len() - self.in_flight
    }

    /// When the next hidden message becomes visible, if none does anything before.
    pub fn next_visible_at(&self) -> Option<Timestamp> {
        self.hidden.first().map(|&(visible_at, _)| visible_at)
    }

    pub fn insert(&mut self, serial: Serial, message: Message) {
        assert!(self.next_serial <= serial, "a serial was reused");
        self.next_serial = Serial(serial.0 + 1);
        self.index(serial, &message);
        self.messages.insert(serial, message);
    }

    /// Changes a message in place and files it anew. False where it is gone.
    pub fn change(&mut self, serial: Serial, change: impl FnOnce(&mut Message)) -> bool {
        let Some(message) = self.messages.get_mut(&serial) else { return false };
        let before = (message.visible_at, message.receive_count);
        change(message);
        let (visible_at, received) = (message.visible_at, message.receive_count > 0);
        self.unindex(serial, before.0, before.1 > 0);
        self.index_at(serial, visible_at, received);
        true
    }

    /// Says where the payload is now, without touching anything else.
    pub fn move_payload(&mut self, serial: Serial, payload: PayloadAt) {
        if let Some(message) = self.messages.get_mut(&serial) {
            message.payload = payload;
        }
    }

    pub fn remove(&mut self, serial: Serial) -> Option<Message> {
        let message = self.messages.remove(&serial)?;
        self.unindex(serial, message.visible_at, message.receive_count > 0);
        Some(message)
    }

    pub fn purge(&mut self, at: Timestamp) {
        self.purged_at = Some(at);
        self.messages.clear();
        self.visible.clear();
        self.hidden.clear();
        self.in_flight = 0;
        self.frozen.clear();
        self.frozen_messages = 0;
    }

    /// Frozen ones not included.
    pub fn visible_in_memory(&self) -> usize {
        self.visible.len()
    }

    /// The page to thaw next, if one is due.
    pub fn page_to_thaw(&self, paging: &Paging) -> Option<&FrozenPage> {
        let (_, first) = self.frozen.first_key_value()?;
        let expires_at = first.oldest_sent_at.plus_seconds(u64::from(self.settings.retention_seconds));
        (self.visible.head_len() < paging.thaw_below || expires_at <= self.indexed_at).then_some(first)
    }

    /// The last message that stays in memory; those behind it are to be frozen. Nothing where there aren't too many.
    pub fn backlog_after(&self, paging: &Paging) -> Option<Serial> {
        if self.visible.len() <= paging.freeze_above {
            return None;
        }
        match self.frozen.last_key_value() {
            Some((_, page)) => Some(page.last),
            None => self.visible.head().nth(paging.window),
        }
    }

    /// The messages for the next page: behind the window and behind all that is frozen. Empty where they don't fill one.
    pub fn messages_to_freeze(&self, paging: &Paging) -> Vec<(Serial, Timestamp, PayloadAt)> {
        let Some(after) = self.backlog_after(paging) else { return Vec::new() };
        let mut messages = Vec::with_capacity(paging.page_messages);
        let mut payload_bytes = 0;
        for serial in self.visible.after(after) {
            let message = &self.messages[&serial];
            if message.is_untouched() {
                messages.push((serial, message.sent_at, message.payload.clone()));
                payload_bytes += message.payload.bytes();
            }
            if messages.len() == paging.page_messages || payload_bytes >= paging.page_bytes {
                return messages;
            }
        }
        Vec::new()
    }

    /// Whether all of these are still visible and were never received.
    pub fn can_freeze(&self, messages: &[PagedMessage]) -> bool {
        let mut ahead = None;
        messages.iter().all(|paged| {
            let is_rising = ahead.replace(paged.serial).is_none_or(|before| before < paged.serial);
            let message = self.messages.get(&paged.serial);
            is_rising && message.is_some_and(|message| message.is_untouched() && message.visible_at <= self.indexed_at)
        }) && !messages.is_empty()
    }

    pub fn freeze(&mut self, page: u64, serials: &[Serial]) {
        let (&first, &last) = (serials.first().expect("a page holds a message"), serials.last().expect("as above"));
        let mut sent_at = Vec::with_capacity(serials.len());
        for &serial in serials {
            sent_at.push(self.remove(serial).expect("a message that is frozen exists").sent_at);
        }
        self.add_frozen(FrozenPage {
            page,
            messages: serials.len() as u32,
            first,
            last,
            oldest_sent_at: sent_at[0],
            newest_sent_at: sent_at[sent_at.len() - 1],
        });
    }

    pub fn add_frozen(&mut self, page: FrozenPage) {
        self.frozen_messages += page.messages as usize;
        let before = self.frozen.insert((page.first, page.page), page);
        assert!(before.is_none(), "a page was frozen twice");
        self.set_barrier();
    }

    /// The page with this number and first message, if it is frozen.
    pub fn frozen_page(&self, first: Serial, page: u64) -> Option<&FrozenPage> {
        self.frozen.get(&(first, page))
    }

    pub fn thaw(&mut self, page: u64, messages: &[PagedMessage]) {
        let first = messages.first().expect("a page holds a message").serial;
        let frozen = self.frozen.remove(&(first, page)).expect("a page that is thawed is frozen");
        self.frozen_messages -= frozen.messages as usize;
        self.set_barrier();
        for paged in messages {
            let payload = PayloadAt::Page { page, offset: paged.offset, bytes: paged.bytes };
            self.restore(paged.serial, Message::new(paged.sent_at, paged.sent_at, payload));
        }
        self.expire();
    }

    /// Takes over attributes. A shorter retention expires older messages at once.
    pub fn set(&mut self, settings: &[crate::Setting], at: Timestamp) {
        settings.iter().for_each(|setting| self.settings.set(setting));
        self.modified_at = at;
        self.expire();
    }

    fn index(&mut self, serial: Serial, message: &Message) {
        self.index_at(serial, message.visible_at, message.receive_count > 0);
    }

    fn index_at(&mut self, serial: Serial, visible_at: Timestamp, received: bool) {
        if visible_at <= self.indexed_at {
            self.visible.insert(serial);
        } else {
            self.hidden.insert((visible_at, serial));
            self.in_flight += usize::from(received);
        }
    }

    fn unindex(&mut self, serial: Serial, visible_at: Timestamp, received: bool) {
        if visible_at <= self.indexed_at {
            assert!(self.visible.remove(serial), "a visible message is not in the index");
        } else {
            assert!(self.hidden.remove(&(visible_at, serial)), "a hidden message is not in the index");
            self.in_flight -= usize::from(received);
        }
    }

    /// Brings back a message from a snapshot or a page.
    pub fn restore(&mut self, serial: Serial, message: Message) {
        self.index(serial, &message);
        self.messages.insert(serial, message);
    }

    /// What is true between any two entries.
    pub fn check_invariants(&self) {
        if let Some((&newest, _)) = self.messages.last_key_value() {
            assert!(newest < self.next_serial, "a serial was reused");
        }
        assert_eq!(self.visible.len() + self.hidden.len(), self.messages.len(), "a message is in no box, or in two");
        let mut in_flight = 0;
        let mut sent_before = Timestamp::ZERO;
        for (&serial, message) in &self.messages {
            let is_visible = message.visible_at <= self.indexed_at;
            assert_eq!(self.visible.contains(serial), is_visible, "a message is in the wrong box");
            assert_eq!(
                self.hidden.contains(&(message.visible_at, serial)),
                !is_visible,
                "a message is in the wrong box"
            );
            in_flight += usize::from(!is_visible && message.receive_count > 0);
            assert!(sent_before <= message.sent_at, "arrival order is lost");
            assert!(self.indexed_at < message.expires_at(&self.settings), "an expired message is still here");
            assert!(message.receive_count <= message.delivery.0, "more receives than deliveries");
            sent_before = message.sent_at;
        }
        assert_eq!(in_flight, self.in_flight, "the count of messages in flight is wrong");
        let frozen: usize = self.frozen.values().map(|page| page.messages as usize).sum();
        assert_eq!(frozen, self.frozen_messages, "the count of frozen messages is wrong");
        for page in self.frozen.values() {
            assert!(page.first <= page.last && page.last < self.next_serial, "a page holds serials that are none");
            assert!(page.oldest_sent_at <= page.newest_sent_at, "arrival order is lost");
        }
    }
}
