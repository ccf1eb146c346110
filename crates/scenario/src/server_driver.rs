//! The upper altitudes: the program, asked over sockets in one of the two wire protocols.
//!
//! ```text
//!   Call ──▶ operation and members ──json──▶ X-Amz-Target: AmazonSQS.SendMessage    {"QueueUrl": …}
//!                                  └─query─▶ Action=SendMessage&QueueUrl=…
//! ```
//!
//! Each scenario has an account of its own on a server that it shares with others. Real time passes here besides the
//! time of the scenario, so nothing in one may depend on a few seconds.

use crate::call::{Attribute, Call, Code, Message, Receive, Received, Reply, StringMap};
use crate::driver::Driver;
use crate::http::{Answer, Connection};
use crate::query;
use crate::server::{Server, until};
use md5::{Digest, Md5};
use serde_json::{Map, Value, json};

/// How a client writes its requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    Json,
    Query,
}

/// A client with an account of its own.
pub struct ServerDriver<'a> {
    server: &'a mut Server,
    protocol: Protocol,
    account: String,
    connection: Connection,
    polls: Vec<Poll>,
}

enum Poll {
    Asked(Connection),
    Answered(Result<Reply, Code>),
    GivenUp,
}

impl<'a> ServerDriver<'a> {
    pub fn new(server: &'a mut Server, protocol: Protocol) -> Self {
        let account = server.new_account();
        let connection = Connection::open(server.address());
        Self { server, protocol, account, connection, polls: Vec::new() }
    }

    fn url(&self, queue: &str) -> String {
        format!("http://{}/{}/{queue}", self.server.address(), self.account)
    }

    /// Headers and body of a request.
    fn written(&self, call: &Call) -> (Vec<String>, String) {
        let (operation, members) = self.request(call);
        // The account is that of the access key; nobody checks the signature.
        let credential = format!("Credential={}/20260101/us-east-1/sqs/aws4_request", self.account);
        let authorization = format!("Authorization: AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0");
        match self.protocol {
            Protocol::Json => {
                let content_type = "Content-Type: application/x-amz-json-1.0".to_owned();
                let target = format!("X-Amz-Target: AmazonSQS.{operation}");
                let mode = "x-amzn-query-mode: true".to_owned();
                (vec![authorization, content_type, target, mode], members.to_string())
            }
            Protocol::Query => {
                let content_type = "Content-Type: application/x-www-form-urlencoded".to_owned();
                (vec![authorization, content_type], query::form(operation, &members))
            }
        }
    }

    /// The operation of a call, and its members as JSON has them.
    fn request(&self, call: &Call) -> (&'static str, Value) {
        let on = |queue: &str, members: Value| {
            let mut members = members;
            members["QueueUrl"] = self.url(queue).into();
            members
        };
        let entries = |entries: Vec<Value>| json!({ "Entries": entries });
        match call {
            Call::CreateQueue { queue, attributes, tags } => {
                let mut members = json!({ "QueueName": queue });
                if !attributes.is_empty() {
                    members["Attributes"] = json!(attributes);
                }
                if !tags.is_empty() {
                    members["tags"] = json!(tags);
                }
                ("CreateQueue", members)
            }
            Call::GetQueueUrl { queue } => ("GetQueueUrl", json!({ "QueueName": queue })),
            Call::DeleteQueue { queue } => ("DeleteQueue", on(queue, json!({}))),
            Call::PurgeQueue { queue } => ("PurgeQueue", on(queue, json!({}))),
            Call::SetAttributes { queue, attributes } => {
                ("SetQueueAttributes", on(queue, json!({ "Attributes": attributes })))
            }
            Call::Attributes { queue, names } => ("GetQueueAttributes", on(queue, json!({ "AttributeNames": names }))),
            Call::Tag { queue, tags } => ("TagQueue", on(queue, json!({ "Tags": tags }))),
            Call::Untag { queue, keys } => ("UntagQueue", on(queue, json!({ "TagKeys": keys }))),
            Call::Tags { queue } => ("ListQueueTags", on(queue, json!({}))),
            Call::List { prefix, results_max, next } => {
                let mut members = Map::new();
                members.extend(prefix.iter().map(|prefix| ("QueueNamePrefix".into(), json!(prefix))));
                members.extend(results_max.iter().map(|max| ("MaxResults".into(), json!(max))));
                members.extend(next.iter().map(|token| ("NextToken".into(), json!(token))));
                ("ListQueues", Value::Object(members))
            }
            Call::Send { queue, message } => ("SendMessage", on(queue, message_members(message))),
            Call::SendBatch { queue, entries: messages } => {
                let entry = |(id, message): &(String, Message)| {
                    let mut entry = message_members(message);
                    entry["Id"] = json!(id);
                    entry
                };
                ("SendMessageBatch", on(queue, entries(messages.iter().map(entry).collect())))
            }
            Call::Receive(receive) => ("ReceiveMessage", on(&receive.queue, receive_members(receive))),
            Call::Delete { queue, receipt } => ("DeleteMessage", on(queue, json!({ "ReceiptHandle": receipt }))),
            Call::DeleteBatch { queue, entries: receipts } => {
                let entry = |(id, receipt): &(String, String)| json!({ "Id": id, "ReceiptHandle": receipt });
                ("DeleteMessageBatch", on(queue, entries(receipts.iter().map(entry).collect())))
            }
            Call::ChangeVisibility { queue, receipt, seconds } => {
                let members = json!({ "ReceiptHandle": receipt, "VisibilityTimeout": seconds });
                ("ChangeMessageVisibility", on(queue, members))
            }
            Call::ChangeVisibilityBatch { queue, entries: receipts } => {
                let entry = |(id, receipt, seconds): &(String, String, i64)| json!({ "Id": id, "ReceiptHandle": receipt, "VisibilityTimeout": seconds });
                ("ChangeMessageVisibilityBatch", on(queue, entries(receipts.iter().map(entry).collect())))
            }
        }
    }

    fn reply(&self, call: &Call, answer: &Answer) -> Result<Reply, Code> {
        if answer.status != 200 {
            return Err(self.error_code(answer));
        }
        let operation = self.request(call).0;
        let members = match self.protocol {
            Protocol::Json if answer.body.is_empty() => json!({}),
            Protocol::Json => serde_json::from_str(&answer.body).expect("a reply in JSON"),
            Protocol::Query => query::members(operation, &answer.body),
        };
        Ok(match call {
            Call::CreateQueue { queue, .. } | Call::GetQueueUrl { queue } => {
                assert_eq!(members["QueueUrl"], self.url(queue), "the queue's URL");
                Reply::Done
            }
            Call::Attributes { .. } => Reply::Map(string_map(&members["Attributes"])),
            Call::Tags { .. } => Reply::Map(string_map(&members["Tags"])),
            Call::List { .. } => {
                let name = |url: &Value| text(url).rsplit('/').next().expect("a URL has a path").to_owned();
                let names = items(&members["QueueUrls"]).iter().map(name).collect();
                Reply::Names { names, next: members["NextToken"].as_str().map(str::to_owned) }
            }
            Call::Send { message, .. } => {
                assert_eq!(members["MD5OfMessageBody"], md5(&message.body), "the digest of the body");
                Reply::Sent { id: text(&members["MessageId"]).to_owned() }
            }
            Call::SendBatch { .. } | Call::DeleteBatch { .. } | Call::ChangeVisibilityBatch { .. } => {
                let id = |entry: &Value| text(&entry["Id"]).to_owned();
                let sent = |entry: &Value| (id(entry), Ok(entry["MessageId"].as_str().map(str::to_owned)));
                let failed = |entry: &Value| (id(entry), Err(text(&entry["Code"]).to_owned()));
                let successful = items(&members["Successful"]).iter().map(sent);
                let outcomes: Vec<_> = successful.chain(items(&members["Failed"]).iter().map(failed)).collect();
                let asked = self.request(call).1["Entries"].as_array().map_or(0, Vec::len);
                assert_eq!(outcomes.len(), asked, "each entry has one outcome: {members}");
                Reply::Outcomes(outcomes.into_iter().collect())
            }
            Call::Receive(_) => Reply::Messages(items(&members["Messages"]).iter().map(received).collect()),
            _ => Reply::Done,
        })
    }

    fn error_code(&self, answer: &Answer) -> Code {
        let code = match self.protocol {
            // `AWS.SimpleQueueService.NonExistentQueue;Sender`
            Protocol::Json => {
                answer.header("x-amzn-query-error").and_then(|error| error.split(';').next()).map(str::to_owned)
            }
            Protocol::Query => query::error_code(&answer.body),
        };
        code.unwrap_or_else(|| panic!("an error without a code: {answer:?}"))
    }

    fn open_polls(&self) -> usize {
        self.polls.iter().filter(|poll| matches!(poll, Poll::Asked(connection) if !connection.is_answered())).count()
    }

    /// Waits until as many receives wait at the server as are open here: then nothing is on its way.
    fn settle(&self) {
        until("a poll is on its way", || self.server.waiting_count() == self.open_polls());
    }
}

impl Driver for ServerDriver<'_> {
    fn call(&mut self, call: &Call) -> Result<Reply, Code> {
        let (headers, body) = self.written(call);
        self.connection.post("/", &headers, &body);
        let answer = self.connection.answer();
        self.reply(call, &answer)
    }

    fn start_poll(&mut self, receive: &Receive) -> usize {
        let mut connection = Connection::open(self.server.address());
        let (headers, body) = self.written(&Call::Receive(receive.clone()));
        connection.post("/", &headers, &body);
        self.polls.push(Poll::Asked(connection));
        self.settle();
        self.polls.len() - 1
    }

    fn poll(&mut self, poll: usize) -> Option<Result<Reply, Code>> {
        self.settle();
        if let Poll::Asked(connection) = &mut self.polls[poll] {
            if !connection.is_answered() {
                return None;
            }
            let answer = connection.answer();
            let receive = Call::Receive(Receive::default());
            self.polls[poll] = Poll::Answered(self.reply(&receive, &answer));
        }
        match &self.polls[poll] {
            Poll::Answered(answer) => Some(answer.clone()),
            Poll::Asked(_) => None,
            Poll::GivenUp => panic!("nobody listens to this poll any more"),
        }
    }

    fn hang_up(&mut self, poll: usize) {
        self.polls[poll] = Poll::GivenUp;
        self.settle();
    }

    fn advance(&mut self, seconds: u64) {
        self.server.advance(seconds);
        self.settle();
    }

    fn now_seconds(&self) -> u64 {
        self.server.now_seconds()
    }

    fn undo(&mut self, _receipt: &str) {
        panic!("nobody can ask the server to undo a delivery");
    }
}

impl Drop for ServerDriver<'_> {
    /// Leaves no poll for the next scenario on this server.
    fn drop(&mut self) {
        self.polls.clear();
        if !std::thread::panicking() {
            self.settle();
        }
    }
}

fn message_members(message: &Message) -> Value {
    let mut members = json!({ "MessageBody": message.body });
    if let Some(seconds) = message.delay_seconds {
        members["DelaySeconds"] = json!(seconds);
    }
    if !message.attributes.is_empty() {
        let attributes =
            message.attributes.iter().map(|(name, attribute)| (name.clone(), attribute_members(attribute)));
        members["MessageAttributes"] = Value::Object(attributes.collect());
    }
    if let Some(header) = &message.trace_header {
        members["MessageSystemAttributes"] =
            json!({ "AWSTraceHeader": { "DataType": "String", "StringValue": header } });
    }
    if let Some(group) = &message.group_id {
        members["MessageGroupId"] = json!(group);
    }
    members
}

fn attribute_members(attribute: &Attribute) -> Value {
    let value_name = if attribute.is_binary() { "BinaryValue" } else { "StringValue" };
    json!({ "DataType": attribute.data_type, value_name: attribute.value })
}

fn receive_members(receive: &Receive) -> Value {
    let mut names = receive.system_attributes.clone();
    names.push("ApproximateReceiveCount".to_owned());
    let mut members = json!({ "MessageSystemAttributeNames": names });
    for (name, value) in [
        ("MaxNumberOfMessages", receive.messages_max),
        ("VisibilityTimeout", receive.visibility_seconds),
        ("WaitTimeSeconds", receive.wait_seconds),
    ] {
        if let Some(value) = value {
            members[name] = json!(value);
        }
    }
    if !receive.attributes.is_empty() {
        members["MessageAttributeNames"] = json!(receive.attributes);
    }
    members
}

fn received(message: &Value) -> Received {
    let attribute = |(name, attribute): (&String, &Value)| {
        let value = attribute["StringValue"].as_str().or(attribute["BinaryValue"].as_str());
        let value = value.expect("an attribute has a value").to_owned();
        (name.clone(), Attribute { data_type: text(&attribute["DataType"]).to_owned(), value })
    };
    assert_eq!(message["MD5OfBody"], md5(text(&message["Body"])), "the digest of the body");
    Received {
        id: text(&message["MessageId"]).to_owned(),
        receipt: text(&message["ReceiptHandle"]).to_owned(),
        body: text(&message["Body"]).to_owned(),
        system_attributes: string_map(&message["Attributes"]),
        attributes: message["MessageAttributes"].as_object().into_iter().flatten().map(attribute).collect(),
    }
}

fn string_map(members: &Value) -> StringMap {
    members.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value).to_owned())).collect()
}

/// In hex, as SDKs check it.
fn md5(body: &str) -> String {
    Md5::digest(body).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The items of a list; a list that is left out has none.
fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("expected a text: {value}"))
}
