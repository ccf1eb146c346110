//! The power goes, over and over, on a real file system.
//!
//! ```text
//!   round:  load ──EXT4_IOC_SHUTDOWN──▶ SIGKILL ──▶ umount, mount ──▶ verify ──▶ restart ──▶ drain ──▶ compare ──▶ load …
//! ```
//!
//! ext4 on a loop device is shut down by its own request for tests: from that moment on nothing reaches the disk, neither
//! file contents nor what its journal holds in memory. What was never synced is gone, as after a power cut.
//!
//! Needs Linux, root, loop devices, mkfs.ext4 and python3. Where one is missing it says `skipped:` and which.

use crate::ledger::{Random, compare, delete_all_but_a_few, drain, run_load};
use conformance::{Connection, Server, posthouse};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const ROUNDS: u64 = 12;
/// The load before a cut lasts between these, in milliseconds.
const LOAD_MILLIS: (u64, u64) = (50, 900);
const DISK_BYTES: u64 = 256 << 20;

/// Segments and snapshots as small as they may be, so that they come and go within a round or two.
const SMALL: [&str; 4] = ["--segment-bytes", "8MiB", "--snapshot-bytes", "8MiB"];

#[test]
fn a_power_cut_loses_nothing_acknowledged() {
    let Some(mut disk) = Ext4::mount_or_say() else { return };
    let options = [&["--durability", "fsync"][..], &SMALL].concat();
    let mut server = Server::start_on(&disk.data(), &options);
    let mut queue = server.connect().must("CreateQueue", &json!({ "QueueName": "q" }))["QueueUrl"].clone();
    let ballast = server.connect().must("CreateQueue", &json!({ "QueueName": "ballast" }))["QueueUrl"].clone();
    let mut random = Random(43);
    let mut live: BTreeMap<String, String> = BTreeMap::new();
    let (mut sends, mut deletes) = (0, 0);

    for round in 1..=ROUNDS {
        let load = Duration::from_millis(random.between(LOAD_MILLIS));
        let address = server.address().to_owned();
        let ledger = std::thread::scope(|scope| {
            scope.spawn(|| send_ballast(&address, &ballast));
            run_load(&mut server, &queue, round, load, |server| {
                disk.cut_the_power();
                server.kill();
            })
        });
        sends += ledger.send_acknowledged.len();
        deletes += ledger.delete_acknowledged.len();
        disk.remount();
        verify(&disk.data());

        server.restart();
        server.advance(round * 100);
        let mut connection = server.connect();
        queue = connection.must("GetQueueUrl", &json!({ "QueueName": "q" }))["QueueUrl"].clone();
        let found = drain(&mut connection, &queue);
        compare(&live, &ledger, &found, round);
        live = found.into_iter().map(|(body, (id, _))| (body, id)).collect();
        delete_all_but_a_few(&mut connection, &queue, &mut live, &server, round);
        connection.must("PurgeQueue", &json!({ "QueueUrl": ballast }));
    }
    server.kill();
    println!("{ROUNDS} power cuts: {sends} sends and {deletes} deletes acknowledged, each of them kept");
    println!("{}", verify(&disk.data()));
    let first_segment = disk.data().join("journal/00000000000000004096.log");
    assert!(!first_segment.exists(), "there was no snapshot with which old segments went");
    assert!(sends as u64 > ROUNDS && deletes as u64 > ROUNDS, "the load was too light to show anything");
}

/// Sends long messages until the server fails, so that segments fill up, snapshots are made and segments are used again.
fn send_ballast(address: &str, queue: &Value) {
    let Ok(mut connection) = Connection::open(address) else { return };
    let body = "b".repeat(100_000);
    while connection
        .call("SendMessage", &json!({ "QueueUrl": queue, "MessageBody": body }))
        .is_ok_and(|answer| answer.status == 200)
    {}
}

/// What the test above is worth: where the server doesn't sync, the same cut does lose messages. The data still opens, and
/// holds what was there at some earlier moment.
#[test]
fn without_syncs_a_power_cut_loses_messages_and_nothing_else() {
    let Some(mut disk) = Ext4::mount_or_say() else { return };
    let mut server = Server::start_on(&disk.data(), &["--durability", "os"]);
    let queue = server.connect().must("CreateQueue", &json!({ "QueueName": "q" }))["QueueUrl"].clone();
    server.kill();
    // What the operating system has is kept when only the program ends. Unmounting writes it down.
    disk.unmount();
    disk.mount();
    server.restart();
    let load = Duration::from_millis(500);
    let ledger = run_load(&mut server, &queue, 1, load, |server| {
        disk.cut_the_power();
        server.kill();
    });
    disk.remount();
    verify(&disk.data());
    server.restart();
    server.advance(1_000);
    let found = drain(&mut server.connect(), &queue);
    server.kill();
    let lost = ledger
        .send_acknowledged
        .keys()
        .filter(|body| !found.contains_key(*body) && !ledger.delete_asked.contains(*body));
    assert!(lost.count() > 0, "{} acknowledged messages survived a power cut without any sync", found.len());
    assert!(found.keys().all(|body| ledger.send_asked.contains(body)), "what is there was sent");
}

/// Checks the data directory, which must be sound whatever the cut has left of it.
fn verify(data: &Path) -> String {
    let output = posthouse(&["journal", "verify", data.to_str().expect("a path that is text")]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// An ext4 file system in a file.
struct Ext4 {
    home: tempfile::TempDir,
    is_mounted: bool,
}

/// From `include/uapi/linux/ext4.h`: `_IOR('X', 125, __u32)`, with EXT4_GOING_FLAGS_NOLOGFLUSH.
const SHUT_DOWN: &str = "\
import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack('I', 2))";

impl Ext4 {
    /// Nothing where this machine can't; then it has said why.
    fn mount_or_say() -> Option<Self> {
        match Self::new() {
            Ok(disk) => Some(disk),
            Err(reason) => {
                // On a line of its own, whatever the test runner has begun to say.
                println!("\nskipped: no power was cut, for {reason}");
                None
            }
        }
    }

    fn new() -> Result<Self, String> {
        let home = tempfile::tempdir().expect("a temporary directory");
        let mut disk = Self { home, is_mounted: false };
        run("python3", &["--version"])?;
        run("losetup", &["--find"])?;
        let image = std::fs::File::create(disk.image()).expect("a file in a temporary directory");
        image.set_len(DISK_BYTES).map_err(|error| format!("there is no room for a disk: {error}"))?;
        run("mkfs.ext4", &["-q", "-F", &text(&disk.image())])?;
        std::fs::create_dir(disk.mount_point()).expect("a directory in a temporary directory");
        disk.try_mount()?;
        Ok(disk)
    }

    fn image(&self) -> PathBuf {
        self.home.path().join("disk.img")
    }

    fn mount_point(&self) -> PathBuf {
        self.home.path().join("mnt")
    }

    fn data(&self) -> PathBuf {
        self.mount_point().join("data")
    }

    fn try_mount(&mut self) -> Result<(), String> {
        run("mount", &["-o", "loop", &text(&self.image()), &text(&self.mount_point())])?;
        self.is_mounted = true;
        Ok(())
    }

    fn mount(&mut self) {
        self.try_mount().expect("it was mounted before");
    }

    fn unmount(&mut self) {
        run("umount", &[&text(&self.mount_point())]).expect("nobody uses it");
        self.is_mounted = false;
    }

    fn cut_the_power(&self) {
        run("python3", &["-c", SHUT_DOWN, &text(&self.mount_point())]).expect("ext4 can be shut down");
    }

    /// The file system's own recovery happens here.
    fn remount(&mut self) {
        self.unmount();
        self.mount();
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        if self.is_mounted {
            // A server that still runs, since a test failed, keeps it from going at once.
            let _ = run("umount", &["--lazy", &text(&self.mount_point())]);
        }
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path that is text").to_owned()
}

/// Runs a tool of the system.
///
/// Errors: what it says, in one line.
fn run(tool: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(tool).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{tool} does not run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
    if output.status.success() { Ok(()) } else { Err(format!("{tool} failed: {said}")) }
}
