"""Streamed imports to a server and exports from it, as lines of JSON; local files of any format are converted to
lines."""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from swarmlore.errors import Unavailable
from swarmlore.exchange import RECORDS, compat
from swarmlore.exchange.import_files import FOREIGN, NOTES, check_format, detect_format, is_end, write_lines
from swarmlore.exchange.import_stream import SENT
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.server.client.calls import decoded
from swarmlore.server.client.http import Connection, error_of, why
from swarmlore.workspace.files import opened
from swarmlore.workspace.jsonl import BadLine, dump

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from swarmlore.exchange.import_files import Brought
    from swarmlore.models.embedding import Progress


GIVEN = ("knowledge", "shared", "lane", "mcp-memory", "mem0")
WHOLE = ("mem0",)
PIECE_BYTES = 65_536
REFUSED_S = 0.2  # wait after the first piece for a server that refuses at once
WAIT_S = 120.0
AGAIN = "run it again: nothing is added twice"
LINE_BYTES = 4_000_000


def send(server: Connection, lines: Iterable[bytes], format: str, progress: Progress | None = None) -> Brought:
    """Send lines to /v1/import and return the result; `progress` gets the number of KB sent."""
    connection, headers = server.fresh()
    headers |= {"Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked"}
    with closing(connection):
        try:
            return _Import(connection).run(f"/v1/import?format={format}", headers, lines, progress)
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"the server was lost: {why(error)}", AGAIN) from error


class _Import:
    """One import: sends lines and reads the progress of the server meanwhile."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._answer: http.client.HTTPResponse | None = None
        self._at = 0

    def run(self, path: str, headers: dict[str, str], lines: Iterable[bytes], progress: Progress | None) -> Brought:
        self._connection.putrequest("POST", path)
        for name, value in headers.items():
            self._connection.putheader(name, value)
        self._connection.endheaders()
        self._sock.settimeout(WAIT_S)
        try:
            self._send_all(lines, progress)
        except ConnectionError:
            self._listen(0.0)  # raise the reason that a refusing server sent before it closed
            raise
        while (message := self._next()) is None or not message.get("done"):
            pass
        result: Brought = decoded("Brought", message["result"], "swarmlore.exchange.import_files")
        return result

    @property
    def _sock(self) -> socket.socket:
        sock: socket.socket = self._connection.sock
        return sock

    def _send_all(self, lines: Iterable[bytes], progress: Progress | None) -> None:
        sock, sent, wait_s = self._sock, 0, REFUSED_S
        for piece in _pieces(lines):
            sock.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            sent += len(piece)
            if progress:
                progress(sent // 1024, 0)
            self._listen(wait_s, sock)
            wait_s = 0.0
        sock.sendall(b"0\r\n\r\n")

    def _listen(self, wait_s: float, sock: socket.socket | None = None) -> None:
        """Read what the server has sent so far: it must never block on an unread answer."""
        if select.select([sock or self._sock], [], [], wait_s)[0]:
            self._next()

    def _next(self) -> dict[str, Any] | None:
        """Return the next line of the answer; raise the server's error."""
        if self._answer is None:
            self._answer = self._connection.getresponse()
            if self._answer.status != 200:
                raise error_of(self._answer.status, _parsed(self._answer.read(LINE_BYTES)))
            return None
        text = self._answer.readline(LINE_BYTES)
        if not text.endswith(b"\n"):
            raise Unavailable(f"the server was lost after line {self._at}", AGAIN)
        message = _parsed(text)
        if "error" in message:
            raise error_of(int(message.get("status", 500)), message)
        self._at = int(message.get("line", self._at))
        return message


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    held = bytearray()
    for line in lines:
        held += line
        if len(held) >= PIECE_BYTES:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


def check_given(format: str, *, private: bool) -> None:
    """Raise Unavailable if a server does not export this format."""
    if format not in GIVEN or private:
        what = "private memories are" if private else f"{format} is"
        raise Unavailable(f"{what} not given by a server", "one of: " + ", ".join(GIVEN) + "; or export it there")


def given(server: Connection, format: str) -> Iterator[bytes]:
    """Yield the lines of /v1/export, without the end line."""
    connection, headers = server.fresh()
    with closing(connection):
        try:
            connection.request("GET", f"/v1/export?format={format}", headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise error_of(answer.status, _parsed(answer.read(LINE_BYTES)))
            yield from _checked_lines(answer, whole=format in WHOLE)
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"the server was lost: {why(error)}", "ask again: some lines are missing") from error


def _checked_lines(answer: http.client.HTTPResponse, *, whole: bool) -> Iterator[bytes]:
    """Yield the lines; raise Unavailable if the end line is missing or its count differs. A `whole` document only has
    to end with a brace."""
    count, last = 0, b""
    for text in answer:
        if last:
            count += 1
            yield last
        last = text
    if whole and last.endswith(b"}\n"):
        yield last
        return
    mark = _parsed(last)
    if whole or not is_end(mark) or mark["count"] != count:
        raise Unavailable(f"the export was cut after {count} lines", "ask again")


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


PART_BYTES = 65_536
BLANK = b"\n"  # replaces an unreadable record, so that the later ones keep their line numbers


def send_file(server: Connection, path: str, format: str, progress: Progress | None) -> Brought:
    """Send a file's records; unreadable ones are listed with the refusals of the server."""
    check_format(format, NOTES)
    if os.path.isdir(path):
        raise Unavailable(
            f"{path} is a folder, and a server takes lines",
            "to import it here: env -u SWARMLORE_URL swarmlore import …",
        )
    with opened(path) as file:
        kind = detect_format(path, format, file)
        if kind not in SENT:
            raise Unavailable(
                f"{kind} cannot be sent to a server", "to import it here: env -u SWARMLORE_URL swarmlore import …"
            )
        size, problems = os.fstat(file.fileno()).st_size, list[tuple[int, str]]()
        lines = _records(kind, file, problems) if kind in FOREIGN else _raw_lines(file)
        result = send(server, lines, kind, _sized(progress, size))
    if not problems:
        return result
    refusals = tuple(sorted((*result.refusals, *problems)))
    return replace(result, read=result.read + len(problems), refused=result.refused + len(problems), refusals=refusals)


def _sized(progress: Progress | None, size: int) -> Progress | None:
    """Return a progress that knows the file size; lines of JSON may be longer than the records of the file."""
    if progress is None:
        return None
    return lambda sent, _: progress(min(sent, size // 1024), size // 1024)


def _raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file as they are; a longer line comes in parts of 64 KB."""
    while part := file.readline(PART_BYTES):
        yield part


def _records(kind: str, file: BinaryIO, problems: list[tuple[int, str]]) -> Iterator[bytes]:
    """Yield the records of a foreign format as lines of JSON; unreadable ones are added to `problems`."""
    for number, found in enumerate(compat(RECORDS).raw_records(kind, file), start=1):
        if isinstance(found, BadLine):
            problems.append((number, found.reason))
            yield BLANK
        else:
            yield dump(found) + b"\n"


def write_file(path: str, format: str, lines: Callable[[], Iterator[bytes]], *, overwrite: bool) -> int:
    """Write an export to a file, completely or not at all; return the number of memories."""
    counted = 0

    def counting() -> Iterator[bytes]:
        nonlocal counted
        for text in lines():
            counted += text.startswith(b"{")
            yield text

    write_lines(path, counting, overwrite=overwrite)
    return counted - (format in WHOLE)  # the first line opens the document and is no memory
