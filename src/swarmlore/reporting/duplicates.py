"""Lessons that say the same: those that the gate would not keep apart if the younger one came today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from heapq import nlargest
from itertools import combinations
from operator import itemgetter

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.rules.difference import compare
from swarmlore.text.similarity import jaccard_bigram

if TYPE_CHECKING:
    from swarmlore.store.figures import Figures

LEAST_SHARED = 2  # keys: one alone is mostly a word that two lessons have in common
MOST_HELD = 2_000_000  # pairs that are counted at once; beyond that those that share least are let go
MOST_PAIRS = 200_000  # compared at most; beyond that the pairs that share most come first


def find_twins(figures: Figures, lessons: Collection[int], threshold: float) -> dict[int, int]:
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


def _candidates(groups: Iterable[list[int]], lessons: Collection[int]) -> list[tuple[int, int]]:
    shared: Counter[int] = Counter()  # a pair is one number: of a large store there are millions
    for group in groups:
        shared.update((one << 32) + other for one, other in combinations([seq for seq in group if seq in lessons], 2))
        if len(shared) > MOST_HELD:
            shared = Counter(dict(nlargest(MOST_HELD // 2, shared.items(), key=itemgetter(1))))
    enough = ((count, pair) for pair, count in shared.items() if count >= LEAST_SHARED)
    return [(pair >> 32, pair & 0xFFFFFFFF) for _, pair in nlargest(MOST_PAIRS, enough)]
