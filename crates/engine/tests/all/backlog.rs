//! A backlog past the window lies in pages, and nobody outside can tell.

use super::*;
use host::disk::Survivors;
use shard::{Paging, QueueFacts};

const PAGING: Paging =
    Paging { page_messages: 4, page_bytes: 1 << 20, window: 8, thaw_below: 4, freeze_above: 12, look_every: 1 };

pub fn bench() -> Bench {
    let mut bench = Bench::new(Durability::Fsync);
    bench.options.rules.paging = PAGING;
    bench
}

async fn facts(engine: &Engine) -> QueueFacts {
    match engine.ask(Command::Describe { queue: queue() }).await {
        Ok(Answer::Queue(facts)) => *facts,
        other => panic!("a queue is described: {other:?}"),
    }
}

/// Sends so many messages, and waits until so many of them at most are left in memory.
pub async fn fill(running: &Running, numbers: std::ops::Range<usize>) {
    for number in numbers {
        send(&running.engine(), &format!("{number:04}")).await.unwrap();
    }
    crate::durability::until(|| running.engine().in_memory_count() <= PAGING.freeze_above + PAGING.page_messages).await;
}

/// Receives and deletes everything, in order.
pub async fn drain(engine: &Engine) -> Vec<String> {
    let mut bodies = Vec::new();
    loop {
        let messages = engine.receive(receive(10, 30, 0)).await.unwrap().into_messages();
        if messages.is_empty() {
            return bodies;
        }
        let receipts = messages.iter().map(|(delivery, _)| delivery.receipt).collect();
        engine.ask(Command::Delete { queue: queue(), receipts }).await.unwrap();
        bodies.extend(messages.into_iter().map(|(_, payload)| payload.body.to_string()));
    }
}

pub fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("{number:04}")).collect()
}

#[tokio::test]
async fn a_long_backlog_comes_back_whole_and_in_order() {
    let bench = bench();
    let running = bench.start();
    let engine = running.engine();
    create(&engine).await;
    fill(&running, 0..300).await;
    assert_eq!(facts(&engine).await.visible, 300, "those in pages count");
    assert_eq!(drain(&engine).await, numbers(0..300));
    assert_eq!(facts(&engine).await.visible, 0);
}

#[tokio::test]
async fn a_frozen_backlog_survives_power_cuts_and_snapshots() {
    let mut bench = bench();
    bench.options.snapshot_bytes = 4 << 10;
    let running = bench.start();
    create(&running.engine()).await;
    fill(&running, 0..200).await;
    let after = bench.on(bench.disk.power_cut(&Survivors::Nothing));
    drop(running);

    let running = after.start();
    fill(&running, 200..400).await;
    let again = after.on(after.disk.power_cut(&Survivors::Nothing));
    drop(running);
    let running = again.start();
    assert_eq!(drain(&running.engine()).await, numbers(0..400));
}

#[tokio::test]
async fn frozen_messages_expire_in_time() {
    let bench = bench();
    let running = bench.start();
    let engine = running.engine();
    create(&engine).await;
    let settings = vec![shard::Setting::Retention { seconds: 60 }];
    engine.ask(Command::SetAttributes { queue: queue(), settings }).await.unwrap();
    for start in [0, 50] {
        fill(&running, start..start + 50).await;
        bench.advance(&running, 30_000);
    }
    // The first half is a minute old.
    assert_eq!(drain(&engine).await, numbers(50..100));
}

#[tokio::test]
async fn purging_and_deleting_a_queue_drop_its_pages() {
    for how in ["purge", "delete"] {
        let mut bench = bench();
        bench.options.snapshot_bytes = 4 << 10;
        let running = bench.start();
        let engine = running.engine();
        create(&engine).await;
        fill(&running, 0..200).await;
        let command = match how {
            "purge" => Command::PurgeQueue { queue: queue() },
            _ => Command::DeleteQueue { queue: queue() },
        };
        engine.ask(command).await.unwrap();
        if how == "purge" {
            assert_eq!(facts(&engine).await.visible, 0);
            // What comes next gives a reason for a snapshot, with which the pages go.
            fill(&running, 200..210).await;
            assert_eq!(drain(&engine).await, numbers(200..210));
        }
    }
}
