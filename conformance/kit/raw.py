"""HTTP/1.1 without an SDK: requests as bytes, answers as bytes, one connection in the test's hands."""

import json
import socket
import urllib.parse
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

JSON = "application/x-amz-json-1.0"
FORM = "application/x-www-form-urlencoded"
VERSION = "2012-11-05"
NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"
# Says which Region and account are meant; nobody checks the signature here.
AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/sqs/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=" + "0" * 64
)


@dataclass
class Answer:
    status: int
    headers: dict = field(repr=False)
    body: bytes

    def json(self):
        return json.loads(self.body)

    def xml(self):
        return ElementTree.fromstring(self.body)

    def find(self, path):
        """The text at a path of element names, in the SQS namespace."""
        element = self.xml().find("/".join(NAMESPACE + name for name in path.split("/")))
        return None if element is None else element.text or ""

    @property
    def code(self):
        """The error code in the protocol of the answer: the name in JSON, the code in Query."""
        if self.headers.get("content-type", "").startswith("application/x-amz-json"):
            return self.json()["__type"].rsplit("#", 1)[-1]
        return self.find("Error/Code")

    @property
    def message(self):
        if self.headers.get("content-type", "").startswith("application/x-amz-json"):
            return self.json().get("message") or self.json().get("Message")
        return self.find("Error/Message")


class Closed(Exception):
    """The server closed the connection, after `received` bytes of an answer."""

    def __init__(self, received):
        super().__init__(f"closed after {received!r}")
        self.received = received


class Connection:
    """One TCP connection to the server."""

    def __init__(self, server, timeout=10):
        self.host = f"{server.host}:{server.port}"
        self.socket = socket.create_connection((server.host, server.port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def request(self, *arguments, **options):
        self.send(request(self.host, *arguments, **options))
        return self.answer()

    def call(self, operation, **parameters):
        """One call in the JSON protocol."""
        return self.request("POST", "/", json.dumps(parameters).encode(), json_headers(operation))

    def query(self, action, path="/", **parameters):
        """One call in the Query protocol."""
        return self.request("POST", path, form(action, **parameters), {"Content-Type": FORM})

    def is_silent(self, seconds):
        """Whether nothing arrives for that long."""
        if self._buffer:
            return False
        before = self.socket.gettimeout()
        self.socket.settimeout(seconds)
        try:
            self._buffer += self._read()
            return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(before)

    def is_closed_by_server(self):
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def answer(self, has_body=True):
        """Reads one answer, skipping 100 Continue. That of a HEAD has no body, whatever its length."""
        while True:
            head = self._until(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            status = int(lines[0].split(" ")[1])
            if status != 100:
                break
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if not has_body:
            body = b""
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while size := int(self._until(b"\r\n").split(b";")[0], 16):
                body += self._exactly(size)
                self._exactly(2)
            self._until(b"\r\n")
        else:
            body = self._exactly(int(headers.get("content-length", 0)))
        return Answer(status, headers, body)

    def continue_head(self):
        """Reads the interim answer that lets a client go on with its body."""
        return self._until(b"\r\n\r\n")

    def _read(self):
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Closed(self._buffer)
        return data

    def _until(self, mark):
        while mark not in self._buffer:
            self._buffer += self._read()
        found, self._buffer = self._buffer.split(mark, 1)
        return found

    def _exactly(self, count):
        while len(self._buffer) < count:
            self._buffer += self._read()
        found, self._buffer = self._buffer[:count], self._buffer[count:]
        return found


def request(host, method="POST", target="/", body=b"", headers=None):
    """A request as bytes. Headers given here replace the usual ones; None leaves one out."""
    usual = {"Host": host, "Authorization": AUTHORIZATION, "Content-Length": str(len(body))}
    usual |= headers or {}
    lines = [f"{method} {target} HTTP/1.1"] + [f"{name}: {value}" for name, value in usual.items() if value is not None]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def json_headers(operation):
    return {"Content-Type": JSON, "X-Amz-Target": f"AmazonSQS.{operation}"}


def json_request(host, operation, headers=None, **parameters):
    body = json.dumps(parameters).encode()
    return request(host, "POST", "/", body, json_headers(operation) | (headers or {}))


def form(action, **parameters):
    """A form body; `Attribute_1_Name` stands for `Attribute.1.Name`."""
    fields = {"Action": action, "Version": VERSION} | {
        name.replace("_", "."): value for name, value in parameters.items()
    }
    return urllib.parse.urlencode(fields).encode()


def call(server, operation, **parameters):
    """One call in the JSON protocol on a connection of its own."""
    with Connection(server) as connection:
        return connection.call(operation, **parameters)


def query(server, action, path="/", **parameters):
    """One call in the Query protocol on a connection of its own."""
    with Connection(server) as connection:
        return connection.query(action, path, **parameters)
