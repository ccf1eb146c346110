// The AWS SDK for JavaScript v3 against the real binary. It checks the MD5 of every body by itself, on send and on
// receive, and throws where they differ.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startServer } from "./server.mjs";

// Installed by `cargo xtask test`, outside the source tree.
const installed = join(process.env.CARGO_TARGET_DIR ?? join(import.meta.dirname, "../../target"), "node/package.json");
const {
  SQSClient, CreateQueueCommand, DeleteMessageBatchCommand, DeleteMessageCommand, DeleteQueueCommand,
  GetQueueAttributesCommand, ListQueuesCommand, PurgeQueueCommand, QueueDoesNotExist, ReceiveMessageCommand,
  SendMessageBatchCommand, SendMessageCommand, paginateListQueues,
} = createRequire(installed)("@aws-sdk/client-sqs");

const credentials = { accessKeyId: "test", secretAccessKey: "test" };
let server, sqs, serial = 0;

before(async () => {
  server = await startServer();
  sqs = new SQSClient({ endpoint: server.endpoint, region: "us-east-1", credentials, maxAttempts: 1 });
});
after(async () => {
  sqs?.destroy();
  if (server) assert.equal(await server.stop(), 0);
});

async function makeQueue(Attributes) {
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: `js-${serial++}`, Attributes }));
  return QueueUrl;
}
const md5 = (text) => createHash("md5").update(text).digest("hex");

test("a message's life", async () => {
  const QueueUrl = await makeQueue();
  const MessageAttributes = {
    text: { DataType: "String", StringValue: "v" },
    bytes: { DataType: "Binary", BinaryValue: Uint8Array.from([0, 255]) },
  };
  const sent = await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "hello", MessageAttributes }));
  assert.equal(sent.MD5OfMessageBody, md5("hello"));
  const { Messages } = await sqs.send(new ReceiveMessageCommand({
    QueueUrl, MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"],
  }));
  assert.equal(Messages.length, 1);
  assert.equal(Messages[0].MessageId, sent.MessageId);
  assert.equal(Messages[0].MessageAttributes.text.StringValue, "v");
  assert.deepEqual([...Messages[0].MessageAttributes.bytes.BinaryValue], [0, 255]);
  assert.equal(Messages[0].Attributes.ApproximateReceiveCount, "1");
  await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: Messages[0].ReceiptHandle }));
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
  assert.equal(Attributes.ApproximateNumberOfMessagesNotVisible, "0");
});

test("PROTO-14: digests of Unicode and of a body of 1 MiB", async () => {
  const QueueUrl = await makeQueue();
  const texts = ["ü – \u{1f426} \r\n\t", "\u0085\u2028\ufffd", "x".repeat(1_048_576), "\u{1f426}".repeat(262_144)];
  for (const MessageBody of texts) {
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
    assert.equal(Messages[0].Body, MessageBody);
    assert.equal(Messages[0].MD5OfBody, md5(MessageBody));
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: Messages[0].ReceiptHandle }));
  }
});

test("PROTO-15: an empty receive has no messages", async () => {
  const QueueUrl = await makeQueue();
  assert.equal((await sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages, undefined);
});

test("batches of ten", async () => {
  const QueueUrl = await makeQueue();
  const Entries = [...Array(10).keys()].map((index) => ({ Id: `e${index}`, MessageBody: `body ${index}` }));
  const sent = await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  assert.equal(sent.Successful.length, 10);
  assert.equal(sent.Failed, undefined);
  const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
  assert.deepEqual(Messages.map((message) => message.Body), Entries.map((entry) => entry.MessageBody));
  const handles = Messages.map(({ ReceiptHandle }, index) => ({ Id: `e${index}`, ReceiptHandle }));
  handles[3].ReceiptHandle = "garbage";
  const deleted = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries: handles }));
  assert.equal(deleted.Successful.length, 9);
  assert.deepEqual(deleted.Failed.map(({ Id, Code, SenderFault }) => [Id, Code, SenderFault]),
    [["e3", "ReceiptHandleIsInvalid", true]]);
});

test("a long poll returns when a message comes", async () => {
  const QueueUrl = await makeQueue();
  const poll = sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
  // Answered on another connection, after the poll was sent.
  await sqs.send(new ListQueuesCommand({}));
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "hello" }));
  const { Messages } = await poll;
  assert.equal(Messages[0].Body, "hello");
});

test("a long poll that the client aborts hides nothing", async () => {
  const QueueUrl = await makeQueue({ VisibilityTimeout: "43200" });
  const abort = new AbortController();
  const poll = sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }), { abortSignal: abort.signal });
  await sqs.send(new ListQueuesCommand({}));
  abort.abort();
  await assert.rejects(poll, { name: "AbortError" });
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "hello" }));
  const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5 }));
  assert.equal(Messages[0].Body, "hello");
});

test("a visibility timeout passes", async () => {
  const QueueUrl = await makeQueue();
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "again" }));
  assert.equal((await sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages.length, 1);
  assert.equal((await sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages, undefined);
  await server.advance(31);
  assert.equal((await sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages[0].Body, "again");
});

test("PROTO-02: errors have the names of the model", async () => {
  const QueueUrl = await makeQueue();
  const missing = sqs.send(new SendMessageCommand({ QueueUrl: `${QueueUrl}-missing`, MessageBody: "x" }));
  await assert.rejects(missing, (error) => {
    assert(error instanceof QueueDoesNotExist);
    assert.equal(error.name, "QueueDoesNotExist");
    assert.equal(error.message, "The specified queue does not exist.");
    assert.equal(error.$metadata.httpStatusCode, 400);
    return true;
  });
  const handle = sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: "garbage" }));
  await assert.rejects(handle, { name: "ReceiptHandleIsInvalid" });
  await sqs.send(new PurgeQueueCommand({ QueueUrl }));
  await assert.rejects(sqs.send(new PurgeQueueCommand({ QueueUrl })), { name: "PurgeQueueInProgress" });
  await assert.rejects(
    sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries: [] })), { name: "EmptyBatchRequest" });
});

test("pages of queues", async () => {
  for (let index = 0; index < 5; index++) {
    await sqs.send(new CreateQueueCommand({ QueueName: `js-page-${index}` }));
  }
  const seen = [];
  for await (const page of paginateListQueues({ client: sqs, pageSize: 2 }, { QueueNamePrefix: "js-page-" })) {
    seen.push(...page.QueueUrls);
  }
  assert.equal(new Set(seen).size, 5);
});

test("PROTO-12: the host of the queue URL is where requests go when no endpoint is set", async () => {
  const QueueUrl = await makeQueue();
  const roaming = new SQSClient({ region: "us-east-1", credentials, maxAttempts: 1 });
  await roaming.send(new SendMessageCommand({ QueueUrl, MessageBody: "found you" }));
  const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
  assert.equal(Messages[0].Body, "found you");
  roaming.destroy();
  await sqs.send(new DeleteQueueCommand({ QueueUrl }));
});
