//! A small disk of its own for the data, which can be filled without harm to anyone else: ext4 in a file, mounted
//! through a loop device.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Unmounted and removed when it is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    pub mount: PathBuf,
    image: PathBuf,
}

impl SmallDisk {
    /// Makes one below `directory`.
    ///
    /// Errors: why it can't be had, as a sentence: it needs root, loop devices, and mkfs.ext4.
    pub fn make(directory: &Path, bytes: u64) -> Result<Self, String> {
        let (mount, image) = (directory.join("small-disk"), directory.join("small-disk.img"));
        let cannot = |error: std::io::Error| format!("cannot make a small disk: {error}");
        std::fs::create_dir_all(&mount).map_err(cannot)?;
        File::create(&image).and_then(|file| file.set_len(bytes)).map_err(cannot)?;
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(&image))?;
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&mount))?;
        Ok(Self { mount, image })
    }

    /// Takes all that is left on the disk.
    pub fn fill(&self) -> std::io::Result<()> {
        let mut ballast = File::create(self.ballast())?;
        let zeros = vec![0; 1 << 20];
        // To the last block.
        for bytes in [&zeros[..], &zeros[..4096]] {
            while ballast.write(bytes).is_ok_and(|written| written == bytes.len()) {}
        }
        Ok(())
    }

    /// Gives it back.
    pub fn empty(&self) -> std::io::Result<()> {
        std::fs::remove_file(self.ballast())
    }

    fn ballast(&self) -> PathBuf {
        self.mount.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // What is left behind is shown by `mount`; there is nobody to tell here.
        let _ = run(Command::new("umount").arg(&self.mount));
        let _ = std::fs::remove_file(&self.image);
        let _ = std::fs::remove_dir(&self.mount);
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
