//! What must hold for any bytes in a data file: they are read or refused, never worse, and a journal that opens goes on.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use host::disk::{Disk, FakeDisk};
use journal::{Journal, Lsn, Options, PageStore, SnapshotStore, dump};

/// The whole input is a segment, a snapshot and a page. Does everything with it that can be done with one of ours.
pub fn data_file(input: &[u8]) {
    let disk = FakeDisk::default();
    let log = Path::new("/data/journal/00000000000000004096.log");
    let files = [log, Path::new("/s/00000000000000005000.snapshot"), Path::new("/p/00000000000000000012.page")];
    for file in files {
        disk.install(file, input);
        // Any answer is fine, as long as there is one.
        let _ = dump(&disk, file, &mut Vec::new(), &|_, bytes| bytes.len().to_string());
    }
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let _ = SnapshotStore::open(shared.clone(), Path::new("/s")).expect("the directory opens").latest_valid();
    let pages = PageStore::open(shared.clone(), Path::new("/p")).expect("the directory opens");
    let _ = (pages.verify(12), pages.read(12, 3, 1_000));

    let open = || Journal::open(shared.clone(), Path::new("/data/journal"), options());
    let Ok((journal, _)) = open() else { return };
    let replayed = records(&journal).len();
    let lsn = journal.append(&[b"goes on"]).expect("what was opened can be appended to");
    drop(journal);
    let records = records(&open().expect("what was opened opens again").0);
    assert_eq!((records.len(), records.last()), (replayed + 1, Some(&(lsn, b"goes on".to_vec()))));
}

/// Segments of a few records each.
fn options() -> Options {
    Options {
        segment_bytes: 4_096 + 2_000,
        first_segment_bytes: 4_096 + 1_000,
        record_bytes_max: 1_500,
        identity: 0x0123_4567_89ab_cdef,
        ..Options::default()
    }
}

fn records(journal: &Journal) -> Vec<(Lsn, Vec<u8>)> {
    let mut records = Vec::new();
    let collect = &mut |lsn, payload: &[u8]| {
        records.push((lsn, payload.to_vec()));
        ControlFlow::Continue(())
    };
    journal.replay(journal.oldest(), collect).expect("what was opened can be replayed while there is one segment");
    records
}
