"""Streams of any length: `POST /v1/import` and `GET /v1/export`.

Imported lines are stored a few at a time; meanwhile no more is read from the network, and other writes run in between.
Everything that an answer has counted is on disk. Both streams end with a final line; if it is missing, the stream was
cut.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs

from swarmlore.domain.json_codec import plain
from swarmlore.domain.language.display import choices_hint
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.exchange.import_files import end_line
from swarmlore.exchange.import_stream import SENT, check_sent
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.http.app import Route, soon
from swarmlore.server.http.body import FIXED, TooSlow, Turned, check_type, told
from swarmlore.workspace.jsonl import LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from swarmlore.exchange.import_files import Brought
    from swarmlore.lore import Lore
    from swarmlore.server.http.app import App, Request
    from swarmlore.server.service import Backend


BOM = b"\xef\xbb\xbf"


class Splitter:
    """Splits parts of any size into whole lines; holds one line at most."""

    def __init__(self, cap: int = LINE_BYTES) -> None:
        self._most = cap + 1  # one byte more, so that the reader sees that the line is too long
        self._held = bytearray()
        self._begun = False

    def feed(self, part: bytes) -> list[bytes]:
        """Return the lines that end in this part."""
        *ended, rest = part.split(b"\n")
        found = []
        for piece in ended:
            self._hold(piece)
            found.append(self._whole())
        self._hold(rest)
        return found

    def rest(self) -> list[bytes]:
        """Return the last line, if it has no line end."""
        return [self._whole()] if self._held else []

    def _hold(self, piece: bytes) -> None:
        if (room := self._most - len(self._held)) > 0:
            self._held += piece[:room]

    def _whole(self) -> bytes:
        line = bytes(self._held)
        self._held.clear()
        if not self._begun:
            self._begun, line = True, line.removeprefix(BOM)
        return line


NDJSON = b"application/x-ndjson"
IMPORTED = ("auto", *SENT)
EXPORTED = ("knowledge", "shared", "lane", "mcp-memory", "mem0")  # mem0 is one JSON document with its own end
WHOLE = ("mem0",)
IDLE_S = 30.0  # without a byte in either direction
WAIT_S = 60.0  # for a queued write
WRITE_S = 0.012  # CPU time of one write, for which other writers wait; more on a busy machine
FEWEST, MOST = 5, 100  # lines of one write
TELL_S, TELL_SELDOM_S = 1.0, 10.0  # between two progress lines, which the client may never read
MOST_STREAMS, MOST_OF_ONE = 8, 2  # at the same time
PIECE_BYTES = 65_536
COUNTS = ("read", "added", "updated", "known", "refused")


def add(app: App, backend: Backend) -> None:
    """Add the routes for import and export."""
    limit = StreamLimit()

    async def receive_import(request: Request) -> None:
        format = _format(request, IMPORTED, "auto")
        check_type(request.scope, NDJSON)
        with limit.taken(request.token.id):
            await Import(backend, request, format, app.ending).run()

    async def send_export(request: Request) -> None:
        format = _format(request, EXPORTED, "knowledge")
        with limit.taken(request.token.id):
            await _export(backend, request, format, app.ending)

    app.routes.append(Route("POST", "/v1/import", receive_import))
    app.routes.append(Route("GET", "/v1/export", send_export))


class StreamLimit:
    """Limits the concurrent streams, in total and per token, as each holds a connection for long."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, token: str) -> Iterator[None]:
        """Context manager that counts a stream; raises 503 if there are too many."""
        if self._taken[token] >= MOST_OF_ONE or self._taken.total() >= MOST_STREAMS:
            raise Turned(503, "too many imports and exports at once", "try again later", (b"retry-after", b"5"))
        self._taken[token] += 1
        try:
            yield
        finally:
            self._taken[token] -= 1


def _format(request: Request, known: tuple[str, ...], usual: str) -> str:
    """Return the format from the query string; raise InvalidInput for an unknown one."""
    asked = parse_qs(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if strange := sorted(set(asked) - {"format"}):
        raise InvalidInput(f"unknown parameter: {strange[0][:40]!r}", "this path takes ?format=")
    named: list[str] = asked.get("format", [usual])
    if len(named) != 1 or named[0] not in known:
        raise InvalidInput(f"unknown format: {named[0][:40]!r}", choices_hint(named[0][:40], known))
    return named[0]


class Import:
    """One import in progress."""

    def __init__(self, backend: Backend, request: Request, format: str, ending: asyncio.Event) -> None:
        check_sent(format)
        self._ending = asyncio.ensure_future(ending.wait())
        self._backend, self._request, self._format = backend, request, format
        self._splitter = Splitter()
        self._result: Brought | None = None
        self._stored = 0  # lines, blank ones too
        self._size = FEWEST
        self._next_at, self._pause_s = time.monotonic() + TELL_S, TELL_S

    async def run(self) -> None:
        """Receive and store all lines, and answer with counts."""
        try:
            begun = await self._receive()
            await _begin_answer(self._request, NDJSON)
            await _send_line(self._request, await self._outcome(begun), more=False)
        finally:
            self._ending.cancel()

    async def _outcome(self, begun: dict[str, Any]) -> dict[str, Any]:
        """Store all lines and return the last line of the answer: the result, or the error and the counts."""
        try:
            return await self._store_all(begun)
        except SwarmloreError as error:
            return {**told(error), "status": error.http_status, **self._counts()}

    async def _store_all(self, message: dict[str, Any]) -> dict[str, Any]:
        waiting: list[bytes] = []
        try:
            while True:
                waiting += self._splitter.feed(message.get("body", b""))
                if last := not message.get("more_body"):
                    waiting += self._splitter.rest()
                waiting = await self._store(waiting, all=last)
                if last:
                    break
                message = await self._receive()
        except SwarmloreError:
            self._finish()
            raise
        done = await soon(self._finish(), WAIT_S)
        return {
            "done": True,
            "result": {**plain(done), "resumed_at": 0},
        }  # a line number, which `plain` would format as a time

    async def _receive(self) -> dict[str, Any]:
        coming = asyncio.ensure_future(self._request.receive())
        try:
            await asyncio.wait({coming, self._ending}, timeout=IDLE_S, return_when=asyncio.FIRST_COMPLETED)
            if self._ending.done():
                raise Turned(503, "this server is ending", "send all of it again: nothing is added twice")
            if not coming.done():
                raise TooSlow("no more lines came", f"send some every {IDLE_S:g} s, and an end")
            message = coming.result()
        finally:
            coming.cancel()
        if message["type"] == "http.disconnect":
            raise TooSlow("the lines ended early", "send all of them again: nothing is added twice")
        return message

    async def _store(self, waiting: list[bytes], *, all: bool) -> list[bytes]:
        """Store lines in short writes; return those that are too few for one."""
        while len(waiting) >= self._size or (all and waiting):
            piece, waiting = waiting[: self._size], waiting[self._size :]
            self._result, took_s = await soon(self._write(piece), WAIT_S)
            self._stored += len(piece)
            self._size = min(MOST, max(FEWEST, int(len(piece) * WRITE_S / max(took_s, 0.0001))))
            await self._report_progress()
        return waiting

    def _write(self, piece: list[bytes]) -> Any:
        """Queue a write of some lines; it returns the result and the CPU time."""
        facts: dict[str, Any] = {"first": self._stored + 1, "so_far": self._result, "more": True}

        def work(lore: Lore) -> tuple[Brought, float]:
            began = time.thread_time()
            done = lore.import_lines(piece, self._format, **facts)
            return done, time.thread_time() - began

        return self._backend.write(self._request.token, work)

    def _finish(self) -> Any:
        """Queue the work that follows an import, also after one that was cut."""
        so_far = self._result
        return self._backend.write(self._request.token, lambda lore: lore.import_lines((), self._format, so_far=so_far))

    async def _report_progress(self) -> None:
        if time.monotonic() < self._next_at:
            return
        await _send_line(self._request, self._counts(), more=True)
        self._pause_s = min(TELL_SELDOM_S, 1.5 * self._pause_s)
        self._next_at = time.monotonic() + self._pause_s

    def _counts(self) -> dict[str, Any]:
        counted = {name: getattr(self._result, name) for name in COUNTS} if self._result else {}
        return {"line": self._stored, **counted}


async def _export(backend: Backend, request: Request, format: str, ending: asyncio.Event) -> None:
    lores = await asyncio.to_thread(backend.open_connection)
    disconnected = asyncio.ensure_future(_disconnected(request))
    try:
        pieces = _pieces(lores.of(request.token).export_lines(format), format)
        piece = await asyncio.to_thread(next, pieces)  # an immediate error gets its own status
        await _begin_answer(request, b"application/json" if format in WHOLE else NDJSON)
        while piece and not disconnected.done():
            if ending.is_set() or not await _send(request, piece, more=True):
                break  # without the end line, so that the client sees that it was cut
            piece = await asyncio.to_thread(next, pieces)
        await _send(request, b"", more=False)
    finally:
        disconnected.cancel()
        await asyncio.shield(asyncio.to_thread(lores.lore.close))


async def _disconnected(request: Request) -> None:
    with suppress(ConnectionError):
        while (await request.receive())["type"] != "http.disconnect":
            pass


def _pieces(lines: Iterator[bytes], format: str) -> Iterator[bytes]:
    """Yield the lines in chunks of 64 KB, then the end line; an empty chunk marks the end."""
    held, count = bytearray(), 0
    for line in lines:
        held += line
        count += 1
        if len(held) >= PIECE_BYTES:
            yield bytes(held)
            held.clear()
    yield bytes(held) + (b"" if format in WHOLE else end_line(count))
    yield b""


async def _begin_answer(request: Request, kind: bytes) -> None:
    headers = [*FIXED, (b"content-type", kind), (b"x-accel-buffering", b"no")]
    await request.send({"type": "http.response.start", "status": 200, "headers": headers})


async def _send_line(request: Request, document: dict[str, Any], *, more: bool) -> None:
    line = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    await _send(request, line + b"\n", more=more)


async def _send(request: Request, data: bytes, *, more: bool) -> bool:
    """Send data; return False if the client does not read it in time."""
    try:
        async with asyncio.timeout(IDLE_S):
            await request.send({"type": "http.response.body", "body": data, "more_body": more})
    except TimeoutError:
        return False
    return True
