//! Every setting, once: its name, type, default and meaning.
//!
//! ```text
//!   settings! { listen: SocketAddr = "127.0.0.1:4566", "ADDR:PORT"; … }
//!        │
//!        ├──▶ listen = "127.0.0.1:4566"      in the file
//!        ├──▶ POSTHOUSE_LISTEN               in the environment
//!        ├──▶ --listen                       on the command line
//!        └──▶ help, `config check`, docs/configuration.md
//! ```
//!
//! Whatever the source, a value is text first and is read by the same code.

mod docs;
mod value;

pub use docs::page as docs_page;
pub use value::{ByteSize, LogFormat, LogLevel, Origins, PublicUrl};

use crate::config::{Given, Problem};
use engine::Durability;
use model::{AccountId, Region};
use std::net::SocketAddr;
use std::path::PathBuf;
use value::Value;

/// What there is to know about a setting before it has a value.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in the file: `public_url`
    pub key: &'static str,
    /// Sentences for people.
    pub about: &'static str,
    /// What a value looks like: `ADDR:PORT`
    pub form: &'static str,
    /// As text; empty where it isn't set unless someone sets it.
    pub default: &'static str,
}

impl Setting {
    /// Its name on the command line, without the two dashes: `public-url`
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    /// Its name in the environment: `POSTHOUSE_PUBLIC_URL`
    pub fn variable(&self) -> String {
        format!("{}{}", Self::VARIABLE_PREFIX, self.key.to_uppercase())
    }

    /// What the names of our environment variables begin with.
    pub const VARIABLE_PREFIX: &str = "POSTHOUSE_";

    /// What a switch takes, with or without saying so.
    pub const SWITCH: &str = "BOOLEAN";

    pub fn is_switch(&self) -> bool {
        self.form == Self::SWITCH
    }
}

macro_rules! settings {
    ($($(#[doc = $about:literal])+ $key:ident: $type:ty = $default:literal, $form:expr;)+) => {
        /// The settings in effect.
        #[derive(Clone, Debug)]
        pub struct Settings { $($(#[doc = $about])+ pub $key: $type,)+ }

        /// All settings, in the order in which help and documentation list them.
        pub const ALL: &[Setting] = &[$(
            Setting { key: stringify!($key), about: concat!($($about),+), form: $form, default: $default },
        )+];

        impl Settings {
            /// Reads each value, from wherever it was given.
            ///
            /// Errors: all values that can't be, and combinations that don't fit.
            pub fn read(given: &Given) -> Result<Self, Vec<Problem>> {
                let mut problems = Vec::new();
                $(let $key = read::<$type>(given, stringify!($key), &mut problems);)+
                match ($($key,)+) {
                    ($(Some($key),)+) => {
                        let settings = Self { $($key,)+ };
                        settings.check(given, &mut problems);
                        if problems.is_empty() { Ok(settings) } else { Err(problems) }
                    }
                    _ => Err(problems),
                }
            }
        }
    };
}

settings! {
    /// Address and port to listen on. Port 0 takes a free one; the line `listening on` says which.
    listen: SocketAddr = "127.0.0.1:4566", "ADDR:PORT";
    /// What queue URLs begin with, where the address that clients use can't be told from their requests. Without it, queue
    /// URLs follow the Host header (and X-Forwarded-Host and X-Forwarded-Proto) of each request.
    public_url: Option<PublicUrl> = "", "URL";
    /// Directory that holds all data. It is made if it doesn't exist.
    data: PathBuf = "./posthouse-data", "DIR";
    /// What an acknowledged message survives: `fsync`, a power cut; `os`, a crash of this program, not a power cut;
    /// `memory`, nothing, for nothing is written.
    durability: Durability = "fsync", "fsync|os|memory";
    /// Account of callers whose access key is not itself an account number.
    default_account: AccountId = "000000000000", "TWELVE DIGITS";
    /// Region of requests that name none.
    region: Region = "us-east-1", "REGION";
    /// Serve anyone who can reach the address, without checking signatures. Needed to listen anywhere but on loopback.
    insecure_no_auth: bool = "false", Setting::SWITCH;
    /// Let clients move the clock: `POST /_posthouse/clock/advance {"seconds": 60}`. For tests only.
    test_clock: bool = "false", Setting::SWITCH;

    /// Form of the log, which goes to standard error.
    log_format: LogFormat = "text", "text|json";
    /// Least severity that is logged. `debug` logs each request.
    log_level: LogLevel = "info", "error|warn|info|debug|trace";

    /// Seconds before a queue can be purged again. AWS: 60. Test suites may want 0.
    purge_interval_seconds: u32 = "60", "SECONDS";
    /// Seconds before the name of a deleted queue can be taken again, at most 60. AWS: 60. Test suites may want 0.
    deleted_name_seconds: u32 = "60", "SECONDS";
    /// Most messages of a queue that are in flight at a time. AWS: 120000.
    in_flight_max: usize = "120000", "COUNT";

    /// Largest body of a request, also once it is decompressed. The largest batch that AWS takes, with every character
    /// escaped, is a little over 6 MiB.
    body_bytes_max: ByteSize = "8MiB", "BYTES";
    /// Most memory for the bodies of all requests being carried out; beyond it requests are refused with status 503.
    body_memory_bytes_max: ByteSize = "256MiB", "BYTES";
    /// Longest head of a request: request line and headers.
    header_bytes_max: ByteSize = "64KiB", "BYTES";
    /// Most connections at a time; further ones are answered with status 503 and closed.
    connections_max: usize = "20000", "COUNT";
    /// Most seconds between two parts of a request's body.
    body_seconds_max: u32 = "30", "SECONDS";
    /// Seconds after which a connection is closed on which no request arrives, or only a part of one. Some clients
    /// keep connections for 90 seconds, so less than 100 will fail some of their requests.
    idle_seconds_max: u32 = "120", "SECONDS";
    /// Most seconds that a shutdown waits for requests to end.
    shutdown_seconds_max: u32 = "30", "SECONDS";
    /// Origins of web pages whose scripts may use this server, apart from those of this machine: `https://console.example`,
    /// several of them with commas between, or `*` for all.
    cors_origins: Origins = "", "ORIGIN,…";

    /// Length of a segment of the journal. Files of this length are kept ready, so it is also the least that the data
    /// directory takes.
    segment_bytes: ByteSize = "32MiB", "BYTES";
    /// A snapshot is made, and the journal trimmed, each time this much was written.
    snapshot_bytes: ByteSize = "128MiB", "BYTES";
    /// Most memory for the content of young messages. Older content is read from disk.
    payload_cache_bytes: ByteSize = "32MiB", "BYTES";
}

fn read<T: Value>(given: &Given, key: &'static str, problems: &mut Vec<Problem>) -> Option<T> {
    let origin = given.origin(key);
    T::parse(&origin.text)
        .map_err(|expected| {
            problems.push(Problem::new(&origin.source, format!("{key} = {:?}: {expected}", origin.text)))
        })
        .ok()
}

/// Smallest segment: one record of the largest batch fits, with room to spare.
const SEGMENT_BYTES_MIN: u64 = 8 << 20;
/// Largest body that must be taken, or the largest batch can't be sent.
const BODY_BYTES_MIN: u64 = 1 << 10;
/// hyper reads heads into a buffer of at least this size.
const HEADER_BYTES_MIN: u64 = 8 << 10;
/// A longer head has no use: a URL can't be longer than that either.
const HEADER_BYTES_LIMIT: u64 = 1 << 20;

impl Settings {
    /// What must hold of the values, alone and together.
    fn check(&self, given: &Given, problems: &mut Vec<Problem>) {
        let mut must = |holds: bool, key: &str, sentence: &str| {
            if !holds {
                problems.push(Problem::new(&given.origin(key).source, format!("{key}: {sentence}")));
            }
        };
        must(
            self.listen.ip().is_loopback() || self.insecure_no_auth,
            "listen",
            &format!(
                "{} can be reached from other machines, and this version doesn't check signatures: whoever reaches it can \
                 read and delete all messages. Listen on 127.0.0.1, or say that you want this with --insecure-no-auth \
                 (insecure_no_auth = true).",
                self.listen
            ),
        );
        let deleted_max = model::limits::DELETED_NAME_SECONDS;
        must(
            self.deleted_name_seconds <= deleted_max,
            "deleted_name_seconds",
            "at most 60; names are not remembered longer",
        );
        must(self.in_flight_max >= model::limits::BATCH_ENTRIES_MAX, "in_flight_max", "at least 10, a full receive");
        must(self.body_bytes_max.0 >= BODY_BYTES_MIN, "body_bytes_max", "at least 1KiB");
        must(
            self.body_memory_bytes_max.0 >= self.body_bytes_max.0,
            "body_memory_bytes_max",
            "at least body_bytes_max, or the largest request can never be served",
        );
        let header_bytes = HEADER_BYTES_MIN..=HEADER_BYTES_LIMIT;
        must(header_bytes.contains(&self.header_bytes_max.0), "header_bytes_max", "from 8KiB to 1MiB");
        must(self.connections_max >= 1, "connections_max", "at least 1");
        must(self.connections_max <= 1_000_000, "connections_max", "at most 1000000");
        must(self.body_seconds_max >= 1, "body_seconds_max", "at least 1");
        must(self.idle_seconds_max >= 1, "idle_seconds_max", "at least 1");
        must(
            self.segment_bytes.0 >= SEGMENT_BYTES_MIN,
            "segment_bytes",
            "at least 8MiB, so that the largest batch fits",
        );
        must(self.segment_bytes.0 <= 1 << 32, "segment_bytes", "at most 4GiB");
        must(self.snapshot_bytes.0 >= self.segment_bytes.0, "snapshot_bytes", "at least segment_bytes");
    }

    /// The setting that is called this in the file.
    pub fn by_key(key: &str) -> Option<&'static Setting> {
        ALL.iter().find(|setting| setting.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value() {
        let settings = Settings::read(&Given::default()).expect("defaults fit");
        assert_eq!(settings.listen.to_string(), "127.0.0.1:4566");
        assert_eq!(settings.body_bytes_max, ByteSize(8 << 20));
        assert_eq!(settings.public_url, None);
        assert!(!settings.test_clock);
    }

    #[test]
    fn every_setting_says_what_it_is() {
        for setting in ALL {
            assert!(setting.about.trim().ends_with('.') || setting.about.contains("for all."), "{}", setting.key);
            assert!(!setting.form.is_empty(), "{}", setting.key);
            assert!(setting.key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", setting.key);
        }
    }
}
