//! Bugs on purpose: what the simulation is worth shows in whether it finds them.
//!
//! Each stands for a mistake that someone could make in the engine. They are made around the engine, so that it carries
//! no trace of them.

use bytes::Bytes;
use engine::store::{AppendError, Store};
use std::ops::ControlFlow;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    /// A reply leaves before its entry is on disk.
    AnswersTooEarly,
    /// The disk is not asked to sync.
    NeverSyncs,
    /// The last record of the journal is not replayed.
    ForgetsARecord,
    /// The journal is trimmed up to its end.
    TrimsTooMuch,
    /// Pages are not written.
    LosesPages,
    /// A byte of what is read is wrong.
    ReadsWrongBytes,
    /// A receive that nobody heard of is not undone.
    NeverUndoes,
    /// A delete is answered and not carried out.
    ForgetsDeletes,
    /// A message is hidden for half as long as was asked.
    HidesTooShort,
    /// A delay is ignored.
    IgnoresDelays,
    /// Nobody looks when a long poll is to be answered.
    ForgetsLongPolls,
    /// Purging leaves everything as it is.
    ForgetsPurges,
}

impl Sabotage {
    pub const ALL: [Self; 12] = [
        Self::AnswersTooEarly,
        Self::NeverSyncs,
        Self::ForgetsARecord,
        Self::TrimsTooMuch,
        Self::LosesPages,
        Self::ReadsWrongBytes,
        Self::NeverUndoes,
        Self::ForgetsDeletes,
        Self::HidesTooShort,
        Self::IgnoresDelays,
        Self::ForgetsLongPolls,
        Self::ForgetsPurges,
    ];
}

/// A store that makes the mistakes that a store can make.
pub struct SabotagedStore {
    pub store: Arc<dyn Store>,
    pub sabotage: Sabotage,
}

impl SabotagedStore {
    fn spoil(&self, bytes: Bytes) -> Bytes {
        if self.sabotage != Sabotage::ReadsWrongBytes {
            return bytes;
        }
        let mut bytes = bytes.to_vec();
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        bytes.into()
    }
}

impl Store for SabotagedStore {
    fn append(&self, entries: &[u8]) -> Result<u64, AppendError> {
        self.store.append(entries)
    }

    fn end(&self) -> u64 {
        self.store.end()
    }

    fn header_bytes(&self) -> u64 {
        self.store.header_bytes()
    }

    fn writable_bytes(&self) -> u64 {
        self.store.writable_bytes()
    }

    fn make_room(&self) -> Result<bool, String> {
        self.store.make_room()
    }

    fn read(&self, position: u64, bytes: u32) -> Result<Bytes, String> {
        self.store.read(position, bytes).map(|bytes| self.spoil(bytes))
    }

    fn replay(&self, from: u64, each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<(), String> {
        let end = self.store.end();
        let forgets = self.sabotage == Sabotage::ForgetsARecord;
        self.store.replay(from, &mut |position, entries| {
            let is_last = position + entries.len() as u64 == end;
            if forgets && is_last { ControlFlow::Continue(()) } else { each(position, entries) }
        })
    }

    fn first(&self) -> u64 {
        self.store.first()
    }

    fn oldest(&self) -> u64 {
        self.store.oldest()
    }

    fn trim(&self, before: u64) -> Result<(), String> {
        self.store.trim(if self.sabotage == Sabotage::TrimsTooMuch { self.store.end() } else { before })
    }

    fn latest_snapshot(&self) -> Result<Option<(u64, Vec<u8>)>, String> {
        self.store.latest_snapshot()
    }

    fn write_snapshot(&self, lsn: u64, bytes: &[u8]) -> Result<(), String> {
        self.store.write_snapshot(lsn, bytes)
    }

    fn put_page(&self, page: u64, bytes: &[u8]) -> Result<(), String> {
        if self.sabotage == Sabotage::LosesPages { Ok(()) } else { self.store.put_page(page, bytes) }
    }

    fn read_page(&self, page: u64, offset: u32, bytes: u32) -> Result<Bytes, String> {
        self.store.read_page(page, offset, bytes).map(|bytes| self.spoil(bytes))
    }

    fn read_whole_page(&self, page: u64) -> Result<Bytes, String> {
        self.store.read_whole_page(page)
    }

    fn remove_page(&self, page: u64) -> Result<(), String> {
        self.store.remove_page(page)
    }

    fn pages(&self) -> Result<Vec<u64>, String> {
        self.store.pages()
    }
}
