//! The clients: what they ask, what they are told, what they read of it, and how they hang up.

use super::machine::Which;
use super::{Going, World, queue_key};
use crate::plan::{ACCOUNTS, Op};
use crate::promises::{Content, When};
use crate::sabotage::Sabotage;
use crate::trace::show;
use bytes::Bytes;
use engine::AskError;
use engine::Ticket;
use engine::core::{Asked, Outbox, Outcome};
use model::{AccountId, DeliveryNumber, MessageId, QueueId, QueueKey, Region, Text, Timestamp};
use shard::{Answer, Command, Delivery, NewMessage, Payload, PayloadAt, Receipt, Receive};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asker {
    Client,
    /// A look at a queue right after a start.
    FirstLook,
    Helper(Which),
    Nobody,
}

/// Something that was asked and not answered yet.
pub(super) struct Request {
    pub command: Command,
    pub asker: Asker,
    pub asked_at: Timestamp,
    /// It waits for a message.
    waits: Option<(QueueId, Ticket)>,
    hung_up: bool,
    /// No message was in a page when it was asked.
    all_in_memory: bool,
    /// The engine had stopped before.
    was_stopped: bool,
}

/// A reply that a client has not read yet.
pub(super) struct Held {
    queue: Option<QueueKey>,
    answer: Answer,
    /// For each delivery, what its message may be.
    contents: Vec<Vec<Content>>,
}

/// How many receipts the clients remember.
const RECEIPTS_MAX: usize = 40;

impl World {
    pub(super) fn ask_op(&mut self, op: &Op) -> Going {
        let command = self.command(op);
        self.trace.reached(&format!("asked: {}", name_of(&command)));
        self.ask(command, Asker::Client)
    }

    fn command(&mut self, op: &Op) -> Command {
        match op.clone() {
            Op::Create { queue, settings, tags } => Command::CreateQueue { queue: queue_key(queue), settings, tags },
            Op::DeleteQueue { queue } => Command::DeleteQueue { queue: queue_key(queue) },
            Op::Purge { queue } => Command::PurgeQueue { queue: queue_key(queue) },
            Op::Set { queue, settings } => Command::SetAttributes { queue: queue_key(queue), settings },
            Op::Tag { queue, tags } => Command::Tag { queue: queue_key(queue), tags },
            Op::Untag { queue, keys } => Command::Untag { queue: queue_key(queue), keys },
            Op::Describe { queue } => Command::Describe { queue: queue_key(queue) },
            Op::List { account, prefix, after, results_max } => Command::List {
                account: AccountId::parse(ACCOUNTS[account]).expect("an account of ours"),
                region: Region::parse("eu-west-1").expect("a Region of ours"),
                prefix: prefix.to_owned(),
                after: after.map(str::to_owned),
                results_max,
            },
            Op::Send { queue, messages } => Command::Send {
                queue: queue_key(queue),
                messages: messages.into_iter().map(|(delay, bytes)| self.new_message(delay, bytes)).collect(),
            },
            Op::Receive { queue, messages_max, visibility_seconds, wait_seconds } => {
                Command::Receive(Receive { queue: queue_key(queue), messages_max, visibility_seconds, wait_seconds })
            }
            Op::Delete { queue, receipts } => {
                let receipts: Vec<_> = receipts.into_iter().filter_map(|pick| self.receipt(pick)).collect();
                let queue = queue.map(queue_key).or(receipts.first().map(|(key, _)| key.clone()));
                Command::Delete {
                    queue: queue.unwrap_or_else(|| queue_key(0)),
                    receipts: receipts.into_iter().map(|(_, receipt)| receipt).collect(),
                }
            }
            Op::ChangeVisibility { queue, receipts } => {
                let receipts: Vec<_> = receipts
                    .into_iter()
                    .filter_map(|(pick, seconds)| self.receipt(pick).map(|(key, receipt)| (key, receipt, seconds)))
                    .collect();
                let queue = queue.map(queue_key).or(receipts.first().map(|(key, ..)| key.clone()));
                Command::ChangeVisibility {
                    queue: queue.unwrap_or_else(|| queue_key(0)),
                    receipts: receipts.into_iter().map(|(_, receipt, seconds)| (receipt, seconds)).collect(),
                }
            }
        }
    }

    fn new_message(&mut self, delay_seconds: Option<u32>, body_bytes: usize) -> NewMessage {
        let number = self.next_message;
        self.next_message += 1;
        let id = MessageId(u128::from(number) + 1);
        let body = format!("{number}.").repeat(body_bytes / 2 + 1);
        let payload = Payload {
            id,
            body_md5: [number as u8; 16],
            sender_id: "AIDA".into(),
            body: Text::from(&body[..body_bytes]),
            attributes: vec![],
            trace_header: None,
            message_group_id: None,
        };
        NewMessage { id, delay_seconds, size_bytes: body_bytes, payload: payload.encode() }
    }

    /// A receipt that a client has, a young one rather than an old one.
    fn receipt(&self, pick: u64) -> Option<(QueueKey, Receipt)> {
        let count = self.receipts.len().checked_sub(1)? + 1;
        let among = if pick.is_multiple_of(4) { count } else { count.min(8) };
        let index = count - 1 - (pick >> 8) as usize % among;
        Some(self.receipts[index].clone())
    }

    pub(super) fn ask(&mut self, command: Command, asker: Asker) -> Going {
        let Some(life) = &mut self.life else { return Ok(()) };
        let id = self.next_request;
        self.next_request += 1;
        self.at = self.at.max(Timestamp(self.clock));
        let request = Request {
            command: command.clone(),
            asker,
            asked_at: self.at,
            waits: None,
            hung_up: false,
            all_in_memory: life.core.shard().frozen_pages().next().is_none(),
            was_stopped: life.core.stopped().is_some(),
        };
        self.requests.insert(id, request);
        let mut outbox = Outbox::new();
        let command = spoil(self.sabotage, command);
        let asked = life.core.ask(Timestamp(self.clock), command, id, &mut outbox);
        if let Asked::Waiting { queue, ticket } = asked
            && let Some(request) = self.requests.get_mut(&id)
        {
            request.waits = Some((queue, ticket));
            self.trace.reached("a long poll waits");
        }
        self.hand_out(outbox)
    }

    /// Replies leave the engine. Those that nobody waits for any more are undone.
    pub(super) fn hand_out(&mut self, outbox: Outbox<u64>) -> Going {
        let mut unheard = Vec::new();
        for (id, outcome) in outbox {
            let request = self.requests.remove(&id).expect("each request is answered once");
            self.trace.line(format_args!("       {} #{id}: {}", name_of(&request.command), show(&outcome)));
            self.check(id, &request, &outcome)?;
            if let (Command::MovePayloads { .. }, Some(life)) = (&request.command, &mut self.life) {
                life.has_moved_payloads = true;
            }
            match (request.asker, outcome) {
                (Asker::Helper(which), outcome) => self.answer_helper(which, id, outcome),
                (Asker::Client, Ok(answer)) => {
                    let receipts = receipts_of(&answer);
                    if !request.hung_up {
                        let contents = receipts.iter().map(|receipt| self.promises.contents(*receipt)).collect();
                        let queue = crate::promises::queue_of(&request.command).cloned();
                        self.held.push(Held { queue, answer, contents });
                    } else if !receipts.is_empty() {
                        self.trace.reached("a client hung up before its messages came");
                        unheard.extend(receipts);
                    }
                }
                _ => {}
            }
        }
        if unheard.is_empty() { Ok(()) } else { self.undo(unheard) }
    }

    fn check(&mut self, id: u64, request: &Request, outcome: &Outcome) -> Going {
        let when = match request.waits {
            None => When::exactly(request.asked_at),
            Some(_) => When { low: request.asked_at.max(self.decided_at), high: self.now() },
        };
        let reply = match outcome {
            Ok(answer) => Ok(answer.clone()),
            Err(AskError::Refused(refusal)) => Err(refusal.clone()),
            Err(AskError::StorageFull) => {
                self.trace.reached("refused: storage full");
                let is_full = self.life.as_ref().is_some_and(|life| life.core.is_storage_full());
                return if is_full { Ok(()) } else { self.broken("a send is refused though there is room") };
            }
            Err(AskError::Stopped { .. }) => {
                self.trace.reached("refused: stopped");
                if !request.was_stopped {
                    self.unknown.insert(id, (request.command.clone(), request.asked_at));
                }
                return Ok(());
            }
            Err(other) => return self.broken(format!("an answer is {other}")),
        };
        if request.was_stopped {
            return self.broken("an engine that has stopped gives an answer");
        }
        self.decided_at = self.decided_at.max(when.low);
        self.reached(&reply);
        if request.waits.is_some() && reply == Err(shard::Refusal::QueueDoesNotExist) {
            self.trace.reached("a long poll's queue is deleted");
        }
        if request.asker == Asker::FirstLook {
            let queue = crate::promises::queue_of(&request.command).expect("a look at a queue names it");
            self.promises.looked_at(queue, &reply).map_err(super::Ended::Broken)?;
        }
        // While it waited, pages may have come and gone.
        let all_in_memory = request.all_in_memory && request.waits.is_none();
        self.promises.answered(&request.command, when, &reply, all_in_memory).map_err(super::Ended::Broken)
    }

    fn reached(&mut self, reply: &shard::Reply) {
        let variant = |text: String| text.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        match reply {
            Err(refusal) => self.trace.reached(&format!("refused: {}", variant(format!("{refusal:?}")))),
            Ok(Answer::Sent(outcomes)) => {
                self.trace.reached("answer: Sent");
                if outcomes.iter().any(Result::is_err) {
                    self.trace.reached("refused: a message is too long");
                }
            }
            Ok(Answer::Outcomes(outcomes)) => {
                self.trace.reached("answer: Outcomes");
                for error in outcomes.iter().filter_map(|outcome| outcome.err()) {
                    self.trace.reached(&format!("refused: receipt {error:?}"));
                }
            }
            Ok(Answer::Received { deliveries, .. }) => {
                self.trace.reached(if deliveries.is_empty() { "answer: no messages" } else { "answer: messages" });
            }
            Ok(Answer::Frozen(frozen)) => {
                self.trace.reached(if *frozen { "pager: froze a page" } else { "pager: a page was touched meanwhile" });
            }
            Ok(answer) => self.trace.reached(&format!("answer: {}", variant(format!("{answer:?}")))),
        }
    }

    fn undo(&mut self, receipts: Vec<Receipt>) -> Going {
        if self.sabotage == Some(Sabotage::NeverUndoes) {
            let when = When::exactly(self.now());
            let kept = self.promises.answered(&Command::Undo { receipts }, when, &Ok(Answer::Done), false);
            return kept.map_err(super::Ended::Broken);
        }
        self.ask(Command::Undo { receipts }, Asker::Nobody)
    }

    /// A client reads a reply that has come.
    pub(super) fn read(&mut self, pick: u64) -> Going {
        if self.held.is_empty() {
            return Ok(());
        }
        let held = self.held.remove(pick as usize % self.held.len());
        let Answer::Received { deliveries, .. } = &held.answer else { return Ok(()) };
        let mut read = Vec::new();
        for (delivery, contents) in deliveries.iter().zip(&held.contents) {
            match self.read_payload(delivery) {
                Ok(bytes) => match contents.iter().find(|content| content.payload == bytes) {
                    Some(content) => read.push((delivery.receipt, content.clone())),
                    None => return self.wrong_bytes(delivery, contents, &bytes),
                },
                Err(reason) => return self.unreadable(delivery, &reason, receipts_of(&held.answer)),
            }
        }
        for (receipt, content) in read {
            self.trace.line(format_args!("       message {} is read", content.id));
            self.promises.read(receipt, &content).map_err(super::Ended::Broken)?;
            self.receipts.extend(held.queue.clone().map(|queue| (queue, receipt)));
        }
        let surplus = self.receipts.len().saturating_sub(RECEIPTS_MAX);
        self.receipts.drain(..surplus);
        Ok(())
    }

    fn read_payload(&mut self, delivery: &Delivery) -> Result<Bytes, String> {
        let Some(life) = &self.life else { return Err("the program does not run".into()) };
        match &delivery.payload {
            PayloadAt::Held(_) => Err("held in memory".into()),
            PayloadAt::Journal { position, bytes } => {
                self.trace.reached("read: from the journal");
                life.store.read(*position, *bytes)
            }
            PayloadAt::Page { page, offset, bytes } => {
                self.trace.reached("read: from a page");
                life.store.read_page(*page, *offset, *bytes)
            }
        }
    }

    fn wrong_bytes(&mut self, delivery: &Delivery, contents: &[Content], bytes: &Bytes) -> Going {
        let serial = delivery.receipt.serial.0;
        // What the engine checks, it would not have handed out.
        if let Err(reason) = Payload::decode(bytes)
            && self.is_damaged
        {
            return self.noticed("by reading", &reason.to_string());
        }
        let expected: Vec<_> = contents.iter().map(|content| content.id.to_string()).collect();
        self.broken(format!(
            "message {serial} ({}) is handed out with other bytes than were sent",
            expected.join(" or ")
        ))
    }

    /// A message can't be read: the client is told that something is wrong, and has not received anything.
    fn unreadable(&mut self, delivery: &Delivery, reason: &str, receipts: Vec<Receipt>) -> Going {
        if self.is_power_gone() {
            return Ok(());
        }
        self.trace.line(format_args!("       message {} can't be read: {reason}", delivery.receipt.serial.0));
        if self.is_damaged && !self.has_fault_fired() {
            return self.noticed("by reading", reason);
        }
        let still_exists = !self.promises.contents(delivery.receipt).is_empty();
        if still_exists && self.is_peace {
            return self.broken(format!("message {} can't be read: {reason}", delivery.receipt.serial.0));
        }
        // Between the reply and the reading of it the message may have been moved to a page, too. (BUG 2)
        self.trace.reached(match (still_exists, self.has_fault_fired()) {
            (false, _) => "read: failed, the message was gone",
            (true, true) => "read: failed by the disk",
            (true, false) => "read: failed, the message was moved",
        });
        self.undo(receipts)
    }

    /// A client hangs up: while it waits, or with its reply on the way to it.
    pub(super) fn hang_up(&mut self, pick: u64) -> Going {
        let waiting: Vec<u64> = self
            .requests
            .iter()
            .filter(|(_, request)| request.asker == Asker::Client && !request.hung_up)
            .map(|(&id, _)| id)
            .collect();
        let count = waiting.len() + self.held.len();
        if count == 0 {
            return Ok(());
        }
        let pick = pick as usize % count;
        if pick >= waiting.len() {
            let held = self.held.remove(pick - waiting.len());
            let receipts = receipts_of(&held.answer);
            if !receipts.is_empty() {
                self.trace.reached("a client hung up with its messages on the way");
                self.undo(receipts)?;
            }
            return Ok(());
        }
        let id = waiting[pick];
        let request = self.requests.get_mut(&id).expect("it was just seen");
        request.hung_up = true;
        if let (Some((queue, ticket)), Some(life)) = (request.waits, &mut self.life)
            && life.core.cancel(queue, ticket).is_some()
        {
            self.requests.remove(&id);
            self.trace.reached("a client hung up while it waited");
        }
        Ok(())
    }

    /// With nothing on its way, nobody waits for what is there, nor longer than was asked.
    pub(super) fn check_waiting(&mut self) -> Going {
        let Some(life) = &self.life else { return Ok(()) };
        if !life.core.is_quiet() || life.core.stopped().is_some() {
            return Ok(());
        }
        let all_in_memory = life.core.shard().frozen_pages().next().is_none();
        for request in self.requests.values() {
            let (Command::Receive(receive), Some(_)) = (&request.command, request.waits) else { continue };
            // A queue's own waiting time is at most 20 s.
            let until = request.asked_at.plus_seconds(u64::from(receive.wait_seconds.unwrap_or(20).max(5)));
            if until <= self.now() {
                return self.broken("a long poll waits longer than it was asked to");
            }
            if all_in_memory {
                self.promises.check_waiting(receive, self.now()).map_err(super::Ended::Broken)?;
            }
        }
        Ok(())
    }

    /// Takes the only reply that was not read yet.
    pub(super) fn take_held(&mut self) -> Option<Answer> {
        self.held.last().map(|held| held.answer.clone())
    }
}

fn receipts_of(answer: &Answer) -> Vec<Receipt> {
    match answer {
        Answer::Received { deliveries, .. } => deliveries.iter().map(|delivery| delivery.receipt).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn name_of(command: &Command) -> &'static str {
    match command {
        Command::Found { .. } => "Found",
        Command::CreateQueue { .. } => "CreateQueue",
        Command::DeleteQueue { .. } => "DeleteQueue",
        Command::PurgeQueue { .. } => "PurgeQueue",
        Command::SetAttributes { .. } => "SetAttributes",
        Command::Tag { .. } => "Tag",
        Command::Untag { .. } => "Untag",
        Command::Describe { .. } => "Describe",
        Command::List { .. } => "List",
        Command::Send { .. } => "Send",
        Command::Receive(_) => "Receive",
        Command::Undo { .. } => "Undo",
        Command::Delete { .. } => "Delete",
        Command::ChangeVisibility { .. } => "ChangeVisibility",
        Command::MovePayloads { .. } => "MovePayloads",
        Command::Freeze { .. } => "Freeze",
        Command::Thaw { .. } => "Thaw",
    }
}

/// What a command becomes in the hands of a saboteur.
fn spoil(sabotage: Option<Sabotage>, command: Command) -> Command {
    match (sabotage, command) {
        (Some(Sabotage::HidesTooShort), Command::Receive(mut receive)) => {
            receive.visibility_seconds = receive.visibility_seconds.map(|seconds| seconds / 2);
            Command::Receive(receive)
        }
        (Some(Sabotage::IgnoresDelays), Command::Send { queue, mut messages }) => {
            messages.iter_mut().for_each(|message| message.delay_seconds = Some(0));
            Command::Send { queue, messages }
        }
        (Some(Sabotage::ForgetsDeletes), Command::Delete { queue, mut receipts }) => {
            receipts.iter_mut().for_each(|receipt| receipt.delivery = DeliveryNumber(0));
            Command::Delete { queue, receipts }
        }
        (Some(Sabotage::ForgetsPurges), Command::PurgeQueue { queue }) => Command::Untag { queue, keys: vec![] },
        (_, command) => command,
    }
}
