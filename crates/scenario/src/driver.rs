//! What an altitude must be able to do.

use crate::call::{Call, Code, Receive, Reply};

/// One altitude, with one scenario's queues in it.
pub trait Driver {
    /// Carries out an operation.
    fn call(&mut self, call: &Call) -> Result<Reply, Code>;

    /// Asks for messages without waiting for the answer, and returns once the receive waits or was answered. Polls are
    /// numbered from 0.
    fn start_poll(&mut self, receive: &Receive) -> usize;

    /// What a poll was answered; nothing while it waits.
    fn poll(&mut self, poll: usize) -> Option<Result<Reply, Code>>;

    /// Gives up a poll, and returns once the other side knows.
    fn hang_up(&mut self, poll: usize);

    /// Lets time pass, and returns once everything that was due has happened.
    fn advance(&mut self, seconds: u64);

    /// Seconds since 1970.
    fn now_seconds(&self) -> u64;

    /// Takes back a delivery that nobody heard of. Only the engine does this; from outside its moment can't be chosen.
    fn undo(&mut self, receipt: &str);

    /// A step of the scenario is over.
    fn step_done(&mut self) {}
}
