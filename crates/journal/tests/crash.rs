//! For every input and output of a run: fail it, tear it, or cut the power there. Whatever was acknowledged is there
//! afterwards, and nothing else is there in part.
//!
//! ```text
//!   run the script with one fault ─▶ cut the power; what survives: nothing, everything, each choice, seeds
//!                                         ─▶ open ─▶ check ─▶ open ─▶ same ─▶ go on ─▶ cut ─▶ open ─▶ check
//! ```

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{all_records, dir, small_options};
use host::disk::{Disk, EIO, ENOSPC, FakeDisk, Fault, Survivors, every_choice};
use journal::{
    AppendError, FileError, Journal, Lsn, Opened, Options, PageStore, RECORD_HEADER_BYTES, SnapshotStore, SyncMode,
};

/// What a run did, seen by its caller.
#[derive(Default)]
struct Ledger {
    /// Acknowledged, in order.
    records: Vec<(Lsn, Vec<u8>)>,
    /// Begun when the journal stopped; may be there, whole.
    in_doubt: Option<Vec<u8>>,
    /// What lies before this may have been trimmed.
    trimmed_before: Lsn,
    /// The newest acknowledged snapshot.
    snapshot: Option<Lsn>,
    /// Acknowledged pages that nobody has begun to remove.
    pages: BTreeSet<u64>,
    /// Whether the script came to its end without an error.
    finished: bool,
}

fn payload(number: usize) -> Vec<u8> {
    let length = [1_500, 0, 40, 700, 11, 488, 300][number % 7];
    (0..length).map(|at| (number * 31 + at) as u8).collect()
}

fn page(number: u64) -> Vec<u8> {
    (0..1_000 + number * 400).map(|at| (number * 17 + at) as u8).collect()
}

fn snapshot(lsn: Lsn) -> Vec<u8> {
    (0..600).map(|at| (lsn.0 + at) as u8).collect()
}

fn options(sync: SyncMode) -> Options {
    Options { sync, ..small_options() }
}

fn snapshots_dir() -> PathBuf {
    Path::new("/data/snapshots").to_path_buf()
}

fn pages_dir() -> PathBuf {
    Path::new("/data/pages").to_path_buf()
}

fn open(disk: &FakeDisk, sync: SyncMode) -> Result<(Journal, Opened), FileError> {
    Journal::open(Arc::new(disk.clone()), &dir(), options(sync))
}

/// Appends records over several segments, with spares, snapshots, trims and pages between them. Goes on after errors that
/// leave the journal running.
fn run_script(disk: &FakeDisk, sync: SyncMode) -> Ledger {
    let mut ledger = Ledger { finished: true, ..Ledger::default() };
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let Ok((journal, _)) = open(disk, sync) else { return Ledger::default() };
    let Ok(snapshots) = SnapshotStore::open(shared.clone(), &snapshots_dir()) else { return Ledger::default() };
    let Ok(pages) = PageStore::open(shared, &pages_dir()) else { return Ledger::default() };
    for number in 0..21 {
        let bytes = payload(number);
        let (front, back) = bytes.split_at(bytes.len() / 2);
        match journal.append(&[front, back]) {
            Ok(lsn) => ledger.records.push((lsn, bytes)),
            Err(AppendError::Stopped(_)) => {
                ledger.finished = false;
                ledger.in_doubt.get_or_insert(bytes);
            }
            Err(AppendError::NoSegment(_)) => ledger.finished = false,
            Err(error) => panic!("{error}"),
        }
        if number % 4 == 1 {
            ledger.finished &= journal.prepare_spare().is_ok();
        }
        if number % 3 == 2 {
            let page_number = number as u64;
            match pages.put(page_number, &page(page_number)) {
                Ok(()) => drop(ledger.pages.insert(page_number)),
                Err(_) => ledger.finished = false,
            }
        }
        if number == 7 {
            ledger.pages.remove(&2);
            ledger.finished &= pages.remove(2).is_ok();
        }
        if number % 5 == 4 && journal.sync().is_ok() {
            let lsn = journal.end();
            match snapshots.write(lsn, &snapshot(lsn)) {
                Ok(()) => {
                    ledger.snapshot = Some(lsn);
                    ledger.finished &= snapshots.remove_before(lsn).is_ok();
                    ledger.trimmed_before = lsn;
                    ledger.finished &= journal.trim(lsn).is_ok();
                }
                Err(_) => ledger.finished = false,
            }
        }
    }
    ledger
}

/// Opens what is left, compares it with what was acknowledged, goes on, and comes back once more.
fn check(disk: &FakeDisk, ledger: &Ledger, sync: SyncMode) {
    let (journal, opened) = open(disk, sync).unwrap_or_else(|error| panic!("{error}"));
    let mut records = all_records(&journal);
    let oldest = opened.oldest;
    assert!(oldest <= ledger.trimmed_before.max(Lsn::FIRST), "more was trimmed than asked for");
    let mut expected: Vec<_> = ledger.records.iter().filter(|(lsn, _)| *lsn >= oldest).cloned().collect();
    if sync == SyncMode::Os {
        // The end may be lost, but not from before the last snapshot.
        let kept = expected.iter().take_while(|(lsn, _)| *lsn < opened.end).count();
        expected.truncate(kept);
        assert!(ledger.snapshot.unwrap_or_default() <= opened.end);
    }
    if let (Some(in_doubt), true) = (&ledger.in_doubt, records.len() == expected.len() + 1) {
        assert_eq!(&records.last().unwrap().1, in_doubt, "something that was never appended turned up");
        expected.push(records.last().unwrap().clone());
    }
    assert_eq!(records, expected);

    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let snapshots = SnapshotStore::open(shared.clone(), &snapshots_dir()).unwrap();
    let found = snapshots.latest_valid().unwrap();
    if let Some(found) = &found {
        assert_eq!(found.bytes, snapshot(found.lsn));
        assert!(found.skipped.is_empty());
    }
    assert!(ledger.snapshot <= found.map(|found| found.lsn), "an acknowledged snapshot is gone");
    let pages = PageStore::open(shared, &pages_dir()).unwrap();
    let listed = pages.list().unwrap();
    assert!(ledger.pages.iter().all(|page| listed.contains(page)), "an acknowledged page is gone");
    for number in listed {
        let expected = page(number);
        assert_eq!(pages.read(number, 0, expected.len() as u32).unwrap(), expected);
    }

    let segments = journal.segments();
    drop(journal);
    let (journal, again) = open(disk, sync).unwrap();
    assert_eq!(
        (again.oldest, again.end, again.torn),
        (opened.oldest, opened.end, None),
        "opened twice, found two things"
    );
    assert_eq!(journal.segments(), segments);

    // What was found once is safe from then on, and the journal goes on from it.
    for number in 20..24 {
        let bytes = payload(number);
        records.push((journal.append(&[&bytes]).unwrap(), bytes));
    }
    journal.sync().unwrap();
    drop(journal);
    let (journal, _) = open(&disk.power_cut(&Survivors::Nothing), sync).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(all_records(&journal), records);
}

/// What to try at a power cut: everything if that is little, a sample otherwise.
fn survivors(disk: &FakeDisk, seed: u64) -> Vec<Survivors> {
    let mut all = vec![Survivors::Nothing, Survivors::Everything];
    let unsynced = disk.unsynced();
    let choices = unsynced.iter().try_fold(1usize, |product, steps| product.checked_mul(steps + 1));
    match choices {
        Some(choices) if choices <= 32 => all.extend(every_choice(&unsynced).map(Survivors::Chosen)),
        _ => all.extend((0..8).map(|sample| Survivors::Seeded(seed * 8 + sample))),
    }
    all
}

/// How many inputs and outputs the script does when nothing goes wrong.
fn script_length(sync: SyncMode) -> u64 {
    let disk = FakeDisk::default();
    let ledger = run_script(&disk, sync);
    assert!(ledger.finished);
    assert!(ledger.records.len() == 21 && ledger.pages.len() == 6 && ledger.snapshot.is_some());
    assert!(ledger.trimmed_before > Lsn(10_000), "the script rolls over several segments");
    disk.counts().total()
}

#[test]
fn a_power_cut_at_any_point_loses_nothing_acknowledged() {
    for number in 0..script_length(SyncMode::Fsync) {
        let disk = FakeDisk::default();
        disk.fault(number, Fault::PowerCut);
        let ledger = run_script(&disk, SyncMode::Fsync);
        for survivors in survivors(&disk, number) {
            check(&disk.power_cut(&survivors), &ledger, SyncMode::Fsync);
        }
    }
}

#[test]
fn a_failure_at_any_point_loses_nothing_acknowledged() {
    for number in 0..script_length(SyncMode::Fsync) {
        for fault in [Fault::Fails(EIO), Fault::Fails(ENOSPC), Fault::Torn] {
            let disk = FakeDisk::default();
            disk.fault(number, fault);
            let ledger = run_script(&disk, SyncMode::Fsync);
            for survivors in survivors(&disk, number) {
                check(&disk.power_cut(&survivors), &ledger, SyncMode::Fsync);
            }
            // The program alone starts again.
            check(&disk, &ledger, SyncMode::Fsync);
        }
    }
}

#[test]
fn without_syncs_a_power_cut_loses_only_the_end() {
    for number in 0..script_length(SyncMode::Os) {
        let disk = FakeDisk::default();
        disk.fault(number, Fault::PowerCut);
        let ledger = run_script(&disk, SyncMode::Os);
        for survivors in survivors(&disk, number) {
            check(&disk.power_cut(&survivors), &ledger, SyncMode::Os);
        }
    }
}

#[test]
fn a_power_cut_while_opening_changes_nothing() {
    // A torn record at the end, a spare half-made, a snapshot and a page half-written.
    let broken = || {
        let disk = FakeDisk::default();
        let (journal, _) = open(&disk, SyncMode::Fsync).unwrap();
        let mut ledger = Ledger::default();
        for number in [2, 4] {
            ledger.records.push((journal.append(&[&payload(number)]).unwrap(), payload(number)));
        }
        disk.install(&dir().join("9.spare.tmp"), b"half");
        disk.install(&snapshots_dir().join("00000000000000005000.snapshot.tmp"), b"half");
        disk.install(&pages_dir().join("00000000000000000007.page.tmp"), b"half");
        disk.fault(disk.counts().total() + 1, Fault::PowerCut);
        assert!(journal.append(&[&payload(3), &payload(2)]).is_err());
        ledger.in_doubt = Some([payload(3), payload(2)].concat());
        (disk.power_cut(&Survivors::Chosen(torn_in_the_middle(&disk))), ledger)
    };
    let (disk, ledger) = broken();
    let (_, opened) = open(&disk, SyncMode::Fsync).unwrap();
    assert!(opened.torn.is_some());
    for number in 0..disk.counts().total() {
        let (disk, _) = broken();
        disk.fault(number, Fault::PowerCut);
        assert!(open(&disk, SyncMode::Fsync).is_err());
        for survivors in survivors(&disk, number) {
            check(&disk.power_cut(&survivors), &ledger, SyncMode::Fsync);
        }
    }
}

/// The first unsynced sector survives, the others don't.
fn torn_in_the_middle(disk: &FakeDisk) -> Vec<usize> {
    let mut chosen = vec![0; disk.unsynced().len()];
    let first = disk.unsynced().iter().position(|steps| *steps > 0).expect("something was written");
    chosen[first] = 1;
    chosen
}

#[test]
fn after_a_failed_write_or_sync_the_journal_stops_and_says_why() {
    for io in [0, 1] {
        let disk = FakeDisk::default();
        let (journal, _) = open(&disk, SyncMode::Fsync).unwrap();
        journal.append(&[b"safe"]).unwrap();
        disk.fault(disk.counts().total() + io, Fault::Fails(EIO));
        let first = journal.append(&[b"lost"]).unwrap_err().to_string();
        assert!(first.contains("00000000000000004096.log") && first.contains("os error 5"), "{first}");
        let asked = disk.counts();
        assert_eq!(journal.append(&[b"more"]).unwrap_err().to_string(), first);
        assert_eq!(journal.trim(journal.end()).unwrap(), Default::default(), "there is nothing to trim");
        assert_eq!(disk.counts(), asked, "a stopped journal leaves the disk alone");
        assert!(first.ends_with(&journal.stopped().unwrap().to_string()));
    }
}

#[test]
fn every_step_of_a_torn_record_is_cut_off_or_whole() {
    // A record that fills three sectors: 8 ways to survive, 7 of them torn.
    let disk = FakeDisk::default();
    let roomy = Options { first_segment_bytes: 8_192, ..small_options() };
    let (journal, _) = Journal::open(Arc::new(disk.clone()), &dir(), roomy).unwrap();
    journal.append(&[&[1; 512 - RECORD_HEADER_BYTES as usize]]).unwrap();
    let (end, before) = (journal.end(), all_records(&journal));
    let whole: Vec<u8> = (0..1_400u32).map(|at| (at % 251) as u8).collect();
    disk.fault(disk.counts().total() + 1, Fault::PowerCut);
    assert!(journal.append(&[&whole]).is_err());
    let mut outcomes = BTreeMap::new();
    for chosen in every_choice(&disk.unsynced()) {
        let found = open(&disk.power_cut(&Survivors::Chosen(chosen)), SyncMode::Fsync).unwrap();
        let records = all_records(&found.0);
        if records.len() == before.len() {
            assert_eq!(found.1.end, end);
            *outcomes.entry("cut off").or_insert(0) += 1;
        } else {
            assert_eq!(records.last().unwrap().1, whole);
            *outcomes.entry("whole").or_insert(0) += 1;
        }
    }
    assert_eq!(outcomes, BTreeMap::from([("cut off", 7), ("whole", 1)]));
}

/// What a lost sector leaves can differ in a single bit from what was written. That must not be taken for damage.
#[test]
fn a_torn_record_is_not_taken_for_a_damaged_one_wherever_a_sector_ends() {
    let roomy = || Options { first_segment_bytes: 8_192, ..small_options() };
    let open = |disk: &FakeDisk| Journal::open(Arc::new(disk.clone()), &dir(), roomy()).unwrap();
    let log = dir().join("00000000000000004096.log");
    // In a recycled segment anything may have been there before; this differs in one bit from a header's last byte.
    for before in [0, 0x5b] {
        // The last record begins anywhere in a sector, and its payload is as sparse as can be.
        for (filler, payload) in
            (0..512).flat_map(|filler| [(filler, &[0, 0, 0, 0, 1][..]), (filler, &[1]), (filler, &[])])
        {
            let disk = FakeDisk::default();
            drop(open(&disk));
            let mut bytes = disk.contents(&log).unwrap();
            bytes[4_096..].fill(before);
            disk.install(&log, &bytes);
            let (journal, _) = open(&disk);
            let first = journal.append(&[&vec![0; filler]]).unwrap();
            let end = journal.end();
            disk.fault(disk.counts().total() + 1, Fault::PowerCut);
            assert!(journal.append(&[payload]).is_err());
            for chosen in every_choice(&disk.unsynced()) {
                let (journal, opened) = open(&disk.power_cut(&Survivors::Chosen(chosen)));
                let whole = Lsn(end.0 + RECORD_HEADER_BYTES + payload.len() as u64);
                assert!([end, whole].contains(&opened.end));
                assert_eq!(all_records(&journal)[0], (first, vec![0; filler]));
            }
        }
    }
}
