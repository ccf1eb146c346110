//! Receives that wait for a message.
//!
//! A long poll is a waiter, not a loop. It costs nothing while it waits: it is woken by the entry that makes a message
//! visible, by the moment at which a hidden one comes back, or by the end of its own time.

use model::{QueueId, Timestamp};
use shard::Receive;
use std::collections::{BTreeMap, BTreeSet};

/// Most receives that wait at once; further ones are answered without waiting.
///
/// Chosen: more than a machine has sockets.
const WAITERS_MAX: usize = 500_000;

/// Names a waiting receive. Who came earlier has the smaller one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket(u64);

pub(crate) struct Waiter<T> {
    pub receive: Receive,
    pub until: Timestamp,
    pub token: T,
}

pub(crate) struct Waiters<T> {
    queues: BTreeMap<QueueId, Waiting<T>>,
    /// When each one's time is up.
    ends: BTreeSet<(Timestamp, Ticket, QueueId)>,
    /// When a hidden message of a queue with waiters comes back.
    wakes: BTreeSet<(Timestamp, QueueId)>,
    next_ticket: u64,
}

struct Waiting<T> {
    first_come: BTreeMap<Ticket, Waiter<T>>,
    wake_at: Option<Timestamp>,
}

impl<T> Default for Waiters<T> {
    fn default() -> Self {
        Self { queues: BTreeMap::new(), ends: BTreeSet::new(), wakes: BTreeSet::new(), next_ticket: 0 }
    }
}

impl<T> Waiters<T> {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn has_room(&self) -> bool {
        self.len() < WAITERS_MAX
    }

    pub fn any(&self, queue: QueueId) -> bool {
        self.queues.contains_key(&queue)
    }

    /// `next_visible_at`: when the queue's next hidden message comes back.
    pub fn add(&mut self, queue: QueueId, waiter: Waiter<T>, next_visible_at: Option<Timestamp>) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.ends.insert((waiter.until, ticket, queue));
        let waiting =
            self.queues.entry(queue).or_insert_with(|| Waiting { first_come: BTreeMap::new(), wake_at: None });
        waiting.first_come.insert(ticket, waiter);
        self.wake_at(queue, next_visible_at);
        ticket
    }

    pub fn first(&self, queue: QueueId) -> Option<&Receive> {
        Some(&self.queues.get(&queue)?.first_come.first_key_value()?.1.receive)
    }

    pub fn remove_first(&mut self, queue: QueueId) -> Option<Waiter<T>> {
        let (&ticket, _) = self.queues.get(&queue)?.first_come.first_key_value()?;
        self.remove(queue, ticket)
    }

    pub fn remove(&mut self, queue: QueueId, ticket: Ticket) -> Option<Waiter<T>> {
        let waiting = self.queues.get_mut(&queue)?;
        let waiter = waiting.first_come.remove(&ticket)?;
        self.ends.remove(&(waiter.until, ticket, queue));
        if waiting.first_come.is_empty() {
            self.wake_at(queue, None);
            self.queues.remove(&queue);
        }
        Some(waiter)
    }

    pub fn remove_queue(&mut self, queue: QueueId) -> Vec<Waiter<T>> {
        std::iter::from_fn(|| self.remove_first(queue)).collect()
    }

    pub fn remove_all(&mut self) -> impl Iterator<Item = Waiter<T>> {
        self.ends.clear();
        self.wakes.clear();
        std::mem::take(&mut self.queues).into_values().flat_map(|waiting| waiting.first_come.into_values())
    }

    /// Notes when a queue with waiters is to be looked at again.
    pub fn wake_at(&mut self, queue: QueueId, at: Option<Timestamp>) {
        let Some(waiting) = self.queues.get_mut(&queue) else { return };
        if waiting.wake_at == at {
            return;
        }
        if let Some(before) = waiting.wake_at.take() {
            self.wakes.remove(&(before, queue));
        }
        if let Some(at) = at {
            self.wakes.insert((at, queue));
        }
        waiting.wake_at = at;
    }

    /// A queue that is to be looked at by now. It is up to the caller to say when next.
    pub fn next_woken(&mut self, now: Timestamp) -> Option<QueueId> {
        let &(at, queue) = self.wakes.first()?;
        if at > now {
            return None;
        }
        self.wake_at(queue, None);
        Some(queue)
    }

    /// A receive whose time is up.
    pub fn next_expired(&mut self, now: Timestamp) -> Option<Waiter<T>> {
        let &(until, ticket, queue) = self.ends.first()?;
        if until > now {
            return None;
        }
        self.remove(queue, ticket)
    }

    pub fn next_deadline(&self) -> Option<Timestamp> {
        let end = self.ends.first().map(|&(at, ..)| at);
        let wake = self.wakes.first().map(|&(at, _)| at);
        end.into_iter().chain(wake).min()
    }
}
