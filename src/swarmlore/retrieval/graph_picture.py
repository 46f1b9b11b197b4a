"""What `lore.graph` can say: communities with a report each, what is around a name, and a picture of all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from swarmlore.domain.language.concepts import canonical
from swarmlore.domain.records import Caller, Entity, Memory, Relation
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.retrieval.graph_communities import HUB_LEAST, HUB_SHARE, find
from swarmlore.store.graph import Edge, Mention
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from swarmlore.retrieval.graph_communities import Community


MOST_NODES = 2_000
MOST_EDGES = 8_000
MOST_NOTES = 40  # listed for one entity
TEXT_CHARS = 1_200
TOGETHER = 6  # entities of one memory are joined in pairs up to here
STEPS = 90
SAMPLE = 80  # nodes that push each node away in one step
GOLDEN = math.pi * (3 - math.sqrt(5))


@frozen
class Node:
    """An entity: its name, type, description, how many memories mention it, which of them are shown, and its place."""

    name: str
    type: str
    about: str
    count: int
    notes: tuple[int, ...]
    x: float
    y: float


@frozen
class Line:
    """Two nodes by number, and the kind of their relation; without one they are only mentioned together."""

    source: int
    target: int
    kind: str = ""


@frozen
class Picture:
    """The graph as it is drawn; `left_out` counts entities for which there was no room."""

    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    notes: tuple[Memory, ...]
    left_out: int = 0


def picture(store: Store, partitions: Sequence[int], fits: Callable[[Memory], bool], most: int = MOST_NODES) -> Picture:
    """The most mentioned entities that a caller may see, by the memories that fit."""
    mentions = store.every_mention(partitions)
    memories = _memories(store, mentions, fits)
    mentions = _worth_drawing([mention for mention in mentions if mention.seq in memories])
    edges = [edge for edge in store.every_edge(partitions) if edge.seq in memories]
    counts = Counter(mention.name for mention in mentions)
    linked = {name for edge in edges for name in (edge.source, edge.target)}
    ordered = sorted(counts, key=lambda name: (-counts[name], name not in linked, name))
    names = {name: number for number, name in enumerate(ordered[:most])}
    if not names:
        return Picture((), (), ())
    lines = _lines(names, edges, mentions)
    places = _places(names, lines, find([(mention.name, mention.seq) for mention in mentions if mention.name in names]))
    kept = sorted({mention.seq for mention in mentions if mention.name in names})
    nodes = _nodes(names, mentions, places, counts, {row: number for number, row in enumerate(kept)})
    return Picture(nodes, lines, tuple(memories[row] for row in kept), len(counts) - len(names))


def _worth_drawing(mentions: Sequence[Mention]) -> list[Mention]:
    """All but the files of notes that nothing links to."""
    counts = Counter(mention.name for mention in mentions)
    return [item for item in mentions if item.entity.type != "note" or counts[item.name] > 1]


def _lines(names: Mapping[str, int], edges: Sequence[Edge], mentions: Sequence[Mention]) -> tuple[Line, ...]:
    """Relations first, the strong before the weak; then what is only mentioned together, hubs left out."""
    found: dict[tuple[int, int], Line] = {}
    related: dict[int, list[int]] = {}
    for edge in sorted(edges, key=lambda edge: (-edge.strength, edge.source, edge.target, edge.kind)):
        if edge.source in names and edge.target in names:
            ends = names[edge.source], names[edge.target]
            found.setdefault((min(ends), max(ends)), Line(*ends, edge.kind))
            related.setdefault(edge.seq, []).extend(ends)
    for row, together in sorted(_together(names, mentions).items()):
        for pair in _pairs(together, related.get(row, ())):
            found.setdefault(pair, Line(*pair))
    return tuple(list(found.values())[:MOST_EDGES])


def _together(names: Mapping[str, int], mentions: Sequence[Mention]) -> dict[int, list[int]]:
    """What each memory mentions, without what very many do."""
    counts = Counter(mention.name for mention in mentions)
    most = max(HUB_LEAST, HUB_SHARE * len({mention.seq for mention in mentions}))
    found: dict[int, list[int]] = {}
    for mention in mentions:
        if mention.name in names and counts[mention.name] <= most:
            found.setdefault(mention.seq, []).append(names[mention.name])
    return found


def _pairs(together: Sequence[int], related: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Which entities of one memory are joined: all where they are few; else each with what its relations begin at."""
    if related:
        others = [number for number in together if number not in related]
        yield from ((min(related[0], number), max(related[0], number)) for number in others)
    elif len(together) <= TOGETHER:
        yield from combinations(sorted(together), 2)


def _memories(store: Store, mentions: Sequence[Mention], fits: Callable[[Memory], bool]) -> dict[int, Memory]:
    rows = sorted({mention.seq for mention in mentions})
    found: dict[int, Memory] = {}
    for start in range(0, len(rows), 500):
        found |= {row: memory for row, memory in store.by_seqs(rows[start : start + 500]).items() if fits(memory)}
    return found


def _nodes(
    names: Mapping[str, int],
    mentions: Sequence[Mention],
    places: Sequence[tuple[float, float]],
    counts: Mapping[str, int],
    rows: Mapping[int, int],
) -> tuple[Node, ...]:
    said: dict[str, Counter[str]] = {}
    types: dict[str, Counter[str]] = {}
    about: dict[str, str] = {}
    notes: dict[str, list[int]] = {}
    for mention in mentions:
        if mention.name in names:
            said.setdefault(mention.name, Counter())[mention.entity.name] += 1
            types.setdefault(mention.name, Counter())[mention.entity.type] += 1
            about[mention.name] = about.get(mention.name) or mention.entity.description
            notes.setdefault(mention.name, []).append(rows[mention.seq])
    return tuple(
        Node(
            said[name].most_common(1)[0][0],
            types[name].most_common(1)[0][0],
            about[name],
            counts[name],
            tuple(sorted(notes[name])[:MOST_NOTES]),
            *places[number],
        )
        for name, number in names.items()
    )


def _places(names: Mapping[str, int], lines: Sequence[Line], groups: Mapping[str, int]) -> list[tuple[float, float]]:
    """Communities around the middle, large ones first, their members around each; then a while of pull and push."""
    import numpy as np

    groups = {name: groups.get(name, -1) for name in names}  # hubs stand together
    sizes = Counter(groups.values())
    rank = {
        group: place for place, (group, _) in enumerate(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))
    }
    seen: Counter[int] = Counter()
    start = np.zeros((len(names), 2))
    spread = 26 * math.sqrt(len(names) / max(1, len(rank)))
    for name, number in names.items():
        group = groups[name]
        inner, outer = seen[group], rank[group]
        seen[group] += 1
        start[number] = _spiral(outer, 1.6 * spread + 20) + _spiral(inner, 16)
    places = _settled(start, lines)
    return [(round(float(x), 1), round(float(y), 1)) for x, y in places]


def _spiral(number: int, step: float) -> Any:
    """The place of the n-th seed of a sunflower."""
    import numpy as np

    return step * math.sqrt(number) * np.array([math.cos(number * GOLDEN), math.sin(number * GOLDEN)])


def _settled(places: Any, lines: Sequence[Line]) -> Any:
    """Lines pull their ends together, nodes push each other away; a fixed sample of them in each step."""
    import numpy as np

    count = len(places)
    ends = np.array([(line.source, line.target) for line in lines], dtype=np.int64).reshape(-1, 2)
    chance = np.random.default_rng(7)
    degree = np.bincount(ends.ravel(), minlength=count).clip(1) if len(ends) else np.ones(count)
    for step in range(STEPS):
        others = chance.permutation(count)[: min(SAMPLE, count)]
        across, down = (places[:, axis, None] - places[None, others, axis] for axis in (0, 1))
        gap = across * across + down * down + 25.0
        push = np.stack([(across / gap).sum(axis=1), (down / gap).sum(axis=1)], axis=1)
        move = push * (420.0 * math.sqrt(count) / len(others)) - 0.012 * places
        if len(ends):
            pull = places[ends[:, 1]] - places[ends[:, 0]]
            pull *= 0.22 * (1 - 46 / np.maximum(np.hypot(pull[:, 0], pull[:, 1]), 1.0))[:, None]
            for axis in (0, 1):
                away = np.bincount(ends[:, 0], pull[:, axis], count) - np.bincount(ends[:, 1], pull[:, axis], count)
                move[:, axis] += away / degree
        length = np.maximum(np.hypot(move[:, 0], move[:, 1]), 1e-9)[:, None]
        places = places + move / length * np.minimum(length, 30.0 * (1 - step / STEPS) + 1.0)
    return places


COMMUNITIES = 20
MOST = 1_000


@frozen
class Known:
    """An entity as memories know it: how many mention it, which, and how it stands to others."""

    entity: Entity
    memories: tuple[str, ...]
    relations: tuple[Relation, ...]


class GraphView:
    """The graph as one caller sees it now: what `recall` would not show has no part in it."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        now: Callable[[], float],
        looking: Callable[[], AbstractContextManager[None]],
        home: str = "",
        holds: Callable[[Memory], bool] = lambda _: True,
    ) -> None:
        self._store = store
        self._caller = caller
        self._now = now
        self._looking = looking
        self._home = home
        self._holds = holds  # of several versions of a note, which is to be shown

    def communities(self, limit: int = COMMUNITIES) -> tuple[Community, ...]:
        """What belongs together, the largest first, each with a short report."""
        from swarmlore.retrieval.graph_communities import Communities, read

        if not isinstance(limit, int) or not 1 <= limit <= MOST:
            raise InvalidInput(f"limit {limit!r} is out of range", f"from 1 to {MOST}")
        with self._looking():
            written = partial(read, self._home) if self._home else dict
            known = Communities(self._store, self._store.visible(self._caller), self._fits(), written)
            return tuple(known.every(limit))

    def about(self, name: str) -> Known | None:
        """What is known about a thing under this name or a variant of it; None where nobody mentions it."""
        with self._looking():
            partitions, key = self._store.visible(self._caller), canonical(name)
            rows = sorted(self._store.mentioning(partitions, [key]).get(key, ()))[:MOST]
            fits, found = self._fits(), self._store.by_seqs(rows)
            memories = {row: memory for row, memory in found.items() if fits(memory)}
            mentions = [item for item in self._store.mentions_in(partitions, memories) if item.name == key]
            if not mentions:
                return None
            edges = [edge for edge in self._store.edges_at(partitions, [key]) if edge.seq in memories]
            best = max(mentions, key=lambda item: (len(item.entity.description), -item.seq))
            relations = tuple(Relation(e.source, e.target, e.kind, e.about, e.strength) for e in edges)
            return Known(best.entity, tuple(memory.id for memory in memories.values()), relations)

    def picture(self) -> Picture:
        """Entities, connections and memories with a place for each entity, as `visualize` draws them."""

        with self._looking():
            return picture(self._store, self._store.visible(self._caller), self._fits())

    def _fits(self) -> Callable[[Memory], bool]:
        """Whether a memory may be shown here and now."""
        from swarmlore.domain.policy.gate import in_force

        store, caller, now = self._store, self._caller, self._now()

        def fits(memory: Memory) -> bool:
            told = "episode" in memory.source_ref  # where lessons come from; found only by who asks for it
            there = memory.live and not told and in_force(memory, now) and store.is_of_here(caller, memory)
            return there and self._holds(memory)

        return fits
