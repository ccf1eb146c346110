//! A disk without space: what was set aside goes on, the rest is refused, and it recovers when space returns.

mod common;

use common::{all_records, open, small_options};
use host::disk::{ENOSPC, FakeDisk, Fault};
use journal::AppendError;

#[test]
fn appends_go_on_in_what_was_set_aside_and_again_when_space_returns() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    journal.prepare_spare().unwrap();
    disk.set_capacity(disk.used_bytes() + 100);

    let mut written = 0;
    let refused = loop {
        match journal.append(&[&[5; 100]]) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    // The first segment takes 1,000 bytes, the spare 2,000, a record 124.
    assert_eq!(written, 8 + 16);
    assert!(matches!(&refused, AppendError::NoSegment(error) if error.is_full()), "{refused}");
    assert!(journal.prepare_spare().unwrap_err().is_full());
    assert!(journal.stopped().is_none());
    assert_eq!(journal.writable_bytes(), 2_000 - 16 * 124);
    assert_eq!(all_records(&journal).len(), written);

    disk.set_capacity(u64::MAX);
    assert!(journal.prepare_spare().unwrap());
    journal.append(&[&[5; 100]]).unwrap();
    let records = all_records(&journal);
    drop(journal);
    assert_eq!(all_records(&open(&disk).0), records);
}

#[test]
fn trimming_makes_room_on_a_full_disk() {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    while journal.segments().len() < 4 {
        journal.append(&[&[5; 300]]).unwrap();
    }
    disk.set_capacity(0);
    while journal.append(&[&[5; 300]]).is_ok() {}
    assert_eq!(journal.trim(journal.end()).unwrap().segments, 3);
    let record_bytes = 324;
    assert!(journal.writable_bytes() > small_options().spares_max as u64 * 1_900);
    for _ in 0..journal.writable_bytes() / record_bytes - 3 {
        journal.append(&[&[5; 300]]).unwrap();
    }
}

#[test]
fn a_spare_that_could_not_be_made_leaves_nothing_behind() {
    let probe = FakeDisk::default();
    let (journal, _) = open(&probe);
    let first = probe.counts().total();
    journal.prepare_spare().unwrap();
    let used = probe.used_bytes();
    for number in first..probe.counts().total() {
        let disk = FakeDisk::default();
        let (journal, _) = open(&disk);
        let before = disk.used_bytes();
        disk.fault(number, Fault::Fails(ENOSPC));
        assert!(journal.prepare_spare().unwrap_err().is_full());
        assert_eq!(disk.used_bytes(), before);
        assert!(journal.prepare_spare().unwrap());
        assert_eq!(disk.used_bytes(), used);
        journal.append(&[b"all is well"]).unwrap();
    }
}
