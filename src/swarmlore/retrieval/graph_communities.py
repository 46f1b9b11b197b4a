"""A short report on each community: what it is called, what its most central memories say, which they are.

Where a language model has read these memories as they are now, its sentences stand in the report; else their own do.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256

from swarmlore.domain.policy.graph import rarity
from swarmlore.domain.records import Memory
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.graph import NONE, Mention
from swarmlore.store.store import Store
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from typing import Any


NAME = "community-reports.json"
MOST_KEPT = 500  # the newest


@frozen
class KeptReport:
    """The sentences of a model about a community, and its name; without sentences it had nothing to say."""

    sentences: tuple[str, ...]
    by: str


def mark_of(told: Sequence[str]) -> str:
    """What tells these texts from all others."""
    return sha256("\0".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read(home: str) -> dict[str, KeptReport]:
    """Every report that was kept, by the mark of its texts; nothing where the file cannot be read."""
    try:
        with Folder(os.path.realpath(home)) as folder:
            told = json.loads(folder.read(NAME) or b"{}")
        return {
            str(mark): KeptReport(tuple(map(str, item["sentences"])), str(item["by"])) for mark, item in told.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, SwarmloreError):
        return {}


def keep(home: str, mark: str, report: KeptReport) -> None:
    """Keep one more, as the newest."""
    with Folder(os.path.realpath(home)) as folder, folder.lock():
        known = read(home)
        known.pop(mark, None)
        newest = [*known.items(), (mark, report)][-MOST_KEPT:]
        told = {mark: {"sentences": list(one.sentences), "by": one.by} for mark, one in newest}
        folder.replace(NAME, [json.dumps(told, ensure_ascii=True).encode("ascii")], mode=0o600)


def drop(home: str) -> None:
    """Remove all of them."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(home, NAME))


ROUNDS = 10
DRIFT = 0.1  # of the names may be placed one by one before all are found anew
SMALL = 500  # names; so few are found anew in no time
HUB_SHARE = 0.02  # of the memories; what more of them mention is a hub
HUB_LEAST = 12


def ensure(store: Store, partitions: Sequence[int]) -> dict[int, dict[str, int]]:
    """Bring the communities of these partitions up to date: all anew where much has changed, else the new names only.

    Gives those that could not be kept, because the store is only read.
    """
    known = store.community_sizes(partitions)
    unkept: dict[int, dict[str, int]] = {}
    for partition in partitions:
        have, highest = known.get(partition, (0, NONE))
        new = store.names_without_community(partition)
        anew = len(new) > DRIFT * have or have + len(new) <= SMALL
        if new and anew:
            numbers = _found_anew(store, partition)
            if store.engine.readonly:
                unkept[partition] = numbers
            else:
                store.keep_communities(partition, numbers)
        elif new and not store.engine.readonly:
            store.keep_communities(partition, _placed(store, partition, new, highest + 1), add=True)
    return unkept


def ensure_any(store: Store, partitions: Sequence[int]) -> dict[int, dict[str, int]]:
    """The same for partitions that have none yet; cheap where all have."""
    return ensure(store, [partition for partition in partitions if not store.has_communities(partition)])


def _found_anew(store: Store, partition: int) -> dict[str, int]:
    """A number for every name; what everybody mentions has that of a hub."""
    pairs = store.every_pair(partition)
    return dict.fromkeys((name for name, _ in pairs), NONE) | find(pairs, _relations(store, partition))


def _placed(store: Store, partition: int, new: Sequence[str], free: int) -> dict[str, int]:
    """New names in the community that the memories which mention them belong to, or together in one of their own."""
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
        number = min(votes, key=lambda each: (-votes[each], each)) if votes else free
        free = max(free, number + 1)
        placed.update((name, number) for name in names if name in waiting and name not in placed)
    return placed


def _relations(store: Store, partition: int) -> list[tuple[str, str, float]]:
    return [(edge.source, edge.target, edge.strength) for edge in store.every_edge([partition])]


def find(pairs: Sequence[tuple[str, int]], relations: Sequence[tuple[str, str, float]] = ()) -> dict[str, int]:
    """A number for every name that is no hub; equal ones belong together. The same graph gives the same numbers."""
    import numpy as np

    names = sorted({name for name, _ in pairs})
    if not names:
        return {}
    place = {name: number for number, name in enumerate(names)}
    rows = {row: number for number, row in enumerate(sorted({row for _, row in pairs}))}
    ends = [(place[name], rows[row], 1.0) for name, row in pairs]
    memories = len(rows)
    for source, target, strength in relations:  # a relation is a small memory of its own, of two names
        if source in place and target in place:
            joint = len(rows)
            rows[-joint - 1] = joint
            ends += [(place[source], joint, strength / 5), (place[target], joint, strength / 5)]
    table = np.array(ends, dtype=np.float64)
    labels, hubs = _settle(table, len(names), len(rows), memories)
    _, numbers = np.unique(labels, return_inverse=True)
    numbered = zip(names, numbers.ravel(), hubs, strict=True)
    return {name: int(number) for name, number, hub in numbered if not hub}


def _settle(table: Any, names: int, rows: int, memories: int) -> Any:
    """Labels of the names after they have settled, and which names are hubs; the first rows are memories."""
    import numpy as np

    name, row = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    counts = np.bincount(name[row < memories], minlength=names)
    weights = table[:, 2] * np.array([rarity(int(count), memories) ** 2 for count in counts])[name]
    hub = counts > max(HUB_LEAST, HUB_SHARE * memories)
    hub = hub if not hub.all() else np.zeros(names, dtype=bool)
    inner = ~hub[name]
    joins = inner & (counts[name] > 1)  # what one memory alone mentions joins nothing: it goes where that one goes
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
    """For every node the label with the most weight around it; of equals the smallest; -1 or `before` where none is."""
    import numpy as np

    found = np.full(size, -1) if before is None else before.copy()
    if not len(nodes):
        return found
    span = int(labels.max()) + 2
    keys, inverse = np.unique(nodes * span + labels + 1, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=weights)
    owners, owned = keys // span, keys % span - 1
    order = np.lexsort((owned, -np.round(sums, 9), owners))
    first = np.unique(owners[order], return_index=True)[1]
    found[owners[order][first]] = owned[order][first]
    return found


NAMES = 4  # of the strongest entities make the name of a community
SENTENCES = 3
SENTENCE_CHARS = 160
BEST = 3  # communities that answer a question
LOOKED_AT = 8  # communities, where some have nothing of their own to say
CENTRAL = 20  # memories of a community that are looked at
PAGE = 500
TOLD_CHARS = 400  # of each memory that a report is made from

Place = tuple[int, int]  # partition and number of a community


@frozen
class Community:
    """What belongs together: its strongest entities, what is said about it, and the memories that say it. `by` is the
    language model that said it, `told` what it is made from."""

    name: str
    entities: tuple[str, ...]
    notes: int
    sentences: tuple[str, ...]
    members: tuple[str, ...]
    by: str = ""
    told: tuple[str, ...] = ()

    @property
    def report(self) -> str:
        """The report as one line."""
        notes = "1 memory" if self.notes == 1 else f"{self.notes} memories"
        by = f", in the words of {self.by}" if self.by else ""
        return f"{self.name} ({notes}{by}): " + " · ".join(self.sentences)


@frozen
class Member:
    """How much a question concerns a community, and how central one of its memories is; both up to 1."""

    fit: float
    centrality: float
    name: str


class Communities:
    """Reads communities and tells which of them a question is about, within what a caller may see.

    `fits` says which memories may speak; what only others mention is not named either. `written` are reports of a
    language model, by the mark of what they were made from.
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
        """The members of the communities that the best hits point to, and a report on each of these.

        `found` are (row, partition, relevance) of hits.
        """
        fits = self._fits(found)
        best = sorted(fits, key=lambda place: (-fits[place], place))
        members: dict[int, Member] = {}
        reports: list[Community] = []
        for place in best[:LOOKED_AT]:
            central, report = self._told(place)
            if report is None:
                continue
            _add(reports, report)
            for row, centrality in central.items():
                members.setdefault(row, Member(fits[place] / fits[best[0]], centrality, report.name))
            if len(reports) == BEST:
                break
        return members, reports

    def every(self, limit: int) -> list[Community]:
        """The largest communities with their reports."""
        self._unkept |= ensure(self._store, self._partitions)
        every = list(self._all())
        self._known = self._store.communities_of(self._partitions, {mention.name for _, mention in every})
        places = Counter(self._places(mention.name, partition) for partition, mention in every)
        found: list[Community] = []
        for place, _ in places.most_common():
            if len(found) == limit:
                break
            if place is not None and (report := self._told(place)[1]):
                _add(found, report)
        return found

    def _told(self, place: Place) -> tuple[dict[int, float], Community | None]:
        """How central each memory of a community is, and a report by those that may speak; None where none may."""
        mentions = self._members(place)
        central = centralities(mentions)
        rows = sorted(central, key=lambda row: (-central[row], row))
        memories = self._store.by_seqs(rows[:CENTRAL])
        speaking = {row: memories[row] for row in rows[:CENTRAL] if row in memories and self._fit(memories[row])}
        if not speaking:
            return central, None
        heard = [mention for mention in mentions if mention.seq in speaking]
        silent = len(rows[:CENTRAL]) - len(speaking)
        return central, self._worded(_report(heard, tuple(speaking.values()), len(rows) - silent))

    def _worded(self, report: Community) -> Community:
        """A report in the words of a model, if one has read what it is made from."""
        known = self._written().get(mark_of(report.told))
        return replace(report, sentences=known.sentences, by=known.by) if known and known.sentences else report

    def _all(self) -> Iterable[tuple[int, Mention]]:
        return (
            (partition, mention) for partition in self._partitions for mention in self._store.every_mention([partition])
        )

    def _fits(self, found: Sequence[tuple[int, int, float]]) -> dict[Place, float]:
        """How much the best hits point to each community; a hit that belongs to several points to each a little."""
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
            whole = sum(own.values()) or 1.0
            for place, weight in own.items():
                fits[place] = fits.get(place, 0.0) + where[row][1] ** 2 * weight / whole
        return {place: fit for place, fit in fits.items() if fit > 0}

    def _look_up(self, mentioned: set[tuple[int, str]]) -> None:
        """The communities of names; where one of them is new, all partitions are brought up to date."""
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


def _report(mentions: Sequence[Mention], memories: Sequence[Memory], count: int) -> Community:
    sentences = list(dict.fromkeys(map(telling_sentence, memories)))[:SENTENCES]
    ids = tuple(memory.id for memory in memories)
    told = tuple(map(_told_by, memories))
    return Community(_name(mentions), _strongest(mentions), count, tuple(sentences), ids, told=told)


def _told_by(memory: Memory) -> str:
    """What one memory says, as far as a report is made from it."""
    said = " ".join(f"{memory.title}: {memory.text}".lstrip(": ").split())
    return said if len(said) <= TOLD_CHARS else said[: TOLD_CHARS - 1].rstrip() + "…"


def _add(reports: list[Community], report: Community) -> None:
    """Another report, unless one has said all of it: the hive and a project may know of one thing."""
    if not any(set(report.sentences) <= set(other.sentences) for other in reports):
        reports.append(report)


def centralities(mentions: Sequence[Mention]) -> dict[int, float]:
    """How central each memory is: how much of what its community talks about it mentions; the most central has 1."""
    counts = Counter(mention.name for mention in mentions)
    sums: dict[int, float] = {}
    for mention in mentions:
        sums[mention.seq] = sums.get(mention.seq, 0.0) + counts[mention.name] ** 0.5
    most = max(sums.values(), default=1.0)
    return {row: value / most for row, value in sums.items()}


def telling_sentence(memory: Memory) -> str:
    """The one sentence that a memory comes down to: its key insight, its title, or how its text begins."""
    fields = memory.extra.get("note")
    insight = fields.get("key_insight") if isinstance(fields, Mapping) else ""
    said = insight if isinstance(insight, str) and insight.strip() else memory.title or memory.text
    said = " ".join(said.split())
    first = said.partition(". ")[0]
    return first if len(first) <= SENTENCE_CHARS else first[: SENTENCE_CHARS - 1].rstrip() + "…"


def _strongest(mentions: Sequence[Mention], limit: int = 12) -> tuple[str, ...]:
    """The entities most memories mention, each as most of them write it; files of notes name nothing."""
    counts = Counter(mention.name for mention in mentions if mention.entity.type != "note")
    spellings: dict[str, Counter[str]] = {}
    for mention in mentions:
        spellings.setdefault(mention.name, Counter())[mention.entity.name] += 1
    best = sorted(counts, key=lambda name: (-counts[name], name))[:limit]
    return tuple(spellings[name].most_common(1)[0][0] for name in best)


def _name(mentions: Sequence[Mention]) -> str:
    return ", ".join(_strongest(mentions, NAMES)) or "unnamed"
