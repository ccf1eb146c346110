"""The process: what survives it, who may start it, how it ends, what it answers about itself."""

import subprocess
import time

import pytest

from kit import raw
from kit.clients import attributes, bodies, client, counts, receive, receive_one, refused, send, text
from kit.server import BINARY


class TestDurability:
    """GEN-03: acknowledged means on disk."""

    @pytest.mark.parametrize("durability", ["fsync", "os"])
    def test_GEN_03_kill_9_after_a_thousand_sends(self, own_server, durability):
        server = own_server(durability=durability)
        sqs = client(server.endpoint)
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        sent = set()
        for batch in range(100):
            entries = [{"Id": str(index), "MessageBody": f"{batch}-{index}"} for index in range(10)]
            answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
            sent |= {one["MessageId"] for one in answer["Successful"]}
        server.kill()
        server.start()
        sqs = client(server.endpoint)
        url = sqs.get_queue_url(QueueName="q")["QueueUrl"]
        received = set()
        while messages := receive(sqs, url):
            received |= {message["MessageId"] for message in messages}
        assert len(sent) == 1000
        assert received == sent

    @pytest.mark.parametrize("end", ["stop", "kill"])
    def test_everything_about_a_queue_survives(self, own_server, end):
        server = own_server()
        sqs = client(server.endpoint)
        url = sqs.create_queue(
            QueueName="q", Attributes={"VisibilityTimeout": "77", "DelaySeconds": "3"}, tags={"team": "post"}
        )["QueueUrl"]
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"MessageRetentionPeriod": "600"})
        given = {"k": text("v")}
        sqs.send_message(QueueUrl=url, MessageBody="visible", MessageAttributes=given, DelaySeconds=0)
        sqs.send_message(QueueUrl=url, MessageBody="in flight", DelaySeconds=0)
        sqs.send_message(QueueUrl=url, MessageBody="delayed", DelaySeconds=800)
        sqs.send_message(QueueUrl=url, MessageBody="deleted", DelaySeconds=0)
        first = receive(sqs, url, count=10, system=["All"], names=["All"])
        by_body = {message["Body"]: message for message in first}
        sqs.delete_message(QueueUrl=url, ReceiptHandle=by_body["deleted"]["ReceiptHandle"])
        sqs.change_message_visibility(
            QueueUrl=url, ReceiptHandle=by_body["visible"]["ReceiptHandle"], VisibilityTimeout=0
        )
        before = attributes(sqs, url)
        getattr(server, end)()

        server.start()
        sqs = client(server.endpoint)
        url = sqs.get_queue_url(QueueName="q")["QueueUrl"]
        assert attributes(sqs, url) == before
        assert counts(sqs, url) == (1, 1, 1)
        assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "post"}
        again = receive_one(sqs, url, system=["All"], names=["All"])
        assert again["Body"] == "visible"
        assert again["MessageAttributes"] == given
        assert again["Attributes"]["ApproximateReceiveCount"] == "2"
        for kept in ("SentTimestamp", "ApproximateFirstReceiveTimestamp", "SenderId"):
            assert again["Attributes"][kept] == by_body["visible"]["Attributes"][kept]
        # SMSG-17: a receipt handle outlives the process.
        sqs.delete_message(QueueUrl=url, ReceiptHandle=by_body["in flight"]["ReceiptHandle"])
        assert counts(sqs, url) == (0, 1, 1)

    def test_a_deleted_queue_stays_deleted(self, own_server):
        server = own_server()
        sqs = client(server.endpoint)
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        sqs.delete_queue(QueueUrl=url)
        server.kill()
        server.start()
        sqs = client(server.endpoint)
        assert refused(sqs.get_queue_url, QueueName="q").code == "AWS.SimpleQueueService.NonExistentQueue"
        # And its name still rests.
        assert refused(sqs.create_queue, QueueName="q").code == "AWS.SimpleQueueService.QueueDeletedRecently"

    def test_memory_keeps_nothing(self, own_server):
        server = own_server(durability="memory")
        client(server.endpoint).create_queue(QueueName="q")
        server.kill()
        server.start()
        assert refused(client(server.endpoint).get_queue_url, QueueName="q").status == 400

    def test_restart_over_and_over(self, own_server):
        server = own_server()
        client(server.endpoint).create_queue(QueueName="q")
        for index in range(10):
            sqs = client(server.endpoint)
            url = sqs.get_queue_url(QueueName="q")["QueueUrl"]
            send(sqs, url, str(index))
            server.kill() if index % 2 else server.stop()
            server.start()
        sqs = client(server.endpoint)
        assert bodies(receive(sqs, sqs.get_queue_url(QueueName="q")["QueueUrl"])) == list("0123456789")


class TestProcess:
    def test_a_data_directory_has_one_master(self, own_server):
        server = own_server()
        second = subprocess.run(
            [BINARY, "serve", "--listen", "127.0.0.1:0", "--data", server.data],
            capture_output=True,
            text=True,
            timeout=10,
        )
        assert second.returncode != 0
        assert str(server.data) in second.stdout + second.stderr
        assert client(server.endpoint).list_queues()["ResponseMetadata"]["HTTPStatusCode"] == 200

    def test_listening_elsewhere_needs_a_word(self, tmp_path):
        refused_start = subprocess.run(
            [BINARY, "serve", "--listen", "0.0.0.0:0", "--data", tmp_path / "data"],
            capture_output=True,
            text=True,
            timeout=10,
        )
        assert refused_start.returncode != 0
        assert "--insecure-no-auth" in refused_start.stdout + refused_start.stderr

    def test_a_taken_port_is_said_plainly(self, own_server, tmp_path):
        server = own_server()
        taken = f"127.0.0.1:{server.port}"
        second = subprocess.run(
            [BINARY, "serve", "--listen", taken, "--data", tmp_path / "data"],
            capture_output=True,
            text=True,
            timeout=10,
        )
        assert second.returncode != 0
        assert taken in second.stdout + second.stderr

    def test_start_up_says_what_one_needs(self, own_server):
        """Address, data directory, what durability means here, a CLI line to paste."""
        server = own_server()
        log = server.log()
        assert f"listening on {server.endpoint}" in log
        assert str(server.data) in log
        assert "on disk" in log
        assert "aws " in log and "--endpoint-url" in log

    def test_health(self, server):
        for path in ("/health", "/ready"):
            with raw.Connection(server) as connection:
                assert connection.request("GET", path, b"", {"Authorization": None}).status == 200

    def test_without_the_flag_the_clock_cannot_be_moved(self, own_server):
        server = own_server(test_clock=False)
        with raw.Connection(server) as connection:
            answer = connection.request("POST", "/_posthouse/clock/advance", b'{"seconds": 1}')
        assert 400 <= answer.status < 500

    @pytest.mark.parametrize("body", [b"", b"{", b'{"seconds": -1}', b'{"seconds": "1"}', b'{"seconds": 1e300}', b"{}"])
    def test_a_bad_move_of_the_clock(self, server, body):
        with raw.Connection(server) as connection:
            assert 400 <= connection.request("POST", "/_posthouse/clock/advance", body).status < 500

    def test_stop_is_prompt_and_clean(self, own_server):
        server = own_server()
        client(server.endpoint).create_queue(QueueName="q")
        idle = raw.Connection(server)
        started = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - started < 3
        idle.close()

    def test_idle_memory(self, own_server):
        """Aim: under 15 MB when idle. The test leaves room for what differs between machines."""
        server = own_server()
        client(server.endpoint).list_queues()
        assert server.memory_bytes() < 17_000_000

    def test_idle_polls_cost_nothing(self, own_server):
        """A thousand consumers wait; in a second the server uses next to no processor time."""
        server = own_server()
        url = client(server.endpoint).create_queue(QueueName="q")["QueueUrl"]
        connections = [raw.Connection(server, timeout=30) for _ in range(1000)]
        for connection in connections:
            connection.send(raw.json_request(connection.host, "ReceiveMessage", QueueUrl=url, WaitTimeSeconds=20))
        assert connections[-1].is_silent(0.5)
        before = server.cpu_seconds()
        assert connections[0].is_silent(1)
        assert server.cpu_seconds() - before <= 0.02
        for connection in connections:
            connection.close()


class TestConfiguration:
    def test_LIFE_09_SERR_20_the_in_flight_quota_can_be_lowered(self, own_server):
        """Then it is easy to reach in a test."""
        sqs = client(own_server("--in-flight-max", "100").endpoint)
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        send(sqs, url, *map(str, range(102)))
        handles = [receive_one(sqs, url, count=1)["ReceiptHandle"] for _ in range(100)]
        refusal = refused(sqs.receive_message, QueueUrl=url)
        assert (refusal.code, refusal.status) == ("OverLimit", 403)
        assert "Messages" not in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=handles[0])
        assert bodies(receive(sqs, url, count=10)) == ["100"]

    def test_the_rules_of_sixty_seconds_can_be_switched_off(self, own_server, name):
        """Many test suites want that."""
        server = own_server("--purge-interval-seconds", "0", "--deleted-name-seconds", "0")
        sqs = client(server.endpoint)
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        sqs.purge_queue(QueueUrl=url)
        sqs.purge_queue(QueueUrl=url)
        sqs.delete_queue(QueueUrl=url)
        sqs.create_queue(QueueName=name)
