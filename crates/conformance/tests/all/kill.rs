//! kill -9 under load, over and over, on one data directory.
//!
//! ```text
//!   round:   load (four connections send, receive, delete) ──SIGKILL──▶ restart ──▶ drain ──▶ compare ──▶ load …
//! ```
//!
//! After each restart the queue is received empty, so that the test knows for each message whether it is there. A call
//! that was never answered may have been carried out or not; either is right, but what the drain shows holds from then on.

use conformance::{Connection, Server};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

const ROUNDS: u64 = 60;
const CONNECTIONS: u64 = 4;
/// The load before a kill lasts between these, in milliseconds.
const LOAD_MILLIS: (u64, u64) = (5, 250);
/// How many messages a round leaves behind for later rounds to keep safe.
const KEPT_MAX: usize = 100;

/// What one connection asked for and what was acknowledged, by body. A body is sent once.
#[derive(Default)]
struct Ledger {
    send_asked: BTreeSet<String>,
    /// With the message's id.
    send_acknowledged: BTreeMap<String, String>,
    delete_asked: BTreeSet<String>,
    delete_acknowledged: BTreeSet<String>,
    received: BTreeSet<String>,
}

impl Ledger {
    fn add(&mut self, other: Ledger) {
        self.send_asked.extend(other.send_asked);
        self.send_acknowledged.extend(other.send_acknowledged);
        self.delete_asked.extend(other.delete_asked);
        self.delete_acknowledged.extend(other.delete_acknowledged);
        self.received.extend(other.received);
    }
}

#[test]
fn kill_9_loses_nothing_acknowledged() {
    let mut server = Server::start("fsync");
    let mut queue = server.connect().must("CreateQueue", &json!({ "QueueName": "q" }))["QueueUrl"].clone();
    let mut random = Random(42);
    // What is in the queue between rounds: body to message id.
    let mut live: BTreeMap<String, String> = BTreeMap::new();
    let (mut sends, mut deletes) = (0, 0);

    for round in 1..=ROUNDS {
        let load = Duration::from_millis(random.between(LOAD_MILLIS));
        let ledger = run_load(&mut server, &queue, round, load);
        sends += ledger.send_acknowledged.len();
        deletes += ledger.delete_acknowledged.len();

        server.restart();
        // Past every visibility timeout. The clock may have started over with the process, so each round goes further.
        server.advance(round * 100);
        let mut connection = server.connect();
        queue = connection.must("GetQueueUrl", &json!({ "QueueName": "q" }))["QueueUrl"].clone();
        let found = drain(&mut connection, &queue);
        compare(&live, &ledger, &found, round);
        live = found.into_iter().map(|(body, (id, _))| (body, id)).collect();
        delete_all_but_a_few(&mut connection, &queue, &mut live, &server, round);
    }
    println!("{ROUNDS} rounds: {sends} sends and {deletes} deletes acknowledged, each of them kept");
    assert!(sends as u64 > ROUNDS && deletes as u64 > ROUNDS, "the load was too light to show anything");
}

/// Loads the server from several connections, kills it, and says what was asked and acknowledged until then.
fn run_load(server: &mut Server, queue: &Value, round: u64, load: Duration) -> Ledger {
    let address = server.address().to_owned();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                let (address, queue) = (address.clone(), queue.clone());
                scope.spawn(move || {
                    let mut ledger = Ledger::default();
                    let broken = work(&address, &queue, round, number, &mut ledger);
                    assert!(broken.is_err(), "work goes on until the server dies");
                    ledger
                })
            })
            .collect();
        std::thread::sleep(load);
        server.kill();

        let mut all = Ledger::default();
        for worker in workers {
            all.add(worker.join().expect("a worker found something wrong"));
        }
        all
    })
}

/// Sends singly and in batches, receives, and deletes half of what it received, until the connection breaks.
fn work(address: &str, queue: &Value, round: u64, number: u64, ledger: &mut Ledger) -> io::Result<()> {
    let mut connection = Connection::open(address)?;
    for turn in 0u64.. {
        let bodies: Vec<String> = match turn % 3 {
            0 => (0..10).map(|index| format!("{round}-{number}-{turn}-{index}")).collect(),
            _ => vec![format!("{round}-{number}-{turn}")],
        };
        ledger.send_asked.extend(bodies.iter().cloned());
        send(&mut connection, queue, &bodies, ledger)?;

        if turn % 2 == 0 {
            let answer = connection.call("ReceiveMessage", &json!({ "QueueUrl": queue, "MaxNumberOfMessages": 10 }))?;
            for (index, message) in messages(&answer.body).iter().enumerate() {
                let body = text(&message["Body"]);
                assert!(!ledger.delete_acknowledged.contains(&body), "{body} came back after its delete");
                ledger.received.insert(body.clone());
                if index % 2 == 0 {
                    ledger.delete_asked.insert(body.clone());
                    let handle = &message["ReceiptHandle"];
                    let answer =
                        connection.call("DeleteMessage", &json!({ "QueueUrl": queue, "ReceiptHandle": handle }))?;
                    assert_eq!(answer.status, 200, "{answer:?}");
                    ledger.delete_acknowledged.insert(body);
                }
            }
        }
    }
    unreachable!("the server is killed before 2^64 turns")
}

fn send(connection: &mut Connection, queue: &Value, bodies: &[String], ledger: &mut Ledger) -> io::Result<()> {
    if let [body] = bodies {
        let answer = connection.call("SendMessage", &json!({ "QueueUrl": queue, "MessageBody": body }))?;
        assert_eq!(answer.status, 200, "{answer:?}");
        ledger.send_acknowledged.insert(body.clone(), text(&answer.body["MessageId"]));
        return Ok(());
    }
    let entries: Vec<Value> =
        (0..).zip(bodies).map(|(id, body)| json!({ "Id": id.to_string(), "MessageBody": body })).collect();
    let answer = connection.call("SendMessageBatch", &json!({ "QueueUrl": queue, "Entries": entries }))?;
    assert_eq!(answer.status, 200, "{answer:?}");
    for one in answer.body["Successful"].as_array().expect("all entries are good") {
        let index: usize = text(&one["Id"]).parse().expect("the id that we gave");
        ledger.send_acknowledged.insert(bodies[index].clone(), text(&one["MessageId"]));
    }
    Ok(())
}

/// Receives until the queue has nothing visible: body to message id and receipt handle.
fn drain(connection: &mut Connection, queue: &Value) -> BTreeMap<String, (String, String)> {
    let mut found = BTreeMap::new();
    loop {
        let answer = connection.must("ReceiveMessage", &json!({ "QueueUrl": queue, "MaxNumberOfMessages": 10 }));
        let batch = messages(&answer);
        if batch.is_empty() {
            return found;
        }
        for message in batch {
            let body = text(&message["Body"]);
            let seen = (text(&message["MessageId"]), text(&message["ReceiptHandle"]));
            assert!(found.insert(body.clone(), seen).is_none(), "{body} is there twice");
        }
    }
}

fn compare(live: &BTreeMap<String, String>, ledger: &Ledger, found: &BTreeMap<String, (String, String)>, round: u64) {
    for (body, id) in live.iter().chain(&ledger.send_acknowledged) {
        match found.get(body) {
            Some((found_id, _)) => assert_eq!(found_id, id, "round {round}: {body} has another id"),
            None => assert!(ledger.delete_asked.contains(body), "round {round}: {body} was acknowledged and is lost"),
        }
    }
    for body in &ledger.delete_acknowledged {
        assert!(!found.contains_key(body), "round {round}: {body} came back after its delete");
    }
    for body in found.keys().chain(&ledger.received) {
        let is_known = live.contains_key(body) || ledger.send_asked.contains(body);
        assert!(is_known, "round {round}: {body} was never sent, or was gone already");
    }
}

/// Deletes most of what is live, acknowledged before the next kill.
fn delete_all_but_a_few(
    connection: &mut Connection,
    queue: &Value,
    live: &mut BTreeMap<String, String>,
    server: &Server,
    round: u64,
) {
    if live.len() <= KEPT_MAX {
        return;
    }
    // Make all visible once more, then keep the first few of them.
    server.advance(50);
    let found = drain(connection, queue);
    assert_eq!(found.len(), live.len(), "round {round}: two drains of the same queue");
    let surplus: Vec<_> = found.into_iter().skip(KEPT_MAX).collect();
    for chunk in surplus.chunks(10) {
        let entries: Vec<Value> = (0..)
            .zip(chunk)
            .map(|(id, (_, (_, handle)))| json!({ "Id": id.to_string(), "ReceiptHandle": handle }))
            .collect();
        let answer = connection.must("DeleteMessageBatch", &json!({ "QueueUrl": queue, "Entries": entries }));
        assert!(answer["Failed"].is_null(), "{answer}");
        for (body, _) in chunk {
            live.remove(body);
        }
    }
}

fn messages(answer: &Value) -> &[Value] {
    answer["Messages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is a text")).to_owned()
}

/// Enough chance for the length of a pause (SplitMix64); a run can be repeated.
struct Random(u64);

impl Random {
    fn between(&mut self, (low, high): (u64, u64)) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (mixed ^ (mixed >> 31)) % (high - low)
    }
}
