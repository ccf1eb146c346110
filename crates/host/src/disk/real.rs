//! The operating system's disk.

use std::fs;
use std::io::{self, IoSlice, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{DirLock, Disk, File, LOCK_FILE, LockError};

/// The operating system's disk.
#[derive(Clone, Copy, Default, Debug)]
pub struct RealDisk;

/// Messages are nobody's business but the owner's.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

impl Disk for RealDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        if dir.as_os_str().is_empty() || dir.is_dir() {
            return Ok(());
        }
        let above = above(dir);
        self.create_dir_all(&above)?;
        match fs::DirBuilder::new().mode(DIR_MODE).create(dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.sync_dir(&above),
        }
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(FILE_MODE);
        Ok(Box::new(RealFile(options.open(path)?)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match fs::OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) => {
                Ok(Box::new(RealFile(fs::File::open(path)?)))
            }
            file => Ok(Box::new(RealFile(file?))),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    fn lock_dir(&self, dir: &Path) -> Result<DirLock, LockError> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
        let mut file = options.open(dir.join(LOCK_FILE))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                // The number only helps whoever reads the message; without it the answer is the same.
                let _ = (&file).take(32).read_to_string(&mut holder);
                return Err(LockError::Held { process: holder.trim().parse().ok() });
            }
            Err(error) => return Err(LockError::Io(error.into())),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(DirLock { _held: Box::new(file) })
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let system = rustix::fs::statvfs(dir)?;
        Ok(system.f_bavail.saturating_mul(system.f_frsize))
    }
}

/// The directory that holds this one.
fn above(dir: &Path) -> PathBuf {
    match dir.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_path_buf(),
        None => PathBuf::from("/"),
    }
}

struct RealFile(fs::File);

impl File for RealFile {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self.0.read_at(&mut into[filled..], at + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        if let [part] = parts {
            return self.0.write_all_at(part, at);
        }
        let mut at = at;
        let (mut few, mut many);
        let mut left = if parts.len() <= SLICES_FEW {
            few = [IoSlice::new(&[]); SLICES_FEW];
            few.iter_mut().zip(parts).for_each(|(slice, part)| *slice = IoSlice::new(part));
            &mut few[..parts.len()]
        } else {
            many = parts.iter().map(|part| IoSlice::new(part)).collect::<Vec<_>>();
            many.as_mut_slice()
        };
        // Skips empty parts at the front.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let together = left.len().min(SLICES_MAX);
            match rustix::io::pwritev(&self.0, &left[..together], at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    at += written as u64;
                    IoSlice::advance_slices(&mut left, written);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn allocate(&self, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.0, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            // A file system that can't, allocates as it is written to.
            Err(rustix::io::Errno::OPNOTSUPP) => self.extend(bytes),
            result => result.map_err(io::Error::from),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.extend(bytes)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

impl RealFile {
    /// Makes the file at least this long.
    fn extend(&self, bytes: u64) -> io::Result<()> {
        if self.0.metadata()?.len() < bytes { self.0.set_len(bytes) } else { Ok(()) }
    }
}

/// Parts that one system call takes.
///
/// Source: Linux, IOV_MAX.
const SLICES_MAX: usize = 1_024;

/// Parts that need no allocation.
const SLICES_FEW: usize = 8;
