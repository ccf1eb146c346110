//! The engine at work: a lock around the core, a thread that writes, a thread that keeps house.

use crate::AskError;
use crate::core::{Asked, Core, Outbox, Outcome};
use crate::house::House;
use crate::keeper::{self, Bell};
use crate::payloads::Payloads;
use crate::recovery;
use crate::store::{AppendError, LocalOptions, LocalStore, Store};
use bytes::Bytes;
use host::clock::Clock;
use host::disk::Disk;
use host::entropy::Entropy;
use model::{QueueId, Timestamp};
use shard::{Answer, BacklogWork, Command, Delivery, Payload, Receipt, ReceiptKey, Receive, Rules, Shard};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// What an acknowledgement promises.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Durability {
    /// It survives a power cut: the disk has said that it is safe.
    #[default]
    Fsync,
    /// It survives the program, not a power cut: the operating system has it.
    Os,
    /// Nothing is written to disk.
    Memory,
}

/// How to run an engine.
#[derive(Clone)]
pub struct Options {
    /// The data directory. Not used with [`Durability::Memory`].
    pub data: PathBuf,
    pub durability: Durability,
    pub rules: Rules,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub disk: Arc<dyn Disk>,
    /// Length of a journal segment.
    pub segment_bytes: u64,
    /// A snapshot is made, and the journal trimmed, each time this much was appended.
    pub snapshot_bytes: u64,
    /// Most bytes of young messages kept in memory.
    pub payload_cache_bytes: usize,
}

impl Options {
    /// The settings that a program starts with, for data in `data`.
    pub fn new(data: PathBuf, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>, disk: Arc<dyn Disk>) -> Self {
        Self {
            data,
            durability: Durability::default(),
            rules: Rules::default(),
            clock,
            entropy,
            disk,
            segment_bytes: 32 << 20,
            snapshot_bytes: 128 << 20,
            payload_cache_bytes: 32 << 20,
        }
    }
}

/// Why an engine did not start. Says what was wrong and what to do.
#[derive(Debug)]
pub struct StartError(pub String);

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// What was found at start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Opened {
    /// There was no data, and it was made.
    pub created: bool,
    /// A write that a crash had cut short, and that was cut off: file, byte, and how many bytes.
    pub torn: Option<(PathBuf, u64, u64)>,
    pub queues: usize,
    pub messages: usize,
}

/// How the engine is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Health {
    Ok,
    /// Sends are refused until there is room again.
    Full,
    Stopped {
        reason: String,
    },
}

type Token = oneshot::Sender<Outcome>;

/// With less room than this in its first segment, a new journal gets its next one at once.
const NEW_JOURNAL_ROOM_BYTES: u64 = 192 << 10;

/// With more messages in memory that are to be frozen, senders wait for the pager.
const BACKLOG_IN_MEMORY_MAX: usize = 256 << 10;

/// So long; then they are asked to try again.
const BACKLOG_WAIT_MAX: Duration = Duration::from_secs(10);

/// What the threads share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Tells the writer that there is a batch, an earlier deadline, or an end.
    writer: Condvar,
    pub clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    pub store: Option<Arc<dyn Store>>,
    pub rules: Rules,
    pub snapshot_bytes: u64,
    /// Below this many writable bytes, what is left is for receives and deletes.
    reserve_bytes: u64,
    pub payloads: Payloads,
    receipt_key: ReceiptKey,
    pub stopping: AtomicBool,
    backlog_is_long: AtomicBool,
    backlog_is_short: Notify,
    pub keeper: Bell,
    pub pager: Bell,
    /// Held while a snapshot is made and what it doesn't need is let go, or while nothing may be let go.
    pub snapshots: Mutex<()>,
}

struct State {
    core: Core<Token>,
    /// Whether the writer sleeps, and until when.
    writer: Writer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Writer {
    Busy,
    Sleeping { until: Timestamp },
}

/// Talks to a running engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

/// A running engine. Dropping it stops it.
pub struct Running {
    engine: Engine,
    opened: Opened,
    threads: Vec<JoinHandle<()>>,
}

/// Opens the data, brings the state up to date and starts.
///
/// Errors: the directory is in use, damaged, or written by a newer version.
pub fn start(options: Options) -> Result<Running, StartError> {
    let (store, mut opened) = open_store(&options)?;
    let shard = match &store {
        None => Shard::new(options.rules.clone()),
        Some(store) => {
            let mut recovered = recovery::from_snapshot(store.as_ref(), &options.rules).map_err(StartError)?;
            recovery::catch_up(store.as_ref(), &mut recovered).map_err(StartError)?;
            recovered.shard
        }
    };
    (opened.queues, opened.messages) = (shard.queue_count(), shard.payloads().count());
    let (end, header_bytes) = store.as_ref().map_or((None, 0), |store| (Some(store.end()), store.header_bytes()));
    let mut core = Core::new(shard, end, header_bytes);
    let receipt_key = found(&mut core, &options);
    let shared = Arc::new(Shared {
        state: Mutex::new(State { core, writer: Writer::Busy }),
        writer: Condvar::new(),
        payloads: Payloads::new(store.clone(), options.payload_cache_bytes),
        clock: options.clock,
        entropy: options.entropy,
        store,
        rules: options.rules,
        snapshot_bytes: options.snapshot_bytes,
        reserve_bytes: (options.segment_bytes / 4).min(16 << 20),
        receipt_key,
        stopping: AtomicBool::new(false),
        backlog_is_long: AtomicBool::new(false),
        backlog_is_short: Notify::new(),
        keeper: Bell::default(),
        pager: Bell::default(),
        snapshots: Mutex::new(()),
    });
    let mut threads = vec![spawn("writer", &shared, |shared| shared.write())];
    if let Some(store) = &shared.store {
        let house = House::new(store.clone(), shared.rules.clone(), shared.snapshot_bytes).map_err(StartError)?;
        let pager = house.pager();
        threads.push(spawn("keeper", &shared, |shared| keeper::keep(shared, house)));
        threads.push(spawn("pager", &shared, |shared| keeper::page(shared, pager)));
    }
    Ok(Running { engine: Engine { shared }, opened, threads })
}

fn open_store(options: &Options) -> Result<(Option<Arc<dyn Store>>, Opened), StartError> {
    let sync = match options.durability {
        Durability::Memory => return Ok((None, Opened { created: true, ..Opened::default() })),
        Durability::Fsync => journal::SyncMode::Fsync,
        Durability::Os => journal::SyncMode::Os,
    };
    let mut identity = [0; 8];
    options.entropy.fill(&mut identity);
    let local = LocalOptions { sync, segment_bytes: options.segment_bytes, identity: u64::from_le_bytes(identity) };
    let (store, opened) = LocalStore::open(options.disk.clone(), &options.data, &local).map_err(StartError)?;
    let torn = opened.torn.map(|torn| (torn.file, torn.byte, torn.bytes));
    Ok((Some(Arc::new(store)), Opened { created: opened.created, torn, ..Opened::default() }))
}

/// Gives new data its secret. The entry is durable with the first batch; no receipt can have left before.
fn found(core: &mut Core<Token>, options: &Options) -> ReceiptKey {
    if core.shard().receipt_key().is_none() {
        let mut secret = [0; 32];
        options.entropy.fill(&mut secret);
        let (token, _nobody) = oneshot::channel();
        let command = Command::Found { receipt_key: ReceiptKey::new(secret) };
        core.ask(Timestamp(options.clock.now_milliseconds()), command, token, &mut Outbox::new());
    }
    core.shard().receipt_key().expect("it was just founded").clone()
}

fn spawn(name: &str, shared: &Arc<Shared>, run: impl FnOnce(Arc<Shared>) + Send + 'static) -> JoinHandle<()> {
    let shared = shared.clone();
    let spawned = std::thread::Builder::new().name(name.into()).spawn(move || run(shared));
    spawned.expect("the system has room for a thread at start")
}

impl Running {
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    pub fn health(&self) -> Health {
        self.engine.health()
    }

    /// Says that the clock was moved. Long polls that are due by now don't wait any more when this returns.
    pub fn poke(&self) {
        let shared = &self.engine.shared;
        let now = shared.now();
        shared.with_core(|core, outbox| core.advance(now, outbox));
        shared.wake_writer();
    }

    /// Answers the long polls that wait; from now on none waits.
    pub fn drain(&self) {
        self.engine.shared.with_core(|core, outbox| core.drain(outbox));
    }

    /// Writes what was asked, then stops. Whoever asks later is refused.
    pub fn stop(self) {}
}

impl Drop for Running {
    fn drop(&mut self) {
        self.drain();
        let shared = &self.engine.shared;
        shared.stopping.store(true, Ordering::SeqCst);
        shared.wake_writer();
        shared.keeper.ring();
        shared.pager.ring();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the engine ended in a panic");
            }
        }
    }
}

impl Shared {
    /// Appends batch after batch until the engine stops.
    fn write(self: Arc<Self>) {
        while let Some(batch) = self.next_batch() {
            // Whoever receives these messages before anything else happens finds them in memory.
            self.payloads.keep(batch.position, batch.entries.clone());
            match self.append(&batch.entries) {
                Ok(lsn) => {
                    assert_eq!(lsn, batch.lsn, "a batch stands elsewhere than its entries were told");
                    self.make_room_in_time();
                    self.with_core(|core, outbox| core.durable(outbox));
                }
                Err(reason) => {
                    tracing::error!(reason, "the journal failed; nothing is accepted any more");
                    self.with_core(|core, outbox| core.stop(&reason, outbox));
                    return;
                }
            }
        }
        self.with_core(|core, outbox| core.stop("the server is shutting down", outbox));
    }

    /// The next batch; sleeps until there is one, doing what time brings. Nothing once the engine stops.
    fn next_batch(&self) -> Option<crate::core::TakenBatch> {
        loop {
            let mut outbox = Outbox::new();
            let mut state = self.lock();
            state.writer = Writer::Busy;
            state.core.advance(self.now(), &mut outbox);
            let batch = state.core.take_batch();
            if batch.is_none() && outbox.is_empty() {
                if self.stopping.load(Ordering::SeqCst) {
                    return None;
                }
                self.sleep(state);
                continue;
            }
            drop(state);
            self.deliver(outbox);
            if batch.is_some() {
                return batch;
            }
        }
    }

    fn sleep(&self, mut state: MutexGuard<'_, State>) {
        // So long that nobody notices, and short enough for the system's timers.
        const FOREVER: Duration = Duration::from_secs(3_600);
        let until = state.core.next_deadline().unwrap_or(Timestamp::NEVER);
        state.writer = Writer::Sleeping { until };
        let wait = Duration::from_millis(until.milliseconds_since(self.now())).min(FOREVER);
        drop(self.writer.wait_timeout(state, wait).expect("nothing panics while it holds this lock"));
    }

    /// Appends, and waits for room as long as the disk is full: what was applied must be written, or nobody is answered.
    fn append(&self, entries: &Bytes) -> Result<u64, String> {
        const RETRY: Duration = Duration::from_millis(200);
        let store = self.store.as_ref().expect("only a journaling engine has batches");
        loop {
            match store.append(entries) {
                Ok(lsn) => return Ok(lsn),
                Err(AppendError::Failed(reason)) => return Err(reason),
                Err(AppendError::Full(reason)) => {
                    if self.stopping.load(Ordering::SeqCst) {
                        return Err(reason);
                    }
                    self.set_storage_full(true);
                    self.keeper.ring();
                    std::thread::sleep(RETRY);
                }
            }
        }
    }

    /// Before the room runs low there must be a new segment, which the keeper makes. If it is late the writer makes it;
    /// and if there is no space for one, what is left is for receives and deletes.
    fn make_room_in_time(&self) {
        let store = self.store.as_ref().expect("only a journaling engine has batches");
        let writable = store.writable_bytes();
        if writable >= self.reserve_bytes {
            return;
        }
        // A new journal begins with a short segment. Its first records go there, while the next one is made in peace.
        let is_new = store.end() < self.reserve_bytes;
        if is_new && writable >= NEW_JOURNAL_ROOM_BYTES {
            return;
        }
        self.keeper.ring();
        if is_new || writable >= self.reserve_bytes / 2 {
            return;
        }
        let full = match store.make_room() {
            Ok(made) => !made,
            Err(reason) => {
                tracing::warn!(reason, "cannot make room in the journal");
                true
            }
        };
        self.set_storage_full(full);
    }

    pub fn set_storage_full(&self, full: bool) {
        let before = self.with_core(|core, _| {
            let before = core.is_storage_full();
            core.set_storage_full(full);
            before
        });
        match (before, full) {
            (false, true) => tracing::error!("the disk is full: sends are refused; receives and deletes go on"),
            (true, false) => tracing::info!("there is room on the disk again: sends are accepted"),
            _ => {}
        }
    }

    pub fn is_storage_full(&self) -> bool {
        self.lock().core.is_storage_full()
    }

    pub fn has_reserve(&self) -> bool {
        self.store.as_ref().is_none_or(|store| store.writable_bytes() >= self.reserve_bytes)
    }

    /// What is to be done next about a backlog; notes whether senders have to wait for it.
    pub fn next_backlog_work(&self) -> Option<BacklogWork> {
        let (work, in_memory) = {
            let mut state = self.lock();
            let work = state.core.next_backlog_work();
            (work, state.core.shard().backlog_in_memory())
        };
        let is_long = in_memory > BACKLOG_IN_MEMORY_MAX;
        if self.backlog_is_long.swap(is_long, Ordering::Relaxed) && !is_long {
            self.backlog_is_short.notify_waiters();
        }
        work
    }

    /// Lets a sender wait while the backlog in memory is longer than it may be.
    async fn backlog_has_room(&self) -> Result<(), AskError> {
        let has_room = async {
            while self.backlog_is_long.load(Ordering::Relaxed) {
                let short = self.backlog_is_short.notified();
                if self.backlog_is_long.load(Ordering::Relaxed) {
                    short.await;
                }
            }
        };
        tokio::time::timeout(BACKLOG_WAIT_MAX, has_room).await.map_err(|_| AskError::Overloaded)
    }

    /// Asks on behalf of the keeper, and waits until it is durable.
    pub fn ask_blocking(&self, command: Command) -> Outcome {
        let (token, reply) = oneshot::channel();
        self.ask(command, token);
        reply.blocking_recv().unwrap_or_else(|_| Err(gone()))
    }

    fn ask(&self, command: Command, token: Token) -> Asked {
        let mut outbox = Outbox::new();
        let mut state = self.lock();
        let asked = state.core.ask(self.now(), command, token, &mut outbox);
        let wake = match state.writer {
            Writer::Busy => false,
            Writer::Sleeping { until } => {
                !state.core.is_quiet() || state.core.next_deadline().is_some_and(|deadline| deadline < until)
            }
        };
        if wake {
            // Whoever comes next needn't wake it again.
            state.writer = Writer::Busy;
        }
        let has_backlog_work = self.store.is_some() && state.core.shard().has_backlog_work();
        drop(state);
        if wake {
            self.writer.notify_one();
        }
        if has_backlog_work {
            self.pager.ring();
        }
        self.deliver(outbox);
        asked
    }

    fn with_core<R>(&self, run: impl FnOnce(&mut Core<Token>, &mut Outbox<Token>) -> R) -> R {
        let mut outbox = Outbox::new();
        let result = run(&mut self.lock().core, &mut outbox);
        self.deliver(outbox);
        result
    }

    /// Hands out replies. Deliveries that nobody waits for any more are undone.
    fn deliver(&self, outbox: Outbox<Token>) {
        let mut unheard = Vec::new();
        for (token, outcome) in outbox {
            if let Err(Ok(Answer::Received { deliveries, .. })) = token.send(outcome) {
                unheard.extend(deliveries.iter().map(|delivery| delivery.receipt));
            }
        }
        if !unheard.is_empty() {
            self.undo(unheard);
        }
    }

    /// The payload of a delivery. It may have moved since the delivery was decided.
    fn read(&self, delivery: &Delivery) -> Result<Bytes, String> {
        self.payloads.read(&delivery.payload).or_else(|reason| {
            let place = self.lock().core.shard().payload_of(delivery.receipt).filter(|at| *at != delivery.payload);
            self.payloads.read(&place.ok_or(reason)?)
        })
    }

    fn undo(&self, receipts: Vec<Receipt>) {
        let (token, _nobody) = oneshot::channel();
        self.ask(Command::Undo { receipts }, token);
    }

    /// Wakes the writer even if it is just about to sleep.
    fn wake_writer(&self) {
        drop(self.lock());
        self.writer.notify_one();
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.clock.now_milliseconds())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a panic in the state machine must not be followed by more entries")
    }
}

fn gone() -> AskError {
    AskError::Stopped { reason: "the engine has stopped".into() }
}

impl Engine {
    /// Carries out `command` and answers when what it did is durable.
    ///
    /// What was asked is carried out even if the caller doesn't wait for the answer.
    pub async fn ask(&self, command: Command) -> Outcome {
        if matches!(command, Command::Send { .. }) && self.shared.backlog_is_long.load(Ordering::Relaxed) {
            self.shared.backlog_has_room().await?;
        }
        let (token, reply) = oneshot::channel();
        self.shared.ask(command, token);
        reply.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Receives messages; waits for one as long as the receive or its queue says.
    ///
    /// Dropped before it is done, the receive is undone, or never happens.
    pub async fn receive(&self, receive: Receive) -> Result<Deliveries, AskError> {
        let (token, reply) = oneshot::channel();
        let asked = self.shared.ask(Command::Receive(receive), token);
        let mut pending = PendingReceive { engine: self, reply, asked };
        let outcome = (&mut pending.reply).await.unwrap_or_else(|_| Err(gone()));
        pending.asked = Asked::Answered;
        let Answer::Received { deliveries, .. } = outcome? else {
            unreachable!("a receive is answered with deliveries");
        };
        // From here on the deliveries are undone if they go nowhere.
        let guard =
            Undo { engine: self.clone(), receipts: deliveries.iter().map(|delivery| delivery.receipt).collect() };
        let messages = self.with_payloads(deliveries).await?;
        Ok(Deliveries { messages, undo: guard })
    }

    async fn with_payloads(&self, deliveries: Vec<Delivery>) -> Result<Vec<(Delivery, Payload)>, AskError> {
        let payloads = &self.shared.payloads;
        let young: Option<Vec<Bytes>> = deliveries.iter().map(|delivery| payloads.young(&delivery.payload)).collect();
        let found = match young {
            Some(found) => found,
            None => {
                let (shared, wanted) = (self.shared.clone(), deliveries.clone());
                let read = move || wanted.iter().map(|delivery| shared.read(delivery)).collect();
                let read: Result<Vec<Bytes>, String> =
                    tokio::task::spawn_blocking(read).await.map_err(|error| unreadable(&error))?;
                read.map_err(|error| unreadable(&error))?
            }
        };
        let decode = |(delivery, bytes): (Delivery, Bytes)| {
            Payload::decode(&bytes).map(|payload| (delivery, payload)).map_err(|error| unreadable(&error))
        };
        deliveries.into_iter().zip(found).map(decode).collect()
    }

    /// What seals and opens this engine's receipt handles.
    pub fn receipt_key(&self) -> &ReceiptKey {
        &self.shared.receipt_key
    }

    /// The moment that a command asked now would be stamped with.
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// Random bytes for a message id.
    pub fn random_16(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.shared.entropy.fill(&mut bytes);
        bytes
    }

    pub fn health(&self) -> Health {
        let state = self.shared.lock();
        match state.core.stopped() {
            Some(reason) => Health::Stopped { reason: reason.to_owned() },
            None if state.core.is_storage_full() => Health::Full,
            None => Health::Ok,
        }
    }

    /// How many messages are in memory, those in pages being left out.
    pub fn in_memory_count(&self) -> usize {
        self.shared.lock().core.shard().payloads().count()
    }

    /// How many receives wait.
    pub fn waiting_count(&self) -> usize {
        self.shared.lock().core.waiting_count()
    }

    fn cancel(&self, queue: QueueId, ticket: crate::Ticket) {
        drop(self.shared.lock().core.cancel(queue, ticket));
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> AskError {
    let reason = error.to_string();
    tracing::error!(reason, "a message can't be read");
    AskError::Unreadable { reason }
}

/// A receive that was asked and not answered yet.
struct PendingReceive<'a> {
    engine: &'a Engine,
    reply: oneshot::Receiver<Outcome>,
    asked: Asked,
}

impl Drop for PendingReceive<'_> {
    fn drop(&mut self) {
        if let Asked::Waiting { queue, ticket } = self.asked {
            self.engine.cancel(queue, ticket);
        }
        // It may be on its way already. If it comes later, whoever sends it finds nobody here and undoes it.
        self.reply.close();
        if let Ok(Ok(Answer::Received { deliveries, .. })) = self.reply.try_recv()
            && !deliveries.is_empty()
        {
            self.engine.shared.undo(deliveries.iter().map(|delivery| delivery.receipt).collect());
        }
    }
}

/// Undoes deliveries when dropped.
struct Undo {
    engine: Engine,
    receipts: Vec<Receipt>,
}

impl Drop for Undo {
    fn drop(&mut self) {
        if !self.receipts.is_empty() {
            self.engine.shared.undo(std::mem::take(&mut self.receipts));
        }
    }
}

/// Messages handed out to a caller. Dropped before [`Self::into_messages`], the receive is undone: a caller that hung up
/// hides nothing.
pub struct Deliveries {
    messages: Vec<(Delivery, Payload)>,
    undo: Undo,
}

impl Deliveries {
    pub fn messages(&self) -> &[(Delivery, Payload)] {
        &self.messages
    }

    /// The messages, once nothing stands between them and the caller's socket.
    pub fn into_messages(mut self) -> Vec<(Delivery, Payload)> {
        self.undo.receipts.clear();
        self.messages
    }
}
