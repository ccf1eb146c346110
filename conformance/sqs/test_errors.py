"""Errors as AWS answered them, word for word, in both protocols.

Recorded: LocalStack's snapshots of AWS, 2024 and 2025.
"""

import pytest

from kit import raw
from kit.clients import receive_one, refused, send, text

PREFIX = "AWS.SimpleQueueService."
GROUP_RULE = "can only include alphanumeric and punctuation characters. 1 to 128 in length."

# Operation, parameters, legacy code, name in JSON, message.
RECORDED = {
    "receive 11": (
        "receive_message",
        {"MaxNumberOfMessages": 11},
        "InvalidParameterValue",
        "InvalidParameterValueException",
        "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
    ),
    "receive 0": (
        "receive_message",
        {"MaxNumberOfMessages": 0},
        "InvalidParameterValue",
        "InvalidParameterValueException",
        "Value 0 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
    ),
    "wait 21": (
        "receive_message",
        {"WaitTimeSeconds": 21},
        "InvalidParameterValue",
        "InvalidParameterValueException",
        "Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.",
    ),
    "empty body": (
        "send_message",
        {"MessageBody": ""},
        "MissingParameter",
        "MissingRequiredParameterException",
        "The request must contain the parameter MessageBody.",
    ),
    "no body": (
        "send_message",
        {},
        "MissingParameter",
        "MissingRequiredParameterException",
        "The request must contain the parameter MessageBody.",
    ),
    "oversized": (
        "send_message",
        {"MessageBody": "x" * 1_048_577},
        "InvalidParameterValue",
        "InvalidParameterValueException",
        "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.",
    ),
    "empty attribute": (
        "send_message",
        {"MessageBody": "x", "MessageAttributes": {"ErrorDetails": text("")}},
        "InvalidParameterValue",
        "InvalidParameterValueException",
        "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.",
    ),
    "group id with a space": (
        "send_message",
        {"MessageBody": "x", "MessageGroupId": "group 123"},
        "InvalidParameterValue",
        "InvalidParameterValueException",
        f"Value group 123 for parameter MessageGroupId is invalid. Reason: MessageGroupId {GROUP_RULE}",
    ),
    "twenty entries": (
        "send_message_batch",
        {"Entries": [{"Id": str(index), "MessageBody": "x"} for index in range(20)]},
        PREFIX + "TooManyEntriesInBatchRequest",
        "TooManyEntriesInBatchRequest",
        "Maximum number of entries per request are 10. You have sent 20.",
    ),
    "batch entry id": (
        "send_message_batch",
        {"Entries": [{"Id": "a:b", "MessageBody": "x"}]},
        PREFIX + "InvalidBatchEntryId",
        "InvalidBatchEntryId",
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
        "It can be at most 80 letters long.",
    ),
    "oversized batch": (
        "send_message_batch",
        {"Entries": [{"Id": "1", "MessageBody": "x" * 1_048_576}, {"Id": "2", "MessageBody": "x"}]},
        PREFIX + "BatchRequestTooLong",
        "BatchRequestTooLong",
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
    ),
    "FifoQueue of a standard queue": (
        "set_queue_attributes",
        {"Attributes": {"FifoQueue": "true"}},
        "InvalidAttributeName",
        "InvalidAttributeName",
        "Unknown Attribute FifoQueue.",
    ),
    "both kinds of encryption": (
        "set_queue_attributes",
        {"Attributes": {"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "true"}},
        "InvalidAttributeName",
        "InvalidAttributeName",
        "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.",
    ),
}


@pytest.mark.parametrize("case", RECORDED)
def test_SERR_29_SERR_30_recorded(sqs, queue, case):
    operation, parameters, code, name, message = RECORDED[case]
    refusal = refused(getattr(sqs, operation), QueueUrl=queue, **parameters)
    assert refusal.code == code
    assert refusal.message == message
    assert refusal.status == 400
    assert refusal.name == (name if sqs.protocol == "json" else None)


def test_F002_PROTO_04_SERR_23_missing_queue(clients, queue):
    """The same error, in other words per protocol. Recorded: test_non_existent_queue."""
    messages = {
        "json": "The specified queue does not exist.",
        "query": "The specified queue does not exist for this wsdl version.",
    }
    for protocol, sqs in clients.items():
        refusal = refused(sqs.receive_message, QueueUrl=queue + "-missing")
        assert refusal.code == PREFIX + "NonExistentQueue"
        assert refusal.message == messages[protocol]
        assert refusal.status == 400


def test_PROTO_02_the_sdk_s_exception_classes(json_sqs, queue):
    with pytest.raises(json_sqs.exceptions.QueueDoesNotExist):
        json_sqs.receive_message(QueueUrl=queue + "-missing")
    with pytest.raises(json_sqs.exceptions.ReceiptHandleIsInvalid):
        json_sqs.delete_message(QueueUrl=queue, ReceiptHandle="garbage")


@pytest.mark.parametrize("garbage", ["garbage", "a" * 100, "AQEB" + "A" * 300, "-", "\u00fc", "a" * 5_000])
def test_SERR_25_SERR_09_garbage_handle(sqs, queue, garbage):
    for call, parameters in [(sqs.delete_message, {}), (sqs.change_message_visibility, {"VisibilityTimeout": 1})]:
        refusal = refused(call, QueueUrl=queue, ReceiptHandle=garbage, **parameters)
        assert (refusal.code, refusal.status) == ("ReceiptHandleIsInvalid", 404)
        assert refusal.name == ("ReceiptHandleIsInvalid" if sqs.protocol == "json" else None)


def test_SMSG_17_a_handle_that_was_tampered_with(sqs, queue):
    """Any change of a handle is noticed, or at the least deletes nothing of others."""
    send(sqs, queue, "m")
    handle = receive_one(sqs, queue)["ReceiptHandle"]
    refused(sqs.delete_message, QueueUrl=queue, ReceiptHandle=handle[:-4])
    refused(sqs.delete_message, QueueUrl=queue, ReceiptHandle=handle + "AAAA")


MISSING = {
    "SendMessage": ["QueueUrl", "MessageBody"],
    "ReceiveMessage": ["QueueUrl"],
    "DeleteMessage": ["QueueUrl", "ReceiptHandle"],
    "ChangeMessageVisibility": ["QueueUrl", "ReceiptHandle", "VisibilityTimeout"],
    "DeleteQueue": ["QueueUrl"],
    "PurgeQueue": ["QueueUrl"],
    "GetQueueAttributes": ["QueueUrl"],
    "SetQueueAttributes": ["QueueUrl", "Attributes"],
    "TagQueue": ["QueueUrl", "Tags"],
    "UntagQueue": ["QueueUrl", "TagKeys"],
    "ListQueueTags": ["QueueUrl"],
    "CreateQueue": ["QueueName"],
    "GetQueueUrl": ["QueueName"],
}
WHOLE = {
    "MessageBody": "x",
    "VisibilityTimeout": 1,
    "Attributes": {"DelaySeconds": "0"},
    "Tags": {"a": "b"},
    "TagKeys": ["a"],
}


@pytest.mark.parametrize("operation, member", [(one, member) for one in MISSING for member in MISSING[one]])
def test_SERR_30_required_members(server, json_sqs, queue, operation, member):
    send(json_sqs, queue, "m")
    handle = receive_one(json_sqs, queue)["ReceiptHandle"]
    whole = WHOLE | {"QueueUrl": queue, "ReceiptHandle": handle, "QueueName": "x"}
    parameters = {name: whole[name] for name in MISSING[operation] if name != member}
    answer = raw.call(server, operation, **parameters)
    assert answer.status == 400
    assert answer.code == "MissingRequiredParameterException"
    assert answer.headers["x-amzn-query-error"] == "MissingParameter;Sender"
    assert answer.message == f"The request must contain the parameter {member}."


def test_batch_entries_need_their_members(sqs, queue):
    """An entry without its body or handle: the call or the entry fails, never the server."""
    for call, entry in [
        (sqs.send_message_batch, {"Id": "a"}),
        (sqs.delete_message_batch, {"Id": "a"}),
        (sqs.change_message_visibility_batch, {"Id": "a", "VisibilityTimeout": 1}),
    ]:
        try:
            answer = call(QueueUrl=queue, Entries=[entry])
        except sqs.exceptions.ClientError as error:
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 404)
        else:
            assert [one["Id"] for one in answer["Failed"]] == ["a"]
