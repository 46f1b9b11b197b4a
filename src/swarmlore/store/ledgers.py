"""What the store knows about files that it is kept in step with: ledgers in repositories, imports under way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from swarmlore.domain.records import Caller, Memory
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.sessions import Journal

if TYPE_CHECKING:
    from typing import Any

PAGE = 500


@frozen
class LedgerState:
    """Up to which change a ledger follows the store, how its files looked then, and what went wrong last."""

    seen: int = 0
    stamp: str = ""
    problem: str = ""
    at: float = 0.0


@frozen
class KnownLine:
    """A line as it was last written: its hash and where it stands; the whole line only where it is a deletion."""

    memory: str
    hash: str
    born_at: float
    line: str = ""


@frozen
class ImportState:
    """How far an import has come: bytes, lines, and what became of them."""

    position: int = 0
    line: int = 0
    counts: Mapping[str, Any] = {}


class Ledgers(Journal):
    """State of ledgers and imports, and the rows they need."""

    def ledger_state(self, place: str) -> LedgerState | None:
        rows = self.ask("get_ledger", place=place)
        return LedgerState(*rows[0]) if rows else None

    def put_ledger_state(self, place: str, project: str, state: LedgerState) -> None:
        values = {name: getattr(state, name) for name in ("seen", "stamp", "problem", "at")}
        with self.engine.writing(durable=False):
            self.ask("put_ledger", place=place, project=project, **values)

    def drop_ledger(self, place: str) -> None:
        """Forget everything about a ledger's files; the memories stay."""
        with self.engine.writing():
            self.ask("drop_ledger", place=place)
            self.ask("drop_ledger_lines", place=place)

    def ledger_lines(self, place: str) -> dict[str, KnownLine]:
        return {row[0]: KnownLine(*row) for row in self.ask("ledger_lines", place=place)}

    def put_ledger_lines(self, place: str, project: str, lines: Sequence[KnownLine]) -> None:
        names = ("memory", "hash", "born_at", "line")
        rows = [{"place": place, "project": project, **{n: getattr(line, n) for n in names}} for line in lines]
        self.ask_many("put_ledger_line", rows)

    def last_audit(self) -> int:
        return int(self.ask("last_audit")[0][0])

    def audited_since(self, partitions: Sequence[int], seen: int, limit: int) -> set[str]:
        """The ids of these partitions that were changed after a given audit row, some of them if there are more."""
        asked = {"partitions": list(partitions), "seen": seen, "limit": limit}
        return {str(row[0]) for row in self.ask("audited_since", **asked)}

    def erased_at(self, ids: Sequence[str]) -> dict[str, float]:
        return {str(id): float(at) for id, at in self.ask("erased_at", ids=list(ids))} if ids else {}

    def partitions_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Where ids are taken, whoever may see them; nothing else is told about them."""
        return {str(id): int(place) for id, place in self.ask("partitions_of_ids", ids=list(ids))} if ids else {}

    def by_ids(self, partitions: Sequence[int], ids: Sequence[str]) -> dict[str, Memory]:
        """Memories of these partitions by their ids, forgotten ones too."""
        found: dict[str, Memory] = {}
        for start in range(0, len(ids), PAGE):
            page = list(ids[start : start + PAGE])
            seqs = [int(row[0]) for row in self.ask("seqs_of_ids", ids=page, partitions=list(partitions))]
            found.update({memory.id: memory for memory in self.by_seqs(seqs).values()})
        return found

    def ids_among(self, partitions: Sequence[int], ids: Sequence[str]) -> set[str]:
        """Those of the ids that are memories of these partitions."""
        asked = {"ids": list(ids), "partitions": list(partitions)}
        return {str(row[1]) for row in self.ask("seqs_of_ids", **asked)} if ids else set()

    def in_order(self, partitions: Sequence[int]) -> Iterator[Memory]:
        """Every memory of these partitions by birth and id, a page at a time."""
        import heapq  # for exports only

        yield from heapq.merge(*map(self._in_order, partitions), key=lambda memory: (memory.created_at, memory.id))

    def _in_order(self, partition: int) -> Iterator[Memory]:
        at, id = -1e300, ""
        while page := self.ask("seqs_in_order", partition=partition, at=at, id=id, limit=PAGE):
            found = self.by_seqs([int(row[0]) for row in page])
            yield from (found[int(row[0])] for row in page if int(row[0]) in found)
            _, at, id = page[-1]

    def arrived(self, id: str) -> None:
        """Note that a memory was compared with its neighbours where it was written: not again here."""
        self.ask("add_arrived", id=id)

    def import_state(self, caller: Caller, source: str) -> ImportState | None:
        self.act_for(caller)
        rows = self.ask("get_import", source=source)
        return ImportState(int(rows[0][0]), int(rows[0][1]), json.loads(rows[0][2])) if rows else None

    def put_import(self, caller: Caller, source: str, state: ImportState, at: float) -> None:
        counts = json.dumps(dict(state.counts))
        values = {"position": state.position, "line": state.line, "counts": counts, "at": at}
        self.ask("put_import", source=source, project=caller.project, **values)

    def drop_import(self, caller: Caller, source: str) -> None:
        self.act_for(caller)
        with self.engine.writing():
            self.ask("drop_import", source=source)
