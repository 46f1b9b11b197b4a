"""What a report counts, read from one store for one caller: named statements and their sight, nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from swarmlore.domain.records import Caller
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store.memories import from_json
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row


PAGE = 2_000
GROUPS = 10_000  # of rows that share a key, read at once
COMMON = 20  # a shingle that more rows share says nothing about any two of them


class Figures:
    """Rows for a report. An agent reads its own receipts, a lead or a person those of the project, and a person who
    asks for all projects those of all."""

    def __init__(self, store: Store, caller: Caller, *, all_projects: bool = False) -> None:
        self._store = store
        self.wide = all_projects and caller.role == "person"
        self.partitions = store.visible(caller, all_projects=all_projects)
        self.names = frozenset(store.names_of(caller.project))
        self._sight = {
            "projects": sorted(self.names),
            "wide": int(self.wide),
            "agent": caller.agent,
            "every": int(caller.leads),
        }

    def first_time(self) -> float | None:
        """When the first memory was made or the first block asked for."""
        times = self._store.ask("first_times", partitions=self.partitions, **self._sight)[0]
        return min((float(at) for at in times if at is not None), default=None)

    def memories(self) -> Iterator[Row]:
        """seq, id, handle, partition, project, tier, kind, source, status, created_at, updated_at, valid_until,
        forgotten_at, expires_at, title, text, outcomes."""
        after = 0
        while found := self._store.ask("memory_figures", partitions=self.partitions, after=after, limit=PAGE):
            for row in found:
                more = from_json(row[-1]) if '"outcomes"' in row[-1] else {}
                yield (*row[:-1], more.get("outcomes") or {})
            after = found[-1][0]

    def moments(self, since: float, start: float, length: float) -> list[Row]:
        """project, period, trigger, reason, given, moments, tokens, last time."""
        span = {"since": since, "start": start, "length": length, "partitions": self.partitions}
        return self._store.ask("moments_by_period", **span, **self._sight)

    def showings(self, since: float, start: float, length: float) -> list[Row]:
        """memory, project, period, times, tokens, last time."""
        span = {"since": since, "start": start, "length": length, "partitions": self.partitions}
        return self._store.ask("showings_by_period", **span, **self._sight)

    def cuts(self, since: float) -> list[Row]:
        """memory, reason, times in all, times since then."""
        return self._store.ask("cuts_by_reason", since=since, partitions=self.partitions, **self._sight)

    def ratings(self, since: float, start: float, length: float) -> list[Row]:
        """memory, action, project, period, times in all, times that are the caller's to count."""
        span = {"since": since, "start": start, "length": length, "partitions": self.partitions}
        who = {name: self._sight[name] for name in ("agent", "every")}
        return self._store.ask("ratings_by_period", **span, **who)

    def outcomes(self, since: float) -> Iterator[tuple[float, str, str, str, dict[str, Any]]]:
        """at, project, session, verdict, and what else was told."""
        after = 0
        while found := self._store.ask("outcomes_since", after=after, since=since, limit=PAGE, **self._sight):
            for _, at, project, session, verdict, more in found:
                yield float(at), project, session, verdict, from_json(more)
            after = found[-1][0]

    def sessions(self, since: float) -> Iterator[tuple[str, str, float, tuple[str, ...], bool]]:
        """id, project, start, handles mentioned in it, whether a block was ever asked for."""
        for id, project, started_at, extra, asked in self._store.ask("sessions_since", since=since, **self._sight):
            listed = from_json(extra).get("cited", ())
            handles = tuple(map(str, listed)) if isinstance(listed, (list, tuple)) else ()
            yield id, project, float(started_at), handles, bool(asked)

    def known(self, handles: Collection[str], ids: Collection[str]) -> tuple[dict[str, str], set[str]]:
        """Those of some handles and ids that name a memory: ids by handle, and ids."""
        named: dict[str, str] = {}
        for page in _pages(handles):
            found = self._store.ask("ids_of_handles", partitions=self.partitions, handles=page)
            named |= {str(handle): str(id) for handle, id in found}
        listed = (self._store.ask("seqs_of_ids", partitions=self.partitions, ids=page) for page in _pages(ids))
        return named, {str(id) for rows in listed for _, id in rows}

    def alike(self) -> Iterator[list[int]]:
        """Rows of one partition that share a key under which near-duplicates meet, a few at a time."""
        for partition in self.partitions:
            asked = {"partition": partition, "most": COMMON, "limit": GROUPS}
            after = -(2**63)
            while found := self._store.ask("shared_shingles", **asked, after=after):
                yield from (sorted(map(int, listed.split(","))) for _, listed in found)
                after = int(found[-1][0])

    def texts(self, seqs: list[int]) -> dict[int, str]:
        """Whole texts by row."""
        found: dict[int, str] = {}
        for first in range(0, len(seqs), PAGE):
            asked = self._store.ask("texts_of", seqs=seqs[first : first + PAGE])
            found |= {int(seq): str(text) for seq, text in asked}
        return found


def _pages(items: Collection[str]) -> Iterator[list[str]]:
    ordered = sorted(items)
    return (ordered[start : start + PAGE] for start in range(0, len(ordered), PAGE))
