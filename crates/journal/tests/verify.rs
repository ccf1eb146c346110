//! A journal is looked through as a whole, without being touched.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::{all_records, dir, open, small_options};
use host::disk::{Disk, FakeDisk, Survivors};
use journal::{FileError, Found, Journal, Lsn, Options, VerifiedSegment, verify};

fn log(base: Lsn) -> PathBuf {
    dir().join(format!("{:020}.log", base.0))
}

/// A journal of three segments, and the LSNs of its records.
fn three_segments() -> (FakeDisk, Vec<Lsn>) {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    let lsns = (0..11u8).map(|number| journal.append(&[&[number; 100], &[1; 200]]).unwrap()).collect();
    assert_eq!(journal.segments().len(), 3);
    (disk, lsns)
}

#[derive(Default, Debug)]
struct Verdict {
    segments: Vec<VerifiedSegment>,
    wrong: Vec<FileError>,
    torn: usize,
    leftovers: usize,
}

impl Verdict {
    fn records(&self) -> u64 {
        self.segments.iter().map(|segment| segment.records).sum()
    }
}

/// Verifies, and makes sure that no byte has changed.
fn verdict(disk: &FakeDisk) -> Verdict {
    let mut verdict = Verdict::default();
    let contents = || -> Vec<_> {
        let names = disk.list(&dir()).unwrap();
        names.into_iter().map(|name| (disk.contents(&dir().join(&name)), name)).collect()
    };
    let before = contents();
    let each = &mut |found| match found {
        Found::Segment(segment) => verdict.segments.push(segment),
        Found::Wrong(error) => verdict.wrong.push(error),
        Found::Torn(_) => verdict.torn += 1,
        Found::Leftover(_) => verdict.leftovers += 1,
    };
    verify(disk, &dir(), each).unwrap();
    assert!(contents() == before, "it only looks");
    verdict
}

#[test]
fn a_sound_journal_is_read_to_its_end() {
    let (disk, lsns) = three_segments();
    let verdict = verdict(&disk);
    assert!(verdict.wrong.is_empty(), "{verdict:?}");
    assert_eq!((verdict.torn, verdict.leftovers, verdict.records()), (0, 0, lsns.len() as u64));
    let (journal, opened) = open(&disk);
    let expected: Vec<_> = journal.segments().iter().map(|segment| (segment.base, segment.end)).collect();
    let found: Vec<_> = verdict.segments.iter().map(|segment| (segment.base, segment.end)).collect();
    assert_eq!((found, expected.last().unwrap().1), (expected.clone(), opened.end));
}

/// Whichever record is damaged, it is named, and all others are read.
#[test]
fn damage_is_named_and_the_rest_is_read() {
    let (whole, lsns) = three_segments();
    let segments = open(&whole).0.segments();
    for lsn in &lsns {
        let base = segments.iter().rev().map(|segment| segment.base).find(|base| base <= lsn).unwrap();
        let byte = lsn.0 - base.0 + 4_096;
        // In its header, and in its payload.
        for inside in [9, 100] {
            let disk = whole.power_cut(&Survivors::Everything);
            disk.flip_bit(&log(base), (byte as usize + inside) * 8);
            let verdict = verdict(&disk);
            match &verdict.wrong[..] {
                [FileError::Corrupt(damage)] => assert_eq!((&damage.file, damage.byte), (&log(base), byte)),
                other => panic!("record {lsn}: {other:?}"),
            }
            let is_in_last = base == segments[2].base;
            assert!(is_in_last || verdict.records() == lsns.len() as u64 - 1, "record {lsn}: {verdict:?}");
        }
    }
}

#[test]
fn what_is_missing_or_left_over_is_named() {
    let (disk, _) = three_segments();
    let segments = open(&disk).0.segments();
    disk.install(&dir().join("9.spare.tmp"), b"half");
    disk.install(&dir().join("00000000000000099999.log.given-up"), b"x");
    assert_eq!(verdict(&disk).leftovers, 2);

    let gone = disk.power_cut(&Survivors::Everything);
    gone.remove(&log(segments[1].base)).unwrap();
    let wrong = verdict(&gone).wrong;
    assert!(wrong.iter().any(|error| error.to_string().contains("is missing")), "{wrong:?}");

    let newer = disk.power_cut(&Survivors::Everything);
    newer.flip_bit(&log(segments[0].base), 8 * 8 + 1);
    let verdict = verdict(&newer);
    assert!(matches!(verdict.wrong[..], [FileError::NewerVersion { found: 3, known: 1, .. }]), "{verdict:?}");
    assert_eq!(verdict.segments.len(), 2, "the others are read");
}

/// A copy is a journal that begins where the oldest kept record of the other one lies: its records keep their LSNs.
#[test]
fn a_new_journal_may_begin_anywhere() {
    let (disk, lsns) = three_segments();
    let (journal, _) = open(&disk);
    journal.trim(lsns[6]).unwrap();
    let records = all_records(&journal);
    assert!(records[0].0 > Lsn::FIRST);

    let options =
        || Options { begins_at: journal.oldest(), identity: 1, first_segment_bytes: 5_500, ..small_options() };
    let copy = FakeDisk::default();
    let (copied, opened) = Journal::open(Arc::new(copy.clone()), &dir(), options()).unwrap();
    assert_eq!((opened.created, opened.oldest, opened.end), (true, records[0].0, records[0].0));
    for (lsn, payload) in &records {
        assert_eq!(copied.append(&[payload]).unwrap(), *lsn);
    }
    drop(copied);
    let (copied, _) = Journal::open(Arc::new(copy), &dir(), small_options()).unwrap();
    assert_eq!(all_records(&copied), records);
}
