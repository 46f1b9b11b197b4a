"""The queries behind `swarmlore report`, for one store and one caller's visibility."""

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
GROUPS = 10_000  # groups of rows with a shared key, read at once
COMMON = 20  # a shingle shared by more rows says nothing about any two of them


class Figures:
    """The rows of a report. An agent reads its own receipts, a lead or a person those of the project, and with
    `all_projects` a person those of all."""

    def __init__(self, store: Store, caller: Caller, *, all_projects: bool = False) -> None:
        self._store = store
        self.wide = all_projects and caller.role == "person"
        self.partitions = store.visible(caller, all_projects=all_projects)
        self.names = frozenset(store.names_of(caller.project))
        self._caller = {
            "projects": sorted(self.names),
            "wide": int(self.wide),
            "agent": caller.agent,
            "every": int(caller.leads),
        }

    def first_time(self) -> float | None:
        """Return when the first memory was created or the first context block requested."""
        times = self._store.ask("first_times", partitions=self.partitions, **self._caller)[0]
        return min((float(at) for at in times if at is not None), default=None)

    def memories(self) -> Iterator[Row]:
        """Yield (seq, id, handle, partition, project, tier, kind, source, status, created_at, updated_at, valid_until,
        forgotten_at, expires_at, title, text, outcomes) of each memory."""
        after = 0
        while found := self._store.ask("memory_figures", partitions=self.partitions, after=after, limit=PAGE):
            for row in found:
                more = from_json(row[-1]) if '"outcomes"' in row[-1] else {}
                yield (*row[:-1], more.get("outcomes") or {})
            after = found[-1][0]

    def moments(self, since: float, start: float, length: float) -> list[Row]:
        """Return (project, period, trigger, reason, given, moments, tokens, last time) of context blocks."""
        span = {"since": since, "start": start, "length": length, "partitions": self.partitions}
        return self._store.ask("moments_by_period", **span, **self._caller)

    def showings(self, since: float, start: float, length: float) -> list[Row]:
        """Return (memory, project, period, times, tokens, last time) of shown memories."""
        span = {"since": since, "start": start, "length": length, "partitions": self.partitions}
        return self._store.ask("showings_by_period", **span, **self._caller)

    def cuts(self, since: float) -> list[Row]:
        """Return (memory, reason, times in all, times since then) of memories cut from a block."""
        return self._store.ask("cuts_by_reason", since=since, partitions=self.partitions, **self._caller)

    def ratings(self, since: float, start: float, length: float) -> list[Row]:
        """Return (memory, action, project, period, times in all, times by those the caller may count) of ratings."""
        span = {"since": since, "start": start, "length": length, "partitions": self.partitions}
        who = {name: self._caller[name] for name in ("agent", "every")}
        return self._store.ask("ratings_by_period", **span, **who)

    def outcomes(self, since: float) -> Iterator[tuple[float, str, str, str, dict[str, Any]]]:
        """Yield (at, project, session, verdict, other fields) of task outcomes."""
        after = 0
        while found := self._store.ask("outcomes_since", after=after, since=since, limit=PAGE, **self._caller):
            for _, at, project, session, verdict, more in found:
                yield float(at), project, session, verdict, from_json(more)
            after = found[-1][0]

    def sessions(self, since: float) -> Iterator[tuple[str, str, float, tuple[str, ...], bool]]:
        """Yield (id, project, start, handles cited in it, whether a block was ever requested) of sessions."""
        for id, project, started_at, extra, asked in self._store.ask("sessions_since", since=since, **self._caller):
            listed = from_json(extra).get("cited", ())
            handles = tuple(map(str, listed)) if isinstance(listed, (list, tuple)) else ()
            yield id, project, float(started_at), handles, bool(asked)

    def known(self, handles: Collection[str], ids: Collection[str]) -> tuple[dict[str, str], set[str]]:
        """Return those of some handles and ids that belong to a memory: ids by handle, and ids."""
        named: dict[str, str] = {}
        for page in _pages(handles):
            found = self._store.ask("ids_of_handles", partitions=self.partitions, handles=page)
            named |= {str(handle): str(id) for handle, id in found}
        listed = (self._store.ask("seqs_of_ids", partitions=self.partitions, ids=page) for page in _pages(ids))
        return named, {str(id) for rows in listed for _, id in rows}

    def alike(self) -> Iterator[list[int]]:
        """Yield groups of rows of one partition that share a shingle, as near-duplicates do."""
        for partition in self.partitions:
            asked = {"partition": partition, "most": COMMON, "limit": GROUPS}
            after = -(2**63)
            while found := self._store.ask("shared_shingles", **asked, after=after):
                yield from (sorted(map(int, listed.split(","))) for _, listed in found)
                after = int(found[-1][0])

    def texts(self, seqs: list[int]) -> dict[int, str]:
        """Return the whole texts of some rows."""
        found: dict[int, str] = {}
        for first in range(0, len(seqs), PAGE):
            asked = self._store.ask("texts_of", seqs=seqs[first : first + PAGE])
            found |= {int(seq): str(text) for seq, text in asked}
        return found


def _pages(items: Collection[str]) -> Iterator[list[str]]:
    ordered = sorted(items)
    return (ordered[start : start + PAGE] for start in range(0, len(ordered), PAGE))
