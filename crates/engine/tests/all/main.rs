//! A whole engine with its threads, over a disk in memory that can lose, fail and fill up.

mod backlog;
mod backup;
mod durability;
mod golden;
mod polls;
mod verify;

use engine::{Durability, Engine, Options, Running};
use host::clock::FakeClock;
use host::disk::FakeDisk;
use host::entropy::FakeEntropy;
use model::{AccountId, MessageId, QueueKey, QueueName, Region};
use shard::{Answer, Command, NewMessage, Payload, Receive};
use std::sync::Arc;

/// A place where engines are started one after the other.
struct Bench {
    clock: Arc<FakeClock>,
    disk: FakeDisk,
    options: Options,
}

impl Bench {
    fn new(durability: Durability) -> Self {
        let clock = Arc::new(FakeClock::new(1_000_000));
        let disk = FakeDisk::new(1 << 30);
        let mut options =
            Options::new("/data".into(), clock.clone(), Arc::new(FakeEntropy::new(7)), Arc::new(disk.clone()));
        options.durability = durability;
        options.segment_bytes = 256 << 10;
        Self { clock, disk, options }
    }

    fn start(&self) -> Running {
        engine::start(self.options.clone()).expect("the data can be opened")
    }

    /// The same place with another disk: what a power cut left of this one.
    fn on(&self, disk: FakeDisk) -> Self {
        let options = Options { disk: Arc::new(disk.clone()), ..self.options.clone() };
        Self { clock: self.clock.clone(), disk, options }
    }

    fn advance(&self, running: &Running, milliseconds: u64) {
        use host::clock::Clock;
        self.clock.set(self.clock.now_milliseconds() + milliseconds);
        running.poke();
    }
}

fn queue() -> QueueKey {
    QueueKey {
        account: AccountId::parse("000000000000").unwrap(),
        region: Region::parse("us-east-1").unwrap(),
        name: QueueName::parse("q").unwrap(),
    }
}

async fn create(engine: &Engine) {
    let command = Command::CreateQueue { queue: queue(), settings: vec![], tags: Default::default() };
    assert_eq!(engine.ask(command).await, Ok(Answer::Done));
}

async fn send(engine: &Engine, body: &str) -> Result<Answer, engine::AskError> {
    let id = MessageId::from_random(engine.random_16());
    let payload = Payload {
        id,
        body_md5: [0; 16],
        sender_id: "me".into(),
        body: body.into(),
        attributes: vec![],
        trace_header: None,
        message_group_id: None,
    };
    let message = NewMessage { id, delay_seconds: None, size_bytes: body.len(), payload: payload.encode() };
    engine.ask(Command::Send { queue: queue(), messages: vec![message] }).await
}

fn receive(messages_max: usize, visibility_seconds: u32, wait_seconds: u32) -> Receive {
    Receive {
        queue: queue(),
        messages_max,
        visibility_seconds: Some(visibility_seconds),
        wait_seconds: Some(wait_seconds),
    }
}

/// The bodies that a receive of up to ten finds, hidden for half a minute.
async fn received(engine: &Engine) -> Vec<String> {
    let deliveries = engine.receive(receive(10, 30, 0)).await.expect("the queue can be received from");
    deliveries.into_messages().into_iter().map(|(_, payload)| payload.body.to_string()).collect()
}
