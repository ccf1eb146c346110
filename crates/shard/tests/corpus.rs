//! Runs what the fuzz targets check over the committed corpus, and over what becomes of it when bytes change.

#[path = "../../../fuzz/checks/shard.rs"]
mod checks;

use bytes::Bytes;
use model::{AccountId, MessageId, QueueKey, QueueName, Region, Timestamp};
use shard::*;
use std::fs;
use std::path::{Path, PathBuf};

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

fn check(target: &str, run: fn(&[u8])) {
    let mut inputs = seeds(target);
    assert!(inputs.len() >= 3, "what is written now is read by {target}");
    for entry in fs::read_dir(corpus(target)).expect("the corpus is committed") {
        inputs.push(fs::read(entry.expect("an entry").path()).expect("a file"));
    }
    let seeds_and_corpus = inputs.len();
    assert!(seeds_and_corpus >= 8, "the corpus of {target} is too small: {seeds_and_corpus} inputs in all");
    for input in inputs {
        run(&input);
        // Every cut, and every byte of the first stretch replaced by those that mean something: none, one, many, most.
        (0..input.len().min(600)).for_each(|end| run(&input[..end]));
        for at in 0..input.len().min(600) {
            for byte in [0, 1, 2, 0x7f, 0x80, 0xff] {
                let mut changed = input.clone();
                changed[at] = byte;
                run(&changed);
            }
        }
    }
}

#[test]
fn entries() {
    check("entries", checks::entries);
}

#[test]
fn snapshots() {
    check("snapshot", checks::snapshot);
}

#[test]
fn pages() {
    check("page", checks::page);
}

#[test]
fn payloads() {
    check("payload", checks::payload);
}

/// What a shard writes: the inputs that a fuzzer begins with. `UPDATE_CORPUS=1` puts them into the corpus.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let life = life();
    let seeds = match target {
        "entries" => life.records,
        "snapshot" => life.snapshots,
        "page" => life.pages,
        "payload" => life.payloads,
        _ => unreachable!("there are four"),
    };
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(corpus(target).join(format!("written-{number}")), seed).expect("the corpus can be written");
        }
    }
    seeds
}

/// Everything that is stored while a shard lives through all that can happen to it.
#[derive(Default)]
struct Life {
    records: Vec<Vec<u8>>,
    snapshots: Vec<Vec<u8>>,
    pages: Vec<Vec<u8>>,
    /// Without their checks.
    payloads: Vec<Vec<u8>>,
}

fn life() -> Life {
    let paging =
        Paging { page_messages: 2, page_bytes: 1 << 20, window: 3, thaw_below: 1, freeze_above: 5, look_every: 1 };
    let mut shard = Shard::new(Rules { paging, deleted_name_seconds: 60, ..Rules::default() });
    let mut life = Life::default();
    let (queue, other) = (key("q"), key("other"));
    let create = |queue: &QueueKey, settings| Command::CreateQueue {
        queue: queue.clone(),
        settings,
        tags: [("team".to_owned(), "post".to_owned())].into(),
    };
    let receive = Receive { queue: queue.clone(), messages_max: 2, visibility_seconds: Some(30), wait_seconds: None };

    life.ask(&mut shard, Command::Found { receipt_key: ReceiptKey::new([7; 32]) });
    life.ask(&mut shard, create(&queue, vec![]));
    life.ask(&mut shard, create(&other, all_settings()));
    life.snapshots.push(shard.snapshot());
    let messages = (0..14).map(|number| life.message(number)).collect();
    life.ask(&mut shard, Command::Send { queue: queue.clone(), messages });
    let Answer::Received { deliveries, .. } = life.ask(&mut shard, Command::Receive(receive.clone())) else { panic!() };
    let receipts: Vec<Receipt> = deliveries.iter().map(|delivery| delivery.receipt).collect();
    life.ask(&mut shard, Command::ChangeVisibility { queue: queue.clone(), receipts: vec![(receipts[0], 90)] });
    life.ask(&mut shard, Command::Delete { queue: queue.clone(), receipts: vec![receipts[0]] });
    life.ask(&mut shard, Command::Undo { receipts: vec![receipts[1]] });
    life.snapshots.push(shard.snapshot());
    while let Some(BacklogWork::Freeze { queue, messages }) = shard.next_backlog_work() {
        let (page, messages) = life.page(queue, &messages);
        life.ask(&mut shard, Command::Freeze { queue, page, messages });
    }
    life.snapshots.push(shard.snapshot());
    // The head of the queue is received, and a page takes its place.
    while !matches!(shard.next_backlog_work(), Some(BacklogWork::Thaw { .. })) {
        life.ask(&mut shard, Command::Receive(receive.clone()));
    }
    let listed = read_page(&life.pages[0]).expect("a page is read as written");
    life.ask(&mut shard, Command::Thaw { queue: listed[0].queue, page: 1, messages: listed });
    life.snapshots.push(shard.snapshot());
    let left: Vec<_> =
        shard.payloads().map(|(queue, serial, at, place)| (queue, (serial, at, place.clone()))).collect();
    let queue_id = left[0].0;
    let left: Vec<_> = left.into_iter().map(|(_, message)| message).collect();
    let (page, moved) = life.page(queue_id, &left);
    life.ask(&mut shard, Command::MovePayloads { page, moved });
    life.snapshots.push(shard.snapshot());
    life.ask(&mut shard, Command::Tag { queue: other.clone(), tags: [("a".to_owned(), String::new())].into() });
    life.ask(&mut shard, Command::Untag { queue: other.clone(), keys: vec!["team".to_owned()] });
    life.ask(
        &mut shard,
        Command::SetAttributes { queue: queue.clone(), settings: vec![Setting::Delay { seconds: 5 }] },
    );
    life.ask(&mut shard, Command::DeleteQueue { queue: other });
    life.snapshots.push(shard.snapshot());
    life.ask(&mut shard, Command::PurgeQueue { queue });
    life.snapshots.push(shard.snapshot());
    life
}

fn key(name: &str) -> QueueKey {
    QueueKey {
        account: AccountId::parse("000000000000").expect("an account"),
        region: Region::parse("us-east-1").expect("a Region"),
        name: QueueName::parse(name).expect("a name"),
    }
}

fn all_settings() -> Vec<Setting> {
    vec![
        Setting::VisibilityTimeout { seconds: 5 },
        Setting::Delay { seconds: 6 },
        Setting::Retention { seconds: 7_000 },
        Setting::MaximumMessageSize { bytes: 2_048 },
        Setting::ReceiveWait { seconds: 8 },
        Setting::KmsMasterKey { id: Some("alias/k".to_owned()) },
        Setting::KmsDataKeyReuse { seconds: 300 },
        Setting::Policy { document: Some("{}".to_owned()) },
    ]
}

impl Life {
    /// Carries out a command, and keeps the record of it.
    fn ask(&mut self, shard: &mut Shard, command: Command) -> Answer {
        let decision = shard.decide(shard.at().plus_seconds(1), command);
        let mut entry = decision.entry;
        let (mut record, position) = (Vec::new(), 4_120 + self.records.len() as u64 * 10_000);
        entry.encode(&mut record, position);
        let mut replayed = Vec::new();
        Entry::decode_all(&record, position, |entry| replayed.push(entry)).expect("an entry is read as written");
        assert_eq!(replayed, [entry]);
        shard.apply(&replayed[0]);
        shard.check_invariants();
        self.records.push(record);
        decision.reply.expect("nothing here is refused")
    }

    fn message(&mut self, number: u8) -> NewMessage {
        let id = MessageId::from_random([number; 16]);
        let value = match number % 2 {
            0 => AttributeValue::Text("1".into()),
            _ => AttributeValue::Binary(Bytes::from_static(&[0, 255])),
        };
        let payload = Payload {
            id,
            body_md5: [number; 16],
            sender_id: "AIDA".into(),
            body: format!("body {number}").as_str().into(),
            attributes: vec![Attribute { name: "a".into(), data_type: "Number.int".into(), value }; number.into()],
            trace_header: (number % 3 == 1).then(|| "Root=1".into()),
            message_group_id: (number % 3 == 2).then(|| "tenant".into()),
        };
        let encoded = payload.encode();
        if self.payloads.len() < 4 {
            self.payloads.push(encoded[4..].to_vec());
        }
        NewMessage { id, delay_seconds: (number == 8).then_some(60), size_bytes: 10, payload: encoded }
    }

    fn page(
        &mut self,
        queue: model::QueueId,
        messages: &[(model::Serial, Timestamp, PayloadAt)],
    ) -> (u64, Vec<PagedMessage>) {
        let mut builder = PageBuilder::default();
        for (serial, sent_at, _) in messages {
            builder.push(queue, *serial, *sent_at, format!("payload {}", serial.0).as_bytes());
        }
        let (bytes, listed) = builder.finish();
        self.pages.push(bytes);
        (self.pages.len() as u64, listed)
    }
}
