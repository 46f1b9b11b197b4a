"""Candidates for a question, with what is known about each: words, meaning, pieces, situations, neighbours.

Full text and vectors each name their best; only those are looked at closely (`rules.relevance`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from swarmlore.background import InTurn, Meanwhile
from swarmlore.config import RecallSettings
from swarmlore.domain.language.concepts import ORDINARY, canonical, words_of
from swarmlore.domain.language.tokenizer import STOP_WORDS, code_share, index_text, query_terms, stem
from swarmlore.domain.policy import ranking
from swarmlore.domain.policy.graph import DEFAULT, Spread, Way, rarity, row_scores, step
from swarmlore.domain.policy.ranking import Evidence
from swarmlore.domain.records import RAW_SOURCES, Hit, Memory, Part, Query, Situation
from swarmlore.frozen import TYPE_CHECKING, field, frozen, replace
from swarmlore.models.embedding import Embedding, QueryVector
from swarmlore.store.graph import Edge, Mention
from swarmlore.store.search import CandidateRow
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from swarmlore.models.embedding import Vectors


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


LEAST = 50  # candidates of each engine, however few hits are asked for
BEHIND = "many texts wait for their vector and are found by words only: swarmlore reindex"
FILTERED = 4  # times as many where a filter will throw most of them away
AN_ANSWER = 0.5  # the relevance of an answer, where there is no hit to go by
MOST_MATCHES = 5_000  # rows that full text ranks for one question: about four milliseconds
WOKEN = 30  # memories that connections may add to the candidates
UNNAMED = "the question names nothing that the memories are connected by: looked by meaning alone"


@frozen
class Candidate:
    """The row of a memory, how relevant it is, why, and what the bar for unasked showing is asked about. The memory
    itself is read when it is wanted: most candidates are never shown."""

    seq: int
    partition: int
    relevance: float
    gate: tuple[Evidence, ...]  # of its text, and of its best situation
    code: float
    more: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The explanation."""
        return (*_explain(self.gate[0], self.code), *self.more)


@frozen
class Verdict:
    """Whether anything is worth showing unasked."""

    silent: bool
    reason: str
    blind: bool = False

    def near_best(self, hits: list[Hit]) -> list[Hit]:
        """The hits that are not far behind the first; by words alone scores are small, so half of the best counts."""
        if self.blind:
            words = [sum(part.value for part in hit.explanation if part.name == "words") for hit in hits]
            return [hit for hit, score in zip(hits, words, strict=True) if score * 2 >= max(words)]
        return hits[: ranking.near_best([hit.score for hit in hits], len(hits))] if hits else hits


@frozen
class Found:
    """The question as it was asked, and its candidates in no order."""

    question: Question
    candidates: list[Candidate]


@frozen
class Question:
    """A query as the scoring sees it."""

    weights: dict[str, float]
    size: int
    code: float
    near: Near


@frozen
class Connections:
    """What the graph adds by mode; chosen with `bench/graph.py`. A memory that is reached gets a share of what the best
    hit has: it is worth as much as what leads to it, and the way there. In `hybrid` a few such memories join the hits,
    below the first, and the others keep their order."""

    named: float = 1.6  # where the question names the entity from which the way leads
    mentioned: float = 1.2  # where only the best hits do
    joining: int = 3
    below_best: float = 0.97
    local: float = 1.0
    broad: float = 0.3


CONNECTIONS = Connections()


@frozen
class Near:
    """The question in vector space, the vectors it is held against, and the rows nearest to it."""

    vector: QueryVector | None
    index: Vectors | None = None
    seqs: frozenset[int] = frozenset()


def telling(terms: Sequence[str], frequencies: Mapping[str, int], most: int = MOST_MATCHES) -> list[str]:
    """The terms to look for: the rarest, as long as together they lead to no more rows than can be ranked quickly, but
    one that leads somewhere. A common word tells little, and costs most; what others find is judged by it too."""
    chosen: list[str] = []
    total = 0
    for term in sorted(terms, key=lambda term: (frequencies.get(term, 0), term)):
        rows = frequencies.get(term, 0)
        if total and total + rows > most:
            break
        total += rows
        chosen.append(term)  # also what no text has: a situation may
    return chosen


class Gatherer:
    """Finds candidates and their evidence."""

    def __init__(self, store: Store, embedding: Embedding, settings: RecallSettings, home: str = "") -> None:
        self._store = store
        self._embedding = embedding
        self._settings = settings
        self._home = home
        self._behind = False
        self._said: tuple[str, ...] = ()
        self.reports: tuple[str, ...] = ()
        self.connections = CONNECTIONS

    def begin(self) -> None:
        """Nothing has been said yet about how the next question is answered."""
        self._said, self.reports = (), ()

    def notes(self, query: Query) -> tuple[str, ...]:
        """What a reader of the hits should know about how they were found."""
        if query.mode == "keyword" or query.profile in ("knowledge", "beads"):
            return ()
        said = (self._embedding.problem, BEHIND if self._behind else "", *self._said)
        return tuple(note for note in said if note)

    def gather(self, query: Query, partitions: Sequence[int]) -> Found:
        """Every candidate of both engines with its relevance; the two look at the same time where they may."""
        wanted = self._wanted(query, LEAST)
        by_meaning = self._start_by_meaning(query, partitions, wanted)
        with self._store.engine.reading():  # one snapshot, and on a server one transaction
            return self._gathered(query, partitions, wanted, by_meaning)

    def connected(self, query: Query, partitions: Sequence[int], fits: Callable[[Memory], bool]) -> Found:
        """The candidates with what their connections add, as the mode of the query has it; reports tell only of
        memories that fit."""
        if query.mode == "global":
            return self._broad(query, partitions, fits)
        if query.mode == "local":
            return self._local(query, partitions)
        found = self.gather(query, partitions)
        return self._with_connected(query, found, partitions) if query.mode == "hybrid" else found

    def _local(self, query: Query, partitions: Sequence[int]) -> Found:
        """By meaning, and by what the entities lead to that the question names; where it names none, it is said."""
        blind = self._embedding.embedder() is None
        found = self.gather(replace(query, mode="keyword" if blind else "naive"), partitions)
        around = self._around(query.text, found, partitions, only_named=True)
        if not around.named:
            self._said = (UNNAMED,)
            return found
        share = self.connections.local * _best(found)
        gains = {row: Part("graph", share * way.strength, way.path) for row, way in around.rows.items()}
        return self._joined(found, gains, partitions)

    def _with_connected(self, query: Query, found: Found, partitions: Sequence[int]) -> Found:
        """The candidates and a few that the best of them lead to, by what was written down about them."""
        rules, best = self.connections, _best(found)
        if not rules.joining or not found.candidates:
            return found
        around = self._around(query.text, found, partitions, only_written=True)
        shares = {
            row: way.strength * (rules.named if way.named else rules.mentioned) for row, way in around.rows.items()
        }
        strongest = sorted(shares, key=lambda row: (-shares[row], row))[: rules.joining]
        own = {item.seq: item.relevance for item in found.candidates}
        top = rules.below_best * best
        gains = {
            row: Part("graph", min(best * shares[row], max(0.0, top - own.get(row, 0.0))), around.rows[row].path)
            for row in strongest
        }
        return self._joined(found, gains, partitions)

    def linked(self, query: Query, found: Found, partitions: Sequence[int]) -> list[Memory]:
        """What the names in a question lead to, the nearest first: each thing under whatever name it goes."""
        rows = self._around(query.text, found, partitions, only_named=True).rows
        nearest = sorted(rows, key=lambda row: (-rows[row].strength, row))[: self._wanted(query, LEAST)]
        memories = self._store.by_seqs(nearest)
        return [memories[row] for row in nearest if row in memories]

    def _around(self, text: str, found: Found, partitions: Sequence[int], **only: bool) -> Around:

        tops = [(item.seq, item.relevance) for item in sorted(found.candidates, key=lambda item: -item.relevance)]
        with self._store.engine.reading():
            return Neighbourhood(self._store).around(text, partitions, tops, **only)

    def _broad(self, query: Query, partitions: Sequence[int], fits: Callable[[Memory], bool]) -> Found:
        """Candidates by the communities that the best hits point to, which are reported on."""
        from swarmlore.retrieval.graph_communities import Communities, read

        found = self.gather(replace(query, mode="hybrid"), partitions)
        known = Communities(self._store, partitions, fits, partial(read, self._home) if self._home else dict)
        hits = [(item.seq, item.partition, item.relevance) for item in found.candidates]
        members, reports = known.asked_for(hits)
        self.reports = tuple(report.report for report in reports)
        share = self.connections.broad
        gains = {
            row: Part("community", share * member.fit * (1 + member.centrality) / 2, member.name)
            for row, member in members.items()
        }
        return self._joined(found, gains, partitions)

    def _joined(self, found: Found, gains: Mapping[int, Part], partitions: Sequence[int]) -> Found:
        """The candidates and the memories that gain most, each with its gain."""
        known = {item.seq for item in found.candidates}
        best = sorted(gains, key=lambda row: (-gains[row].value, row))
        woken = {row for row in best[: WOKEN + len(known)] if row not in known}
        new = set(sorted(woken, key=lambda row: (-gains[row].value, row))[:WOKEN])
        if new:
            with self._store.engine.reading():
                added = self._judged(found.question, new, partitions)
        else:
            added = []
        items = [
            replace(item, relevance=item.relevance + gains[item.seq].value, more=(*item.more, gains[item.seq]))
            if item.seq in gains
            else item
            for item in (*found.candidates, *added)
        ]
        return Found(found.question, items)

    def _gathered(
        self, query: Query, partitions: Sequence[int], wanted: int, by_meaning: Meanwhile | InTurn | None
    ) -> Found:
        terms = tuple(query_terms(query.text))
        frequencies, size = self._store.document_frequencies(terms, partitions)
        seqs = set() if query.mode == "naive" else self._by_words(telling(terms, frequencies), partitions, wanted)
        near = by_meaning.result() if by_meaning else Near(None)
        weights = ranking.term_weights(frequencies, size)
        question = Question(weights, size, code_share(query.text), near)
        candidates = self._judged(question, seqs | near.seqs, partitions)
        if query.near:
            fits = ranking.is_near if query.mode == "naive" else ranking.is_related
            candidates = [item for item in candidates if fits(item.gate)]
        return Found(question, candidates)

    def _start_by_meaning(self, query: Query, partitions: Sequence[int], wanted: int) -> Meanwhile | InTurn | None:
        """Embed the question and look for the nearest vectors, in a thread of its own where that is welcome."""
        if query.mode == "keyword":
            return None
        self._behind = self._embedding.catch_up_few()
        index = self._embedding.index()  # catches up with the table here: the thread must not use the store
        look = partial(self._near, query.text, index, partitions, wanted)
        return InTurn(look) if self._embedding.in_turn else Meanwhile(look)

    def _near(self, text: str, index: Vectors | None, partitions: Sequence[int], wanted: int) -> Near:
        vector = self._embedding.query(text)
        if vector is None or index is None:
            return Near(vector)
        texts, cues = index.nearest(vector.vector, partitions, wanted)
        return Near(vector, index, frozenset(seq for seq, _ in (*texts, *cues)))

    def _by_words(self, terms: Sequence[str], partitions: Sequence[int], wanted: int) -> set[int]:
        words = self._store.match_words(terms, partitions, wanted)
        return {*words, *self._store.match_cues(terms, partitions, wanted)}

    def _judged(self, question: Question, seqs: set[int], partitions: Sequence[int]) -> list[Candidate]:
        rows = self._store.candidate_rows(sorted(seqs))
        there = [row.seq for row in rows]
        stems = [row.stems.split() for row in rows]
        average = sum(map(len, stems)) / max(1, len(stems))
        late = self._late(question.near, there, partitions)
        cosines, cue_cosines = _cosines(question.near, there)
        situations = self._store.situations_of(there)
        found = []
        for row, words in zip(rows, stems, strict=True):
            score = ranking.words_score(words, question.weights, average)
            evidence = Evidence(score, cosines.get(row.seq), late.get(row.seq))
            cue = _best_situation(situations.get(row.seq, ()), cue_cosines.get(row.seq), question, average)
            found.append(_candidate(row, evidence, cue, question.code))
        return _with_neighbours(found, [_place(row) for row in rows])

    def memories(self, found: Sequence[Candidate]) -> list[tuple[Candidate, Memory]]:
        """Candidates with the memories they are; what was erased meanwhile is left out."""
        memories = self._store.by_seqs([item.seq for item in found])
        return [(item, memories[item.seq]) for item in found if item.seq in memories]

    def by_vector(self, query: Query, partitions: Sequence[int]) -> list[tuple[Memory, float]]:
        """(memory, cosine) of the nearest texts, for the profiles that rank by similarity alone."""
        vector, index = self._embedding.query(query.text), self._embedding.index()
        if vector is None or index is None:
            return []
        found, _ = index.nearest(vector.vector, partitions, self._wanted(query, query.limit))
        memories = self._store.by_seqs([seq for seq, _ in found])
        return [(memories[seq], cosine) for seq, cosine in found if seq in memories]

    def verdict(self, found: Found) -> Verdict:
        """Whether the best candidate clears the bar, which rises with the size of the store."""
        if not found.candidates:
            return Verdict(True, "nothing in memory shares a word or a meaning with it")
        generic = self._embedding.everyday_closeness(found.question.near.vector)
        best = max(ranking.gate_score(view, generic) for item in found.candidates for view in item.gate)
        bar = ranking.bar(found.question.size) + self._settings.bar
        if best <= bar:
            return Verdict(True, f"nothing relevant enough: the best reached {best:.2f}, the bar is {bar:.2f}")
        return Verdict(False, "", blind=found.question.near.vector is None)

    def _wanted(self, query: Query, least: int) -> int:
        filtered = query.kinds or query.categories or query.tags or query.sources or query.entities
        wanted = max(query.limit * self._settings.candidate_multiplier, least)
        return wanted * FILTERED if filtered else wanted

    def _late(self, near: Near, seqs: Sequence[int], partitions: Sequence[int]) -> dict[int, float]:
        """Late interaction with those candidates that have pieces."""
        cue, index = near.vector.embedded if near.vector else None, near.index
        packed = self._store.pieces_of(seqs, index.provider) if cue is not None and index is not None else {}
        if cue is None or index is None or not packed:
            return {}
        from swarmlore.domain.language.late_interaction import late_scores, piece_weights

        frequencies, size = index.piece_frequencies(partitions, cue.piece_ids)
        weights = piece_weights(cue.piece_ids, frequencies, size, cue.emphasis)
        scores = late_scores(cue.pieces, weights, list(packed.values()))
        return dict(zip(packed, map(float, scores), strict=True))


def _candidate(row: CandidateRow, evidence: Evidence, cue: Evidence | None, code: float) -> Candidate:
    score = ranking.relevance(evidence, code)
    if cue is None:
        return Candidate(row.seq, row.partition, score, (evidence,), code)
    boosted = ranking.with_situations(score, [ranking.relevance(cue, code)])
    gain = Part("situation", boosted - score, "it was needed in a situation like this")
    return Candidate(row.seq, row.partition, boosted, (evidence, cue), code, (gain,) if gain.value > 0 else ())


def _best_situation(
    situations: Sequence[Situation], cosine: float | None, question: Question, average: float
) -> Evidence | None:
    if not situations:
        return None
    stems = [index_text(situation.text).split() for situation in situations]
    words = max(ranking.words_score(each, question.weights, average) for each in stems)
    return Evidence(words, cosine) if words or cosine is not None else None


def _cosines(near: Near, seqs: Sequence[int]) -> tuple[dict[int, float], dict[int, float]]:
    """The cosine of each row to its text and to its best situation."""
    if near.vector is None or near.index is None:
        return {}, {}
    return near.index.cosines(near.vector.vector, seqs), near.index.cue_cosines(near.vector.vector, seqs)


def _best(found: Found) -> float:
    return max((item.relevance for item in found.candidates), default=0.0) or AN_ANSWER


def _explain(evidence: Evidence, code: float) -> tuple[Part, ...]:
    rules = ranking.DEFAULT
    parts = [Part("words", ranking.words_weight(code) * evidence.words, "shared words, the rarer the more")]
    if evidence.cosine is not None:
        parts.append(Part("meaning", rules.meaning * evidence.cosine, f"cosine {evidence.cosine:.3f}"))
    if evidence.late is not None:
        parts.append(Part("pieces", evidence.late, "each piece of the question finds its best match"))
    else:
        guess = rules.late_base + rules.late_slope * (evidence.cosine or 0.0)
        parts.append(Part("pieces", guess, "estimated: it has no pieces"))
    parts.append(Part("chance", -rules.nothing, "what two unrelated texts get"))
    return tuple(part for part in parts if part.value)


def _with_neighbours(found: list[Candidate], places: Sequence[tuple[str, float] | None]) -> list[Candidate]:
    """Turns of a conversation gain from a turn near them that fits better."""
    scores = ranking.with_neighbours([item.relevance for item in found], places)
    return [
        item if score == item.relevance else replace(item, relevance=score, more=(*item.more, _neighbour(item, score)))
        for item, score in zip(found, scores, strict=True)
    ]


def _neighbour(item: Candidate, score: float) -> Part:
    return Part("neighbours", score - item.relevance, "a turn next to it fits well")


def _place(row: CandidateRow) -> tuple[str, float] | None:
    """The session and position of a turn."""
    if row.source in RAW_SOURCES and row.session and row.position is not None:
        return row.session, float(row.position)
    return None
