//! A data directory is checked as a whole, and what is wrong is named.

use super::*;
use crate::backlog::{bench, fill};
use engine::store::{LocalOptions, LocalStore, Store};
use engine::verify::{Report, verify};
use host::disk::{Disk, Survivors};
use std::path::{Path, PathBuf};

fn check(disk: &FakeDisk) -> Report {
    verify(Arc::new(disk.clone()), Path::new("/data"), &mut |_| {}).expect("it can be looked at")
}

/// Data with everything in it: pages, a snapshot, and entries after it.
async fn everything() -> Bench {
    let mut bench = bench();
    bench.options.snapshot_bytes = 4 << 10;
    let running = bench.start();
    create(&running.engine()).await;
    fill(&running, 0..120).await;
    crate::durability::until(|| !files(&bench.disk, "snapshots", ".snapshot").is_empty()).await;
    drop(running);
    bench.options.snapshot_bytes = 1 << 30;
    let running = bench.start();
    received(&running.engine()).await;
    drop(running);
    bench
}

fn files(disk: &FakeDisk, folder: &str, suffix: &str) -> Vec<PathBuf> {
    let folder = Path::new("/data").join(folder);
    let names = disk.list(&folder).unwrap_or_default();
    names.into_iter().filter(|name| name.ends_with(suffix)).map(|name| folder.join(name)).collect()
}

fn number_of(page: &Path) -> u64 {
    page.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

/// Pages with as many messages as are frozen together; those with payloads that were moved hold more.
fn two_frozen_pages(disk: &FakeDisk) -> (PathBuf, PathBuf) {
    let store = store(&copy(disk));
    let mut pages = files(disk, "pages", ".page");
    pages.retain(|page| shard::read_page(&store.read_whole_page(number_of(page)).unwrap()).unwrap().len() == 4);
    (pages.pop().unwrap(), pages.pop().unwrap())
}

fn copy(disk: &FakeDisk) -> FakeDisk {
    disk.power_cut(&Survivors::Everything)
}

fn store(disk: &FakeDisk) -> LocalStore {
    let options = LocalOptions { sync: Default::default(), segment_bytes: 256 << 10, identity: 0 };
    LocalStore::open(Arc::new(disk.clone()), Path::new("/data"), &options).expect("it opens").0
}

#[track_caller]
fn assert_finds(disk: &FakeDisk, expected: &[&str]) {
    let report = check(disk);
    for expected in expected {
        assert!(report.findings.iter().any(|finding| finding.contains(expected)), "{expected:?} in {report:#?}");
    }
}

#[tokio::test]
async fn sound_data_is_sound_and_stays_as_it_was() {
    let bench = everything().await;
    let report = check(&bench.disk);
    assert_eq!((&report.findings[..], report.findings_count), (&[][..], 0));
    let counts = report.counts;
    assert!(counts.segments > 0 && counts.records > 100 && counts.pages > 5, "{counts}");
    assert_eq!((counts.snapshots, counts.queues, counts.messages_in_memory + counts.messages_frozen), (1, 1, 120));

    // It is checked as it is, not as a start would leave it.
    let pages = files(&bench.disk, "pages", "").len();
    bench.disk.install(Path::new("/data/pages/00000000000000000099.page.tmp"), b"half a page");
    store(&copy(&bench.disk));
    check(&bench.disk);
    assert_eq!(files(&bench.disk, "pages", "").len(), pages + 1);
}

#[tokio::test]
async fn a_server_at_work_is_left_alone() {
    let bench = bench();
    let running = bench.start();
    let refused = verify(Arc::new(bench.disk.clone()), Path::new("/data"), &mut |_| {});
    let refused = refused.expect_err("it is in use");
    assert!(refused.contains("`/data` is in use by"), "{refused}");
    drop(running);
    assert_eq!(check(&bench.disk).findings_count, 0);

    let empty = FakeDisk::new(1 << 20);
    empty.create_dir_all(Path::new("/data")).unwrap();
    let refused = verify(Arc::new(empty), Path::new("/data"), &mut |_| {}).expect_err("nothing is there");
    assert!(refused.contains("holds no journal"), "{refused}");
}

/// One bit, anywhere in a snapshot or a page that is needed, and a file is named.
#[tokio::test]
async fn flipped_bits_are_named() {
    let bench = everything().await;
    let snapshots = files(&bench.disk, "snapshots", ".snapshot");
    let pages = files(&bench.disk, "pages", ".page");
    for file in snapshots.iter().chain(pages.iter().take(3)) {
        for bit in (0..bench.disk.contents(file).unwrap().len() * 8).step_by(97) {
            let disk = copy(&bench.disk);
            disk.flip_bit(file, bit);
            assert_finds(&disk, &[&format!("`{}`", file.display())]);
        }
    }
    let log = files(&bench.disk, "journal", ".log").pop().unwrap();
    for byte in [3, 20, 4_096 + 9] {
        let disk = copy(&bench.disk);
        disk.flip_bit(&log, byte * 8);
        assert_finds(&disk, &[&format!("`{}`", log.display())]);
    }
}

#[tokio::test]
async fn missing_and_exchanged_pages_are_named() {
    let bench = everything().await;
    let (other, page) = two_frozen_pages(&bench.disk);
    let number = number_of(&page);
    let named = format!("`{}`", page.display());

    let disk = copy(&bench.disk);
    disk.remove(&page).unwrap();
    assert_finds(&disk, &[&format!("{named} is missing: expected 4 messages")]);

    let other = store(&bench.disk).read_whole_page(number_of(&other)).unwrap();
    let disk = copy(&bench.disk);
    store(&disk).put_page(number, &other).unwrap();
    assert_finds(&disk, &[&format!("{named}: expected 4 messages, "), "of queue q, found 4 messages, "]);

    // One that nobody needs does no harm, whole or damaged.
    let disk = copy(&bench.disk);
    store(&disk).put_page(99, &other).unwrap();
    let orphan = Path::new("/data/pages/00000000000000000099.page");
    for _ in 0..2 {
        let report = check(&disk);
        assert_eq!(report.findings_count, 0);
        assert!(report.notes.iter().any(|note| note.contains(&orphan.display().to_string())), "{report:#?}");
        disk.flip_bit(orphan, 500);
    }
}

#[tokio::test]
async fn entries_that_do_not_fit_the_state_are_named() {
    let bench = everything().await;
    let store = store(&bench.disk);
    let (log, end) = (files(&bench.disk, "journal", ".log").pop().unwrap(), store.end());
    let mut entry = shard::Entry {
        at: model::Timestamp(2_000_000),
        changes: vec![shard::Change::QueueDeleted { queue: model::QueueId(77) }],
    };
    let mut bytes = Vec::new();
    entry.encode(&mut bytes, end);
    store.append(&bytes).unwrap();
    drop(store);
    assert_finds(
        &bench.disk,
        &[
            &format!("`{}` byte ", log.display()),
            &format!("the record with LSN {end} does not fit the state before it: a queue that is deleted exists"),
        ],
    );
}

/// What a newer version wrote is not called damaged, neither here nor by a server.
#[tokio::test]
async fn newer_formats_say_so() {
    let bench = everything().await;
    type Write = fn(&LocalStore);
    let cases: [(&str, Write); 2] = [
        ("snapshot format 2; this one reads up to 1", |store| {
            let (lsn, mut bytes) = store.latest_snapshot().unwrap().unwrap();
            bytes[0] = 2;
            store.write_snapshot(lsn, &bytes).unwrap();
        }),
        ("kind of change 200; this one reads up to ", |store| {
            store.append(&[1, 1, 200]).unwrap();
        }),
    ];
    for (expected, write) in cases {
        let disk = copy(&bench.disk);
        write(&store(&disk));
        let expected = format!("written by a newer version of Posthouse ({expected}");
        assert_finds(&disk, &[&expected]);
        let refused = engine::start(bench.on(disk).options).err().expect("it can't be read").to_string();
        assert!(refused.contains(&expected), "{refused}");
        assert!(!refused.contains("damaged") && !refused.contains("malformed"), "{refused}");
    }

    let page = files(&bench.disk, "pages", ".page").pop().unwrap();
    let number = number_of(&page);
    let store = store(&bench.disk);
    let mut bytes = store.read_whole_page(number).unwrap().to_vec();
    bytes[0] = 7;
    store.put_page(number, &bytes).unwrap();
    drop(store);
    assert_finds(&bench.disk, &["written by a newer version of Posthouse (page format 7; this one reads up to 1)"]);
}
