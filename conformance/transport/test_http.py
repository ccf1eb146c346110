"""HTTP as clients use it and misuse it: connections, bodies, compression, presigned URLs, HTTP/2."""

import gzip
import json
import select
import socket
import threading
import time
import urllib.request

import h2.config
import h2.connection
import h2.events
import pytest

from kit import raw
from kit.clients import bodies, counts, receive, receive_one, send

MIB = 1_048_576


class TestConnections:
    def test_keep_alive(self, server):
        with raw.Connection(server) as connection:
            for _ in range(100):
                assert connection.call("ListQueues", QueueNamePrefix="none-").status == 200

    def test_a_connection_survives_errors(self, server, queue):
        with raw.Connection(server) as connection:
            for _ in range(10):
                assert connection.call("SendMessage", QueueUrl=queue).status == 400
                assert connection.call("SendMessage", QueueUrl=queue + "-missing", MessageBody="x").status == 400
                assert connection.query("Nope").status == 400
                assert connection.call("SendMessage", QueueUrl=queue, MessageBody="x").status == 200

    def test_pipelining(self, server, json_sqs, queue):
        """Answers come in the order of the requests."""
        with raw.Connection(server) as connection:
            requests = [
                raw.json_request(connection.host, "SendMessage", QueueUrl=queue, MessageBody=str(index))
                for index in range(50)
            ]
            connection.send(b"".join(requests))
            answers = [connection.answer().json() for _ in range(50)]
        received = []
        while messages := receive(json_sqs, queue):
            received += messages
        ids = {message["MessageId"]: message["Body"] for message in received}
        assert [ids[answer["MessageId"]] for answer in answers] == [str(index) for index in range(50)]

    def test_pipelining_behind_a_long_poll(self, server, advance, queue):
        with raw.Connection(server, timeout=30) as connection:
            poll = raw.json_request(connection.host, "ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
            connection.send(poll + raw.json_request(connection.host, "ListQueues", QueueNamePrefix="none-"))
            assert connection.is_silent(0.15)
            advance(20)
            assert connection.answer().json() == {}
            assert connection.answer().status == 200

    def test_connection_close_is_honoured(self, server):
        with raw.Connection(server) as connection:
            connection.send(raw.json_request(connection.host, "ListQueues", {"Connection": "close"}))
            assert connection.answer().status == 200
            assert connection.is_closed_by_server()

    def test_http_1_0(self, server):
        with raw.Connection(server) as connection:
            request = raw.json_request(connection.host, "ListQueues")
            connection.send(request.replace(b"HTTP/1.1", b"HTTP/1.0", 1))
            assert connection.answer().status == 200
            assert connection.is_closed_by_server()

    def test_a_half_closed_client_still_gets_its_answer(self, server):
        with raw.Connection(server) as connection:
            connection.send(raw.json_request(connection.host, "ListQueues", QueueNamePrefix="none-"))
            connection.socket.shutdown(socket.SHUT_WR)
            try:
                assert connection.answer().status == 200
            except raw.Closed as closed:
                # Chosen by many servers: whoever stops talking has hung up. Never half an answer.
                assert closed.received == b""

    def test_a_request_that_comes_byte_by_byte(self, server):
        with raw.Connection(server) as connection:
            for byte in raw.json_request(connection.host, "ListQueues", QueueNamePrefix="none-"):
                connection.send(bytes([byte]))
            assert connection.answer().status == 200

    def test_header_names_are_case_insensitive(self, server):
        with raw.Connection(server) as connection:
            request = raw.json_request(connection.host, "ListQueues", QueueNamePrefix="none-")
            head, body = request.split(b"\r\n\r\n", 1)
            lines = [line.partition(b":") for line in head.split(b"\r\n")]
            shouted = [lines[0][0]] + [name.upper() + b":" + value for name, _, value in lines[1:]]
            connection.send(b"\r\n".join(shouted) + b"\r\n\r\n" + body)
            assert connection.answer().status == 200

    def test_F189_an_idle_connection_is_kept_or_closed_cleanly(self, server):
        """Never a reset after the request was written. Two seconds here; the server's idle limit is tested there."""
        with raw.Connection(server) as connection:
            assert connection.call("ListQueues", QueueNamePrefix="none-").status == 200
            readable, _, _ = select.select([connection.socket], [], [], 2)
            if readable:
                assert connection.is_closed_by_server()
            else:
                assert connection.call("ListQueues", QueueNamePrefix="none-").status == 200

    def test_a_client_that_leaves_before_its_answer(self, server, json_sqs, queue):
        """What was asked for may or may not have been done; the server serves on."""
        for _ in range(50):
            with raw.Connection(server) as connection:
                connection.send(raw.json_request(connection.host, "SendMessage", QueueUrl=queue, MessageBody="x"))
        assert json_sqs.list_queues()["ResponseMetadata"]["HTTPStatusCode"] == 200
        assert sum(counts(json_sqs, queue)) <= 50

    def test_many_connections(self, server):
        connections = [raw.Connection(server) for _ in range(300)]
        for connection in connections:
            connection.send(raw.json_request(connection.host, "ListQueues", QueueNamePrefix="none-"))
        assert {connection.answer().status for connection in connections} == {200}
        for connection in connections:
            connection.close()


class TestBodies:
    def test_expect_100_continue(self, server, json_sqs, queue):
        """The older SDKs for Java ask before every body."""
        with raw.Connection(server) as connection:
            request = raw.json_request(
                connection.host, "SendMessage", {"Expect": "100-continue"}, QueueUrl=queue, MessageBody="asked first"
            )
            head, body = request.split(b"\r\n\r\n", 1)
            connection.send(head + b"\r\n\r\n")
            assert connection.continue_head().startswith(b"HTTP/1.1 100")
            connection.send(body)
            assert connection.answer().status == 200
        assert bodies(receive(json_sqs, queue)) == ["asked first"]

    def test_expect_100_continue_without_waiting(self, server, json_sqs, queue):
        with raw.Connection(server) as connection:
            connection.send(
                raw.json_request(
                    connection.host, "SendMessage", {"Expect": "100-continue"}, QueueUrl=queue, MessageBody="at once"
                )
            )
            assert connection.answer().status == 200
        assert bodies(receive(json_sqs, queue)) == ["at once"]

    @pytest.mark.parametrize("chunk_bytes", [1, 7, 100_000])
    def test_chunked(self, server, json_sqs, queue, chunk_bytes):
        text = "chunk " * (20 if chunk_bytes < 100 else 100_000)
        body = json.dumps({"QueueUrl": queue, "MessageBody": text}).encode()
        chunks = [body[start : start + chunk_bytes] for start in range(0, len(body), chunk_bytes)]
        encoded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
        with raw.Connection(server) as connection:
            headers = raw.json_headers("SendMessage") | {"Content-Length": None, "Transfer-Encoding": "chunked"}
            connection.send(raw.request(connection.host, "POST", "/", b"", headers) + encoded)
            assert connection.answer().status == 200
            assert connection.call("ListQueues", QueueNamePrefix="none-").status == 200
        assert bodies(receive(json_sqs, queue)) == [text]

    def test_F191_gzip(self, server, json_sqs, queue):
        body = gzip.compress(json.dumps({"QueueUrl": queue, "MessageBody": "pressed " * 1000}).encode())
        with raw.Connection(server) as connection:
            headers = raw.json_headers("SendMessage") | {"Content-Encoding": "gzip"}
            assert connection.request("POST", "/", body, headers).status == 200
        assert bodies(receive(json_sqs, queue)) == ["pressed " * 1000]

    def test_gzip_in_query(self, server, json_sqs, queue):
        body = gzip.compress(raw.form("SendMessage", QueueUrl=queue, MessageBody="pressed"))
        with raw.Connection(server) as connection:
            headers = {"Content-Type": raw.FORM, "Content-Encoding": "gzip"}
            assert connection.request("POST", "/", body, headers).status == 200
        assert bodies(receive(json_sqs, queue)) == ["pressed"]

    @pytest.mark.parametrize("inflated_mebibytes", [20, 1000])
    def test_F191_a_bomb_is_refused(self, server, queue, inflated_mebibytes):
        bomb = gzip.compress(b" " * (inflated_mebibytes * MIB))
        before = server.memory_bytes()
        with raw.Connection(server) as connection:
            headers = raw.json_headers("SendMessage") | {"Content-Encoding": "gzip"}
            answer = connection.request("POST", "/", bomb, headers)
        assert 400 <= answer.status < 500
        assert server.memory_bytes() - before < 32 * MIB

    @pytest.mark.parametrize("encoding", ["br", "zstd", "nonsense"])
    def test_unknown_content_encoding(self, server, encoding):
        with raw.Connection(server) as connection:
            headers = raw.json_headers("ListQueues") | {"Content-Encoding": encoding}
            assert 400 <= connection.request("POST", "/", b"{}", headers).status < 500

    def test_broken_gzip(self, server):
        good = gzip.compress(b"{}")
        for body in (b"not gzip", good[:-5], good[:-8] + b"\x00" * 8):
            with raw.Connection(server) as connection:
                headers = raw.json_headers("ListQueues") | {"Content-Encoding": "gzip"}
                assert 400 <= connection.request("POST", "/", body, headers).status < 500


class TestPresignedUrls:
    """PROTO-16, F184: the signature is in the URL, as for a browser or curl."""

    def url(self, sqs, operation, **parameters):
        return sqs.generate_presigned_url(operation, Params=parameters, ExpiresIn=60, HttpMethod="GET")

    def get(self, url, method="GET"):
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=10) as response:
            return response.status, response.headers, response.read()

    def test_list_send_and_receive(self, query_sqs, queue):
        status, headers, body = self.get(self.url(query_sqs, "send_message", QueueUrl=queue, MessageBody="a b&c"))
        assert (status, headers["Content-Type"].split(";")[0]) == (200, "text/xml")
        assert b"<SendMessageResponse" in body
        _, _, body = self.get(self.url(query_sqs, "receive_message", QueueUrl=queue))
        assert b"<Body>a b&amp;c</Body>" in body

    def test_region_comes_from_the_presigned_scope(self, server, query_sqs, queue):
        url = self.url(query_sqs, "get_queue_url", QueueName=queue.rsplit("/", 1)[1])
        assert self.get(url)[0] == 200
        with pytest.raises(urllib.error.HTTPError) as error:
            self.get(url.replace("us-east-1", "eu-west-1"))
        assert error.value.code == 400


class TestHttp2:
    """Prior knowledge, without TLS, on the same port."""

    class Client:
        def __init__(self, server):
            self.host = f"{server.host}:{server.port}"
            self.socket = socket.create_connection((server.host, server.port), timeout=10)
            self.connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
            self.connection.initiate_connection()
            self.flush()
            self.streams = {}

        def flush(self):
            self.socket.sendall(self.connection.data_to_send())

        def call(self, operation, **parameters):
            """Starts a call; `answer` waits for its end."""
            stream = self.connection.get_next_available_stream_id()
            body = json.dumps(parameters).encode()
            headers = {":method": "POST", ":scheme": "http", ":authority": self.host, ":path": "/"}
            headers |= {"authorization": raw.AUTHORIZATION, "content-length": str(len(body))}
            headers |= {name.lower(): value for name, value in raw.json_headers(operation).items()}
            self.connection.send_headers(stream, headers.items())
            self.streams[stream] = [None, b"", False]
            while body:
                self.flush()
                room = min(self.connection.local_flow_control_window(stream), self.connection.max_outbound_frame_size)
                if room == 0:
                    self.read()
                    continue
                self.connection.send_data(stream, body[:room])
                body = body[room:]
            self.connection.end_stream(stream)
            self.flush()
            return stream

        def read(self):
            data = self.socket.recv(1 << 16)
            assert data, "the server closed the connection"
            for event in self.connection.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    self.streams[event.stream_id][0] = int(dict(event.headers)[":status"])
                elif isinstance(event, h2.events.DataReceived):
                    self.streams[event.stream_id][1] += event.data
                    self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    self.streams[event.stream_id][2] = True
            self.flush()

        def answer(self, stream):
            while not self.streams[stream][2]:
                self.read()
            status, body, _ = self.streams.pop(stream)
            return status, json.loads(body or b"{}")

    def test_calls_share_a_connection(self, server, queue):
        client = self.Client(server)
        streams = [client.call("SendMessage", QueueUrl=queue, MessageBody=str(index)) for index in range(20)]
        assert {client.answer(stream)[0] for stream in streams} == {200}
        status, answer = client.answer(client.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10))
        assert (status, len(answer["Messages"])) == (200, 10)

    def test_a_long_poll_holds_up_nobody(self, server, queue):
        client = self.Client(server)
        poll = client.call("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)
        started = time.monotonic()
        assert client.answer(client.call("SendMessage", QueueUrl=queue, MessageBody="hello"))[0] == 200
        status, answer = client.answer(poll)
        assert (status, bodies(answer["Messages"])) == (200, ["hello"])
        assert time.monotonic() - started < 1

    def test_a_large_body(self, server, json_sqs, queue):
        client = self.Client(server)
        assert client.answer(client.call("SendMessage", QueueUrl=queue, MessageBody="x" * MIB))[0] == 200
        status, answer = client.answer(client.call("ReceiveMessage", QueueUrl=queue))
        assert (status, len(answer["Messages"][0]["Body"])) == (200, MIB)

    def test_a_reset_stream_hides_nothing(self, server, json_sqs, queue):
        """The HTTP/2 form of F097: one stream ends, the connection stays."""
        client = self.Client(server)
        poll = client.call("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20, VisibilityTimeout=43_200)
        # Answered after the poll, so the poll is known to wait.
        assert client.answer(client.call("ListQueues", QueueNamePrefix="none-"))[0] == 200
        client.connection.reset_stream(poll)
        client.flush()
        assert client.answer(client.call("ListQueues", QueueNamePrefix="none-"))[0] == 200
        send(json_sqs, queue, "m")
        assert receive_one(json_sqs, queue, WaitTimeSeconds=5)["Body"] == "m"


def test_responses_are_framed_by_length(server, queue):
    """Proxies and old clients like it best."""
    for answer in (raw.call(server, "ListQueues"), raw.query(server, "ListQueues"), raw.query(server, "Nope")):
        assert "content-length" in answer.headers


def test_every_response_has_a_date(server):
    """F183: SDKs correct their clock by it."""
    assert "date" in raw.call(server, "ListQueues").headers


def test_slow_readers_do_not_block_others(server, json_sqs, queue):
    """One client asks for 10 MiB and doesn't read."""
    for _ in range(10):
        json_sqs.send_message(QueueUrl=queue, MessageBody="x" * MIB)
    with raw.Connection(server) as slow:
        slow.send(raw.json_request(slow.host, "ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10))
        durations = []

        def measure():
            for _ in range(20):
                started = time.monotonic()
                json_sqs.list_queues(QueueNamePrefix="none-")
                durations.append(time.monotonic() - started)

        thread = threading.Thread(target=measure)
        thread.start()
        thread.join(timeout=10)
        assert len(durations) == 20
        assert sorted(durations)[10] < 0.1
