//! Data files, as text for people.

use bytes::Bytes;
use host::clock::{Clock, SystemClock};
use host::disk::RealDisk;
use journal::{Content, RECORD_HEADER_BYTES};
use shard::Entry;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Prints what a segment, a snapshot or a page holds.
///
/// Errors: sentences for people.
pub fn dump(file: &Path) -> Result<(), String> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let dumped = journal::dump(&RealDisk, file, &mut out, &describe);
    match dumped.and_then(|()| io::Write::flush(&mut out).map_err(journal::DumpError::Output)) {
        Err(journal::DumpError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(|error| error.to_string()),
    }
}

/// Checks a whole data directory. What is found is printed, and at last how much was looked at.
///
/// Errors: sentences for people: something is wrong, or it can't be looked at.
pub fn verify(data: &Path) -> Result<(), String> {
    // An assertion that fails on what is stored is a finding, told with the others.
    std::panic::set_hook(Box::new(|_| {}));
    let clock = SystemClock;
    let mut told_at = clock.now_milliseconds();
    let mut progress = |what: &str| {
        let now = clock.now_milliseconds();
        if now.saturating_sub(told_at) >= PROGRESS_MILLISECONDS {
            told_at = now;
            eprintln!("posthouse: {what}");
        }
    };
    let report = engine::verify::verify(Arc::new(RealDisk), data, &mut progress)?;
    let mut lines = String::new();
    report.notes.iter().for_each(|note| lines += &format!("note: {note}\n"));
    report.findings.iter().for_each(|finding| lines += &format!("{finding}\n"));
    let untold = report.findings_count - report.findings.len() as u64;
    if untold > 0 {
        lines += &format!("… and {untold} more\n");
    }
    lines += &format!("{}\n", report.counts);
    // Whoever closed the pipe has read enough, and sees the exit code.
    let _ = io::Write::write_all(&mut io::stdout(), lines.as_bytes());
    match report.findings_count {
        0 => {
            let _ = io::Write::write_all(&mut io::stdout(), b"all is sound\n");
            Ok(())
        }
        1 => Err(format!("1 thing is wrong in `{}`", data.display())),
        many => Err(format!("{many} things are wrong in `{}`", data.display())),
    }
}

/// One says what one is at so often at most.
const PROGRESS_MILLISECONDS: u64 = 1_000;

/// Gives up the record at `byte` and all later ones.
///
/// Errors: sentences for people.
pub fn cut(file: &Path, byte: u64) -> Result<(), String> {
    // data/journal/4096.log
    let file = std::path::absolute(file).map_err(|error| format!("cannot find `{}`: {error}", file.display()))?;
    let data = file.ancestors().nth(2).ok_or_else(|| format!("`{}` is in no data directory", file.display()))?;
    let _lock =
        host::disk::Disk::lock_dir(&RealDisk, data).map_err(|error| format!("`{}` is {error}", data.display()))?;
    let given_up = journal::cut(&RealDisk, &file, byte).map_err(|error| error.to_string())?;
    println!("`{}` ends at byte {byte} now", file.display());
    for path in given_up {
        println!("given up: `{}`", path.display());
    }
    Ok(())
}

fn describe(content: Content, bytes: &[u8]) -> String {
    match content {
        Content::Record(lsn) => describe_entries(lsn.0 + RECORD_HEADER_BYTES, bytes),
        Content::Snapshot(_) => format!("the state, {} bytes", bytes.len()),
        Content::Page(_) => format!("contents of messages, {} bytes", bytes.len()),
    }
}

/// One line an entry and one a change, each message with its id.
fn describe_entries(position: u64, record: &[u8]) -> String {
    let mut lines = String::new();
    let decoded = Entry::decode_all(record, position, |entry| {
        write!(lines, "\n  at {}", entry.at).expect("a string takes all text");
        for change in &entry.changes {
            write!(lines, "\n    {change:?}").expect("a string takes all text");
            if let Some(id) = sent_id(change, position, record) {
                write!(lines, " message {id}").expect("a string takes all text");
            }
        }
    });
    if let Err(error) = decoded {
        write!(lines, "\n  not an entry of this version: {error}").expect("a string takes all text");
    }
    lines
}

/// The id of the message that was sent, where the change is one that sends.
fn sent_id(change: &shard::Change, record_position: u64, record: &[u8]) -> Option<model::MessageId> {
    let shard::Change::Sent { payload: shard::SentPayload::Written { position, bytes }, .. } = change else {
        return None;
    };
    let from = usize::try_from(position.checked_sub(record_position)?).ok()?;
    let payload = record.get(from..from.checked_add(usize::try_from(*bytes).ok()?)?)?;
    shard::Payload::decode(&Bytes::copy_from_slice(payload)).ok().map(|payload| payload.id)
}
