"""Short and long polls: the waiting side of ReceiveMessage (SOP-16)."""

import threading
import time

import pytest
from botocore.config import Config

from kit import raw
from kit.clients import bodies, client, receive, refused, send

PROMPT_SECONDS = 0.1
# Long enough for a request to reach the server and wait there.
SETTLE_SECONDS = 0.15


class Poll:
    """A long poll under way on a connection of its own."""

    def __init__(self, server, queue, seconds=20, **parameters):
        self.connection = raw.Connection(server, timeout=30)
        self.started = time.monotonic()
        self.connection.send(
            raw.json_request(
                self.connection.host, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=seconds, **parameters
            )
        )

    def is_waiting(self):
        return self.connection.is_silent(SETTLE_SECONDS)

    def messages(self):
        answer = self.connection.answer()
        assert answer.status == 200, answer.body
        return answer.json().get("Messages", [])

    def hang_up(self):
        self.connection.close()


def test_POLL_01_an_empty_queue_answers_at_once(sqs, queue):
    """PROTO-15: without a member for messages. Recorded: test_receive_empty_queue."""
    started = time.monotonic()
    answer = sqs.receive_message(QueueUrl=queue)
    assert time.monotonic() - started < PROMPT_SECONDS
    assert "Messages" not in answer


@pytest.mark.parametrize("bad", [21, -1])
def test_F033_POLL_02_range(sqs, queue, bad):
    """Recorded: test_send_receive_wait_time_seconds."""
    started = time.monotonic()
    refusal = refused(sqs.receive_message, QueueUrl=queue, WaitTimeSeconds=bad)
    assert time.monotonic() - started < PROMPT_SECONDS
    assert (refusal.code, refusal.status) == ("InvalidParameterValue", 400)
    assert refusal.message == (
        f"Value {bad} for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."
    )


def test_POLL_02_a_long_poll_answers_what_is_there(sqs, queue):
    send(sqs, queue, "there")
    started = time.monotonic()
    assert bodies(receive(sqs, queue, WaitTimeSeconds=20)) == ["there"]
    assert time.monotonic() - started < PROMPT_SECONDS


def test_POLL_07_a_send_wakes_it(server, json_sqs, queue):
    poll = Poll(server, queue)
    assert poll.is_waiting()
    started = time.monotonic()
    send(json_sqs, queue, "hello")
    assert bodies(poll.messages()) == ["hello"]
    assert time.monotonic() - started < PROMPT_SECONDS


def test_a_send_batch_wakes_it(server, json_sqs, queue):
    poll = Poll(server, queue, MaxNumberOfMessages=10)
    assert poll.is_waiting()
    json_sqs.send_message_batch(
        QueueUrl=queue, Entries=[{"Id": str(index), "MessageBody": str(index)} for index in range(3)]
    )
    assert bodies(poll.messages()) == ["0", "1", "2"]


@pytest.mark.parametrize("wait", [1, 20])
def test_POLL_02_it_ends_when_time_is_up(server, advance, queue, wait):
    poll = Poll(server, queue, seconds=wait)
    assert poll.is_waiting()
    advance(wait)
    assert poll.messages() == []
    assert time.monotonic() - poll.started < max(1.0, SETTLE_SECONDS + 1)


def test_POLL_02_it_does_not_end_before(server, advance, queue):
    poll = Poll(server, queue, seconds=20)
    assert poll.is_waiting()
    advance(15)
    assert poll.is_waiting()
    advance(6)
    assert poll.messages() == []


def test_POLL_02_by_the_real_clock(own_server):
    started = own_server(test_clock=False)
    sqs = client(started.endpoint)
    queue = sqs.create_queue(QueueName="q")["QueueUrl"]
    before = time.monotonic()
    assert "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=1)
    assert 0.95 <= time.monotonic() - before < 1.5


def test_POLL_04_twenty_seconds_by_the_real_clock(own_server):
    """F098: with the timeouts that boto3 has unless told otherwise. The one test that takes its time."""
    started = own_server(test_clock=False)
    sqs = client(started.endpoint, config=Config())
    queue = sqs.create_queue(QueueName="q")["QueueUrl"]
    before = time.monotonic()
    assert "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20, MaxNumberOfMessages=10)
    assert 19.9 <= time.monotonic() - before < 21
    send(sqs, queue, "same connection")


def test_POLL_03_the_queue_s_default_and_the_call_s_own(server, advance, sqs, make_queue):
    url = make_queue(ReceiveMessageWaitTimeSeconds="20")
    started = time.monotonic()
    assert receive(sqs, url, WaitTimeSeconds=0) == []
    assert time.monotonic() - started < PROMPT_SECONDS
    with raw.Connection(server, timeout=30) as connection:
        connection.send(raw.json_request(connection.host, "ReceiveMessage", QueueUrl=url))
        assert connection.is_silent(SETTLE_SECONDS)
        advance(20)
        assert connection.answer().json() == {}


def test_a_passed_delay_wakes_it(server, json_sqs, advance, queue):
    send(json_sqs, queue, "later", DelaySeconds=10)
    poll = Poll(server, queue)
    assert poll.is_waiting()
    advance(11)
    assert bodies(poll.messages()) == ["later"]


def test_a_passed_visibility_timeout_wakes_it(server, json_sqs, advance, queue):
    send(json_sqs, queue, "again")
    receive(json_sqs, queue, VisibilityTimeout=10)
    poll = Poll(server, queue)
    assert poll.is_waiting()
    advance(11)
    assert bodies(poll.messages()) == ["again"]


def test_a_delay_passes_by_the_real_clock(server, json_sqs, queue):
    """VIS-07: within a second, also where nothing else happens on the server."""
    send(json_sqs, queue, "later", DelaySeconds=1)
    poll = Poll(server, queue)
    assert bodies(poll.messages()) == ["later"]
    assert 0.8 <= time.monotonic() - poll.started < 1.5


def test_a_released_message_wakes_it(server, json_sqs, queue):
    send(json_sqs, queue, "again")
    [message] = receive(json_sqs, queue)
    poll = Poll(server, queue)
    assert poll.is_waiting()
    json_sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    assert bodies(poll.messages()) == ["again"]


def test_first_come_first_served(server, json_sqs, queue):
    """Whoever has waited longest is served first."""
    polls = []
    for _ in range(5):
        polls.append(Poll(server, queue))
        assert polls[-1].is_waiting()
    for index in range(5):
        send(json_sqs, queue, str(index))
    assert [bodies(poll.messages()) for poll in polls] == [[str(index)] for index in range(5)]


def test_one_message_wakes_one_of_many(server, json_sqs, advance, queue):
    polls = [Poll(server, queue, VisibilityTimeout=600) for _ in range(20)]
    assert polls[-1].is_waiting()
    send(json_sqs, queue, "one")
    advance(20)
    answers = [poll.messages() for poll in polls]
    assert sum(len(answer) for answer in answers) == 1


def test_F097_a_killed_client_hides_nothing(server, json_sqs, make_queue):
    """Observed on AWS: the message may go to the dead poll. Here it goes to the next one at once."""
    queue = make_queue(VisibilityTimeout="43200")
    poll = Poll(server, queue)
    assert poll.is_waiting()
    poll.hang_up()
    time.sleep(SETTLE_SECONDS)
    send(json_sqs, queue, "m")
    started = time.monotonic()
    [message] = receive(json_sqs, queue, WaitTimeSeconds=10, system=["ApproximateReceiveCount"])
    assert message["Body"] == "m"
    assert message["Attributes"]["ApproximateReceiveCount"] in ("1", "2")
    assert time.monotonic() - started < 1


def test_F097_many_killed_clients_hide_nothing(server, json_sqs, make_queue):
    queue = make_queue(VisibilityTimeout="43200")
    polls = [Poll(server, queue) for _ in range(50)]
    assert polls[-1].is_waiting()
    for poll in polls:
        poll.hang_up()
    time.sleep(SETTLE_SECONDS)
    texts = [str(index) for index in range(20)]
    send(json_sqs, queue, *texts)
    seen = []
    while messages := receive(json_sqs, queue):
        seen += bodies(messages)
    assert sorted(seen) == sorted(texts)


def test_F098_the_connection_serves_on_after_an_empty_poll(server, advance, queue):
    with raw.Connection(server, timeout=30) as connection:
        connection.send(
            raw.json_request(
                connection.host, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20, MaxNumberOfMessages=10
            )
        )
        assert connection.is_silent(SETTLE_SECONDS)
        advance(21)
        assert (connection.answer().status, connection.call("ListQueues").status) == (200, 200)


def test_a_deleted_queue_ends_its_polls(server, json_sqs, queue):
    poll = Poll(server, queue)
    assert poll.is_waiting()
    json_sqs.delete_queue(QueueUrl=queue)
    answer = poll.connection.answer()
    assert answer.status in (200, 400)
    if answer.status == 400:
        assert answer.code == "QueueDoesNotExist"


def test_polls_of_other_queues_stay_asleep(server, json_sqs, make_queue):
    one, other = make_queue(), make_queue()
    poll = Poll(server, one)
    assert poll.is_waiting()
    send(json_sqs, other, "not for you")
    assert poll.is_waiting()
    send(json_sqs, one, "for you")
    assert bodies(poll.messages()) == ["for you"]


def test_many_pollers_and_senders_lose_and_double_nothing(clients, queue):
    """LIFE-08, POLL-02: eight consumers that poll and delete, against two senders."""
    sqs, total = clients["json"], 200
    seen, failures, lock = [], [], threading.Lock()

    def consume():
        try:
            while True:
                with lock:
                    if len(seen) >= total:
                        return
                for message in receive(sqs, queue, WaitTimeSeconds=1, VisibilityTimeout=600):
                    with lock:
                        seen.append(message["Body"])
                    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        except Exception as error:  # noqa: BLE001 - reported by the main thread
            failures.append(error)

    def produce(first):
        for index in range(first, total, 2):
            sqs.send_message(QueueUrl=queue, MessageBody=str(index))

    threads = [threading.Thread(target=consume) for _ in range(8)]
    threads += [threading.Thread(target=produce, args=(first,)) for first in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert failures == []
    assert sorted(seen, key=int) == [str(index) for index in range(total)]


def test_shutdown_ends_polls_cleanly(own_server):
    """In-flight requests end and long polls return before the process does."""
    started = own_server()
    queue = client(started.endpoint).create_queue(QueueName="q")["QueueUrl"]
    poll = Poll(started, queue)
    assert poll.is_waiting()
    before = time.monotonic()
    assert started.stop() == 0
    assert poll.messages() == []
    assert time.monotonic() - before < 5
