//! A copy that is made while messages come and go, and a server that starts on it.

use super::*;
use crate::backlog::{bench, drain, fill, numbers};
use engine::backup::{Target, backup_stopped};
use engine::verify::verify;
use host::disk::{Disk, RealDisk};
use std::path::Path;
use tempfile::TempDir;

/// A place on the real disk, since only that one renames directories.
fn real_bench(home: &TempDir) -> Bench {
    let mut bench = bench();
    bench.options.disk = Arc::new(RealDisk);
    bench.options.data = home.path().join("data");
    bench.options.snapshot_bytes = 8 << 10;
    bench
}

fn target(home: &TempDir) -> Target {
    Target { disk: Arc::new(RealDisk), dir: home.path().join("copy"), segment_bytes: 512 << 10, identity: 99 }
}

/// Starts on the copy, which must be sound.
fn restored(bench: &Bench, copy: &Path) -> Running {
    let report = verify(Arc::new(RealDisk), copy, &mut |_| {}).expect("it can be looked at");
    assert_eq!(report.findings, [""; 0]);
    engine::start(Options { data: copy.into(), ..bench.options.clone() }).expect("a copy opens like any data")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_holds_all_that_was_acknowledged_before_it_began() {
    let home = TempDir::new().unwrap();
    let bench = real_bench(&home);
    let running = bench.start();
    let engine = running.engine();
    create(&engine).await;
    fill(&running, 0..200).await;

    // Messages go on arriving while it is made.
    let (to, copying) = (target(&home), engine.clone());
    let copied = tokio::task::spawn_blocking(move || copying.backup(&to));
    let mut sent = 200;
    while !copied.is_finished() || sent < 220 {
        send(&engine, &format!("{sent:04}")).await.unwrap();
        sent += 1;
    }
    let copied = copied.await.unwrap().expect("there is room for it");
    assert!(copied.records > 0 && copied.pages > 10, "{copied:?}");
    assert_eq!(drain(&engine).await, numbers(0..sent), "nobody noticed");

    let restored = restored(&bench, &home.path().join("copy"));
    let found = drain(&restored.engine()).await;
    assert!((200..=sent).contains(&found.len()), "{} of {sent}", found.len());
    assert_eq!(found, numbers(0..found.len()), "up to one moment, and nothing after it");
    // It goes on by itself.
    send(&restored.engine(), "new").await.unwrap();
    assert_eq!(received(&restored.engine()).await, ["new"]);
}

#[tokio::test]
async fn a_directory_at_rest_can_be_copied() {
    let home = TempDir::new().unwrap();
    let bench = real_bench(&home);
    let running = bench.start();
    create(&running.engine()).await;
    fill(&running, 0..100).await;
    let copy = || backup_stopped(Arc::new(RealDisk), &bench.options.data, &target(&home));
    let refused = copy().expect_err("a server runs on it");
    assert!(refused.contains("is in use by process"), "{refused}");
    drop(running);

    copy().expect("it is at rest");
    assert_eq!(drain(&restored(&bench, &home.path().join("copy")).engine()).await, numbers(0..100));
    assert_eq!(drain(&bench.start().engine()).await, numbers(0..100), "the original is as it was");
}

#[tokio::test]
async fn what_is_in_the_way_is_named_and_kept() {
    let home = TempDir::new().unwrap();
    let bench = real_bench(&home);
    let running = bench.start();
    let engine = running.engine();
    let (to, unfinished) = (home.path().join("copy"), home.path().join("copy.unfinished"));
    std::fs::create_dir(&to).unwrap();
    std::fs::write(to.join("mine"), "keep").unwrap();
    let refused = engine.backup(&target(&home)).expect_err("something is there");
    assert!(refused.contains("is not empty"), "{refused}");
    std::fs::remove_file(to.join("mine")).unwrap();
    std::fs::create_dir(&unfinished).unwrap();
    let refused = engine.backup(&target(&home)).expect_err("something is there");
    assert!(refused.contains("copy.unfinished` is left of a backup"), "{refused}");
    std::fs::remove_dir(&unfinished).unwrap();
    engine.backup(&target(&home)).expect("an empty directory is as good as none");

    let in_memory = Bench::new(Durability::Memory).start();
    let refused = in_memory.engine().backup(&target(&home)).expect_err("nothing is on disk");
    assert!(refused.contains("in memory only"), "{refused}");
}

/// Damage is not handed on: the copy isn't made, and the file is named.
#[tokio::test]
async fn a_damaged_file_ends_the_backup() {
    let home = TempDir::new().unwrap();
    let bench = real_bench(&home);
    let running = bench.start();
    create(&running.engine()).await;
    fill(&running, 0..100).await;
    drop(running);
    let pages = bench.options.data.join("pages");
    let page = pages.join(RealDisk.list(&pages).unwrap().pop().unwrap());
    let mut bytes = std::fs::read(&page).unwrap();
    bytes[60] ^= 1;
    std::fs::write(&page, bytes).unwrap();
    let refused = backup_stopped(Arc::new(RealDisk), &bench.options.data, &target(&home)).expect_err("it is damaged");
    assert!(refused.contains(&format!("`{}` is damaged", page.display())), "{refused}");
    assert!(!home.path().join("copy").exists());
}
