//! What every request is carried out with.

use super::body::{BodyLimits, Budget};
use crate::settings::{Origins, Settings};
use engine::{Engine, Running};
use host::clock::{AdvancedClock, Clock};
use host::entropy::Entropy;
use model::{AccountId, MessageId, Region};
use service::Rules;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The server's parts that requests need.
pub struct App {
    pub running: Running,
    pub engine: Engine,
    pub rules: Arc<Rules>,
    pub entropy: Arc<dyn Entropy>,
    /// Where the clock can be moved.
    pub test_clock: Option<Arc<AdvancedClock>>,
    pub default_account: AccountId,
    pub default_region: Region,
    /// What queue URLs begin with, whatever the client says.
    pub public_url: Option<String>,
    /// The host and port that queue URLs have where the client doesn't say which it used.
    pub listen_authority: String,
    pub cors_origins: Origins,
    pub body_limits: BodyLimits,
    pub body_budget: Budget,
    /// Length of the segments that a backup gets.
    pub segment_bytes: u64,
}

impl App {
    pub fn new(
        settings: &Settings,
        address: SocketAddr,
        running: Running,
        rules: Arc<Rules>,
        entropy: Arc<dyn Entropy>,
        test_clock: Option<Arc<AdvancedClock>>,
    ) -> Self {
        Self {
            engine: running.engine(),
            running,
            rules,
            entropy,
            test_clock,
            default_account: settings.default_account.clone(),
            default_region: settings.region.clone(),
            public_url: settings.public_url.as_ref().map(ToString::to_string),
            listen_authority: reachable(address).to_string(),
            cors_origins: settings.cors_origins.clone(),
            body_limits: BodyLimits {
                bytes_max: settings.body_bytes_max.as_usize(),
                pause_max: Duration::from_secs(settings.body_seconds_max.into()),
            },
            body_budget: Budget::new(settings.body_memory_bytes_max.as_usize()),
            segment_bytes: settings.segment_bytes.0,
        }
    }

    /// A new id for a request: a UUID, as AWS's are.
    pub fn request_id(&self) -> [u8; 36] {
        let mut random = [0; 16];
        self.entropy.fill(&mut random);
        MessageId::from_random(random).to_text()
    }

    /// Moves the clock, where it can be moved. Returns the new time in milliseconds.
    pub fn advance_clock(&self, milliseconds: u64) -> Option<u64> {
        let clock = self.test_clock.as_ref()?;
        clock.advance(milliseconds);
        self.running.poke();
        Some(clock.now_milliseconds())
    }
}

/// The address under which this machine reaches a server that listens on `address`.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    let mut reachable = address;
    if address.ip().is_unspecified() {
        reachable.set_ip(if address.is_ipv4() {
            std::net::Ipv4Addr::LOCALHOST.into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        });
    }
    reachable
}
