//! How fast the engine alone is, without any wire protocol: sends, receives and deletes from many tasks.
//!
//! `cargo run --release -p engine --example throughput -- [fsync|os|memory] [tasks] [batch] [seconds]`

use engine::{Durability, Engine, Options};
use host::{clock::SystemClock, disk::RealDisk, entropy::SystemEntropy};
use model::{AccountId, MessageId, QueueKey, QueueName, Region};
use shard::{Answer, Command, NewMessage, Payload, Receive};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default: &str| arguments.get(index).cloned().unwrap_or(default.into());
    let durability = match argument(0, "fsync").as_str() {
        "fsync" => Durability::Fsync,
        "os" => Durability::Os,
        _ => Durability::Memory,
    };
    let tasks: usize = argument(1, "64").parse().expect("a number of tasks");
    let batch: usize = argument(2, "10").parse().expect("a batch size");
    let seconds: u64 = argument(3, "3").parse().expect("a number of seconds");

    let data = std::env::temp_dir().join(format!("posthouse-throughput-{}", std::process::id()));
    let mut options =
        Options::new(data.clone(), Arc::new(SystemClock), Arc::new(SystemEntropy::default()), Arc::new(RealDisk));
    options.durability = durability;
    let running = engine::start(options).expect("the engine starts");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let done = Arc::new(AtomicU64::new(0));
    let until = Instant::now() + Duration::from_secs(seconds);
    runtime.block_on(async {
        let engine = running.engine();
        let create = Command::CreateQueue { queue: queue(), settings: vec![], tags: Default::default() };
        engine.ask(create).await.expect("the queue is made");
        let workers: Vec<_> =
            (0..tasks).map(|_| tokio::spawn(cycle(engine.clone(), batch, until, done.clone()))).collect();
        for worker in workers {
            worker.await.expect("no worker panics");
        }
    });
    let cycles = done.load(Ordering::Relaxed);
    println!("{durability:?}, {tasks} tasks, batches of {batch}: {} message life cycles a second", cycles / seconds);
    drop(running);
    let _ = std::fs::remove_dir_all(data);
}

async fn cycle(engine: Engine, batch: usize, until: Instant, done: Arc<AtomicU64>) {
    while Instant::now() < until {
        let messages = (0..batch).map(|_| message(&engine)).collect();
        engine.ask(Command::Send { queue: queue(), messages }).await.expect("sent");
        let receive =
            Receive { queue: queue(), messages_max: batch, visibility_seconds: Some(30), wait_seconds: Some(0) };
        let messages = engine.receive(receive).await.expect("received").into_messages();
        let receipts: Vec<_> = messages.iter().map(|(delivery, _)| delivery.receipt).collect();
        let count = receipts.len() as u64;
        let deleted = engine.ask(Command::Delete { queue: queue(), receipts }).await.expect("deleted");
        assert!(matches!(deleted, Answer::Outcomes(_)));
        done.fetch_add(count, Ordering::Relaxed);
    }
}

fn message(engine: &Engine) -> NewMessage {
    let id = MessageId::from_random(engine.random_16());
    let payload = Payload {
        id,
        body_md5: [0; 16],
        sender_id: "me".into(),
        body: "x".repeat(1_024).into(),
        attributes: vec![],
        trace_header: None,
        message_group_id: None,
    };
    NewMessage { id, delay_seconds: None, size_bytes: 1_024, payload: payload.encode() }
}

fn queue() -> QueueKey {
    QueueKey {
        account: AccountId::parse("000000000000").expect("twelve digits"),
        region: Region::parse("us-east-1").expect("a Region"),
        name: QueueName::parse("q").expect("a name"),
    }
}
