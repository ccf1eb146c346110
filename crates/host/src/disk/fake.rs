//! A disk in memory that loses, tears, refuses and flips what a real one may.
//!
//! ```text
//!   write_at ──▶ now ──sync_data──▶ safe
//!                 │                   │
//!      a running program reads        └──▶ what is certain to be there after a power cut
//!
//!   between the two, for each sector: version 1, version 2, …   a cut leaves the safe one or any of these
//!   between the two, for each name:   change 1, change 2, …     a cut leaves any subset of the changes
//! ```
//!
//! Nothing here depends on time, threads or chance: the same calls with the same choices leave the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{DirLock, Disk, File, LockError, SECTOR_BYTES};

/// The operating system's number for "input/output error".
pub const EIO: i32 = 5;
/// The operating system's number for "no space left on device".
pub const ENOSPC: i32 = 28;

/// A disk in memory. A clone is another handle to the same disk.
#[derive(Clone)]
pub struct FakeDisk {
    state: Arc<Mutex<State>>,
}

/// What happens at one numbered input or output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Nothing is done and this error of the operating system comes back. After a failed sync of a file, what it
    /// should have made safe stays unsafe until it is written again, whatever later syncs say.
    Fails(i32),
    /// A write stops half-way, at a sector's edge, with an input/output error. Anything else just fails with one.
    Torn,
    /// The power goes while this is being done: it may have happened or not, and everything from then on fails.
    PowerCut,
}

/// What is left of the unsynced after a power cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Survivors {
    Nothing,
    Everything,
    /// Drawn from a seed.
    Seeded(u64),
    /// For each item of [`FakeDisk::unsynced`], how many of its steps happened.
    Chosen(Vec<usize>),
}

/// How often each thing was asked for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct IoCounts {
    pub reads: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Syncs of files and of directories.
    pub syncs: u64,
    /// Everything else: opening, naming, listing, allocating.
    pub others: u64,
}

impl IoCounts {
    pub fn total(&self) -> u64 {
        self.reads + self.writes + self.syncs + self.others
    }
}

/// Every way to choose a number from `0..=steps[i]` for each `i`, in order.
pub fn every_choice(steps: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let steps = steps.to_vec();
    let mut next = Some(vec![0; steps.len()]);
    std::iter::from_fn(move || {
        let current = next.take()?;
        let mut following = current.clone();
        for (digit, max) in following.iter_mut().zip(&steps) {
            if *digit < *max {
                *digit += 1;
                next = Some(following);
                break;
            }
            *digit = 0;
        }
        Some(current)
    })
}

type FileId = u64;
type SyncHook = Arc<dyn Fn() + Send + Sync>;

struct State {
    files: BTreeMap<FileId, Contents>,
    next_file: FileId,
    dirs: BTreeSet<PathBuf>,
    names: BTreeMap<PathBuf, FileId>,
    safe_names: BTreeMap<PathBuf, FileId>,
    unsynced_names: Vec<NameChange>,
    locked: BTreeSet<PathBuf>,
    capacity_bytes: u64,
    counts: IoCounts,
    faults: BTreeMap<u64, Fault>,
    powered: bool,
    sync_hook: Option<SyncHook>,
}

#[derive(Clone)]
struct NameChange {
    dir: PathBuf,
    kind: NameChangeKind,
}

#[derive(Clone)]
enum NameChangeKind {
    Create(PathBuf, FileId),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl NameChangeKind {
    fn apply(&self, names: &mut BTreeMap<PathBuf, FileId>) {
        match self {
            Self::Create(path, file) => {
                names.insert(path.clone(), *file);
            }
            // If the creation of the file was lost there is nothing to rename.
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Self::Remove(path) => {
                names.remove(path);
            }
        }
    }
}

#[derive(Clone, Default)]
struct Contents {
    now: Vec<u8>,
    safe: Vec<u8>,
    /// By sector number.
    unsynced: BTreeMap<usize, UnsyncedSector>,
    unsynced_lengths: Vec<usize>,
    allocated_bytes: u64,
    handles: usize,
}

#[derive(Clone, Default)]
struct UnsyncedSector {
    versions: Vec<[u8; SECTOR_BYTES]>,
    /// A sync that should have made this safe has failed; only writing it again gives the next sync a chance.
    given_up: bool,
}

impl Contents {
    /// Notes what the sectors from byte `from` to byte `to` hold now as a version that a power cut may leave.
    fn note(&mut self, from: usize, to: usize) {
        for sector in from / SECTOR_BYTES..to.div_ceil(SECTOR_BYTES) {
            let mut bytes = [0; SECTOR_BYTES];
            let start = (sector * SECTOR_BYTES).min(self.now.len());
            let end = (start + SECTOR_BYTES).min(self.now.len());
            bytes[..end - start].copy_from_slice(&self.now[start..end]);
            let unsynced = self.unsynced.entry(sector).or_default();
            unsynced.versions.push(bytes);
            unsynced.given_up = false;
        }
    }

    fn resize(&mut self, bytes: usize) {
        let before = self.now.len();
        if bytes != before {
            self.now.resize(bytes, 0);
            self.unsynced_lengths.push(bytes);
            if bytes < before {
                self.note(bytes, before);
            }
        }
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.now.len() < end {
            self.resize(end);
        }
        self.now[at..end].copy_from_slice(bytes);
        self.note(at, end);
        self.allocated_bytes = self.allocated_bytes.max(end as u64);
    }

    fn sync(&mut self) {
        self.safe.resize(self.now.len(), 0);
        self.unsynced_lengths.clear();
        let (now, safe) = (&self.now, &mut self.safe);
        self.unsynced.retain(|sector, unsynced| {
            let start = (sector * SECTOR_BYTES).min(now.len());
            let end = (start + SECTOR_BYTES).min(now.len());
            if !unsynced.given_up {
                safe[start..end].copy_from_slice(&now[start..end]);
            }
            unsynced.given_up
        });
    }

    fn give_up(&mut self) {
        for unsynced in self.unsynced.values_mut() {
            unsynced.given_up = true;
        }
    }

    /// The contents after a power cut. `survive` is asked how many of so many steps happened.
    fn cut(&self, survive: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
        let mut bytes = self.safe.clone();
        let length = match survive(self.unsynced_lengths.len()) {
            0 => self.safe.len(),
            steps => self.unsynced_lengths[steps - 1],
        };
        for (sector, unsynced) in &self.unsynced {
            if let Some(version) = survive(unsynced.versions.len()).checked_sub(1) {
                let start = sector * SECTOR_BYTES;
                bytes.resize(bytes.len().max(start + SECTOR_BYTES), 0);
                bytes[start..start + SECTOR_BYTES].copy_from_slice(&unsynced.versions[version]);
            }
        }
        bytes.resize(length, 0);
        bytes
    }
}

impl Default for FakeDisk {
    fn default() -> Self {
        Self::new(u64::MAX)
    }
}

impl FakeDisk {
    /// An empty disk that holds this many bytes of files.
    pub fn new(capacity_bytes: u64) -> Self {
        let state = State {
            files: BTreeMap::new(),
            next_file: 0,
            dirs: BTreeSet::new(),
            names: BTreeMap::new(),
            safe_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            locked: BTreeSet::new(),
            capacity_bytes,
            counts: IoCounts::default(),
            faults: BTreeMap::new(),
            powered: true,
            sync_hook: None,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Changes how many bytes of files fit. What is there stays, even if it is more.
    pub fn set_capacity(&self, capacity_bytes: u64) {
        self.lock().capacity_bytes = capacity_bytes;
    }

    /// Bytes of files that are set aside.
    pub fn used_bytes(&self) -> u64 {
        self.lock().used_bytes()
    }

    /// What has been asked for so far. The next input or output has the number `counts().total()`.
    pub fn counts(&self) -> IoCounts {
        self.lock().counts
    }

    /// Lets the input or output with this number go wrong.
    pub fn fault(&self, number: u64, fault: Fault) {
        self.lock().faults.insert(number, fault);
    }

    /// Called at each sync, before it does anything and outside all locks of the disk.
    pub fn set_sync_hook(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.lock().sync_hook = Some(Arc::new(hook));
    }

    /// What a power cut would decide over now: for each unsynced thing, in how many steps it came about.
    pub fn unsynced(&self) -> Vec<usize> {
        let mut steps = Vec::new();
        let _ = self.lock().cut(&mut |count| {
            steps.push(count);
            0
        });
        steps
    }

    /// The disk as it is found after a power cut at this moment. This one stays as it is, so that other choices can be
    /// tried.
    pub fn power_cut(&self, survivors: &Survivors) -> FakeDisk {
        let mut item = 0;
        let mut chance = match survivors {
            Survivors::Seeded(seed) => *seed,
            _ => 0,
        };
        let mut survive = |steps: usize| {
            item += 1;
            match survivors {
                Survivors::Nothing => 0,
                Survivors::Everything => steps,
                Survivors::Seeded(_) => (split_mix(&mut chance) % (steps as u64 + 1)) as usize,
                Survivors::Chosen(chosen) => chosen[item - 1].min(steps),
            }
        };
        let state = self.lock().cut(&mut survive);
        FakeDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// Flips one bit of a file, for good.
    pub fn flip_bit(&self, path: &Path, bit: usize) {
        let mut state = self.lock();
        let contents = state.contents_of(path).expect("the test names a file that exists");
        contents.now[bit / 8] ^= 1 << (bit % 8);
        if let Some(byte) = contents.safe.get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
    }

    /// All bytes of a file. Not counted as input.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        self.lock().contents_of(path).map(|contents| contents.now.clone())
    }

    /// Puts a file there, safe at once. Not counted as output.
    pub fn install(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.lock();
        let contents = Contents {
            now: bytes.to_vec(),
            safe: bytes.to_vec(),
            allocated_bytes: bytes.len() as u64,
            ..Contents::default()
        };
        let file = state.add(contents);
        state.dirs.extend(path.parent().map(Path::to_path_buf));
        state.names.insert(path.to_path_buf(), file);
        state.safe_names.insert(path.to_path_buf(), file);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no call panics while it holds the state")
    }

    fn handle(&self, state: &mut State, file: FileId) -> Box<dyn File> {
        state.file(file).handles += 1;
        Box::new(FakeFile { disk: self.clone(), file })
    }

    fn run_sync_hook(&self) {
        let hook = self.lock().sync_hook.clone();
        if let Some(hook) = hook {
            hook();
        }
    }
}

/// SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}

/// What an input or output is told before it does anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Go,
    /// Do half, then call it an error.
    Half,
    /// Do it, then call it an error.
    DoAndFail,
}

impl Verdict {
    fn outcome(self) -> io::Result<()> {
        match self {
            Self::Go => Ok(()),
            Self::Half => Err(io::Error::from_raw_os_error(EIO)),
            Self::DoAndFail => Err(power_is_off()),
        }
    }
}

impl State {
    /// Numbers an input or output and says what becomes of it.
    fn begin(&mut self, count: impl FnOnce(&mut IoCounts)) -> io::Result<Verdict> {
        let number = self.counts.total();
        count(&mut self.counts);
        if !self.powered {
            return Err(power_is_off());
        }
        match self.faults.remove(&number) {
            None => Ok(Verdict::Go),
            Some(Fault::Fails(error)) => Err(io::Error::from_raw_os_error(error)),
            Some(Fault::Torn) => Ok(Verdict::Half),
            Some(Fault::PowerCut) => {
                self.powered = false;
                Ok(Verdict::DoAndFail)
            }
        }
    }

    /// [`Self::begin`] for what happens whole or not at all.
    fn begin_whole(&mut self, count: impl FnOnce(&mut IoCounts)) -> io::Result<Verdict> {
        match self.begin(count)? {
            Verdict::Half => Err(io::Error::from_raw_os_error(EIO)),
            verdict => Ok(verdict),
        }
    }

    fn add(&mut self, contents: Contents) -> FileId {
        let file = self.next_file;
        self.next_file += 1;
        self.files.insert(file, contents);
        file
    }

    fn file(&mut self, file: FileId) -> &mut Contents {
        self.files.get_mut(&file).expect("a file stays while it has a name or a handle")
    }

    fn contents_of(&mut self, path: &Path) -> Option<&mut Contents> {
        let file = *self.names.get(path)?;
        Some(self.file(file))
    }

    fn used_bytes(&self) -> u64 {
        let named: BTreeSet<FileId> = self.names.values().copied().collect();
        named.iter().map(|file| self.files[file].allocated_bytes).sum()
    }

    fn free_bytes(&self) -> u64 {
        self.capacity_bytes.saturating_sub(self.used_bytes())
    }

    /// Refuses if the file cannot grow to hold this many bytes.
    fn check_space(&mut self, file: FileId, bytes: u64) -> io::Result<()> {
        let more = bytes.saturating_sub(self.file(file).allocated_bytes);
        if more > 0 && more > self.free_bytes() { Err(io::Error::from_raw_os_error(ENOSPC)) } else { Ok(()) }
    }

    fn change_name(&mut self, dir: PathBuf, kind: NameChangeKind) {
        kind.apply(&mut self.names);
        self.unsynced_names.push(NameChange { dir, kind });
    }

    /// Forgets files that nothing can reach, now or after a power cut.
    fn forget_unreachable(&mut self) {
        let mut kept: BTreeSet<FileId> = self.names.values().chain(self.safe_names.values()).copied().collect();
        kept.extend(self.unsynced_names.iter().filter_map(|change| match change.kind {
            NameChangeKind::Create(_, file) => Some(file),
            _ => None,
        }));
        self.files.retain(|file, contents| contents.handles > 0 || kept.contains(file));
    }

    fn cut(&self, survive: &mut impl FnMut(usize) -> usize) -> State {
        let mut names = self.safe_names.clone();
        for change in &self.unsynced_names {
            if survive(1) == 1 {
                change.kind.apply(&mut names);
            }
        }
        let mut files = BTreeMap::new();
        for (file, contents) in &self.files {
            let bytes = contents.cut(survive);
            let allocated_bytes = contents.allocated_bytes.min(bytes.len() as u64);
            let contents = Contents { now: bytes.clone(), safe: bytes, allocated_bytes, ..Contents::default() };
            files.insert(*file, contents);
        }
        let mut state = State {
            files,
            next_file: self.next_file,
            dirs: self.dirs.clone(),
            safe_names: names.clone(),
            names,
            unsynced_names: Vec::new(),
            locked: BTreeSet::new(),
            capacity_bytes: self.capacity_bytes,
            counts: IoCounts::default(),
            faults: BTreeMap::new(),
            powered: true,
            sync_hook: None,
        };
        state.forget_unreachable();
        state
    }
}

fn dir_of(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Disk for FakeDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.lock();
        let verdict = state.begin_whole(|counts| counts.others += 1)?;
        state.dirs.extend(dir.ancestors().map(Path::to_path_buf));
        verdict.outcome()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut state = self.lock();
        state.begin_whole(|counts| counts.others += 1)?.outcome()?;
        if !state.dirs.contains(dir) {
            return Err(not_found());
        }
        let inside = state.names.keys().filter(|path| path.parent() == Some(dir));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let mut state = self.lock();
        let verdict = state.begin_whole(|counts| counts.others += 1)?;
        if !state.dirs.contains(&dir_of(path)) {
            return Err(not_found());
        }
        let file = state.add(Contents::default());
        state.change_name(dir_of(path), NameChangeKind::Create(path.to_path_buf(), file));
        verdict.outcome()?;
        Ok(self.handle(&mut state, file))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let mut state = self.lock();
        state.begin_whole(|counts| counts.others += 1)?.outcome()?;
        let file = *state.names.get(path).ok_or_else(not_found)?;
        Ok(self.handle(&mut state, file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        let verdict = state.begin_whole(|counts| counts.others += 1)?;
        if !state.names.contains_key(from) {
            return Err(not_found());
        }
        assert_eq!(from.parent(), to.parent(), "a rename stays inside its directory, so that one sync covers it");
        state.change_name(dir_of(to), NameChangeKind::Rename(from.to_path_buf(), to.to_path_buf()));
        verdict.outcome()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        let verdict = state.begin_whole(|counts| counts.others += 1)?;
        if !state.names.contains_key(path) {
            return Err(not_found());
        }
        state.change_name(dir_of(path), NameChangeKind::Remove(path.to_path_buf()));
        verdict.outcome()
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.run_sync_hook();
        let mut state = self.lock();
        state.begin_whole(|counts| counts.syncs += 1)?.outcome()?;
        let State { unsynced_names, safe_names, .. } = &mut *state;
        unsynced_names.retain(|change| {
            let synced = change.dir == dir;
            if synced {
                change.kind.apply(safe_names);
            }
            !synced
        });
        state.forget_unreachable();
        Ok(())
    }

    fn lock_dir(&self, dir: &Path) -> Result<DirLock, LockError> {
        let mut state = self.lock();
        state.begin_whole(|counts| counts.others += 1)?.outcome()?;
        if !state.locked.insert(dir.to_path_buf()) {
            return Err(LockError::Held { process: None });
        }
        Ok(DirLock { _held: Box::new(FakeLock { disk: self.clone(), dir: dir.to_path_buf() }) })
    }

    fn free_bytes(&self, _dir: &Path) -> io::Result<u64> {
        let mut state = self.lock();
        state.begin_whole(|counts| counts.others += 1)?.outcome()?;
        Ok(state.free_bytes())
    }
}

struct FakeLock {
    disk: FakeDisk,
    dir: PathBuf,
}

impl Drop for FakeLock {
    fn drop(&mut self) {
        self.disk.lock().locked.remove(&self.dir);
    }
}

struct FakeFile {
    disk: FakeDisk,
    file: FileId,
}

impl Drop for FakeFile {
    fn drop(&mut self) {
        let mut state = self.disk.lock();
        let contents = state.file(self.file);
        contents.handles -= 1;
        if contents.handles == 0 {
            state.forget_unreachable();
        }
    }
}

fn as_offset(number: u64) -> usize {
    usize::try_from(number).expect("files of a fake disk fit in memory")
}

impl File for FakeFile {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.disk.lock();
        state.begin_whole(|counts| counts.reads += 1)?.outcome()?;
        let bytes = &state.file(self.file).now;
        let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let read = into.len().min(bytes.len() - start);
        into[..read].copy_from_slice(&bytes[start..start + read]);
        Ok(read)
    }

    fn write_at(&self, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let bytes = parts.concat();
        let at = as_offset(at);
        let mut state = self.disk.lock();
        let verdict = state.begin(|counts| {
            counts.writes += 1;
            counts.written_bytes += bytes.len() as u64;
        })?;
        state.check_space(self.file, (at + bytes.len()) as u64)?;
        let written = match verdict {
            Verdict::Half => {
                let edge = (at + bytes.len() / 2) / SECTOR_BYTES * SECTOR_BYTES;
                edge.saturating_sub(at)
            }
            _ => bytes.len(),
        };
        if written > 0 {
            state.file(self.file).write(at, &bytes[..written]);
        }
        verdict.outcome()
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.run_sync_hook();
        let mut state = self.disk.lock();
        let verdict = state.begin_whole(|counts| counts.syncs += 1).and_then(Verdict::outcome);
        match verdict {
            Ok(()) => state.file(self.file).sync(),
            Err(_) => state.file(self.file).give_up(),
        }
        verdict
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        let verdict = state.begin_whole(|counts| counts.others += 1)?;
        state.check_space(self.file, bytes)?;
        let contents = state.file(self.file);
        contents.allocated_bytes = contents.allocated_bytes.max(bytes);
        let length = contents.now.len().max(as_offset(bytes));
        contents.resize(length);
        verdict.outcome()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        let verdict = state.begin_whole(|counts| counts.others += 1)?;
        let contents = state.file(self.file);
        contents.resize(as_offset(bytes));
        contents.allocated_bytes = contents.allocated_bytes.min(bytes);
        verdict.outcome()
    }

    fn len(&self) -> io::Result<u64> {
        let mut state = self.disk.lock();
        state.begin_whole(|counts| counts.others += 1)?.outcome()?;
        Ok(state.file(self.file).now.len() as u64)
    }
}
