//! How long the disk takes to make bytes durable: what every durable server is bounded by on this machine.

use crate::load::{Latencies, Percentiles};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

/// Size of the file that is written to, filled with zeros before, as a journal's segment is.
const FILE_BYTES: usize = 64 * 1024 * 1024;
/// Sizes of the appends that are measured.
const APPEND_BYTES: [usize; 2] = [1024, 64 * 1024];

/// Latencies of `pwrite` and `fdatasync` together, one after the other.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SyncLatency {
    pub append_bytes: usize,
    pub milliseconds: Percentiles,
}

/// Measures so many appends of each size to a file under `directory`, which is made if need be.
pub fn measure(directory: &Path, appends: usize) -> io::Result<Vec<SyncLatency>> {
    std::fs::create_dir_all(directory)?;
    let path = directory.join(format!("sync-{}.tmp", std::process::id()));
    let measured = APPEND_BYTES.iter().map(|&append_bytes| measure_size(&path, append_bytes, appends)).collect();
    std::fs::remove_file(&path)?;
    measured
}

fn measure_size(path: &Path, append_bytes: usize, appends: usize) -> io::Result<SyncLatency> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(&vec![0; FILE_BYTES])?;
    file.sync_all()?;
    let record = vec![b'x'; append_bytes];
    let mut latencies = Latencies::default();
    for append in 0..appends {
        let offset = (append * append_bytes) % FILE_BYTES;
        let start = Instant::now();
        file.write_all_at(&record, offset as u64)?;
        file.sync_data()?;
        latencies.record(start.elapsed());
    }
    Ok(SyncLatency { append_bytes, milliseconds: latencies.percentiles() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sizes_are_measured_and_nothing_is_left() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let measured = measure(directory.path(), 2).expect("the disk can be written");
        assert_eq!(measured.iter().map(|size| size.append_bytes).collect::<Vec<_>>(), APPEND_BYTES);
        assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 0);
    }
}
