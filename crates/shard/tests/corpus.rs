//! Runs what the fuzz targets check over the committed corpus, and over what becomes of it when bytes change.

#[path = "../../../fuzz/checks/shard.rs"]
mod checks;

use std::fs;
use std::path::{Path, PathBuf};

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

fn check(target: &str, run: fn(&[u8])) {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(corpus(target)).expect("the corpus is committed") {
        inputs.push(fs::read(entry.expect("an entry").path()).expect("a file"));
    }
    assert!(inputs.len() >= 5, "the corpus of {target} has only {} inputs", inputs.len());
    for input in inputs {
        run(&input);
        // Every cut, and every byte of the first stretch replaced by those that mean something: none, one, many, most.
        (0..input.len().min(600)).for_each(|end| run(&input[..end]));
        for at in 0..input.len().min(600) {
            for byte in [0, 1, 2, 0x7f, 0x80, 0xff] {
                let mut changed = input.clone();
                changed[at] = byte;
                run(&changed);
            }
        }
    }
}

#[test]
fn entries() {
    check("entries", checks::entries);
}

#[test]
fn snapshots() {
    check("snapshot", checks::snapshot);
}

#[test]
fn pages() {
    check("page", checks::page);
}

#[test]
fn payloads() {
    check("payload", checks::payload);
}
