"""An MCP server as a process, spoken to line by line: for what a well-behaved client would never send."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import quick_env
from waiting import PATIENCE_S, Deadline

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "lines", "version": "1"}}
LESSON = "Snapshot tests are recorded with make snap-record, never by hand"


def words(home: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "swarmlore", "mcp", "--client", "claude", "--home", str(home), *more]


def environment(**more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SWARMLORE_", "CLAUDE", "CODEX", "COPILOT"))
    }
    return {**kept, **quick_env(**more)}


class Lines:
    """One client of one server process."""

    def __init__(self, home: Path, cwd: Path, command: list[str] | None = None, **env: str) -> None:
        self.process = subprocess.Popen(
            command or words(home),
            cwd=cwd,
            env=environment(**env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._number = 0
        self._data = b""

    def send(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request; returns its id."""
        self._number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}}).encode())
        return self._number

    def answer(self) -> dict[str, Any]:
        """The next line that the server sends."""
        deadline = Deadline("the server answers")
        with selectors.DefaultSelector() as ready:
            ready.register(self.stdout, selectors.EVENT_READ)
            while b"\n" not in self._data:
                assert ready.select(deadline.left_s()), "no answer"
                chunk = os.read(self.stdout.fileno(), 65_536)
                assert chunk, f"the server ended: {self.process.stderr.read() if self.process.stderr else ''!r}"
                self._data += chunk
        line, _, self._data = self._data.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def is_silent(self, seconds: float) -> bool:
        """Whether the server says nothing for so long."""
        with selectors.DefaultSelector() as ready:
            ready.register(self.stdout, selectors.EVENT_READ)
            return not self._data and not ready.select(seconds)

    def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        id = self.ask(method, params)
        answer = self.answer()
        assert answer["id"] == id, answer
        found: dict[str, Any] = answer["result"]
        return found

    def begin(self) -> Lines:
        """The handshake."""
        assert self.result("initialize", HELLO)["serverInfo"]["name"] == "swarmlore"
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return self

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def leave(self) -> int:
        """Close standard input and wait for the end."""
        self.stdin.close()
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(120)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
