"""Lines that are sent, a piece at a time: an import without a file.

Each piece is a transaction of its own, so that others write in between, and what was told about it is certain. Who
sends all of it again adds nothing. Lines are the words of whoever sends them: see `claims`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.errors import InvalidInput
from swarmlore.exchange.foreign import RECORDS, compat
from swarmlore.exchange.import_files import TIERS, Brought, Import, Importing, check_switches, kind_of_record
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.store.database import Operation
from swarmlore.store.ledgers import ImportState
from swarmlore.workspace import jsonl
from swarmlore.workspace.jsonl import BadLine, Line

if TYPE_CHECKING:
    from typing import Any


OWN = ("knowledge", "shared")
SENT = (*OWN, "lane", "mcp-memory", "mem0", "lane-db", "agent-swarm")
REFUSALS_TOLD = 1_000
_COUNTED = ("read", "added", "updated", "revived", "quarantined", "removed", "known", "forgotten", "refused")


def lines_of(texts: Iterable[bytes], first: int) -> list[Line]:
    """Lines with their numbers; blank ones are left out."""
    found = (Line(number, 0, len(text), text.rstrip(b"\r\n")) for number, text in enumerate(texts, start=first))
    return [_capped(line) for line in found if line.raw.strip()]


def _capped(line: Line) -> Line:
    if len(line.raw) <= jsonl.LINE_BYTES:
        return line
    return Line(line.number, 0, line.end, line.raw[: jsonl.HEAD_BYTES], cut=True)


def check_sent(format: str) -> None:
    if format not in ("auto", *SENT):
        raise InvalidInput(f"{format[:40]} cannot be sent", "one of: " + ", ".join(("auto", *SENT)))


def kind_of(format: str, lines: Sequence[Line]) -> str:
    """The format of lines: what was said, or what the first record looks like."""
    if format != "auto":
        return format
    for line in lines:
        try:
            return kind_of_record(jsonl.parse(line)) or "knowledge"
        except BadLine:
            continue
    return ""


def take(door: Importing, lines: Sequence[Line], format: str, operation: Operation, so_far: Brought | None) -> Brought:
    """Store these lines in one transaction; returns what became of them and of those before."""
    kind = kind_of(so_far.format if so_far and so_far.format else format, lines)
    if kind not in ("", *SENT):
        raise InvalidInput(f"{kind} cannot be sent", "import the file on the server's machine: swarmlore import FILE")
    check_switches(door._settings, hive=TIERS.get(kind, "swarm") == "hive")
    work = (SentLines if kind in ("", *OWN) else compat(RECORDS).SentRecords)(door, kind, operation, _state(so_far))
    if so_far is not None:
        work.go_on(so_far)
    work.take(lines)
    told = work.told()
    return replace(told, refusals=told.refusals[:REFUSALS_TOLD])


def _state(so_far: Brought | None) -> ImportState:
    names = (*_COUNTED, "redacted", "linked", "private")
    return ImportState(counts={name: getattr(so_far, name) for name in names} if so_far else {})


class SentLines(Import):
    """Our own lines."""

    sent = True

    def __init__(self, door: Importing, kind: str, operation: Operation, state: ImportState) -> None:
        super().__init__(door, kind, operation, "", state)

    def go_on(self, so_far: Brought) -> None:
        """Add to what was told before."""
        self._refusals, self._hidden_by = list(so_far.refusals), dict(so_far.hidden_by)

    def take(self, lines: Sequence[Line]) -> None:
        chunk: list[tuple[Line, Any]] = []
        for line in lines:
            self._read_one(line, chunk)
        if chunk:
            self._take_in(chunk, durable=True)

    def _keep_place(self) -> None:
        """There is no file to go on in."""
