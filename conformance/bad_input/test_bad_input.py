"""Every row of the table gets its answer, and afterwards the server is as well as before."""

import socket

import pytest

from bad_input.table import fill, rows
from kit import raw
from kit.clients import bodies, client, receive, send
from kit.server import Server

MIB = 1_048_576
# How many runs of the table are looked at together.
RUNS = 4
# How much more memory may be in use after 5 * RUNS runs than after the first few: a leak of 3 KB a request is more.
GROWTH_BYTES_MAX = 12 * MIB
# The largest body is 8 MiB, and one client sends one request at a time.
MEMORY_BYTES_MAX = 64 * MIB


@pytest.fixture(scope="module")
def target():
    """A server and a queue on it."""
    # So that memory that was freed is no longer counted: the allocator would keep it for a while.
    server = Server(environment={"MIMALLOC_PURGE_DELAY": "0"})
    yield server, client(server.endpoint).create_queue(QueueName="target")["QueueUrl"]
    server.close()


def exchange(server, queue, data, expected):
    """Sends a row; returns the answer, or None where the server closed the connection without one."""
    with raw.Connection(server, timeout=20) as connection:
        try:
            connection.send(fill(data, connection.host, queue))
            if expected.half_close:
                connection.socket.shutdown(socket.SHUT_WR)
        except OSError:
            # It was refused before the last byte; the reason may still be there to read.
            pass
        try:
            return connection.answer(has_body=not expected.head)
        except raw.Closed:
            return None


@pytest.mark.parametrize("name, data, expected", [pytest.param(*row, id=row[0]) for row in rows()])
def test_bad_request(target, name, data, expected):
    server, queue = target
    answer = exchange(server, queue, data, expected)
    assert server.is_alive(), server.log()[-5000:]
    if answer is None:
        assert expected.hang_up, "closed without an answer"
        return
    assert answer.status in expected.statuses, answer.body[:300]
    if expected.codes and answer.status != 200:
        assert answer.code in expected.codes, answer.body[:300]
    assert b"<html" not in answer.body.lower()
    assert len(answer.body) < 10_000, "an error does not repeat the request"


def test_the_table_is_large():
    assert len(rows()) >= 150


def test_afterwards_the_server_is_healthy(target):
    server, queue = target
    sqs = client(server.endpoint)
    sqs.purge_queue(QueueUrl=queue)
    send(sqs, queue, "well")
    assert bodies(receive(sqs, queue)) == ["well"]


def test_afterwards_nothing_has_panicked(target):
    server, _ = target
    assert "panick" not in server.log()


def test_memory_stays_flat(target):
    """Over many runs of the table. What is left of one run varies, so the least of a few counts."""
    server, queue = target
    after_runs = []
    for _ in range(5 * RUNS):
        for _, data, expected in rows():
            exchange(server, queue, data, expected)
        after_runs.append(server.memory_bytes())
    assert min(after_runs[-RUNS:]) - min(after_runs[RUNS : 2 * RUNS]) < GROWTH_BYTES_MAX, after_runs
    assert max(after_runs) < MEMORY_BYTES_MAX, after_runs
    assert "panick" not in server.log()


def test_half_requests_hold_up_nobody(target):
    """Two hundred clients that send half a request and wait."""
    server, queue = target
    half = raw.json_request("host", "SendMessage", QueueUrl=queue, MessageBody="x" * 100)[:-50]
    waiting = [raw.Connection(server) for _ in range(200)]
    for connection in waiting:
        connection.send(half)
    sqs = client(server.endpoint)
    own = sqs.create_queue(QueueName="served")["QueueUrl"]
    send(sqs, own, "served")
    assert bodies(receive(sqs, own)) == ["served"]
    for connection in waiting:
        connection.close()
    assert server.is_alive()
