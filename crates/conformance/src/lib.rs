//! The real binary as a process, and the plainest client for it.
//!
//! ```text
//!   test ── Connection ──HTTP/1.1, AWS JSON──▶ posthouse serve   (a process of its own, killed when dropped)
//! ```
//!
//! The SDK is a client too, but one that retries, pools and buffers: tests that kill the server must know which bytes
//! left and which arrived, so they talk over `std::net` alone.

use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long the server may take to say where it listens. Recovery is part of it.
const START_SECONDS_MAX: u64 = 20;

/// How long an answer may take, long polls included.
const ANSWER_SECONDS_MAX: u64 = 30;

/// `posthouse serve` on a free port, with a data directory of its own and a clock that tests move.
pub struct Server {
    process: Child,
    /// For its log, and for its data where that lies nowhere else.
    home: tempfile::TempDir,
    data: PathBuf,
    options: Vec<String>,
    address: String,
}

impl Server {
    /// Starts the binary that `CONFORMANCE_BIN` names, or else the release build of this workspace.
    ///
    /// Panics where there is none, or where it doesn't start.
    pub fn start(durability: &'static str) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let data = home.path().join("data");
        Self::start_in(home, data, &["--durability", durability])
    }

    /// Starts on data that lies elsewhere, with further options.
    pub fn start_on(data: &Path, options: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().expect("a temporary directory"), data.to_path_buf(), options)
    }

    fn start_in(home: tempfile::TempDir, data: PathBuf, options: &[&str]) -> Self {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let (process, address) = spawn(home.path(), &data, &options);
        Self { process, home, data, options, address }
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// `127.0.0.1:4566`
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// SIGKILL: nothing in the process can prepare for it.
    pub fn kill(&mut self) {
        self.process.kill().expect("the server was running");
        self.process.wait().expect("it is our child");
    }

    /// Starts again on the same data, after [`Server::kill`].
    pub fn restart(&mut self) {
        (self.process, self.address) = spawn(self.home.path(), &self.data, &self.options);
    }

    /// Moves the server's clock forward.
    pub fn advance(&self, seconds: u64) {
        let body = format!(r#"{{"seconds": {seconds}}}"#);
        let mut connection = self.connect();
        let answer = connection.post("/_posthouse/clock/advance", &[], &body).expect("the server is running");
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    pub fn connect(&self) -> Connection {
        Connection::open(&self.address).expect("the server is listening")
    }

    /// What the process wrote, for the message of a failed test.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already, which is all we want.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("CONFORMANCE_BIN") {
        return path.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    let binary = target.join("release/posthouse");
    assert!(binary.exists(), "{} is missing: build it with `cargo build --release -p server`", binary.display());
    binary
}

/// Runs another task of the program to its end.
pub fn posthouse(arguments: &[&str]) -> Output {
    Command::new(binary()).args(arguments).stdin(Stdio::null()).output().expect("the binary runs")
}

/// Starts the process and waits for the line that says where it listens.
fn spawn(home: &Path, data: &Path, options: &[String]) -> (Child, String) {
    let binary = binary();
    let log_path = home.join("log");
    let log = || File::create(&log_path).expect("a log file");
    let output = log();
    let mut process = Command::new(&binary)
        .args(["serve", "--listen", "127.0.0.1:0", "--test-clock", "--data"])
        .arg(data)
        .args(options)
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("a second handle on the log"))
        .stderr(output)
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {}: {error}", binary.display()));

    let deadline = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
    loop {
        let said = fs::read_to_string(&log_path).unwrap_or_default();
        if let Some((_, rest)) = said.split_once("listening on http://")
            && let Some(end) = rest.find(|c: char| c.is_whitespace() || c == '\x1b')
        {
            return (process, rest[..end].to_owned());
        }
        let ended = process.try_wait().expect("it is our child");
        assert!(ended.is_none() && Instant::now() < deadline, "the server did not start ({ended:?}):\n{said}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One HTTP/1.1 connection that speaks AWS JSON.
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
}

/// An answer in the JSON protocol.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    /// The error's name, without its namespace; empty where the answer is no error.
    pub fn error_name(&self) -> &str {
        self.body["__type"].as_str().map(|name| name.rsplit('#').next().unwrap_or(name)).unwrap_or("")
    }
}

impl Connection {
    pub fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX)))?;
        Ok(Self { stream: BufReader::new(stream), host: address.to_owned() })
    }

    /// One operation of SQS.
    ///
    /// Errors: the connection broke. Then nobody knows whether it was carried out.
    pub fn call(&mut self, operation: &str, members: &Value) -> io::Result<Answer> {
        let target = format!("X-Amz-Target: AmazonSQS.{operation}");
        self.post("/", &["Content-Type: application/x-amz-json-1.0", &target], &members.to_string())
    }

    /// One operation that must succeed.
    pub fn must(&mut self, operation: &str, members: &Value) -> Value {
        let answer = self.call(operation, members).expect("the server is running");
        assert_eq!(answer.status, 200, "{operation} {members}: {answer:?}");
        answer.body
    }

    fn post(&mut self, path: &str, headers: &[&str], body: &str) -> io::Result<Answer> {
        let mut request = format!("POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n", self.host, body.len());
        for header in headers {
            request.push_str(header);
            request.push_str("\r\n");
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.read_answer()
    }

    fn read_answer(&mut self) -> io::Result<Answer> {
        let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let status_line = self.read_line()?;
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let mut body_bytes = 0;
        loop {
            let line = self.read_line()?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                body_bytes = value.trim().parse().map_err(|_| broken())?;
            }
        }
        let mut body = vec![0; body_bytes];
        self.stream.read_exact(&mut body)?;
        Ok(Answer { status, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
