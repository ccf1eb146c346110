//! Soak: everything at once, for as long as you like, with restarts and a full disk, and an account at the end.
//!
//! ```text
//!   clients ── requests of all kinds ──▶ posthouse serve, with fsync, on a disk of its own
//!      │                                      ▲ kill -9, SIGTERM, clock moved, disk filled
//!      ▼                                      │
//!   ledger: what was promised              upheaval, samples of memory and disk
//!      │                                      │
//!      └──▶ account: lost 0, duplicated 0 ◀───┴──▶ curves as a picture
//! ```
//!
//! At the end the clock is moved past all delays and timeouts, everything is received and deleted, and whatever is
//! missing, or was delivered when it shouldn't have been, is counted. A message whose send, delete or purge was never
//! answered (the server was killed meanwhile) may be there or not; everything else must be exactly right.

mod chart;
mod clients;
mod dice;
mod disk;
mod ledger;

use crate::load::{Connection, call_once};
use crate::posthouse::{Posthouse, Serving, disk_bytes};
use crate::{process, report};
use chart::{Mark, Panel};
use clients::{Client, Place, Yard, create, encoder, id_of};
use dice::Dice;
use disk::SmallDisk;
use ledger::{Account, Span};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

/// How a soak is made.
#[derive(Clone, Debug)]
pub struct Settings {
    pub duration: Duration,
    pub clients: usize,
    pub seed: u64,
    pub program: PathBuf,
    /// Where the data goes while it runs.
    pub scratch: PathBuf,
}

/// Large enough for the backlogs, small enough to be filled in a moment.
const DISK_BYTES: u64 = 1 << 30;
/// Between two samples of memory and disk.
const SAMPLE: Duration = Duration::from_millis(500);
/// Past every visibility timeout and delay that the clients use, and far from the retention of what must not expire.
const SETTLE_SECONDS: u64 = 3600;
/// The server tidies up after so long without a request; with some time to spare.
const IDLE: Duration = Duration::from_secs(20);

/// What came of it.
pub struct Outcome {
    pub account: Account,
    pub complaints: Vec<String>,
    /// Everything, for machines.
    pub json: Value,
    pub svg: String,
}

/// Runs it. Errors: what keeps it from being carried out; broken promises are in the account.
pub fn run(settings: &Settings) -> io::Result<Outcome> {
    std::fs::create_dir_all(&settings.scratch)?;
    let small_disk = SmallDisk::make(&settings.scratch, DISK_BYTES)
        .inspect_err(|reason| println!("the disk is never full in this run: {reason}"))
        .ok();
    let place = small_disk.as_ref().map_or(&settings.scratch, |disk| &disk.mount);
    let data = place.join("soak-data");
    // What an earlier run left.
    let _ = std::fs::remove_dir_all(&data);
    let posthouse = Posthouse {
        program: settings.program.clone(),
        data: data.clone(),
        log: settings.scratch.join("soak.log"),
        options: ["--test-clock", "--purge-interval-seconds=0", "--segment-bytes=8MiB", "--snapshot-bytes=32MiB"]
            .map(str::to_owned)
            .to_vec(),
    };
    let _ = std::fs::remove_file(&posthouse.log);
    let outcome = {
        let serving = posthouse.start()?;
        let soak = Soak::new(settings, posthouse, serving, small_disk.as_ref());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(LocalSet::new().run_until(soak.run(settings)))
    };
    let _ = std::fs::remove_dir_all(&data);
    outcome
}

/// Memory and disk at a moment.
#[derive(Clone, Copy, Debug)]
struct Sample {
    seconds: f64,
    resident_bytes: u64,
    disk_bytes: u64,
    /// Messages that the ledger takes to be there.
    live: u64,
}

struct Soak<'a> {
    yard: Rc<Yard>,
    posthouse: Posthouse,
    /// None while it is being restarted.
    serving: RefCell<Option<Serving>>,
    small_disk: Option<&'a SmallDisk>,
    start: Instant,
    samples: RefCell<Vec<Sample>>,
    marks: RefCell<Vec<Mark>>,
    restart_seconds_max: Cell<f64>,
}

impl<'a> Soak<'a> {
    fn new(settings: &Settings, posthouse: Posthouse, serving: Serving, small_disk: Option<&'a SmallDisk>) -> Self {
        println!(
            "{} clients for {} s, seed {}, data in {}",
            settings.clients,
            settings.duration.as_secs(),
            settings.seed,
            posthouse.data.display()
        );
        Self {
            yard: Rc::new(Yard::new(serving.address)),
            posthouse,
            serving: RefCell::new(Some(serving)),
            small_disk,
            start: Instant::now(),
            samples: RefCell::default(),
            marks: RefCell::default(),
            restart_seconds_max: Cell::new(0.0),
        }
    }

    async fn run(self, settings: &Settings) -> io::Result<Outcome> {
        let yard = self.yard.clone();
        let address = *yard.address.read().await;
        for place in &yard.queues {
            call_once(address, &create(address, place))?;
        }
        let mut dice = Dice::new(settings.seed);
        let clients: Vec<_> = (0..settings.clients)
            .map(|_| tokio::task::spawn_local(Client::new(yard.clone(), dice.fork()).run()))
            .collect();
        let upheaval = self.upheave(dice, settings.duration);
        let work = async {
            upheaval.await?;
            yard.is_over.set(true);
            for client in clients {
                client.await.map_err(io::Error::other)?;
            }
            self.settle().await
        };
        let miscounted = tokio::select! {
            miscounted = work => miscounted?,
            () = self.sample() => unreachable!("sampling goes on for ever"),
        };
        let account = yard.ledger.borrow_mut().settle(yard.now(), miscounted);
        self.outcome(settings, account)
    }

    /// Restarts, moves the clock and fills the disk until the time has come.
    async fn upheave(&self, mut dice: Dice, duration: Duration) -> io::Result<()> {
        while self.start.elapsed() < duration {
            tokio::time::sleep(Duration::from_millis(dice.between(300, 2_500))).await;
            match dice.below(100) {
                0..12 => self.restart(Serving::kill, "kill -9", "#c22").await?,
                12..20 => self.restart(|serving| serving.terminate().map(drop), "SIGTERM", "#e80").await?,
                20..25 => self.fill_disk(Duration::from_secs(dice.between(2, 12))).await?,
                _ => self.advance_clock(dice.between(1, 20)).await?,
            }
        }
        Ok(())
    }

    async fn restart(
        &self,
        stop: fn(Serving) -> io::Result<()>,
        kind: &'static str,
        colour: &'static str,
    ) -> io::Result<()> {
        self.mark(kind, colour);
        let serving = self.serving.borrow_mut().take().expect("nobody else restarts it");
        // It ends while clients are waiting for answers.
        tokio::task::spawn_blocking(move || stop(serving)).await.map_err(io::Error::other)??;
        let mut address = self.yard.address.write().await;
        let posthouse = self.posthouse.clone();
        let serving = tokio::task::spawn_blocking(move || posthouse.start()).await.map_err(io::Error::other)??;
        self.restart_seconds_max.set(self.restart_seconds_max.get().max(serving.first_answer.as_secs_f64()));
        *address = serving.address;
        *self.serving.borrow_mut() = Some(serving);
        // A test clock begins anew with each process.
        move_clock(*address, self.yard.ahead.get().1 as f64 / 1000.0).await
    }

    async fn advance_clock(&self, seconds: u64) -> io::Result<()> {
        let address = self.yard.address.read().await;
        let (least, most) = self.yard.ahead.get();
        let after = most + seconds * 1000;
        self.yard.ahead.set((least, after));
        move_clock(*address, seconds as f64).await?;
        self.yard.ahead.set((after, after));
        Ok(())
    }

    async fn fill_disk(&self, time: Duration) -> io::Result<()> {
        let Some(disk) = self.small_disk else { return Ok(()) };
        self.mark("disk full", "#82c");
        self.yard.is_full.set(true);
        disk.fill()?;
        tokio::time::sleep(time).await;
        disk.empty()?;
        // The server notices within a second or two.
        tokio::time::sleep(Duration::from_secs(3)).await;
        self.yard.is_full.set(false);
        self.mark("disk free", "#393");
        Ok(())
    }

    /// Receives and deletes all that is left, and then the queues. Returns how many messages the queues still counted.
    async fn settle(&self) -> io::Result<u64> {
        self.advance_clock(SETTLE_SECONDS).await?;
        self.mark("settling", "#888");
        let yard = &self.yard;
        let address = *yard.address.read().await;
        let mut connection = Connection::new(address);
        let mut miscounted = 0;
        for place in &yard.queues {
            while self.drain_some(&mut connection, address, place).await? {}
            miscounted += counted(&mut connection, address, place).await?;
        }
        for place in &yard.queues {
            ask(&mut connection, address, "DeleteQueue", place, json!({})).await?;
        }
        tokio::time::sleep(IDLE).await;
        Ok(miscounted)
    }

    /// False once the queue is empty.
    async fn drain_some(&self, connection: &mut Connection, address: SocketAddr, place: &Place) -> io::Result<bool> {
        let hidden_seconds = 3600;
        let members = json!({ "MaxNumberOfMessages": 10, "VisibilityTimeout": hidden_seconds, "WaitTimeSeconds": 1 });
        let from = self.yard.now().from;
        let reply = ask(connection, address, "ReceiveMessage", place, members).await?;
        let at = Span { from, to: self.yard.now().to };
        let mut entries = Vec::new();
        let mut received = Vec::new();
        for message in reply["Messages"].as_array().into_iter().flatten() {
            let (body, receipt) = (&message["Body"], &message["ReceiptHandle"]);
            let (body, receipt) = (body.as_str().unwrap_or_default(), receipt.as_str().unwrap_or_default());
            entries.push(json!({ "Id": entries.len().to_string(), "ReceiptHandle": receipt }));
            let mut ledger = self.yard.ledger.borrow_mut();
            match id_of(body, place.index) {
                Some(id) => {
                    ledger.delivered(id, place.index, at, hidden_seconds, receipt);
                    received.push((id, receipt.to_owned()));
                }
                None => ledger.never_sent(&format!("{body:?}, from queue {}", place.index)),
            }
        }
        if entries.is_empty() {
            return Ok(false);
        }
        let reply = ask(connection, address, "DeleteMessageBatch", place, json!({ "Entries": entries })).await?;
        if reply["Failed"].as_array().is_some_and(|failed| !failed.is_empty()) {
            return Err(io::Error::other(format!("cannot delete what was just received: {reply}")));
        }
        let at = self.yard.now();
        received.iter().for_each(|(id, receipt)| self.yard.ledger.borrow_mut().deleted(*id, receipt, at));
        Ok(true)
    }

    /// Notes memory and disk until it is dropped.
    async fn sample(&self) {
        loop {
            let pid = self.serving.borrow().as_ref().map(Serving::pid);
            if let Some(memory) = pid.and_then(|pid| process::memory(pid).ok()) {
                self.samples.borrow_mut().push(Sample {
                    seconds: self.start.elapsed().as_secs_f64(),
                    resident_bytes: memory.resident_bytes,
                    disk_bytes: disk_bytes(&self.posthouse.data),
                    live: self.yard.ledger.borrow().live_total(),
                });
            }
            tokio::time::sleep(SAMPLE).await;
        }
    }

    fn mark(&self, kind: &'static str, colour: &'static str) {
        self.marks.borrow_mut().push(Mark { seconds: self.start.elapsed().as_secs_f64(), kind, colour });
    }

    fn outcome(&self, settings: &Settings, account: Account) -> io::Result<Outcome> {
        let (samples, marks) = (self.samples.borrow(), self.marks.borrow());
        let complaints = self.yard.ledger.borrow().complaints().to_vec();
        let events = |kind: &str| marks.iter().filter(|mark| mark.kind == kind).count();
        let most = |value: fn(&Sample) -> u64| samples.iter().map(value).max().unwrap_or(0);
        let json = json!({
            "at": report::now_text(),
            "seed": settings.seed,
            "seconds": settings.duration.as_secs(),
            "clients": settings.clients,
            "account": account,
            "complaints": complaints,
            "operations": *self.yard.operations.borrow(),
            "errors": *self.yard.errors.borrow(),
            "kills": events("kill -9"),
            "terminations": events("SIGTERM"),
            "full_disks": events("disk full"),
            "clock_moved_seconds": self.yard.ahead.get().0 / 1000,
            "restart_seconds_max": self.restart_seconds_max.get(),
            "resident_bytes_max": most(|sample| sample.resident_bytes),
            "disk_bytes_max": most(|sample| sample.disk_bytes),
            "disk_bytes_at_the_end": samples.last().map(|sample| sample.disk_bytes),
            "live_max": most(|sample| sample.live),
            "samples": samples.iter().map(|sample| {
                json!([sample.seconds, sample.resident_bytes, sample.disk_bytes, sample.live])
            }).collect::<Vec<_>>(),
        });
        let curve = |title: &str, value: &dyn Fn(&Sample) -> f64| Panel {
            title: title.to_owned(),
            points: samples.iter().map(|sample| (sample.seconds, value(sample))).collect(),
        };
        const MEBIBYTE: f64 = 1024.0 * 1024.0;
        let panels = [
            curve("Resident memory, MiB", &|sample| sample.resident_bytes as f64 / MEBIBYTE),
            curve("Data directory, MiB on disk", &|sample| sample.disk_bytes as f64 / MEBIBYTE),
            curve("Messages waiting, delayed or in flight", &|sample| sample.live as f64),
        ];
        let title = format!(
            "Soak of {} s, seed {}: {} acknowledged, {} delivered, {} deleted, {} lost, {} duplicated",
            settings.duration.as_secs(),
            settings.seed,
            account.acknowledged,
            account.delivered,
            account.deleted,
            account.lost,
            account.duplicated
        );
        Ok(Outcome { svg: chart::draw(&title, &panels, &marks), account, complaints, json })
    }
}

/// Moves the server's clock ahead.
async fn move_clock(address: SocketAddr, seconds: f64) -> io::Result<()> {
    let body = json!({ "seconds": seconds }).to_string();
    let request = format!(
        "POST /_posthouse/clock/advance HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connection = Connection::new(address);
    let reply = connection.call(request.as_bytes()).await.map_err(|error| io::Error::other(error.kind()))?;
    match reply.status {
        200 => Ok(()),
        status => Err(io::Error::other(format!("the clock couldn't be moved: status {status}"))),
    }
}

/// A request that must succeed: at the end nobody disturbs the server any more.
async fn ask(
    connection: &mut Connection,
    address: SocketAddr,
    operation: &str,
    place: &Place,
    mut members: Value,
) -> io::Result<Value> {
    members["QueueUrl"] = json!(format!("http://{address}/000000000000/{}", place.name));
    let request = encoder(address).json(operation, &members);
    let reply = connection.call(&request).await.map_err(|error| io::Error::other(error.kind()))?;
    let text = String::from_utf8_lossy(reply.body);
    if reply.status != 200 {
        return Err(io::Error::other(format!("{operation} at the end: {} {text}", reply.status)));
    }
    Ok(serde_json::from_slice(reply.body).unwrap_or(Value::Null))
}

/// How many messages a queue says that it holds.
async fn counted(connection: &mut Connection, address: SocketAddr, place: &Place) -> io::Result<u64> {
    let reply = ask(connection, address, "GetQueueAttributes", place, json!({ "AttributeNames": ["All"] })).await?;
    let count = |name: &str| reply["Attributes"][name].as_str().and_then(|text| text.parse::<u64>().ok());
    let names = ["", "NotVisible", "Delayed"].map(|kind| format!("ApproximateNumberOfMessages{kind}"));
    Ok(names.iter().map(|name| count(name).unwrap_or(1)).sum())
}

/// Prints the account, and writes picture and JSON to `directory`.
pub fn publish(outcome: &Outcome, directory: &Path) -> io::Result<()> {
    let account = serde_json::to_value(&outcome.account).map_err(io::Error::other)?;
    for name in ["operations", "errors"] {
        println!("\n{name}");
        for (kind, count) in outcome.json[name].as_object().into_iter().flatten() {
            println!("  {count:>9} {kind}");
        }
    }
    println!("\naccount");
    for (name, count) in account.as_object().into_iter().flatten() {
        println!("  {count:>9} {}", name.replace('_', " "));
    }
    for name in ["kills", "terminations", "full_disks", "restart_seconds_max", "resident_bytes_max", "disk_bytes_max"] {
        println!("  {:>9} {}", outcome.json[name], name.replace('_', " "));
    }
    println!("  {:>9} disk bytes at the end", outcome.json["disk_bytes_at_the_end"]);
    outcome.complaints.iter().for_each(|complaint| println!("broken: {complaint}"));
    std::fs::create_dir_all(directory)?;
    let date = outcome.json["at"].as_str().unwrap_or_default().replace([':', '-'], "");
    let path = directory.join(format!("soak-{date}"));
    std::fs::write(path.with_extension("svg"), &outcome.svg)?;
    std::fs::write(path.with_extension("json"), serde_json::to_string_pretty(&outcome.json)?)?;
    println!("\nwritten to {0}.svg and {0}.json", path.display());
    Ok(())
}
