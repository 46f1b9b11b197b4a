"""Queries of `lore.graph`: community reports, facts about one entity, and a layout of the graph for `visualize`."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from itertools import combinations

from swarmlore.domain.language.concepts import canonical
from swarmlore.domain.policy.graph import rarity
from swarmlore.domain.records import Caller, Entity, Memory, Relation
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.graph import NONE, Edge, Mention
from swarmlore.store.store import Store
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any


NAME = "community-reports.json"
MOST_KEPT = 500  # newest reports


@frozen
class KeptReport:
    """Sentences that an LLM wrote about a community, and the LLM's name; none if it had nothing to say."""

    sentences: tuple[str, ...]
    by: str


def fingerprint(told: Sequence[str]) -> str:
    """Return the fingerprint of the texts that a report is made from."""
    return sha256("\0".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read(home: str) -> dict[str, KeptReport]:
    """Return the kept LLM reports by the fingerprint of their texts; none if the file is unreadable."""
    try:
        with Folder(os.path.realpath(home)) as folder:
            reports = json.loads(folder.read(NAME) or b"{}")
        return {
            str(mark): KeptReport(tuple(map(str, item["sentences"])), str(item["by"])) for mark, item in reports.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, SwarmloreError):
        return {}


def keep(home: str, mark: str, report: KeptReport) -> None:
    """Keep an LLM report as the newest one; beyond 500, drop the oldest."""
    with Folder(os.path.realpath(home)) as folder, folder.lock():
        known = read(home)
        known.pop(mark, None)
        newest = [*known.items(), (mark, report)][-MOST_KEPT:]
        plain = {mark: {"sentences": list(item.sentences), "by": item.by} for mark, item in newest}
        folder.replace(NAME, [json.dumps(plain, ensure_ascii=True).encode("ascii")], mode=0o600)


def drop(home: str) -> None:
    """Remove all kept LLM reports."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(home, NAME))


ROUNDS = 10
DRIFT = 0.1  # share of new names above which all communities are detected again
SMALL = 500  # names; up to this many, detection is fast enough to repeat each time
HUB_SHARE = 0.02  # share of memories above which the entity they mention is a hub
HUB_LEAST = 12


def ensure(store: Store, partitions: Sequence[int]) -> dict[int, dict[str, int]]:
    """Update the communities of partitions: detect all again if much changed, else place only the new names.

    Return the communities that could not be stored because the store is read-only.
    """
    known = store.community_sizes(partitions)
    unkept: dict[int, dict[str, int]] = {}
    for partition in partitions:
        have, highest = known.get(partition, (0, NONE))
        new = store.names_without_community(partition)
        anew = len(new) > DRIFT * have or have + len(new) <= SMALL
        if new and anew:
            numbers = _detect(store, partition)
            if store.engine.readonly:
                unkept[partition] = numbers
            else:
                store.keep_communities(partition, numbers)
        elif new and not store.engine.readonly:
            store.keep_communities(partition, _placed(store, partition, new, highest + 1), add=True)
    return unkept


def ensure_any(store: Store, partitions: Sequence[int]) -> dict[int, dict[str, int]]:
    """Detect the communities of partitions that have none yet; cheap if all have."""
    return ensure(store, [partition for partition in partitions if not store.has_communities(partition)])


def _detect(store: Store, partition: int) -> dict[str, int]:
    """Return the community number of every entity in a partition; hubs get NONE."""
    pairs = store.every_pair(partition)
    relations = [(edge.source, edge.target, edge.strength) for edge in store.every_edge([partition])]
    return dict.fromkeys((name for name, _ in pairs), NONE) | find(pairs, relations)


def _placed(store: Store, partition: int, new: Sequence[str], free: int) -> dict[str, int]:
    """Assign new names to the community of the memories that mention them, or to a new common one."""
    mentions = store.mentions_in(
        [partition], {row for rows in store.mentioning([partition], new).values() for row in rows}
    )
    numbers = {
        name: number for (_, name), number in store.communities_of([partition], {m.name for m in mentions}).items()
    }
    by_row: dict[int, list[str]] = {}
    for mention in sorted(mentions, key=lambda mention: (mention.seq, mention.name)):
        by_row.setdefault(mention.seq, []).append(mention.name)
    placed: dict[str, int] = {}
    waiting = set(new)
    for names in by_row.values():
        votes = Counter(number for name in names if (number := numbers.get(name, placed.get(name, NONE))) != NONE)
        number = min(votes, key=lambda candidate: (-votes[candidate], candidate)) if votes else free
        free = max(free, number + 1)
        placed.update((name, number) for name in names if name in waiting and name not in placed)
    return placed


def find(pairs: Sequence[tuple[str, int]], relations: Sequence[tuple[str, str, float]] = ()) -> dict[str, int]:
    """Return the community number of every name that is not a hub; the same graph always gives the same numbers.

    `pairs` are names with the row of a memory that mentions them.
    """
    import numpy as np

    names = sorted({name for name, _ in pairs})
    if not names:
        return {}
    place = {name: number for number, name in enumerate(names)}
    rows = {row: number for number, row in enumerate(sorted({row for _, row in pairs}))}
    ends = [(place[name], rows[row], 1.0) for name, row in pairs]
    memories = len(rows)
    for source, target, strength in relations:  # a relation counts as a small memory that mentions two names
        if source in place and target in place:
            joint = len(rows)
            rows[-joint - 1] = joint
            ends += [(place[source], joint, strength / 5), (place[target], joint, strength / 5)]
    table = np.array(ends, dtype=np.float64)
    labels, hubs = _propagate(table, len(names), len(rows), memories)
    _, numbers = np.unique(labels, return_inverse=True)
    numbered = zip(names, numbers.ravel(), hubs, strict=True)
    return {name: int(number) for name, number, hub in numbered if not hub}


def _propagate(table: Any, names: int, rows: int, memories: int) -> Any:
    """Run label propagation; return the labels of the names, and which are hubs. The first rows are memories."""
    import numpy as np

    name, row = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    counts = np.bincount(name[row < memories], minlength=names)
    weights = table[:, 2] * np.array([rarity(int(count), memories) ** 2 for count in counts])[name]
    hub = counts > max(HUB_LEAST, HUB_SHARE * memories)
    hub = hub if not hub.all() else np.zeros(names, dtype=bool)
    inner = ~hub[name]
    joins = inner & (counts[name] > 1)  # a name in a single memory connects nothing and gets that memory's label
    labels = np.arange(names)
    for _ in range(ROUNDS):
        row_labels = _most(row[joins], labels[name[joins]], weights[joins], rows)
        settled = _most(name[joins], row_labels[row[joins]], weights[joins], names, labels)
        if (settled == labels).all():
            break
        labels = settled
    alone = inner & (counts[name] == 1)
    row_labels = _most(row[inner], labels[name[inner]], weights[inner] * np.where(alone[inner], 1e-6, 1.0), rows)
    return _most(name[alone], row_labels[row[alone]], weights[alone], names, labels), hub


def _most(nodes: Any, labels: Any, weights: Any, size: int, before: Any = None) -> Any:
    """Return for every node the label with the most weight, of equals the smallest; -1 or `before` if it has none."""
    import numpy as np

    chosen = np.full(size, -1) if before is None else before.copy()
    if not len(nodes):
        return chosen
    span = int(labels.max()) + 2
    keys, inverse = np.unique(nodes * span + labels + 1, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=weights)
    owners, owned = keys // span, keys % span - 1
    order = np.lexsort((owned, -np.round(sums, 9), owners))
    first = np.unique(owners[order], return_index=True)[1]
    chosen[owners[order][first]] = owned[order][first]
    return chosen


NAMES = 4  # strongest entities that make up the name of a community
SENTENCES = 3
SENTENCE_CHARS = 160
BEST = 3  # communities that answer a query
LOOKED_AT = 8  # communities tried, as some have no memory that may be shown
CENTRAL = 20  # most central memories that are loaded for a report
PAGE = 500
TOLD_CHARS = 400  # characters of each memory that a report is made from

Place = tuple[int, int]  # partition and number of a community


@frozen
class Community:
    """Report on a community: its strongest entities, its sentences, and the ids of the memories behind them.

    `by` names the LLM that wrote the sentences, if one did; `told` are the texts they are made from.
    """

    name: str
    entities: tuple[str, ...]
    notes: int
    sentences: tuple[str, ...]
    members: tuple[str, ...]
    by: str = ""
    told: tuple[str, ...] = ()

    @property
    def report(self) -> str:
        """Return the report as one line of text."""
        notes = "1 memory" if self.notes == 1 else f"{self.notes} memories"
        by = f", in the words of {self.by}" if self.by else ""
        return f"{self.name} ({notes}{by}): " + " · ".join(self.sentences)


@frozen
class Member:
    """A memory of a community: how well the query fits the community and how central the memory is, both up to 1."""

    fit: float
    centrality: float
    name: str


class Communities:
    """Report on the communities in a caller's partitions, and find those that a query is about.

    Only memories for which `fits` is true are quoted or contribute names. `written` returns LLM reports by the
    fingerprint of their texts.
    """

    def __init__(
        self,
        store: Store,
        partitions: Sequence[int],
        fits: Callable[[Memory], bool],
        written: Callable[[], Mapping[str, KeptReport]] = dict,
    ) -> None:
        self._store = store
        self._written = cache(written)
        self._partitions = list(partitions)
        self._fit = fits
        self._unkept = ensure_any(store, partitions)
        self._known: dict[tuple[int, str], int] = {}

    def asked_for(self, found: Sequence[tuple[int, int, float]]) -> tuple[dict[int, Member], list[Community]]:
        """Return the members of the communities that the best hits point to, and a report on each community.

        `found` are (row, partition, relevance) of hits.
        """
        fits = self._fits(found)
        best = sorted(fits, key=lambda place: (-fits[place], place))
        members: dict[int, Member] = {}
        reports: list[Community] = []
        for place in best[:LOOKED_AT]:
            central, report = self._report(place)
            if report is None:
                continue
            _add(reports, report)
            for row, centrality in central.items():
                members.setdefault(row, Member(fits[place] / fits[best[0]], centrality, report.name))
            if len(reports) == BEST:
                break
        return members, reports

    def every(self, limit: int) -> list[Community]:
        """Return reports on the largest communities."""
        self._unkept |= ensure(self._store, self._partitions)
        every = [(partition, item) for partition in self._partitions for item in self._store.every_mention([partition])]
        self._known = self._store.communities_of(self._partitions, {mention.name for _, mention in every})
        places = Counter(self._places(mention.name, partition) for partition, mention in every)
        reports: list[Community] = []
        for place, _ in places.most_common():
            if len(reports) == limit:
                break
            if place is not None and (report := self._report(place)[1]):
                _add(reports, report)
        return reports

    def _report(self, place: Place) -> tuple[dict[int, float], Community | None]:
        """Return the centrality of each memory of a community, and its report; None if no memory may be quoted."""
        mentions = self._members(place)
        central = centralities(mentions)
        rows = sorted(central, key=lambda row: (-central[row], row))
        memories = self._store.by_seqs(rows[:CENTRAL])
        quoted = {row: memories[row] for row in rows[:CENTRAL] if row in memories and self._fit(memories[row])}
        if not quoted:
            return central, None
        visible = [mention for mention in mentions if mention.seq in quoted]
        hidden = len(rows[:CENTRAL]) - len(quoted)
        return central, self._worded(_community(visible, tuple(quoted.values()), len(rows) - hidden))

    def _worded(self, report: Community) -> Community:
        """Replace the sentences of a report by those that an LLM wrote about the same texts, if there are any."""
        known = self._written().get(fingerprint(report.told))
        return replace(report, sentences=known.sentences, by=known.by) if known and known.sentences else report

    def _fits(self, found: Sequence[tuple[int, int, float]]) -> dict[Place, float]:
        """Score how much the hits point to each community; a hit in several communities is divided among them."""
        where = {row: (partition, relevance) for row, partition, relevance in found}
        mentions = self._store.mentions_in(self._partitions, where)
        names = {mention.name for mention in mentions}
        counts = self._store.count_mentions(self._partitions, names)
        self._look_up({(where[mention.seq][0], mention.name) for mention in mentions})
        shares: dict[int, dict[Place, float]] = {}
        for mention in mentions:
            if (place := self._places(mention.name, where[mention.seq][0])) is not None:
                own = shares.setdefault(mention.seq, {})
                own[place] = own.get(place, 0.0) + rarity(counts.get(mention.name, 1), PAGE)
        fits: dict[Place, float] = {}
        for row, own in shares.items():
            total = sum(own.values()) or 1.0
            for place, weight in own.items():
                fits[place] = fits.get(place, 0.0) + where[row][1] ** 2 * weight / total
        return {place: fit for place, fit in fits.items() if fit > 0}

    def _look_up(self, mentioned: set[tuple[int, str]]) -> None:
        """Load the communities of names; if a name is new, update all partitions first."""
        names = {name for _, name in mentioned}
        self._known = self._store.communities_of(self._partitions, names)
        if not self._unkept and mentioned - set(self._known):
            self._unkept = ensure(self._store, self._partitions)
            self._known = self._store.communities_of(self._partitions, names)

    def _places(self, name: str, partition: int) -> Place | None:
        unkept = self._unkept.get(partition)
        number = self._known.get((partition, name)) if unkept is None else unkept.get(name)
        return None if number is None or number == NONE else (partition, number)

    def _members(self, place: Place) -> list[Mention]:
        partition, number = place
        unkept = self._unkept.get(partition)
        if unkept is None:
            return self._store.community(partition, number)
        return [mention for mention in self._store.every_mention([partition]) if unkept.get(mention.name) == number]


def _community(mentions: Sequence[Mention], memories: Sequence[Memory], count: int) -> Community:
    name = ", ".join(_strongest(mentions, NAMES)) or "unnamed"
    sentences = tuple(dict.fromkeys(map(telling_sentence, memories)))[:SENTENCES]
    ids = tuple(memory.id for memory in memories)
    return Community(name, _strongest(mentions), count, sentences, ids, told=tuple(map(_excerpt, memories)))


def _excerpt(memory: Memory) -> str:
    """Return title and text of a memory on one line, cut to 400 characters."""
    text = " ".join(f"{memory.title}: {memory.text}".lstrip(": ").split())
    return text if len(text) <= TOLD_CHARS else text[: TOLD_CHARS - 1].rstrip() + "…"


def _add(reports: list[Community], report: Community) -> None:
    """Add a report unless another one contains its sentences, as hive and project may know the same topic."""
    if not any(set(report.sentences) <= set(other.sentences) for other in reports):
        reports.append(report)


def centralities(mentions: Sequence[Mention]) -> dict[int, float]:
    """Return the centrality of each memory: how many frequent entities of the community it mentions, at most 1."""
    counts = Counter(mention.name for mention in mentions)
    sums: dict[int, float] = {}
    for mention in mentions:
        sums[mention.seq] = sums.get(mention.seq, 0.0) + counts[mention.name] ** 0.5
    most = max(sums.values(), default=1.0)
    return {row: value / most for row, value in sums.items()}


def telling_sentence(memory: Memory) -> str:
    """Return the first sentence of a memory's key insight, else of its title or text."""
    fields = memory.extra.get("note")
    insight = fields.get("key_insight") if isinstance(fields, Mapping) else ""
    text = insight if isinstance(insight, str) and insight.strip() else memory.title or memory.text
    first = " ".join(text.split()).partition(". ")[0]
    return first if len(first) <= SENTENCE_CHARS else first[: SENTENCE_CHARS - 1].rstrip() + "…"


def _strongest(mentions: Sequence[Mention], limit: int = 12) -> tuple[str, ...]:
    """Return the most mentioned entities in their most frequent spelling; files of notes do not count."""
    counts = Counter(mention.name for mention in mentions if mention.entity.type != "note")
    spellings: dict[str, Counter[str]] = {}
    for mention in mentions:
        spellings.setdefault(mention.name, Counter())[mention.entity.name] += 1
    best = sorted(counts, key=lambda name: (-counts[name], name))[:limit]
    return tuple(spellings[name].most_common(1)[0][0] for name in best)


MOST_NODES = 2_000
MOST_EDGES = 8_000
MOST_NOTES = 40  # memories listed for one entity
TEXT_CHARS = 1_200
TOGETHER = 6  # up to this many entities of one memory are joined in pairs
STEPS = 90
SAMPLE = 80  # nodes that repel each node in one step of the layout
GOLDEN = math.pi * (3 - math.sqrt(5))


@frozen
class Node:
    """An entity in the picture: name, type, description, number of mentions, listed memories, and position."""

    name: str
    type: str
    about: str
    count: int
    notes: tuple[int, ...]
    x: float
    y: float


@frozen
class Line:
    """A line between two nodes; `kind` is their relation, '' if memories only mention them together."""

    source: int
    target: int
    kind: str = ""


@frozen
class Picture:
    """The graph as it is drawn; `left_out` counts the entities beyond the maximum."""

    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    notes: tuple[Memory, ...]
    left_out: int = 0


def picture(store: Store, partitions: Sequence[int], fits: Callable[[Memory], bool], most: int = MOST_NODES) -> Picture:
    """Lay out the most mentioned entities of these partitions, using only memories for which `fits` is true."""
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
    """Leave out files of notes that are mentioned only once."""
    counts = Counter(mention.name for mention in mentions)
    return [item for item in mentions if item.entity.type != "note" or counts[item.name] > 1]


def _lines(names: Mapping[str, int], edges: Sequence[Edge], mentions: Sequence[Mention]) -> tuple[Line, ...]:
    """Return relations, the strongest first, then pairs that are only mentioned together, without hubs."""
    lines: dict[tuple[int, int], Line] = {}
    related: dict[int, list[int]] = {}
    for edge in sorted(edges, key=lambda edge: (-edge.strength, edge.source, edge.target, edge.kind)):
        if edge.source in names and edge.target in names:
            ends = names[edge.source], names[edge.target]
            lines.setdefault((min(ends), max(ends)), Line(*ends, edge.kind))
            related.setdefault(edge.seq, []).extend(ends)
    for row, together in sorted(_together(names, mentions).items()):
        for pair in _pairs(together, related.get(row, ())):
            lines.setdefault(pair, Line(*pair))
    return tuple(list(lines.values())[:MOST_EDGES])


def _together(names: Mapping[str, int], mentions: Sequence[Mention]) -> dict[int, list[int]]:
    """Return the entities that each memory mentions, without hubs."""
    counts = Counter(mention.name for mention in mentions)
    most = max(HUB_LEAST, HUB_SHARE * len({mention.seq for mention in mentions}))
    together: dict[int, list[int]] = {}
    for mention in mentions:
        if mention.name in names and counts[mention.name] <= most:
            together.setdefault(mention.seq, []).append(names[mention.name])
    return together


def _pairs(together: Sequence[int], related: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the entity pairs of one memory to join.

    These are its other entities with the start of its first relation or, without relations, all pairs of up to six.
    """
    if related:
        others = [number for number in together if number not in related]
        yield from ((min(related[0], number), max(related[0], number)) for number in others)
    elif len(together) <= TOGETHER:
        yield from combinations(sorted(together), 2)


def _memories(store: Store, mentions: Sequence[Mention], fits: Callable[[Memory], bool]) -> dict[int, Memory]:
    rows = sorted({mention.seq for mention in mentions})
    memories: dict[int, Memory] = {}
    for start in range(0, len(rows), 500):
        memories |= {row: memory for row, memory in store.by_seqs(rows[start : start + 500]).items() if fits(memory)}
    return memories


def _nodes(
    names: Mapping[str, int],
    mentions: Sequence[Mention],
    places: Sequence[tuple[float, float]],
    counts: Mapping[str, int],
    rows: Mapping[int, int],
) -> tuple[Node, ...]:
    spellings: dict[str, Counter[str]] = {}
    types: dict[str, Counter[str]] = {}
    about: dict[str, str] = {}
    notes: dict[str, list[int]] = {}
    for mention in mentions:
        if mention.name in names:
            spellings.setdefault(mention.name, Counter())[mention.entity.name] += 1
            types.setdefault(mention.name, Counter())[mention.entity.type] += 1
            about[mention.name] = about.get(mention.name) or mention.entity.description
            notes.setdefault(mention.name, []).append(rows[mention.seq])
    return tuple(
        Node(
            spellings[name].most_common(1)[0][0],
            types[name].most_common(1)[0][0],
            about[name],
            counts[name],
            tuple(sorted(notes[name])[:MOST_NOTES]),
            *places[number],
        )
        for name, number in names.items()
    )


def _places(names: Mapping[str, int], lines: Sequence[Line], groups: Mapping[str, int]) -> list[tuple[float, float]]:
    """Return a position for each node: communities in a spiral, the largest first, then a force-directed layout."""
    import numpy as np

    groups = {name: groups.get(name, -1) for name in names}  # hubs form one group
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
    return [(round(float(x), 1), round(float(y), 1)) for x, y in _force_layout(start, lines)]


def _spiral(number: int, step: float) -> Any:
    """Return the n-th point of a sunflower spiral."""
    import numpy as np

    return step * math.sqrt(number) * np.array([math.cos(number * GOLDEN), math.sin(number * GOLDEN)])


def _force_layout(places: Any, lines: Sequence[Line]) -> Any:
    """Move nodes by 90 steps of forces: lines attract their ends, and a seeded random sample of nodes repels."""
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
    """An entity with the ids of the memories that mention it, and its relations."""

    entity: Entity
    memories: tuple[str, ...]
    relations: tuple[Relation, ...]


class GraphView:
    """The entity graph that one caller sees, limited to memories that `recall` would show."""

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
        self._holds = holds  # selects the version of a note that is valid in this checkout

    def communities(self, limit: int = COMMUNITIES) -> tuple[Community, ...]:
        """Return the communities with a short report each, the largest first."""

        if not isinstance(limit, int) or not 1 <= limit <= MOST:
            raise InvalidInput(f"limit {limit!r} is out of range", f"from 1 to {MOST}")
        with self._looking():
            written = partial(read, self._home) if self._home else dict
            known = Communities(self._store, self._store.visible(self._caller), self._fits(), written)
            return tuple(known.every(limit))

    def about(self, name: str) -> Known | None:
        """Return the facts about the entity with this name or a variant of it; None if no memory mentions it."""
        with self._looking():
            partitions, key = self._store.visible(self._caller), canonical(name)
            rows = sorted(self._store.mentioning(partitions, [key]).get(key, ()))[:MOST]
            fits = self._fits()
            memories = {row: memory for row, memory in self._store.by_seqs(rows).items() if fits(memory)}
            mentions = [item for item in self._store.mentions_in(partitions, memories) if item.name == key]
            if not mentions:
                return None
            edges = [edge for edge in self._store.edges_at(partitions, [key]) if edge.seq in memories]
            best = max(mentions, key=lambda item: (len(item.entity.description), -item.seq))
            relations = tuple(Relation(e.source, e.target, e.kind, e.about, e.strength) for e in edges)
            return Known(best.entity, tuple(memory.id for memory in memories.values()), relations)

    def picture(self) -> Picture:
        """Return entities with positions, lines and memories, as `visualize` draws them."""
        with self._looking():
            return picture(self._store, self._store.visible(self._caller), self._fits())

    def _fits(self) -> Callable[[Memory], bool]:
        """Return a function that tells whether a memory may be shown to this caller now."""
        from swarmlore.domain.policy.new_memory import in_force

        store, caller, now = self._store, self._caller, self._now()

        def fits(memory: Memory) -> bool:
            is_episode = "episode" in memory.source_ref  # the source of lessons, shown only on request
            visible = memory.live and not is_episode and in_force(memory, now) and store.is_of_here(caller, memory)
            return visible and self._holds(memory)

        return fits
