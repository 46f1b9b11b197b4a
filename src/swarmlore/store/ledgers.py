"""State of files the store is synchronised with: ledgers in repositories, and imports under way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from swarmlore.domain.records import Caller, Memory
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.sessions import SessionStore

if TYPE_CHECKING:
    from typing import Any

PAGE = 500


@frozen
class LedgerState:
    """How far a ledger follows the store (last audit row), its files' stamp at that time, and the last problem."""

    seen: int = 0
    stamp: str = ""
    problem: str = ""
    at: float = 0.0


@frozen
class KnownLine:
    """A ledger line as last written: its hash and memory; the whole line only if it is a deletion."""

    memory: str
    hash: str
    born_at: float
    line: str = ""


@frozen
class ImportState:
    """Progress of an import: position in bytes, line number, and counts of the results."""

    position: int = 0
    line: int = 0
    counts: Mapping[str, Any] = {}


class Ledgers(SessionStore):
    """The methods of `Store` for ledgers and imports."""

    def ledger_state(self, place: str) -> LedgerState | None:
        """Return the state of the ledger in a place, or None."""
        rows = self.ask("get_ledger", place=place)
        return LedgerState(*rows[0]) if rows else None

    def put_ledger_state(self, place: str, project: str, state: LedgerState) -> None:
        """Store the state of a ledger."""
        values = {name: getattr(state, name) for name in ("seen", "stamp", "problem", "at")}
        with self.engine.writing(durable=False):
            self.ask("put_ledger", place=place, project=project, **values)

    def drop_ledger(self, place: str) -> None:
        """Forget the state of a ledger; its memories stay."""
        with self.engine.writing():
            self.ask("drop_ledger", place=place)
            self.ask("drop_ledger_lines", place=place)

    def ledger_lines(self, place: str) -> dict[str, KnownLine]:
        """Return the known lines of a ledger by memory."""
        return {row[0]: KnownLine(*row) for row in self.ask("ledger_lines", place=place)}

    def put_ledger_lines(self, place: str, project: str, lines: Sequence[KnownLine]) -> None:
        """Store lines of a ledger as they were written."""
        names = ("memory", "hash", "born_at", "line")
        rows = [{"place": place, "project": project, **{n: getattr(line, n) for n in names}} for line in lines]
        self.ask_many("put_ledger_line", rows)

    def last_audit(self) -> int:
        """Return the number of the newest audit row."""
        return int(self.ask("last_audit")[0][0])

    def audited_since(self, partitions: Sequence[int], seen: int, limit: int) -> set[str]:
        """Return ids in these partitions that were changed after an audit row, at most `limit`."""
        asked = {"partitions": list(partitions), "seen": seen, "limit": limit}
        return {str(row[0]) for row in self.ask("audited_since", **asked)}

    def erased_at(self, ids: Sequence[str]) -> dict[str, float]:
        """Return when each of these ids was erased, leaving out the others."""
        return {str(id): float(at) for id, at in self.ask("erased_at", ids=list(ids))} if ids else {}

    def partitions_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the partitions of existing ids, regardless of visibility; nothing else about them is revealed."""
        return {str(id): int(place) for id, place in self.ask("partitions_of_ids", ids=list(ids))} if ids else {}

    def by_ids(self, partitions: Sequence[int], ids: Sequence[str]) -> dict[str, Memory]:
        """Return memories of these partitions by their ids, forgotten ones too."""
        found: dict[str, Memory] = {}
        for start in range(0, len(ids), PAGE):
            page = list(ids[start : start + PAGE])
            seqs = [int(row[0]) for row in self.ask("seqs_of_ids", ids=page, partitions=list(partitions))]
            found.update({memory.id: memory for memory in self.by_seqs(seqs).values()})
        return found

    def ids_among(self, partitions: Sequence[int], ids: Sequence[str]) -> set[str]:
        """Return those of the ids that are memories of these partitions."""
        asked = {"ids": list(ids), "partitions": list(partitions)}
        return {str(row[1]) for row in self.ask("seqs_of_ids", **asked)} if ids else set()

    def in_order(self, partitions: Sequence[int]) -> Iterator[Memory]:
        """Yield every memory of these partitions by creation time and id, a page at a time."""
        import heapq  # for exports only

        yield from heapq.merge(*map(self._in_order, partitions), key=lambda memory: (memory.created_at, memory.id))

    def _in_order(self, partition: int) -> Iterator[Memory]:
        at, id = -1e300, ""
        while page := self.ask("seqs_in_order", partition=partition, at=at, id=id, limit=PAGE):
            found = self.by_seqs([int(row[0]) for row in page])
            yield from (found[int(row[0])] for row in page if int(row[0]) in found)
            _, at, id = page[-1]

    def arrived(self, id: str) -> None:
        """Note that a memory was compared with its neighbours where it was written, so that it is not compared here."""
        self.ask("add_arrived", id=id)

    def import_state(self, caller: Caller, source: str) -> ImportState | None:
        """Return the progress of an import from a source, or None."""
        self.act_for(caller)
        rows = self.ask("get_import", source=source)
        return ImportState(int(rows[0][0]), int(rows[0][1]), json.loads(rows[0][2])) if rows else None

    def put_import(self, caller: Caller, source: str, state: ImportState, at: float) -> None:
        """Store the progress of an import; part of a transaction."""
        counts = json.dumps(dict(state.counts))
        values = {"position": state.position, "line": state.line, "counts": counts, "at": at}
        self.ask("put_import", source=source, project=caller.project, **values)

    def drop_import(self, caller: Caller, source: str) -> None:
        """Forget the progress of an import."""
        self.act_for(caller)
        with self.engine.writing():
            self.ask("drop_import", source=source)
