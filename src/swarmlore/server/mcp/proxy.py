"""Between a client and the warm process: bytes in both directions, and enough memory of them to survive its end.

The client must notice nothing when the warm process goes away: the handshake is repeated with the next one, its second
answer is left out, and requests that had no answer are asked again. Standard library only; a client waits for this.
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
NAMES_ITSELF = "swarmmail_init"  # what this tool says holds for the connection, and has to be said to the next server
_CHUNK = 65_536


class Handover:
    """What a server needs to go on where a proxy stopped: lines to repeat, bytes not looked at, answers not to give."""

    def __init__(self, replay: list[bytes] | None = None, rest: bytes = b"", swallow: set[Any] | None = None) -> None:
        self.replay = replay or []
        self.rest = rest
        self.swallow = swallow or set()


class Proxy:
    """One client's connection to whoever is the warm process."""

    def __init__(self, path: str, hello: dict[str, Any], incoming: int = 0, outgoing: int = 1) -> None:
        self._path = path
        self._hello = json.dumps(hello, separators=(",", ":")).encode() + b"\n"
        self._incoming = incoming
        self._outgoing = outgoing
        self._rest = b""  # of a line from the client
        self._initialize: tuple[Any, bytes] | None = None
        self._initialized = b""
        self._named: tuple[Any, bytes] | None = None  # by which name the connection writes mail
        self._waiting: dict[Any, bytes] = {}  # requests without an answer, oldest first
        self._swallow: set[Any] = set()
        self._tries = 0
        self.served = False  # whether the last run brought any answer

    def run(self) -> Handover | None:
        """Serve until the client leaves; else, where nobody is there to talk to, what a server has to know."""
        self._tries, self.served = 0, False
        while self._tries < MOST_TRIES and (sock := self._reach()) is not None:
            self._tries += 1
            try:
                sock.sendall(b"".join(self._replay()))
                if self._pump(sock):
                    return None
            except OSError:
                continue  # it went away: look for the next one
            finally:
                sock.close()
        return Handover(self._replay(), self._rest, self._swallow)

    def _reach(self) -> Any:
        """A connection that was greeted, or None."""
        sock = connect(self._path, CONNECT_S)
        if sock is None:
            return None
        try:
            sock.settimeout(GREET_S)
            sock.sendall(self._hello)
            if _greeting(sock):
                sock.settimeout(None)
                return sock
        except OSError:
            pass
        sock.close()
        return None

    def _replay(self) -> list[bytes]:
        """What a server that knows nothing of this client has to hear."""
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
        """Carry bytes until one side ends; tells whether it was the client."""
        answers, deadline = b"", 0.0
        sources = [self._incoming, sock]
        while True:
            left = max(0.0, deadline - time.monotonic()) if deadline else None
            ready = select.select(sources, [], [], left)[0]
            if not ready:
                return True  # the client left, and what was under way took too long
            if sock in ready:
                chunk = sock.recv(_CHUNK)
                if not chunk:
                    return bool(deadline)
                *lines, answers = (answers + chunk).split(b"\n")
                self._give(lines)
            if self._incoming in ready and not self._take(sock):
                sock.shutdown(1)  # no more from us; its answers may still come
                sources, deadline = [sock], time.monotonic() + FINISH_S

    def _take(self, sock: Any) -> bool:
        """Pass on what the client said; False when it said its last."""
        chunk = os.read(self._incoming, _CHUNK)
        if not chunk:
            return False
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        whole = [line + b"\n" for line in lines]
        for line in whole:
            self._note(line)
        sock.sendall(b"".join(whole))
        return True

    def _note(self, line: bytes) -> None:
        """Remember what would have to be repeated."""
        said = _parsed(line)
        method, id = said.get("method"), said.get("id")
        if method == "initialize":
            self._initialize = (id, line)
        if method == "notifications/initialized":
            self._initialized = line
        if method == "tools/call" and _key(id) is not None and _called(said) == NAMES_ITSELF:
            self._named = (id, line)
        if method == "notifications/cancelled" and isinstance(said.get("params"), dict):
            self._waiting.pop(_key(said["params"].get("requestId")), None)
        elif method and _key(id) is not None:
            self._waiting[id] = line

    def _give(self, lines: list[bytes]) -> None:
        """Pass on answers, but those that the client has already."""
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
    """The id of the request that a line answers, or None."""
    said = _parsed(line)
    return _key(said.get("id")) if "method" not in said else None


def write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _called(said: dict[str, Any]) -> Any:
    params = said.get("params")
    return params.get("name") if isinstance(params, dict) else None


def _key(id: Any) -> Any:
    return id if isinstance(id, (str, int)) and not isinstance(id, bool) else None


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _greeting(sock: Any) -> bool:
    """Whether the other side takes us; it says nothing more before we speak."""
    data = b""
    while not data.endswith(b"\n"):
        chunk = sock.recv(_CHUNK)
        if not chunk:
            return False
        data += chunk
    return _parsed(data).get("ok") is True
