"""MCP proxy: copies bytes between a client's stdio and the daemon, and survives the end of the daemon.

The client must not notice that the daemon was replaced: the handshake is repeated with the next one, its second answer
is dropped, and unanswered requests are sent again. Standard library only, because the client waits for the start.
"""

from __future__ import annotations

import json
import os
import select
import time

from swarmlore.clients.hook.socket import connect
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


CONNECT_S = 0.25
GREET_S = 3.0
FINISH_S = 2.0  # for answers that are under way when the client leaves
MOST_TRIES = 5  # connections in a row that bring no answer
NAMES_ITSELF = "swarmmail_init"  # this call sets the mail name of the connection, so it is replayed
_CHUNK = 65_536


class Handover:
    """State for a server that continues for a proxy: lines to replay, bytes not parsed yet, ids of answers to drop."""

    def __init__(self, replay: list[bytes] | None = None, rest: bytes = b"", swallow: set[Any] | None = None) -> None:
        self.replay = replay or []
        self.rest = rest
        self.swallow = swallow or set()


class Proxy:
    """The connection of one client to the daemon."""

    def __init__(self, path: str, hello: dict[str, Any], incoming: int = 0, outgoing: int = 1) -> None:
        self._path = path
        self._hello = json.dumps(hello, separators=(",", ":")).encode() + b"\n"
        self._incoming = incoming
        self._outgoing = outgoing
        self._rest = b""  # of a line from the client
        self._initialize: tuple[Any, bytes] | None = None
        self._initialized = b""
        self._named: tuple[Any, bytes] | None = None  # the call that set the mail name of the connection
        self._waiting: dict[Any, bytes] = {}  # requests without an answer, oldest first
        self._swallow: set[Any] = set()
        self._tries = 0
        self.served = False  # whether the last run brought any answer

    def run(self) -> Handover | None:
        """Serve until the client leaves and return None; without a daemon, return the state for a server here."""
        self._tries, self.served = 0, False
        while self._tries < MOST_TRIES and (sock := self._connect()) is not None:
            self._tries += 1
            try:
                sock.sendall(b"".join(self._replay()))
                if self._pump(sock):
                    return None
            except OSError:
                continue  # the daemon is gone: look for the next one
            finally:
                sock.close()
        return Handover(self._replay(), self._rest, self._swallow)

    def _connect(self) -> Any:
        """Connect to the daemon and greet it; return None if that fails."""
        sock = connect(self._path, CONNECT_S)
        if sock is None:
            return None
        try:
            sock.settimeout(GREET_S)
            sock.sendall(self._hello)
            if _is_accepted(sock):
                sock.settimeout(None)
                return sock
        except OSError:
            pass
        sock.close()
        return None

    def _replay(self) -> list[bytes]:
        """Return the lines that a new daemon needs: the handshake and the unanswered requests."""
        self._swallow = set()
        lines = list(self._waiting.values())
        if self._initialize is None:
            return lines
        id, line = self._initialize
        if id in self._waiting:
            return lines
        again = [line, *([self._initialized] if self._initialized else [])]
        self._swallow = {id}
        if self._named is not None and self._named[0] not in self._waiting:
            again.append(self._named[1])
            self._swallow.add(self._named[0])
        return [*again, *lines]

    def _pump(self, sock: Any) -> bool:
        """Copy bytes until one side ends; return whether it was the client."""
        answers, deadline = b"", 0.0
        sources = [self._incoming, sock]
        while True:
            left = max(0.0, deadline - time.monotonic()) if deadline else None
            ready = select.select(sources, [], [], left)[0]
            if not ready:
                return True  # the client left, and running requests took too long
            if sock in ready:
                chunk = sock.recv(_CHUNK)
                if not chunk:
                    return bool(deadline)
                *lines, answers = (answers + chunk).split(b"\n")
                self._forward_answers(lines)
            if self._incoming in ready and not self._forward_requests(sock):
                sock.shutdown(1)  # end of requests; answers may still come
                sources, deadline = [sock], time.monotonic() + FINISH_S

    def _forward_requests(self, sock: Any) -> bool:
        """Forward the client's lines; return False at the end of its input."""
        chunk = os.read(self._incoming, _CHUNK)
        if not chunk:
            return False
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        whole = [line + b"\n" for line in lines]
        for line in whole:
            self._remember(line)
        sock.sendall(b"".join(whole))
        return True

    def _remember(self, line: bytes) -> None:
        """Remember the handshake and unanswered requests for a replay."""
        message = parsed(line)
        method, id = message.get("method"), message.get("id")
        if method == "initialize":
            self._initialize = (id, line)
        if method == "notifications/initialized":
            self._initialized = line
        if method == "tools/call" and message_id(id) is not None and _called(message) == NAMES_ITSELF:
            self._named = (id, line)
        if method == "notifications/cancelled" and isinstance(message.get("params"), dict):
            self._waiting.pop(message_id(message["params"].get("requestId")), None)
        elif method and message_id(id) is not None:
            self._waiting[id] = line

    def _forward_answers(self, lines: list[bytes]) -> None:
        """Forward answers, except those that the client has already."""
        kept = []
        for line in lines:
            id = answered_id(line)
            if id is not None:
                self._waiting.pop(id, None)
                if id in self._swallow:
                    self._swallow.discard(id)
                    continue
            kept.append(line + b"\n")
        self._tries, self.served = 0, True
        write_all(self._outgoing, b"".join(kept))


def answered_id(line: bytes) -> Any:
    """Return the id of the request that a line answers, or None."""
    message = parsed(line)
    return message_id(message.get("id")) if "method" not in message else None


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes to a file descriptor."""
    while data:
        data = data[os.write(fd, data) :]


def _called(message: dict[str, Any]) -> Any:
    params = message.get("params")
    return params.get("name") if isinstance(params, dict) else None


def message_id(id: Any) -> Any:
    """Return a request id if it is a valid one, else None."""
    return id if isinstance(id, (str, int)) and not isinstance(id, bool) else None


def parsed(line: bytes) -> dict[str, Any]:
    """Parse a line as a JSON object; return {} if it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _is_accepted(sock: Any) -> bool:
    """Read the greeting of the daemon, which is all it sends before the first request."""
    data = b""
    while not data.endswith(b"\n"):
        chunk = sock.recv(_CHUNK)
        if not chunk:
            return False
        data += chunk
    return parsed(data).get("ok") is True
