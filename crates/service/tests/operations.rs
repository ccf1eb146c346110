//! Every operation on a running engine: requests as clients write them, answers as clients read them.
//!
//! The wire protocols are left out: members have AWS's names in the types of `api`, so JSON values stand for them.

use api::{Error, Service};
use auth::Caller;
use engine::{Durability, Options, Running};
use host::clock::FakeClock;
use host::disk::FakeDisk;
use host::entropy::FakeEntropy;
use model::{AccountId, Region};
use serde_json::{Value, json};
use service::{Context, Dispatch, Handle, Rules};
use std::sync::Arc;
use std::task::Poll;

const START_SECONDS: u64 = 1_700_000_000;
const URL: &str = "http://localhost:4566/123456789012/q";

/// A server without a network, with a clock that stands still.
struct Server {
    running: Running,
    clock: Arc<FakeClock>,
    now_seconds: u64,
    context: Context,
    tokio: tokio::runtime::Runtime,
}

/// Carries out an operation whose request and reply are JSON values.
struct Json<'a> {
    request: Value,
    context: &'a Context,
}

impl Dispatch for Json<'_> {
    type Output = Result<Value, Error>;

    async fn run<O: Handle>(self) -> Result<Value, Error> {
        let request: O = serde_json::from_value(self.request).expect("the members have the types that AWS gives them");
        let reply = service::carry_out(request, self.context).await?;
        Ok(serde_json::to_value(reply).expect("a reply is made of text and numbers"))
    }
}

impl Server {
    fn new() -> Self {
        Self::with_rules(Rules::default())
    }

    fn with_rules(rules: Rules) -> Self {
        let clock = Arc::new(FakeClock::new(START_SECONDS * 1_000));
        let options =
            Options::new("unused".into(), clock.clone(), Arc::new(FakeEntropy::new(1)), Arc::new(FakeDisk::new(0)));
        let options = Options { durability: Durability::Memory, rules: rules.clone(), ..options };
        let running = engine::start(options).expect("nothing is on disk that could be damaged");
        let context = Context {
            engine: running.engine(),
            caller: caller("123456789012"),
            base_url: "http://localhost:4566".into(),
            rules: Arc::new(rules),
        };
        let tokio = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        Self { running, clock, now_seconds: START_SECONDS, context, tokio }
    }

    /// With a queue `q`, which [`URL`] names.
    fn with_queue() -> Self {
        let server = Self::new();
        server.ok("CreateQueue", json!({"QueueName": "q"}));
        server
    }

    fn call(&self, operation: &str, request: Value) -> Result<Value, Error> {
        let json = Json { request, context: &self.context };
        self.tokio.block_on(service::dispatch(Service::Sqs, operation, json)).expect("the operation is built")
    }

    fn ok(&self, operation: &str, request: Value) -> Value {
        self.call(operation, request).unwrap_or_else(|error| panic!("{operation}: {error}"))
    }

    fn check(&self, operation: &str, request: Value, expected: Value) {
        assert_eq!(self.ok(operation, request.clone()), expected, "{operation} {request}");
    }

    /// `expected`: `code: message`, or the beginning of it.
    fn refused(&self, operation: &str, request: Value, expected: &str) {
        let error = self.call(operation, request.clone()).expect_err(operation).to_string();
        assert!(error.starts_with(expected), "{operation} {request}: {error}");
    }

    fn advance(&mut self, seconds: u64) {
        self.now_seconds += seconds;
        self.clock.set(self.now_seconds * 1_000);
        self.running.poke();
    }

    fn send(&self, body: &str) {
        self.ok("SendMessage", json!({"QueueUrl": URL, "MessageBody": body}));
    }

    /// The only message that is visible.
    fn receive(&self) -> Value {
        let reply = self.ok("ReceiveMessage", json!({"QueueUrl": URL, "AttributeNames": ["All"]}));
        reply["Messages"][0].clone()
    }

    fn attribute(&self, name: &str) -> Value {
        self.ok("GetQueueAttributes", json!({"QueueUrl": URL, "AttributeNames": [name]}))["Attributes"][name].clone()
    }
}

fn caller(account: &str) -> Caller {
    let account = AccountId::parse(account).expect("twelve digits");
    Caller::unverified(None, &account, &Region::parse("us-east-1").expect("a Region"))
}

#[test]
fn create_queue() {
    let mut server = Server::new();
    let url = json!({"QueueUrl": URL});
    let create = |attributes: Value| json!({"QueueName": "q", "Attributes": attributes});
    server.check("CreateQueue", create(json!({"VisibilityTimeout": "40", "DelaySeconds": "5"})), url.clone());
    for same in [json!({"VisibilityTimeout": "40", "DelaySeconds": "5"}), json!({}), json!({"VisibilityTimeout": "40"})]
    {
        server.check("CreateQueue", create(same), url.clone());
    }
    server.refused(
        "CreateQueue",
        create(json!({"VisibilityTimeout": "41"})),
        "QueueAlreadyExists: A queue already exists with the same name and a different value for attribute VisibilityTimeout",
    );
    server.refused("CreateQueue", json!({}), "MissingParameter: The request must contain the parameter QueueName.");
    server.refused("CreateQueue", json!({"QueueName": "a.b"}), "InvalidParameterValue: Can only include alphanumeric");
    server.refused(
        "CreateQueue",
        json!({"QueueName": "q.fifo", "Attributes": {"FifoQueue": "true"}}),
        "AWS.SimpleQueueService.UnsupportedOperation: FIFO queues are not built yet",
    );

    server.check("DeleteQueue", json!({"QueueUrl": URL}), json!({}));
    let wait = "AWS.SimpleQueueService.QueueDeletedRecently: You must wait 60 seconds after deleting a queue before you \
                can create another with the same name.";
    server.refused("CreateQueue", create(json!({})), wait);
    server.advance(59);
    server.refused("CreateQueue", create(json!({})), wait);
    server.advance(1);
    server.check("CreateQueue", create(json!({})), url);
    assert_eq!(server.attribute("VisibilityTimeout"), "30");
}

#[test]
fn delete_queue() {
    let server = Server::with_queue();
    server.send("m");
    server.check("DeleteQueue", json!({"QueueUrl": URL}), json!({}));
    let entry = json!([{"Id": "1", "MessageBody": "m"}]);
    let missing = "AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist.";
    for (operation, request) in [
        ("DeleteQueue", json!({"QueueUrl": URL})),
        ("GetQueueUrl", json!({"QueueName": "q"})),
        ("GetQueueAttributes", json!({"QueueUrl": URL})),
        ("SetQueueAttributes", json!({"QueueUrl": URL, "Attributes": {"RedrivePolicy": ""}})),
        ("PurgeQueue", json!({"QueueUrl": URL})),
        ("TagQueue", json!({"QueueUrl": URL, "Tags": {"a": "b"}})),
        ("UntagQueue", json!({"QueueUrl": URL, "TagKeys": ["a"]})),
        ("ListQueueTags", json!({"QueueUrl": URL})),
        ("SendMessage", json!({"QueueUrl": URL, "MessageBody": "m"})),
        ("SendMessageBatch", json!({"QueueUrl": URL, "Entries": entry})),
        ("SendMessageBatch", json!({"QueueUrl": URL, "Entries": [{"Id": "1"}]})),
        ("ReceiveMessage", json!({"QueueUrl": URL})),
        ("ReceiveMessage", json!({"QueueUrl": URL, "WaitTimeSeconds": 20})),
        ("DeleteMessageBatch", json!({"QueueUrl": URL, "Entries": [{"Id": "1", "ReceiptHandle": "x"}]})),
        ("ChangeMessageVisibilityBatch", json!({"QueueUrl": URL, "Entries": [{"Id": "1", "ReceiptHandle": "x"}]})),
    ] {
        server.refused(operation, request, missing);
    }
}

/// Every way to name a queue, and what names none.
#[test]
fn queue_urls() {
    let server = Server::with_queue();
    for url in [
        URL,
        "http://other-host:1234/123456789012/q",
        "https://sqs.us-east-1.amazonaws.com/123456789012/q",
        "https://us-east-1.queue.amazonaws.com/123456789012/q",
        "http://localhost:4566/queue/us-east-1/123456789012/q",
        "q",
    ] {
        server.ok("SendMessage", json!({"QueueUrl": url, "MessageBody": "m"}));
    }
    assert_eq!(server.attribute("ApproximateNumberOfMessages"), "6");

    let missing = "MissingParameter: The request must contain the parameter QueueUrl.";
    server.refused("SendMessage", json!({"MessageBody": "m"}), missing);
    server.refused("SendMessage", json!({"QueueUrl": "", "MessageBody": "m"}), missing);
    server.refused(
        "SendMessage",
        json!({"QueueUrl": "http://localhost:4566/12/q", "MessageBody": "m"}),
        "InvalidAddress: The address http://localhost:4566/12/q is not valid for this endpoint.",
    );
    for elsewhere in
        ["http://localhost:4566/queue/eu-west-1/123456789012/q", "http://localhost:4566/000000000000/q", "p"]
    {
        let request = json!({"QueueUrl": elsewhere, "MessageBody": "m"});
        server.refused("SendMessage", request, "AWS.SimpleQueueService.NonExistentQueue");
    }
}

#[test]
fn get_queue_url() {
    let mut server = Server::with_queue();
    server.check("GetQueueUrl", json!({"QueueName": "q"}), json!({"QueueUrl": URL}));
    server.context.base_url = "https://queues.example".into();
    server.context.caller = caller("210987654321");
    let missing = "AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist.";
    server.refused("GetQueueUrl", json!({"QueueName": "q"}), missing);
    server.refused("GetQueueUrl", json!({"QueueName": "a.b"}), missing);
    server.check(
        "GetQueueUrl",
        json!({"QueueName": "q", "QueueOwnerAWSAccountId": "123456789012"}),
        json!({"QueueUrl": "https://queues.example/123456789012/q"}),
    );
    let bad_owner = json!({"QueueName": "q", "QueueOwnerAWSAccountId": "12"});
    server.refused("GetQueueUrl", bad_owner, "InvalidParameterValue: Value 12 for parameter QueueOwnerAWSAccountId");
    server.refused("GetQueueUrl", json!({}), "MissingParameter: The request must contain the parameter QueueName.");
}

#[test]
fn list_queues() {
    let mut server = Server::new();
    server.check("ListQueues", json!({}), json!({}));
    for name in ["b1", "a", "b3", "b2"] {
        server.ok("CreateQueue", json!({"QueueName": name}));
    }
    server.context.caller = caller("210987654321");
    server.ok("CreateQueue", json!({"QueueName": "foreign"}));
    server.context.caller = caller("123456789012");

    let urls = |names: &[&str]| -> Vec<_> {
        names.iter().map(|name| format!("http://localhost:4566/123456789012/{name}")).collect()
    };
    server.check("ListQueues", json!({}), json!({"QueueUrls": urls(&["a", "b1", "b2", "b3"])}));
    server.check("ListQueues", json!({"QueueNamePrefix": "b"}), json!({"QueueUrls": urls(&["b1", "b2", "b3"])}));
    server.check("ListQueues", json!({"QueueNamePrefix": "nope"}), json!({}));

    let page = server.ok("ListQueues", json!({"MaxResults": 2, "QueueNamePrefix": "b"}));
    assert_eq!(page["QueueUrls"], json!(urls(&["b1", "b2"])));
    let next = json!({"MaxResults": 2, "QueueNamePrefix": "b", "NextToken": page["NextToken"]});
    server.check("ListQueues", next, json!({"QueueUrls": urls(&["b3"])}));
    let rest = json!({"NextToken": page["NextToken"]});
    server.check("ListQueues", rest, json!({"QueueUrls": urls(&["b3"])}));

    for bad in [json!({"MaxResults": 0}), json!({"MaxResults": 1001}), json!({"NextToken": "nonsense"})] {
        server.refused("ListQueues", bad, "InvalidParameterValue: Value ");
    }
}

#[test]
fn queue_attributes() {
    let mut server = Server::with_queue();
    let get = |names: Value| json!({"QueueUrl": URL, "AttributeNames": names});
    let set = |attributes: Value| json!({"QueueUrl": URL, "Attributes": attributes});
    server.check("GetQueueAttributes", json!({"QueueUrl": URL}), json!({}));
    server.check("GetQueueAttributes", get(json!(["Policy"])), json!({}));
    server.refused("GetQueueAttributes", get(json!(["Nope"])), "InvalidAttributeName: Unknown Attribute Nope.");

    server.advance(5);
    server.check("SetQueueAttributes", set(json!({"VisibilityTimeout": "69", "DelaySeconds": "420"})), json!({}));
    server.check(
        "GetQueueAttributes",
        get(json!(["All"])),
        json!({"Attributes": {
            "ApproximateNumberOfMessages": "0",
            "ApproximateNumberOfMessagesDelayed": "0",
            "ApproximateNumberOfMessagesNotVisible": "0",
            "CreatedTimestamp": "1700000000",
            "DelaySeconds": "420",
            "LastModifiedTimestamp": "1700000005",
            "MaximumMessageSize": "1048576",
            "MessageRetentionPeriod": "345600",
            "QueueArn": "arn:aws:sqs:us-east-1:123456789012:q",
            "ReceiveMessageWaitTimeSeconds": "0",
            "SqsManagedSseEnabled": "true",
            "VisibilityTimeout": "69",
        }}),
    );

    let policy = r#"{ "Statement": {"Effect": "Allow", "Principal": "*", "Action": "sqs:*", "Resource": "*"} }"#;
    server.ok("SetQueueAttributes", set(json!({"Policy": policy})));
    assert_eq!(server.attribute("Policy"), policy);
    server.ok("SetQueueAttributes", set(json!({"Policy": ""})));
    assert_eq!(server.attribute("Policy"), Value::Null);

    let missing = "MissingParameter: The request must contain the parameter Attributes.";
    server.refused("SetQueueAttributes", json!({"QueueUrl": URL}), missing);
    server.refused("SetQueueAttributes", set(json!({})), missing);
    let both = set(json!({"DelaySeconds": "1", "VisibilityTimeout": "43201"}));
    server.refused(
        "SetQueueAttributes",
        both,
        "InvalidAttributeValue: Invalid value for the parameter VisibilityTimeout.",
    );
    assert_eq!(server.attribute("DelaySeconds"), "420", "all or nothing");
}

/// Observed in recordings of 2024 and 2025.
#[test]
fn encryption() {
    let server = Server::with_queue();
    let set = |attributes: Value| json!({"QueueUrl": URL, "Attributes": attributes});
    let names = ["KmsDataKeyReusePeriodSeconds", "KmsMasterKeyId", "SqsManagedSseEnabled"];
    let get = || server.ok("GetQueueAttributes", json!({"QueueUrl": URL, "AttributeNames": names}));
    server
        .ok("SetQueueAttributes", set(json!({"KmsMasterKeyId": "testKeyId", "KmsDataKeyReusePeriodSeconds": "6000"})));
    assert_eq!(
        get()["Attributes"],
        json!({"KmsDataKeyReusePeriodSeconds": "6000", "KmsMasterKeyId": "testKeyId", "SqsManagedSseEnabled": "false"})
    );
    let conflict = "InvalidAttributeName: You can use one type of server-side encryption (SSE) at one time.";
    server.refused("SetQueueAttributes", set(json!({"SqsManagedSseEnabled": "true"})), conflict);
    let both = json!({"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "true"});
    server.refused("SetQueueAttributes", set(both.clone()), conflict);
    server.refused("CreateQueue", json!({"QueueName": "p", "Attributes": both}), conflict);

    let send = json!({"QueueUrl": URL, "MessageBody": "m"});
    server.refused("SendMessage", send, "KMS.NotFoundException: Key 'testKeyId' does not exist.");

    let defaults = json!({"KmsMasterKeyId": "", "KmsDataKeyReusePeriodSeconds": "300"});
    server.ok("SetQueueAttributes", set(defaults));
    assert_eq!(get()["Attributes"], json!({"SqsManagedSseEnabled": "false"}));
    server.send("m");
}

#[test]
fn tags() {
    let server = Server::new();
    server.ok("CreateQueue", json!({"QueueName": "q", "tags": {"tag1": "value1"}}));
    server.check("TagQueue", json!({"QueueUrl": URL, "Tags": {"tag2": "value2", "tag3": ""}}), json!({}));
    server.ok("TagQueue", json!({"QueueUrl": URL, "Tags": {"tag2": "other"}}));
    let get = json!({"QueueUrl": URL});
    server.check("ListQueueTags", get.clone(), json!({"Tags": {"tag1": "value1", "tag2": "other", "tag3": ""}}));
    server.check("UntagQueue", json!({"QueueUrl": URL, "TagKeys": ["tag1", "tag3", "nope"]}), json!({}));
    server.check("ListQueueTags", get.clone(), json!({"Tags": {"tag2": "other"}}));

    let many: serde_json::Map<_, _> = (0..50).map(|n| (format!("k{n}"), json!(""))).collect();
    let too_many = "InvalidParameterValue: A queue can have at most 50 tags.";
    server.refused("TagQueue", json!({"QueueUrl": URL, "Tags": many}), too_many);
    server.refused("TagQueue", json!({"QueueUrl": URL, "Tags": {"aws:x": "y"}}), "InvalidParameterValue: Value aws:x");
    server.refused(
        "TagQueue",
        json!({"QueueUrl": URL}),
        "MissingParameter: The request must contain the parameter Tags.",
    );
    server.refused("UntagQueue", json!({"QueueUrl": URL, "TagKeys": []}), "MissingParameter: ");
    server.check("ListQueueTags", get, json!({"Tags": {"tag2": "other"}}));
}

#[test]
fn purge_queue() {
    let mut server = Server::with_queue();
    server.ok("SendMessage", json!({"QueueUrl": URL, "MessageBody": "delayed", "DelaySeconds": 60}));
    server.send("in flight");
    server.receive();
    server.send("visible");
    server.check("PurgeQueue", json!({"QueueUrl": URL}), json!({}));
    for name in ["", "Delayed", "NotVisible"] {
        assert_eq!(server.attribute(&format!("ApproximateNumberOfMessages{name}")), "0");
    }
    server.refused(
        "PurgeQueue",
        json!({"QueueUrl": URL}),
        "AWS.SimpleQueueService.PurgeQueueInProgress: Only one PurgeQueue operation on q is allowed every 60 seconds.",
    );
    server.advance(60);
    server.ok("PurgeQueue", json!({"QueueUrl": URL}));
}

#[test]
fn rules_of_the_operator_stand_in_the_texts() {
    let server = Server::with_rules(Rules { purge_interval_seconds: 5, in_flight_max: 1, ..Rules::default() });
    server.ok("CreateQueue", json!({"QueueName": "q"}));
    server.ok("PurgeQueue", json!({"QueueUrl": URL}));
    let text =
        "AWS.SimpleQueueService.PurgeQueueInProgress: Only one PurgeQueue operation on q is allowed every 5 seconds.";
    server.refused("PurgeQueue", json!({"QueueUrl": URL}), text);

    server.send("a");
    server.send("b");
    server.receive();
    server.refused(
        "ReceiveMessage",
        json!({"QueueUrl": URL}),
        "OverLimit: Too many messages in flight: the queue has 1 ",
    );
}

#[test]
fn send_and_receive() {
    let mut server = Server::with_queue();
    server.check("ReceiveMessage", json!({"QueueUrl": URL}), json!({}));
    let header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
    let attributes = json!({
        "General": {"DataType": "String", "StringValue": "Kenobi"},
        "Hello": {"DataType": "String", "StringValue": "There"},
        "Help.Me": {"DataType": "Binary", "BinaryValue": "AP8="},
    });
    let sent = server.ok(
        "SendMessage",
        json!({
            "QueueUrl": URL,
            "MessageBody": "message",
            "MessageAttributes": attributes,
            "MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": header}},
            "MessageGroupId": "tenant",
        }),
    );
    assert_eq!(sent["MD5OfMessageBody"], "78e731027d8fd50ed642340b7c9a63b3");
    assert_eq!(sent["MD5OfMessageSystemAttributes"], "5ae4d5d7636402d80f4eb6d213245a88");
    assert_eq!(sent["MessageId"].as_str().map(str::len), Some(36));

    let receive = |server: &Server, more: Value| {
        let mut request = json!({"QueueUrl": URL, "VisibilityTimeout": 0, "ReceiveRequestAttemptId": "x"});
        let members = more.as_object().expect("members").clone();
        request.as_object_mut().expect("members").extend(members);
        server.ok("ReceiveMessage", request)["Messages"][0].clone()
    };
    let plain = receive(&server, json!({}));
    assert_eq!(plain["Body"], "message");
    assert_eq!(plain["MD5OfBody"], sent["MD5OfMessageBody"]);
    assert_eq!(plain["MessageId"], sent["MessageId"]);
    let mut members: Vec<_> = plain.as_object().expect("a message").keys().collect();
    members.sort();
    assert_eq!(members, ["Body", "MD5OfBody", "MessageId", "ReceiptHandle"]);

    let all = receive(&server, json!({"MessageAttributeNames": ["All"]}));
    assert_eq!(
        (&all["MessageAttributes"], &all["MD5OfMessageAttributes"]),
        (&attributes, &sent["MD5OfMessageAttributes"])
    );
    assert_ne!(all["ReceiptHandle"], plain["ReceiptHandle"], "every receive has its own handle");
    let one = receive(&server, json!({"MessageAttributeNames": ["Hello", "nope"]}));
    assert_eq!(one["MessageAttributes"], json!({"Hello": attributes["Hello"]}));
    assert_eq!(one["MD5OfMessageAttributes"], "a311262e065454b75da111d535b8dacd");

    server.advance(1);
    let union = json!({"AttributeNames": ["SenderId", "nope"], "MessageSystemAttributeNames": ["SentTimestamp"]});
    let expected = json!({"SenderId": "123456789012", "SentTimestamp": "1700000000000"});
    assert_eq!(receive(&server, union)["Attributes"], expected);
    assert_eq!(
        receive(&server, json!({"MessageSystemAttributeNames": ["All"]}))["Attributes"],
        json!({
            "AWSTraceHeader": header,
            "ApproximateFirstReceiveTimestamp": "1700000000000",
            "ApproximateReceiveCount": "5",
            "MessageGroupId": "tenant",
            "SenderId": "123456789012",
            "SentTimestamp": "1700000000000",
        })
    );
    server.send("second");
    let both = server.ok("ReceiveMessage", json!({"QueueUrl": URL, "MaxNumberOfMessages": 10}));
    assert_eq!(both["Messages"].as_array().map(Vec::len), Some(2));
}

/// Observed in recordings of 2024 and 2025.
#[test]
fn receive_refuses_what_is_out_of_range() {
    let server = Server::with_queue();
    for (member, values, reason) in [
        ("MaxNumberOfMessages", [0, 11], "Must be between 1 and 10, if provided."),
        ("WaitTimeSeconds", [-1, 21], "Must be >= 0 and <= 20, if provided."),
        ("VisibilityTimeout", [-1, 43_201], "Must be >= 0 and <= 43200, if provided."),
    ] {
        for value in values {
            let text =
                format!("InvalidParameterValue: Value {value} for parameter {member} is invalid. Reason: {reason}");
            server.refused("ReceiveMessage", json!({"QueueUrl": URL, member: value}), &text);
        }
    }
}

#[test]
fn a_long_poll_that_was_given_up_hides_nothing() {
    let server = Server::with_queue();
    let request = serde_json::from_value(json!({"QueueUrl": URL, "WaitTimeSeconds": 20})).expect("a request");
    let mut poll = Box::pin(service::carry_out::<api::sqs::ReceiveMessage>(request, &server.context));
    let waits = server.tokio.block_on(std::future::poll_fn(|task| Poll::Ready(poll.as_mut().poll(task).is_pending())));
    assert!(waits, "the queue is empty");
    drop(poll);
    server.send("m");
    assert_eq!(server.receive()["Attributes"]["ApproximateReceiveCount"], "1");
}

#[test]
fn message_size_follows_the_queue() {
    let server = Server::with_queue();
    server.ok("SetQueueAttributes", json!({"QueueUrl": URL, "Attributes": {"MaximumMessageSize": "2048"}}));
    let send = |body_bytes: usize| {
        json!({
            "QueueUrl": URL,
            "MessageBody": "x".repeat(body_bytes),
            "MessageAttributes": {"k": {"DataType": "String", "StringValue": "x"}},
        })
    };
    let text =
        "InvalidParameterValue: One or more parameters are invalid. Reason: Message must be shorter than 2048 bytes.";
    server.refused("SendMessage", send(2_041), text);
    server.ok("SendMessage", send(2_040));
}

#[test]
fn send_message_batch() {
    let server = Server::with_queue();
    server.ok("SetQueueAttributes", json!({"QueueUrl": URL, "Attributes": {"MaximumMessageSize": "1024"}}));
    let batch = |entries: Value| json!({"QueueUrl": URL, "Entries": entries});
    let reply = server.ok(
        "SendMessageBatch",
        batch(json!([
            {"Id": "long", "MessageBody": "x".repeat(1_025)},
            {"Id": "good", "MessageBody": "message", "MessageAttributes": {"Foo": {"DataType": "String", "StringValue": "Bar"}}},
            {"Id": "late", "MessageBody": "m", "DelaySeconds": 901},
            {"Id": "empty", "MessageBody": ""},
        ])),
    );
    let failed: Vec<_> = reply["Failed"]
        .as_array()
        .expect("failures")
        .iter()
        .map(|entry| {
            assert_eq!(entry["SenderFault"], true);
            [&entry["Id"], &entry["Code"], &entry["Message"]].map(|text| text.as_str().expect("text"))
        })
        .collect();
    assert_eq!(
        failed,
        [
            [
                "late",
                "InvalidParameterValue",
                "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
            ],
            ["empty", "MissingParameter", "The request must contain the parameter MessageBody."],
            [
                "long",
                "InvalidParameterValue",
                "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
            ],
        ]
    );
    let good = &reply["Successful"][0];
    assert_eq!((&good["Id"], &good["MD5OfMessageBody"]), (&json!("good"), &json!("78e731027d8fd50ed642340b7c9a63b3")));
    assert_eq!(good["MD5OfMessageAttributes"], "ae7155c6026991b6d54b11589678bf9c");
    assert_eq!(server.receive()["MessageId"], good["MessageId"]);
    assert_eq!(reply["Successful"].as_array().map(Vec::len), Some(1));

    server.refused("SendMessageBatch", batch(json!([])), "AWS.SimpleQueueService.EmptyBatchRequest: ");
    server.refused(
        "SendMessageBatch",
        batch(json!([{"Id": "1", "MessageBody": "x".repeat(1_048_576)}, {"Id": "2", "MessageBody": "x"}])),
        "AWS.SimpleQueueService.BatchRequestTooLong: Batch requests cannot be longer than 1048576 bytes. \
         You have sent 1048577 bytes.",
    );
}

#[test]
fn delete_message() {
    let mut server = Server::with_queue();
    let delete = |message: &Value| json!({"QueueUrl": URL, "ReceiptHandle": message["ReceiptHandle"]});
    server.send("m");
    let old = server.receive();
    server.advance(31);
    let new = server.receive();
    assert_eq!(new["Attributes"]["ApproximateReceiveCount"], "2");
    server.check("DeleteMessage", delete(&old), json!({}));
    assert_eq!(server.attribute("ApproximateNumberOfMessagesNotVisible"), "1", "an old handle deletes nothing");
    // The timeout has passed, and nobody else has received it.
    server.advance(31);
    for _ in 0..2 {
        server.check("DeleteMessage", delete(&new), json!({}));
        assert_eq!(server.attribute("ApproximateNumberOfMessages"), "0");
    }

    let id = new["MessageId"].as_str().expect("an id");
    let text = format!("ReceiptHandleIsInvalid: The input receipt handle \"{id}\" is not a valid receipt handle.");
    server.refused("DeleteMessage", json!({"QueueUrl": URL, "ReceiptHandle": id}), &text);
    server.ok("CreateQueue", json!({"QueueName": "other"}));
    let elsewhere = json!({"QueueUrl": "other", "ReceiptHandle": new["ReceiptHandle"]});
    server.refused("DeleteMessage", elsewhere, "ReceiptHandleIsInvalid: The input receipt handle ");
    let missing = "MissingParameter: The request must contain the parameter ReceiptHandle.";
    server.refused("DeleteMessage", json!({"QueueUrl": URL}), missing);
}

#[test]
fn delete_message_batch() {
    let server = Server::with_queue();
    server.send("a");
    server.send("b");
    let (a, b) = (server.receive(), server.receive());
    let batch = |entries: Value| json!({"QueueUrl": URL, "Entries": entries});
    let twice = json!([
        {"Id": "a", "ReceiptHandle": a["ReceiptHandle"]},
        {"Id": "a", "ReceiptHandle": b["ReceiptHandle"]},
    ]);
    server.refused(
        "DeleteMessageBatch",
        batch(twice),
        "AWS.SimpleQueueService.BatchEntryIdsNotDistinct: Id a repeated.",
    );
    assert_eq!(server.attribute("ApproximateNumberOfMessagesNotVisible"), "2");
    server.check(
        "DeleteMessageBatch",
        batch(json!([
            {"Id": "a", "ReceiptHandle": a["ReceiptHandle"]},
            {"Id": "bad", "ReceiptHandle": "nonsense"},
            {"Id": "b", "ReceiptHandle": b["ReceiptHandle"]},
        ])),
        json!({
            "Successful": [{"Id": "a"}, {"Id": "b"}],
            "Failed": [{
                "Id": "bad",
                "SenderFault": true,
                "Code": "ReceiptHandleIsInvalid",
                "Message": "The input receipt handle \"nonsense\" is not a valid receipt handle.",
            }],
        }),
    );
    assert_eq!(server.attribute("ApproximateNumberOfMessagesNotVisible"), "0");
}

#[test]
fn change_message_visibility() {
    let mut server = Server::with_queue();
    let change = |message: &Value, seconds: i64| json!({"QueueUrl": URL, "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": seconds});
    server.send("m");
    let message = server.receive();
    let handle = message["ReceiptHandle"].as_str().expect("a handle").to_owned();
    server.advance(1);
    server.check("ChangeMessageVisibility", change(&message, 42), json!({}));
    server.refused(
        "ChangeMessageVisibility",
        change(&message, 43_200),
        "InvalidParameterValue: Value 43200 for parameter VisibilityTimeout is invalid. Reason: \
         Total VisibilityTimeout for the message is beyond the limit [43200 seconds]",
    );
    for bad in [-1, 43_201] {
        let text = format!("InvalidParameterValue: Value {bad} for parameter VisibilityTimeout is invalid.");
        server.refused("ChangeMessageVisibility", change(&message, bad), &text);
    }
    let missing = "MissingParameter: The request must contain the parameter VisibilityTimeout.";
    server.refused("ChangeMessageVisibility", json!({"QueueUrl": URL, "ReceiptHandle": handle}), missing);

    // Put back: visible at once, and no longer in flight.
    server.check("ChangeMessageVisibility", change(&message, 0), json!({}));
    server.refused("ChangeMessageVisibility", change(&message, 10), "AWS.SimpleQueueService.MessageNotInflight: ");
    let again = server.receive();
    server.ok("DeleteMessage", json!({"QueueUrl": URL, "ReceiptHandle": again["ReceiptHandle"]}));
    let handle = again["ReceiptHandle"].as_str().expect("a handle");
    server.refused(
        "ChangeMessageVisibility",
        change(&again, 42),
        &format!(
            "InvalidParameterValue: Value {handle} for parameter ReceiptHandle is invalid. Reason: \
             Message does not exist or is not available for visibility timeout change."
        ),
    );
}

#[test]
fn change_message_visibility_batch() {
    let server = Server::with_queue();
    server.send("a");
    let message = server.receive();
    let handle = &message["ReceiptHandle"];
    let reply = server.ok(
        "ChangeMessageVisibilityBatch",
        json!({"QueueUrl": URL, "Entries": [
            {"Id": "bad", "ReceiptHandle": "nonsense", "VisibilityTimeout": 1},
            {"Id": "long", "ReceiptHandle": handle, "VisibilityTimeout": 43_201},
            {"Id": "good", "ReceiptHandle": handle, "VisibilityTimeout": 0},
        ]}),
    );
    assert_eq!(reply["Successful"], json!([{"Id": "good"}]));
    let codes: Vec<_> = reply["Failed"].as_array().expect("failures").iter().map(|entry| &entry["Code"]).collect();
    assert_eq!(codes, ["ReceiptHandleIsInvalid", "InvalidParameterValue"]);
    assert_eq!(server.attribute("ApproximateNumberOfMessages"), "1");
}

#[test]
fn declared_queues() {
    let server = Server::new();
    let declare = |name: &str, attributes: &[(&str, &str)], tags: &[(&str, &str)]| {
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        let Caller { account, region, .. } = server.context.caller.clone();
        let (attributes, tags) = (map(attributes), map(tags));
        let rules = &server.context.rules;
        server.tokio.block_on(service::sqs::declare(
            &server.context.engine,
            rules,
            account,
            region,
            name,
            attributes,
            tags,
        ))
    };
    declare("q", &[("DelaySeconds", "5")], &[("team", "a")]).expect("a new queue");
    server.ok("SetQueueAttributes", json!({"QueueUrl": URL, "Attributes": {"VisibilityTimeout": "60"}}));
    declare("q", &[("DelaySeconds", "6")], &[("team", "b")]).expect("the same queue");
    assert_eq!(server.attribute("DelaySeconds"), "6", "what is declared holds");
    assert_eq!(server.attribute("VisibilityTimeout"), "60", "what is not declared stays");
    server.check("ListQueueTags", json!({"QueueUrl": URL}), json!({"Tags": {"team": "b"}}));

    for (name, attribute) in [("a.b", ("DelaySeconds", "5")), ("p", ("DelaySeconds", "901")), ("p", ("Nope", "1"))] {
        assert!(declare(name, &[attribute], &[]).is_err(), "{name} {attribute:?}");
    }
    server.check("ListQueues", json!({}), json!({"QueueUrls": [URL]}));
}
