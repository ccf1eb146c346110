//! What a crash leaves open.
//!
//! Of the commands that were asked and never answered, the first few have happened and the others have not; how many is
//! for the engine to say. What they did to a queue itself shows at the first look at it after the crash. What they did to
//! messages stays open until each shows up, or until its queue is empty.

use super::{Broken, Facts, Promises, Queue, apply, promise};
use model::{QueueKey, Timestamp};
use shard::{Answer, Command, Receipt, Refusal, Reply, Rules, Settings};

/// What a queue may be after a crash: gone, or one with these messages and any of these facts.
#[derive(Clone)]
pub struct Possible {
    queue: Option<Queue>,
    facts: Vec<Facts>,
    /// Since when there is none, as [`Promises`] has it.
    deleted_at: Vec<Option<Timestamp>>,
}

impl Promises {
    /// The engine has crashed and was opened again; the latest entry that is left is from `recovered_at`. `unanswered`:
    /// what was asked, with when, in order; `crashed_at`: the latest moment before.
    pub fn crashed(&mut self, unanswered: &[(Command, Timestamp)], crashed_at: Timestamp, recovered_at: Timestamp) {
        let mut keys: Vec<QueueKey> = self.queues.keys().cloned().collect();
        keys.extend(unanswered.iter().filter_map(|(command, _)| queue_of(command).cloned()));
        keys.sort();
        keys.dedup();
        for key in keys {
            if let Some(possible) = self.open.get_mut(&key) {
                // It crashed again before anyone had looked; nothing else was asked.
                let queues = possible.iter_mut().filter_map(|possible| possible.queue.as_mut());
                queues.for_each(|queue| queue.take_time_back(recovered_at));
                continue;
            }
            let mut queue = self.queues.get(&key).cloned();
            if let Some(queue) = &mut queue {
                queue.take_time_back(recovered_at);
            }
            let facts = queue.iter().map(|queue| queue.facts.clone()).collect();
            let mut possible =
                vec![Possible { queue, facts, deleted_at: self.deleted_at.get(&key).cloned().unwrap_or(vec![None]) }];
            for (command, at) in unanswered {
                if let Command::Undo { receipts } = command {
                    let queue = possible.last_mut().and_then(|possible| possible.queue.as_mut());
                    queue.into_iter().for_each(|queue| queue.may_be_undone(receipts, *at));
                } else if queue_of(command) == Some(&key) {
                    may_have_happened(&self.rules, &mut possible, command, *at, crashed_at);
                }
            }
            self.open.insert(key, possible);
        }
    }

    /// Takes over what the first look at a queue after a crash shows.
    pub fn looked_at(&mut self, key: &QueueKey, reply: &Reply) -> Result<(), Broken> {
        let Some(possible) = self.open.remove(key) else { return Ok(()) };
        let before = self.queues.remove(key);
        match reply {
            Err(Refusal::QueueDoesNotExist) => {
                let gone = possible.into_iter().filter(|possible| possible.queue.is_none());
                let deleted_at: Vec<_> = gone.flat_map(|possible| possible.deleted_at).collect();
                promise!(!deleted_at.is_empty(), "queue {} is lost in a crash", key.name);
                self.old_ids.extend(before.and_then(|queue| queue.id));
                self.deleted_at.insert(key.clone(), deleted_at);
                Ok(())
            }
            Ok(Answer::Queue(told)) => {
                let told = Facts::of(told);
                let found = possible.into_iter().rev().find(|possible| possible.facts.contains(&told));
                let Some(Possible { queue: Some(mut queue), .. }) = found else {
                    return Err(format!("after a crash queue {} is said to be {told:?}, which it never was", key.name));
                };
                if let Some(before) = before.filter(|before| before.facts.created_at != told.created_at) {
                    self.old_ids.extend(before.id);
                }
                queue.facts = told;
                self.deleted_at.remove(key);
                self.queues.insert(key.clone(), queue);
                Ok(())
            }
            other => Err(format!("GetQueueAttributes answers {other:?}")),
        }
    }
}

/// The queue that a command names.
pub fn queue_of(command: &Command) -> Option<&QueueKey> {
    match command {
        Command::CreateQueue { queue, .. }
        | Command::DeleteQueue { queue }
        | Command::PurgeQueue { queue }
        | Command::SetAttributes { queue, .. }
        | Command::Tag { queue, .. }
        | Command::Untag { queue, .. }
        | Command::Describe { queue }
        | Command::Send { queue, .. }
        | Command::Delete { queue, .. }
        | Command::ChangeVisibility { queue, .. } => Some(queue),
        Command::Receive(receive) => Some(&receive.queue),
        _ => None,
    }
}

fn may_have_happened(
    rules: &Rules,
    possible: &mut Vec<Possible>,
    command: &Command,
    at: Timestamp,
    crashed_at: Timestamp,
) {
    let latest = possible.last_mut().expect("there is one to begin with");
    let Some(queue) = &mut latest.queue else {
        let seconds = u64::from(rules.deleted_name_seconds);
        let blocks = |deleted: &Option<Timestamp>| deleted.is_some_and(|deleted| at < deleted.plus_seconds(seconds));
        if let Command::CreateQueue { settings, tags, .. } = command
            && !latest.deleted_at.iter().all(blocks)
        {
            let settings = settings.iter().fold(Settings::default(), |all, setting| apply(&all, setting));
            let facts = Facts { created_at: at, modified_at: at, settings, tags: tags.clone() };
            possible.push(Possible {
                queue: Some(Queue::new(facts.clone())),
                facts: vec![facts],
                deleted_at: vec![None],
            });
        }
        return;
    };
    let mut facts = latest.facts.last().expect("a queue has facts").clone();
    match command {
        Command::DeleteQueue { .. } => {
            possible.push(Possible { queue: None, facts: Vec::new(), deleted_at: vec![Some(at)] });
            return;
        }
        Command::PurgeQueue { .. } => {
            queue.messages.values_mut().for_each(|message| message.may_be_gone = true);
            queue.may_be_purged_at.push(at);
        }
        Command::SetAttributes { settings, .. } => {
            let before = facts.settings.retention_seconds;
            facts.settings = settings.iter().fold(facts.settings, |all, setting| apply(&all, setting));
            facts.modified_at = at;
            // A longer retention comes too late for what has expired, a shorter one lets more expire.
            let retention = u64::from(facts.settings.retention_seconds.min(before));
            for message in
                queue.messages.values_mut().filter(|message| message.sent_at.plus_seconds(retention) <= crashed_at)
            {
                message.may_be_gone = true;
            }
            if facts.settings.sqs_managed_sse && facts.settings.kms_master_key.is_some() {
                return;
            }
        }
        Command::Tag { tags, .. } => {
            facts.tags.extend(tags.clone());
            if facts.tags.len() > model::limits::TAGS_MAX {
                return;
            }
        }
        Command::Untag { keys, .. } => facts.tags.retain(|key, _| !keys.contains(key)),
        Command::Send { messages, .. } if facts.settings.kms_master_key.is_none() => {
            let bytes_max = facts.settings.message_bytes_max as usize;
            let kept = std::mem::replace(&mut queue.facts, facts.clone());
            for message in messages.iter().filter(|message| message.size_bytes <= bytes_max) {
                queue.open_sends.push(queue.as_sent(message, at));
            }
            queue.facts = kept;
        }
        Command::Receive(receive) => {
            let seconds = receive.visibility_seconds.unwrap_or(facts.settings.visibility_seconds);
            for message in queue.messages.values_mut() {
                message.may_be_delivered(seconds, crashed_at);
                message.visible_at.low = message.visible_at.low.min(at);
            }
        }
        Command::Delete { receipts, .. } => {
            for receipt in receipts.iter().filter(|receipt| queue.id == Some(receipt.queue)) {
                if let Some(message) = queue.messages.get_mut(&receipt.serial.0)
                    && message.is_latest(receipt.delivery) != Some(false)
                {
                    message.may_be_gone = true;
                }
            }
        }
        Command::ChangeVisibility { receipts, .. } => {
            for (receipt, seconds) in receipts.iter().filter(|(receipt, _)| queue.id == Some(receipt.queue)) {
                if let Some(message) = queue.messages.get_mut(&receipt.serial.0) {
                    message.may_be_changed(receipt.delivery, *seconds, at);
                }
            }
        }
        _ => return,
    }
    latest.facts.push(facts);
}

impl Queue {
    fn may_be_undone(&mut self, receipts: &[Receipt], at: Timestamp) {
        for receipt in receipts.iter().filter(|receipt| self.id == Some(receipt.queue)) {
            if let Some(message) = self.messages.get_mut(&receipt.serial.0) {
                message.may_be_undone(receipt.delivery, at);
            }
        }
    }

    /// Moments after this one have never been: what expired then may be back.
    fn take_time_back(&mut self, to: Timestamp) {
        for (at, serial, mut message) in std::mem::take(&mut self.expired) {
            if at > to {
                message.may_be_gone = true;
                self.messages.insert(serial, message);
            } else {
                self.expired.push((at, serial, message));
            }
        }
    }
}
