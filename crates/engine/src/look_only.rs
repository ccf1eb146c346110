//! A disk on which one only looks: what is written to it is forgotten.
//!
//! Opening a data directory tidies it: a torn tail is cut off, what was left unfinished is removed. On this disk a store
//! opens as it would in a server, and not a byte changes.

use host::disk::{DirLock, Disk, File, LockError};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(crate) struct LookOnlyDisk {
    disk: Arc<dyn Disk>,
    /// Until whoever opens the directory takes it over.
    lock: Mutex<Option<DirLock>>,
}

impl LookOnlyDisk {
    /// Locks `dir`, so that it stays as it is.
    ///
    /// Errors: a sentence for people. A server runs on it, or it is no directory.
    pub fn lock(disk: Arc<dyn Disk>, dir: &Path) -> Result<Self, String> {
        disk.list(dir).map_err(|error| format!("cannot read `{}`: {error}", dir.display()))?;
        let lock = disk.lock_dir(dir).map_err(|error| match error {
            LockError::Held { .. } => format!("`{}` is {error}: a server runs on it", dir.display()),
            LockError::Io(_) => format!("cannot lock `{}`: {error}", dir.display()),
        })?;
        Ok(Self { disk, lock: Mutex::new(Some(lock)) })
    }
}

impl Disk for LookOnlyDisk {
    fn create_dir_all(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        match self.disk.list(dir) {
            // It would have been created.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            names => names,
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no `{}`", path.display())))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        Ok(Box::new(LookOnlyFile(self.disk.open(path)?)))
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock_dir(&self, _dir: &Path) -> Result<DirLock, LockError> {
        let lock = self.lock.lock().expect("nothing panics while it holds this lock").take();
        lock.ok_or(LockError::Held { process: None })
    }

    fn free_bytes(&self, _dir: &Path) -> io::Result<u64> {
        Ok(0)
    }
}

struct LookOnlyFile(Box<dyn File>);

impl File for LookOnlyFile {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(at, into)
    }

    fn write_at(&self, _at: u64, _parts: &[&[u8]]) -> io::Result<()> {
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn allocate(&self, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}
