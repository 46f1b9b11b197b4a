"""Lessons that say the same: those that the gate would not keep apart if the younger one came today."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator
from heapq import nlargest
from itertools import combinations

from swarmlore.domain.language.similarity import jaccard_bigram
from swarmlore.domain.policy.contradiction import compare
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.store.report_queries import Figures

LEAST_SHARED = 2  # keys: one alone is mostly a word that two lessons have in common
MOST_HELD = 800_000  # pairs that are counted at once; beyond that those that share least are let go
MOST_PAIRS = 200_000  # compared at most; beyond that the pairs that share most come first


def find_twins(figures: Figures, lessons: Container[int], threshold: float) -> dict[int, int]:
    """The row of each lesson that repeats an older one, and that older one."""
    pairs = _candidates(figures.alike(), lessons)
    texts = figures.texts(sorted({seq for pair in pairs for seq in pair}))
    twins: dict[int, int] = {}
    for older, younger in sorted(pairs):
        if younger not in twins and same(texts.get(older, ""), texts.get(younger, ""), threshold):
            twins[younger] = twins.get(older, older)
    return twins


def same(one: str, other: str, threshold: float) -> bool:
    """Whether two lessons say the same: enough common word pairs, and nothing of weight that only one of them says."""
    if not one or not other:
        return False
    return jaccard_bigram(one, other) >= threshold and not compare(other, one).reasons


def _candidates(groups: Iterable[list[int]], lessons: Container[int]) -> list[tuple[int, int]]:
    found = _Pairs()
    for group in groups:
        found.add((one << 32) + other for one, other in combinations([seq for seq in group if seq in lessons], 2))
    enough = ((count, pair) for pair, count in found.counted() if count >= LEAST_SHARED)
    return [(pair >> 32, pair & 0xFFFFFFFF) for _, pair in nlargest(MOST_PAIRS, enough)]


class _Pairs:
    """How often pairs were met. A pair is one number, and numbers stand in arrays: of a large store there are
    millions."""

    def __init__(self) -> None:
        import numpy as np

        self._fresh = array("Q")
        self._pairs, self._counts = np.empty(0, np.uint64), np.empty(0, np.uint32)

    def add(self, pairs: Iterable[int]) -> None:
        self._fresh.extend(pairs)
        if len(self._fresh) > MOST_HELD // 2:
            self._join()
            self._let_go()

    def counted(self) -> Iterator[tuple[int, int]]:
        self._join()
        return zip(map(int, self._pairs), map(int, self._counts), strict=True)

    def _join(self) -> None:
        """Count the fresh ones with the others."""
        import numpy as np

        fresh = np.frombuffer(self._fresh, np.uint64)
        counts = np.concatenate([self._counts, np.ones(len(fresh), np.uint32)])
        pairs = np.concatenate([self._pairs, fresh])
        self._fresh = array("Q")
        order = np.argsort(pairs)
        pairs, counts = pairs[order], counts[order]
        if len(pairs):
            first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
            pairs, counts = pairs[first], np.add.reduceat(counts, first, dtype=np.uint32)
        self._pairs, self._counts = pairs, counts

    def _let_go(self) -> None:
        """Of too many, forget those that were met least."""
        import numpy as np

        if len(self._pairs) > MOST_HELD:
            most = np.argsort(self._counts)[-(MOST_HELD // 2) :]
            self._pairs, self._counts = self._pairs[most], self._counts[most]
