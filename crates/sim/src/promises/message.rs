//! What is known of one message.

use super::{Broken, When, promise};
use bytes::Bytes;
use model::limits::VISIBILITY_TIMEOUT_SECONDS_MAX;
use model::{DeliveryNumber, MessageId, Timestamp};
use shard::Delivery;
use std::fmt;

/// A value that isn't less than one and not more than another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span<T> {
    pub low: T,
    pub high: T,
}

impl<T: Copy + Ord> Span<T> {
    pub fn exactly(value: T) -> Self {
        Self { low: value, high: value }
    }

    pub fn has(self, value: T) -> bool {
        self.low <= value && value <= self.high
    }

    /// The value may be this one, too.
    pub fn widen(&mut self, value: T) {
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }
}

impl Span<Timestamp> {
    pub fn plus_seconds(self, seconds: u32) -> Self {
        Self { low: self.low.plus_seconds(u64::from(seconds)), high: self.high.plus_seconds(u64::from(seconds)) }
    }
}

impl<T: fmt::Display + PartialEq> fmt::Display for Span<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.low == self.high { write!(f, "{}", self.low) } else { write!(f, "{} to {}", self.low, self.high) }
    }
}

/// What a message carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Content {
    pub id: MessageId,
    pub payload: Bytes,
}

#[derive(Clone, Debug)]
pub struct Message {
    /// One of these. More than one only where a batch was never answered, until one of its messages is read.
    pub contents: Vec<Content>,
    pub sent_at: Timestamp,
    pub visible_at: Span<Timestamp>,
    pub receive_count: Span<u32>,
    /// Something that would have removed it was never answered.
    pub may_be_gone: bool,
    /// The latest delivery known.
    delivery: DeliveryNumber,
    /// A delivery may have followed of which nobody has heard.
    may_be_newer: bool,
    received_at: Span<Timestamp>,
    /// Exactly, where that is known.
    first_received_at: Option<Timestamp>,
}

impl Message {
    pub fn new(content: Content, sent_at: Timestamp, visible_at: Timestamp) -> Self {
        Self {
            contents: vec![content],
            sent_at,
            visible_at: Span::exactly(visible_at),
            receive_count: Span::exactly(0),
            may_be_gone: false,
            delivery: DeliveryNumber(0),
            may_be_newer: false,
            received_at: Span::exactly(Timestamp::ZERO),
            first_received_at: None,
        }
    }

    /// One of these, which were sent at the same time and never answered. Much may have happened to it since.
    pub fn one_of(contents: Vec<Content>, sent_at: Timestamp, visible_at: Span<Timestamp>) -> Self {
        let first = contents.first().expect("one of some").clone();
        Self {
            contents,
            visible_at,
            receive_count: Span { low: 0, high: u32::MAX - 1 },
            may_be_newer: true,
            ..Self::new(first, sent_at, visible_at.low)
        }
    }

    pub fn id(&self) -> MessageId {
        self.contents[0].id
    }

    /// Whether this is the message's latest delivery, if that can be told.
    pub fn is_latest(&self, delivery: DeliveryNumber) -> Option<bool> {
        if delivery != self.delivery {
            return Some(false);
        }
        (!self.may_be_newer).then_some(true)
    }

    pub fn delivered(&mut self, delivery: &Delivery, seconds: u32, when: When) -> Result<(), Broken> {
        let id = self.id();
        promise!(
            self.visible_at.low <= when.high,
            "message {id} is handed out at {}, but it is hidden until {}",
            when.high,
            self.visible_at.low
        );
        let number = delivery.receipt.delivery;
        let is_next = number.0 == self.delivery.0 + 1;
        promise!(
            is_next || self.may_be_newer && number > self.delivery,
            "delivery {} of message {id} follows delivery {}",
            number.0,
            self.delivery.0
        );
        let count = delivery.receive_count;
        let expected = Span { low: self.receive_count.low + 1, high: self.receive_count.high + 1 };
        promise!(expected.has(count), "message {id} says it was received {count} times, but it was {expected} times");
        promise!(delivery.sent_at == self.sent_at, "message {id} says it was sent at another moment");
        let first = delivery.first_received_at;
        if count == 1 {
            promise!(when.has(first), "message {id} says it was first received at {first}, but that is now");
        } else if let Some(known) = self.first_received_at {
            promise!(first == known, "message {id} says it was first received at {first}, not {known}");
        }
        let received_at = if count == 1 { Span::exactly(first) } else { when };
        self.visible_at = received_at.plus_seconds(seconds);
        self.received_at = received_at;
        self.first_received_at = Some(first);
        self.receive_count = Span::exactly(count);
        self.delivery = number;
        self.may_be_newer = false;
        self.may_be_gone = false;
        Ok(())
    }

    pub fn undone(&mut self, delivery: DeliveryNumber, when: When) {
        match self.is_latest(delivery) {
            Some(false) => {}
            Some(true) if self.receive_count.low > 0 => {
                self.visible_at = when;
                self.receive_count = Span { low: self.receive_count.low - 1, high: self.receive_count.high - 1 };
            }
            _ => self.may_be_undone(delivery, when.low),
        }
        if self.receive_count.low == 0 {
            self.first_received_at = None;
        }
    }

    pub fn may_be_undone(&mut self, delivery: DeliveryNumber, at: Timestamp) {
        if self.is_latest(delivery) != Some(false) {
            self.visible_at.widen(at);
            self.receive_count.low = self.receive_count.low.saturating_sub(1);
            self.first_received_at = None;
        }
    }

    /// Whether it can be that it is allowed to hide this long from now.
    pub fn may_hide_for(&self, seconds: u32, when: When) -> bool {
        when.low.plus_seconds(u64::from(seconds)) <= self.received_at.plus_seconds(VISIBILITY_TIMEOUT_SECONDS_MAX).high
    }

    /// Whether it must be allowed to.
    pub fn must_hide_for(&self, seconds: u32, when: When) -> bool {
        when.high.plus_seconds(u64::from(seconds)) <= self.received_at.plus_seconds(VISIBILITY_TIMEOUT_SECONDS_MAX).low
    }

    pub fn changed(&mut self, delivery: DeliveryNumber, seconds: u32, when: When) {
        debug_assert!(delivery == self.delivery, "a stale receipt was found out before");
        self.visible_at = when.plus_seconds(seconds);
        // It was the latest delivery, and the message was there.
        self.may_be_gone = false;
        self.may_be_newer = false;
    }

    pub fn may_be_changed(&mut self, delivery: DeliveryNumber, seconds: u32, at: Timestamp) {
        if self.is_latest(delivery) != Some(false) {
            self.visible_at.widen(at.plus_seconds(u64::from(seconds)));
        }
    }

    /// A receive was never answered: it may have been this message that it hid.
    pub fn may_be_delivered(&mut self, seconds: u32, at: Timestamp) {
        self.visible_at.widen(at.plus_seconds(u64::from(seconds)));
        self.visible_at.low = self.visible_at.low.min(at);
        self.receive_count.high += 1;
        self.received_at.widen(at);
        self.may_be_newer = true;
        if self.receive_count.low == 0 {
            self.first_received_at = None;
        }
    }
}
