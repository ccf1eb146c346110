//! The real program on a data directory that outlives it: started, stopped, killed, and started again.

use crate::target::{announced_address, wait_for_answer};
use std::fs::OpenOptions;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How it is started.
#[derive(Clone, Debug)]
pub struct Posthouse {
    pub program: PathBuf,
    pub data: PathBuf,
    /// Where its log goes, one start after the other.
    pub log: PathBuf,
    /// Settings as command-line options, such as `--snapshot-bytes=64MiB`.
    pub options: Vec<String>,
}

/// One run of it. Killed when this is dropped; the data stays.
#[derive(Debug)]
pub struct Serving {
    child: Child,
    pub address: SocketAddr,
    /// From starting the process to its first answer.
    pub first_answer: Duration,
}

impl Posthouse {
    /// Starts it and waits for its first answer, at most a minute.
    pub fn start(&self) -> io::Result<Serving> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(&self.program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&self.data).args(&self.options);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let start = Instant::now();
        let child = command.spawn()?;
        // From here on, dropping this stops the child.
        let mut serving = Serving { child, address: ([127, 0, 0, 1], 0).into(), first_answer: Duration::ZERO };
        let stdout = serving.child.stdout.take().expect("it is piped");
        serving.address = announced_address(stdout)?;
        wait_for_answer(&mut serving.child, serving.address, start)?;
        serving.first_answer = start.elapsed();
        Ok(serving)
    }
}

impl Serving {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a power switch would, as far as a process can be: SIGKILL.
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Asks it to end, and waits until it has: SIGTERM.
    pub fn terminate(mut self) -> io::Result<ExitStatus> {
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a child has a process id"), rustix::process::Signal::TERM)?;
        self.child.wait()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the files below a directory take on disk, in bytes. Files that vanish meanwhile count for nothing.
pub fn disk_bytes(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let bytes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_use_is_that_of_all_files_below() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let nothing = disk_bytes(directory.path());
        std::fs::create_dir(directory.path().join("below")).expect("it can be made");
        std::fs::write(directory.path().join("below/file"), vec![1; 100_000]).expect("it can be written");
        assert_eq!(nothing, 0);
        assert!((100_000..200_000).contains(&disk_bytes(directory.path())));
        assert_eq!(disk_bytes(Path::new("/nonexistent")), 0);
    }
}
