//! The load generator against the bare server, and against servers that misbehave.

use super::*;
use std::io::{Read, Write};
use std::net::TcpListener;

fn turns(pace: Pace, rounds_max: u64) -> Turns {
    let start = Instant::now();
    let measured_from = start + Duration::from_secs(1);
    let end = start + Duration::from_secs(2);
    Turns { taken: AtomicU64::new(0), start, measured_from, end, pace, rounds_max }
}

#[test]
fn an_open_loop_is_due_at_its_rate_however_late_it_is() {
    let turns = turns(Pace::Open { rounds_per_second: 4.0 }, u64::MAX);
    let late = turns.start + Duration::from_millis(1900);
    let due: Vec<_> = std::iter::from_fn(|| turns.next(late))
        .map(|turn| turn.due.expect("open loops have due times") - turns.start)
        .map(|due| due.as_millis())
        .collect();
    assert_eq!(due, [0, 250, 500, 750, 1000, 1250, 1500, 1750]);
}

#[test]
fn a_run_ends_with_its_time_or_its_rounds() {
    let closed = turns(Pace::Closed, u64::MAX);
    assert_eq!(closed.next(closed.start), Some(Turn { due: None }));
    assert_eq!(closed.next(closed.end), None);
    let counted = turns(Pace::Closed, 2);
    let taken = std::iter::from_fn(|| counted.next(counted.start)).count();
    assert_eq!(taken, 2);
}

/// A plan of a few rounds, long before its time is over.
fn plan(address: SocketAddr, mix: Mix, batch: usize, rounds: u64) -> Plan {
    Plan {
        address,
        encoder: Encoder::new(Wire::Json, &address.to_string(), "test", "us-east-1"),
        queue_url: format!("http://{address}/000000000000/q"),
        mix,
        pace: Pace::Closed,
        connections: 3,
        threads: 2,
        batch,
        body_bytes: 16,
        warm_up: Duration::ZERO,
        duration: Duration::from_secs(60),
        rounds_max: Some(rounds),
        server_pid: None,
    }
}

/// A bare server that lives as long as the test process.
fn bare_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    listener.set_nonblocking(true).expect("a socket option");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            crate::bare::serve(listener, 16).await.expect("it serves");
        });
    });
    address
}

/// A server that answers every connection's first bytes with `reply`, then hangs up.
fn rude_server(reply: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    address
}

#[test]
fn every_round_of_every_mix_is_counted() {
    let address = bare_server();
    // (mix, batch, rounds) and then (requests, sent, received, deleted)
    let cases = [
        ((Mix::Send, 1, 7), (7, 7, 0, 0)),
        ((Mix::Send, 10, 7), (7, 70, 0, 0)),
        ((Mix::LifeCycle, 10, 5), (15, 50, 50, 50)),
        ((Mix::Drain, 10, 5), (10, 0, 50, 50)),
    ];
    for ((mix, batch, rounds), wanted) in cases {
        let Outcome { tally, .. } = run(&plan(address, mix, batch, rounds)).expect("the generator works");
        let counted = (tally.requests, tally.sent, tally.received, tally.deleted);
        assert_eq!(counted, wanted, "{mix:?} in batches of {batch}");
        assert_eq!(tally.errors_total(), 0, "{mix:?}: {:?}", tally.errors);
    }
}

#[test]
fn an_open_loop_takes_as_long_as_its_rate_says() {
    let pace = Pace::Open { rounds_per_second: 100.0 };
    let outcome = run(&Plan { pace, ..plan(bare_server(), Mix::Send, 1, 11) }).expect("the generator works");
    assert_eq!(outcome.tally.requests, 11);
    // The first is due at once and the last a tenth of a second later.
    assert!(Duration::from_millis(100) <= outcome.elapsed, "{:?}", outcome.elapsed);
}

#[test]
fn what_goes_wrong_is_counted_by_kind() {
    // Nobody listens on port 1: it needs privileges, and its service has been dead for decades.
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let refusing =
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 25\r\n\r\n{\"__type\":\"QueueMissing\"}";
    let failing =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 28\r\n\r\n{\"Failed\":[{\"Code\":\"Full\"}]}";
    let cases = [
        (nobody, "cannot connect: connection refused"),
        (rude_server(refusing), "400 QueueMissing"),
        (rude_server("HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), "503 without a code"),
        (rude_server("hello\r\n\r\n"), "malformed reply: no HTTP/1 status line"),
        (
            rude_server("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
            "malformed reply: the server hung up before the body ended",
        ),
        (rude_server(failing), "batch entry: Full"),
    ];
    for (address, kind) in cases {
        let outcome = run(&Plan { connections: 1, ..plan(address, Mix::Send, 2, 2) }).expect("the generator works");
        let errors: Vec<_> = outcome.tally.errors.into_iter().collect();
        assert_eq!(errors, [(kind.to_owned(), 2)]);
    }
}
