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

use crate::{PayloadAt, Settings};
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
    visible: BTreeSet<Serial>,
    hidden: BTreeSet<(Timestamp, Serial)>,
    /// How many of the hidden ones were received, the others being delayed.
    in_flight: usize,
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
    /// It was received, and put back since by a visibility timeout of zero.
    pub fn is_released(&self) -> bool {
        self.receive_count > 0 && self.visible_at <= self.received_at
    }

    fn expires_at(&self, settings: &Settings) -> Timestamp {
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
            visible: BTreeSet::new(),
            hidden: BTreeSet::new(),
            in_flight: 0,
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
    }

    pub fn get(&self, serial: Serial) -> Option<&Message> {
        self.messages.get(&serial)
    }

    /// Messages in the order of arrival.
    pub fn messages(&self) -> impl Iterator<Item = (Serial, &Message)> {
        self.messages.iter().map(|(&serial, message)| (serial, message))
    }

    /// Visible messages, oldest first.
    pub fn visible(&self) -> impl Iterator<Item = Serial> + '_ {
        self.visible.iter().copied()
    }

    pub fn visible_count(&self) -> usize {
        self.visible.len()
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
            assert!(self.visible.remove(&serial), "a visible message is not in the index");
        } else {
            assert!(self.hidden.remove(&(visible_at, serial)), "a hidden message is not in the index");
            self.in_flight -= usize::from(received);
        }
    }

    /// Brings back a message from a snapshot, in the order of arrival.
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
            assert_eq!(self.visible.contains(&serial), is_visible, "a message is in the wrong box");
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
    }
}
