"""Listening for hooks and proxies: a thread per connection, one JSON object per line."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time

from swarmlore.clients.hook.socket import MOST_LINE, peer_is_us
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.warm.election import Elected

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from swarmlore.warm.memory import SharedMemory

    Sessions = Callable[[socket.socket, dict[str, Any]], None]

MOST_THREADS = 64
READ_S = 5.0
PAUSE_S = 0.05


class WarmServer:
    """Answers at the socket of a home until closed. `sessions` serves whole MCP sessions of proxies; `leave` is called
    when a server that stays, which others can count on, asks for the place; `asked` does what commands hand over."""

    def __init__(
        self,
        place: Elected,
        memory: Callable[[], SharedMemory],
        sessions: Sessions | None = None,
        leave: Callable[[], None] | None = None,
        asked: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self._place = place
        self._memory = memory
        self._sessions = sessions
        self._leave = leave
        self._asked = asked
        self._room = threading.BoundedSemaphore(MOST_THREADS)
        self._closed = False
        self._opened: SharedMemory | None = None
        self._thread = threading.Thread(target=self._listen, name="swarmlore-warm", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._place.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits there
        self._place.close()

    def _listen(self) -> None:
        while not self._closed:
            try:
                sock, _ = self._place.listener.accept()
            except OSError:  # closed, or out of files for the moment: who listens no more must not seem to
                time.sleep(0 if self._closed else PAUSE_S)
                continue
            if not self._let_in(sock):
                sock.close()  # a hook that is turned away keeps its event in the spool

    def _let_in(self, sock: socket.socket) -> bool:
        try:
            if not peer_is_us(sock) or not self._room.acquire(blocking=False):
                return False
        except OSError:
            return False
        try:
            threading.Thread(target=self._serve, args=(sock,), name="swarmlore-answer", daemon=True).start()
        except RuntimeError:  # no room for another thread
            self._room.release()
            return False
        return True

    def _serve(self, sock: socket.socket) -> None:
        try:
            sock.settimeout(READ_S)
            request = _read(sock)
            if request is None:
                return
            if request.get("op") == "mcp" and self._sessions is not None:
                self._send(sock, {"ok": True})
                sock.settimeout(None)
                self._room.release()
                try:
                    self._sessions(sock, request)
                finally:
                    self._room.acquire()
            elif request.get("op") == "leave":
                self._send(sock, {"ok": self._leave is not None})
                if self._leave is not None:
                    self._leave()
            else:
                self._send(sock, self._answer(request))
        except (OSError, SwarmloreError):
            pass  # whoever asked has gone, or we are about to; a hook without an answer keeps its event
        finally:
            sock.close()
            self._room.release()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("op") == "ping":
            return {"ok": True, "model": self._opened is not None and self._opened.has_model}
        if request.get("op") == "event":
            self._opened = self._memory()
            return self._opened.take(request.get("event"), quiet=request.get("quiet") is True)
        if request.get("op") == "ask" and self._asked is not None:
            return self._asked(request)
        return {"ok": False, "error": "unknown request"}

    @staticmethod
    def _send(sock: socket.socket, answer: dict[str, Any]) -> None:
        sock.sendall(json.dumps(answer, separators=(",", ":")).encode() + b"\n")


def _read(sock: socket.socket) -> dict[str, Any] | None:
    """One line; a proxy sends nothing after it before it is answered."""
    data = b""
    while not data.endswith(b"\n"):
        chunk = sock.recv(65_536)
        if not chunk or len(data) > MOST_LINE:
            return None
        data += chunk
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
