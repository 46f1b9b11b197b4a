"""The neighbourhood of a question: the entities it names, what they lead to, and the memories that mention those."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from swarmlore.domain.language.concepts import ORDINARY, canonical, words_of
from swarmlore.domain.language.tokenizer import STOP_WORDS, stem
from swarmlore.domain.policy.graph import DEFAULT, Spread, Way, rarity, row_scores, step
from swarmlore.frozen import field, frozen
from swarmlore.store.graph import Edge, Mention
from swarmlore.store.store import Store

LONGEST_NAME = 4  # words of a name in a question
MOST_WORDS = 64  # of a question that are looked up
COMMON = 200  # memories; what more of them mention leads everywhere
MOST_NAMES = 80  # that one step goes on from
LOOKED_AT = 5  # of the best hits, for what they mention
SURE = 1.0  # the weight of a mention that somebody wrote down
MEANT = 0.6  # of a name's words that a question must have to mean it
_WORD = re.compile(r"[^\W_][\w+#@./:-]*|--?\w[\w-]*|\.\w[\w.]*")


@frozen
class Around:
    """What a question reaches: rows with the way to them; `named` are the names it says."""

    rows: Mapping[int, Way] = field(default_factory=dict)
    named: tuple[str, ...] = ()


class Neighbourhood:
    """Follows relations from a question to memories, within what a caller may see."""

    def __init__(self, store: Store, rules: Spread = DEFAULT) -> None:
        self._store = store
        self._rules = rules

    def around(
        self,
        text: str,
        partitions: Sequence[int],
        tops: Sequence[tuple[int, float]] = (),
        *,
        only_named: bool = False,
        only_written: bool = False,
    ) -> Around:
        """The memories near what a question names and near what its best hits mention.

        `tops` are rows with their relevance, best first; with `only_named` they only tell which names are meant. With
        `only_written` nothing is followed that only rules saw.
        """
        if not self._store.has_graph(partitions):
            return Around()
        sources = [row for row, _ in tops[:LOOKED_AT]]
        least = SURE if only_written else 0.0
        mentions = [item for item in self._store.mentions_in(partitions, sources) if item.weight >= least]
        named = self._named(text, partitions, mentions)
        seeds = named if only_named else self._with_mentioned(named, mentions, tops, partitions)
        ways = self._spread(seeds, partitions)
        reached = row_scores(ways, self._mentioning(ways, partitions, least), COMMON, sources, self._rules)
        return Around(reached, tuple(named))

    def _named(self, text: str, partitions: Sequence[int], mentions: Iterable[Mention]) -> dict[str, Way]:
        """The entities that a question names: as they are called, or by most of the words of their names."""
        asked = names_in(text)
        counts = self._store.count_mentions(partitions, asked)
        found = {name: Way(1.0, name, True) for name in asked if name in counts}
        words = frozenset(stem(word.lower()) for word in _WORD.findall(text)[:MOST_WORDS])
        for name in dict.fromkeys(mention.name for mention in mentions):
            own = words_of([name]) - STOP_WORDS
            part = len(own & words) / len(own) if len(own) > 1 else 0.0
            if part >= MEANT and name not in found:
                found[name] = Way(part, name, True)
        return found

    def _with_mentioned(
        self,
        named: Mapping[str, Way],
        mentions: Sequence[Mention],
        tops: Sequence[tuple[int, float]],
        partitions: Sequence[int],
    ) -> dict[str, Way]:
        """What the best hits mention, as far as they are good and the name is rare, beside what was named."""
        best = max((score for _, score in tops), default=0.0)
        scores = dict(tops) if best > 0 else {}
        counts = self._store.count_mentions(partitions, {mention.name for mention in mentions})
        seeds = dict(named)
        for mention in mentions:
            near = max(0.0, scores.get(mention.seq, 0.0)) / best if best > 0 else 0.0
            worth = self._rules.mentioned * mention.weight * near**self._rules.sharpness
            way = Way(worth * rarity(counts.get(mention.name, 0), COMMON), mention.name)
            if way.strength > seeds.get(mention.name, Way(0.0, "")).strength:
                seeds[mention.name] = way
        return seeds

    def _spread(self, seeds: Mapping[str, Way], partitions: Sequence[int]) -> dict[str, Way]:
        ways, edge_of_known = dict(seeds), dict(seeds)
        for _ in range(self._rules.hops):
            start = sorted(edge_of_known, key=lambda name: -edge_of_known[name].strength)[:MOST_NAMES]
            edges = self._store.edges_at(partitions, self._uncommon(start, partitions)) if start else []
            edge_of_known = step(ways, map(_ends, edges), self._rules)
            ways.update(edge_of_known)
        return ways

    def _uncommon(self, names: Sequence[str], partitions: Sequence[int]) -> list[str]:
        counts = self._store.count_mentions(partitions, names)
        return [name for name in names if counts.get(name, 0) <= COMMON]

    def _mentioning(
        self, ways: Mapping[str, Way], partitions: Sequence[int], least: float
    ) -> dict[str, dict[int, float]]:
        best = sorted(ways, key=lambda name: -ways[name].strength)[: 4 * MOST_NAMES]
        found = self._store.mentioning(partitions, self._uncommon(best, partitions))
        return {name: {row: worth for row, worth in rows.items() if worth >= least} for name, rows in found.items()}


def names_in(text: str) -> list[str]:
    """Every run of up to four words of a question as a name it may mean, longest first."""
    words = [word.rstrip(".:/-") for word in _WORD.findall(text)[:MOST_WORDS]]
    runs = [
        words[start : start + length]
        for length in range(LONGEST_NAME, 0, -1)
        for start in range(len(words) - length + 1)
    ]
    said = (" ".join(run) for run in runs if not _everyday(run))
    return [name for name in dict.fromkeys(map(canonical, said)) if name]


def _everyday(run: Sequence[str]) -> bool:
    """Whether a run of words names nothing: it begins or ends with a filler, or is one small everyday word."""
    if run[0].lower() in STOP_WORDS or run[-1].lower() in STOP_WORDS:
        return True
    word = run[0]
    return len(run) == 1 and word.islower() and (len(word) < 2 or (word in ORDINARY and len(word) < 4))


def _ends(edge: Edge) -> tuple[str, str, str, float]:
    return edge.source, edge.target, edge.kind, edge.strength
