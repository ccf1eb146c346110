"""Queue attributes: defaults, ranges, what can be set, what is refused."""

import json
import re

import pytest

from kit.clients import attributes, counts, receive, refused, send

DEFAULTS = {
    "ApproximateNumberOfMessages": "0",
    "ApproximateNumberOfMessagesDelayed": "0",
    "ApproximateNumberOfMessagesNotVisible": "0",
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "SqsManagedSseEnabled": "true",
    "VisibilityTimeout": "30",
}


def test_F034_SATTR_21_a_fresh_queue_has_twelve_attributes(sqs, queue):
    has = attributes(sqs, queue)
    assert set(has) == set(DEFAULTS) | {"CreatedTimestamp", "LastModifiedTimestamp", "QueueArn"}
    assert {name: has[name] for name in DEFAULTS} == DEFAULTS


def test_SATTR_04_timestamps_are_whole_seconds(sqs, queue):
    has = attributes(sqs, queue, "CreatedTimestamp", "LastModifiedTimestamp")
    for value in has.values():
        assert re.fullmatch(r"\d{10}", value)


def test_SATTR_04_a_change_moves_last_modified(sqs, advance, queue):
    before = attributes(sqs, queue)
    advance(10)
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "31"})
    after = attributes(sqs, queue)
    assert after["CreatedTimestamp"] == before["CreatedTimestamp"]
    assert int(after["LastModifiedTimestamp"]) >= int(before["LastModifiedTimestamp"]) + 10


def test_SATTR_05_arn(sqs, queue):
    account, name = queue.split("/")[-2:]
    assert attributes(sqs, queue, "QueueArn") == {"QueueArn": f"arn:aws:sqs:us-east-1:{account}:{name}"}


def test_SOP_09_only_what_is_asked_for(sqs, queue):
    assert attributes(sqs, queue, "VisibilityTimeout", "DelaySeconds") == {
        "VisibilityTimeout": "30",
        "DelaySeconds": "0",
    }
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=queue)
    # Known to AWS, not set on this queue.
    assert attributes(sqs, queue, "Policy") == {}


def test_SOP_09_unknown_name(sqs, queue):
    refusal = refused(sqs.get_queue_attributes, QueueUrl=queue, AttributeNames=["Nonsense"])
    assert (refusal.code, refusal.status) == ("InvalidAttributeName", 400)
    assert refusal.message == "Unknown Attribute Nonsense."


def test_SATTR_01_02_03_counts(sqs, queue):
    send(sqs, queue, "a", "b", "c")
    send(sqs, queue, "later", DelaySeconds=60)
    receive(sqs, queue, count=1)
    assert counts(sqs, queue) == (2, 1, 1)


def test_create_and_update(sqs, make_queue):
    """Recorded: test_create_and_update_queue_attributes. SOP-20: an update is partial."""
    url = make_queue(MessageRetentionPeriod="604800", ReceiveMessageWaitTimeSeconds="10", VisibilityTimeout="20")
    sqs.set_queue_attributes(
        QueueUrl=url, Attributes={"DelaySeconds": "420", "MaximumMessageSize": "2048", "VisibilityTimeout": "69"}
    )
    has = attributes(sqs, url)
    expected = DEFAULTS | {
        "DelaySeconds": "420",
        "MaximumMessageSize": "2048",
        "MessageRetentionPeriod": "604800",
        "ReceiveMessageWaitTimeSeconds": "10",
        "VisibilityTimeout": "69",
    }
    assert {name: has[name] for name in expected} == expected


# SATTR-06 to SATTR-10, VIS-01, RET-01, RET-03, POLL-02, F033, F040: lowest and highest value that is allowed.
RANGES = {
    "DelaySeconds": (0, 900),
    "MaximumMessageSize": (1024, 1_048_576),
    "MessageRetentionPeriod": (60, 1_209_600),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "VisibilityTimeout": (0, 43_200),
}


@pytest.mark.parametrize("attribute", RANGES)
def test_F033_F040_SERR_08_ranges(sqs, queue, name, attribute):
    low, high = RANGES[attribute]
    for good in (low, high):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={attribute: str(good)})
        assert attributes(sqs, queue, attribute) == {attribute: str(good)}
    for bad in (low - 1, high + 1, "abc", "1.5", "99999999999999999999"):
        for call, parameters in [
            (sqs.set_queue_attributes, {"QueueUrl": queue}),
            (sqs.create_queue, {"QueueName": name + "-bad"}),
        ]:
            refusal = refused(call, Attributes={attribute: str(bad)}, **parameters)
            assert (refusal.code, refusal.status) == ("InvalidAttributeValue", 400), bad
            assert refusal.message.startswith(f"Invalid value for the parameter {attribute}."), bad
    assert attributes(sqs, queue, attribute) == {attribute: str(high)}


@pytest.mark.parametrize(
    "attribute",
    [
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesDelayed",
        "ApproximateNumberOfMessagesNotVisible",
        "CreatedTimestamp",
        "LastModifiedTimestamp",
        "QueueArn",
    ],
)
def test_SATTR_01_to_05_are_read_only(sqs, queue, attribute):
    refusal = refused(sqs.set_queue_attributes, QueueUrl=queue, Attributes={attribute: "1"})
    assert (refusal.code, refusal.status) == ("InvalidAttributeName", 400)


def test_SERR_07_unknown_attribute(sqs, queue, name):
    for call, parameters in [
        (sqs.set_queue_attributes, {"QueueUrl": queue}),
        (sqs.create_queue, {"QueueName": name + "-bad"}),
    ]:
        refusal = refused(call, Attributes={"Nonsense": "1"}, **parameters)
        assert (refusal.code, refusal.status) == ("InvalidAttributeName", 400)
        assert refusal.message == "Unknown Attribute Nonsense."


def test_a_refused_change_changes_nothing(sqs, queue):
    before = attributes(sqs, queue)
    refused(sqs.set_queue_attributes, QueueUrl=queue, Attributes={"DelaySeconds": "7", "VisibilityTimeout": "43201"})
    assert attributes(sqs, queue) == before


class TestFifoAttributesOnAStandardQueue:
    """SATTR-17 to SATTR-20. Recorded: test_create_standard_queue_with_fifo_attribute_raises_error,
    test_set_unsupported_attribute_standard."""

    @pytest.mark.parametrize(
        "attribute, value, message",
        [
            ("ContentBasedDeduplication", "false", "Unknown Attribute ContentBasedDeduplication."),
            (
                "DeduplicationScope",
                "queue",
                "You can specify the DeduplicationScope only when FifoQueue is set to true.",
            ),
            (
                "FifoThroughputLimit",
                "perQueue",
                "You can specify the FifoThroughputLimit only when FifoQueue is set to true.",
            ),
            ("FifoQueue", "false", "Unknown Attribute FifoQueue."),
        ],
    )
    def test_at_creation(self, sqs, name, attribute, value, message):
        refusal = refused(sqs.create_queue, QueueName=name, Attributes={attribute: value})
        assert (refusal.code, refusal.message) == ("InvalidAttributeName", message)

    @pytest.mark.parametrize("value", ["true", "false"])
    def test_set_later(self, sqs, queue, value):
        refusal = refused(sqs.set_queue_attributes, QueueUrl=queue, Attributes={"FifoQueue": value})
        assert (refusal.code, refusal.message) == ("InvalidAttributeName", "Unknown Attribute FifoQueue.")


POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Sid": "s", "Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}],
}


class TestPolicy:
    """SATTR-11."""

    def test_F037_set_read_clear(self, sqs, queue):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": json.dumps(POLICY)})
        assert json.loads(attributes(sqs, queue, "Policy")["Policy"]) == POLICY
        assert "Policy" in attributes(sqs, queue)
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": ""})
        assert "Policy" not in attributes(sqs, queue)

    @pytest.mark.parametrize("bad", ["{", "not json", "[]", "1"])
    def test_not_a_policy(self, sqs, queue, bad):
        refusal = refused(sqs.set_queue_attributes, QueueUrl=queue, Attributes={"Policy": bad})
        assert (refusal.code, refusal.status) == ("InvalidAttributeValue", 400)
        assert refusal.message == "Invalid value for the parameter Policy."

    def test_too_long(self, sqs, queue):
        long = json.dumps(POLICY | {"Id": "x" * 8192})
        assert (
            refused(sqs.set_queue_attributes, QueueUrl=queue, Attributes={"Policy": long}).code
            == "InvalidAttributeValue"
        )


class TestEncryption:
    """SATTR-14 to SATTR-16: kept and answered as AWS does."""

    def test_sse_attributes(self, sqs, queue):
        """Recorded: test_sse_queue_attributes, test_set_queue_attributes_default_values."""
        names = ("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled")
        sqs.set_queue_attributes(
            QueueUrl=queue, Attributes={"KmsMasterKeyId": "testKeyId", "KmsDataKeyReusePeriodSeconds": "6000"}
        )
        assert attributes(sqs, queue, *names) == {
            "KmsMasterKeyId": "testKeyId",
            "KmsDataKeyReusePeriodSeconds": "6000",
            "SqsManagedSseEnabled": "false",
        }
        sqs.set_queue_attributes(
            QueueUrl=queue, Attributes={"KmsMasterKeyId": "", "KmsDataKeyReusePeriodSeconds": "300"}
        )
        has = attributes(sqs, queue)
        assert has["SqsManagedSseEnabled"] == "false"
        assert not {"KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"} & set(has)

    def test_F039_one_kind_at_a_time(self, sqs, queue):
        before = attributes(sqs, queue)
        refusal = refused(
            sqs.set_queue_attributes,
            QueueUrl=queue,
            Attributes={"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "true"},
        )
        assert (refusal.code, refusal.status) == ("InvalidAttributeName", 400)
        assert refusal.message == (
            "You can use one type of server-side encryption (SSE) at one time. "
            "You can either enable KMS SSE or SQS SSE."
        )
        assert attributes(sqs, queue) == before

    @pytest.mark.parametrize("bad", ["59", "86401"])
    def test_reuse_period_range(self, sqs, queue, bad):
        refusal = refused(sqs.set_queue_attributes, QueueUrl=queue, Attributes={"KmsDataKeyReusePeriodSeconds": bad})
        assert refusal.code == "InvalidAttributeValue"

    def test_sse_sqs_off_and_on(self, sqs, queue):
        for value in ("false", "true"):
            sqs.set_queue_attributes(QueueUrl=queue, Attributes={"SqsManagedSseEnabled": value})
            assert attributes(sqs, queue, "SqsManagedSseEnabled") == {"SqsManagedSseEnabled": value}
