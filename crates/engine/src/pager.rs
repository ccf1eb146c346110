//! Moves the backlog to pages and back: freezes what lies past the window of a queue, thaws what the window reaches.
//!
//! Receives wait for what is being thawed, so this runs on a thread of its own, where no snapshot is in its way.

use crate::core::Outcome;
use crate::store::Store;
use bytes::Bytes;
use model::{QueueId, Serial, Timestamp};
use shard::{BacklogWork, Command, PageBuilder, PagedMessage, PayloadAt, read_page};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The living shard, as those who keep house for it see it.
pub trait Living {
    /// Carries out a command, and returns once that is durable.
    fn ask(&mut self, command: Command) -> Outcome;
    fn next_backlog_work(&mut self) -> Option<BacklogWork>;
    /// A payload, where it is still in memory.
    fn in_memory(&self, payload: &PayloadAt) -> Option<Bytes>;
    /// A page whose messages will be received soon.
    fn expect_page(&mut self, page: u64, bytes: Bytes);
    /// Whether whatever takes long should be left for the next start.
    fn is_stopping(&self) -> bool {
        false
    }
}

/// Writes pages. All who do share one, since no number may be used twice.
#[derive(Clone)]
pub struct Pager {
    store: Arc<dyn Store>,
    numbers: Arc<Mutex<PageNumbers>>,
}

struct PageNumbers {
    next: u64,
    /// Pages that are written, or being written, and that no durable entry names yet.
    nameless: BTreeSet<u64>,
}

/// Pages that may be removed where a state doesn't need them: all older than a moment, but those in the making then.
pub struct SettledPages {
    before: u64,
    nameless: BTreeSet<u64>,
}

impl SettledPages {
    pub fn contains(&self, page: u64) -> bool {
        page < self.before && !self.nameless.contains(&page)
    }
}

impl Pager {
    pub fn new(store: Arc<dyn Store>) -> Result<Self, String> {
        // A page that the journal names since the newest snapshot is still there: pages only go with a snapshot.
        let next = store.pages()?.into_iter().max().map_or(1, |newest| newest + 1);
        Ok(Self { store, numbers: Arc::new(Mutex::new(PageNumbers { next, nameless: BTreeSet::new() })) })
    }

    /// Freezes or thaws one page. False where there is nothing to do.
    pub fn work_on_backlog(&self, living: &mut dyn Living) -> Result<bool, String> {
        match living.next_backlog_work() {
            None => return Ok(false),
            Some(BacklogWork::Freeze { queue, messages }) => self.freeze(living, queue, messages)?,
            Some(BacklogWork::Thaw { queue, page }) => {
                let bytes = self.store.read_whole_page(page)?;
                let messages = read_page(&bytes).map_err(|error| format!("page {page}: {error}"))?;
                living.expect_page(page, bytes);
                living.ask(Command::Thaw { queue, page, messages }).map_err(|error| error.to_string())?;
            }
        }
        Ok(true)
    }

    fn freeze(
        &self,
        living: &mut dyn Living,
        queue: QueueId,
        messages: Vec<(Serial, Timestamp, PayloadAt)>,
    ) -> Result<(), String> {
        let mut builder = PageBuilder::default();
        let neighbours = Neighbours::read(self.store.as_ref(), messages.iter().map(|(.., payload)| payload));
        for (serial, sent_at, payload) in messages {
            let in_memory = neighbours.payload(&payload).or_else(|| living.in_memory(&payload));
            let bytes = in_memory.map_or_else(|| self.store.read_payload(&payload), Ok)?;
            builder.push(queue, serial, sent_at, &bytes);
        }
        self.put(builder, |page, messages| {
            // Where one was touched meanwhile none is frozen, and the page goes with the next snapshot.
            living.ask(Command::Freeze { queue, page, messages }).map(drop).map_err(|error| error.to_string())
        })
    }

    /// Writes a page and has it named by an entry. Until that is durable the page is safe from being removed.
    pub fn put(
        &self,
        builder: PageBuilder,
        name: impl FnOnce(u64, Vec<PagedMessage>) -> Result<(), String>,
    ) -> Result<(), String> {
        let page = self.with_numbers(|numbers| {
            let page = numbers.next;
            numbers.next += 1;
            numbers.nameless.insert(page);
            page
        });
        let (bytes, messages) = builder.finish();
        let named = self.store.put_page(page, &bytes).and_then(|()| name(page, messages));
        self.with_numbers(|numbers| numbers.nameless.remove(&page));
        named
    }

    /// Pages of which any state later than this moment knows whether they are needed.
    pub fn settled(&self) -> SettledPages {
        self.with_numbers(|numbers| SettledPages { before: numbers.next, nameless: numbers.nameless.clone() })
    }

    fn with_numbers<R>(&self, run: impl FnOnce(&mut PageNumbers) -> R) -> R {
        run(&mut self.numbers.lock().expect("nothing panics while it holds this lock"))
    }
}

/// A stretch of the journal in which most of a page's payloads lie, read at once.
struct Neighbours {
    position: u64,
    bytes: Bytes,
}

impl Neighbours {
    /// Longest stretch that is read, in bytes for each byte of payload.
    const SPREAD_MAX: u64 = 4;

    /// Nothing is read where the payloads lie too far apart, or not all in one segment.
    fn read<'a>(store: &dyn Store, payloads: impl Iterator<Item = &'a PayloadAt>) -> Self {
        let (mut first, mut last, mut payload_bytes) = (u64::MAX, 0, 0);
        for payload in payloads {
            if let PayloadAt::Journal { position, bytes } = payload {
                first = first.min(*position);
                last = last.max(position + u64::from(*bytes));
                payload_bytes += u64::from(*bytes);
            }
        }
        let stretch = last.saturating_sub(first);
        let is_dense = 0 < stretch && stretch <= payload_bytes.saturating_mul(Self::SPREAD_MAX);
        let length = u32::try_from(stretch).ok().filter(|_| is_dense);
        let bytes = length.and_then(|length| store.read(first, length).ok()).unwrap_or_default();
        Self { position: first, bytes }
    }

    fn payload(&self, payload: &PayloadAt) -> Option<Bytes> {
        let PayloadAt::Journal { position, bytes } = payload else { return None };
        let from = usize::try_from(position.checked_sub(self.position)?).ok()?;
        let to = from.checked_add(*bytes as usize)?;
        (to <= self.bytes.len()).then(|| self.bytes.slice(from..to))
    }
}
