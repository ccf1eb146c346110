//! A load, and an account of what was asked and acknowledged, to be compared with what is found after the server's end.
//!
//! A call that was never answered may have been carried out or not; either is right, but what a drain shows holds from
//! then on.

use conformance::{Answer, Connection, Server};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

const CONNECTIONS: u64 = 4;
/// How many messages a round leaves behind for later rounds to keep safe.
const KEPT_MAX: usize = 100;

/// What one connection asked for and what was acknowledged, by body. A body is sent once.
#[derive(Default)]
pub struct Ledger {
    pub send_asked: BTreeSet<String>,
    /// With the message's id.
    pub send_acknowledged: BTreeMap<String, String>,
    pub delete_asked: BTreeSet<String>,
    pub delete_acknowledged: BTreeSet<String>,
    pub received: BTreeSet<String>,
    /// How often the server said that it has failed.
    pub failures: usize,
}

impl Ledger {
    fn add(&mut self, other: Ledger) {
        self.send_asked.extend(other.send_asked);
        self.send_acknowledged.extend(other.send_acknowledged);
        self.delete_asked.extend(other.delete_asked);
        self.delete_acknowledged.extend(other.delete_acknowledged);
        self.received.extend(other.received);
        self.failures += other.failures;
    }

    /// A server that says of itself that it has failed has acknowledged nothing; any other refusal is a mistake.
    fn expect_success(&mut self, answer: &Answer) -> io::Result<()> {
        if answer.status >= 500 {
            self.failures += 1;
            return Err(io::Error::other(format!("{answer:?}")));
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        Ok(())
    }
}

/// Loads the server from several connections for a while, ends that by `end`, and says what was asked and acknowledged
/// until then.
pub fn run_load(
    server: &mut Server,
    queue: &Value,
    round: u64,
    load: Duration,
    end: impl FnOnce(&mut Server),
) -> Ledger {
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
        end(server);

        let mut all = Ledger::default();
        for worker in workers {
            all.add(worker.join().expect("a worker found something wrong"));
        }
        all
    })
}

/// Sends singly and in batches, receives, and deletes half of what it received, until the connection breaks or the server
/// says that it has failed.
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
            ledger.expect_success(&answer)?;
            for (index, message) in messages(&answer.body).iter().enumerate() {
                let body = text(&message["Body"]);
                assert!(!ledger.delete_acknowledged.contains(&body), "{body} came back after its delete");
                ledger.received.insert(body.clone());
                if index % 2 == 0 {
                    ledger.delete_asked.insert(body.clone());
                    let handle = &message["ReceiptHandle"];
                    let answer =
                        connection.call("DeleteMessage", &json!({ "QueueUrl": queue, "ReceiptHandle": handle }))?;
                    ledger.expect_success(&answer)?;
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
        ledger.expect_success(&answer)?;
        ledger.send_acknowledged.insert(body.clone(), text(&answer.body["MessageId"]));
        return Ok(());
    }
    let entries: Vec<Value> =
        (0..).zip(bodies).map(|(id, body)| json!({ "Id": id.to_string(), "MessageBody": body })).collect();
    let answer = connection.call("SendMessageBatch", &json!({ "QueueUrl": queue, "Entries": entries }))?;
    ledger.expect_success(&answer)?;
    for one in answer.body["Successful"].as_array().expect("all entries are good") {
        let index: usize = text(&one["Id"]).parse().expect("the id that we gave");
        ledger.send_acknowledged.insert(bodies[index].clone(), text(&one["MessageId"]));
    }
    Ok(())
}

/// Receives until the queue has nothing visible: body to message id and receipt handle.
pub fn drain(connection: &mut Connection, queue: &Value) -> BTreeMap<String, (String, String)> {
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

pub fn compare(
    live: &BTreeMap<String, String>,
    ledger: &Ledger,
    found: &BTreeMap<String, (String, String)>,
    round: u64,
) {
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
pub fn delete_all_but_a_few(
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

pub fn messages(answer: &Value) -> &[Value] {
    answer["Messages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is a text")).to_owned()
}

/// Enough chance for the length of a pause (SplitMix64); a run can be repeated.
pub struct Random(pub u64);

impl Random {
    pub fn between(&mut self, (low, high): (u64, u64)) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (mixed ^ (mixed >> 31)) % (high - low)
    }
}
