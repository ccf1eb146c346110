//! The server in this process, on a real socket, with its data on the disk.

use crate::http::Connection;
use engine::Engine;
use server::config::{CommandLine, Config};
use server::settings::Settings;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long anything may take that takes no time of its own. Reached only where something is broken.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A server with a clock that tests move.
pub struct Server {
    address: SocketAddr,
    engine: Engine,
    stop: Option<oneshot::Sender<()>>,
    ended: Option<JoinHandle<()>>,
    advanced_seconds: u64,
    next_account: u64,
    // Fields are dropped in this order.
    runtime: Runtime,
    _data: tempfile::TempDir,
}

impl Server {
    /// Starts a server with these settings.
    pub fn start(settings: &[(String, u32)]) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let always = [
            ("listen", "127.0.0.1:0".to_owned()),
            ("data", data.path().display().to_string()),
            ("test_clock", "true".to_owned()),
            ("segment_bytes", "8MiB".to_owned()),
        ];
        let settings = settings.iter().map(|(name, value)| (name.as_str(), value.to_string()));
        let flag = |(name, text): (&str, String)| (Settings::by_key(name).expect("a setting"), text);
        let flags = always.into_iter().chain(settings).map(flag).collect();
        let config = Config::load(CommandLine { file: None, flags }, []).expect("settings that fit");

        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
        let server = runtime.block_on(server::serve::Server::open(&config)).expect("it starts");
        let (address, engine) = (server.address(), server.engine());
        let (stop, stopped) = oneshot::channel();
        let ended = runtime.spawn(server.run(async {
            // Dropping the other end stops it as well.
            let _ = stopped.await;
        }));
        Self {
            address,
            engine,
            stop: Some(stop),
            ended: Some(ended),
            advanced_seconds: 0,
            next_account: 1,
            runtime,
            _data: data,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// An account that nobody has used. Accounts share nothing but the clock.
    pub fn new_account(&mut self) -> String {
        let account = self.next_account;
        self.next_account += 1;
        format!("{account:012}")
    }

    /// How many receives wait.
    pub fn waiting_count(&self) -> usize {
        self.engine.waiting_count()
    }

    /// Moves the clock.
    pub fn advance(&mut self, seconds: u64) {
        let mut connection = Connection::open(self.address);
        connection.post("/_posthouse/clock/advance", &[], &format!(r#"{{"seconds": {seconds}}}"#));
        let answer = connection.answer();
        assert_eq!(answer.status, 200, "{answer:?}");
        self.advanced_seconds += seconds;
    }

    /// The server's time, in seconds since 1970.
    pub fn now_seconds(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that was set");
        now.as_secs() + self.advanced_seconds
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(ended) = self.ended.take() {
            // A server that ended in a panic has said so.
            let _ = self.runtime.block_on(ended);
        }
    }
}

/// Waits for what other threads bring about.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::yield_now();
    }
}
