//! The program as a process, and the plainest HTTP/1.1 client for it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long anything may take that takes no time of its own. Reached only where something is broken.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// `posthouse serve` on a free port, with a data directory of its own and a clock that tests move.
pub struct Server {
    process: Child,
    _home: tempfile::TempDir,
    address: String,
    advanced_seconds: u64,
    next_account: u64,
}

impl Server {
    /// Starts the binary that `POSTHOUSE_BIN` names, or else the release build of this workspace, with these settings.
    ///
    /// Panics where there is none, or where it doesn't start.
    pub fn start(settings: &[(String, u32)]) -> Self {
        let binary = binary();
        assert!(binary.exists(), "{} is missing: build it with `cargo build --release -p server`", binary.display());
        let home = tempfile::tempdir().expect("a temporary directory");
        let log_path = home.path().join("log");
        let log = File::create(&log_path).expect("a log file");
        let mut process = Command::new(&binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--test-clock", "--data"])
            .arg(home.path().join("data"))
            .args(settings.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle on the log"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", binary.display()));
        let address = patiently("the server did not start", || {
            let said = fs::read_to_string(&log_path).unwrap_or_default();
            let ended = process.try_wait().expect("it is our child");
            assert!(ended.is_none(), "the server ended: {said}");
            let (_, rest) = said.split_once("listening on http://")?;
            let (address, _) = rest.split_once(|c: char| c.is_whitespace() || c == '\x1b')?;
            Some(address.to_owned())
        });
        Self { process, _home: home, address, advanced_seconds: 0, next_account: 1 }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// An account that nobody has used. Accounts share nothing but the clock.
    pub fn new_account(&mut self) -> String {
        let account = self.next_account;
        self.next_account += 1;
        format!("{account:012}")
    }

    /// Moves the clock, and tells how many receives wait once all that was due has happened.
    pub fn advance(&mut self, seconds: u64) -> usize {
        let body = format!(r#"{{"seconds": {seconds}}}"#);
        let mut connection = Connection::open(&self.address);
        connection.post("/_posthouse/clock/advance", &[], &body);
        let answer = connection.answer();
        assert_eq!(answer.status, 200, "{answer:?}");
        self.advanced_seconds += seconds;
        let answer: serde_json::Value = serde_json::from_str(&answer.body).expect("an answer in JSON");
        answer["waiting_receives"].as_u64().expect("how many receives wait") as usize
    }

    /// The server's time, in seconds since 1970.
    pub fn now_seconds(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that was set");
        now.as_secs() + self.advanced_seconds
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already, which is all we want.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Asks again and again for what another process brings about.
pub fn patiently<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("POSTHOUSE_BIN") {
        return path.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    target.join("release/posthouse")
}

/// One connection, with one request on it at a time.
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

impl Connection {
    pub fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("an open socket");
        Self { stream: BufReader::new(stream), host: address.to_owned() }
    }

    /// Sends a request.
    pub fn post(&mut self, path: &str, headers: &[String], body: &str) {
        let mut request = format!("POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n", self.host, body.len());
        for header in headers {
            request += header;
            request += "\r\n";
        }
        request += "\r\n";
        request += body;
        self.stream.get_mut().write_all(request.as_bytes()).expect("the server listens");
    }

    /// Whether an answer has begun to arrive.
    pub fn is_answered(&self) -> bool {
        let stream = self.stream.get_ref();
        stream.set_nonblocking(true).expect("an open socket");
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false).expect("an open socket");
        match peeked {
            Ok(bytes) => bytes > 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(error) => panic!("the connection broke: {error}"),
        }
    }

    /// Waits for the answer.
    pub fn answer(&mut self) -> Answer {
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).expect("an open socket");
        let status_line = self.line();
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status line: {status_line}"));
        let line = || Some(self.line()).filter(|line| !line.is_empty());
        let split =
            |line: String| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
        let headers: Vec<_> = std::iter::from_fn(line).filter_map(split).collect();
        let mut answer = Answer { status, headers, body: String::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("the whole body arrives");
        answer.body = String::from_utf8(body).expect("a body of text");
        answer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server answers");
        line.trim_end().to_owned()
    }
}
