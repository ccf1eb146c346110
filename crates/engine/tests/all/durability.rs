//! What was acknowledged is there after whatever happens to the program and the disk.

use super::*;
use engine::{AskError, Health};
use host::disk::{Fault, Survivors};
use std::collections::BTreeSet;
use std::time::Duration;

/// Waits, without counting time, until something is so that other threads bring about.
pub async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if holds() {
            return;
        }
        tokio::task::spawn_blocking(|| std::thread::park_timeout(Duration::from_millis(1))).await.unwrap();
    }
    panic!("it never came about");
}

#[tokio::test]
async fn a_queue_survives_a_power_cut() {
    let bench = Bench::new(Durability::Fsync);
    let running = bench.start();
    create(&running.engine()).await;
    for body in ["one", "two", "three"] {
        send(&running.engine(), body).await.unwrap();
    }
    let deliveries = running.engine().receive(receive(1, 30, 0)).await.unwrap().into_messages();
    let receipts = vec![deliveries[0].0.receipt];
    let delete = Command::Delete { queue: queue(), receipts };
    assert_eq!(running.engine().ask(delete).await, Ok(Answer::Outcomes(vec![Ok(())])));

    let after = bench.on(bench.disk.power_cut(&Survivors::Nothing));
    let running = after.start();
    assert_eq!((running.opened().queues, running.opened().messages), (1, 2));
    assert_eq!(received(&running.engine()).await, ["two", "three"]);
}

/// The power goes at each input or output in turn, while messages are sent, received and deleted.
#[tokio::test]
async fn nothing_acknowledged_is_lost_wherever_the_power_goes() {
    let quiet = Bench::new(Durability::Fsync);
    drop(run_until_refused(&quiet).await);
    let total = quiet.disk.counts().total();
    assert!(total > 50, "the run does some input and output");
    for number in 0..total {
        let bench = Bench::new(Durability::Fsync);
        bench.disk.fault(number, Fault::PowerCut);
        let Some(told) = run_until_refused(&bench).await else { continue };
        for seed in 0..2 {
            let after = bench.on(bench.disk.power_cut(&Survivors::Seeded(seed)));
            let running = engine::start(after.options.clone())
                .unwrap_or_else(|error| panic!("power cut at {number}, seed {seed}: {error}"));
            let engine = running.engine();
            let found: BTreeSet<String> = if told.created || running.opened().queues == 1 {
                received(&engine).await.into_iter().collect()
            } else {
                BTreeSet::new()
            };
            let at = format!("power cut at {number}, seed {seed}");
            assert!(told.kept.is_subset(&found), "{at}: {:?} is not all there: {found:?}", told.kept);
            assert!(told.deleted.is_disjoint(&found), "{at}: deleted ones are back");
            assert!(found.is_subset(&told.asked), "{at}: nobody sent all of {found:?}");
        }
    }
}

/// What a client was told, and what it asked without hearing.
#[derive(Default)]
struct Told {
    created: bool,
    asked: BTreeSet<String>,
    /// Acknowledged, and no delete was asked.
    kept: BTreeSet<String>,
    deleted: BTreeSet<String>,
}

/// Nothing where the engine did not even start.
async fn run_until_refused(bench: &Bench) -> Option<Told> {
    let running = engine::start(bench.options.clone()).ok()?;
    let engine = running.engine();
    let mut told = Told::default();
    let create = Command::CreateQueue { queue: queue(), settings: vec![], tags: Default::default() };
    if engine.ask(create).await.is_err() {
        return Some(told);
    }
    told.created = true;
    for number in 0..12 {
        let body = format!("message {number}");
        told.asked.insert(body.clone());
        if send(&engine, &body).await.is_err() {
            break;
        }
        told.kept.insert(body);
        if number % 3 == 2 {
            let Ok(deliveries) = engine.receive(receive(1, 0, 0)).await else { break };
            let (delivery, payload) = deliveries.into_messages().remove(0);
            told.kept.remove(payload.body.as_str());
            let delete = Command::Delete { queue: queue(), receipts: vec![delivery.receipt] };
            if engine.ask(delete).await.is_err() {
                break;
            }
            told.deleted.insert(payload.body.to_string());
        }
    }
    Some(told)
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_accepted() {
    let bench = Bench::new(Durability::Fsync);
    let running = bench.start();
    create(&running.engine()).await;
    let next = bench.disk.counts().total();
    (next..next + 50).for_each(|number| bench.disk.fault(number, Fault::Fails(host::disk::EIO)));
    let mut outcomes = Vec::new();
    for body in ["one", "two", "three", "four"] {
        outcomes.push(send(&running.engine(), body).await.is_ok());
    }
    assert!(matches!(running.health(), Health::Stopped { .. }), "{outcomes:?}");
    assert!(!outcomes[3]);
}

#[tokio::test]
async fn a_full_disk_refuses_sends_and_comes_back_by_itself() {
    let bench = Bench::new(Durability::Fsync);
    let running = bench.start();
    let engine = running.engine();
    create(&engine).await;
    until(|| bench.disk.used_bytes() > 256 << 10).await;
    bench.disk.set_capacity(bench.disk.used_bytes());

    let body = "x".repeat(10_000);
    let mut stored = 0;
    loop {
        match send(&engine, &body).await {
            Ok(_) => stored += 1,
            Err(error) => {
                assert_eq!(error, AskError::StorageFull);
                break;
            }
        }
        assert!(stored < 200, "the disk never fills");
    }
    assert_eq!(running.health(), Health::Full);

    // Receives and deletes go on, and there is room for them.
    for _ in 0..stored {
        let (delivery, _) = engine.receive(receive(1, 30, 0)).await.unwrap().into_messages().remove(0);
        let delete = Command::Delete { queue: queue(), receipts: vec![delivery.receipt] };
        assert_eq!(engine.ask(delete).await, Ok(Answer::Outcomes(vec![Ok(())])));
    }

    bench.disk.set_capacity(1 << 30);
    until(|| running.health() == Health::Ok).await;
    send(&engine, "again").await.unwrap();
    let after = bench.on(bench.disk.power_cut(&Survivors::Nothing));
    assert_eq!(received(&after.start().engine()).await, ["again"]);
}

#[tokio::test]
async fn the_journal_is_trimmed_and_long_lived_messages_move_to_pages() {
    let mut bench = Bench::new(Durability::Fsync);
    bench.options.snapshot_bytes = 1 << 20;
    let running = bench.start();
    let engine = running.engine();
    create(&engine).await;
    send(&engine, "long-lived").await.unwrap();
    let hide = engine.receive(receive(1, 43_200, 0)).await.unwrap().into_messages();
    assert_eq!(hide.len(), 1);

    let body = "x".repeat(50_000);
    for _ in 0..400 {
        send(&engine, &body).await.unwrap();
        let (delivery, _) = engine.receive(receive(1, 30, 0)).await.unwrap().into_messages().remove(0);
        engine.ask(Command::Delete { queue: queue(), receipts: vec![delivery.receipt] }).await.unwrap();
    }
    // 20 MB went through; what is kept follows what is needed.
    until(|| bench.disk.used_bytes() < 4 << 20).await;

    bench.advance(&running, 43_200_000);
    assert_eq!(received(&engine).await, ["long-lived"]);
    drop(running);
    let after = bench.on(bench.disk.power_cut(&Survivors::Nothing));
    let running = after.start();
    after.advance(&running, 43_200_000);
    assert_eq!(received(&running.engine()).await, ["long-lived"]);
}

#[tokio::test]
async fn one_process_at_a_time() {
    let bench = Bench::new(Durability::Fsync);
    let running = bench.start();
    let second = engine::start(bench.options.clone()).map(drop);
    assert!(second.is_err_and(|error| error.to_string().contains("in use")));
    drop(running);
    bench.start();
}
