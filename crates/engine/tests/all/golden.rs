//! A whole data directory of each released format is kept, and must still open, verify, and give its messages.
//!
//! `UPDATE_GOLDEN=1` writes that of the present format. One that was released is never changed: a new format gets a new
//! folder, and this test goes through all of them.

use super::*;
use crate::backlog::{bench, drain, fill, numbers};
use engine::verify::verify;
use host::disk::RealDisk;
use shard::{Attribute, AttributeValue, Setting};
use std::fs;
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

const PRESENT: &str = "data-v1";

fn golden_bench(data: &Path) -> Bench {
    let mut bench = bench();
    bench.options.disk = Arc::new(RealDisk);
    bench.options.data = data.into();
    bench.options.segment_bytes = 16 << 10;
    bench
}

/// A message with everything that one can have.
fn full_payload() -> Payload {
    let attribute =
        |name: &str, data_type: &str, value| Attribute { name: name.into(), data_type: data_type.into(), value };
    Payload {
        id: MessageId::from_random([5; 16]),
        body_md5: [6; 16],
        sender_id: "AIDA".into(),
        body: "gefüllt\r\n".into(),
        attributes: vec![
            attribute("a", "Number.int", AttributeValue::Text("1".into())),
            attribute("b", "Binary", AttributeValue::Binary(vec![0, 255].into())),
        ],
        trace_header: Some("Root=1".into()),
        message_group_id: Some("tenant".into()),
    }
}

fn settings() -> Vec<Setting> {
    vec![
        Setting::VisibilityTimeout { seconds: 45 },
        Setting::MaximumMessageSize { bytes: 2_048 },
        Setting::Policy { document: Some("{}".to_owned()) },
    ]
}

fn other_queue() -> QueueKey {
    QueueKey { name: QueueName::parse("other").unwrap(), ..queue() }
}

/// Pages, a snapshot, entries after it, a message in flight and one deleted.
async fn write(data: &Path) {
    let mut bench = golden_bench(data);
    bench.options.snapshot_bytes = 3 << 10;
    let running = bench.start();
    let engine = running.engine();
    let tags = [("team".to_owned(), "post".to_owned())].into();
    let command = Command::CreateQueue { queue: other_queue(), settings: settings(), tags };
    engine.ask(command).await.unwrap();
    let payload = full_payload();
    let message = NewMessage { id: payload.id, delay_seconds: None, size_bytes: 20, payload: payload.encode() };
    engine.ask(Command::Send { queue: other_queue(), messages: vec![message] }).await.unwrap();
    create(&engine).await;
    fill(&running, 0..60).await;
    crate::durability::until(|| fs::read_dir(data.join("snapshots")).unwrap().count() > 0).await;
    drop((engine, running));

    bench.options.snapshot_bytes = 1 << 30;
    let running = bench.start();
    let engine = running.engine();
    let mut deliveries = engine.receive(receive(2, 30, 0)).await.unwrap().into_messages();
    let receipts = vec![deliveries.remove(0).0.receipt];
    engine.ask(Command::Delete { queue: queue(), receipts }).await.unwrap();
    fill(&running, 60..64).await;
    drop((engine, running));
    fs::remove_file(data.join("lock")).unwrap();
    for spare in fs::read_dir(data.join("journal")).unwrap().map(|entry| entry.unwrap().path()) {
        if spare.extension().is_some_and(|suffix| suffix == "spare") {
            fs::remove_file(spare).unwrap();
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)
        } else {
            let _bytes = fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[tokio::test]
async fn released_data_still_opens_and_gives_its_messages() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(golden().join(PRESENT));
        write(&golden().join(PRESENT)).await;
    }
    for version in [PRESENT] {
        let home = tempfile::tempdir().unwrap();
        copy(&golden().join(version), home.path());
        let report = verify(Arc::new(RealDisk), home.path(), &mut |_| {}).unwrap();
        assert_eq!(report.findings, [""; 0], "{version}");
        assert_eq!((report.counts.snapshots, report.counts.queues), (1, 2), "{version}: {}", report.counts);
        assert!(report.counts.messages_frozen > 0 && report.counts.pages > 0, "{version}: {}", report.counts);

        let bench = golden_bench(home.path());
        let running = bench.start();
        let engine = running.engine();
        bench.advance(&running, 31_000);
        assert_eq!(drain(&engine).await, numbers(1..64), "{version}");
        let facts = match engine.ask(Command::Describe { queue: other_queue() }).await {
            Ok(Answer::Queue(facts)) => *facts,
            other => panic!("{other:?}"),
        };
        assert_eq!((facts.settings.visibility_seconds, facts.settings.message_bytes_max), (45, 2_048));
        assert_eq!((facts.settings.policy.as_deref(), facts.tags["team"].as_str()), (Some("{}"), "post"));
        let found = engine.receive(Receive { queue: other_queue(), ..receive(1, 30, 0) }).await.unwrap();
        assert_eq!(found.messages()[0].1, full_payload());
    }
}
