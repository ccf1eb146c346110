//! Consumers that wait: what do ten thousand long polls on an empty queue cost?

use super::connection::Connection;
use super::request::Encoder;
use crate::process;
use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

/// What AWS allows at most.
const WAIT_SECONDS: u32 = 20;
/// Time for all polls to have reached the server before the measurement begins. With it, the measurement and the time
/// to connect must fit in [`WAIT_SECONDS`], or polls that end would be measured instead of polls that wait.
const SETTLE: Duration = Duration::from_secs(3);
/// Connections that are being opened at a time, so that the server's backlog of connections doesn't overflow.
const OPENING_MAX: usize = 64;

/// What waiting cost.
#[derive(Clone, Debug)]
pub struct IdlePolls {
    pub polls: usize,
    /// Polls that ended before the measurement did, answered or broken: these should be none.
    pub ended_early: usize,
    pub elapsed: Duration,
    pub server_cpu: Duration,
    pub memory: process::Memory,
}

/// Opens so many long polls, lets them wait, and measures the server for `duration`, at most 12 s.
pub fn idle_polls(
    address: SocketAddr,
    encoder: &Encoder,
    queue_url: &str,
    polls: usize,
    duration: Duration,
    server_pid: u32,
) -> io::Result<IdlePolls> {
    let request: Rc<[u8]> = encoder.receive(queue_url, 1, WAIT_SECONDS).into();
    let ended = Rc::new(Cell::new(0));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(async {
        for poll in 0..polls {
            let (request, ended) = (request.clone(), ended.clone());
            tokio::task::spawn_local(async move {
                let _ = Connection::new(address).call(&request).await;
                ended.set(ended.get() + 1);
            });
            if poll % OPENING_MAX == OPENING_MAX - 1 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        tokio::time::sleep(SETTLE).await;
        let (cpu_before, start) = (process::cpu_time(server_pid)?, Instant::now());
        tokio::time::sleep(duration.min(Duration::from_secs(12))).await;
        let server_cpu = process::cpu_time(server_pid)?.saturating_sub(cpu_before);
        let (elapsed, memory) = (start.elapsed(), process::memory(server_pid)?);
        Ok(IdlePolls { polls, ended_early: ended.get(), elapsed, server_cpu, memory })
    }))
}
