//! Runs what the fuzz targets check over the committed corpus.

#[path = "../../../fuzz/checks/wire.rs"]
mod checks;

use std::fs;
use std::path::Path;

fn check(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus is committed") {
        run(&fs::read(entry.expect("an entry").path()).expect("a file"));
        count += 1;
    }
    assert!(count >= 10, "the corpus of {target} has only {count} inputs");
}

#[test]
fn json_requests() {
    check("json_request", checks::json_request);
}

#[test]
fn query_requests() {
    check("query_request", checks::query_request);
}

#[test]
fn queue_urls() {
    check("queue_url", checks::queue_url);
}
