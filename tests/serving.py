"""A real server in a process of its own, and plain requests to it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import LEAD, engine_env, quick_env
from swarmlore.domain.records import Caller
from swarmlore.lore import Lore

LESSON = "Snapshot tests are recorded with make snap-record, never by hand"


class Server:
    """One `swarmlore serve`, and tokens for its callers."""

    program: tuple[str, ...] = ("-m", "swarmlore")
    log_to: int | None = None  # a file, where nothing else is said

    def __init__(self, home: Path, env: Mapping[str, str], *words: str) -> None:
        self.home = home
        self.env = {**os.environ, **env}
        self._words = words
        self.process: subprocess.Popen[str] | None = None
        self.port = 0
        self.host = "127.0.0.1"

    def start(self) -> None:
        words = [
            sys.executable,
            *self.program,
            "serve",
            "--port",
            str(self.port),
            "--json",
            "--home",
            str(self.home),
        ]
        self._log = open(self.home.parent / "log", "w+")  # noqa: SIM115 - a pipe that nobody reads would fill up
        self.process = subprocess.Popen(
            [*words, *self._words],
            stdout=subprocess.PIPE,
            stderr=self.log_to or self._log,
            text=True,
            env=self.env,
            cwd="/",
        )
        assert self.process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            assert line, self._read_log()
            text += line
        assert "url" in json.loads(text), text
        self.port = int(json.loads(text)["url"].rpartition(":")[2])

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code and its log."""
        assert self.process is not None
        self.process.send_signal(how)
        self.process.communicate(timeout=120)
        code, self.process = self.process.returncode, None
        return code, self._read_log()

    def _read_log(self) -> str:
        with self._log:
            self._log.seek(0)
            return self._log.read()

    def token(self, agent: str = "alice", role: str = "worker", project: str = LEAD.project) -> str:
        lead = Caller(project, "lead", "lead", 2)
        with Lore.open(self.home, cwd="/", caller=lead, env=self.env) as lore:
            return lore.create_token(agent, role=role)[1]

    def ask(
        self,
        path: str,
        body: Any = None,
        token: str = "",
        *,
        method: str = "",
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
    ) -> tuple[int, Any]:
        """Status and document of an answer."""
        line = http.client.HTTPConnection(self.host, self.port, timeout=120)
        sent = data if data is not None else None if body is None else json.dumps(body).encode()
        own = {"Authorization": f"Bearer {token}"} if token else {}
        own |= {"Content-Type": "application/json"} if sent is not None else {}
        own |= dict(headers or {})
        try:
            line.request(method or ("GET" if sent is None else "POST"), path, sent, own)
            answer = line.getresponse()
            text = answer.read()
        finally:
            line.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def raw(self, data: bytes, wait_s: float = 15.0) -> bytes:
        """What comes back for these very bytes."""
        with socket.create_connection((self.host, self.port), timeout=wait_s) as sock:
            sock.sendall(data)
            found = b""
            while chunk := sock.recv(65_536):
                found += chunk
                if b"\r\n\r\n" in found:
                    break
            return found


def children_of(pid: int) -> list[int]:
    """Its processes, whichever of its threads started them."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(facts[1]) == pid:
            found.append(int(status.parent.name))
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server over an empty SQLite store."""
    yield from _running(Server(tmp_path / "home", quick_env()))


@pytest.fixture
def any_server(engine_name: str, tmp_path: Path) -> Iterator[Server]:
    """The same over either engine."""
    yield from _running(Server(tmp_path / "home", engine_env(engine_name)))


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of a module that leave nothing behind, or ask in a project of their own."""
    yield from _running(
        Server(tmp_path_factory.mktemp("steady") / "home", quick_env(), "--rate", "100000", "--no-worker")
    )


def _running(made: Server) -> Iterator[Server]:
    made.home.mkdir()
    made.start()
    yield made
    if made.process is not None:
        made.stop()
