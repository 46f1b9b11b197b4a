"""HTTP connections with limits in time and number, so that slow or silent clients block nobody.

uvicorn waits forever for the head of a request, for the rest of a refused body, and for a client that does not read its
answer. Here each of these times out. When all places are taken, the connection that has been idle longest is dropped.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.http.body import FIXED, JSON
from swarmlore.server.http.guard import MOST_HEAD

if TYPE_CHECKING:
    from typing import Any


HEAD_S = 10.0  # for the head of a request
REST_S = 2.0  # for the rest of a body that was answered already
READ_S = 30.0  # for a client to read on
MOST_LINES = 2_000
SPARE_FILES = 128  # file descriptors for everything but connections
_NO_HTTP = {
    "error": "that is no HTTP request",
    "hint": "send HTTP/1.1, with a head of less than 64 KB",
    "code": "INVALID_INPUT",
}


class JoiningTransport:
    """A transport that sends the head of an answer with the first part of its body: each packet wakes the reader, and
    sending is a third of an answer's cost. A head without a body part in the same loop step is sent alone."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Hold back the head of an answer until the next write."""
        if self._head or not data.startswith(b"HTTP/1.1 "):
            head, self._head = self._head, b""
            self._transport.write(head + data)
        else:
            self._head = data
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        if self._head:
            self.write(b"")

    def close(self) -> None:
        """Send what was held back, then close."""
        self._send()
        self._transport.close()


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn protocol of one connection, with timeouts for head, body and reading."""

    most = MOST_LINES

    def __init__(self, *args: Any, **facts: Any) -> None:
        super().__init__(*args, **facts)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._since = 0.0
        self._in_head = False
        self._head_size = 0
        self._upgraded_head = b""

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered on this connection."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = JoiningTransport(transport, self.loop)  # type: ignore[assignment]
        self._since = self.loop.time()
        self._drop_after("head", HEAD_S)
        if len(self.connections) > self.most:
            self._make_room()

    def _make_room(self) -> None:
        """Drop the idle connection that has waited longest, or this one."""
        others = (other for other in self.connections if isinstance(other, LimitedProtocol) and other is not self)
        oldest = min((other for other in others if other.is_idle), key=lambda other: other._since, default=self)
        oldest.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._timers):
            self._cancel(name)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._head_size += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self.send_400_response("")
        if self._in_head and self._head_size > MOST_HEAD and not self.transport.is_closing():
            self.send_400_response("")
        if self.is_idle and self._in_head:
            self._drop_after("head", HEAD_S)
        elif self.is_idle:
            self._drop_after("rest", self.timeout_keep_alive)

    def _feed(self, data: bytes) -> None:
        """Parse bytes. A request with an Upgrade header (some libraries offer h2c by default) is answered in HTTP/1.1:
        the parser would take its body for the other protocol, so it is parsed again without that header."""
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                head, self._upgraded_head = self._upgraded_head, b""
                data = head + data[upgrade.args[0] :] if head else b""

    def _without_upgrade(self) -> bytes:
        """Return the head that was just parsed, without its upgrade headers."""
        lines = [self.parser.get_method() + b" " + self.url + b" HTTP/" + self.parser.get_http_version().encode()]
        lines += [name + b": " + value for name, value in self.headers if name not in (b"connection", b"upgrade")]
        close = any(b"close" in value.lower() for name, value in self.headers if name == b"connection")
        return b"\r\n".join([*lines, *([b"connection: close"] if close else []), b"", b""])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._cancel("rest")
        if self.is_idle:
            self._since = self.loop.time()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._cancel("head")
        if not self.url.startswith(b"/"):  # the parser accepts absolute URLs, whose host name was not checked
            raise ValueError("that is no path")
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._upgraded_head = self._without_upgrade()
            return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head_size = 0
        if self._upgraded_head:
            return
        self._cancel("rest")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        if self.is_idle and self.cycle.more_body:
            self._drop_after("rest", REST_S)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._drop_after("read", READ_S)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel("read")

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request in our error format; if an answer has begun already, only close the connection."""
        if not self.is_idle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.is_idle or not self.cycle.response_started:
            data = json.dumps(_NO_HTTP).encode()
            headers = [
                *FIXED,
                (b"content-type", JSON),
                (b"content-length", b"%d" % len(data)),
                (b"connection", b"close"),
            ]
            lines = [name + b": " + value + b"\r\n" for name, value in headers]
            self.transport.write(b"".join((STATUS_LINE[400], *lines, b"\r\n", data)))
        self.transport.close()

    def drop(self) -> None:
        """Abort the connection at once, whatever is still to be read or written."""
        self.transport.abort()

    def _drop_after(self, name: str, seconds: float) -> None:
        """Drop the connection after `seconds` unless `_cancel` cancels that timer."""
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, self.drop)

    def _cancel(self, name: str) -> None:
        """Cancel a timer."""
        if timer := self._timers.pop(name, None):
            timer.cancel()


def make_room() -> None:
    """Raise the limit of open files, and set the number of connections by it: 2,000 at most."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_LINES + SPARE_FILES
    if soft < wanted and soft != resource.RLIM_INFINITY:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    LimitedProtocol.most = max(16, min(MOST_LINES, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES))
