//! What was decided: entries and their changes, and how they are laid out in the journal.
//!
//! ```text
//! entry:   moment · number of changes · changes
//! change:  kind 1 · its members, in the order below
//! ```
//!
//! We journal the answer and not the question, so that a newer version with better rules replays an older journal to
//! the same state. Kinds are never reused; a kind that this version doesn't know was written by a newer one.

use crate::codec::{Malformed, Reader, Unreadable, Writer};
use crate::{PagedMessage, PayloadAt, ReceiptKey, Setting};
use bytes::Bytes;
use model::{AccountId, DeliveryNumber, QueueId, QueueKey, QueueName, Region, Serial, Timestamp};
use std::collections::BTreeMap;
use std::fmt;

/// Names the layout in this file. Written into every snapshot; a journal's segments carry the journal's own version.
pub const FORMAT_VERSION: u32 = 1;

/// The newest kind of change that this version knows.
const KIND_NEWEST: u8 = 15;

/// What was decided, and when: the unit that is journaled, replayed and replicated.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Stamped once, before the decision. Never earlier than that of the entry before.
    pub at: Timestamp,
    pub changes: Vec<Change>,
}

/// One change of the state. `apply` carries it out without asking.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// 1
    Founded { receipt_key: ReceiptKey },
    /// 2
    QueueCreated { queue: QueueId, key: QueueKey, settings: Vec<Setting>, tags: BTreeMap<String, String> },
    /// 3
    QueueDeleted { queue: QueueId },
    /// 4
    QueuePurged { queue: QueueId },
    /// 5
    AttributesSet { queue: QueueId, settings: Vec<Setting> },
    /// 6
    Tagged { queue: QueueId, tags: BTreeMap<String, String> },
    /// 7
    Untagged { queue: QueueId, keys: Vec<String> },
    /// 8
    Sent { queue: QueueId, serial: Serial, visible_at: Timestamp, payload: SentPayload },
    /// 9
    Received { queue: QueueId, visible_at: Timestamp, deliveries: Vec<NumberedDelivery> },
    /// 10
    Undone { queue: QueueId, serial: Serial },
    /// 11
    Deleted { queue: QueueId, serials: Vec<Serial> },
    /// 12
    VisibilityChanged { queue: QueueId, serial: Serial, visible_at: Timestamp },
    /// 13
    PayloadsMoved { page: u64, moved: Vec<PagedMessage> },
    /// 14
    Frozen { queue: QueueId, page: u64, serials: Vec<Serial> },
    /// 15
    Thawed { queue: QueueId, page: u64, messages: Vec<PagedMessage> },
}

/// The payload of a message that was just sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SentPayload {
    /// Not written anywhere yet.
    New(Bytes),
    /// In the journal, in the very entry that says it was sent.
    Written { position: u64, bytes: u32 },
}

impl SentPayload {
    pub(crate) fn place(&self) -> PayloadAt {
        match self {
            Self::New(bytes) => PayloadAt::Held(bytes.as_ref().into()),
            Self::Written { position, bytes } => PayloadAt::Journal { position: *position, bytes: *bytes },
        }
    }
}

/// Which delivery of which message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NumberedDelivery {
    pub serial: Serial,
    pub delivery: DeliveryNumber,
    pub receive_count: u32,
}

impl Entry {
    /// Appends this entry to `out`, whose first byte will stand at `position` of the journal, and notes in each payload
    /// where it now is.
    pub fn encode(&mut self, out: &mut Vec<u8>, position: u64) {
        let mut writer = Writer(out);
        writer.number(self.at.0);
        writer.length(self.changes.len());
        for change in &mut self.changes {
            change.encode(&mut writer, position);
        }
    }

    /// Reads the entries of one journal record whose first byte stands at `position`, one after the other.
    pub fn decode_all(record: &[u8], position: u64, mut each: impl FnMut(Self)) -> Result<(), Unreadable> {
        let mut from = Reader::new(record);
        while !from.is_at_end() {
            let at = Timestamp(from.number()?);
            let count = from.length()?;
            let mut changes = Vec::with_capacity(count.min(16));
            for _ in 0..count {
                changes.push(Change::decode(&mut from, position)?);
            }
            each(Self { at, changes });
        }
        Ok(())
    }
}

impl Change {
    /// The one queue that it is about.
    pub(crate) fn queue(&self) -> Option<QueueId> {
        match self {
            Self::Founded { .. } | Self::PayloadsMoved { .. } => None,
            Self::QueueCreated { queue, .. }
            | Self::QueueDeleted { queue }
            | Self::QueuePurged { queue }
            | Self::AttributesSet { queue, .. }
            | Self::Tagged { queue, .. }
            | Self::Untagged { queue, .. }
            | Self::Sent { queue, .. }
            | Self::Received { queue, .. }
            | Self::Undone { queue, .. }
            | Self::Deleted { queue, .. }
            | Self::VisibilityChanged { queue, .. }
            | Self::Frozen { queue, .. }
            | Self::Thawed { queue, .. } => Some(*queue),
        }
    }

    fn encode(&mut self, out: &mut Writer<'_>, base: u64) {
        match self {
            Self::Founded { receipt_key } => {
                out.byte(1);
                out.fixed(receipt_key.secret());
            }
            Self::QueueCreated { queue, key, settings, tags } => {
                out.pair(2, queue.0);
                encode_key(out, key);
                encode_settings(out, settings);
                encode_tags(out, tags);
            }
            Self::QueueDeleted { queue } => out.pair(3, queue.0),
            Self::QueuePurged { queue } => out.pair(4, queue.0),
            Self::AttributesSet { queue, settings } => {
                out.pair(5, queue.0);
                encode_settings(out, settings);
            }
            Self::Tagged { queue, tags } => {
                out.pair(6, queue.0);
                encode_tags(out, tags);
            }
            Self::Untagged { queue, keys } => {
                out.pair(7, queue.0);
                out.length(keys.len());
                keys.iter().for_each(|key| out.text(key));
            }
            Self::Sent { queue, serial, visible_at, payload } => {
                out.pair(8, queue.0);
                out.number(serial.0);
                out.number(visible_at.0);
                let SentPayload::New(bytes) = payload else { unreachable!("a payload is written once") };
                out.length(bytes.len());
                let position = base + out.0.len() as u64;
                out.fixed(bytes);
                *payload = SentPayload::Written { position, bytes: bytes.len() as u32 };
            }
            Self::Received { queue, visible_at, deliveries } => {
                out.pair(9, queue.0);
                out.number(visible_at.0);
                out.length(deliveries.len());
                for delivery in deliveries {
                    out.number(delivery.serial.0);
                    out.number(u64::from(delivery.delivery.0));
                    out.number(u64::from(delivery.receive_count));
                }
            }
            Self::Undone { queue, serial } => {
                out.pair(10, queue.0);
                out.number(serial.0);
            }
            Self::Deleted { queue, serials } => {
                out.pair(11, queue.0);
                out.length(serials.len());
                serials.iter().for_each(|serial| out.number(serial.0));
            }
            Self::VisibilityChanged { queue, serial, visible_at } => {
                out.pair(12, queue.0);
                out.number(serial.0);
                out.number(visible_at.0);
            }
            Self::PayloadsMoved { page, moved } => {
                out.pair(13, *page);
                encode_paged(out, moved);
            }
            Self::Frozen { queue, page, serials } => {
                out.pair(14, queue.0);
                out.number(*page);
                encode_rising(out, serials);
            }
            Self::Thawed { queue, page, messages } => {
                out.pair(15, queue.0);
                out.number(*page);
                encode_paged(out, messages);
            }
        }
    }

    fn decode(from: &mut Reader<'_>, base: u64) -> Result<Self, Unreadable> {
        let kind = from.byte()?;
        match kind {
            0 => return Err(Malformed("a change of kind zero").into()),
            1..=KIND_NEWEST => {}
            _ => {
                return Err(Unreadable::Newer {
                    what: "kind of change",
                    found: kind.into(),
                    known: KIND_NEWEST.into(),
                });
            }
        }
        if kind == 1 {
            return Ok(Self::Founded { receipt_key: ReceiptKey::new(from.fixed()?) });
        }
        if kind == 13 {
            return Ok(Self::PayloadsMoved { page: from.number()?, moved: decode_paged(from)? });
        }
        let queue = QueueId(from.number()?);
        Ok(match kind {
            2 => {
                let key = decode_key(from)?;
                Self::QueueCreated { queue, key, settings: decode_settings(from)?, tags: decode_tags(from)? }
            }
            3 => Self::QueueDeleted { queue },
            4 => Self::QueuePurged { queue },
            5 => Self::AttributesSet { queue, settings: decode_settings(from)? },
            6 => Self::Tagged { queue, tags: decode_tags(from)? },
            7 => Self::Untagged { queue, keys: list(from, |from| Ok(from.text()?.to_owned()))? },
            8 => {
                let serial = Serial(from.number()?);
                let visible_at = Timestamp(from.number()?);
                let length = from.length()?;
                let position = base + from.position() as u64;
                from.slice(length)?;
                let bytes = u32::try_from(length).map_err(|_| Malformed("a payload is too large"))?;
                Self::Sent { queue, serial, visible_at, payload: SentPayload::Written { position, bytes } }
            }
            9 => Self::Received {
                queue,
                visible_at: Timestamp(from.number()?),
                deliveries: list(from, |from| {
                    Ok(NumberedDelivery {
                        serial: Serial(from.number()?),
                        delivery: DeliveryNumber(from.number_u32()?),
                        receive_count: from.number_u32()?,
                    })
                })?,
            },
            10 => Self::Undone { queue, serial: Serial(from.number()?) },
            11 => Self::Deleted { queue, serials: list(from, |from| Ok(Serial(from.number()?)))? },
            12 => {
                Self::VisibilityChanged { queue, serial: Serial(from.number()?), visible_at: Timestamp(from.number()?) }
            }
            14 => Self::Frozen { queue, page: from.number()?, serials: decode_rising(from)? },
            15 => Self::Thawed { queue, page: from.number()?, messages: decode_paged(from)? },
            _ => unreachable!("kinds up to the newest are listed above"),
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.at)?;
        self.changes.iter().try_for_each(|change| write!(f, "\n  {change:?}"))
    }
}

fn list<T>(
    from: &mut Reader<'_>,
    mut each: impl FnMut(&mut Reader<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = from.length()?;
    let mut list = Vec::with_capacity(count.min(16));
    for _ in 0..count {
        list.push(each(from)?);
    }
    Ok(list)
}

fn encode_paged(out: &mut Writer<'_>, messages: &[PagedMessage]) {
    out.length(messages.len());
    for message in messages {
        out.number(message.queue.0);
        out.number(message.serial.0);
        out.number(message.sent_at.0);
        out.number(u64::from(message.offset));
        out.number(u64::from(message.bytes));
    }
}

fn decode_paged(from: &mut Reader<'_>) -> Result<Vec<PagedMessage>, Malformed> {
    list(from, |from| {
        Ok(PagedMessage {
            queue: QueueId(from.number()?),
            serial: Serial(from.number()?),
            sent_at: Timestamp(from.number()?),
            offset: from.number_u32()?,
            bytes: from.number_u32()?,
        })
    })
}

/// Each as its distance from the one before: mostly one byte.
fn encode_rising(out: &mut Writer<'_>, serials: &[Serial]) {
    out.length(serials.len());
    let mut before = 0;
    for serial in serials {
        out.number(serial.0 - before);
        before = serial.0;
    }
}

fn decode_rising(from: &mut Reader<'_>) -> Result<Vec<Serial>, Malformed> {
    let mut before = 0u64;
    list(from, |from| {
        before = before.checked_add(from.number()?).ok_or(Malformed("a serial is too large"))?;
        Ok(Serial(before))
    })
}

pub(crate) fn encode_key(out: &mut Writer<'_>, key: &QueueKey) {
    out.text(key.account.as_str());
    out.text(key.region.as_str());
    out.text(key.name.as_str());
}

pub(crate) fn decode_key(from: &mut Reader<'_>) -> Result<QueueKey, Malformed> {
    let account = AccountId::parse(from.text()?).ok_or(Malformed("an account that can't be"))?;
    let region = Region::parse(from.text()?).ok_or(Malformed("a Region that can't be"))?;
    let name = QueueName::parse(from.text()?).ok_or(Malformed("a queue name that can't be"))?;
    Ok(QueueKey { account, region, name })
}

pub(crate) fn encode_settings(out: &mut Writer<'_>, settings: &[Setting]) {
    out.length(settings.len());
    settings.iter().for_each(|setting| setting.encode(out));
}

pub(crate) fn decode_settings(from: &mut Reader<'_>) -> Result<Vec<Setting>, Malformed> {
    list(from, Setting::decode)
}

pub(crate) fn encode_tags(out: &mut Writer<'_>, tags: &BTreeMap<String, String>) {
    out.length(tags.len());
    for (key, value) in tags {
        out.text(key);
        out.text(value);
    }
}

pub(crate) fn decode_tags(from: &mut Reader<'_>) -> Result<BTreeMap<String, String>, Malformed> {
    let tags = list(from, |from| Ok((from.text()?.to_owned(), from.text()?.to_owned())))?;
    Ok(tags.into_iter().collect())
}
