//! Finds the bytes of a message: in memory while it is young, else in the journal or a page.
//!
//! Messages die young, so most are received while their batch is still here. Whole batches are kept, the newest ones, up
//! to a number of bytes; nothing is counted or moved for a single message.

use crate::store::Store;
use bytes::Bytes;
use shard::PayloadAt;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, RwLock};

pub(crate) struct Payloads {
    young: RwLock<Young>,
    expected: RwLock<Expected>,
    /// Of each of the two.
    bytes_max: usize,
    /// Nothing while everything is held in memory.
    store: Option<Arc<dyn Store>>,
}

/// The latest batches, oldest first.
#[derive(Default)]
struct Young {
    batches: VecDeque<(u64, Bytes)>,
    bytes: usize,
}

/// Pages whose messages are about to be received, as they were thawed: in the order of their queues.
#[derive(Default)]
struct Expected {
    pages: BTreeMap<u64, Bytes>,
    oldest_first: VecDeque<u64>,
    bytes: usize,
}

impl Payloads {
    pub fn new(store: Option<Arc<dyn Store>>, bytes_max: usize) -> Self {
        Self { young: RwLock::default(), expected: RwLock::default(), bytes_max, store }
    }

    /// Keeps a page that was thawed, as long as there is room.
    pub fn expect_page(&self, page: u64, bytes: Bytes) {
        let mut expected = self.expected.write().expect("nothing panics while it holds this lock");
        expected.bytes += bytes.len();
        if let Some(before) = expected.pages.insert(page, bytes) {
            expected.bytes -= before.len();
        } else {
            expected.oldest_first.push_back(page);
        }
        while expected.bytes > self.bytes_max && expected.oldest_first.len() > 1 {
            let oldest = expected.oldest_first.pop_front().expect("there are two");
            let removed = expected.pages.remove(&oldest).expect("what is listed is there");
            expected.bytes -= removed.len();
        }
    }

    /// Keeps a batch that starts at `position`, as long as there is room.
    pub fn keep(&self, position: u64, entries: Bytes) {
        let mut young = self.young.write().expect("nothing panics while it holds this lock");
        young.bytes += entries.len();
        young.batches.push_back((position, entries));
        while young.bytes > self.bytes_max && young.batches.len() > 1 {
            let (_, oldest) = young.batches.pop_front().expect("there are two");
            young.bytes -= oldest.len();
        }
    }

    /// Lets go of what is kept. It can be read from disk when it is wanted after all.
    pub fn forget(&self) {
        *self.young.write().expect("nothing panics while it holds this lock") = Young::default();
        *self.expected.write().expect("nothing panics while it holds this lock") = Expected::default();
    }

    /// The payload, if it is in memory.
    pub fn young(&self, at: &PayloadAt) -> Option<Bytes> {
        match at {
            PayloadAt::Held(bytes) => Some(Bytes::from_owner(bytes.clone())),
            PayloadAt::Page { page, offset, bytes } => {
                let expected = self.expected.read().expect("nothing panics while it holds this lock");
                let (from, page) = (*offset as usize, expected.pages.get(page)?);
                let to = from.checked_add(*bytes as usize)?;
                (to <= page.len()).then(|| page.slice(from..to))
            }
            PayloadAt::Journal { position, bytes } => {
                let young = self.young.read().expect("nothing panics while it holds this lock");
                let after = young.batches.partition_point(|(start, _)| start <= position);
                let (start, batch) = young.batches.get(after.checked_sub(1)?)?;
                let from = usize::try_from(position - start).ok()?;
                let to = from.checked_add(*bytes as usize)?;
                (to <= batch.len()).then(|| batch.slice(from..to))
            }
        }
    }

    /// The payload, wherever it is. May wait for the disk.
    pub fn read(&self, at: &PayloadAt) -> Result<Bytes, String> {
        if let Some(bytes) = self.young(at) {
            return Ok(bytes);
        }
        self.store.as_ref().ok_or("nothing is kept on disk")?.read_payload(at)
    }
}
