//! Start, run, stop.
//!
//! ```text
//!   recover the data ─▶ make declared queues ─▶ bind ─▶ "listening on …" ─▶ serve
//!                                                                             │ SIGTERM, SIGINT
//!   release the data ◀─ write what was asked ◀─ requests end ◀─ long polls return ◀─ accept no more
//! ```

use crate::config::{Config, DeclaredQueue};
use crate::http::App;
use crate::http::app::reachable;
use crate::listen::Connections;
use crate::log;
use crate::settings::Settings;
use engine::{Durability, Engine, Running};
use host::clock::{AdvancedClock, Clock, SystemClock};
use host::disk::RealDisk;
use host::entropy::{Entropy, SystemEntropy};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use service::Rules;
use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::timeout;

/// Runs the server until it is told to stop.
///
/// Errors: why it didn't start, as a sentence for people.
pub fn run(config: &Config) -> Result<(), String> {
    log::start(config.settings.log_format, config.settings.log_level);
    allow_many_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start threads: {error}"))?;
    runtime.block_on(async {
        let signals = StopSignals::listen()?;
        let server = Server::open(config).await?;
        server.announce(&config.settings);
        server.run(signals.first()).await;
        Ok(())
    })
}

/// A server that listens, and whose data is open.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    connections: Arc<Connections>,
    stop: watch::Sender<bool>,
    shutdown_max: Duration,
}

impl Server {
    /// Opens the data, makes the declared queues, and listens. Requests wait until [`Self::run`].
    ///
    /// Errors: as [`run`].
    pub async fn open(config: &Config) -> Result<Self, String> {
        let settings = &config.settings;
        let rules = Arc::new(Rules {
            purge_interval_seconds: settings.purge_interval_seconds,
            deleted_name_seconds: settings.deleted_name_seconds,
            in_flight_max: settings.in_flight_max,
            ..Rules::default()
        });
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy::default());
        let test_clock = settings.test_clock.then(|| Arc::new(AdvancedClock::default()));
        let running = start_engine(settings, &rules, entropy.clone(), test_clock.clone())?;
        for queue in &config.queues {
            declare(queue, settings, &rules, &running).await?;
        }

        let cannot = |error| format!("cannot listen on {}: {error}", settings.listen);
        let listener = TcpListener::bind(settings.listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "anyone who reaches this address can read and delete all messages: nothing is signed");
        }
        let app = Arc::new(App::new(settings, address, running, rules, entropy, test_clock));
        let (stop, stopping) = watch::channel(false);
        let connections = Arc::new(Connections::new(app.clone(), settings, stopping));
        let shutdown_max = Duration::from_secs(settings.shutdown_seconds_max.into());
        Ok(Self { listener, address, app, connections, stop, shutdown_max })
    }

    /// Where it listens: the real port where any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stopped`, then lets the requests under way end and the data rest.
    pub async fn run(self, stopped: impl Future<Output = ()>) {
        let Self { listener, app, connections, stop, shutdown_max, .. } = self;
        let accepting = tokio::spawn(connections.clone().accept(listener));
        stopped.await;

        tracing::info!("stopping");
        stop.send_replace(true);
        // Whatever ended it, it accepts no more.
        let _ = accepting.await;
        app.running.drain();
        if timeout(shutdown_max, connections.ended()).await.is_err() {
            let seconds = shutdown_max.as_secs();
            tracing::warn!(seconds, "requests that have not ended in time are cut off");
        }
        // Where connections were cut off, the data rests once they are gone.
        drop(connections);
        if let Ok(app) = Arc::try_unwrap(app) {
            app.running.stop();
            tracing::info!("stopped");
        }
    }

    /// The engine behind it, for whoever wants to see how it is.
    pub fn engine(&self) -> Engine {
        self.app.engine.clone()
    }

    /// Says where it is and what to do with it.
    fn announce(&self, settings: &Settings) {
        let (address, endpoint) = (self.address, reachable(self.address));
        let Settings { region, data, durability, .. } = settings;
        let promise = match durability {
            Durability::Fsync => "once a message is acknowledged it is on disk, and survives a crash and a power cut",
            Durability::Os => {
                "an acknowledged message survives a crash of this program, but a power cut can lose the last seconds"
            }
            Durability::Memory => "nothing is written to disk: all messages are gone when this program ends",
        };
        let place = match durability {
            Durability::Memory => "data in memory".to_owned(),
            Durability::Fsync | Durability::Os => format!("data in {}", data.display()),
        };
        let text = format!(
            "listening on http://{address}\n\
             {place}: {promise}\n\
             try: AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test aws --region {region} \
             --endpoint-url http://{endpoint} sqs create-queue --queue-name orders\n"
        );
        // Nobody has to listen to this.
        let _ = std::io::stdout().write_all(text.as_bytes());
        let _ = std::io::stdout().flush();
    }
}

fn start_engine(
    settings: &Settings,
    rules: &Rules,
    entropy: Arc<dyn Entropy>,
    test_clock: Option<Arc<AdvancedClock>>,
) -> Result<Running, String> {
    let clock: Arc<dyn Clock> = match test_clock {
        Some(clock) => clock,
        None => Arc::new(SystemClock),
    };
    let running = engine::start(engine::Options {
        durability: settings.durability,
        rules: rules.clone(),
        segment_bytes: settings.segment_bytes.0,
        snapshot_bytes: settings.snapshot_bytes.0,
        payload_cache_bytes: settings.payload_cache_bytes.as_usize(),
        ..engine::Options::new(settings.data.clone(), clock, entropy, Arc::new(RealDisk))
    })
    .map_err(|error| format!("cannot open the data in `{}`: {error}", settings.data.display()))?;
    let opened = running.opened();
    tracing::info!(created = opened.created, queues = opened.queues, messages = opened.messages, "data is open");
    if let Some((file, byte, bytes)) = &opened.torn {
        let file = file.display();
        tracing::warn!(%file, byte, bytes, "a crash cut the last write short; it was not acknowledged, and is gone");
    }
    Ok(running)
}

async fn declare(queue: &DeclaredQueue, settings: &Settings, rules: &Rules, running: &Running) -> Result<(), String> {
    let DeclaredQueue { name, region, account, attributes, tags, source } = queue;
    let account = account.clone().unwrap_or_else(|| settings.default_account.clone());
    let region = region.clone().unwrap_or_else(|| settings.region.clone());
    service::sqs::declare(&running.engine(), rules, account, region, name, attributes.clone(), tags.clone())
        .await
        .map_err(|error| format!("{source}: cannot make the queue {name:?}: {error}"))
}

/// Lets this process have as many files open, connections among them, as the system allows it.
fn allow_many_files() {
    let Rlimit { maximum, current } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
}

/// The signals that ask a program to end.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> Result<Self, String> {
        let on = |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
        Ok(Self { terminate: on(SignalKind::terminate())?, interrupt: on(SignalKind::interrupt())? })
    }

    /// Waits for the first one. The second, if it comes, ends the process at once.
    async fn first(mut self) {
        self.next().await;
        tokio::spawn(async move {
            self.next().await;
            tracing::warn!("asked a second time to stop: what is under way is cut off");
            std::process::exit(1);
        });
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
