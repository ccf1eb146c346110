"""Bad requests, and what each must get.

A row is a name, the bytes to send and what is expected:

    Expected({400}, {"SerializationException"})     an answer with one of these statuses and one of these codes
    Expected({400}, hang_up=True)                   that, or a connection closed without an answer

In rows HOST and QUEUE stand for the server's address and a queue's URL; `fill` puts them in.
"""

import json
import urllib.parse
from dataclasses import dataclass

from kit import raw

MIB = 1_048_576


@dataclass(frozen=True)
class Expected:
    statuses: frozenset
    codes: frozenset = frozenset()
    # The server may close the connection instead of answering.
    hang_up: bool = False
    # The client ends its half after the last byte.
    half_close: bool = False
    head: bool = False


def expect(statuses, *codes, **options):
    statuses = {statuses} if isinstance(statuses, int) else set(statuses)
    return Expected(frozenset(statuses), frozenset(codes), **options)


SERIALIZATION = expect(400, "SerializationException")
INVALID = expect(400, "InvalidParameterValueException", "InvalidParameterValue")
# Fine to take as a bad value or as bad JSON.
INVALID_OR_SERIALIZATION = expect(400, "InvalidParameterValueException", "SerializationException")
NO_QUEUE = expect(
    {400, 404},
    "QueueDoesNotExist",
    "InvalidAddress",
    "InvalidParameterValueException",
    "MissingRequiredParameterException",
)
TOO_LARGE = expect(413, hang_up=True, half_close=True)
NOT_HTTP = expect({400, 411, 413, 414, 417, 431, 501, 505}, hang_up=True)

_rows = []


def row(name, data, expected):
    assert name not in {other for other, _, _ in _rows}, name
    _rows.append((name, data, expected))


def http(method="POST", target="/", body=b"", headers=None):
    return raw.request("HOST", method, target, body, headers)


def json_call(operation, body, headers=None):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    # Placeholders in the body change its length, so it is written when they are filled in.
    return http("POST", "/", body, raw.json_headers(operation) | {"Content-Length": "LENGTH"} | (headers or {}))


def form_call(body, target="/", headers=None):
    if isinstance(body, dict):
        body = urllib.parse.urlencode(body).encode()
    return http("POST", target, body, {"Content-Type": raw.FORM, "Content-Length": "LENGTH"} | (headers or {}))


def fill(data, host, queue):
    """The bytes to send: HOST, QUEUE and the length of the body filled in."""
    data = data.replace(b"HOST", host.encode()).replace(b"QUEUE", queue.encode())
    data = data.replace(b"QUOTED", urllib.parse.quote(queue, safe="").encode())
    head, mark, body = data.partition(b"\r\n\r\n")
    return head.replace(b"Content-Length: LENGTH", b"Content-Length: %d" % len(body)) + mark + body


def rows():
    return list(_rows)


# JSON that is none

WHOLE = b'{"QueueUrl":"QUEUE","MessageBody":"hello","DelaySeconds":5,"MessageAttributes":{"a":{"DataType":"String"}}}'
for cut in (1, 2, 10, 11, 12, 13, 18, 19, 20, 35, 40, 41, 60, 62, 70, 80, 90, len(WHOLE) - 1):
    row(f"JSON cut after {cut} bytes", json_call("SendMessage", WHOLE[:cut]), SERIALIZATION)

for name, body in {
    "a word": b"hello",
    "an array": b"[]",
    "the members in an array": b'["QUEUE","hello"]',
    "a number": b"1",
    "a text": b'"text"',
    "two values": b"{}{}",
    "a trailing comma": b'{"QueueUrl":"QUEUE",}',
    "single quotes": b"{'QueueUrl':'QUEUE'}",
    "no quotes": b"{QueueUrl:1}",
    "a comment": b'{/* */"QueueUrl":"QUEUE"}',
    "NaN": b'{"DelaySeconds":NaN}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "XML": b"<SendMessage/>",
    "a form": b"Action=SendMessage&MessageBody=x",
    "a NUL byte": b'{"QueueUrl":"QUEUE\x00"}',
    "a NUL after the value": b"{}\x00",
    "a bare newline in a text": b'{"MessageBody":"a\nb"}',
    "a bad escape": b'{"MessageBody":"\\x41"}',
    "half an escape": b'{"MessageBody":"\\u00"}',
    "a lone high surrogate": b'{"QueueUrl":"QUEUE","MessageBody":"\\ud800"}',
    "a lone low surrogate": b'{"QueueUrl":"QUEUE","MessageBody":"\\udc00"}',
    "invalid UTF-8": b'{"QueueUrl":"QUEUE","MessageBody":"\xff\xfe"}',
    "overlong UTF-8": b'{"QueueUrl":"QUEUE","MessageBody":"\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"QueueUrl":"QUEUE","MessageBody":"\xed\xa0\x80"}',
    "UTF-16": '{"QueueUrl":"x"}'.encode("utf-16"),
    "only spaces": b"    ",
}.items():
    row(
        f"JSON body is {name}",
        json_call("SendMessage", body),
        expect(400, "SerializationException", "InvalidMessageContents"),
    )
row(
    "JSON body is null",
    json_call("SendMessage", b"null"),
    expect(400, "SerializationException", "MissingRequiredParameterException"),
)

for depth in (200, 10_000, 1_000_000):
    row(f"arrays {depth} deep", json_call("SendMessage", b"[" * depth), SERIALIZATION)
    row(f"objects {depth} deep", json_call("SendMessage", b'{"a":' * depth), SERIALIZATION)
    closed = b'{"Unknown":' + b"[" * depth + b"]" * depth + b"}"
    row(
        f"an unknown member {depth} deep",
        json_call("SendMessage", closed),
        expect(400, "SerializationException", "MissingRequiredParameterException"),
    )

# JSON of the wrong types

GOOD = {"QueueUrl": "QUEUE", "MessageBody": "x"}
WRONG_TYPES = {
    "SendMessage": {
        "QueueUrl": [5, True, [], {}],
        "MessageBody": [5, False, ["x"], {"x": 1}],
        "DelaySeconds": [[], {}, "soon"],
        "MessageAttributes": ["x", 5, [], {"a": "x"}, {"a": []}, {"a": {"DataType": 5}}, {"a": {"StringValue": {}}}],
        "MessageSystemAttributes": [5, "x", {"AWSTraceHeader": "x"}],
        "MessageGroupId": [5, {}],
    },
    "ReceiveMessage": {
        "AttributeNames": ["All", {}, [5], [[]]],
        "MessageAttributeNames": ["All", 5, [None, {}]],
        "MaxNumberOfMessages": [[], {}, "many"],
    },
    "SendMessageBatch": {"Entries": ["x", 5, {}, [5], ["x"], [[]], [{"Id": 5}], [{"Id": "a", "MessageBody": []}]]},
    "DeleteMessageBatch": {"Entries": ["x", [5], [{"Id": "a", "ReceiptHandle": 5}]]},
    "SetQueueAttributes": {"Attributes": ["x", [], 5, {"DelaySeconds": {}}, {"DelaySeconds": []}]},
    "TagQueue": {"Tags": ["x", [], 5, {"a": {}}]},
    "UntagQueue": {"TagKeys": ["x", {}, [5]]},
}
for operation, members in WRONG_TYPES.items():
    for member, values in members.items():
        for value in values:
            body = GOOD | {member: value} if operation == "SendMessage" else {"QueueUrl": "QUEUE", member: value}
            row(f"{operation} {member}={json.dumps(value)}", json_call(operation, body), SERIALIZATION)

for value in (
    "-1",
    "901",
    "-9223372036854775808",
    "9223372036854775807",
    "9223372036854775808",
    "1e400",
    "-1e400",
    "1.5",
    "9" * 400,
):
    body = b'{"QueueUrl":"QUEUE","MessageBody":"x","DelaySeconds":%s}' % value.encode()
    row(f"DelaySeconds={value[:24]} ({len(value)})", json_call("SendMessage", body), INVALID_OR_SERIALIZATION)
for member, values in {
    "MaxNumberOfMessages": (-1, 0, 11, 2**31, 2**63 - 1, -(2**63)),
    "VisibilityTimeout": (-1, 43_201, 2**32, -(2**63)),
    "WaitTimeSeconds": (-1, 21, 2**31),
}.items():
    for value in values:
        row(f"{member}={value}", json_call("ReceiveMessage", {"QueueUrl": "QUEUE", member: value}), INVALID)

for name, value in {"not base64": "!!!", "cut base64": "AAA", "a data URL": "data:,x", "a newline": "AA\n=="}.items():
    attributes = {"a": {"DataType": "Binary", "BinaryValue": value}}
    row(
        f"BinaryValue is {name}",
        json_call("SendMessage", GOOD | {"MessageAttributes": attributes}),
        INVALID_OR_SERIALIZATION,
    )

# Too many, too long

MANY = 200_000
VALUE = {"DataType": "String", "StringValue": "v"}
row(
    "200,000 message attributes",
    json_call("SendMessage", GOOD | {"MessageAttributes": {f"a{index}": VALUE for index in range(MANY)}}),
    expect({400, 413}),
)
row(
    "200,000 queue attributes",
    json_call("CreateQueue", {"QueueName": "x", "Attributes": {f"a{index}": "v" for index in range(MANY)}}),
    expect({400, 413}),
)
row(
    "200,000 tags",
    json_call("TagQueue", {"QueueUrl": "QUEUE", "Tags": {f"a{index}": "v" for index in range(MANY)}}),
    expect({400, 413}),
)
row(
    "200,000 entries",
    json_call("SendMessageBatch", {"QueueUrl": "QUEUE", "Entries": [{"Id": "a"}] * MANY}),
    expect({400, 413}),
)
row(
    "200,000 empty entries",
    json_call("SendMessageBatch", {"QueueUrl": "QUEUE", "Entries": [{}] * MANY}),
    expect({400, 413}),
)
row(
    "200,000 attribute names",
    json_call("GetQueueAttributes", {"QueueUrl": "QUEUE", "AttributeNames": ["x"] * MANY}),
    expect({400, 413}),
)
row(
    "200,000 names in a receive",
    json_call("ReceiveMessage", {"QueueUrl": "QUEUE", "MessageAttributeNames": ["x"] * MANY}),
    expect({200, 400, 413}),
)
row(
    "200,000 tag keys", json_call("UntagQueue", {"QueueUrl": "QUEUE", "TagKeys": ["x"] * MANY}), expect({200, 400, 413})
)
row("200,000 unknown members", json_call("SendMessage", {f"x{index}": 1 for index in range(MANY)}), expect({400, 413}))
row("200,000 form parameters", form_call(b"Action=SendMessage" + b"&a=b" * MANY), expect({400, 413}))
row(
    "200,000 form entries",
    form_call(
        b"Action=SendMessageBatch&QueueUrl=QUOTED"
        + b"".join(b"&SendMessageBatchRequestEntry.%d.Id=a" % index for index in range(1, MANY))
    ),
    expect({400, 413}),
)

LONG = "x" * MIB
row("a queue name of 1 MiB", json_call("CreateQueue", {"QueueName": LONG}), INVALID)
row("a queue URL of 1 MiB", json_call("ReceiveMessage", {"QueueUrl": "http://h/1/" + LONG}), NO_QUEUE)
row("an attribute name of 1 MiB", json_call("SendMessage", GOOD | {"MessageAttributes": {LONG: VALUE}}), INVALID)
row(
    "an attribute type of 1 MiB",
    json_call("SendMessage", GOOD | {"MessageAttributes": {"a": {"DataType": "String." + LONG, "StringValue": "v"}}}),
    INVALID,
)
row(
    "a queue attribute's name of 1 MiB",
    json_call("SetQueueAttributes", {"QueueUrl": "QUEUE", "Attributes": {LONG: "1"}}),
    expect(400, "InvalidAttributeName"),
)
row(
    "a queue attribute's value of 1 MiB",
    json_call("SetQueueAttributes", {"QueueUrl": "QUEUE", "Attributes": {"DelaySeconds": LONG}}),
    expect(400, "InvalidAttributeValue"),
)
row(
    "a policy of 1 MiB",
    json_call("SetQueueAttributes", {"QueueUrl": "QUEUE", "Attributes": {"Policy": '{"Id":"%s"}' % LONG}}),
    expect(400, "InvalidAttributeValue"),
)
row("a tag key of 1 MiB", json_call("TagQueue", {"QueueUrl": "QUEUE", "Tags": {LONG: "v"}}), INVALID)
row("a tag value of 1 MiB", json_call("TagQueue", {"QueueUrl": "QUEUE", "Tags": {"k": LONG}}), INVALID)
row(
    "a batch id of 1 MiB",
    json_call("SendMessageBatch", {"QueueUrl": "QUEUE", "Entries": [{"Id": LONG, "MessageBody": "x"}]}),
    expect(400, "InvalidBatchEntryId"),
)
row("a group id of 1 MiB", json_call("SendMessage", GOOD | {"MessageGroupId": LONG}), INVALID)
row(
    "a receipt handle of 1 MiB",
    json_call("DeleteMessage", {"QueueUrl": "QUEUE", "ReceiptHandle": LONG}),
    expect(404, "ReceiptHandleIsInvalid"),
)
row("a token of 1 MiB", json_call("ListQueues", {"MaxResults": 1, "NextToken": LONG}), INVALID)
row("a prefix of 1 MiB", json_call("ListQueues", {"QueueNamePrefix": LONG}), expect({200, 400}))
row("an account of 1 MiB", json_call("GetQueueUrl", {"QueueName": "x", "QueueOwnerAWSAccountId": LONG}), expect(400))
row("a member name of 1 MiB", json_call("SendMessage", {LONG: 1}), expect(400))

row(
    "a body of 9 MiB",
    json_call("SendMessage", GOOD | {"MessageBody": "x" * (9 * MIB)}),
    expect({400, 413}, hang_up=True),
)
row(
    "a form of 9 MiB",
    form_call(b"Action=SendMessage&MessageBody=" + b"x" * (9 * MIB)),
    expect({400, 413}, hang_up=True),
)
row(
    "a body of 9 MiB in chunks",
    http(headers=raw.json_headers("SendMessage") | {"Content-Length": None, "Transfer-Encoding": "chunked"})
    + b"100000\r\n"
    + b"x" * MIB
    + b"\r\n"
    + (b"100000\r\n" + b"x" * MIB + b"\r\n") * 8
    + b"0\r\n\r\n",
    expect({400, 413}, hang_up=True),
)
row(
    "a promise of a terabyte",
    http(body=b"{", headers=raw.json_headers("SendMessage") | {"Content-Length": str(1 << 40)}),
    TOO_LARGE,
)
row(
    "a promise of 2^63 bytes",
    http(body=b"{", headers=raw.json_headers("SendMessage") | {"Content-Length": str(1 << 63)}),
    expect({400, 413}, hang_up=True, half_close=True),
)

# Which operation?

for target in (
    "",
    "AmazonSQS",
    "AmazonSQS.",
    ".SendMessage",
    "SendMessage",
    "AmazonSQS.sendmessage",
    "AmazonSQS.SendMessage ",
    "AmazonSQS.SendMessage.x",
    "AmazonSNS.Publish",
    "DynamoDB_20120810.PutItem",
    "AmazonSQS.\u00fc",
    "AmazonSQS." + "x" * 4_000,
):
    expected = expect({200, 400}) if target.endswith(" ") else expect(400, "UnknownOperationException")
    row(
        f"X-Amz-Target: {target[:40]!r}",
        http(body=b"{}", headers={"Content-Type": raw.JSON, "X-Amz-Target": target}),
        expected,
    )
row(
    "JSON without a target",
    http(body=b"{}", headers={"Content-Type": raw.JSON}),
    expect(400, "UnknownOperationException"),
)
for content_type in ("text/plain", "multipart/form-data; boundary=x", "application/xml", "", "\u00fc", "x" * 4_000):
    row(
        f"Content-Type: {content_type[:30]!r} and no action",
        http(body=b"{}", headers={"Content-Type": content_type}),
        expect(400),
    )
row("no content type at all", http(body=b"{}"), expect(400))
for method in ("PUT", "DELETE", "PATCH", "TRACE", "BREW"):
    row(
        f"{method} with a JSON target",
        http(method, body=b"{}", headers=raw.json_headers("ListQueues")),
        expect({400, 403, 404, 405, 501}),
    )
# What monitors and browsers ask is answered, whatever else the request says.
row("GET with a JSON target", http("GET", headers=raw.json_headers("ListQueues")), expect({200, 400}))
row("OPTIONS with a JSON target", http("OPTIONS", headers=raw.json_headers("ListQueues")), expect({200, 204, 400, 403}))
row("HEAD", http("HEAD"), expect({200, 400, 404, 405}, head=True))
for action in ("", "Nope", "sendMessage", "SendMessage%00", "../SendMessage", "%FF", "x" * 100_000):
    row(f"Action={action[:20]}", form_call(b"Action=" + action.encode()), expect(400))
row("no action", form_call(b"QueueUrl=QUOTED&MessageBody=x"), expect(400))
row("an empty form", form_call(b""), expect(400))
row("a version of long ago", form_call({"Action": "ListQueues", "Version": "2006-01-01"}), expect(400))

# Forms

for escape in ("%", "%4", "%G0", "%%", "%-1", "%u0041", "%\u00fc"):
    row(
        f"escape {escape} in a form",
        form_call(f"Action=SendMessage&QueueUrl=QUOTED&MessageBody={escape}".encode()),
        expect({400}),
    )
    row(
        f"escape {escape} in a name",
        form_call(f"Action=SendMessage&QueueUrl=QUOTED&MessageBody=x&{escape}=x".encode()),
        expect({200, 400}),
    )
for value in ("%FF", "%C0%AF", "%ED%A0%80", "%00", "%01", "%EF%BF%BF"):
    row(
        f"MessageBody={value}",
        form_call(f"Action=SendMessage&QueueUrl=QUOTED&MessageBody={value}".encode()),
        expect(400),
    )
FIRST = "MessageBody=x&MessageAttribute.1"
for name, fields in {
    "DelaySeconds=abc": "MessageBody=x&DelaySeconds=abc",
    "DelaySeconds of 400 digits": "MessageBody=x&DelaySeconds=" + "9" * 400,
    "DelaySeconds empty": "MessageBody=x&DelaySeconds=",
    "an attribute without a name": f"{FIRST}.Value.DataType=String&MessageAttribute.1.Value.StringValue=v",
    "an attribute without a value": f"{FIRST}.Name=a",
    "an attribute numbered 0": "MessageBody=x&MessageAttribute.0.Name=a",
    "an attribute with a negative number": "MessageBody=x&MessageAttribute.-1.Name=a",
    "an attribute with a huge number": "MessageBody=x&MessageAttribute.99999999999999999999.Name=a",
    "an attribute without a number": "MessageBody=x&MessageAttribute.Name=a",
    "bytes that are not base64": f"{FIRST}.Name=a&MessageAttribute.1.Value.DataType=Binary"
    "&MessageAttribute.1.Value.BinaryValue=!!!",
    "a name of 100,000 dots": "MessageBody=x&" + "." * 100_000 + "=x",
    "a member 10,000 levels deep": "MessageBody=x&MessageAttribute" + ".1" * 10_000 + "=x",
    "a scalar with a member": "MessageBody=x&MessageBody.1.x=y",
    "only separators": "&&&&====&&&",
}.items():
    tolerated = expect({200, 400})
    strict = name.startswith(("Delay", "bytes", "an attribute without a v", "only"))
    row(
        f"form with {name}",
        form_call(f"Action=SendMessage&QueueUrl=QUOTED&{fields}".encode()),
        expect(400) if strict else tolerated,
    )

# Addresses

for url in (
    "",
    "x" * 81,
    "http://",
    "http://host",
    "http://host/",
    "file:///etc/passwd",
    "../../etc/passwd",
    "http://host/1/../q",
    "http://host/%2e%2e/%2e%2e",
    "http://[::1",
    "http://host:99999/1/q",
    "\u0000",
    "\u00fc/\u00fc",
    "http://host/000000000000/" + "x" * 81,
    "http://host/abc/q.fifo/",
    "http://host/1/2/3/4/5?x=y#z",
    "javascript:alert(1)",
    "'; DROP TABLE queues; --",
):
    row(f"QueueUrl={url[:40]!r} ({len(url)})", json_call("ReceiveMessage", {"QueueUrl": url}), NO_QUEUE)
for path in (
    "//",
    "/../../etc/passwd",
    "/%00",
    "/%ff/%ff",
    "/%",
    "/?",
    "/?Action",
    "/?=&=&",
    "/000000000000/none?Action=ReceiveMessage",
    "/" + "a/" * 2_000,
    "/x?Action=" + "x" * 4_000,
):
    row(f"GET {path[:40]}", http("GET", path), expect({400, 404}))
row("a URL of 200 KB", http("GET", "/?" + "x" * 200_000), NOT_HTTP)

# What is not HTTP

HEAD = b"POST / HTTP/1.1\r\nHost: HOST\r\n"
for name, data in {
    "a word": b"GARBAGE\r\n\r\n",
    "a method alone": b"GET\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "a version of the future": b"GET / HTTP/9.9\r\nHost: HOST\r\n\r\n",
    "a version that is none": b"GET / HTTX/1.1\r\nHost: HOST\r\n\r\n",
    "a space in a header's name": HEAD + b"Content Length: 0\r\n\r\n",
    "a header without a colon": HEAD + b"Nonsense\r\n\r\n",
    "a header with an empty name": HEAD + b": x\r\n\r\n",
    "a folded header": HEAD + b"X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
    "a NUL in a header": HEAD + b"X-A: b\x00c\r\nContent-Length: 0\r\n\r\n",
    "a NUL in the target": b"GET /\x00 HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "a space in the target": b"GET /a b HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "the start of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
    "bytes of every kind": bytes(range(256)) * 40,
    "half of the HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
    "the HTTP/2 preface and noise": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 100,
    "a header of 1 MB": HEAD + b"X-A: " + b"x" * 1_000_000 + b"\r\nContent-Length: 0\r\n\r\n",
    "10,000 headers": HEAD + b"X-A: b\r\n" * 10_000 + b"Content-Length: 0\r\n\r\n",
    "Content-Length: abc": HEAD + b"Content-Length: abc\r\n\r\n",
    "Content-Length: -1": HEAD + b"Content-Length: -1\r\n\r\n",
    "Content-Length: +2": HEAD + b"Content-Length: +2\r\n\r\n{}",
    "Content-Length: 1, 2": HEAD + b"Content-Length: 1, 2\r\n\r\n{}",
    "Content-Length of 30 digits": HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n{}",
    "two lengths": HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "a chunk size that is none": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "a negative chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n",
    "a huge chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}",
    "a chunk longer than it says": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
    "a chunk extension of 1 MB": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n2;"
    + b"x" * 1_000_000
    + b"\r\n{}\r\n0\r\n\r\n",
    "an unknown transfer encoding": HEAD + b"Transfer-Encoding: nonsense\r\n\r\n",
    "chunked, but not last": HEAD + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
}.items():
    row(name, data, expect(NOT_HTTP.statuses, hang_up=True, half_close=True))

row(
    "no Host",
    raw.request("HOST", "POST", "/", b"{}", raw.json_headers("ListQueues") | {"Host": None}),
    expect({200, 400}),
)
row("two Hosts", HEAD + b"Host: other\r\nContent-Length: 0\r\n\r\n", expect(400))
row(
    "a bad Host",
    http(body=b'{"QueueName":"x"}', headers=raw.json_headers("CreateQueue") | {"Host": "<script>"}),
    expect({200, 400}),
)
row(
    "both a length and chunks",
    HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    expect({400, 501}, hang_up=True),
)
row(
    "an expectation that is none",
    http(body=b"{}", headers=raw.json_headers("ListQueues") | {"Expect": "the unexpected"}),
    expect({200, 400, 417}),
)
row("a body that never comes", HEAD + b"Content-Length: 100\r\n\r\n{", expect(400, hang_up=True, half_close=True))
row(
    "a chunked body that ends early",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    expect(400, hang_up=True, half_close=True),
)
row("a head that never ends", HEAD + b"X-A: b", expect(400, hang_up=True, half_close=True))
row("nothing at all", b"", expect(400, hang_up=True, half_close=True))
row("a line break alone", b"\r\n", expect(400, hang_up=True, half_close=True))
row(
    "more body than its length",
    http(body=b"{}", headers=raw.json_headers("ListQueues")) + b"surplus\r\n\r\n",
    expect(200),
)
row("CONNECT", http("CONNECT", "host:443"), NOT_HTTP)
row(
    "an absolute target",
    http("POST", "http://elsewhere.example/", b"{}", raw.json_headers("ListQueues")),
    expect({200, 400}),
)
for authorization in (
    "",
    "AWS4-HMAC-SHA256",
    "AWS4-HMAC-SHA256 Credential=",
    "AWS4-HMAC-SHA256 Credential=a/b/c/d/e/f/g",
    "Basic \u00fc",
    "AWS4-HMAC-SHA256 Credential=test/20260101/" + "r" * 3_000 + "/sqs/aws4_request, SignedHeaders=host, Signature=0",
):
    row(
        f"Authorization: {authorization[:40]!r} ({len(authorization)})",
        http(body=b"{}", headers=raw.json_headers("ListQueues") | {"Authorization": authorization}),
        expect({200, 400, 403}),
    )
