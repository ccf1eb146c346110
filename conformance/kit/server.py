"""The real binary as a process: start it, talk to it, stop it or kill it, look at its memory and its log."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
BINARY = Path(os.environ.get("CONFORMANCE_BIN", TARGET / "release" / "posthouse"))

START_SECONDS_MAX = 10


class Server:
    """`posthouse serve` on a free port, with a data directory of its own."""

    def __init__(self, *arguments, durability="fsync", test_clock=True, data=None, config=None, environment=None):
        if not BINARY.exists():
            raise RuntimeError(f"{BINARY} is missing: build it with `cargo build --release -p server`")
        self._directory = tempfile.TemporaryDirectory(prefix="posthouse-conformance-")
        home = Path(self._directory.name)
        self.data = data or home / "data"
        self._log_path = home / "log"
        self._command = [str(BINARY), "serve", "--listen", "127.0.0.1:0", "--data", str(self.data)]
        self._command += ["--durability", durability, *arguments]
        if test_clock:
            self._command.append("--test-clock")
        if config is not None:
            (home / "posthouse.toml").write_text(config)
            self._command += ["--config", str(home / "posthouse.toml")]
        self._environment = environment or {}
        self.process = None
        self.start()

    def start(self):
        """Starts the process and waits for the line that says where it listens."""
        log_was = self._log_path.stat().st_size if self._log_path.exists() else 0
        with self._log_path.open("ab") as log:
            # AWS_* of the caller's shell mean nothing to the server; a clean environment keeps it so.
            environment = {
                name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "POSTHOUSE_"))
            }
            environment |= self._environment
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            found = re.search(rb"listening on (http://[^\s\x1b]+)", self._log_path.read_bytes()[log_was:])
            if found:
                self.endpoint = found[1].decode()
                break
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {' '.join(self._command)}\n{self.log()}")
            time.sleep(0.002)
        host, port = self.endpoint.removeprefix("http://").rsplit(":", 1)
        self.host, self.port = host, int(port)

    def advance(self, seconds):
        """Moves the server's clock forward."""
        body = json.dumps({"seconds": seconds}).encode()
        request = urllib.request.Request(f"{self.endpoint}/_posthouse/clock/advance", body, method="POST")
        with urllib.request.urlopen(request, timeout=10) as response:
            assert response.status == 200

    def stop(self):
        """Asks it to end, as a service manager would, and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.kill()
        self._directory.cleanup()

    def is_alive(self):
        return self.process.poll() is None

    def log(self):
        return self._log_path.read_text(errors="replace")

    def memory_bytes(self):
        """Resident memory: VmRSS of /proc."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def cpu_seconds(self):
        """User and system time that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class RunningServer:
    """A server that somebody else started, named by CONFORMANCE_ENDPOINT. Its clock is the real one."""

    def __init__(self, endpoint):
        self.endpoint = endpoint.rstrip("/")
        host, port = self.endpoint.removeprefix("http://").rsplit(":", 1)
        self.host, self.port = host, int(port)

    def advance(self, seconds):
        import pytest

        if seconds > 3:
            pytest.skip("this server's clock cannot be moved")
        time.sleep(seconds)

    def is_alive(self):
        return True

    def close(self):
        pass
