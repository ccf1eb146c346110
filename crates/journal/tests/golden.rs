//! Every released format keeps a file that must still open. `UPDATE_GOLDEN=1` writes those of the present format; a file
//! that was released is never changed, so a difference means: raise the version and add a file.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{all_records, dir};
use host::disk::FakeDisk;
use journal::{Content, Journal, Lsn, Options, PageStore, SnapshotStore, dump};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

/// Compares with the golden file, or writes it.
fn check(name: &str, bytes: &[u8]) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden(name), bytes).unwrap();
    }
    let expected = std::fs::read(golden(name)).unwrap();
    assert!(expected == bytes, "what is written now differs from {name}");
}

fn options() -> Options {
    Options {
        segment_bytes: 4_096 + 512,
        first_segment_bytes: 4_096 + 256,
        record_bytes_max: 256,
        identity: 0x0123_4567_89ab_cdef,
        ..Options::default()
    }
}

const SEGMENT: &str = "segment-1.log";
const SNAPSHOT: &str = "snapshot-1.snapshot";
const PAGE: &str = "page-1.page";

fn segment_path() -> PathBuf {
    dir().join("00000000000000004096.log")
}

fn shared(disk: &FakeDisk) -> Arc<FakeDisk> {
    Arc::new(disk.clone())
}

fn page_body() -> Vec<u8> {
    (0..20_000u32).map(|at| (at / 100) as u8).collect()
}

#[test]
fn what_is_written_now_is_what_was_released() {
    let disk = FakeDisk::default();
    let (journal, _) = Journal::open(shared(&disk), &dir(), options()).unwrap();
    journal.append(&[b"hello"]).unwrap();
    journal.append(&[]).unwrap();
    journal.append(&[&[7; 100]]).unwrap();
    check(SEGMENT, &disk.contents(&segment_path()).unwrap());

    SnapshotStore::open(shared(&disk), Path::new("/s")).unwrap().write(Lsn(4_125), b"the state").unwrap();
    check(SNAPSHOT, &disk.contents(Path::new("/s/00000000000000004125.snapshot")).unwrap());

    PageStore::open(shared(&disk), Path::new("/p")).unwrap().put(3, &page_body()).unwrap();
    check(PAGE, &disk.contents(Path::new("/p/00000000000000000003.page")).unwrap());
}

/// A disk with the golden files in their places.
fn golden_disk() -> FakeDisk {
    let disk = FakeDisk::default();
    disk.install(&segment_path(), &std::fs::read(golden(SEGMENT)).unwrap());
    disk.install(Path::new("/s/00000000000000004125.snapshot"), &std::fs::read(golden(SNAPSHOT)).unwrap());
    disk.install(Path::new("/p/00000000000000000003.page"), &std::fs::read(golden(PAGE)).unwrap());
    disk
}

#[test]
fn released_files_still_open() {
    let disk = golden_disk();
    let (journal, opened) = Journal::open(shared(&disk), &dir(), options()).unwrap();
    assert_eq!((opened.created, opened.torn), (false, None));
    let expected = [(Lsn(4_096), b"hello".to_vec()), (Lsn(4_125), Vec::new()), (Lsn(4_149), vec![7; 100])];
    assert_eq!(all_records(&journal), expected);
    assert_eq!(journal.append(&[b"and goes on"]).unwrap(), Lsn(4_273));

    let snapshot = SnapshotStore::open(shared(&disk), Path::new("/s")).unwrap().latest_valid().unwrap().unwrap();
    assert_eq!((snapshot.lsn, &snapshot.bytes[..]), (Lsn(4_125), &b"the state"[..]));
    let pages = PageStore::open(shared(&disk), Path::new("/p")).unwrap();
    assert_eq!(pages.list().unwrap(), [3]);
    assert_eq!(pages.read(3, 0, 20_000).unwrap(), page_body());
}

fn dumped(disk: &FakeDisk, path: &Path) -> String {
    let mut out = Vec::new();
    let describe = |content: Content, bytes: &[u8]| format!("{content:?} {}", bytes.len());
    dump(disk, path, &mut out, &describe).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_kind_of_file_can_be_printed() {
    let disk = golden_disk();
    let segment = "\
segment of journal 0123456789abcdef, base LSN 4096, 4352 bytes, the first
LSN 4096  byte 4096  5 bytes  Record(Lsn(4096)) 5
LSN 4125  byte 4125  0 bytes  Record(Lsn(4125)) 0
LSN 4149  byte 4149  100 bytes  Record(Lsn(4149)) 100
LSN 4273  byte 4273  end of the records
";
    assert_eq!(dumped(&disk, &segment_path()), segment);
    let snapshot = dumped(&disk, Path::new("/s/00000000000000004125.snapshot"));
    assert_eq!(snapshot, "snapshot as of LSN 4125, 9 bytes\nSnapshot(Lsn(4125)) 9\n");
    let page = dumped(&disk, Path::new("/p/00000000000000000003.page"));
    assert_eq!(page, "page 3, 20000 bytes\nPage(3) 20000\n");

    disk.install(Path::new("/j/1.spare"), &[0; 5_000]);
    assert!(dumped(&disk, Path::new("/j/1.spare")).starts_with("zeros"));

    // The second record's header is broken: the dump says so and goes on behind it.
    disk.flip_bit(&segment_path(), 4_130 * 8);
    let lines = dumped(&disk, &segment_path());
    let lines: Vec<&str> = lines.lines().collect();
    assert!(lines[2].contains("is damaged at byte 4125"), "{}", lines[2]);
    assert_eq!(lines[3], "LSN 4149  byte 4149  goes on");
    assert_eq!(lines[4], "LSN 4149  byte 4149  100 bytes  Record(Lsn(4149)) 100");
    assert_eq!(lines.len(), 5);
}
