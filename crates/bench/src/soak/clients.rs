//! What the clients of a soak do: everything, at random, some of it rude.

use super::dice::Dice;
use super::ledger::{Ledger, MessageId, QueueIndex, Span};
use crate::load::{CallError, Connection, Encoder, Wire};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::RwLock;

/// Before the next attempt to reach a server that isn't there.
const PAUSE_WHEN_DOWN: Duration = Duration::from_millis(20);

/// What a queue is for, which decides what is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sent to and drained all the time, visibility timeouts changed, attributes too.
    Work,
    /// Filled until it is long, then drained until it is short.
    Backlog,
    /// Every message is delayed.
    Delayed,
    /// Messages are kept for a minute only.
    Brief,
    /// Purged now and then.
    Purged,
}

impl Role {
    pub const ALL: [Self; 7] =
        [Self::Work, Self::Work, Self::Backlog, Self::Backlog, Self::Delayed, Self::Brief, Self::Purged];

    /// With more messages than this it is drained rather than filled, and with fewer than a tenth filled again.
    fn long(self) -> u64 {
        if self == Self::Backlog { 60_000 } else { 2_000 }
    }

    fn attributes(self) -> Value {
        match self {
            Self::Work | Self::Backlog | Self::Purged => json!({ "MessageRetentionPeriod": "1209600" }),
            Self::Delayed => json!({ "MessageRetentionPeriod": "1209600", "DelaySeconds": "5" }),
            Self::Brief => json!({ "MessageRetentionPeriod": "60" }),
        }
    }

    pub fn retention_seconds(self) -> u64 {
        if self == Self::Brief { 60 } else { 1_209_600 }
    }
}

pub struct Place {
    pub role: Role,
    pub name: String,
    pub index: QueueIndex,
    draining: Cell<bool>,
}

/// What all clients and the one that restarts the server share.
pub struct Yard {
    pub queues: Vec<Place>,
    pub ledger: RefCell<Ledger>,
    /// Where the server listens. Whoever restarts it holds this for writing.
    pub address: RwLock<SocketAddr>,
    /// Milliseconds by which the server's clock is ahead of ours: at least, and at most.
    pub ahead: Cell<(u64, u64)>,
    pub is_over: Cell<bool>,
    /// The disk was filled on purpose.
    pub is_full: Cell<bool>,
    /// Answers that were errors, and requests without an answer, by kind.
    pub errors: RefCell<BTreeMap<String, u64>>,
    pub operations: RefCell<BTreeMap<&'static str, u64>>,
    fleeting: Cell<u64>,
}

impl Yard {
    pub fn new(address: SocketAddr) -> Self {
        let mut ledger = Ledger::default();
        let queues = Role::ALL.into_iter().enumerate().map(|(number, role)| {
            let retention = (role.retention_seconds(), role.retention_seconds());
            let name = format!("{role:?}-{number}").to_lowercase();
            Place { role, name, index: ledger.add_queue(retention), draining: Cell::new(false) }
        });
        Self {
            queues: queues.collect(),
            ledger: RefCell::new(ledger),
            address: RwLock::new(address),
            ahead: Cell::new((0, 0)),
            is_over: Cell::new(false),
            is_full: Cell::new(false),
            errors: RefCell::default(),
            operations: RefCell::default(),
            fleeting: Cell::new(0),
        }
    }

    /// The server's clock now.
    pub fn now(&self) -> Span {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (least, most) = self.ahead.get();
        // What is left of a millisecond may already count as a whole one where it is added to something.
        Span { from: now.as_millis() as u64 + least, to: now.as_millis() as u64 + most + 1 }
    }

    fn note(&self, kind: String) {
        *self.errors.borrow_mut().entry(kind).or_default() += 1;
    }
}

/// How a request ended.
pub enum Answer {
    Success(Value, Span),
    /// Nothing was changed.
    Refused,
    /// Anything may have happened.
    Unknown,
}

pub struct Client {
    yard: Rc<Yard>,
    dice: Dice,
    connection: Option<(SocketAddr, Connection)>,
}

impl Client {
    pub fn new(yard: Rc<Yard>, dice: Dice) -> Self {
        Self { yard, dice, connection: None }
    }

    /// Does one thing after the other until the soak is over.
    pub async fn run(mut self) {
        while !self.yard.is_over.get() {
            self.act().await;
        }
    }

    async fn act(&mut self) {
        let place = self.dice.below(self.yard.queues.len() as u64) as usize;
        let Place { role, index, ref draining, .. } = self.yard.queues[place];
        let live = self.yard.ledger.borrow().live(index);
        let drains = (draining.get() && live > role.long() / 10) || live > role.long();
        draining.set(drains);
        let receives = if drains { 80 } else { 25 };
        match self.dice.below(1000) {
            0..3 if role == Role::Purged => self.purge(place).await,
            0..5 if role == Role::Work => self.change_attributes(place).await,
            5..8 => self.fleeting_queue().await,
            8..13 => self.hang_up(place).await,
            13..14 => self.never_read(place).await,
            14..20 => self.receive(place, 2).await,
            20..30 => self.look(place).await,
            _ if self.dice.in_a_hundred(receives) => self.receive(place, 0).await,
            _ if role == Role::Backlog || self.dice.in_a_hundred(40) => self.send_batch(place).await,
            _ => self.send(place).await,
        }
    }

    async fn send(&mut self, place: usize) {
        let Place { role, index, ref name, .. } = self.yard.clone().queues[place];
        let delay = self.draw_delay(role);
        let id = self.yard.ledger.borrow_mut().asks_to_send(index, delay.unwrap_or(least_delay(role)), self.yard.now());
        let members = entry(None, id, index, delay);
        let answer = self.call_on("SendMessage", name, members).await;
        let mut ledger = self.yard.ledger.borrow_mut();
        match answer {
            Answer::Success(_, at) => ledger.sent(id, at),
            Answer::Refused => ledger.refused(id),
            Answer::Unknown => ledger.unanswered(id),
        }
    }

    async fn send_batch(&mut self, place: usize) {
        let Place { role, index, ref name, .. } = self.yard.clone().queues[place];
        let count = self.dice.between(2, 10);
        let (mut ids, mut entries) = (Vec::new(), Vec::new());
        for number in 0..count {
            let delay = self.draw_delay(role);
            let now = self.yard.now();
            let id = self.yard.ledger.borrow_mut().asks_to_send(index, delay.unwrap_or(least_delay(role)), now);
            entries.push(entry(Some(number), id, index, delay));
            ids.push(id);
        }
        let answer = self.call_on("SendMessageBatch", name, json!({ "Entries": entries })).await;
        let mut ledger = self.yard.ledger.borrow_mut();
        match answer {
            Answer::Success(reply, at) => {
                for number in entry_ids(&reply["Successful"]) {
                    ledger.sent(ids[number], at);
                }
                for failed in reply["Failed"].as_array().into_iter().flatten() {
                    let number = entry_ids(&json!([failed]))[0];
                    self.yard.note(format!("batch entry: {}", failed["Code"]));
                    if failed["SenderFault"] == true {
                        ledger.refused(ids[number])
                    } else {
                        ledger.unanswered(ids[number])
                    }
                }
            }
            Answer::Refused => ids.into_iter().for_each(|id| ledger.refused(id)),
            Answer::Unknown => ids.into_iter().for_each(|id| ledger.unanswered(id)),
        }
    }

    /// Receives, then deletes most, changes the timeout of some, and forgets the rest.
    async fn receive(&mut self, place: usize, wait_seconds: u64) {
        let Place { index, ref name, .. } = self.yard.clone().queues[place];
        let hidden_seconds = self.dice.between(1, 20);
        let members = json!({
            "MaxNumberOfMessages": self.dice.between(1, 10),
            "VisibilityTimeout": hidden_seconds,
            "WaitTimeSeconds": wait_seconds,
        });
        let Answer::Success(reply, at) = self.call_on("ReceiveMessage", name, members).await else { return };
        let received = self.note_received(index, &reply, at, hidden_seconds);
        let mut doomed = Vec::new();
        for (id, receipt) in received {
            match self.dice.below(100) {
                0..80 => doomed.push((id, receipt)),
                80..88 => self.change_visibility(name, id, &receipt).await,
                _ => {}
            }
        }
        match &doomed[..] {
            [] => {}
            [(id, receipt)] => self.delete(name, *id, receipt).await,
            _ => self.delete_batch(name, doomed).await,
        }
    }

    fn note_received(&self, index: QueueIndex, reply: &Value, at: Span, hidden: u64) -> Vec<(MessageId, String)> {
        let mut ledger = self.yard.ledger.borrow_mut();
        let mut received = Vec::new();
        for message in reply["Messages"].as_array().into_iter().flatten() {
            let body = message["Body"].as_str().unwrap_or_default();
            let receipt = message["ReceiptHandle"].as_str().unwrap_or_default().to_owned();
            match id_of(body, index) {
                Some(id) => {
                    ledger.delivered(id, index, at, hidden, &receipt);
                    received.push((id, receipt));
                }
                None => ledger.never_sent(&format!("{body:?}, from queue {index}")),
            }
        }
        received
    }

    async fn change_visibility(&mut self, name: &str, id: MessageId, receipt: &str) {
        let seconds = if self.dice.in_a_hundred(40) { 0 } else { self.dice.between(1, 40) };
        self.yard.ledger.borrow_mut().asks_to_hide(id, seconds, self.yard.now());
        let members = json!({ "ReceiptHandle": receipt, "VisibilityTimeout": seconds });
        if let Answer::Success(_, at) = self.call_on("ChangeMessageVisibility", name, members).await {
            self.yard.ledger.borrow_mut().hidden(id, receipt, seconds, at);
        }
    }

    async fn delete(&mut self, name: &str, id: MessageId, receipt: &str) {
        self.yard.ledger.borrow_mut().asks_to_delete(id);
        let answer = self.call_on("DeleteMessage", name, json!({ "ReceiptHandle": receipt })).await;
        if let Answer::Success(_, at) = answer {
            self.yard.ledger.borrow_mut().deleted(id, receipt, at);
        }
    }

    async fn delete_batch(&mut self, name: &str, doomed: Vec<(MessageId, String)>) {
        let entry = |(number, (_, receipt)): (usize, &(MessageId, String))| json!({ "Id": number.to_string(), "ReceiptHandle": receipt });
        let entries: Vec<_> = doomed.iter().enumerate().map(entry).collect();
        doomed.iter().for_each(|(id, _)| self.yard.ledger.borrow_mut().asks_to_delete(*id));
        let answer = self.call_on("DeleteMessageBatch", name, json!({ "Entries": entries })).await;
        if let Answer::Success(reply, at) = answer {
            for number in entry_ids(&reply["Successful"]) {
                let (id, receipt) = &doomed[number];
                self.yard.ledger.borrow_mut().deleted(*id, receipt, at);
            }
        }
    }

    async fn purge(&mut self, place: usize) {
        let Place { index, ref name, .. } = self.yard.clone().queues[place];
        self.yard.ledger.borrow_mut().asks_to_purge(index);
        let answer = self.call_on("PurgeQueue", name, json!({})).await;
        let at = if let Answer::Success(_, at) = answer { Some(at) } else { None };
        self.yard.ledger.borrow_mut().purged(index, at);
    }

    async fn change_attributes(&mut self, place: usize) {
        let name = &self.yard.clone().queues[place].name;
        let attributes = json!({
            "VisibilityTimeout": self.dice.between(10, 60).to_string(),
            "ReceiveMessageWaitTimeSeconds": "0",
            "MaximumMessageSize": self.dice.between(100_000, 1_000_000).to_string(),
        });
        self.call_on("SetQueueAttributes", name, json!({ "Attributes": attributes })).await;
    }

    async fn look(&mut self, place: usize) {
        let name = &self.yard.clone().queues[place].name;
        self.call_on("GetQueueAttributes", name, json!({ "AttributeNames": ["All"] })).await;
    }

    /// Makes a queue, sends it messages, receives some, and deletes it with the rest.
    async fn fleeting_queue(&mut self) {
        let number = self.yard.fleeting.get();
        self.yard.fleeting.set(number + 1);
        let name = format!("fleeting-{number}");
        if !matches!(self.call("CreateQueue", json!({ "QueueName": name })).await, Answer::Success(..)) {
            return;
        }
        for _ in 0..self.dice.between(1, 5) {
            self.call_on("SendMessage", &name, json!({ "MessageBody": "soon gone" })).await;
        }
        self.call_on("ReceiveMessage", &name, json!({})).await;
        self.call_on("DeleteQueue", &name, json!({})).await;
    }

    /// Asks for messages, and is gone before the answer comes.
    async fn hang_up(&mut self, place: usize) {
        let members = json!({ "MaxNumberOfMessages": 10, "WaitTimeSeconds": 5, "VisibilityTimeout": 10 });
        let patience = Duration::from_micros(self.dice.below(50_000));
        self.be_rude(place, members, 1, patience).await;
    }

    /// Asks again and again, and reads no answer.
    async fn never_read(&mut self, place: usize) {
        let members = json!({ "MaxNumberOfMessages": 10, "VisibilityTimeout": 10 });
        self.be_rude(place, members, 300, Duration::from_secs(5)).await;
    }

    async fn be_rude(&mut self, place: usize, members: Value, times: usize, patience: Duration) {
        *self.yard.operations.borrow_mut().entry("hang up, or never read").or_default() += 1;
        let address = *self.yard.address.read().await;
        let request = self.request(address, "ReceiveMessage", &self.yard.queues[place].name, members).repeat(times);
        let Ok(mut stream) = TcpStream::connect(address).await else { return };
        // Where the server takes no more, patience ends this too.
        let _ = tokio::time::timeout(patience, async {
            let _ = stream.write_all(&request).await;
            std::future::pending::<()>().await;
        })
        .await;
    }

    fn draw_delay(&mut self, role: Role) -> Option<u64> {
        let may_be_delayed = matches!(role, Role::Work | Role::Delayed);
        (may_be_delayed && self.dice.in_a_hundred(30)).then(|| self.dice.between(0, 20))
    }

    fn request(&self, address: SocketAddr, operation: &str, queue: &str, mut members: Value) -> Vec<u8> {
        members["QueueUrl"] = json!(format!("http://{address}/000000000000/{queue}"));
        encoder(address).json(operation, &members)
    }

    async fn call_on(&mut self, operation: &'static str, queue: &str, mut members: Value) -> Answer {
        // The path is what counts, so an address from before a restart would do as well.
        members["QueueUrl"] = json!(format!("http://127.0.0.1/000000000000/{queue}"));
        self.call(operation, members).await
    }

    /// Makes a request, unless the server is being restarted, and says when it happened.
    async fn call(&mut self, operation: &'static str, members: Value) -> Answer {
        let yard = self.yard.clone();
        let address = yard.address.read().await;
        *yard.operations.borrow_mut().entry(operation).or_default() += 1;
        let connection = match &mut self.connection {
            Some((connected, connection)) if *connected == *address => connection,
            connection => &mut connection.insert((*address, Connection::new(*address))).1,
        };
        let before = yard.now().from;
        match connection.call(&encoder(*address).json(operation, &members)).await {
            Ok(reply) => {
                let at = Span { from: before, to: yard.now().to };
                let body = serde_json::from_slice(reply.body).unwrap_or(Value::Null);
                if reply.status == 200 {
                    return Answer::Success(body, at);
                }
                let full = if yard.is_full.get() { ", disk full" } else { "" };
                yard.note(format!("{} {}{full}", reply.status, body["__type"].as_str().unwrap_or("without a code")));
                // Unavailable, such as with a full disk, means not carried out.
                if reply.status < 500 || reply.status == 503 { Answer::Refused } else { Answer::Unknown }
            }
            Err(CallError::Connect(_)) => {
                yard.note("not connected".to_owned());
                tokio::time::sleep(PAUSE_WHEN_DOWN).await;
                Answer::Refused
            }
            Err(error) => {
                yard.note(error.kind());
                Answer::Unknown
            }
        }
    }
}

pub fn encoder(address: SocketAddr) -> Encoder {
    Encoder::new(Wire::Json, &address.to_string(), "test", "us-east-1")
}

/// The request that makes a queue.
pub fn create(address: SocketAddr, place: &Place) -> Vec<u8> {
    let members = json!({ "QueueName": place.name, "Attributes": place.role.attributes() });
    encoder(address).json("CreateQueue", &members)
}

/// How long messages without a delay of their own are delayed.
fn least_delay(role: Role) -> u64 {
    if role == Role::Delayed { 5 } else { 0 }
}

/// The members of a send, for a batch or alone.
fn entry(number: Option<u64>, id: MessageId, queue: QueueIndex, delay: Option<u64>) -> Value {
    let mut members = json!({ "MessageBody": body_of(id, queue) });
    if let Some(number) = number {
        members["Id"] = json!(number.to_string());
    }
    if let Some(delay) = delay {
        members["DelaySeconds"] = json!(delay);
    }
    members
}

/// The ids of entries of a batch: their numbers.
fn entry_ids(entries: &Value) -> Vec<usize> {
    let id = |entry: &Value| entry["Id"].as_str()?.parse().ok();
    entries.as_array().into_iter().flatten().filter_map(id).collect()
}

/// A body that tells which message it is, and in which every byte can be checked: 40 bytes to 2 KB, a few of 100 KB.
pub fn body_of(id: MessageId, queue: QueueIndex) -> String {
    let mut dice = Dice::new(id);
    let bytes = if dice.below(500) == 0 { 100_000 } else { dice.between(40, 2_000) };
    let mut body = format!("{id} {queue} ");
    let padding = b'a' + dice.below(26) as u8;
    body.extend(std::iter::repeat_n(char::from(padding), bytes as usize));
    body
}

/// The message that a body belongs to, if every byte is right.
pub fn id_of(body: &str, queue: QueueIndex) -> Option<MessageId> {
    let id = body.split(' ').next()?.parse().ok()?;
    (body == body_of(id, queue)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_tells_its_message_and_nothing_else_does() {
        for id in [0, 7, 1_000_000] {
            let body = body_of(id, 3);
            assert_eq!(id_of(&body, 3), Some(id));
            assert_eq!(id_of(&body, 4), None);
            assert_eq!(id_of(&body[..body.len() - 1], 3), None);
            assert_eq!(id_of(&body.replace(' ', "  "), 3), None);
        }
    }

    #[test]
    fn ids_of_entries_are_their_numbers() {
        assert_eq!(entry_ids(&json!([{ "Id": "0" }, { "Id": "12" }, { "Id": "x" }, 7])), [0, 12]);
        assert!(entry_ids(&Value::Null).is_empty());
    }
}
