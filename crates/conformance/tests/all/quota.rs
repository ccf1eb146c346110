//! 120,000 messages in flight, in full.

use conformance::Server;
use serde_json::{Value, json};

const IN_FLIGHT_MAX: usize = 120_000;
const CONNECTIONS: usize = 4;

/// LIFE-09, SERR-20, GEN-07. Source: SQS Developer Guide, Queue quotas; ReceiveMessage, OverLimit.
#[test]
fn in_flight_quota() {
    let server = Server::start("memory");
    let mut connection = server.connect();
    let queue = connection.must("CreateQueue", &json!({ "QueueName": "q" }))["QueueUrl"].clone();
    let entries: Vec<Value> = (0..10).map(|id| json!({ "Id": id.to_string(), "MessageBody": "x" })).collect();
    let send = json!({ "QueueUrl": queue, "Entries": entries });
    let receive = json!({ "QueueUrl": queue, "MaxNumberOfMessages": 10, "VisibilityTimeout": 43_200 });

    on_all_connections(&server, |connection| {
        for _ in 0..IN_FLIGHT_MAX / 10 / CONNECTIONS {
            connection.must("SendMessageBatch", &send);
        }
    });
    connection.must("SendMessage", &json!({ "QueueUrl": queue, "MessageBody": "one more" }));
    on_all_connections(&server, |connection| {
        for _ in 0..IN_FLIGHT_MAX / 10 / CONNECTIONS - 1 {
            assert_eq!(connection.must("ReceiveMessage", &receive)["Messages"].as_array().map(Vec::len), Some(10));
        }
    });
    let mut last = Value::Null;
    for _ in 0..CONNECTIONS {
        last = connection.must("ReceiveMessage", &receive);
    }
    assert_eq!(counts(&mut connection, &queue), ("1".into(), IN_FLIGHT_MAX.to_string()));

    let refused = connection.call("ReceiveMessage", &receive).expect("the server is running");
    assert_eq!((refused.status, refused.error_name()), (403, "OverLimit"), "{refused:?}");
    let long_poll = json!({ "QueueUrl": queue, "WaitTimeSeconds": 1 });
    assert_eq!(connection.must("ReceiveMessage", &long_poll), json!({}), "a long poll is empty rather than refused");

    let handle = &last["Messages"][0]["ReceiptHandle"];
    connection.must("DeleteMessage", &json!({ "QueueUrl": queue, "ReceiptHandle": handle }));
    let received = connection.must("ReceiveMessage", &receive);
    assert_eq!(received["Messages"][0]["Body"], "one more");
}

fn on_all_connections(server: &Server, work: impl Fn(&mut conformance::Connection) + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| work(&mut server.connect()));
        }
    });
}

/// How many are visible, and how many in flight.
fn counts(connection: &mut conformance::Connection, queue: &Value) -> (String, String) {
    let attributes = connection.must("GetQueueAttributes", &json!({ "QueueUrl": queue, "AttributeNames": ["All"] }));
    let count = |name: &str| attributes["Attributes"][name].as_str().unwrap_or_default().to_owned();
    (count("ApproximateNumberOfMessages"), count("ApproximateNumberOfMessagesNotVisible"))
}
