"""Fixtures of all Python suites.

`sqs` is boto3 over each wire protocol in turn, so a test that takes it runs twice. One server with a clock that tests
move serves all tests; each test makes queues of its own.
"""

import itertools
import os

import pytest

from kit.clients import client
from kit.server import RunningServer, Server


@pytest.fixture(scope="session")
def server():
    endpoint = os.environ.get("CONFORMANCE_ENDPOINT")
    started = RunningServer(endpoint) if endpoint else Server()
    yield started
    assert started.is_alive(), f"the server died:\n{started.log()}"
    started.close()


@pytest.fixture
def own_server():
    """Starts servers that belong to one test alone: `own_server(*arguments, durability=..., config=...)`."""
    started = []

    def start(*arguments, **options):
        if "CONFORMANCE_ENDPOINT" in os.environ:
            pytest.skip("needs a server of its own")
        started.append(Server(*arguments, **options))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture(scope="session")
def clients(server):
    return {protocol: client(server.endpoint, protocol) for protocol in ("json", "query")}


@pytest.fixture(params=["json", "query"])
def sqs(request, clients):
    return clients[request.param]


@pytest.fixture
def json_sqs(clients):
    return clients["json"]


@pytest.fixture
def query_sqs(clients):
    return clients["query"]


_serial = itertools.count(1)


@pytest.fixture
def name():
    """A queue name that no other test uses."""
    return f"q-{os.getpid()}-{next(_serial)}"


@pytest.fixture
def make_queue(clients, name):
    """Makes queues: `make_queue(VisibilityTimeout="5")` returns a URL."""
    made = itertools.count()

    def make(**attributes):
        index = next(made)
        return clients["json"].create_queue(QueueName=f"{name}-{index}" if index else name, Attributes=attributes)[
            "QueueUrl"
        ]

    return make


@pytest.fixture
def queue(make_queue):
    """The URL of a fresh standard queue with default attributes."""
    return make_queue()


@pytest.fixture
def advance(server):
    """Moves the server's clock: `advance(seconds)`."""
    return server.advance
