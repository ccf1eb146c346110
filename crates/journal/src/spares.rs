//! Segments that wait to be used: made ahead of time, or left over from trimming.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use host::disk::{Disk, File};

use crate::DiskError;
use crate::error::Doing;
use crate::journal::lock;
use crate::segment::{SEGMENT_HEADER_BYTES, Segment, UNFINISHED_SUFFIX, parse_spare_name, spare_name};

/// A file of full length whose contents don't matter.
pub(crate) struct Spare {
    pub path: PathBuf,
    pub file: Box<dyn File>,
    pub bytes: u64,
}

pub(crate) struct Spares {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    segment_bytes: u64,
    spares_max: usize,
    next_number: AtomicU64,
    waiting: Mutex<Waiting>,
    /// Held while one is being made, so that whoever needs one at once waits for it instead of making another.
    making: Mutex<()>,
}

#[derive(Default)]
struct Waiting {
    ready: Vec<Spare>,
    /// Trimmed, already named as spares, and perhaps still being read.
    retired: Vec<(Arc<Segment>, PathBuf)>,
}

impl Waiting {
    fn count(&self) -> usize {
        self.ready.len() + self.retired.len()
    }

    /// Makes those ready that nobody reads any more.
    fn reclaim(&mut self) {
        for (segment, path) in std::mem::take(&mut self.retired) {
            match Arc::try_unwrap(segment) {
                Ok(segment) => self.ready.push(Spare { path, bytes: segment.header.capacity, file: segment.file }),
                Err(segment) => self.retired.push((segment, path)),
            }
        }
    }
}

impl Spares {
    /// Takes over the spares in `dir` and clears away what was left unfinished.
    pub fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        names: &[String],
        segment_bytes: u64,
        spares_max: usize,
    ) -> Result<Self, DiskError> {
        let mut ready = Vec::new();
        let mut next_number = 0;
        for name in names {
            let path = dir.join(name);
            if name.ends_with(UNFINISHED_SUFFIX) {
                disk.remove(&path).doing("remove unfinished file", &path)?;
            }
            let Some(number) = parse_spare_name(name) else { continue };
            next_number = next_number.max(number.saturating_add(1));
            let file = disk.open(&path).doing("open spare segment", &path)?;
            let bytes = file.len().doing("measure spare segment", &path)?;
            if bytes == segment_bytes && ready.len() < spares_max {
                ready.push(Spare { path, file, bytes });
            } else {
                disk.remove(&path).doing("remove spare segment", &path)?;
            }
        }
        Ok(Self {
            disk,
            dir: dir.to_path_buf(),
            segment_bytes,
            spares_max,
            next_number: AtomicU64::new(next_number),
            waiting: Mutex::new(Waiting { ready, retired: Vec::new() }),
            making: Mutex::new(()),
        })
    }

    pub fn first_path(&self) -> Option<PathBuf> {
        lock(&self.waiting).ready.first().map(|spare| spare.path.clone())
    }

    /// Bytes of records that the spares can take, leaving out those still being read.
    pub fn writable_bytes(&self) -> u64 {
        let mut waiting = lock(&self.waiting);
        waiting.reclaim();
        waiting.ready.iter().map(|spare| spare.bytes - SEGMENT_HEADER_BYTES).sum()
    }

    /// Hands out a spare, and makes one if there is none.
    pub fn take(&self) -> Result<Spare, DiskError> {
        if let Some(spare) = self.take_ready() {
            return Ok(spare);
        }
        let _alone = lock(&self.making);
        match self.take_ready() {
            Some(spare) => Ok(spare),
            None => self.create(self.segment_bytes),
        }
    }

    fn take_ready(&self) -> Option<Spare> {
        let mut waiting = lock(&self.waiting);
        waiting.reclaim();
        waiting.ready.pop()
    }

    /// Makes one if there is none, and says whether it did.
    pub fn prepare(&self) -> Result<bool, DiskError> {
        let _alone = lock(&self.making);
        {
            let mut waiting = lock(&self.waiting);
            waiting.reclaim();
            if !waiting.ready.is_empty() {
                return Ok(false);
            }
        }
        let spare = self.create(self.segment_bytes)?;
        if let Err(error) = spare.file.sync_data().doing("sync segment", &spare.path) {
            // What stays behind is a spare like any other when the journal is next opened.
            let _ = self.disk.remove(&spare.path);
            return Err(error);
        }
        lock(&self.waiting).ready.push(spare);
        Ok(true)
    }

    /// Makes a file of this length, filled with zeros. Whoever uses it syncs it.
    pub fn create(&self, bytes: u64) -> Result<Spare, DiskError> {
        let path = self.next_path();
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(UNFINISHED_SUFFIX);
        let unfinished = PathBuf::from(unfinished);
        let made = self.fill(&unfinished, bytes).and_then(|file| {
            self.disk.rename(&unfinished, &path).doing("rename segment", &unfinished)?;
            Ok(Spare { path, file, bytes })
        });
        if made.is_err() {
            // What stays behind is cleared away when the journal is next opened.
            let _ = self.disk.remove(&unfinished);
        }
        made
    }

    fn fill(&self, path: &Path, bytes: u64) -> Result<Box<dyn File>, DiskError> {
        let file = self.disk.create(path).doing("create segment", path)?;
        file.allocate(bytes).doing("allocate segment", path)?;
        for start in (0..bytes).step_by(FILL_STEP_BYTES as usize) {
            if start > 0 {
                // In steps, so that the syncs of appends need not wait for all of it.
                file.sync_data().doing("sync segment", path)?;
            }
            write_zeros(file.as_ref(), start, FILL_STEP_BYTES.min(bytes - start)).doing("fill segment", path)?;
        }
        Ok(file)
    }

    /// Takes a segment's name away: makes it a spare and returns its new name, or removes it if there are enough. The
    /// directory must be synced afterwards.
    pub fn retire(&self, segment: &Segment) -> Result<Option<PathBuf>, DiskError> {
        let enough = self.spares_max <= lock(&self.waiting).count();
        if enough || segment.header.capacity != self.segment_bytes {
            self.disk.remove(&segment.path).doing("remove segment", &segment.path)?;
            return Ok(None);
        }
        let path = self.next_path();
        self.disk.rename(&segment.path, &path).doing("rename segment", &segment.path)?;
        Ok(Some(path))
    }

    /// Removes all spares but `keep`, those left out that are still being read.
    pub fn give_back(&self, keep: usize) -> Result<(), DiskError> {
        loop {
            let surplus = {
                let mut waiting = lock(&self.waiting);
                waiting.reclaim();
                if waiting.ready.len() <= keep {
                    return Ok(());
                }
                waiting.ready.pop().expect("there is one more than are kept")
            };
            self.disk.remove(&surplus.path).doing("remove segment", &surplus.path)?;
        }
    }

    /// Keeps a retired segment until its last reader is done.
    pub fn add_retired(&self, segment: Arc<Segment>, path: PathBuf) {
        lock(&self.waiting).retired.push((segment, path));
    }

    fn next_path(&self) -> PathBuf {
        self.dir.join(spare_name(self.next_number.fetch_add(1, Ordering::Relaxed)))
    }
}

/// How much of a new segment is filled between two syncs.
///
/// Chosen: some milliseconds of a slow disk.
const FILL_STEP_BYTES: u64 = 4 << 20;

pub(crate) static ZEROS: [u8; 64 * 1_024] = [0; 64 * 1_024];

/// Fills a stretch of a file with zeros.
pub(crate) fn write_zeros(file: &dyn File, at: u64, bytes: u64) -> std::io::Result<()> {
    let mut done = 0;
    while done < bytes {
        let step = (bytes - done).min(ZEROS.len() as u64);
        file.write_at(at + done, &[&ZEROS[..step as usize]])?;
        done += step;
    }
    Ok(())
}
