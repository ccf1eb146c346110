//! The servers that are compared: how each is started, found and stopped.

mod peers;

use crate::load::{Encoder, Wire, call_once};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longest wait for a server to answer its first request.
const START_WAIT_MAX: Duration = Duration::from_secs(60);
/// Pause between attempts to reach a server that doesn't say when it listens.
const RETRY_PAUSE: Duration = Duration::from_millis(1);

/// What can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Name {
    /// The yardstick: hyper, answering bytes prepared beforehand.
    Bare,
    /// Posthouse that answers when a message is on disk.
    Fsync,
    /// Posthouse that answers when the kernel has a message.
    Os,
    /// Posthouse that writes nothing.
    Memory,
    Moto,
    Ministack,
    Fauxqs,
}

impl Name {
    pub const ALL: [Self; 7] =
        [Self::Bare, Self::Fsync, Self::Os, Self::Memory, Self::Moto, Self::Ministack, Self::Fauxqs];

    /// As printed and stored.
    pub fn label(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Fsync => "posthouse fsync",
            Self::Os => "posthouse os",
            Self::Memory => "posthouse memory",
            Self::Moto => "moto",
            Self::Ministack => "ministack",
            Self::Fauxqs => "fauxqs",
        }
    }

    /// How many long polls it is asked to hold at most: some peers use a thread for each.
    pub fn polls_max(self) -> usize {
        match self {
            Self::Bare => 0,
            Self::Fsync | Self::Os | Self::Memory => usize::MAX,
            Self::Moto | Self::Ministack | Self::Fauxqs => 1000,
        }
    }
}

/// Where things are.
#[derive(Clone, Debug)]
pub struct Places {
    /// The server's program.
    pub posthouse: PathBuf,
    /// Where peers are installed.
    pub peers: PathBuf,
    /// Where Posthouse keeps its data while it is measured, and where the servers' output goes.
    pub scratch: PathBuf,
    /// Whether peers that are missing may be installed.
    pub may_install: bool,
}

/// A server that can be started.
#[derive(Clone, Debug)]
pub struct Target {
    pub name: Name,
    /// Its version, where we didn't build it.
    pub version: Option<String>,
    command: Recipe,
    scratch: PathBuf,
}

#[derive(Clone, Debug)]
enum Recipe {
    /// Prints `listening on http://ADDRESS`.
    Announces { program: PathBuf, arguments: Vec<String> },
    /// Listens on a port that it is given in place of `PORT`.
    GivenPort { program: PathBuf, arguments: Vec<String>, environment: Vec<(&'static str, String)>, directory: PathBuf },
}

/// Finds out how to start a server, installing it if need be. The error says in plain words why it must be skipped.
pub fn prepare(name: Name, places: &Places, body_bytes: usize) -> Result<Target, String> {
    let posthouse = |durability: &str| {
        if !places.posthouse.is_file() {
            return Err(format!("{} is not built: cargo build --release", places.posthouse.display()));
        }
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", "DATA", "--durability", durability];
        Ok(Recipe::Announces { program: places.posthouse.clone(), arguments: arguments.map(str::to_owned).to_vec() })
    };
    let (version, command) = match name {
        Name::Bare => {
            let program = std::env::current_exe().map_err(|error| format!("cannot find our own program: {error}"))?;
            let arguments = vec!["bare".to_owned(), "--body-bytes".to_owned(), body_bytes.to_string()];
            (None, Recipe::Announces { program, arguments })
        }
        Name::Fsync => (None, posthouse("fsync")?),
        Name::Os => (None, posthouse("os")?),
        Name::Memory => (None, posthouse("memory")?),
        Name::Moto | Name::Ministack | Name::Fauxqs => {
            let (version, command) = peers::prepare(name, places)?;
            (Some(version), command)
        }
    };
    Ok(Target { name, version, command, scratch: places.scratch.clone() })
}

/// A server that runs until this is dropped. Its data directory goes with it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pub address: SocketAddr,
    /// From starting the process to its first answer.
    pub first_answer: Duration,
    data: PathBuf,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only where there is nothing left to stop or to remove.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

impl Target {
    /// Starts the server and waits for its first answer.
    pub fn start(&self) -> io::Result<Running> {
        let file_name = self.name.label().replace(' ', "-");
        std::fs::create_dir_all(&self.scratch)?;
        let data = self.scratch.join(format!("{file_name}-data"));
        let _ = std::fs::remove_dir_all(&data);
        let log = File::create(self.scratch.join(format!("{file_name}.log")))?;

        let (mut command, port) = self.command(&data)?;
        command.stdin(Stdio::null()).stderr(log.try_clone()?);
        command.stdout(if port.is_some() { Stdio::from(log) } else { Stdio::piped() });
        let start = Instant::now();
        let child = command.spawn()?;
        // From here on, dropping this stops the child.
        let unknown = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
        let mut running = Running { child, address: unknown, first_answer: Duration::ZERO, data };
        if let Some(stdout) = running.child.stdout.take() {
            running.address = announced_address(stdout)?;
        }
        wait_for_answer(&mut running.child, running.address, start)?;
        running.first_answer = start.elapsed();
        Ok(running)
    }

    fn command(&self, data: &Path) -> io::Result<(Command, Option<u16>)> {
        match &self.command {
            Recipe::Announces { program, arguments } => {
                let mut command = Command::new(program);
                for argument in arguments {
                    if argument == "DATA" {
                        command.arg(data)
                    } else {
                        command.arg(argument)
                    };
                }
                Ok((command, None))
            }
            Recipe::GivenPort { program, arguments, environment, directory } => {
                let port = free_port()?;
                let with_port = |text: &String| text.replace("PORT", &port.to_string());
                let mut command = Command::new(program);
                command.current_dir(directory).args(arguments.iter().map(with_port));
                command.envs(environment.iter().map(|(name, value)| (name, with_port(value))));
                Ok((command, Some(port)))
            }
        }
    }
}

/// Asks a server that was just started until it answers.
pub fn wait_for_answer(child: &mut Child, address: SocketAddr, start: Instant) -> io::Result<()> {
    let request = Encoder::new(Wire::Json, &address.to_string(), "test", "us-east-1").list_queues();
    loop {
        let error = match call_once(address, &request) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("the server ended ({status}) before it answered")));
        }
        if START_WAIT_MAX < start.elapsed() {
            return Err(io::Error::other(format!("no answer within {START_WAIT_MAX:?}: {error}")));
        }
        std::thread::sleep(RETRY_PAUSE);
    }
}

/// Waits for the line that says where the server listens. Goes on reading behind, so that the server never blocks.
pub fn announced_address(stdout: impl io::Read + Send + 'static) -> io::Result<SocketAddr> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(address) = listening_address(&line) {
                // Nobody listens any more once the first address was found.
                let _ = sender.send(address);
            }
        }
    });
    let missing = |_| io::Error::other("the server didn't print where it listens");
    receiver.recv_timeout(START_WAIT_MAX).map_err(missing)
}

/// The address in a line such as `listening on http://127.0.0.1:4566`.
fn listening_address(line: &str) -> Option<SocketAddr> {
    let (_, url) = line.split_once("listening on http://")?;
    let end = url.find(|char: char| !char.is_ascii_alphanumeric() && !".:[]".contains(char)).unwrap_or(url.len());
    url[..end].parse().ok()
}

/// A port that was free a moment ago.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_the_line_that_announces_it() {
        let cases = [
            ("listening on http://127.0.0.1:4566", Some("127.0.0.1:4566")),
            ("posthouse 0.1 listening on http://[::1]:80/ (data in x)", Some("[::1]:80")),
            ("listening on http://localhost:80", None),
            ("data in ./posthouse-data", None),
        ];
        for (line, wanted) in cases {
            let wanted = wanted.map(|address| address.parse().expect("an address"));
            assert_eq!(listening_address(line), wanted, "{line}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_skipped_with_a_reason() {
        let nowhere = PathBuf::from("/nonexistent");
        let places = Places {
            posthouse: nowhere.join("posthouse"),
            peers: nowhere.clone(),
            scratch: nowhere,
            may_install: false,
        };
        for name in [Name::Fsync, Name::Moto, Name::Fauxqs] {
            let reason = prepare(name, &places, 1024).expect_err("nothing is there");
            assert!(reason.contains("/nonexistent"), "{reason}");
        }
    }
}
