//! The lower altitudes: the engine's core, driven by hand, with or without a disk beneath it.
//!
//! ```text
//!   call ──▶ Core ──batch──▶ LocalStore ──▶ FakeDisk ◀── House: pages, snapshots
//!             ▲                                 │ the power goes; what was not synced is lost
//!             └──── snapshot + journal ─────────┘ after every step
//! ```
//!
//! Time is a number that only [`Driver::advance`] moves.

use crate::call::{Attribute, Call, Code, Message, Receive, Received, Reply, StringMap};
use crate::driver::Driver;
use api::ErrorKind;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use engine::core::{Asked, Core, Outbox, Outcome};
use engine::house::House;
use engine::pager::Living;
use engine::recovery;
use engine::store::{AppendError, LocalOptions, LocalStore, Store};
use engine::{AskError, Ticket};
use host::disk::{FakeDisk, Survivors};
use host::entropy::{Entropy, FakeEntropy};
use md5::{Digest, Md5};
use model::{AccountId, MessageId, QueueId, QueueKey, QueueName, Region, Text, Timestamp};
use shard::{
    Answer, AttributeValue, BacklogWork, Command, Delivery, NewMessage, Paging, Payload, PayloadAt, QueueFacts,
};
use shard::{Receipt, ReceiptError, ReceiptKey, Refusal, Rules, SendError, Setting, Shard};
use std::path::Path;
use std::sync::Arc;

/// What is kept from one step to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// The state in memory.
    Memory,
    /// What the journal says.
    Journal,
    /// A snapshot, made before the power goes. All payloads are in pages by then, and long backlogs are frozen.
    Snapshots,
}

/// The core, and the other side of its replies.
pub struct CoreDriver {
    core: Core<Asker>,
    now: Timestamp,
    rules: Rules,
    disk: Option<Disk>,
    polls: Vec<Poll>,
    /// What the caller and the house were answered and haven't looked at yet.
    answered: Vec<(Asker, Outcome)>,
    entropy: FakeEntropy,
}

/// Who asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asker {
    Caller,
    House,
    Poll(usize),
}

struct Disk {
    fake: FakeDisk,
    store: Arc<LocalStore>,
    kept: Kept,
}

enum Poll {
    /// `at` is where the core keeps it; nothing while its answer is on its way.
    Asked {
        receive: Receive,
        until: Timestamp,
        at: Option<(QueueId, Ticket)>,
    },
    Answered(Result<Reply, Code>),
    GivenUp,
}

const DATA: &str = "/data";

/// Small, so that a disk is copied quickly: just more than the longest record.
const SEGMENT_BYTES: u64 = 5 << 20;

const BEGINNING: Timestamp = Timestamp(1_700_000_000_000);

impl CoreDriver {
    /// An empty shard.
    pub fn new(kept: Kept, rules: Rules) -> Self {
        let disk = (kept != Kept::Memory).then(|| Disk::open(FakeDisk::default(), kept));
        let core = core(Shard::new(rules.clone()), disk.as_ref());
        let mut driver = Self {
            core,
            now: BEGINNING,
            rules,
            disk,
            polls: Vec::new(),
            answered: Vec::new(),
            entropy: FakeEntropy::new(1),
        };
        driver.ask(Command::Found { receipt_key: ReceiptKey::new([7; 32]) }).expect("founding is never refused");
        driver
    }

    /// The settings of a scenario, in the shard's terms. Short backlogs are frozen too; only so many messages stay in
    /// memory that two of the largest receives, one after the other, find all they ask for.
    pub fn rules(settings: &[(String, u32)]) -> Rules {
        let paging = Paging {
            page_messages: 2,
            thaw_below: 20,
            window: 22,
            freeze_above: 24,
            look_every: 1,
            ..Paging::default()
        };
        let mut rules = Rules { paging, ..Rules::default() };
        for (name, value) in settings {
            match name.as_str() {
                "in_flight_max" => rules.in_flight_max = *value as usize,
                "purge_interval_seconds" => rules.purge_interval_seconds = *value,
                "deleted_name_seconds" => rules.deleted_name_seconds = *value,
                _ => panic!("there is no rule {name}"),
            }
        }
        rules
    }

    /// Carries out a command that waits for nothing but frozen messages.
    fn ask(&mut self, command: Command) -> Result<Answer, Code> {
        let mut outbox = Outbox::new();
        let asked = self.core.ask(self.now, command, Asker::Caller, &mut outbox);
        self.hand_out(outbox);
        if asked != Asked::Answered && self.keeps_house() {
            self.page_backlog();
        }
        told(self.answer(Asker::Caller).expect("it would wait: write `receive … as poll1 &`"))
    }

    fn answer(&mut self, asker: Asker) -> Option<Outcome> {
        let at = self.answered.iter().position(|(answered, _)| *answered == asker)?;
        Some(self.answered.swap_remove(at).1)
    }

    /// Makes everything durable, and gives each his reply.
    fn hand_out(&mut self, mut outbox: Outbox<Asker>) {
        if let Some(disk) = &self.disk {
            while let Some(batch) = self.core.take_batch() {
                let lsn = disk.append(&batch.entries);
                assert_eq!(lsn, batch.lsn, "a batch stands elsewhere than its entries were told");
                self.core.durable(&mut outbox);
            }
        }
        for (asker, outcome) in outbox {
            let Asker::Poll(poll) = asker else {
                self.answered.push((asker, outcome));
                continue;
            };
            let Poll::Asked { receive, .. } = &self.polls[poll] else { panic!("a poll is answered twice") };
            let receive = receive.clone();
            self.polls[poll] = Poll::Answered(told(outcome).map(|answer| self.received(answer, &receive)));
        }
    }

    fn queue(&self, name: &str) -> Result<QueueKey, Code> {
        Ok(QueueKey {
            account: AccountId::parse("000000000000").expect("twelve digits"),
            region: Region::parse("us-east-1").expect("a Region"),
            name: QueueName::parse(name).ok_or_else(|| code(ErrorKind::InvalidParameterValue))?,
        })
    }

    fn done(&mut self, command: Command) -> Result<Reply, Code> {
        self.ask(command).map(|_| Reply::Done)
    }

    fn facts(&mut self, queue: &str) -> Result<Box<QueueFacts>, Code> {
        match self.ask(Command::Describe { queue: self.queue(queue)? })? {
            Answer::Queue(facts) => Ok(facts),
            other => panic!("a queue is described by {other:?}"),
        }
    }

    fn send(&mut self, queue: &str, messages: &[Message]) -> Result<Vec<Result<String, Code>>, Code> {
        let messages = messages.iter().map(|message| self.new_message(message)).collect();
        match self.ask(Command::Send { queue: self.queue(queue)?, messages })? {
            Answer::Sent(outcomes) => Ok(outcomes
                .into_iter()
                .map(|outcome| match outcome {
                    Ok(sent) => Ok(sent.id.to_string()),
                    Err(SendError::TooLong { .. }) => Err(code(ErrorKind::InvalidParameterValue)),
                })
                .collect()),
            other => panic!("a send is answered with {other:?}"),
        }
    }

    fn new_message(&self, message: &Message) -> NewMessage {
        let mut random = [0; 16];
        self.entropy.fill(&mut random);
        let id = MessageId::from_random(random);
        let attribute = |(name, attribute): (&String, &Attribute)| shard::Attribute {
            name: name.as_str().into(),
            data_type: attribute.data_type.as_str().into(),
            value: match attribute.is_binary() {
                true => AttributeValue::Binary(STANDARD.decode(&attribute.value).expect("base64").into()),
                false => AttributeValue::Text(attribute.value.as_str().into()),
            },
        };
        let attributes: Vec<_> = message.attributes.iter().map(attribute).collect();
        let attribute_bytes = |attribute: &shard::Attribute| {
            let value_bytes = match &attribute.value {
                AttributeValue::Text(text) => text.bytes().len(),
                AttributeValue::Binary(binary) => binary.len(),
            };
            attribute.name.len() + attribute.data_type.len() + value_bytes
        };
        let size_bytes = message.body.len() + attributes.iter().map(attribute_bytes).sum::<usize>();
        let payload = Payload {
            id,
            body_md5: Md5::digest(&message.body).into(),
            sender_id: "AIDASCENARIO".into(),
            body: message.body.as_str().into(),
            attributes,
            trace_header: message.trace_header.as_deref().map(Text::from),
            message_group_id: message.group_id.as_deref().map(Text::from),
        };
        let delay_seconds = message.delay_seconds.map(|seconds| seconds as u32);
        NewMessage { id, delay_seconds, size_bytes, payload: payload.encode() }
    }

    fn receive(&self, receive: &Receive) -> Result<shard::Receive, Code> {
        Ok(shard::Receive {
            queue: self.queue(&receive.queue)?,
            messages_max: receive.messages_max.unwrap_or(1) as usize,
            visibility_seconds: receive.visibility_seconds.map(|seconds| seconds as u32),
            wait_seconds: receive.wait_seconds.map(|seconds| seconds as u32),
        })
    }

    fn received(&self, answer: Answer, receive: &Receive) -> Reply {
        match answer {
            Answer::Received { deliveries, .. } => {
                Reply::Messages(deliveries.iter().map(|delivery| self.message(delivery, receive)).collect())
            }
            other => panic!("a receive is answered with {other:?}"),
        }
    }

    fn message(&self, delivery: &Delivery, receive: &Receive) -> Received {
        let bytes = match (&delivery.payload, &self.disk) {
            (PayloadAt::Held(bytes), _) => bytes.to_vec().into(),
            (PayloadAt::Journal { position, bytes }, Some(disk)) => {
                disk.store.read(*position, *bytes).expect("readable")
            }
            (PayloadAt::Page { page, offset, bytes }, Some(disk)) => {
                disk.store.read_page(*page, *offset, *bytes).expect("readable")
            }
            (place, None) => panic!("nothing was put at {place:?}"),
        };
        let payload = Payload::decode(&bytes).expect("a payload is where the shard says");
        assert_eq!(<[u8; 16]>::from(Md5::digest(&*payload.body)), payload.body_md5, "another body than was sent");
        let is_asked = |names: &[String], name: &str| names.iter().any(|asked| asked == "All" || asked == name);
        let attributes = payload.attributes.iter().filter(|attribute| is_asked(&receive.attributes, &attribute.name));
        Received {
            id: payload.id.to_string(),
            receipt: STANDARD.encode(self.key().seal(delivery.receipt)),
            body: payload.body.to_string(),
            system_attributes: system_attributes(delivery, &payload)
                .into_iter()
                .filter(|(name, _)| *name == "ApproximateReceiveCount" || is_asked(&receive.system_attributes, name))
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            attributes: attributes.map(shown_attribute).collect(),
        }
    }

    fn key(&self) -> &ReceiptKey {
        self.core.shard().receipt_key().expect("the shard was founded")
    }

    fn receipt(&self, handle: &str) -> Result<Receipt, Code> {
        let receipt = STANDARD.decode(handle).ok().and_then(|bytes| self.key().open(&bytes));
        receipt.ok_or_else(|| code(ErrorKind::ReceiptHandleIsInvalid))
    }

    /// Asks about several receipts at once; those that can't be read fail alone.
    fn outcomes(
        &mut self,
        entries: &[(String, Result<Receipt, Code>)],
        command: impl FnOnce(Vec<Receipt>) -> Command,
    ) -> Result<Reply, Code> {
        let receipts = entries.iter().filter_map(|(_, receipt)| receipt.clone().ok()).collect();
        let mut outcomes = match self.ask(command(receipts))? {
            Answer::Outcomes(outcomes) => outcomes.into_iter(),
            other => panic!("receipts are answered with {other:?}"),
        };
        let outcome = |(id, receipt): &(String, Result<Receipt, Code>)| {
            let outcome = match receipt {
                Ok(_) => outcomes.next().expect("one for each receipt").map(|()| None).map_err(refused_receipt),
                Err(code) => Err(code.clone()),
            };
            (id.clone(), outcome)
        };
        Ok(Reply::Outcomes(entries.iter().map(outcome).collect()))
    }

    fn change(&mut self, queue: &str, entries: &[(String, String, i64)]) -> Result<Reply, Code> {
        let receipts: Vec<_> = entries.iter().map(|(id, handle, _)| (id.clone(), self.receipt(handle))).collect();
        let readable = receipts.iter().zip(entries).filter(|((_, receipt), _)| receipt.is_ok());
        let seconds: Vec<u32> = readable.map(|(_, (.., seconds))| *seconds as u32).collect();
        let queue = self.queue(queue)?;
        self.outcomes(&receipts, |receipts| Command::ChangeVisibility {
            queue,
            receipts: receipts.into_iter().zip(seconds).collect(),
        })
    }

    fn delete(&mut self, queue: &str, entries: &[(String, String)]) -> Result<Reply, Code> {
        let receipts: Vec<_> = entries.iter().map(|(id, handle)| (id.clone(), self.receipt(handle))).collect();
        let queue = self.queue(queue)?;
        self.outcomes(&receipts, |receipts| Command::Delete { queue, receipts })
    }

    /// Lets a receive wait, again where the program went down in between: then its client asks again.
    fn wait(&mut self, poll: usize, receive: Receive, until: Timestamp) {
        let rest_seconds = until.milliseconds_since(self.now) / 1_000;
        let asked = Receive { wait_seconds: Some(rest_seconds as i64), ..receive.clone() };
        let mut outbox = Outbox::new();
        let command = match self.receive(&asked) {
            Ok(receive) => Command::Receive(receive),
            Err(code) => return self.polls[poll] = Poll::Answered(Err(code)),
        };
        let at = match self.core.ask(self.now, command, Asker::Poll(poll), &mut outbox) {
            Asked::Waiting { queue, ticket } => Some((queue, ticket)),
            Asked::Answered => None,
        };
        self.polls[poll] = Poll::Asked { receive, until, at };
        self.hand_out(outbox);
    }

    fn keeps_house(&self) -> bool {
        self.disk.as_ref().is_some_and(|disk| disk.kept == Kept::Snapshots)
    }

    fn house(&self) -> House {
        let disk = self.disk.as_ref().expect("there is a house only where there is a disk");
        House::new(disk.store.clone(), self.rules.clone(), 0).expect("a sound disk")
    }

    /// Freezes and thaws what is due.
    fn page_backlog(&mut self) {
        let pager = self.house().pager();
        while pager.work_on_backlog(self).expect("a sound disk") {}
    }

    /// The power goes and comes back.
    fn die_and_recover(&mut self) {
        let Some(disk) = &self.disk else { return };
        let kept = disk.kept;
        if self.keeps_house() {
            self.page_backlog();
            self.house().snapshot(self, true).expect("a sound disk");
        }
        let fake = &self.disk.as_ref().expect("it was there a moment ago").fake;
        let disk = Disk::open(fake.power_cut(&Survivors::Nothing), kept);
        let store = disk.store.as_ref();
        let mut recovered = recovery::from_snapshot(store, &self.rules).expect("a snapshot that was written");
        recovery::catch_up(store, &mut recovered).expect("a journal that was written");
        self.core = core(recovered.shard, Some(&disk));
        self.disk = Some(disk);
        for poll in 0..self.polls.len() {
            if let Poll::Asked { receive, until, .. } = &self.polls[poll] {
                let (receive, until) = (receive.clone(), *until);
                self.wait(poll, receive, until);
            }
        }
    }

    fn check(&self) {
        let shard = self.core.shard();
        shard.check_invariants();
        let snapshot = shard.snapshot();
        let copy = Shard::from_snapshot(&snapshot, self.rules.clone()).expect("a snapshot can be read");
        copy.check_invariants();
        assert_eq!(copy.snapshot(), snapshot, "a state read from a snapshot is another one");
    }
}

impl Living for CoreDriver {
    fn ask(&mut self, command: Command) -> Outcome {
        let mut outbox = Outbox::new();
        self.core.ask(self.now, command, Asker::House, &mut outbox);
        self.hand_out(outbox);
        self.answer(Asker::House).expect("the house is answered at once")
    }

    fn next_backlog_work(&mut self) -> Option<BacklogWork> {
        self.core.next_backlog_work()
    }

    fn in_memory(&self, _payload: &PayloadAt) -> Option<Bytes> {
        None
    }

    fn expect_page(&mut self, _page: u64, _bytes: Bytes) {}
}

impl Driver for CoreDriver {
    fn call(&mut self, call: &Call) -> Result<Reply, Code> {
        match call {
            Call::CreateQueue { queue, attributes, tags } => {
                let command = Command::CreateQueue {
                    queue: self.queue(queue)?,
                    settings: settings(attributes)?,
                    tags: tags.clone(),
                };
                self.done(command)
            }
            Call::DeleteQueue { queue } => self.done(Command::DeleteQueue { queue: self.queue(queue)? }),
            Call::PurgeQueue { queue } => self.done(Command::PurgeQueue { queue: self.queue(queue)? }),
            Call::GetQueueUrl { queue } => self.facts(queue).map(|_| Reply::Done),
            Call::SetAttributes { queue, attributes } => {
                let settings = settings(attributes)?;
                self.done(Command::SetAttributes { queue: self.queue(queue)?, settings })
            }
            Call::Attributes { queue, names } => {
                let facts = self.facts(queue)?;
                let attributes = attributes(&self.queue(queue)?, &facts);
                let is_asked = |name: &str| names.iter().any(|asked| asked == "All" || asked == name);
                Ok(Reply::Map(attributes.into_iter().filter(|(name, _)| is_asked(name)).collect()))
            }
            Call::Tag { queue, tags } => self.done(Command::Tag { queue: self.queue(queue)?, tags: tags.clone() }),
            Call::Untag { queue, keys } => self.done(Command::Untag { queue: self.queue(queue)?, keys: keys.clone() }),
            Call::Tags { queue } => Ok(Reply::Map(self.facts(queue)?.tags)),
            Call::List { prefix, results_max, next } => {
                let QueueKey { account, region, .. } = self.queue("any")?;
                let command = Command::List {
                    account,
                    region,
                    prefix: prefix.clone().unwrap_or_default(),
                    after: next.clone(),
                    results_max: results_max.unwrap_or(1_000) as usize,
                };
                match self.ask(command)? {
                    Answer::Queues(listing) => {
                        let names: Vec<_> = listing.names.iter().map(ToString::to_string).collect();
                        let next = names.last().filter(|_| listing.more && results_max.is_some()).cloned();
                        Ok(Reply::Names { names, next })
                    }
                    other => panic!("a listing is answered with {other:?}"),
                }
            }
            Call::Send { queue, message } => {
                let outcome = self.send(queue, std::slice::from_ref(message))?.remove(0);
                outcome.map(|id| Reply::Sent { id })
            }
            Call::SendBatch { queue, entries } => {
                let messages: Vec<_> = entries.iter().map(|(_, message)| message.clone()).collect();
                let outcomes = self.send(queue, &messages)?;
                let outcome =
                    |((id, _), outcome): (&(String, _), Result<String, Code>)| (id.clone(), outcome.map(Some));
                Ok(Reply::Outcomes(entries.iter().zip(outcomes).map(outcome).collect()))
            }
            Call::Receive(receive) => {
                let command = Command::Receive(self.receive(receive)?);
                let answer = self.ask(command)?;
                Ok(self.received(answer, receive))
            }
            Call::Delete { queue, receipt } => single(self.delete(queue, &[(String::new(), receipt.clone())])),
            Call::DeleteBatch { queue, entries } => self.delete(queue, entries),
            Call::ChangeVisibility { queue, receipt, seconds } => {
                single(self.change(queue, &[(String::new(), receipt.clone(), *seconds)]))
            }
            Call::ChangeVisibilityBatch { queue, entries } => self.change(queue, entries),
        }
    }

    fn start_poll(&mut self, receive: &Receive) -> usize {
        let poll = self.polls.len();
        self.polls.push(Poll::GivenUp);
        let queue_seconds = self.facts(&receive.queue).map_or(0, |facts| facts.settings.wait_seconds);
        let seconds = receive.wait_seconds.map_or(u64::from(queue_seconds), |seconds| seconds as u64);
        self.wait(poll, receive.clone(), self.now.plus_seconds(seconds));
        poll
    }

    fn poll(&mut self, poll: usize) -> Option<Result<Reply, Code>> {
        match &self.polls[poll] {
            Poll::Asked { .. } => None,
            Poll::Answered(answer) => Some(answer.clone()),
            Poll::GivenUp => panic!("nobody listens to this poll any more"),
        }
    }

    fn hang_up(&mut self, poll: usize) {
        if let Poll::Asked { at: Some((queue, ticket)), .. } = self.polls[poll] {
            self.core.cancel(queue, ticket);
        }
        self.polls[poll] = Poll::GivenUp;
    }

    fn advance(&mut self, seconds: u64) {
        self.now = self.now.plus_seconds(seconds);
        let mut outbox = Outbox::new();
        self.core.advance(self.now, &mut outbox);
        self.hand_out(outbox);
    }

    fn now_seconds(&self) -> u64 {
        self.now.as_seconds()
    }

    fn undo(&mut self, receipt: &str) {
        let receipts = self.receipt(receipt).into_iter().collect();
        self.ask(Command::Undo { receipts }).expect("undoing is never refused");
    }

    fn step_done(&mut self) {
        self.check();
        self.die_and_recover();
        self.check();
    }
}

impl Disk {
    fn open(fake: FakeDisk, kept: Kept) -> Self {
        let options = LocalOptions { sync: journal::SyncMode::Fsync, segment_bytes: SEGMENT_BYTES, identity: 1 };
        let (store, _) = LocalStore::open(Arc::new(fake.clone()), Path::new(DATA), &options).expect("a sound disk");
        Self { fake, store: Arc::new(store), kept }
    }

    fn append(&self, entries: &[u8]) -> u64 {
        match self.store.append(entries) {
            Ok(lsn) => lsn,
            Err(AppendError::Full(_)) => {
                assert!(self.store.make_room().expect("a sound disk"), "the disk has room");
                self.store.append(entries).expect("there is room now")
            }
            Err(AppendError::Failed(reason)) => panic!("{reason}"),
        }
    }
}

fn core(shard: Shard, disk: Option<&Disk>) -> Core<Asker> {
    let (end, header_bytes) = disk.map_or((None, 0), |disk| (Some(disk.store.end()), disk.store.header_bytes()));
    Core::new(shard, end, header_bytes)
}

fn single(outcomes: Result<Reply, Code>) -> Result<Reply, Code> {
    match outcomes? {
        Reply::Outcomes(outcomes) => outcomes.into_values().next().expect("one entry").map(|_| Reply::Done),
        other => Ok(other),
    }
}

fn code(kind: ErrorKind) -> Code {
    kind.query_code().to_owned()
}

/// Answers in terms of AWS's codes, as the layers above put them.
fn told(outcome: Outcome) -> Result<Answer, Code> {
    outcome.map_err(|error| {
        code(match error {
            AskError::Refused(refusal) => match refusal {
                Refusal::QueueDoesNotExist => ErrorKind::QueueDoesNotExist,
                Refusal::QueueNameExists { .. } => ErrorKind::QueueNameExists,
                Refusal::QueueDeletedRecently { .. } => ErrorKind::QueueDeletedRecently,
                Refusal::PurgeInProgress { .. } => ErrorKind::PurgeQueueInProgress,
                Refusal::TooManyInFlight => ErrorKind::OverLimit,
                Refusal::TooManyTags => ErrorKind::InvalidParameterValue,
                Refusal::EncryptionConflict => ErrorKind::InvalidAttributeName,
                Refusal::KeyNotFound { .. } => ErrorKind::KmsNotFound,
            },
            other => panic!("the engine has no reason for this: {other}"),
        })
    })
}

fn refused_receipt(error: ReceiptError) -> Code {
    code(match error {
        ReceiptError::OtherQueue => ErrorKind::ReceiptHandleIsInvalid,
        ReceiptError::Gone | ReceiptError::HiddenTooLong => ErrorKind::InvalidParameterValue,
        ReceiptError::NotInFlight => ErrorKind::MessageNotInflight,
    })
}

/// Attributes as the shard takes them. Their ranges are checked above it, so scenarios about those don't come here.
fn settings(attributes: &StringMap) -> Result<Vec<Setting>, Code> {
    let setting = |(name, value): (&String, &String)| {
        let number = || value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number"));
        let text = || Some(value.clone()).filter(|text| !text.is_empty());
        match name.as_str() {
            "VisibilityTimeout" => Ok(Setting::VisibilityTimeout { seconds: number() }),
            "DelaySeconds" => Ok(Setting::Delay { seconds: number() }),
            "MessageRetentionPeriod" => Ok(Setting::Retention { seconds: number() }),
            "MaximumMessageSize" => Ok(Setting::MaximumMessageSize { bytes: number() }),
            "ReceiveMessageWaitTimeSeconds" => Ok(Setting::ReceiveWait { seconds: number() }),
            "SqsManagedSseEnabled" => Ok(Setting::SqsManagedSse { enabled: value == "true" }),
            "KmsMasterKeyId" => Ok(Setting::KmsMasterKey { id: text() }),
            "KmsDataKeyReusePeriodSeconds" => Ok(Setting::KmsDataKeyReuse { seconds: number() }),
            "Policy" => Ok(Setting::Policy { document: text() }),
            _ => Err(code(ErrorKind::InvalidAttributeName)),
        }
    };
    attributes.iter().map(setting).collect()
}

fn attributes(queue: &QueueKey, facts: &QueueFacts) -> StringMap {
    let settings = &facts.settings;
    let always = [
        ("ApproximateNumberOfMessages", facts.visible.to_string()),
        ("ApproximateNumberOfMessagesDelayed", facts.delayed.to_string()),
        ("ApproximateNumberOfMessagesNotVisible", facts.in_flight.to_string()),
        ("CreatedTimestamp", facts.created_at.as_seconds().to_string()),
        ("DelaySeconds", settings.delay_seconds.to_string()),
        ("LastModifiedTimestamp", facts.modified_at.as_seconds().to_string()),
        ("MaximumMessageSize", settings.message_bytes_max.to_string()),
        ("MessageRetentionPeriod", settings.retention_seconds.to_string()),
        ("QueueArn", queue.arn()),
        ("ReceiveMessageWaitTimeSeconds", settings.wait_seconds.to_string()),
        ("SqsManagedSseEnabled", settings.sqs_managed_sse.to_string()),
        ("VisibilityTimeout", settings.visibility_seconds.to_string()),
    ];
    let reuse = settings.kms_data_key_reuse_seconds.filter(|seconds| *seconds != 300);
    let where_set = [
        ("KmsMasterKeyId", settings.kms_master_key.clone()),
        ("KmsDataKeyReusePeriodSeconds", reuse.map(|seconds| seconds.to_string())),
        ("Policy", settings.policy.clone()),
    ];
    let where_set = where_set.into_iter().filter_map(|(name, value)| Some((name, value?)));
    always.into_iter().chain(where_set).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn system_attributes(delivery: &Delivery, payload: &Payload) -> Vec<(&'static str, String)> {
    let first_received_at = delivery.first_received_at.as_milliseconds();
    let mut attributes = vec![
        ("ApproximateFirstReceiveTimestamp", first_received_at.to_string()),
        ("ApproximateReceiveCount", delivery.receive_count.to_string()),
        ("SenderId", payload.sender_id.to_string()),
        ("SentTimestamp", delivery.sent_at.as_milliseconds().to_string()),
    ];
    attributes.extend(payload.message_group_id.iter().map(|group| ("MessageGroupId", group.to_string())));
    attributes.extend(payload.trace_header.iter().map(|header| ("AWSTraceHeader", header.to_string())));
    attributes
}

fn shown_attribute(attribute: &shard::Attribute) -> (String, Attribute) {
    let value = match &attribute.value {
        AttributeValue::Text(text) => text.to_string(),
        AttributeValue::Binary(binary) => STANDARD.encode(binary),
    };
    (attribute.name.to_string(), Attribute { data_type: attribute.data_type.to_string(), value })
}
