//! Files that changed since they were written, or are missing: noticed, and said where.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{dir, open, small_options};
use host::disk::{Disk, FakeDisk, Survivors};
use journal::{
    Corruption, FileError, Journal, Lsn, Opened, Options, PageStore, RECORD_HEADER_BYTES, ReplayError, SnapshotStore,
    cut,
};

type Records = Vec<(Lsn, Vec<u8>)>;

/// Opens and replays everything.
fn read_all(disk: &FakeDisk) -> Result<(Opened, Records), FileError> {
    let (journal, opened) = Journal::open(Arc::new(disk.clone()), &dir(), small_options())?;
    let mut records = Vec::new();
    let collect = &mut |lsn, payload: &[u8]| {
        records.push((lsn, payload.to_vec()));
        std::ops::ControlFlow::Continue(())
    };
    match journal.replay(opened.oldest, collect) {
        Ok(()) => Ok((opened, records)),
        Err(ReplayError::File(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

fn log(base: u64) -> PathBuf {
    dir().join(format!("{base:020}.log"))
}

/// A journal with two full segments and one begun.
fn three_segments() -> (FakeDisk, Vec<Lsn>) {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    for number in 0..11u8 {
        journal.append(&[&[number; 100], &[0; 200]]).unwrap();
    }
    let bases: Vec<Lsn> = journal.segments().iter().map(|segment| segment.base).collect();
    assert_eq!(bases.len(), 3);
    (disk, bases)
}

fn copy_of(disk: &FakeDisk) -> FakeDisk {
    disk.power_cut(&Survivors::Everything)
}

fn corruption<T>(result: Result<T, FileError>) -> Corruption {
    match result {
        Err(FileError::Corrupt(corruption)) => corruption,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the damage went unnoticed"),
    }
}

/// Harmless are exactly the bits that mean nothing: the unused rest of the header's page, and what lies behind the last
/// record of a segment. Each bit of a record is noticed, even of the very last one.
#[test]
fn every_flipped_bit_of_a_segment_is_noticed_or_harmless() {
    let (disk, bases) = three_segments();
    let (opened, records) = read_all(&disk).unwrap();
    for (place, base) in bases.iter().enumerate() {
        let end = bases.get(place + 1).unwrap_or(&opened.end).0 - base.0 + 4_096;
        let length = disk.contents(&log(base.0)).unwrap().len();
        // Every bit that means something, and a sample of the others.
        let meaningful = (0..48 * 8).chain(4_096 * 8..end as usize * 8);
        let meaningless = (48 * 8..4_096 * 8).chain(end as usize * 8..length * 8).step_by(67);
        for bit in meaningful {
            let disk = copy_of(&disk);
            disk.flip_bit(&log(base.0), bit);
            match read_all(&disk) {
                Err(FileError::Corrupt(corruption)) => {
                    assert_eq!(corruption.file, log(base.0), "bit {bit}: {corruption}");
                    let begins_before = corruption.byte <= bit as u64 / 8 || bit < 48 * 8;
                    assert!(begins_before && corruption.byte < end, "bit {bit}: {corruption}");
                }
                // A version that has a bit too many is from the future.
                Err(FileError::NewerVersion { .. }) => assert!((64..96).contains(&bit), "bit {bit}"),
                Err(error) => panic!("bit {bit}: {error}"),
                Ok(_) => panic!("bit {bit} of segment {base} went unnoticed"),
            }
        }
        for bit in meaningless {
            let disk = copy_of(&disk);
            disk.flip_bit(&log(base.0), bit);
            assert_eq!(read_all(&disk).unwrap(), (opened.clone(), records.clone()), "bit {bit}");
        }
    }
}

#[test]
fn every_flipped_bit_of_a_snapshot_or_page_is_noticed() {
    let disk = FakeDisk::default();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let (snapshots, pages) = (Path::new("/data/snapshots"), Path::new("/data/pages"));
    let body: Vec<u8> = (0..200).collect();
    SnapshotStore::open(shared.clone(), snapshots).unwrap().write(Lsn(5_000), &body).unwrap();
    PageStore::open(shared, pages).unwrap().put(12, &body).unwrap();
    let files = [snapshots.join("00000000000000005000.snapshot"), pages.join("00000000000000000012.page")];
    for file in &files {
        for bit in 0..disk.contents(file).unwrap().len() * 8 {
            let disk = copy_of(&disk);
            disk.flip_bit(file, bit);
            let shared: Arc<dyn Disk> = Arc::new(disk);
            let read = if file == &files[0] {
                SnapshotStore::open(shared, snapshots).unwrap().latest_valid().map(drop)
            } else {
                PageStore::open(shared, pages).unwrap().verify(12)
            };
            match read {
                Err(FileError::Corrupt(corruption)) => assert_eq!(&corruption.file, file),
                Err(FileError::NewerVersion { .. }) => assert!((64..96).contains(&bit)),
                other => panic!("bit {bit}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_page_is_checked_in_the_part_that_is_read() {
    let disk = FakeDisk::default();
    let pages = PageStore::open(Arc::new(disk.clone()), Path::new("/pages")).unwrap();
    let body: Vec<u8> = (0..100_000u32).map(|at| (at % 253) as u8).collect();
    pages.put(1, &body).unwrap();
    assert_eq!(pages.page_bytes(1).unwrap(), 100_000);
    for (offset, len) in [(0, 100_000), (0, 0), (100_000, 0), (16_383, 2), (16_384, 1), (99_999, 1), (30_000, 40_000)] {
        let read = pages.read(1, offset, len).unwrap();
        assert_eq!(read, body[offset as usize..][..len as usize]);
    }
    for (offset, len) in [(99_999, 2), (u64::MAX, 1), (0, u32::MAX)] {
        assert!(pages.read(1, offset, len).is_err());
    }
    disk.flip_bit(Path::new("/pages/00000000000000000001.page"), 50_000 * 8);
    assert!(pages.verify(1).is_err() && pages.read(1, 50_000, 1).is_err());
    assert_eq!(pages.read(1, 0, 32_768).unwrap(), body[..32_768]);
}

#[test]
fn an_older_snapshot_stands_in_for_a_damaged_one() {
    let disk = FakeDisk::default();
    let snapshots = SnapshotStore::open(Arc::new(disk.clone()), Path::new("/s")).unwrap();
    assert!(snapshots.latest_valid().unwrap().is_none());
    snapshots.write(Lsn(1), b"old").unwrap();
    snapshots.write(Lsn(2), b"new").unwrap();
    assert_eq!(snapshots.latest_valid().unwrap().unwrap().bytes, b"new");
    disk.flip_bit(Path::new("/s/00000000000000000002.snapshot"), 350);
    let found = snapshots.latest_valid().unwrap().unwrap();
    assert_eq!((found.lsn, &found.bytes[..], found.skipped.len()), (Lsn(1), &b"old"[..], 1));
    assert_eq!(snapshots.remove_before(Lsn(2)).unwrap(), 1);
    assert!(snapshots.latest_valid().is_err(), "none that is whole is left");
}

#[test]
fn damage_is_told_with_file_byte_expectation_and_remedy() {
    let (disk, bases) = three_segments();
    let second = bases[1];
    disk.flip_bit(&log(second.0), (4_096 + RECORD_HEADER_BYTES as usize) * 8);
    let message = corruption(read_all(&disk)).to_string();
    let file = log(second.0).display().to_string();
    let expected = format!(
        "`{file}` is damaged at byte 4096: expected the record with LSN {second}, found a payload that does not match its \
         checksum. Look at it with `posthouse journal dump {file}`. Then restore the data directory from a backup, or give up \
         this record and all later ones with `posthouse journal cut {file} 4096`."
    );
    assert_eq!(message, expected);

    let (disk, bases) = three_segments();
    let last = log(bases[2].0);
    disk.flip_bit(&last, (4_096 + 100) * 8 + 5);
    let found = corruption(read_all(&disk)).found;
    assert_eq!(found, "it with bit 5 of byte 4196 flipped");
}

#[test]
fn what_was_damaged_can_be_given_up() {
    let (disk, _) = three_segments();
    let (_, records) = read_all(&disk).unwrap();
    for (number, (lsn, _)) in records.iter().enumerate() {
        let disk = copy_of(&disk);
        let (_, bases) = three_segments();
        let base = bases.iter().rev().find(|base| *base <= lsn).unwrap();
        let byte = lsn.0 - base.0 + 4_096;
        disk.flip_bit(&log(base.0), byte as usize * 8);
        let damage = corruption(read_all(&disk));
        assert_eq!((&damage.file, damage.byte), (&log(base.0), byte));
        let given_up = cut(&disk, &damage.file, damage.byte).unwrap();
        assert_eq!(given_up.len(), bases.iter().filter(|later| *later > base).count());
        let (opened, left) = read_all(&disk).unwrap();
        assert_eq!((opened.end, &left[..]), (*lsn, &records[..number]));
    }
}

#[test]
fn missing_and_foreign_segments_are_noticed() {
    // The first one can't be missed here: it looks like a trimmed one. Whoever replays from it finds out.
    let (disk, bases) = three_segments();
    disk.remove(&log(bases[0].0)).unwrap();
    let (opened, _) = read_all(&disk).unwrap();
    assert_eq!(opened.oldest, bases[1]);

    let (disk, bases) = three_segments();
    disk.remove(&log(bases[1].0)).unwrap();
    let damage = corruption(read_all(&disk));
    assert_eq!(damage.file, log(bases[2].0));
    assert!(damage.found.contains(&format!("{:020}.log", bases[1].0)), "{damage}");

    let (disk, bases) = three_segments();
    disk.rename(&log(bases[2].0), &log(bases[2].0 + 1)).unwrap();
    assert_eq!(corruption(read_all(&disk)).byte, 24);

    let other = FakeDisk::default();
    let options = Options { identity: 7, ..small_options() };
    let (journal, _) = Journal::open(Arc::new(other.clone()), &dir(), options).unwrap();
    for number in 0..11u8 {
        journal.append(&[&[number; 300]]).unwrap();
    }
    let (disk, bases) = three_segments();
    disk.install(&log(bases[1].0), &other.contents(&log(bases[1].0)).unwrap());
    assert_eq!(corruption(read_all(&disk)).byte, 16);

    let (disk, bases) = three_segments();
    let bytes = disk.contents(&log(bases[1].0)).unwrap();
    disk.install(&log(bases[1].0), &bytes[..5_000]);
    assert_eq!(corruption(read_all(&disk)).byte, 5_000);

    let (disk, bases) = three_segments();
    disk.install(&dir().join("3.spare"), &vec![0; small_options().segment_bytes as usize]);
    for base in bases {
        disk.remove(&log(base.0)).unwrap();
    }
    assert!(corruption(read_all(&disk)).found.contains("none"));
}

#[test]
fn a_newer_format_is_not_taken_for_damage() {
    let (disk, bases) = three_segments();
    let mut bytes = disk.contents(&log(bases[2].0)).unwrap();
    bytes[8..12].copy_from_slice(&2u32.to_le_bytes());
    disk.install(&log(bases[2].0), &bytes);
    let message = read_all(&disk).unwrap_err().to_string();
    assert!(message.contains("was written by a newer version of this program: its format is 2"), "{message}");
}

/// More than one flipped bit in the last payload is what a torn write looks like: the record is given up, and reported.
#[test]
fn a_smashed_last_payload_is_cut_off_and_reported() {
    let (disk, bases) = three_segments();
    let (opened, records) = read_all(&disk).unwrap();
    let (last, _) = *records.last().as_ref().unwrap();
    let byte = last.0 - bases[2].0 + 4_096;
    for bit in [3, 700] {
        disk.flip_bit(&log(bases[2].0), (byte + RECORD_HEADER_BYTES) as usize * 8 + bit);
    }
    let (found, left) = read_all(&disk).unwrap();
    assert_eq!((found.end, &left[..]), (*last, &records[..records.len() - 1]));
    let torn = found.torn.unwrap();
    assert_eq!((torn.file, torn.byte, torn.bytes), (log(bases[2].0), byte, opened.end.0 - last.0));
}
