//! The keeper, made to go step by step.
//!
//! ```text
//!   simulator ──go──▶ keeper's thread: the real house, on a store that stops before each thing it does
//!             ◀─stop─
//! ```
//!
//! It has a thread of its own only so that it can stop in the middle. Exactly one of the two runs at any time, so the
//! order in which things happen is the simulator's choice and the same each time.

use bytes::Bytes;
use engine::AskError;
use engine::core::Outcome;
use engine::house::House;
use engine::pager::Living;
use engine::store::{AppendError, Store};
use shard::{BacklogWork, Command, PayloadAt, Rules};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Why the keeper has stopped.
pub enum Stop {
    /// It is about to do this with the store.
    Before(&'static str),
    /// It asks the living shard, and waits for the outcome.
    Asks(Command),
    AsksForWork,
    /// It is done with what it was told to do.
    Done(Result<(), String>),
    /// It panicked.
    Panicked(String),
}

/// What lets it go on.
pub enum Go {
    /// Looks after the house; makes a snapshot if that is due, or in any case.
    Look { snapshot: bool },
    On,
    Outcome(Outcome),
    Work(Option<BacklogWork>),
}

pub struct Keeper {
    /// Nothing once the program has died.
    go: Option<Sender<Go>>,
    stops: Receiver<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub fn new(store: Arc<dyn Store>, rules: Rules, snapshot_bytes: u64) -> Self {
        let (go, told) = channel();
        let (tell, stops) = channel();
        let baton = Arc::new(Mutex::new(Baton { tell: tell.clone(), told }));
        let work = move || {
            crate::panics::silence();
            let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| keep(&baton, store, rules, snapshot_bytes)));
            if kept.is_err() {
                let _ = tell.send(Stop::Panicked(crate::panics::last()));
            }
        };
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(work).expect("there is room for a thread");
        Self { go: Some(go), stops, thread: Some(thread) }
    }

    /// Lets it go on to its next stop.
    pub fn go(&mut self, go: Go) -> Stop {
        let sent = self.go.as_ref().is_some_and(|sender| sender.send(go).is_ok());
        let gone = || Stop::Done(Err("the keeper has ended".into()));
        if sent { self.stops.recv().unwrap_or_else(|_| gone()) } else { gone() }
    }
}

impl Drop for Keeper {
    /// The program dies: whatever it was about to do doesn't happen.
    fn drop(&mut self) {
        self.go = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Baton {
    tell: Sender<Stop>,
    told: Receiver<Go>,
}

type Shared = Arc<Mutex<Baton>>;

fn dead() -> String {
    "the program has died".into()
}

/// Stops, and goes on when told to.
fn stop(baton: &Shared, why: Stop) -> Result<Go, String> {
    let baton = baton.lock().map_err(|_| dead())?;
    baton.tell.send(why).map_err(|_| dead())?;
    baton.told.recv().map_err(|_| dead())
}

fn keep(baton: &Shared, store: Arc<dyn Store>, rules: Rules, snapshot_bytes: u64) {
    let store: Arc<dyn Store> = Arc::new(SteppedStore { store, baton: baton.clone() });
    let Ok(mut go) = baton.lock().map_err(|_| ()).and_then(|baton| baton.told.recv().map_err(|_| ())) else { return };
    let mut house = House::new(store.clone(), rules, snapshot_bytes);
    loop {
        let done = match (&mut house, go) {
            (Ok(house), Go::Look { snapshot }) => look(baton, house, store.as_ref(), snapshot_bytes, snapshot),
            (Err(reason), _) => Err(reason.clone()),
            (Ok(_), _) => Ok(()),
        };
        go = match stop(baton, Stop::Done(done)) {
            Ok(go) => go,
            Err(_) => return,
        };
    }
}

/// What the engine's own keeper does at each tick.
fn look(baton: &Shared, house: &mut House, store: &dyn Store, snapshot_bytes: u64, snapshot: bool) -> Result<(), String> {
    let mut living = SteppedShard(baton);
    let has_room = store.make_room()?;
    let grown = house.grown_bytes();
    if grown > 0 && (snapshot || !has_room || grown >= snapshot_bytes) {
        house.snapshot(&mut living, has_room)?;
    }
    while has_room && house.pager().work_on_backlog(&mut living)? {}
    Ok(())
}

struct SteppedShard<'a>(&'a Shared);

impl Living for SteppedShard<'_> {
    fn ask(&mut self, command: Command) -> Outcome {
        match stop(self.0, Stop::Asks(command)) {
            Ok(Go::Outcome(outcome)) => outcome,
            _ => Err(AskError::Stopped { reason: dead() }),
        }
    }

    fn next_backlog_work(&mut self) -> Option<BacklogWork> {
        match stop(self.0, Stop::AsksForWork) {
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

/// The store, stopping before whatever changes it, and before what takes long.
struct SteppedStore {
    store: Arc<dyn Store>,
    baton: Shared,
}

impl SteppedStore {
    fn before(&self, what: &'static str) -> Result<(), String> {
        stop(&self.baton, Stop::Before(what)).map(drop)
    }
}

impl Store for SteppedStore {
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
        self.before("make room")?;
        self.store.make_room()
    }

    fn read(&self, position: u64, bytes: u32) -> Result<Bytes, String> {
        self.store.read(position, bytes)
    }

    fn replay(&self, from: u64, each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<(), String> {
        self.before("replay")?;
        self.store.replay(from, each)
    }

    fn first(&self) -> u64 {
        self.store.first()
    }

    fn oldest(&self) -> u64 {
        self.store.oldest()
    }

    fn trim(&self, before: u64) -> Result<(), String> {
        self.before("trim")?;
        self.store.trim(before)
    }

    fn latest_snapshot(&self) -> Result<Option<(u64, Vec<u8>)>, String> {
        self.before("read snapshot")?;
        self.store.latest_snapshot()
    }

    fn write_snapshot(&self, lsn: u64, bytes: &[u8]) -> Result<(), String> {
        self.before("write snapshot")?;
        self.store.write_snapshot(lsn, bytes)
    }

    fn put_page(&self, page: u64, bytes: &[u8]) -> Result<(), String> {
        self.before("put page")?;
        self.store.put_page(page, bytes)
    }

    fn read_page(&self, page: u64, offset: u32, bytes: u32) -> Result<Bytes, String> {
        self.store.read_page(page, offset, bytes)
    }

    fn read_whole_page(&self, page: u64) -> Result<Bytes, String> {
        self.before("read page")?;
        self.store.read_whole_page(page)
    }

    fn remove_page(&self, page: u64) -> Result<(), String> {
        self.before("remove page")?;
        self.store.remove_page(page)
    }

    fn pages(&self) -> Result<Vec<u64>, String> {
        self.store.pages()
    }
}
