//! What a journal promises when nothing goes wrong.

mod common;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use common::{all_records, dir, open, small_options};
use host::disk::{Disk, FakeDisk, RealDisk};
use journal::{AppendError, Journal, Lsn, Options, RECORD_HEADER_BYTES, ReadError, ReplayError, SyncMode};

#[test]
fn records_come_back_in_order_with_their_positions() {
    let disk = FakeDisk::default();
    let (journal, opened) = open(&disk);
    assert!(opened.created);
    assert_eq!((opened.oldest, opened.end), (Lsn::FIRST, Lsn::FIRST));

    let first = journal.append(&[b"one"]).unwrap();
    let second = journal.append(&[b"tw", b"", b"o"]).unwrap();
    let third = journal.append(&[]).unwrap();
    assert_eq!(first, Lsn::FIRST);
    assert_eq!(second.0, first.0 + RECORD_HEADER_BYTES + 3);
    assert_eq!(third.0, second.0 + RECORD_HEADER_BYTES + 3);
    assert_eq!(journal.end().0, third.0 + RECORD_HEADER_BYTES);
    let expected = [(first, b"one".to_vec()), (second, b"two".to_vec()), (third, Vec::new())];
    assert_eq!(all_records(&journal), expected);

    let end = journal.end();
    drop(journal);
    let (journal, opened) = open(&disk);
    assert!(!opened.created);
    assert_eq!((opened.oldest, opened.end, opened.torn), (Lsn::FIRST, end, None));
    assert_eq!(all_records(&journal), expected);
}

#[test]
fn the_stream_goes_on_without_a_gap_across_segments() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    let mut end = Lsn::FIRST;
    for number in 0..200u32 {
        let payload = vec![number as u8; number as usize * 7 % 400];
        assert_eq!(journal.append(&[&payload]).unwrap(), end);
        end = journal.end();
    }
    let segments = journal.segments();
    assert!(segments.len() > 3);
    for pair in segments.windows(2) {
        assert_eq!(pair[0].end, pair[1].base);
    }
    assert_eq!(all_records(&journal).len(), 200);
    drop(journal);
    let (journal, opened) = open(&disk);
    assert_eq!(opened.end, end);
    assert_eq!(journal.segments(), segments);
    assert_eq!(all_records(&journal).len(), 200);
}

#[test]
fn any_part_of_a_payload_can_be_read() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    let lsn = journal.append(&[b"hello, world"]).unwrap();
    let payload = lsn.0 + RECORD_HEADER_BYTES;
    assert_eq!(&journal.read(payload, 12).unwrap()[..], b"hello, world");
    assert_eq!(&journal.read(payload + 7, 5).unwrap()[..], b"world");
    assert_eq!(&journal.read(payload + 12, 0).unwrap()[..], b"");
    for (at, len) in [(payload, 13), (0, 1), (u64::MAX, 1), (u64::MAX, u32::MAX), (payload, u32::MAX), (1 << 40, 4)] {
        assert!(matches!(journal.read(at, len), Err(ReadError::OutOfRange { .. })), "{at} {len}");
    }
}

#[test]
fn a_record_that_is_too_long_is_refused_and_nothing_happens() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    let longest = vec![1; small_options().record_bytes_max as usize];
    let refused = journal.append(&[&longest, b"x"]);
    assert!(matches!(refused, Err(AppendError::TooLong { .. })));
    assert_eq!(journal.end(), Lsn::FIRST);
    journal.append(&[&longest]).unwrap();
}

#[test]
fn the_first_segment_may_be_too_small_for_the_first_record() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    let longest = vec![1; small_options().record_bytes_max as usize];
    assert_eq!(journal.append(&[&longest]).unwrap(), Lsn::FIRST);
    journal.append(&[&longest]).unwrap();
    assert_eq!(journal.segments().len(), 2);
    let records = all_records(&journal);
    assert_eq!(records.len(), 2);
    drop(journal);
    assert_eq!(all_records(&open(&disk).0), records);
}

#[test]
fn a_replay_begins_where_it_is_told_and_stops_when_it_is_told() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    let lsns: Vec<Lsn> = (0..50u8).map(|number| journal.append(&[&[number; 100]]).unwrap()).collect();
    for (skipped, from) in lsns.iter().enumerate() {
        let mut seen = Vec::new();
        let three = &mut |lsn, _: &[u8]| {
            seen.push(lsn);
            if seen.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        journal.replay(*from, three).unwrap();
        assert_eq!(seen, lsns[skipped..].iter().copied().take(3).collect::<Vec<_>>());
    }
    let none = &mut |_, _: &[u8]| panic!("there is nothing to replay");
    journal.replay(journal.end(), none).unwrap();
    let past = Lsn(journal.end().0 + 1);
    assert!(matches!(journal.replay(past, none), Err(ReplayError::OutOfRange { .. })));
    assert!(matches!(journal.replay(Lsn(0), none), Err(ReplayError::OutOfRange { .. })));
    assert!(matches!(journal.replay(Lsn(lsns[3].0 + 1), none), Err(ReplayError::File(_))), "not a record's LSN");
}

#[test]
fn trimming_gives_up_whole_segments_and_uses_them_again() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    while journal.segments().len() < 6 {
        journal.append(&[&[7; 300]]).unwrap();
    }
    let segments = journal.segments();
    assert_eq!(journal.trim(segments[0].end).unwrap().segments, 1);
    let middle = Lsn(segments[3].base.0 + 1);
    assert_eq!(journal.trim(middle).unwrap().segments, 2);
    assert_eq!(journal.segments(), segments[3..]);
    assert_eq!(journal.oldest(), segments[3].base);
    let read = journal.read(segments[2].base.0, 1);
    assert!(matches!(read, Err(ReadError::OutOfRange { oldest, .. }) if oldest == segments[3].base));

    // Everything but the active segment.
    journal.trim(Lsn(u64::MAX)).unwrap();
    assert_eq!(journal.segments(), segments[5..]);
    let names = disk.list(&dir()).unwrap();
    assert_eq!(names.iter().filter(|name| name.ends_with(".spare")).count(), small_options().spares_max);

    let before = disk.used_bytes();
    while journal.segments().len() < 1 + small_options().spares_max {
        journal.append(&[&[8; 300]]).unwrap();
    }
    assert_eq!(disk.used_bytes(), before, "recycled segments need no new space");
    let all = all_records(&journal);
    drop(journal);
    assert_eq!(all_records(&open(&disk).0), all);
}

#[test]
fn a_trimmed_segment_waits_for_its_readers() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    while journal.segments().len() < 4 {
        journal.append(&[&[1; 300]]).unwrap();
    }
    let mut seen = 0;
    let expected = all_records(&journal).len();
    let end = journal.end();
    // While every record is being replayed, the segments are trimmed, and more than filled again.
    let replay = &mut |lsn: Lsn, payload: &[u8]| {
        if lsn == Lsn::FIRST {
            journal.trim(end).unwrap();
            for _ in 0..100 {
                journal.append(&[&[2; 300]]).unwrap();
            }
        }
        assert_eq!(payload, [1; 300]);
        seen += 1;
        ControlFlow::Continue(())
    };
    journal.replay(Lsn::FIRST, replay).unwrap();
    assert_eq!(seen, expected);
}

#[test]
fn writable_bytes_can_be_written_without_asking_for_space() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    assert!(journal.prepare_spare().unwrap());
    assert!(!journal.prepare_spare().unwrap(), "one is enough");
    disk.set_capacity(0);
    let mut left = journal.writable_bytes();
    let record = 100 + RECORD_HEADER_BYTES;
    while left >= 2 * record {
        journal.append(&[&[1; 100]]).unwrap();
        assert!(left - journal.writable_bytes() < 2 * record);
        left = journal.writable_bytes();
    }
}

#[test]
fn each_append_is_one_write_and_one_sync() {
    for (sync, syncs) in [(SyncMode::Fsync, 1), (SyncMode::Os, 0)] {
        let disk = FakeDisk::default();
        let options = Options { sync, ..small_options() };
        let (journal, _) = Journal::open(Arc::new(disk.clone()), &dir(), options).unwrap();
        let before = disk.counts();
        journal.append(&[b"some", b"thing"]).unwrap();
        let after = disk.counts();
        assert_eq!((after.writes - before.writes, after.syncs - before.syncs), (1, syncs));
        assert_eq!(after.total() - before.total(), 1 + syncs);
    }
}

#[test]
fn a_journal_works_on_a_real_disk() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join("a").join("journal");
    let open = |dir: &Path| Journal::open(Arc::new(RealDisk), dir, small_options()).unwrap();
    let (journal, opened) = open(&dir);
    assert!(opened.created);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..300u32 {
                journal.append(&[&number.to_le_bytes(), &[3; 200]]).unwrap();
                journal.trim(Lsn(journal.end().0.saturating_sub(20_000))).unwrap();
            }
        });
        scope.spawn(|| {
            while journal.end().0 < 60_000 {
                journal.prepare_spare().unwrap();
                for (lsn, payload) in all_records(&journal) {
                    assert_eq!(payload[4..], [3; 200]);
                    if let Ok(bytes) = journal.read(lsn.0 + RECORD_HEADER_BYTES + 4, 200) {
                        assert_eq!(bytes[..], [3; 200]);
                    }
                }
            }
        });
    });
    let all = all_records(&journal);
    assert_eq!(all.last().unwrap().1[..4], 299u32.to_le_bytes());
    drop(journal);
    assert_eq!(all_records(&open(&dir).0), all);
}
