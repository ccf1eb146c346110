//! The core, driven by hand: who is answered when.

use super::*;
use model::{AccountId, MessageId, QueueKey, QueueName, Region};
use shard::{NewMessage, Receive, Rules};

const HEADER: u64 = 24;

/// A core that journals to nowhere: the test says when a batch is durable.
struct Desk {
    core: Core<&'static str>,
    now: Timestamp,
    outbox: Outbox<&'static str>,
}

impl Desk {
    fn new() -> Self {
        let mut desk = Self {
            core: Core::new(Shard::new(Rules { in_flight_max: 3, ..Rules::default() }), Some(4_096), HEADER),
            now: Timestamp(1_000_000),
            outbox: Vec::new(),
        };
        desk.ask("create", Command::CreateQueue { queue: queue(), settings: vec![], tags: Default::default() });
        desk.sync();
        assert_eq!(desk.left(), ["create: done"]);
        desk
    }

    fn ask(&mut self, who: &'static str, command: Command) -> Asked {
        self.core.ask(self.now, command, who, &mut self.outbox)
    }

    fn send(&mut self, who: &'static str) -> Asked {
        let message = NewMessage {
            id: MessageId(1),
            delay_seconds: None,
            size_bytes: 1,
            payload: Bytes::from_static(b"payload"),
        };
        self.ask(who, Command::Send { queue: queue(), messages: vec![message] })
    }

    fn receive(&mut self, who: &'static str, wait_seconds: u32) -> Asked {
        let receive =
            Receive { queue: queue(), messages_max: 1, visibility_seconds: Some(30), wait_seconds: Some(wait_seconds) };
        self.ask(who, Command::Receive(receive))
    }

    fn advance(&mut self, seconds: u64) {
        self.now = self.now.plus_seconds(seconds);
        self.core.advance(self.now, &mut self.outbox);
    }

    /// Writes everything that was gathered.
    fn sync(&mut self) {
        while self.core.take_batch().is_some() {
            self.core.durable(&mut self.outbox);
        }
    }

    /// The replies that have left since one last looked.
    fn left(&mut self) -> Vec<String> {
        let show = |(who, outcome): (&str, Outcome)| match outcome {
            Ok(Answer::Received { deliveries, .. }) => format!("{who}: {} messages", deliveries.len()),
            Ok(Answer::Sent(sent)) => format!("{who}: {} sent", sent.len()),
            Ok(_) => format!("{who}: done"),
            Err(error) => format!("{who}: {error}"),
        };
        self.outbox.drain(..).map(show).collect()
    }
}

fn queue() -> QueueKey {
    QueueKey {
        account: AccountId::parse("000000000000").unwrap(),
        region: Region::parse("us-east-1").unwrap(),
        name: QueueName::parse("q").unwrap(),
    }
}

fn describe() -> Command {
    Command::Describe { queue: queue() }
}

#[test]
fn no_reply_leaves_before_its_entry_is_durable() {
    let mut desk = Desk::new();
    desk.send("send");
    assert!(desk.left().is_empty());
    let batch = desk.core.take_batch().expect("the send is to be written");
    assert!(desk.left().is_empty());
    assert!(batch.entries.windows(7).any(|window| window == b"payload"));
    desk.core.durable(&mut desk.outbox);
    assert_eq!(desk.left(), ["send: 1 sent"]);
}

#[test]
fn what_was_read_from_entries_on_their_way_waits_for_them() {
    let mut desk = Desk::new();
    desk.ask("nothing on its way", describe());
    assert_eq!(desk.left(), ["nothing on its way: done"]);

    desk.send("send");
    desk.ask("gathering", describe());
    desk.core.take_batch().unwrap();
    desk.ask("being written", describe());
    assert!(desk.left().is_empty());
    desk.core.durable(&mut desk.outbox);
    assert_eq!(desk.left(), ["send: 1 sent", "gathering: done", "being written: done"]);
}

#[test]
fn who_asks_while_a_batch_is_written_joins_the_next() {
    let mut desk = Desk::new();
    desk.send("first");
    let first = desk.core.take_batch().unwrap();
    desk.send("second");
    desk.send("third");
    assert!(desk.core.take_batch().is_none(), "one batch at a time");
    desk.core.durable(&mut desk.outbox);
    assert_eq!(desk.left(), ["first: 1 sent"]);
    let second = desk.core.take_batch().unwrap();
    assert_eq!(second.lsn, first.lsn + HEADER + first.entries.len() as u64);
    desk.core.durable(&mut desk.outbox);
    assert_eq!(desk.left(), ["second: 1 sent", "third: 1 sent"]);
}

#[test]
fn a_payload_stands_where_the_entry_says() {
    let mut desk = Desk::new();
    desk.send("one");
    desk.send("two");
    let batch = desk.core.take_batch().unwrap();
    let places: Vec<_> = desk.core.shard().payloads().map(|(.., place)| place.clone()).collect();
    assert_eq!(places.len(), 2);
    for place in places {
        let shard::PayloadAt::Journal { position, bytes } = place else { panic!("it is in the journal") };
        let from = (position - batch.position) as usize;
        assert_eq!(&batch.entries[from..from + bytes as usize], b"payload");
    }
}

#[test]
fn a_long_poll_is_answered_by_a_send_first_come_first_served() {
    let mut desk = Desk::new();
    assert!(matches!(desk.receive("early", 20), Asked::Waiting { .. }));
    assert!(matches!(desk.receive("late", 20), Asked::Waiting { .. }));
    desk.send("send");
    desk.sync();
    assert_eq!(desk.left(), ["send: 1 sent", "early: 1 messages"]);
    desk.advance(20);
    assert_eq!(desk.left(), ["late: 0 messages"]);
}

#[test]
fn a_long_poll_is_answered_when_a_hidden_message_comes_back() {
    let mut desk = Desk::new();
    desk.send("send");
    desk.receive("first", 0);
    desk.receive("poll", 20);
    desk.advance(20);
    desk.sync();
    assert_eq!(desk.left(), ["send: 1 sent", "first: 1 messages", "poll: 0 messages"]);

    desk.receive("poll again", 20);
    assert_eq!(desk.core.next_deadline(), Some(desk.now.plus_seconds(10)));
    desk.advance(10);
    desk.sync();
    assert_eq!(desk.left(), ["poll again: 1 messages"]);
    assert_eq!(desk.core.next_deadline(), None);
}

#[test]
fn nobody_overtakes_those_who_wait() {
    let mut desk = Desk::new();
    desk.send("send");
    desk.receive("first", 0);
    desk.receive("waiting", 60);
    desk.sync();
    desk.left();
    // The message is back, and nobody has told those who wait.
    desk.now = desk.now.plus_seconds(30);
    desk.receive("late", 0);
    desk.sync();
    assert_eq!(desk.left(), ["waiting: 1 messages", "late: 0 messages"]);
}

#[test]
fn a_long_poll_that_was_taken_back_gets_nothing() {
    let mut desk = Desk::new();
    let Asked::Waiting { queue, ticket } = desk.receive("gone", 20) else { panic!("nothing is there") };
    assert_eq!(desk.core.cancel(queue, ticket), Some("gone"));
    assert_eq!(desk.core.cancel(queue, ticket), None);
    desk.send("send");
    desk.receive("here", 0);
    desk.sync();
    assert_eq!(desk.left(), ["send: 1 sent", "here: 1 messages"]);
    assert_eq!(desk.core.next_deadline(), None);
}

#[test]
fn at_the_in_flight_quota_a_long_poll_waits_and_a_delete_lets_it_on() {
    let mut desk = Desk::new();
    for _ in 0..4 {
        desk.send("send");
    }
    for _ in 0..3 {
        desk.receive("receive", 0);
    }
    desk.sync();
    let receipts = desk.outbox.iter().find_map(|(_, outcome)| match outcome {
        Ok(Answer::Received { deliveries, .. }) => Some(vec![deliveries[0].receipt]),
        _ => None,
    });
    desk.left();
    desk.receive("short", 0);
    assert_eq!(desk.left(), ["short: refused: TooManyInFlight"]);
    assert!(matches!(desk.receive("long", 20), Asked::Waiting { .. }));
    desk.ask("delete", Command::Delete { queue: queue(), receipts: receipts.unwrap() });
    desk.sync();
    assert_eq!(desk.left(), ["delete: done", "long: 1 messages"]);
}

#[test]
fn a_long_poll_on_a_queue_that_is_deleted_is_refused() {
    let mut desk = Desk::new();
    desk.receive("poll", 20);
    desk.ask("delete", Command::DeleteQueue { queue: queue() });
    desk.sync();
    assert_eq!(desk.left(), ["delete: done", "poll: refused: QueueDoesNotExist"]);
}

#[test]
fn when_the_journal_fails_nobody_is_told_yes() {
    let mut desk = Desk::new();
    desk.send("written");
    desk.core.take_batch().unwrap();
    desk.send("gathered");
    desk.receive("first", 0);
    desk.receive("second", 0);
    desk.receive("waiting", 20);
    desk.core.stop("cannot sync", &mut desk.outbox);
    desk.send("later");
    let stopped = |who: &str| format!("{who}: stopped: cannot sync");
    assert_eq!(desk.left(), ["written", "gathered", "first", "second", "waiting", "later"].map(stopped));
    assert!(desk.core.take_batch().is_none());
}

#[test]
fn while_the_disk_is_full_sends_are_refused_and_the_rest_goes_on() {
    let mut desk = Desk::new();
    desk.send("before");
    desk.core.set_storage_full(true);
    desk.send("full");
    desk.receive("receive", 0);
    desk.sync();
    assert_eq!(desk.left(), ["full: the disk is full", "before: 1 sent", "receive: 1 messages"]);
    desk.core.set_storage_full(false);
    desk.send("after");
    desk.sync();
    assert_eq!(desk.left(), ["after: 1 sent"]);
}

#[test]
fn more_than_memory_is_set_aside_for_is_refused() {
    let mut desk = Desk::new();
    let payload = Bytes::from(vec![0; 1 << 20]);
    let mut refused = 0;
    for _ in 0..100 {
        let message = NewMessage { id: MessageId(1), delay_seconds: None, size_bytes: 1, payload: payload.clone() };
        desk.ask("send", Command::Send { queue: queue(), messages: vec![message] });
        refused += desk.left().len();
    }
    assert_eq!(refused, 36, "64 MiB may wait");
    desk.sync();
    assert_eq!(desk.left().len(), 64);
}

#[test]
fn the_clock_may_jump_back_and_the_entries_do_not() {
    let mut desk = Desk::new();
    desk.send("send");
    desk.now = Timestamp(0);
    desk.receive("receive", 0);
    desk.sync();
    assert_eq!(desk.left(), ["send: 1 sent", "receive: 1 messages"]);
    assert_eq!(desk.core.shard().at(), Timestamp(1_000_000));
}

#[test]
fn draining_answers_long_polls_and_lets_none_wait() {
    let mut desk = Desk::new();
    desk.receive("waiting", 20);
    desk.core.drain(&mut desk.outbox);
    desk.receive("later", 20);
    assert_eq!(desk.left(), ["waiting: 0 messages", "later: 0 messages"]);
}
