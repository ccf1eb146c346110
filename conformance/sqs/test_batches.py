"""SendMessageBatch, DeleteMessageBatch, ChangeMessageVisibilityBatch."""

import pytest

from kit.clients import binary, bodies, counts, number, receive, receive_one, refused, send, text
from kit.digest import md5, md5_of_attributes

MIB = 1_048_576
PREFIX = "AWS.SimpleQueueService."


def entry(operation, id, handle="handle"):
    return {
        "send_message_batch": {"Id": id, "MessageBody": f"body of {id}"},
        "delete_message_batch": {"Id": id, "ReceiptHandle": handle},
        "change_message_visibility_batch": {"Id": id, "ReceiptHandle": handle, "VisibilityTimeout": 60},
    }[operation]


@pytest.fixture(params=["send_message_batch", "delete_message_batch", "change_message_visibility_batch"])
def operation(request):
    return request.param


def ids(entries):
    return sorted(one["Id"] for one in entries)


class TestStructure:
    """SMSG-22, SMSG-23: what is wrong with the batch as a whole fails the call. SERR-01 to SERR-05."""

    def check(self, sqs, queue, operation, entries, code, message=None):
        refusal = refused(getattr(sqs, operation), QueueUrl=queue, Entries=entries)
        assert (refusal.code, refusal.status) == (PREFIX + code, 400)
        assert refusal.name == (code if sqs.protocol == "json" else None)
        if message is not None:
            assert refusal.message == message
        assert counts(sqs, queue) == (0, 0, 0)

    @pytest.mark.parametrize("count", [11, 15, 20])
    def test_F091_F003_too_many(self, sqs, queue, operation, count):
        """Recorded: test_too_many_entries_in_batch_request and two more."""
        entries = [entry(operation, str(index)) for index in range(count)]
        message = f"Maximum number of entries per request are 10. You have sent {count}."
        self.check(sqs, queue, operation, entries, "TooManyEntriesInBatchRequest", message)

    def test_F092_F003_same_id_twice(self, sqs, queue, operation):
        entries = [entry(operation, id) for id in ("a", "b", "a")]
        self.check(sqs, queue, operation, entries, "BatchEntryIdsNotDistinct")

    def test_F003_no_entries(self, json_sqs, queue, operation):
        self.check(json_sqs, queue, operation, [], "EmptyBatchRequest")

    def test_F003_no_entries_in_query(self, query_sqs, queue, operation):
        """A list without members leaves no trace in a form."""
        self.check(query_sqs, queue, operation, [], "EmptyBatchRequest")

    @pytest.mark.parametrize("bad", ["", "invalid:id", "testLongId" * 10, "a b", "ü", "a.b"])
    def test_SERR_05_bad_id(self, sqs, queue, operation, bad):
        """Recorded: test_invalid_batch_id, test_delete_message_batch_invalid_msg_id."""
        message = (
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
            "It can be at most 80 letters long."
        )
        self.check(sqs, queue, operation, [entry(operation, bad)], "InvalidBatchEntryId", message)

    @pytest.mark.parametrize("good", ["a" * 80, "A-b_9"])
    def test_SMSG_22_good_ids(self, sqs, queue, good):
        answer = sqs.send_message_batch(QueueUrl=queue, Entries=[entry("send_message_batch", good)])
        assert ids(answer["Successful"]) == [good]

    def test_of_no_queue(self, sqs, queue, operation):
        refusal = refused(getattr(sqs, operation), QueueUrl=queue + "-missing", Entries=[entry(operation, "a")])
        assert refusal.code == PREFIX + "NonExistentQueue"


class TestSend:
    def test_LIFE_10_ten_messages(self, sqs, queue):
        entries = [entry("send_message_batch", str(index)) for index in range(10)]
        answer = sqs.send_message_batch(QueueUrl=queue, Entries=entries)
        assert "Failed" not in answer
        assert [one["Id"] for one in answer["Successful"]] == [str(index) for index in range(10)]
        by_id = {one["MessageId"]: one for one in answer["Successful"]}
        messages = receive(sqs, queue)
        assert len(messages) == 10
        for message in messages:
            sent = by_id[message["MessageId"]]
            assert message["Body"] == f"body of {sent['Id']}"
            assert message["MD5OfBody"] == sent["MD5OfMessageBody"] == md5(message["Body"])

    def test_SOP_19_each_entry_has_its_own_attributes_and_delay(self, sqs, advance, queue):
        given = {"t": text("v"), "n": number("1"), "b": binary(b"\x00\xff")}
        answer = sqs.send_message_batch(
            QueueUrl=queue,
            Entries=[
                {"Id": "plain", "MessageBody": "plain"},
                {"Id": "rich", "MessageBody": "rich", "MessageAttributes": given},
                {"Id": "late", "MessageBody": "late", "DelaySeconds": 60},
            ],
        )
        digests = {one["Id"]: one.get("MD5OfMessageAttributes") for one in answer["Successful"]}
        assert digests == {"plain": None, "rich": md5_of_attributes(given), "late": None}
        assert bodies(receive(sqs, queue, count=1, VisibilityTimeout=600)) == ["plain"]
        rich = receive_one(sqs, queue, names=["All"], VisibilityTimeout=600)
        assert rich["MessageAttributes"] == given
        advance(61)
        assert bodies(receive(sqs, queue)) == ["late"]

    def test_SERR_02_too_long_as_a_whole(self, sqs, queue):
        """Recorded: test_send_message_batch_with_oversized_contents."""
        half = MIB // 2
        entries = [{"Id": "1", "MessageBody": "x" * half}, {"Id": "2", "MessageBody": "x" * (half + 1)}]
        refusal = refused(sqs.send_message_batch, QueueUrl=queue, Entries=entries)
        assert (refusal.code, refusal.status) == (PREFIX + "BatchRequestTooLong", 400)
        assert refusal.message == "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."
        assert counts(sqs, queue) == (0, 0, 0)

    def test_SOP_19_exactly_the_limit(self, sqs, queue):
        half = MIB // 2
        entries = [{"Id": str(index), "MessageBody": "x" * half} for index in range(2)]
        assert len(sqs.send_message_batch(QueueUrl=queue, Entries=entries)["Successful"]) == 2

    def test_SERR_02_attributes_count(self, sqs, queue):
        entries = [{"Id": "1", "MessageBody": "x" * (MIB - 8), "MessageAttributes": {"ab": text("c")}}]
        refusal = refused(sqs.send_message_batch, QueueUrl=queue, Entries=entries)
        assert refusal.code in (PREFIX + "BatchRequestTooLong", "InvalidParameterValue")
        assert "1048576" in refusal.message

    def test_SMSG_23_one_entry_over_the_queue_s_limit(self, sqs, make_queue):
        """Recorded: test_send_batch_message_size."""
        url = make_queue(MaximumMessageSize="1024")
        entries = [{"Id": "big", "MessageBody": "x" * 1025}, {"Id": "fits", "MessageBody": "x" * 1024}]
        answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
        assert answer["Failed"] == [
            {
                "Id": "big",
                "SenderFault": True,
                "Code": "InvalidParameterValue",
                "Message": "One or more parameters cannot be validated. "
                "Reason: Message must be shorter than 1024 bytes.",
            }
        ]
        assert ids(answer["Successful"]) == ["fits"]
        assert len(receive(sqs, url)) == 1

    BAD_ENTRIES = {
        "forbidden character": ({"MessageBody": "\x01"}, "InvalidMessageContents"),
        "delay out of range": ({"MessageBody": "x", "DelaySeconds": 901}, "InvalidParameterValue"),
        "empty attribute": ({"MessageBody": "x", "MessageAttributes": {"a": text("")}}, "InvalidParameterValue"),
        "unknown type": (
            {"MessageBody": "x", "MessageAttributes": {"a": {"DataType": "Foo", "StringValue": "v"}}},
            "InvalidParameterValue",
        ),
        "group id": ({"MessageBody": "x", "MessageGroupId": "a b"}, "InvalidParameterValue"),
    }

    @pytest.mark.parametrize("case", BAD_ENTRIES)
    def test_SMSG_23_one_bad_message_fails_alone(self, sqs, queue, case):
        bad, code = self.BAD_ENTRIES[case]
        entries = [{"Id": "bad"} | bad, {"Id": "good", "MessageBody": "good"}]
        answer = sqs.send_message_batch(QueueUrl=queue, Entries=entries)
        assert [(one["Id"], one["Code"], one["SenderFault"]) for one in answer["Failed"]] == [("bad", code, True)]
        assert ids(answer["Successful"]) == ["good"]
        assert bodies(receive(sqs, queue)) == ["good"]

    def test_all_entries_may_fail(self, sqs, queue):
        answer = sqs.send_message_batch(QueueUrl=queue, Entries=[{"Id": "bad", "MessageBody": "\x01"}])
        assert "Successful" not in answer
        assert ids(answer["Failed"]) == ["bad"]


class TestDelete:
    def test_ten(self, sqs, queue):
        send(sqs, queue, *"abcdefghij")
        entries = [
            {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
            for index, message in enumerate(receive(sqs, queue))
        ]
        answer = sqs.delete_message_batch(QueueUrl=queue, Entries=entries)
        assert ids(answer["Successful"]) == ids(entries)
        assert "Failed" not in answer
        assert counts(sqs, queue) == (0, 0, 0)

    def test_SOP_07_one_bad_handle(self, sqs, queue):
        send(sqs, queue, "m")
        handle = receive_one(sqs, queue)["ReceiptHandle"]
        answer = sqs.delete_message_batch(
            QueueUrl=queue,
            Entries=[{"Id": "bad", "ReceiptHandle": "garbage"}, {"Id": "good", "ReceiptHandle": handle}],
        )
        [failed] = answer["Failed"]
        assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("bad", "ReceiptHandleIsInvalid", True)
        assert ids(answer["Successful"]) == ["good"]
        assert counts(sqs, queue) == (0, 0, 0)

    def test_the_same_handle_twice(self, sqs, queue):
        send(sqs, queue, "m")
        handle = receive_one(sqs, queue)["ReceiptHandle"]
        answer = sqs.delete_message_batch(
            QueueUrl=queue, Entries=[{"Id": "1", "ReceiptHandle": handle}, {"Id": "2", "ReceiptHandle": handle}]
        )
        assert ids(answer["Successful"]) == ["1", "2"]

    def test_F092_a_refused_batch_deletes_nothing(self, sqs, queue):
        send(sqs, queue, "a", "b")
        entries = [{"Id": "a", "ReceiptHandle": message["ReceiptHandle"]} for message in receive(sqs, queue)]
        assert len(entries) == 2
        refusal = refused(sqs.delete_message_batch, QueueUrl=queue, Entries=entries)
        assert refusal.code == PREFIX + "BatchEntryIdsNotDistinct"
        assert counts(sqs, queue) == (0, 2, 0)


class TestChangeVisibility:
    def test_SOP_04_each_entry_has_its_own_timeout(self, sqs, advance, queue):
        send(sqs, queue, "now", "soon", "late")
        timeouts = {"now": 0, "soon": 60, "late": 600}
        entries = [
            {"Id": one["Body"], "ReceiptHandle": one["ReceiptHandle"], "VisibilityTimeout": timeouts[one["Body"]]}
            for one in receive(sqs, queue)
        ]
        answer = sqs.change_message_visibility_batch(QueueUrl=queue, Entries=entries)
        assert ids(answer["Successful"]) == sorted(timeouts)
        assert bodies(receive(sqs, queue, VisibilityTimeout=43_200)) == ["now"]
        advance(61)
        assert bodies(receive(sqs, queue, VisibilityTimeout=43_200)) == ["soon"]
        advance(540)
        assert bodies(receive(sqs, queue)) == ["late"]

    def test_SOP_04_mixed_result(self, sqs, queue):
        send(sqs, queue, "a", "b")
        good, too_long = (message["ReceiptHandle"] for message in receive(sqs, queue))
        answer = sqs.change_message_visibility_batch(
            QueueUrl=queue,
            Entries=[
                {"Id": "garbage", "ReceiptHandle": "garbage", "VisibilityTimeout": 1},
                {"Id": "good", "ReceiptHandle": good, "VisibilityTimeout": 0},
                {"Id": "too-long", "ReceiptHandle": too_long, "VisibilityTimeout": 43_201},
            ],
        )
        failed = {one["Id"]: (one["Code"], one["SenderFault"]) for one in answer["Failed"]}
        assert failed == {"garbage": ("ReceiptHandleIsInvalid", True), "too-long": ("InvalidParameterValue", True)}
        assert ids(answer["Successful"]) == ["good"]
        assert len(receive(sqs, queue)) == 1
