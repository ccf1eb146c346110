//! What must hold for any bytes where a shard's state, entries, pages or messages should be: they are read or refused,
//! never worse, and no state is built that a shard couldn't be in.

use bytes::Bytes;
use model::Timestamp;
use shard::{Entry, Payload, Rules, Shard, read_page};

/// The whole input is what a journal's record holds.
pub fn entries(input: &[u8]) {
    let mut decoded = Vec::new();
    let whole = Entry::decode_all(input, 4_120, |entry| decoded.push(entry));
    assert!(decoded.len() <= input.len(), "an entry takes a byte at least");
    if whole.is_ok() {
        // It can be told in words.
        decoded.iter().for_each(|entry| drop(entry.to_string()));
    }
}

/// The whole input is the body of a snapshot.
pub fn snapshot(input: &[u8]) {
    let Ok(mut shard) = Shard::from_snapshot(input, Rules::default()) else { return };
    shard.check_invariants();
    let bytes = shard.snapshot();
    let again = Shard::from_snapshot(&bytes, Rules::default()).expect("what was read can be written and read again");
    assert!(again.snapshot() == bytes, "a snapshot is read as written");
    // Time passes, in small steps and to the end.
    for at in [shard.at().plus_seconds(1), shard.at().plus_seconds(1_000_000), Timestamp::NEVER] {
        shard.advance(at);
        shard.check_invariants();
    }
}

/// The whole input is the body of a page.
pub fn page(input: &[u8]) {
    let Ok(messages) = read_page(input) else { return };
    for message in messages {
        let from = message.offset as usize;
        let payload = input.get(from..from + message.bytes as usize).expect("a page holds what it lists");
        let _ = Payload::decode(&Bytes::copy_from_slice(payload));
    }
}

/// The whole input is a message; or it is one but for its check, which a fuzzer can't guess.
pub fn payload(input: &[u8]) {
    let _ = Payload::decode(&Bytes::copy_from_slice(input));
    let sealed = Bytes::from([&crc32c::crc32c(input).to_le_bytes(), input].concat());
    if let Ok(payload) = Payload::decode(&sealed) {
        let again = Payload::decode(&payload.encode());
        assert_eq!(again.as_ref(), Ok(&payload), "a message is read as written");
    }
}
