//! kill -9 under load, over and over, on one data directory.
//!
//! ```text
//!   round:   load (four connections send, receive, delete) ──SIGKILL──▶ restart ──▶ drain ──▶ compare ──▶ load …
//! ```
//!
//! After each restart the queue is received empty, so that the test knows for each message whether it is there.

use crate::ledger::{Random, compare, delete_all_but_a_few, drain, run_load};
use conformance::Server;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

const ROUNDS: u64 = 60;
/// The load before a kill lasts between these, in milliseconds.
const LOAD_MILLIS: (u64, u64) = (5, 250);

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
        let ledger = run_load(&mut server, &queue, round, load, Server::kill);
        assert_eq!(ledger.failures, 0, "round {round}: the server failed before it was killed");
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
