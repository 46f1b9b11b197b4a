"""How far one thing leads to another: named entities wake their neighbours, and the memories that mention them.

Pure arithmetic over names, relations and counts; `graph` reads them from the store.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence

from swarmlore.frozen import frozen


@frozen
class Spread:
    """The constants, chosen on the linked notes of `bench/graph.py`; all optima are flat."""

    # How much of what one entity has goes to the next: cause and cure lead to each other, mere kinship less.
    caused_by: float = 1.0
    solves: float = 1.0
    requires: float = 0.9
    other: float = 0.7
    strongest: float = 10.0
    per_hop: float = 0.6
    hops: int = 2
    # What the best hits mention counts as well, but the question did not say it.
    mentioned: float = 0.5
    sharpness: float = 4.0  # a hit at three quarters of the best counts a third: unrelated texts come that far
    # A memory gains from its best few entities; a list of everything must not win.
    counted: int = 3


DEFAULT = Spread()


@frozen
class Way:
    """How strongly an entity was reached, the steps that led there, and whether the question itself named the first."""

    strength: float
    path: str
    named: bool = False


def rarity(count: int, size: int) -> float:
    """1 for what one memory of many mentions, towards 0 for what all of them do."""
    if count <= 0 or size <= 0:
        return 0.0
    return math.log(1 + size / count) / math.log(1 + size) if size > 1 else 1.0


def share(kind: str, strength: float, rules: Spread = DEFAULT) -> float:
    """What one relation hands on."""
    weights = {"caused_by": rules.caused_by, "solves": rules.solves, "requires": rules.requires}
    return rules.per_hop * weights.get(kind, rules.other) * min(max(strength, 1.0), rules.strongest) / rules.strongest


def step(
    ways: Mapping[str, Way], edges: Iterable[tuple[str, str, str, float]], rules: Spread = DEFAULT
) -> dict[str, Way]:
    """What is reached from these names in one step, by the strongest way to each; edges lead both ways."""
    reached: dict[str, Way] = {}
    for source, target, kind, strength in edges:
        for here, there, arrow in ((source, target, f"—{kind}→"), (target, source, f"←{kind}—")):
            way = ways.get(here)
            if way is None or there in ways:
                continue
            found = Way(way.strength * share(kind, strength, rules), f"{way.path} {arrow} {there}", way.named)
            if there not in reached or found.strength > reached[there].strength:
                reached[there] = found
    return reached


def row_scores(
    ways: Mapping[str, Way],
    mentioning: Mapping[str, Mapping[int, float]],
    size: int,
    sources: Container[int] = (),
    rules: Spread = DEFAULT,
) -> dict[int, Way]:
    """How strongly each memory was reached: its best few entities, rare ones more; the best way names the path.

    The rows in `sources` gave what they mention to the search; they gain by what the question names only.
    """
    met: dict[int, list[Way]] = {}
    for name, rows in mentioning.items():
        worth = ways[name].strength * rarity(len(rows), size)
        for row, weight in rows.items():
            if ways[name].named or row not in sources:
                met.setdefault(row, []).append(Way(worth * weight, ways[name].path, ways[name].named))
    scores: dict[int, Way] = {}
    for row, found in met.items():
        best = sorted(found, key=lambda way: (-way.strength, way.path))[: rules.counted]
        scores[row] = Way(min(1.0, sum(way.strength / place for place, way in enumerate(best, start=1))), *_first(best))
    return scores


def _first(best: Sequence[Way]) -> tuple[str, bool]:
    return best[0].path, best[0].named
