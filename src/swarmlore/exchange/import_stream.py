"""Import of lines that a client sends in batches, without a file.

Each batch is one transaction, so that its reported result is durable and other writers get their turn. Sending a batch
again adds nothing. The caller is accountable for the lines: see `as_sent_by` in `admit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.errors import InvalidInput
from swarmlore.exchange import RECORDS, compat
from swarmlore.exchange.import_files import OWN, TIERS, Brought, Import, Importer, check_switches, kind_of_record
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.store.database import Operation
from swarmlore.store.ledgers import ImportState
from swarmlore.workspace import jsonl
from swarmlore.workspace.jsonl import BadLine, Line

if TYPE_CHECKING:
    from typing import Any


SENT = (*OWN, "lane", "mcp-memory", "mem0", "lane-db", "agent-swarm")
REFUSALS_TOLD = 1_000
_COUNTED = ("read", "added", "updated", "revived", "quarantined", "removed", "known", "forgotten", "refused")


def lines_of(texts: Iterable[bytes], first: int) -> list[Line]:
    """Return numbered lines, without blank ones; a line that is too long is cut and marked as such."""
    lines = (Line(number, 0, len(text), text.rstrip(b"\r\n")) for number, text in enumerate(texts, start=first))
    return [_capped(line) for line in lines if line.raw.strip()]


def _capped(line: Line) -> Line:
    if len(line.raw) <= jsonl.LINE_BYTES:
        return line
    return Line(line.number, 0, line.end, line.raw[: jsonl.HEAD_BYTES], cut=True)


def check_sent(format: str) -> None:
    """Raise InvalidInput if lines of a format cannot be sent."""
    if format not in ("auto", *SENT):
        raise InvalidInput(f"{format[:40]} cannot be sent", "one of: " + ", ".join(("auto", *SENT)))


def kind_of(format: str, lines: Sequence[Line]) -> str:
    """Return the named format or, for `auto`, the one that the first readable record suggests."""
    if format != "auto":
        return format
    for line in lines:
        try:
            return kind_of_record(jsonl.parse(line)) or "knowledge"
        except BadLine:
            continue
    return ""


def take(
    importing: Importer, lines: Sequence[Line], format: str, operation: Operation, so_far: Brought | None
) -> Brought:
    """Store a batch of lines in one transaction; return its result added to that of the batches before."""
    kind = kind_of(so_far.format if so_far and so_far.format else format, lines)
    if kind not in ("", *SENT):
        raise InvalidInput(f"{kind} cannot be sent", "import the file on the server's machine: swarmlore import FILE")
    check_switches(importing._settings, hive=TIERS.get(kind, "swarm") == "hive")
    importer = SentLines if kind in ("", *OWN) else compat(RECORDS).SentRecords
    work = importer(importing, kind, operation, _state(so_far))
    if so_far is not None:
        work.go_on(so_far)
    work.take(lines)
    result = work.told()
    return replace(result, refusals=result.refusals[:REFUSALS_TOLD])


def _state(so_far: Brought | None) -> ImportState:
    names = (*_COUNTED, "redacted", "linked", "private")
    return ImportState(counts={name: getattr(so_far, name) for name in names} if so_far else {})


class SentLines(Import):
    """Import of sent lines in the format of `knowledge.jsonl` or `shared-learnings.jsonl`."""

    sent = True

    def __init__(self, importing: Importer, kind: str, operation: Operation, state: ImportState) -> None:
        super().__init__(importing, kind, operation, "", state)

    def go_on(self, so_far: Brought) -> None:
        """Start from the refusals and counts of the batches before."""
        self._refusals, self._hidden_by = list(so_far.refusals), dict(so_far.hidden_by)

    def take(self, lines: Sequence[Line]) -> None:
        """Parse and store a batch of lines."""
        chunk: list[tuple[Line, Any]] = []
        for line in lines:
            self._read_one(line, chunk)
        if chunk:
            self._take_in(chunk, durable=True)

    def _keep_place(self) -> None:
        """Store no position, since there is no file to continue."""
