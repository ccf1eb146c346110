//! A small journal on a fake disk.
#![allow(dead_code)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::disk::FakeDisk;
use journal::{Journal, Lsn, Opened, Options, ReplayError, SyncMode};

pub fn dir() -> PathBuf {
    Path::new("/data/journal").to_path_buf()
}

/// Segments of a few records each.
pub fn small_options() -> Options {
    Options {
        sync: SyncMode::Fsync,
        segment_bytes: 4_096 + 2_000,
        first_segment_bytes: 4_096 + 1_000,
        record_bytes_max: 1_500,
        spares_max: 2,
        identity: 0x0123_4567_89ab_cdef,
        ..Options::default()
    }
}

pub fn open(disk: &FakeDisk) -> (Journal, Opened) {
    Journal::open(Arc::new(disk.clone()), &dir(), small_options()).unwrap()
}

/// Every record that the journal holds.
pub fn all_records(journal: &Journal) -> Vec<(Lsn, Vec<u8>)> {
    let mut records = Vec::new();
    let collect = &mut |lsn, payload: &[u8]| {
        records.push((lsn, payload.to_vec()));
        ControlFlow::Continue(())
    };
    loop {
        match journal.replay(journal.oldest(), collect) {
            Ok(()) => return records,
            // Another thread has trimmed meanwhile.
            Err(ReplayError::OutOfRange { .. }) => {}
            Err(ReplayError::File(error)) => panic!("{error}"),
        }
    }
}
