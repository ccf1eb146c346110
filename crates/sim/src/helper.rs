//! The engine's helpers, the keeper and the pager, made to go step by step.
//!
//! ```text
//!   simulator ──go──▶ a helper's thread: the real house or pager, on a store that stops before each thing it does
//!             ◀─stop─
//! ```
//!
//! Each has a thread of its own only so that it can stop in the middle. Exactly one thread runs at any time, so the order
//! in which things happen is the simulator's choice and the same each time.

use bytes::Bytes;
use engine::AskError;
use engine::core::Outcome;
use engine::house::House;
use engine::pager::{Living, Pager};
use engine::store::{AppendError, Store};
use shard::{BacklogWork, Command, PayloadAt};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Why a helper has stopped.
pub enum Stop {
    /// It is about to do this with the store.
    Before(&'static str),
    /// It asks the living shard, and waits for the outcome.
    Asks(Command),
    AsksForWork,
    /// It is done with what it was told to do.
    Done(Result<(), String>),
    Panicked(String),
}

/// What lets it go on.
pub enum Go {
    /// From rest: looks what there is to do. `anyway`: as if it were due.
    Look {
        anyway: bool,
    },
    On,
    Outcome(Outcome),
    Work(Option<BacklogWork>),
}

pub struct Helper {
    /// Nothing once the program has died.
    go: Option<Sender<Go>>,
    stops: Receiver<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// Makes snapshots and lets go what isn't needed.
    pub fn keeper(mut house: House, store: Arc<dyn Store>, snapshot_bytes: u64) -> Self {
        // What the engine's own keeper does at each tick.
        Self::new("keeper", move |anyway| {
            let has_room = store.make_room()?;
            let grown = house.grown_bytes();
            let is_due = anyway || !has_room || grown >= snapshot_bytes;
            if grown > 0 && is_due { house.snapshot(&mut SteppedShard, has_room) } else { Ok(()) }
        })
    }

    /// Freezes and thaws the backlog.
    pub fn pager(pager: Pager) -> Self {
        Self::new("pager", move |_| {
            while pager.work_on_backlog(&mut SteppedShard)? {}
            Ok(())
        })
    }

    fn new(name: &str, look: impl FnMut(bool) -> Result<(), String> + Send + 'static) -> Self {
        let (go, told) = channel();
        let (tell, stops) = channel();
        let work = move || {
            crate::panics::silence();
            BATON.set(Some(Baton { tell: tell.clone(), told }));
            let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(look)));
            if worked.is_err() {
                let _ = tell.send(Stop::Panicked(crate::panics::last()));
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(work).expect("there is room for a thread");
        Self { go: Some(go), stops, thread: Some(thread) }
    }

    /// Lets it go on to its next stop.
    pub fn go(&mut self, go: Go) -> Stop {
        let sent = self.go.as_ref().is_some_and(|sender| sender.send(go).is_ok());
        let gone = || Stop::Done(Err("it has ended".into()));
        if sent { self.stops.recv().unwrap_or_else(|_| gone()) } else { gone() }
    }
}

impl Drop for Helper {
    /// The program dies: whatever it was about to do doesn't happen.
    fn drop(&mut self) {
        self.go = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a helper's thread stops and goes on by.
struct Baton {
    tell: Sender<Stop>,
    told: Receiver<Go>,
}

thread_local! {
    static BATON: RefCell<Option<Baton>> = const { RefCell::new(None) };
}

fn dead() -> String {
    "the program has died".into()
}

fn wait() -> Result<Go, String> {
    BATON.with_borrow(|baton| baton.as_ref().and_then(|baton| baton.told.recv().ok()).ok_or_else(dead))
}

/// Stops, and goes on when told to. Who is no helper doesn't stop.
fn stop(why: Stop) -> Result<Go, String> {
    let is_helper = BATON.with_borrow(|baton| match baton {
        None => Ok(false),
        Some(baton) => baton.tell.send(why).map(|()| true).map_err(|_| dead()),
    })?;
    if is_helper { wait() } else { Ok(Go::On) }
}

fn work(mut look: impl FnMut(bool) -> Result<(), String>) {
    let mut go = wait();
    while let Ok(Go::Look { anyway }) = go {
        go = stop(Stop::Done(look(anyway)));
    }
}

struct SteppedShard;

impl Living for SteppedShard {
    fn ask(&mut self, command: Command) -> Outcome {
        match stop(Stop::Asks(command)) {
            Ok(Go::Outcome(outcome)) => outcome,
            _ => Err(AskError::Stopped { reason: dead() }),
        }
    }

    fn next_backlog_work(&mut self) -> Option<BacklogWork> {
        match stop(Stop::AsksForWork) {
            Ok(Go::Work(work)) => work,
            _ => None,
        }
    }

    /// Nothing is: what is read comes from the disk, where it can be wrong.
    fn in_memory(&self, _payload: &PayloadAt) -> Option<Bytes> {
        None
    }

    fn expect_page(&mut self, _page: u64, _bytes: Bytes) {}
}

/// The store. A helper stops before whatever changes it, and before what takes long.
pub struct SteppedStore(pub Arc<dyn Store>);

fn before(what: &'static str) -> Result<(), String> {
    stop(Stop::Before(what)).map(drop)
}

impl Store for SteppedStore {
    fn append(&self, entries: &[u8]) -> Result<u64, AppendError> {
        self.0.append(entries)
    }

    fn end(&self) -> u64 {
        self.0.end()
    }

    fn header_bytes(&self) -> u64 {
        self.0.header_bytes()
    }

    fn writable_bytes(&self) -> u64 {
        self.0.writable_bytes()
    }

    fn make_room(&self) -> Result<bool, String> {
        before("make room")?;
        self.0.make_room()
    }

    fn read(&self, position: u64, bytes: u32) -> Result<Bytes, String> {
        self.0.read(position, bytes)
    }

    fn replay(&self, from: u64, each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<(), String> {
        before("replay")?;
        self.0.replay(from, each)
    }

    fn first(&self) -> u64 {
        self.0.first()
    }

    fn oldest(&self) -> u64 {
        self.0.oldest()
    }

    fn trim(&self, position: u64) -> Result<(), String> {
        before("trim")?;
        self.0.trim(position)
    }

    fn latest_snapshot(&self) -> Result<Option<(u64, Vec<u8>)>, String> {
        before("read snapshot")?;
        self.0.latest_snapshot()
    }

    fn write_snapshot(&self, lsn: u64, bytes: &[u8]) -> Result<(), String> {
        before("write snapshot")?;
        self.0.write_snapshot(lsn, bytes)
    }

    fn put_page(&self, page: u64, bytes: &[u8]) -> Result<(), String> {
        before("put page")?;
        self.0.put_page(page, bytes)
    }

    fn read_page(&self, page: u64, offset: u32, bytes: u32) -> Result<Bytes, String> {
        self.0.read_page(page, offset, bytes)
    }

    fn read_whole_page(&self, page: u64) -> Result<Bytes, String> {
        before("read page")?;
        self.0.read_whole_page(page)
    }

    fn remove_page(&self, page: u64) -> Result<(), String> {
        before("remove page")?;
        self.0.remove_page(page)
    }

    fn pages(&self) -> Result<Vec<u64>, String> {
        self.0.pages()
    }
}
