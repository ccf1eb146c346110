//! One thread of the load generator, and what each of its connections does.

use super::connection::{CallError, Connection};
use super::reply::Reply;
use super::request::values;
use super::tally::Tally;
use super::timer::PreciseTimer;
use super::{Mix, Pace, Plan, Turns};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

/// Receives in a row that find nothing before a connection takes the queue for drained. One alone may mean that the
/// others hold the last messages, or that the server looked at a part of the queue.
const EMPTY_RECEIVES_MAX: u32 = 3;
/// Pause after an error, so that a dead server isn't hammered.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(20);

/// What the connections of one thread share.
struct Shared {
    plan: Plan,
    turns: Arc<Turns>,
    send: Vec<u8>,
    receive: Vec<u8>,
    ledger: RefCell<Ledger>,
}

/// Counts within the measured time, and outside of it.
struct Ledger {
    measured: Tally,
    unmeasured: Tally,
    /// When the last reply came that did something.
    last_reply: Instant,
}

/// Runs so many connections until their turns end. Returns what they counted, and when the last reply came.
pub(super) fn run_thread(plan: Plan, turns: Arc<Turns>, connections: usize) -> io::Result<(Tally, Instant)> {
    let shared = Rc::new(Shared {
        send: plan.encoder.send(&plan.queue_url, plan.batch, plan.body_bytes),
        receive: plan.encoder.receive(&plan.queue_url, plan.batch, 0),
        ledger: RefCell::new(Ledger {
            measured: Tally::default(),
            unmeasured: Tally::default(),
            last_reply: turns.start,
        }),
        plan,
        turns,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    for _ in 0..connections {
        local.spawn_local(Worker::new(shared.clone()).run());
    }
    runtime.block_on(local);
    let mut ledger = Rc::into_inner(shared).expect("all workers have ended").ledger.into_inner();
    // An error during the warm-up is an error.
    for (kind, count) in std::mem::take(&mut ledger.unmeasured.errors) {
        ledger.measured.count_error(kind, count);
    }
    Ok((ledger.measured, ledger.last_reply))
}

impl Shared {
    /// Counts what a call came to, from the moment it was due. Returns the body of a success, for more to be counted.
    fn count<'a>(&self, due: Instant, result: Result<Reply<'a>, CallError>) -> Option<&'a [u8]> {
        let now = Instant::now();
        match result {
            Ok(Reply { status: 200, body, .. }) => {
                self.tally(now, |tally| {
                    tally.requests += 1;
                    tally.latencies.record(now - due);
                });
                Some(body)
            }
            Ok(Reply { status, body, .. }) => {
                let code = values(body, "__type").chain(values(body, "Code")).next().unwrap_or(b"without a code");
                let kind = format!("{status} {}", String::from_utf8_lossy(code));
                self.tally(now, |tally| tally.count_error(kind, 1));
                None
            }
            Err(error) => {
                self.tally(now, |tally| tally.count_error(error.kind(), 1));
                None
            }
        }
    }

    /// Counts entries of a batch that failed within a successful reply. Returns how many.
    fn count_failed_entries(&self, body: &[u8]) -> u64 {
        let mut failed = 0;
        for code in values(body, "Code") {
            failed += 1;
            let kind = format!("batch entry: {}", String::from_utf8_lossy(code));
            self.tally(Instant::now(), |tally| tally.count_error(kind, 1));
        }
        failed
    }

    fn tally(&self, now: Instant, change: impl FnOnce(&mut Tally)) {
        let mut ledger = self.ledger.borrow_mut();
        let is_measured = self.turns.is_measured(now);
        change(if is_measured { &mut ledger.measured } else { &mut ledger.unmeasured });
    }

    fn messages_moved(&self, change: impl FnOnce(&mut Tally)) {
        let now = Instant::now();
        self.tally(now, change);
        self.ledger.borrow_mut().last_reply = now;
    }
}

/// A connection and its rounds.
struct Worker {
    shared: Rc<Shared>,
    connection: Connection,
    /// The next DeleteMessageBatch, and how many messages it deletes.
    delete: Vec<u8>,
    deletes: u64,
    receives_empty: u32,
}

/// A call failed and was counted.
struct Failed;

impl Worker {
    fn new(shared: Rc<Shared>) -> Self {
        let connection = Connection::new(shared.plan.address);
        Self { shared, connection, delete: Vec::new(), deletes: 0, receives_empty: 0 }
    }

    async fn run(mut self) {
        let mut timer = match self.shared.plan.pace {
            Pace::Open { .. } => Some(PreciseTimer::new().expect("one timer for each connection is within limits")),
            Pace::Closed => None,
        };
        while let Some(turn) = self.shared.turns.next(Instant::now()) {
            if let (Some(timer), Some(due)) = (&mut timer, turn.due) {
                timer.sleep_until(due).await.expect("a timer can be waited for");
            }
            let due = turn.due.unwrap_or_else(Instant::now);
            if self.round(due).await.is_err() {
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
            if self.receives_empty == EMPTY_RECEIVES_MAX && self.shared.plan.mix == Mix::Drain {
                return;
            }
        }
    }

    /// One round of the mix. Only its first request can have been due before it is made.
    async fn round(&mut self, due: Instant) -> Result<(), Failed> {
        match self.shared.plan.mix {
            Mix::Send => self.send(due).await,
            Mix::LifeCycle => {
                self.send(due).await?;
                self.receive(Instant::now()).await?;
                self.delete(Instant::now()).await
            }
            Mix::Drain => {
                self.receive(due).await?;
                self.delete(Instant::now()).await
            }
        }
    }

    async fn send(&mut self, due: Instant) -> Result<(), Failed> {
        let result = self.connection.call(&self.shared.send).await;
        let body = self.shared.count(due, result).ok_or(Failed)?;
        let sent = self.shared.plan.batch as u64 - self.shared.count_failed_entries(body);
        self.shared.messages_moved(|tally| tally.sent += sent);
        Ok(())
    }

    async fn receive(&mut self, due: Instant) -> Result<(), Failed> {
        let Plan { encoder, queue_url, .. } = &self.shared.plan;
        let result = self.connection.call(&self.shared.receive).await;
        let body = self.shared.count(due, result).ok_or(Failed)?;
        self.deletes = 0;
        let handles = values(body, "ReceiptHandle").inspect(|_| self.deletes += 1);
        encoder.delete(queue_url, handles, &mut self.delete);
        if self.deletes == 0 {
            self.receives_empty += 1;
            self.shared.tally(Instant::now(), |tally| tally.receives_empty += 1);
        } else {
            self.receives_empty = 0;
            self.shared.messages_moved(|tally| tally.received += self.deletes);
        }
        Ok(())
    }

    /// Deletes what the receive before found, if anything.
    async fn delete(&mut self, due: Instant) -> Result<(), Failed> {
        if self.deletes == 0 {
            return Ok(());
        }
        let result = self.connection.call(&self.delete).await;
        let body = self.shared.count(due, result).ok_or(Failed)?;
        let deleted = self.deletes - self.shared.count_failed_entries(body);
        self.shared.messages_moved(|tally| tally.deleted += deleted);
        Ok(())
    }
}
