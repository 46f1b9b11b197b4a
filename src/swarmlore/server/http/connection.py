"""Connections with limits in time and number: whoever is slow, silent or many keeps nobody else out.

uvicorn waits forever for the head of a request, for the rest of a body that was refused, and for somebody who does not
read an answer. Here each of these ends. Where all places are taken, whoever has waited longest without a whole request
makes room.
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
REST_S = 2.0  # for what still comes of a body that was answered already
READ_S = 30.0  # for somebody to read on
MOST_LINES = 2_000
SPARE_FILES = 128  # that the process opens beside its connections
_NO_HTTP = {
    "error": "that is no HTTP request",
    "hint": "send HTTP/1.1, with a head of less than 64 KB",
    "code": "INVALID_INPUT",
}


class Joined:
    """A transport that sends the head of an answer with the first part of its body: each packet wakes whoever reads,
    and sending them is a third of what an answer costs. A head that nothing follows at once goes alone."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
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
        self._send()
        self._transport.close()


class Line(HttpToolsProtocol):
    """One connection."""

    most = MOST_LINES

    def __init__(self, *args: Any, **facts: Any) -> None:
        super().__init__(*args, **facts)
        self._ends: dict[str, asyncio.TimerHandle] = {}
        self._since = 0.0
        self._in_head = False
        self._head_size = 0
        self._offer = b""

    @property
    def waits(self) -> bool:
        """Whether nothing is being done for it."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = Joined(transport, self.loop)  # type: ignore[assignment]
        self._since = self.loop.time()
        self._end_after("head", HEAD_S)
        if len(self.connections) > self.most:
            self._make_room()

    def _make_room(self) -> None:
        waiting = [line for line in self.connections if isinstance(line, Line) and line.waits and line is not self]
        oldest = min(waiting, key=lambda line: line._since, default=self)
        oldest.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._ends):
            self._go_on(name)
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
        if self.waits and self._in_head:
            self._end_after("head", HEAD_S)
        elif self.waits:
            self._end_after("rest", self.timeout_keep_alive)

    def _feed(self, data: bytes) -> None:
        """Who offers another protocol (h2c by default in some libraries) is answered in this one. The parser takes what
        follows such a head for that protocol, a body too, so it is read again without the offer."""
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as offer:
                head, self._offer = self._offer, b""
                data = head + data[offer.args[0] :] if head else b""

    def _without_offer(self) -> bytes:
        """The head that was just read, as if nothing had been offered."""
        lines = [self.parser.get_method() + b" " + self.url + b" HTTP/" + self.parser.get_http_version().encode()]
        lines += [name + b": " + value for name, value in self.headers if name not in (b"connection", b"upgrade")]
        close = any(b"close" in value.lower() for name, value in self.headers if name == b"connection")
        return b"\r\n".join([*lines, *([b"connection: close"] if close else []), b"", b""])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._go_on("rest")
        if self.waits:
            self._since = self.loop.time()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._go_on("head")
        if not self.url.startswith(b"/"):  # the parser takes whole addresses as well, whose name nobody has looked at
            raise ValueError("that is no path")
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._offer = self._without_offer()
            return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head_size = 0
        if self._offer:
            return
        self._go_on("rest")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        if self.waits and self.cycle.more_body:
            self._end_after("rest", REST_S)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._end_after("read", READ_S)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._go_on("read")

    def send_400_response(self, msg: str) -> None:
        """In our words; where an answer is under way already, the connection just ends."""
        if not self.waits:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.waits or not self.cycle.response_started:
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
        """End the connection at once, whatever is still to be read or written."""
        self.transport.abort()

    def _end_after(self, name: str, seconds: float) -> None:
        if name not in self._ends:
            self._ends[name] = self.loop.call_later(seconds, self.drop)

    def _go_on(self, name: str) -> None:
        if timer := self._ends.pop(name, None):
            timer.cancel()


def make_room() -> None:
    """As many connections as the system allows files, up to our own limit."""
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
    Line.most = max(16, min(MOST_LINES, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES))
