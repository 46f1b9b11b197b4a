"""The records in a transcript's file, one at a time; a line that is none is counted and passed over."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace.files import MISSING, open_own
from swarmlore.workspace.jsonl import lines

if TYPE_CHECKING:
    from typing import Any, BinaryIO

LINE_BYTES = 4_000_000  # a longer record holds a picture or a file
_SKIP_BYTES = 65_536


class Tally:
    """Counts what a reader met: lines, those it could not use and why, and why it read nothing at all.

    `busy` says that another time it may be read, `missing` that there is no such file.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.skipped: dict[str, int] = {}
        self.refused = ""
        self.busy = False

    @property
    def missing(self) -> bool:
        return self.refused == MISSING

    def skip(self, why: str) -> None:
        self.skipped[why] = self.skipped.get(why, 0) + 1


def open_transcript(path: str, suffix: str) -> tuple[BinaryIO | None, str]:
    """The file, or nothing and why; the path may come from a payload."""
    if not os.path.isabs(path) or not path.endswith(suffix):
        return None, "not the path of a transcript"
    return open_own(path)


def records(file: BinaryIO, most_bytes: int, tally: Tally) -> Iterator[dict[str, Any]]:
    """Every record in the last so many bytes of a file, one at a time; what is none is counted."""
    size = os.fstat(file.fileno()).st_size
    begin = max(0, size - most_bytes)
    if begin:
        tally.skip("before the part that is read")
        begin = _next_line(file, begin)
    for line in lines(file, offset=begin, cap=LINE_BYTES):
        if line.offset >= size:  # somebody writes faster than we read
            return
        tally.lines += 1
        record, why = (None, "too long") if line.cut else parse(line.raw)
        if record is None:
            tally.skip(why)
        else:
            yield record


def _next_line(file: BinaryIO, begin: int) -> int:
    """Go to the first line that begins after a place, without keeping what is before it."""
    file.seek(begin - 1)
    while (part := file.readline(_SKIP_BYTES)) and not part.endswith(b"\n"):
        pass
    return file.tell()


def parse(raw: bytes) -> tuple[dict[str, Any] | None, str]:
    """The JSON object of a line, or nothing and why."""
    if b"\0" in raw:
        return None, "binary"
    try:
        value = json.loads(raw.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None, "not JSON"
    return (value, "") if isinstance(value, dict) else (None, "not an object")


def tail(file: BinaryIO, most_bytes: int) -> tuple[list[bytes], bool]:
    """The last lines of a file, last first, and whether these are all; one that is not whole is left out."""
    begin = max(0, os.fstat(file.fileno()).st_size - most_bytes)
    file.seek(begin)
    found = file.read(most_bytes).split(b"\n")
    return (found[:0:-1], False) if begin else (found[::-1], True)
