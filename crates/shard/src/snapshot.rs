//! The whole state as bytes, and back.
//!
//! ```text
//! snapshot:  format version 4 · moment · receipt key? · next queue id · queues · deleted names
//! queue:     id · account · region · name · created · modified · purged? · settings · tags · next serial · messages
//!            · frozen pages
//! page:      number · messages · first and last serial · oldest and newest moment of sending
//! message:   serial since the one before · sent · visible · received · first received · receive count · delivery
//!            · place of payload
//! ```
//!
//! What [`Shard::from_snapshot`] gives is the state that [`Shard::snapshot`] saw: the journal goes on from there.

use crate::change::{decode_key, decode_settings, decode_tags, encode_key, encode_settings, encode_tags};
use crate::codec::{Malformed, Reader, Unreadable, Writer, check_version};
use crate::queue::{Message, Queue};
use crate::{FORMAT_VERSION, FrozenPage, PayloadAt, ReceiptKey, Rules, Settings, Shard};
use model::{DeliveryNumber, QueueId, Serial, Timestamp};

impl Shard {
    pub fn snapshot(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut out = Writer(&mut bytes);
        out.fixed(&FORMAT_VERSION.to_le_bytes());
        out.number(self.at.0);
        match &self.receipt_key {
            None => out.byte(0),
            Some(key) => {
                out.byte(1);
                out.fixed(key.secret());
            }
        }
        out.number(self.next_queue.0);
        out.length(self.queues.len());
        for (id, queue) in &self.queues {
            out.number(id.0);
            encode_queue(&mut out, queue);
        }
        let deleted: Vec<_> = self.deleted.iter().collect();
        out.length(deleted.len());
        for (key, at) in deleted {
            encode_key(&mut out, key);
            out.number(at.0);
        }
        bytes
    }

    /// Reads a snapshot. The rules are not part of the state.
    ///
    /// What it gives holds [`Self::check_invariants`], whatever the bytes.
    pub fn from_snapshot(bytes: &[u8], rules: Rules) -> Result<Self, Unreadable> {
        let mut from = Reader::new(bytes);
        check_version("snapshot format", u32::from_le_bytes(from.fixed()?), FORMAT_VERSION)?;
        let mut shard = Self::new(rules);
        shard.at = Timestamp(from.number()?);
        shard.receipt_key = match from.byte()? {
            0 => None,
            1 => Some(ReceiptKey::new(from.fixed()?)),
            _ => return Err(Malformed("a receipt key is neither there nor absent").into()),
        };
        shard.next_queue = QueueId(count_so_far(&mut from)?);
        for _ in 0..from.length()? {
            let id = QueueId(from.number()?);
            let queue = decode_queue(&mut from)?;
            let new_name = shard.names.insert(queue.key.clone(), id).is_none();
            let new_id = shard.queues.insert(id, queue).is_none();
            if !new_name || !new_id || id >= shard.next_queue {
                return Err(Malformed("two queues of one name or id").into());
            }
        }
        let mut before = Timestamp::ZERO;
        for _ in 0..from.length()? {
            let key = decode_key(&mut from)?;
            let at = Timestamp(from.number()?);
            if at < before {
                return Err(Malformed("deleted names out of order").into());
            }
            before = at;
            shard.deleted.remember(key, at);
        }
        if !from.is_at_end() {
            return Err(Malformed("a snapshot goes on after its end").into());
        }
        Ok(shard)
    }
}

fn encode_queue(out: &mut Writer<'_>, queue: &Queue) {
    encode_key(out, &queue.key);
    out.number(queue.created_at.0);
    out.number(queue.modified_at.0);
    // A purge at the beginning of time can't be told from none, and needn't be.
    out.number(queue.purged_at.unwrap_or(Timestamp::ZERO).0);
    encode_settings(out, &queue.settings.as_list());
    encode_tags(out, &queue.tags);
    out.number(queue.next_serial.0);
    out.length(queue.messages().count());
    let mut before = 0;
    for (serial, message) in queue.messages() {
        out.number(serial.0 - before);
        before = serial.0;
        encode_message(out, message);
    }
    out.length(queue.frozen().count());
    for page in queue.frozen() {
        out.number(page.page);
        out.number(u64::from(page.messages));
        for number in [page.first.0, page.last.0, page.oldest_sent_at.0, page.newest_sent_at.0] {
            out.number(number);
        }
    }
}

fn decode_queue(from: &mut Reader<'_>) -> Result<Queue, Malformed> {
    let key = decode_key(from)?;
    let created_at = Timestamp(from.number()?);
    let modified_at = Timestamp(from.number()?);
    let purged_at = Some(Timestamp(from.number()?)).filter(|&at| at > Timestamp::ZERO);
    let mut settings = Settings::default();
    decode_settings(from)?.iter().for_each(|setting| settings.set(setting));
    let mut queue = Queue::new(key, created_at, settings, decode_tags(from)?);
    queue.modified_at = modified_at;
    queue.purged_at = purged_at;
    queue.next_serial = Serial(count_so_far(from)?);
    let mut before = 0u64;
    let mut sent_before = Timestamp::ZERO;
    for _ in 0..from.length()? {
        let step = from.number()?;
        let serial = before.checked_add(step).filter(|_| step > 0).ok_or(Malformed("two messages of one serial"))?;
        before = serial;
        if serial >= queue.next_serial.0 {
            return Err(Malformed("a message from the future"));
        }
        let message = decode_message(from)?;
        if message.sent_at < sent_before {
            return Err(Malformed("messages out of order"));
        }
        if message.expires_at(&queue.settings) <= created_at {
            return Err(Malformed("a message older than its queue"));
        }
        if message.receive_count > message.delivery.0 {
            return Err(Malformed("a message received more often than handed out"));
        }
        sent_before = message.sent_at;
        queue.restore(Serial(serial), message);
    }
    for _ in 0..from.length()? {
        let page = decode_frozen(from)?;
        if page.last >= queue.next_serial || queue.frozen_page(page.first, page.page).is_some() {
            return Err(Malformed("a page that can't be"));
        }
        queue.add_frozen(page);
    }
    Ok(queue)
}

/// The number that the next queue or message gets. There is always one more.
fn count_so_far(from: &mut Reader<'_>) -> Result<u64, Malformed> {
    from.number()
        .and_then(|number| if number < u64::MAX / 2 { Ok(number) } else { Err(Malformed("too many to be true")) })
}

fn decode_frozen(from: &mut Reader<'_>) -> Result<FrozenPage, Malformed> {
    let page = FrozenPage {
        page: from.number()?,
        messages: from.number_u32()?,
        first: Serial(from.number()?),
        last: Serial(from.number()?),
        oldest_sent_at: Timestamp(from.number()?),
        newest_sent_at: Timestamp(from.number()?),
    };
    let is_true = page.first <= page.last
        && page.messages > 0
        && u64::from(page.messages - 1) <= page.last.0 - page.first.0
        && page.oldest_sent_at <= page.newest_sent_at;
    if is_true { Ok(page) } else { Err(Malformed("a page that can't be")) }
}

fn encode_message(out: &mut Writer<'_>, message: &Message) {
    for at in [message.sent_at, message.visible_at, message.received_at, message.first_received_at] {
        out.number(at.0);
    }
    out.number(u64::from(message.receive_count));
    out.number(u64::from(message.delivery.0));
    message.payload.encode(out);
}

fn decode_message(from: &mut Reader<'_>) -> Result<Message, Malformed> {
    Ok(Message {
        sent_at: Timestamp(from.number()?),
        visible_at: Timestamp(from.number()?),
        received_at: Timestamp(from.number()?),
        first_received_at: Timestamp(from.number()?),
        receive_count: from.number_u32()?,
        delivery: DeliveryNumber(from.number_u32()?),
        payload: PayloadAt::decode(from)?,
    })
}
