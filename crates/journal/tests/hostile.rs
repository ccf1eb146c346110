//! Files from anywhere: any bytes are refused or read, and never bring the program down.

#[path = "../../../fuzz/checks/journal.rs"]
mod checks;
mod common;

use std::path::Path;
use std::sync::Arc;

use checks::data_file;
use common::{dir, open, small_options};
use host::disk::{Disk, FakeDisk};
use journal::{FileError, Journal, Lsn, PageStore, SnapshotStore};
use proptest::prelude::*;

/// A valid file of each kind.
fn valid_files() -> Vec<Vec<u8>> {
    let disk = FakeDisk::default();
    let (journal, _) = open(&disk);
    for number in 0..5u8 {
        journal.append(&[&[number; 120]]).unwrap();
    }
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    SnapshotStore::open(shared.clone(), Path::new("/s")).unwrap().write(Lsn(5_000), &[1; 500]).unwrap();
    PageStore::open(shared, Path::new("/p")).unwrap().put(12, &[2; 20_000]).unwrap();
    ["/data/journal/00000000000000004096.log", "/s/00000000000000005000.snapshot", "/p/00000000000000000012.page"]
        .map(|path| disk.contents(Path::new(path)).unwrap())
        .to_vec()
}

/// A valid file with some stretches overwritten, and perhaps cut off.
fn mangled() -> impl Strategy<Value = Vec<u8>> {
    let stretch = (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..40));
    let files = prop::sample::select(valid_files());
    (files, prop::collection::vec(stretch, 0..4), prop::option::of(any::<prop::sample::Index>())).prop_map(
        |(mut bytes, stretches, length)| {
            for (at, stretch) in stretches {
                let at = at.index(bytes.len());
                let end = bytes.len().min(at + stretch.len());
                bytes[at..end].copy_from_slice(&stretch[..end - at]);
            }
            if let Some(length) = length {
                bytes.truncate(length.index(bytes.len() + 1));
            }
            bytes
        },
    )
}

/// The flags of a record that was written when everything before it was safe, and of one that was not.
const SAFE: u32 = 0x5afe_a5a5;
const UNSAFE: u32 = 0xa501_5a5a;

/// The header of a record, with a check that holds.
fn record_header(identity: u64, lsn: u64, payload_bytes: u32, flags: u32) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[8..16].copy_from_slice(&lsn.to_le_bytes());
    bytes[16..20].copy_from_slice(&payload_bytes.to_le_bytes());
    bytes[20..24].copy_from_slice(&flags.to_le_bytes());
    let check = crc32c::crc32c_append(crc32c::crc32c(&identity.to_le_bytes()), &bytes[4..]);
    bytes[0..4].copy_from_slice(&check.to_le_bytes());
    bytes
}

/// Makes the check in a file's header hold again.
fn seal(bytes: &mut [u8], header_bytes: usize) {
    let check = crc32c::crc32c_append(crc32c::crc32c(&bytes[0..12]), &bytes[16..header_bytes]);
    bytes[12..16].copy_from_slice(&check.to_le_bytes());
}

/// Valid headers of files that promise anything, before random bytes.
fn lying_file_header() -> impl Strategy<Value = Vec<u8>> {
    let magic = prop::sample::select(vec![*b"PHSEGMNT", *b"PHSNAPSH", *b"PHPAGEBF"]);
    let number = prop_oneof![any::<u64>(), Just(0), Just(12), Just(4_096), Just(5_000), 0u64..10_000, Just(u64::MAX)];
    let numbers = prop::collection::vec(number, 4);
    (magic, numbers, prop::collection::vec(any::<u8>(), 0..6_000)).prop_map(|(magic, numbers, rest)| {
        let mut bytes = [&magic[..], &1u32.to_le_bytes(), &[0; 4]].concat();
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        let header_bytes = if magic == *b"PHSEGMNT" { 48 } else { 40 };
        bytes.resize(header_bytes, 0);
        seal(&mut bytes, header_bytes);
        bytes.extend(rest);
        bytes
    })
}

/// A segment with valid headers of records, in their places, that promise anything.
fn lying_record_headers() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![0u32..400, any::<u32>(), Just(0)];
    let flags = prop_oneof![Just(SAFE), Just(UNSAFE), any::<u32>()];
    let records = prop::collection::vec((0u64..1_000, length, flags), 1..12);
    (prop::sample::select(vec![4_097u64, 4_120, 4_500, 5_000]), records).prop_map(|(capacity, records)| {
        let mut bytes = [&b"PHSEGMNT"[..], &1u32.to_le_bytes(), &[0; 4]].concat();
        for number in [7, 4_096, 0, capacity] {
            bytes.extend(number.to_le_bytes());
        }
        seal(&mut bytes, 48);
        bytes.resize(capacity as usize, 0);
        for (place, length, flags) in records {
            let lsn = 4_096 + if place % 2 == 0 { 0 } else { place };
            let header = record_header(7, lsn, length, flags);
            if let Some(there) = bytes.get_mut(lsn as usize..lsn as usize + 24) {
                there.copy_from_slice(&header);
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..6_000)) {
        data_file(&bytes);
    }

    #[test]
    fn mangled_files(bytes in mangled()) {
        data_file(&bytes);
    }

    #[test]
    fn file_headers_that_lie(bytes in lying_file_header()) {
        data_file(&bytes);
    }

    #[test]
    fn record_headers_that_lie(bytes in lying_record_headers()) {
        data_file(&bytes);
    }
}

#[test]
fn a_segment_may_not_claim_more_than_its_file() {
    let mut bytes = valid_files().swap_remove(0);
    bytes[40..48].copy_from_slice(&(u64::MAX / 2).to_le_bytes());
    seal(&mut bytes, 48);
    let disk = FakeDisk::default();
    disk.install(&dir().join("00000000000000004096.log"), &bytes);
    let opened = Journal::open(Arc::new(disk), &dir(), small_options());
    assert!(matches!(opened.err(), Some(FileError::Corrupt(_))));
}

/// A client that knew where its message would lie could write a record into it, and if a power cut then took the real
/// record's header, that one would be found. But the client doesn't know the journal's identity.
#[test]
fn a_message_cannot_pass_for_a_record() {
    let identity = small_options().identity;
    for (guess, passes) in [(0, false), (identity + 1, false), (identity, true)] {
        let disk = FakeDisk::default();
        let (journal, _) = open(&disk);
        let forged = record_header(guess, Lsn::FIRST.0 + 24 + 100, 0, SAFE);
        let lsn = journal.append(&[&[1; 100], &forged]).unwrap();
        drop(journal);
        for byte in 0..24 {
            disk.flip_bit(&dir().join("00000000000000004096.log"), (lsn.0 as usize + byte) * 8);
        }
        let opened = Journal::open(Arc::new(disk.clone()), &dir(), small_options());
        match opened {
            Ok((_, opened)) => assert!(!passes && opened.end == lsn),
            Err(error) => assert!(passes, "{error}"),
        }
    }
}

/// What a fuzzer found worth keeping, and a file of each kind.
#[test]
fn the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/data_file");
    let inputs: Vec<_> = std::fs::read_dir(folder).expect("the corpus is committed").collect();
    assert!(inputs.len() >= 10, "the corpus has only {} inputs", inputs.len());
    for input in inputs {
        data_file(&std::fs::read(input.expect("an entry").path()).expect("a file"));
    }
}
