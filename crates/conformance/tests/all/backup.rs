//! Backup, verification and restore, as an operator does them.

use crate::ledger::{Random, drain, messages, run_load};
use conformance::{Server, posthouse};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// What a task of the program printed, after its exit code.
fn run(arguments: &[&str]) -> (i32, String) {
    let output = posthouse(arguments);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().expect("it ends by itself"), String::from_utf8(said).expect("it prints text"))
}

fn verify(data: &Path) -> (i32, String) {
    run(&["journal", "verify", data.to_str().expect("a path that is text")])
}

#[test]
fn a_backup_of_a_busy_server_is_restored_by_starting_on_it() {
    let mut server = Server::start("fsync");
    let queue = server.connect().must("CreateQueue", &json!({ "QueueName": "q" }))["QueueUrl"].clone();
    let mut connection = server.connect();
    let bodies: Vec<String> = (0..300).map(|number| format!("before-{number}")).collect();
    for body in &bodies {
        connection.must("SendMessage", &json!({ "QueueUrl": queue, "MessageBody": body }));
    }
    let home = tempfile::tempdir().expect("a temporary directory");
    let copy = home.path().join("copy");
    let to = copy.to_str().expect("a path that is text").to_owned();

    // While others send, receive and delete.
    let load = Duration::from_millis(Random(1).between((200, 400)));
    let ledger = run_load(&mut server, &queue, 1, load, |server| {
        let (code, said) = run(&["backup", "--url", &server.endpoint(), &to]);
        assert_eq!(code, 0, "{said}");
        let (code, said) = run(&["backup", "--url", &server.endpoint(), &to]);
        assert!(code == 1 && said.contains("is not empty"), "{said}");
        let (code, said) = verify(server.data());
        assert!(code == 1 && said.contains("a server runs on it"), "{said}");
        server.kill();
    });

    let (code, said) = verify(&copy);
    assert!(code == 0 && said.ends_with("all is sound\n"), "{said}");
    let restored = Server::start_on(&copy, &["--durability", "fsync"]);
    restored.advance(1_000);
    let queue = restored.connect().must("GetQueueUrl", &json!({ "QueueName": "q" }))["QueueUrl"].clone();
    let found = drain(&mut restored.connect(), &queue);
    for body in &bodies {
        assert!(found.contains_key(body) || ledger.delete_asked.contains(body), "{body} was there before");
    }
    for (body, (id, _)) in &found {
        let known = bodies.contains(body) || ledger.send_asked.contains(body);
        assert!(known, "{body} was never sent");
        assert!(ledger.send_acknowledged.get(body).is_none_or(|sent| sent == id), "{body} has another id");
    }
}

#[test]
fn data_at_rest_is_copied_and_damage_is_named() {
    let mut server = Server::start("fsync");
    let queue = server.connect().must("CreateQueue", &json!({ "QueueName": "q" }))["QueueUrl"].clone();
    server.connect().must("SendMessage", &json!({ "QueueUrl": queue, "MessageBody": "kept" }));
    let data = server.data().to_str().expect("a path that is text").to_owned();
    let home = tempfile::tempdir().expect("a temporary directory");
    let copy = home.path().join("copy");
    let to = copy.to_str().expect("a path that is text");
    let (code, said) = run(&["backup", "--data", &data, to]);
    assert!(code == 1 && said.contains("a server runs on it"), "{said}");
    server.kill();
    let (code, said) = run(&["backup", "--data", &data, to]);
    assert!(code == 0 && copy.is_dir(), "{said}");
    let (code, said) = run(&["backup", to]);
    assert!(code == 2 && said.contains("--url"), "one of the two must be given: {said}");

    let log = Path::new(&data).join("journal/00000000000000004096.log");
    let mut bytes = std::fs::read(&log).expect("the journal begins there");
    // In the payload of the first record.
    bytes[4_096 + 30] ^= 1;
    std::fs::write(&log, bytes).expect("it can be written");
    let (code, said) = verify(Path::new(&data));
    let named = format!("`{}` is damaged at byte 4096: expected ", log.display());
    assert!(code == 1 && said.contains(&named), "{said}");
    assert_eq!(verify(&copy).0, 0, "the copy is another");

    let restored = Server::start_on(&copy, &["--durability", "fsync"]);
    let answer = restored.connect().must("ReceiveMessage", &json!({ "QueueUrl": queue }));
    assert_eq!(messages(&answer)[0]["Body"], "kept");
}
