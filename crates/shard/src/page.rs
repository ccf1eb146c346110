//! A page: an immutable block of messages, metadata and payloads together.
//!
//! ```text
//! page:   version 1 · number of messages · (queue · serial · sent · bytes)* · payloads, one after the other
//! ```
//!
//! A backlog that grows past its queue's window is frozen into pages; so is a payload that outlives its journal segment.
//! Of a frozen page the shard remembers only a [`FrozenPage`].

use crate::codec::{Malformed, Reader, Unreadable, Writer, check_version};
use model::{QueueId, Serial, Timestamp};

/// A message as a page lists it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PagedMessage {
    pub queue: QueueId,
    pub serial: Serial,
    pub sent_at: Timestamp,
    /// Where the payload begins, from the start of the page.
    pub offset: u32,
    /// Length of the payload.
    pub bytes: u32,
}

/// What is remembered of a page whose messages are frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrozenPage {
    pub page: u64,
    pub messages: u32,
    pub first: Serial,
    pub last: Serial,
    pub oldest_sent_at: Timestamp,
    pub newest_sent_at: Timestamp,
}

const VERSION: u8 = 1;

/// Gathers messages for a page.
#[derive(Default)]
pub struct PageBuilder {
    messages: Vec<PagedMessage>,
    payloads: Vec<u8>,
}

impl PageBuilder {
    pub fn push(&mut self, queue: QueueId, serial: Serial, sent_at: Timestamp, payload: &[u8]) {
        let offset = self.payloads.len() as u32;
        self.messages.push(PagedMessage { queue, serial, sent_at, offset, bytes: payload.len() as u32 });
        self.payloads.extend_from_slice(payload);
    }

    pub fn payload_bytes(&self) -> usize {
        self.payloads.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The page, and where in it each message is.
    pub fn finish(mut self) -> (Vec<u8>, Vec<PagedMessage>) {
        let mut bytes = Vec::with_capacity(self.payloads.len() + self.messages.len() * 24 + 16);
        let mut out = Writer(&mut bytes);
        out.byte(VERSION);
        out.length(self.messages.len());
        for message in &self.messages {
            out.number(message.queue.0);
            out.number(message.serial.0);
            out.number(message.sent_at.0);
            out.number(u64::from(message.bytes));
        }
        let start = bytes.len() as u32;
        self.messages.iter_mut().for_each(|message| message.offset += start);
        bytes.extend_from_slice(&self.payloads);
        (bytes, self.messages)
    }
}

/// What a page holds, in the order in which it was gathered.
pub fn read_page(page: &[u8]) -> Result<Vec<PagedMessage>, Unreadable> {
    let mut from = Reader::new(page);
    check_version("page format", from.byte()?.into(), VERSION.into())?;
    let count = from.length()?;
    let mut messages = Vec::with_capacity(count.min(1 << 10));
    let mut payload_bytes = 0u32;
    for _ in 0..count {
        let (queue, serial) = (QueueId(from.number()?), Serial(from.number()?));
        let (sent_at, bytes) = (Timestamp(from.number()?), from.number_u32()?);
        messages.push(PagedMessage { queue, serial, sent_at, offset: payload_bytes, bytes });
        payload_bytes = payload_bytes.checked_add(bytes).ok_or(Malformed("a page is too large"))?;
    }
    let start = from.position() as u32;
    if page.len() as u64 != u64::from(start) + u64::from(payload_bytes) {
        return Err(Malformed("a page is longer or shorter than its messages").into());
    }
    messages.iter_mut().for_each(|message| message.offset += start);
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_written() {
        let mut builder = PageBuilder::default();
        for (number, payload) in [b"one".as_slice(), b"", b"three"].into_iter().enumerate() {
            builder.push(QueueId(7), Serial(number as u64), Timestamp(1_000), payload);
        }
        let (bytes, messages) = builder.finish();
        assert_eq!(read_page(&bytes).as_deref(), Ok(messages.as_slice()));
        let last = messages[2];
        assert_eq!(&bytes[last.offset as usize..(last.offset + last.bytes) as usize], b"three");
        for end in 0..bytes.len() {
            assert!(read_page(&bytes[..end]).is_err(), "cut at {end}");
        }
    }
}
