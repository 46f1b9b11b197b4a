"""The live memories of a report, summed up one by one; only those worth telling are kept."""

from __future__ import annotations

import heapq
from collections import Counter

from swarmlore.domain.policy.curation import WORDS
from swarmlore.domain.policy.ranking import STALE
from swarmlore.reporting.figures import MemoryFigures, Standing
from swarmlore.reporting.periods import Span

MOST_NAMED = 20_000  # memories of one report
OLDEST_NAMED = 1_000  # of those, the unused ones that wait longest
Ranked = tuple[bool, float, str, MemoryFigures]


class Sums:
    """Figures of all memories, by project, and of lessons by the period they were born in."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._standing: dict[str, Counter[str]] = {}
        self._shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._best: list[Ranked] = []
        self._oldest: list[Ranked] = []
        self.words: list[tuple[str, ...]] = []  # of each lesson, what is wrong with it
        self.born: Counter[int] = Counter()  # lessons whose cited code can be looked at
        self.stale: Counter[int] = Counter()
        self.count = 0

    def add(self, item: MemoryFigures) -> None:
        self.count += 1
        self._standing.setdefault(item.project, Counter()).update(_counted(item))
        if item.lesson:
            self.words.append(self._shared.setdefault(item.junk, item.junk))
            if item.code in ("unchanged", "moved", *STALE):
                period = self._span.place(item.created_at)
                self.born[period] += 1
                self.stale[period] += item.code in STALE
        _keep(self._best, (_tells(item), item.created_at, item.id, item), MOST_NAMED)
        if "unused" in item.junk:
            _keep(self._oldest, (False, -item.created_at, item.id, item), OLDEST_NAMED)

    def projects(self) -> set[str]:
        return set(self._standing)

    def standing(self, project: str | None = None) -> Standing:
        """Of one project, or of all."""
        mine = self._standing.values() if project is None else [self._standing.get(project, Counter())]
        return Standing(**sum(mine, Counter()))

    def chosen(self) -> tuple[MemoryFigures, ...]:
        """The memories to tell, newest first: those about which there is something to tell, then the newest, and the
        unused ones that wait longest."""
        items = {item.id: item for *_, item in (*self._best, *self._oldest)}
        return tuple(sorted(items.values(), key=lambda item: (-item.created_at, item.id)))


def _tells(item: MemoryFigures) -> bool:
    """Whether there is more to tell than that it is there, or was never shown."""
    return bool(item.shown or item.cut or item.helped or item.hurt or item.tokens or set(item.junk) - {"unused"})


def _keep(heap: list[Ranked], ranked: Ranked, most: int) -> None:
    heapq.heappush(heap, ranked) if len(heap) < most else heapq.heappushpop(heap, ranked)


def _counted(item: MemoryFigures) -> dict[str, int]:
    """What one memory adds to a standing."""
    if not item.lesson:
        return {"strategies" if item.strategy else "raw": 1}
    found = {
        "lessons": True,
        "never_shown": not (item.shown + item.succeeded_after + item.failed_after),
        "cited_code": bool(item.code),
        "moved": item.code == "moved",
        "junk": bool(item.junk),
    }
    return {name: 1 for name, holds in found.items() if holds} | {word: 1 for word in WORDS if word in item.junk}
