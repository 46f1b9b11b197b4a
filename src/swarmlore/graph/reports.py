"""A short report on each community: what it is called, what its most central memories say, which they are.

Where a language model has read these memories as they are now, its sentences stand in the report; else their own do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from swarmlore.domain.policy.graph import rarity
from swarmlore.domain.records import Memory
from swarmlore.formats.community_reports import KeptReport, mark_of
from swarmlore.frozen import frozen, replace
from swarmlore.graph import communities
from swarmlore.store.graph import NONE, Mention
from swarmlore.store.store import Store

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
        self._unkept = communities.ensure_any(store, partitions)
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
        self._unkept |= communities.ensure(self._store, self._partitions)
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
            self._unkept = communities.ensure(self._store, self._partitions)
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
