"""What becomes of a message: sent, delayed, visible, in flight, deleted, expired."""

import pytest

from kit.clients import attributes, bodies, counts, receive, receive_one, refused, send

HOUR = 3_600
DAY = 24 * HOUR


def receive_count(message):
    return int(message["Attributes"]["ApproximateReceiveCount"])


class TestLife:
    def test_LIFE_01_visible_at_once(self, sqs, queue):
        send(sqs, queue, "hello")
        assert bodies(receive(sqs, queue)) == ["hello"]

    def test_LIFE_01_delayed(self, sqs, advance, queue):
        send(sqs, queue, "hello", DelaySeconds=5)
        assert receive(sqs, queue) == []
        advance(3)
        assert receive(sqs, queue) == []
        advance(3)
        assert bodies(receive(sqs, queue)) == ["hello"]

    def test_LIFE_02_each_receive_counts(self, sqs, advance, queue):
        send(sqs, queue, "hello")
        for expected in (1, 2, 3):
            message = receive_one(sqs, queue, system=["ApproximateReceiveCount"], VisibilityTimeout=1)
            assert receive_count(message) == expected
            advance(2)

    def test_LIFE_03_delete_ends_it(self, sqs, advance, queue):
        """GEN-06: and nothing brings it back."""
        send(sqs, queue, "hello")
        message = receive_one(sqs, queue, VisibilityTimeout=1)
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        advance(5)
        assert receive(sqs, queue) == []
        assert counts(sqs, queue) == (0, 0, 0)

    def test_LIFE_04_not_deleted_comes_back(self, sqs, advance, make_queue):
        url = make_queue(VisibilityTimeout="20")
        send(sqs, url, "hello")
        receive_one(sqs, url)
        advance(18)
        assert receive(sqs, url) == []
        advance(3)
        assert bodies(receive(sqs, url)) == ["hello"]

    def test_LIFE_05_two_consumers_can_hold_one_message(self, sqs, advance, queue):
        send(sqs, queue, "hello")
        first = receive_one(sqs, queue, VisibilityTimeout=1)
        advance(2)
        second = receive_one(sqs, queue)
        assert second["MessageId"] == first["MessageId"]
        assert second["ReceiptHandle"] != first["ReceiptHandle"]

    def test_LIFE_06_handles_change_with_every_receive(self, sqs, queue):
        send(sqs, queue, "hello")
        handles = {receive_one(sqs, queue, VisibilityTimeout=0)["ReceiptHandle"] for _ in range(5)}
        assert len(handles) == 5

    def test_LIFE_06_an_id_is_not_a_handle(self, sqs, queue):
        send(sqs, queue, "hello")
        message = receive_one(sqs, queue)
        refusal = refused(sqs.delete_message, QueueUrl=queue, ReceiptHandle=message["MessageId"])
        assert (refusal.code, refusal.status) == ("ReceiptHandleIsInvalid", 404)

    def test_LIFE_07_F055_a_superseded_handle(self, sqs, advance, queue):
        """Deleting with it succeeds and the message stays."""
        send(sqs, queue, "hello")
        first = receive_one(sqs, queue, VisibilityTimeout=1)
        advance(2)
        second = receive_one(sqs, queue, VisibilityTimeout=30)
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=first["ReceiptHandle"])
        assert counts(sqs, queue) == (0, 1, 0)
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=second["ReceiptHandle"])
        assert counts(sqs, queue) == (0, 0, 0)
        advance(31)
        assert receive(sqs, queue) == []

    def test_LIFE_08_fewer_than_asked_for(self, sqs, queue):
        send(sqs, queue, "a", "b", "c")
        assert sorted(bodies(receive(sqs, queue, count=10))) == ["a", "b", "c"]

    def test_LIFE_08_one_unless_asked_for_more(self, sqs, queue):
        send(sqs, queue, "a", "b")
        assert len(sqs.receive_message(QueueUrl=queue)["Messages"]) == 1

    def test_LIFE_14_heartbeat(self, sqs, advance, queue):
        """VIS-05: a worker that goes on asking keeps its message."""
        send(sqs, queue, "hello")
        message = receive_one(sqs, queue, VisibilityTimeout=30)
        for _ in range(5):
            advance(20)
            sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=30)
            assert receive(sqs, queue) == []

    def test_GEN_04_two_consumers_get_disjoint_messages(self, sqs, queue):
        sent = send(sqs, queue, *map(str, range(20)))
        one, two = receive(sqs, queue), receive(sqs, queue)
        ids = [message["MessageId"] for message in one + two]
        assert sorted(ids) == sorted(sent)

    def test_SMSG_26_oldest_first(self, sqs, queue):
        texts = [f"{index:03}" for index in range(50)]
        send(sqs, queue, *texts)
        seen = []
        while messages := receive(sqs, queue):
            seen += bodies(messages)
        assert seen == texts

    def test_SOP_06_delete_twice(self, sqs, queue):
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue)["ReceiptHandle"]
        for _ in range(2):
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle)

    def test_SMSG_18_delete_after_the_timeout(self, sqs, advance, queue):
        """Recorded: test_delete_after_visibility_timeout. Late, but nobody received it in between."""
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue, VisibilityTimeout=1)["ReceiptHandle"]
        advance(2)
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle)
        assert receive(sqs, queue) == []
        assert counts(sqs, queue) == (0, 0, 0)

    def test_SMSG_17_a_handle_belongs_to_its_queue(self, sqs, make_queue):
        one, two = make_queue(), make_queue()
        send(sqs, one, "hello")
        handle = receive_one(sqs, one)["ReceiptHandle"]
        refusal = refused(sqs.delete_message, QueueUrl=two, ReceiptHandle=handle)
        assert (refusal.code, refusal.status) == ("ReceiptHandleIsInvalid", 404)
        assert counts(sqs, one) == (0, 1, 0)

    def test_SMSG_17_handles_fit_in_1024_characters(self, sqs, queue):
        send(sqs, queue, "hello")
        assert 0 < len(receive_one(sqs, queue)["ReceiptHandle"]) <= 1024


class TestVisibility:
    def test_VIS_01_default_is_30_seconds(self, sqs, advance, queue):
        send(sqs, queue, "hello")
        receive_one(sqs, queue)
        advance(28)
        assert receive(sqs, queue) == []
        advance(3)
        assert bodies(receive(sqs, queue)) == ["hello"]

    @pytest.mark.parametrize("bad", [-1, 43_201])
    def test_VIS_01_range_of_a_receive(self, sqs, queue, bad):
        refusal = refused(sqs.receive_message, QueueUrl=queue, VisibilityTimeout=bad)
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert refusal.message.startswith(f"Value {bad} for parameter VisibilityTimeout is invalid.")

    @pytest.mark.parametrize("bad", [-1, 43_201])
    def test_VIS_01_range_of_a_change(self, sqs, queue, bad):
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue)["ReceiptHandle"]
        refusal = refused(sqs.change_message_visibility, QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=bad)
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert refusal.message.startswith(f"Value {bad} for parameter VisibilityTimeout is invalid.")

    def test_VIS_01_zero_leaves_it_visible(self, sqs, queue):
        send(sqs, queue, "hello")
        receive_one(sqs, queue, VisibilityTimeout=0)
        assert bodies(receive(sqs, queue)) == ["hello"]

    def test_VIS_02_a_change_counts_from_its_own_moment(self, sqs, advance, queue):
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue, VisibilityTimeout=300)["ReceiptHandle"]
        advance(50)
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=30)
        advance(28)
        assert receive(sqs, queue) == []
        advance(3)
        assert bodies(receive(sqs, queue)) == ["hello"]

    def test_VIS_02_a_change_can_prolong(self, sqs, advance, queue):
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue, VisibilityTimeout=10)["ReceiptHandle"]
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=300)
        advance(200)
        assert receive(sqs, queue) == []

    def test_VIS_03_F201_twelve_hours_from_the_receive(self, sqs, advance, queue):
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue, VisibilityTimeout=43_200)["ReceiptHandle"]
        advance(2)
        refusal = refused(sqs.change_message_visibility, QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=43_200)
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert "43200" in refusal.message
        # What is left of the twelve hours can be had.
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=43_100)

    def test_VIS_04_a_receive_overrides_the_queue(self, sqs, advance, queue):
        send(sqs, queue, "hello")
        receive_one(sqs, queue, VisibilityTimeout=120)
        advance(60)
        assert receive(sqs, queue) == []
        advance(61)
        # SOP-03: and it is not remembered.
        receive_one(sqs, queue)
        advance(31)
        assert bodies(receive(sqs, queue)) == ["hello"]

    def test_SOP_03_zero_releases_at_once(self, sqs, queue):
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue)["ReceiptHandle"]
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
        assert bodies(receive(sqs, queue)) == ["hello"]

    def test_SMSG_19_a_late_change_succeeds(self, sqs, advance, queue):
        """Recorded: test_change_message_visibility_after_visibility_timeout_expiration."""
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue, VisibilityTimeout=1)["ReceiptHandle"]
        advance(2)
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=30)

    def test_F060_SMSG_21_change_of_a_deleted_message(self, sqs, queue):
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue)["ReceiptHandle"]
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle)
        refusal = refused(sqs.change_message_visibility, QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=42)
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert "Reason: Message does not exist or is not available for visibility timeout change." in refusal.message

    def test_SERR_19_change_of_a_released_message(self, sqs, queue):
        """Chosen: a message that was given back (timeout 0) is not in flight for its old handle."""
        send(sqs, queue, "hello")
        handle = receive_one(sqs, queue)["ReceiptHandle"]
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
        refusal = refused(sqs.change_message_visibility, QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=30)
        assert refusal.code == "AWS.SimpleQueueService.MessageNotInflight"
        assert refusal.status == 400

    def test_a_change_of_the_queue_does_not_touch_messages_in_flight(self, sqs, advance, queue):
        send(sqs, queue, "hello")
        receive_one(sqs, queue)
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "600"})
        advance(31)
        assert bodies(receive(sqs, queue)) == ["hello"]


class TestRetentionAndDelay:
    def test_RET_02_expiry(self, sqs, advance, make_queue):
        """Received, in flight or never received: at its end the message is gone."""
        url = make_queue(MessageRetentionPeriod="60")
        send(sqs, url, "a", "b")
        receive(sqs, url, count=1, VisibilityTimeout=43_200)
        advance(58)
        assert counts(sqs, url) == (1, 1, 0)
        advance(3)
        assert counts(sqs, url) == (0, 0, 0)
        assert receive(sqs, url) == []

    def test_RET_01_default_is_four_days(self, sqs, advance, queue):
        send(sqs, queue, "hello")
        advance(4 * DAY - 5)
        assert bodies(receive(sqs, queue, VisibilityTimeout=0)) == ["hello"]
        advance(6)
        assert receive(sqs, queue) == []

    def test_RET_02_a_receive_does_not_renew(self, sqs, advance, make_queue):
        url = make_queue(MessageRetentionPeriod="60")
        send(sqs, url, "hello")
        advance(40)
        receive_one(sqs, url, VisibilityTimeout=0)
        advance(21)
        assert receive(sqs, url) == []

    def test_SATTR_08_a_shorter_period_expires_older_messages(self, sqs, advance, queue):
        send(sqs, queue, "old")
        advance(100)
        send(sqs, queue, "young")
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"MessageRetentionPeriod": "60"})
        assert bodies(receive(sqs, queue)) == ["young"]

    def test_SATTR_08_a_longer_period_keeps_them(self, sqs, advance, make_queue):
        url = make_queue(MessageRetentionPeriod="60")
        send(sqs, url, "hello")
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"MessageRetentionPeriod": "600"})
        advance(100)
        assert bodies(receive(sqs, url)) == ["hello"]

    def test_RET_03_delay_queue(self, sqs, advance, make_queue):
        url = make_queue(DelaySeconds="30")
        send(sqs, url, "hello")
        assert counts(sqs, url) == (0, 0, 1)
        advance(28)
        assert receive(sqs, url) == []
        advance(3)
        assert counts(sqs, url) == (1, 0, 0)
        assert bodies(receive(sqs, url)) == ["hello"]

    def test_RET_03_a_new_delay_is_for_new_messages(self, sqs, make_queue):
        """Source: SQS Developer Guide, Delay queues: for standard queues the setting is not retroactive."""
        url = make_queue(DelaySeconds="900")
        send(sqs, url, "delayed")
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "0"})
        send(sqs, url, "prompt")
        assert bodies(receive(sqs, url)) == ["prompt"]

    def test_RET_04_zero_overrides_the_queue(self, sqs, make_queue):
        url = make_queue(DelaySeconds="900")
        send(sqs, url, "prompt", DelaySeconds=0)
        assert bodies(receive(sqs, url)) == ["prompt"]

    @pytest.mark.parametrize("bad", [-1, 901])
    def test_RET_05_range(self, sqs, queue, bad):
        refusal = refused(sqs.send_message, QueueUrl=queue, MessageBody="x", DelaySeconds=bad)
        assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
        assert refusal.message.startswith(f"Value {bad} for parameter DelaySeconds is invalid.")
        assert counts(sqs, queue) == (0, 0, 0)

    def test_RET_05_longest_delay(self, sqs, advance, queue):
        send(sqs, queue, "hello", DelaySeconds=900)
        advance(898)
        assert receive(sqs, queue) == []
        advance(3)
        assert bodies(receive(sqs, queue)) == ["hello"]


def test_timestamps_of_a_delayed_message(sqs, advance, queue):
    """SentTimestamp is the moment of the send; ApproximateFirstReceiveTimestamp stays that of the first receive."""
    send(sqs, queue, "hello", DelaySeconds=100)
    advance(101)
    system = ["SentTimestamp", "ApproximateFirstReceiveTimestamp"]
    first = receive_one(sqs, queue, system=system, VisibilityTimeout=0)["Attributes"]
    waited = int(first["ApproximateFirstReceiveTimestamp"]) - int(first["SentTimestamp"])
    assert 101_000 <= waited < 111_000
    advance(50)
    assert receive_one(sqs, queue, system=system)["Attributes"] == first


def test_attributes_that_change_are_seen_at_once(sqs, queue):
    """SOP-20: AWS takes up to a minute; here the next call sees them."""
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "0"})
    send(sqs, queue, "hello")
    assert len(receive(sqs, queue)) == len(receive(sqs, queue)) == 1
    assert attributes(sqs, queue, "VisibilityTimeout") == {"VisibilityTimeout": "0"}
