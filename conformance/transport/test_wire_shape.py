"""What exactly is on the wire: headers, JSON members, XML elements."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import xml.parsers.expat

import pytest

from kit import raw
from kit.clients import bodies, counts, receive, receive_one, refused, send, text
from kit.server import TARGET

REQUEST_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


class TestJson:
    def test_F005_PROTO_01_json_in_json_out(self, server):
        answer = raw.call(server, "ListQueues")
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/x-amz-json-1.0"
        assert isinstance(answer.json(), dict)
        assert re.fullmatch(REQUEST_ID, answer.headers["x-amzn-requestid"])

    def test_PROTO_15_empty_receive(self, server, queue):
        assert raw.call(server, "ReceiveMessage", QueueUrl=queue).json() == {}

    def test_PROTO_05_request_ids_differ(self, server):
        ids = {raw.call(server, "ListQueues").headers["x-amzn-requestid"] for _ in range(5)}
        assert len(ids) == 5

    def test_PROTO_02_errors_have_both_names(self, server, queue):
        answer = raw.call(server, "ReceiveMessage", QueueUrl=queue + "-missing")
        assert answer.status == 400
        assert answer.json()["__type"] == "com.amazonaws.sqs#QueueDoesNotExist"
        assert answer.message == "The specified queue does not exist."
        assert answer.headers["x-amzn-query-error"] == "AWS.SimpleQueueService.NonExistentQueue;Sender"
        assert answer.headers["content-type"] == "application/x-amz-json-1.0"
        assert re.fullmatch(REQUEST_ID, answer.headers["x-amzn-requestid"])

    @pytest.mark.parametrize(
        "entries, name",
        [
            ([{"Id": str(index), "MessageBody": "x"} for index in range(11)], "TooManyEntriesInBatchRequest"),
            ([{"Id": "a", "MessageBody": "x"}] * 2, "BatchEntryIdsNotDistinct"),
            ([], "EmptyBatchRequest"),
        ],
    )
    def test_F003_batch_errors(self, server, queue, entries, name):
        answer = raw.call(server, "SendMessageBatch", QueueUrl=queue, Entries=entries)
        assert answer.status == 400
        assert answer.code == name
        assert answer.headers["x-amzn-query-error"] == f"AWS.SimpleQueueService.{name};Sender"

    @pytest.mark.parametrize("operation", ["DeleteMessage", "PurgeQueue", "SetQueueAttributes", "TagQueue"])
    def test_operations_without_an_answer(self, server, json_sqs, queue, operation):
        """Recorded: an empty body, or an empty object."""
        send(json_sqs, queue, "m")
        handle = receive_one(json_sqs, queue)["ReceiptHandle"]
        members = {
            "DeleteMessage": {"ReceiptHandle": handle},
            "SetQueueAttributes": {"Attributes": {"DelaySeconds": "1"}},
            "TagQueue": {"Tags": {"a": "b"}},
        }
        answer = raw.call(server, operation, QueueUrl=queue, **members.get(operation, {}))
        assert answer.status == 200
        assert answer.body in (b"", b"{}")

    def test_at_the_queue_s_own_path(self, server, queue):
        """Recorded: test_send_message_via_queue_url_with_json_protocol."""
        path = queue.removeprefix(server.endpoint)
        with raw.Connection(server) as connection:
            body = json.dumps({"QueueUrl": queue, "MessageBody": "m"}).encode()
            assert connection.request("POST", path, body, raw.json_headers("SendMessage")).status == 200
            body = json.dumps({"QueueUrl": queue}).encode()
            answer = connection.request("POST", path, body, raw.json_headers("ReceiveMessage"))
        assert bodies(answer.json()["Messages"]) == ["m"]

    def test_unknown_members_are_ignored(self, server, queue):
        """An SDK newer than this server may send members it doesn't know."""
        answer = raw.call(server, "SendMessage", QueueUrl=queue, MessageBody="m", FutureMember={"a": [1, None]})
        assert answer.status == 200

    def test_null_members_count_as_absent(self, server, queue):
        members = {"DelaySeconds": None, "MessageAttributes": None, "MessageGroupId": None}
        assert raw.call(server, "SendMessage", QueueUrl=queue, MessageBody="m", **members).status == 200

    def test_a_charset_is_tolerated(self, server):
        with raw.Connection(server) as connection:
            headers = raw.json_headers("ListQueues") | {"Content-Type": "application/x-amz-json-1.0; charset=utf-8"}
            assert connection.request("POST", "/", b"{}", headers).status == 200

    def test_an_empty_body_is_an_empty_request(self, server):
        with raw.Connection(server) as connection:
            answer = connection.request("POST", "/", b"", raw.json_headers("ListQueues"))
        assert answer.status in (200, 400)
        if answer.status == 400:
            assert answer.code == "SerializationException"

    def test_binary_values_are_base64(self, server, queue):
        attribute = {"DataType": "Binary", "BinaryValue": "AP8="}
        sent = raw.call(server, "SendMessage", QueueUrl=queue, MessageBody="m", MessageAttributes={"b": attribute})
        assert sent.status == 200
        received = raw.call(server, "ReceiveMessage", QueueUrl=queue, MessageAttributeNames=["All"]).json()
        assert received["Messages"][0]["MessageAttributes"] == {"b": attribute}


class TestQuery:
    @pytest.mark.parametrize(
        "action, result",
        [
            ("SendMessage", {"MessageId", "MD5OfMessageBody"}),
            ("ReceiveMessage", {"Message"}),
            ("GetQueueAttributes", {"Attribute"}),
            ("ListQueues", {"QueueUrl"}),
            ("PurgeQueue", None),
        ],
    )
    def test_F211_PROTO_03_only_documented_elements(self, server, json_sqs, queue, action, result):
        send(json_sqs, queue, "m")
        parameters = {
            "SendMessage": {"MessageBody": "x"},
            "GetQueueAttributes": {"AttributeName_1": "All"},
        }
        answer = raw.query(server, action, QueueUrl=queue, **parameters.get(action, {}))
        assert answer.status == 200
        assert answer.headers["content-type"].split(";")[0] == "text/xml"
        assert re.fullmatch(REQUEST_ID, answer.headers["x-amzn-requestid"])

        noise = []
        parser = xml.parsers.expat.ParserCreate()
        parser.CommentHandler = noise.append
        parser.ProcessingInstructionHandler = lambda *instruction: noise.append(instruction)
        parser.Parse(answer.body, True)
        assert noise == []

        root = answer.xml()
        assert root.tag == f"{raw.NAMESPACE}{action}Response"
        expected = [f"{action}Result"] if result is not None else []
        assert [child.tag.removeprefix(raw.NAMESPACE) for child in root] == [*expected, "ResponseMetadata"]
        if result is not None:
            assert {child.tag.removeprefix(raw.NAMESPACE) for child in root[0]} == result
        assert answer.find("ResponseMetadata/RequestId") == answer.headers["x-amzn-requestid"]

    def test_F002_errors(self, server, queue):
        """At the path of a queue that doesn't exist, as the SDK for PHP asked."""
        path = queue.removeprefix(server.endpoint) + "-missing"
        answer = raw.query(server, "ReceiveMessage", path)
        assert answer.status == 400
        assert answer.headers["content-type"].split(";")[0] == "text/xml"
        assert answer.xml().tag == raw.NAMESPACE + "ErrorResponse"
        assert answer.find("Error/Type") == "Sender"
        assert answer.find("Error/Code") == "AWS.SimpleQueueService.NonExistentQueue"
        assert answer.find("Error/Message") == "The specified queue does not exist for this wsdl version."
        assert answer.find("Error/Detail") == ""
        assert answer.find("RequestId") == answer.headers["x-amzn-requestid"]

    def test_PROTO_03_get(self, server, queue):
        path = queue.removeprefix(server.endpoint)
        with raw.Connection(server) as connection:
            sent = connection.request("GET", f"{path}?Action=SendMessage&MessageBody=a%20b%2Bc&Version=2012-11-05")
            assert sent.status == 200
            received = connection.request("GET", f"{path}?Action=ReceiveMessage&Version=2012-11-05")
        assert received.find("ReceiveMessageResult/Message/Body") == "a b+c"

    def test_PROTO_03_a_queue_s_path_or_its_url(self, server, json_sqs, queue):
        path = queue.removeprefix(server.endpoint)
        assert raw.query(server, "SendMessage", path, MessageBody="by path").status == 200
        assert raw.query(server, "SendMessage", "/", QueueUrl=queue, MessageBody="by parameter").status == 200
        assert sorted(bodies(receive(json_sqs, queue))) == ["by parameter", "by path"]

    def test_version_may_be_left_out(self, server):
        with raw.Connection(server) as connection:
            assert connection.request("POST", "/", b"Action=ListQueues", {"Content-Type": raw.FORM}).status == 200

    def test_PROTO_20_list_queues_at_a_queue(self, server, queue):
        path = queue.removeprefix(server.endpoint)
        with raw.Connection(server) as connection:
            answer = connection.request("GET", f"{path}?Action=ListQueues&Version=2012-11-05")
        assert (answer.status, answer.code) == (400, "InvalidAction")
        assert answer.message == "The action ListQueues is not valid for this endpoint."

    def test_PROTO_04_system_attribute_names(self, server, json_sqs, queue):
        send(json_sqs, queue, "m")
        answer = raw.query(
            server, "ReceiveMessage", QueueUrl=queue, AttributeName_1="SentTimestamp", AttributeName_2="SenderId"
        )
        names = [element.findtext(raw.NAMESPACE + "Name") for element in answer.xml().iter(raw.NAMESPACE + "Attribute")]
        assert sorted(names) == ["SenderId", "SentTimestamp"]

    def test_PROTO_04_an_empty_list_leaves_no_element(self, server, queue):
        answer = raw.query(
            server,
            "SendMessageBatch",
            QueueUrl=queue,
            SendMessageBatchRequestEntry_1_Id="bad",
            SendMessageBatchRequestEntry_1_MessageBody="\x01",
        )
        assert answer.status == 200
        [failed] = answer.xml()[0]
        assert failed.tag == raw.NAMESPACE + "BatchResultErrorEntry"
        assert failed.findtext(raw.NAMESPACE + "SenderFault") == "true"
        assert failed.findtext(raw.NAMESPACE + "Code") == "InvalidMessageContents"

    def test_message_attributes_as_documented(self, server, json_sqs, queue):
        """Source: SQS API Reference, the Query form of SendMessage."""
        answer = raw.query(
            server,
            "SendMessage",
            QueueUrl=queue,
            MessageBody="m",
            MessageAttribute_1_Name="city",
            MessageAttribute_1_Value_DataType="String",
            MessageAttribute_1_Value_StringValue="Any City",
            MessageAttribute_2_Name="bytes",
            MessageAttribute_2_Value_DataType="Binary",
            MessageAttribute_2_Value_BinaryValue="AP8=",
        )
        assert answer.status == 200
        message = receive_one(json_sqs, queue, names=["All"])
        assert message["MessageAttributes"] == {
            "city": text("Any City"),
            "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        }

    def test_entries_come_in_the_order_of_their_numbers(self, server, json_sqs, queue):
        """Also with gaps, and 10 after 9."""
        parameters = {}
        for index in (10, 2, 9, 30):
            parameters[f"SendMessageBatchRequestEntry_{index}_Id"] = f"e{index}"
            parameters[f"SendMessageBatchRequestEntry_{index}_MessageBody"] = str(index)
        assert raw.query(server, "SendMessageBatch", QueueUrl=queue, **parameters).status == 200
        assert bodies(receive(json_sqs, queue)) == ["2", "9", "10", "30"]


class TestUnsureProtocol:
    """F212: whatever comes, the answer is typed, in the request's protocol, and never HTML."""

    def test_json_that_is_none(self, server):
        for body in (b"not json", b'{"QueueUrl":5}', b"[]", b"null", b'"text"', b"{"):
            with raw.Connection(server) as connection:
                answer = connection.request("POST", "/", body, raw.json_headers("SendMessage"))
            assert answer.status == 400
            assert answer.code in ("SerializationException", "MissingRequiredParameterException"), body

    def test_unknown_target(self, server):
        answer = raw.call(server, "Nope")
        assert (answer.status, answer.code) == (400, "UnknownOperationException")

    def test_unknown_action(self, server):
        answer = raw.query(server, "Nope")
        assert (answer.status, answer.code) == (400, "InvalidAction")

    def test_unclosed_escape(self, server):
        with raw.Connection(server) as connection:
            answer = connection.request("POST", "/", b"Action=SendMessage&MessageBody=%", {"Content-Type": raw.FORM})
        assert 400 <= answer.status < 500
        assert answer.code

    @pytest.mark.parametrize("path", ["/", "/nowhere", "/a/b/c", "/favicon.ico"])
    def test_a_browser_gets_an_answer(self, server, path):
        with raw.Connection(server) as connection:
            answer = connection.request("GET", path, b"", {"Authorization": None})
        assert 400 <= answer.status < 500 or answer.status == 200
        assert b"<html" not in answer.body.lower()

    def test_unsigned_requests_work_on_loopback(self, server, queue):
        with raw.Connection(server) as connection:
            headers = raw.json_headers("SendMessage") | {"Authorization": None}
            body = json.dumps({"QueueUrl": queue, "MessageBody": "m"}).encode()
            assert connection.request("POST", "/", body, headers).status == 200


OLD_SDK = """
import sys
import boto3, botocore
assert botocore.__version__ == "1.31.80", botocore.__version__
sqs = boto3.client("sqs", endpoint_url=sys.argv[1], region_name="us-east-1",
                   aws_access_key_id="test", aws_secret_access_key="test")
url = sqs.create_queue(QueueName=sys.argv[2])["QueueUrl"]
sent = sqs.send_message(QueueUrl=url, MessageBody="hello & <goodbye>",
                        MessageAttributes={"k": {"DataType": "String", "StringValue": "v"}})
[message] = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], AttributeNames=["All"])["Messages"]
assert message["Body"] == "hello & <goodbye>" and message["MessageId"] == sent["MessageId"]
assert message["MessageAttributes"]["k"]["StringValue"] == "v"
sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
try:
    sqs.get_queue_url(QueueName="no-such-queue")
except sqs.exceptions.QueueDoesNotExist as error:
    assert "wsdl version" in str(error)
else:
    raise AssertionError("found")
print("done")
"""


def test_PROTO_03_an_sdk_from_2023(server, name):
    """The last boto3 that speaks Query, unmodified, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(TARGET / "old-sdk")}
    done = subprocess.run(
        [sys.executable, "-c", OLD_SDK, server.endpoint, name], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "done\n", done.stderr


def test_PROTO_10_one_port_serves_both_protocols(clients, queue):
    """On the same queue, message by message."""
    send(clients["json"], queue, "from json")
    send(clients["query"], queue, "from query")
    assert bodies(receive(clients["query"], queue, count=1)) == ["from json"]
    assert bodies(receive(clients["json"], queue, count=1)) == ["from query"]
    assert counts(clients["json"], queue) == (0, 2, 0)
    assert refused(clients["query"].send_message, QueueUrl=queue, MessageBody="").code == "MissingParameter"


def test_xml_errors_parse_also_when_they_quote_the_request(server, queue):
    """A message that repeats what was sent must not break out of its element."""
    answer = raw.query(server, "SendMessage", QueueUrl=queue, MessageBody="x", MessageGroupId="<a> & ]]> b")
    assert answer.status == 400
    ElementTree.fromstring(answer.body)
    assert "<a> & ]]> b" in answer.message
