"""Retrieval candidates of a query: lexical and semantic search, situations, late interaction and the entity graph.

Full text and vector search each return their best rows; `domain.policy.ranking` scores only those in detail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from swarmlore.background import BackgroundResult, DeferredResult
from swarmlore.config import RecallSettings
from swarmlore.domain.language.concepts import ORDINARY, canonical, words_of
from swarmlore.domain.language.tokenizer import STOP_WORDS, code_share, index_text, query_terms, stem
from swarmlore.domain.policy import ranking
from swarmlore.domain.policy.graph import DEFAULT, Spread, Way, rarity, row_scores, step
from swarmlore.domain.policy.ranking import Evidence
from swarmlore.domain.records import RAW_SOURCES, Hit, Memory, Part, Query, Situation
from swarmlore.frozen import TYPE_CHECKING, field, frozen, replace
from swarmlore.models.embedding import Embedding, QueryVector
from swarmlore.store.graph import Mention
from swarmlore.store.search import CandidateRow
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from swarmlore.models.embedding import Vectors


LONGEST_NAME = 4  # words of an entity's name in a query
MOST_WORDS = 64  # words of a query that are looked up
COMMON = 200  # memories; an entity that more of them mention is not followed
MOST_NAMES = 80  # entities that one step continues from
LOOKED_AT = 5  # best hits whose mentioned entities are followed
SURE = 1.0  # weight of a mention that was written down, not found by a heuristic
MEANT = 0.6  # share of a name's words that a query must contain to mean that entity
_WORD = re.compile(r"[^\W_][\w+#@./:-]*|--?\w[\w-]*|\.\w[\w.]*")


@frozen
class Around:
    """Rows that a query reaches over the graph, each with the path to it; `named` are the entities it names."""

    rows: Mapping[int, Way] = field(default_factory=dict)
    named: tuple[str, ...] = ()


class Neighbourhood:
    """Follow the entity graph from a query to memories, within the partitions of a caller."""

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
        """Return the memories near the entities that a query names or that its best hits mention.

        `tops` are rows with their relevance, best first; with `only_named` they only help to recognise names.
        With `only_written`, mentions and relations found by heuristics alone are not followed.
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
        """Return the entities that a query names in full or by at least 60 % of their name's words."""
        asked = names_in(text)
        counts = self._store.count_mentions(partitions, asked)
        named = {name: Way(1.0, name, True) for name in asked if name in counts}
        words = frozenset(stem(word.lower()) for word in _WORD.findall(text)[:MOST_WORDS])
        for name in dict.fromkeys(mention.name for mention in mentions):
            own = words_of([name]) - STOP_WORDS
            part = len(own & words) / len(own) if len(own) > 1 else 0.0
            if part >= MEANT and name not in named:
                named[name] = Way(part, name, True)
        return named

    def _with_mentioned(
        self,
        named: Mapping[str, Way],
        mentions: Sequence[Mention],
        tops: Sequence[tuple[int, float]],
        partitions: Sequence[int],
    ) -> dict[str, Way]:
        """Add the entities that the best hits mention, weighted by the hit's relevance and the name's rarity."""
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
        """Follow relations from the seeds for the configured number of hops; return the path to each entity."""
        ways, frontier = dict(seeds), dict(seeds)
        for _ in range(self._rules.hops):
            start = sorted(frontier, key=lambda name: -frontier[name].strength)[:MOST_NAMES]
            edges = self._store.edges_at(partitions, self._uncommon(start, partitions)) if start else []
            ends = ((edge.source, edge.target, edge.kind, edge.strength) for edge in edges)
            frontier = step(ways, ends, self._rules)
            ways.update(frontier)
        return ways

    def _uncommon(self, names: Sequence[str], partitions: Sequence[int]) -> list[str]:
        counts = self._store.count_mentions(partitions, names)
        return [name for name in names if counts.get(name, 0) <= COMMON]

    def _mentioning(
        self, ways: Mapping[str, Way], partitions: Sequence[int], least: float
    ) -> dict[str, dict[int, float]]:
        best = sorted(ways, key=lambda name: -ways[name].strength)[: 4 * MOST_NAMES]
        mentions = self._store.mentioning(partitions, self._uncommon(best, partitions))
        return {name: {row: worth for row, worth in rows.items() if worth >= least} for name, rows in mentions.items()}


def names_in(text: str) -> list[str]:
    """Return every run of up to four words of a query as a possible entity name, longest first."""
    words = [word.rstrip(".:/-") for word in _WORD.findall(text)[:MOST_WORDS]]
    runs = [
        words[start : start + length]
        for length in range(LONGEST_NAME, 0, -1)
        for start in range(len(words) - length + 1)
    ]
    phrases = (" ".join(run) for run in runs if not _is_ordinary(run))
    return [name for name in dict.fromkeys(map(canonical, phrases)) if name]


def _is_ordinary(run: Sequence[str]) -> bool:
    """Return True if words cannot be a name: they begin or end with a stop word, or are one short common word."""
    if run[0].lower() in STOP_WORDS or run[-1].lower() in STOP_WORDS:
        return True
    word = run[0]
    return len(run) == 1 and word.islower() and (len(word) < 2 or (word in ORDINARY and len(word) < 4))


LEAST = 50  # candidates of each search, however few hits are asked for
BEHIND = "many texts wait for their vector and are found by words only: swarmlore reindex"
FILTERED = 4  # factor for the number of candidates if a filter will drop most of them
AN_ANSWER = 0.5  # assumed relevance of a good answer if there is no hit
MOST_MATCHES = 5_000  # rows that full text ranks for one query: about four milliseconds
WOKEN = 30  # memories that the graph may add to the candidates
UNNAMED = "the question names nothing that the memories are connected by: looked by meaning alone"


@frozen
class Candidate:
    """A row with its relevance and the evidence for it, without the memory: most candidates are never shown."""

    seq: int
    partition: int
    relevance: float
    gate: tuple[Evidence, ...]  # of its text and its best situation, for the bar of automatic injection
    code: float
    more: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the explanation of the relevance, part by part."""
        return (*_explain(self.gate[0], self.code), *self.more)


@frozen
class Verdict:
    """Whether to inject anything without being asked, and the reason; `blind` if there was no query vector."""

    silent: bool
    reason: str
    blind: bool = False

    def near_best(self, hits: list[Hit]) -> list[Hit]:
        """Return the hits close to the first; without vectors, those with at least half the best word score."""
        if self.blind:
            words = [sum(part.value for part in hit.explanation if part.name == "words") for hit in hits]
            return [hit for hit, score in zip(hits, words, strict=True) if score * 2 >= max(words)]
        return hits[: ranking.near_best([hit.score for hit in hits], len(hits))] if hits else hits


@frozen
class Found:
    """A query with its candidates, in no order."""

    question: Question
    candidates: list[Candidate]


@frozen
class Question:
    """Features of a query for scoring: term weights, size of the store, share of code, and its vector."""

    weights: dict[str, float]
    size: int
    code: float
    near: Near


@frozen
class Connections:
    """Weights of the graph by mode, tuned with `bench/graph.py`.

    A memory reached over the graph gains a share of the best hit's score, according to the strength of the path. In
    mode `hybrid`, up to `joining` such memories rank below the first hit; the other hits keep their order.
    """

    named: float = 1.6  # the query names the entity at which the path starts
    mentioned: float = 1.2  # only the best hits mention it
    joining: int = 3
    below_best: float = 0.97
    local: float = 1.0
    broad: float = 0.3


CONNECTIONS = Connections()


@frozen
class Near:
    """The vector of a query, the vector index it is compared with, and its nearest rows."""

    vector: QueryVector | None
    index: Vectors | None = None
    seqs: frozenset[int] = frozenset()


def rarest_terms(terms: Sequence[str], frequencies: Mapping[str, int], most: int = MOST_MATCHES) -> list[str]:
    """Return the rarest terms that together match at most `most` rows, at least one that matches anything.

    Common words cost most and distinguish least in search; they still count when the candidates are scored.
    """
    chosen: list[str] = []
    total = 0
    for term in sorted(terms, key=lambda term: (frequencies.get(term, 0), term)):
        rows = frequencies.get(term, 0)
        if total and total + rows > most:
            break
        total += rows
        chosen.append(term)  # even if no text has it, since a situation may
    return chosen


class Gatherer:
    """Find the candidates of a query and the evidence for each."""

    def __init__(self, store: Store, embedding: Embedding, settings: RecallSettings, home: str = "") -> None:
        self._store = store
        self._embedding = embedding
        self._settings = settings
        self._home = home
        self._behind = False
        self._notes: tuple[str, ...] = ()
        self.reports: tuple[str, ...] = ()
        self.connections = CONNECTIONS

    def begin(self) -> None:
        """Reset notes and reports before the next query."""
        self._notes, self.reports = (), ()

    def notes(self, query: Query) -> tuple[str, ...]:
        """Return warnings about how the hits were found, such as a missing embedder or pending vectors."""
        if query.mode == "keyword" or query.profile in ("knowledge", "beads"):
            return ()
        notes = (self._embedding.problem, BEHIND if self._behind else "", *self._notes)
        return tuple(note for note in notes if note)

    def gather(self, query: Query, partitions: Sequence[int]) -> Found:
        """Return the scored candidates of lexical and semantic search, which run in parallel if possible."""
        wanted = self._wanted(query, LEAST)
        semantic = self._start_semantic(query, partitions, wanted)
        with self._store.engine.reading():  # one snapshot, and on a server one transaction
            return self._gathered(query, partitions, wanted, semantic)

    def connected(self, query: Query, partitions: Sequence[int], fits: Callable[[Memory], bool]) -> Found:
        """Return the candidates with the graph's additions for the query's mode.

        Community reports of mode `global` use only memories for which `fits` is true.
        """
        if query.mode == "global":
            return self._broad(query, partitions, fits)
        if query.mode == "local":
            return self._local(query, partitions)
        found = self.gather(query, partitions)
        return self._with_connected(query, found, partitions) if query.mode == "hybrid" else found

    def _local(self, query: Query, partitions: Sequence[int]) -> Found:
        """Mode `local`: semantic search plus memories near the entities that the query names; a note if none."""
        blind = self._embedding.embedder() is None
        found = self.gather(replace(query, mode="keyword" if blind else "naive"), partitions)
        around = self._around(query.text, found, partitions, only_named=True)
        if not around.named:
            self._notes = (UNNAMED,)
            return found
        share = self.connections.local * _best(found)
        gains = {row: Part("graph", share * way.strength, way.path) for row, way in around.rows.items()}
        return self._joined(found, gains, partitions)

    def _with_connected(self, query: Query, found: Found, partitions: Sequence[int]) -> Found:
        """Mode `hybrid`: add a few memories that the best candidates lead to over written-down relations."""
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
        """Return the memories near the entities that a query names, under any variant of the name, nearest first."""
        rows = self._around(query.text, found, partitions, only_named=True).rows
        nearest = sorted(rows, key=lambda row: (-rows[row].strength, row))[: self._wanted(query, LEAST)]
        memories = self._store.by_seqs(nearest)
        return [memories[row] for row in nearest if row in memories]

    def _around(self, text: str, found: Found, partitions: Sequence[int], **only: bool) -> Around:
        tops = [(item.seq, item.relevance) for item in sorted(found.candidates, key=lambda item: -item.relevance)]
        with self._store.engine.reading():
            return Neighbourhood(self._store).around(text, partitions, tops, **only)

    def _broad(self, query: Query, partitions: Sequence[int], fits: Callable[[Memory], bool]) -> Found:
        """Mode `global`: add members of the communities that the best hits point to, and report on these."""
        from swarmlore.retrieval.graph import Communities, read

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
        """Add each gain to its candidate, and add the memories with the largest gains as new candidates."""
        known = {item.seq for item in found.candidates}
        best = sorted(gains, key=lambda row: (-gains[row].value, row))
        woken = {row for row in best[: WOKEN + len(known)] if row not in known}
        new = set(sorted(woken, key=lambda row: (-gains[row].value, row))[:WOKEN])
        added: list[Candidate] = []
        if new:
            with self._store.engine.reading():
                added = self._scored(found.question, new, partitions)
        items = [
            replace(item, relevance=item.relevance + gains[item.seq].value, more=(*item.more, gains[item.seq]))
            if item.seq in gains
            else item
            for item in (*found.candidates, *added)
        ]
        return Found(found.question, items)

    def _gathered(
        self, query: Query, partitions: Sequence[int], wanted: int, semantic: BackgroundResult | DeferredResult | None
    ) -> Found:
        """Run the lexical search, wait for the semantic one, and score all rows found."""
        terms = tuple(query_terms(query.text))
        frequencies, size = self._store.document_frequencies(terms, partitions)
        seqs = set() if query.mode == "naive" else self._by_words(rarest_terms(terms, frequencies), partitions, wanted)
        near = semantic.result() if semantic else Near(None)
        weights = ranking.term_weights(frequencies, size)
        question = Question(weights, size, code_share(query.text), near)
        candidates = self._scored(question, seqs | near.seqs, partitions)
        if query.near:
            fits = ranking.is_near if query.mode == "naive" else ranking.is_related
            candidates = [item for item in candidates if fits(item.gate)]
        return Found(question, candidates)

    def _start_semantic(
        self, query: Query, partitions: Sequence[int], wanted: int
    ) -> BackgroundResult | DeferredResult | None:
        """Start to embed the query and search its nearest vectors, in a thread of its own if the embedder allows."""
        if query.mode == "keyword":
            return None
        self._behind = self._embedding.catch_up_few()
        index = self._embedding.index()  # updated here, as the thread must not use the store
        look = partial(self._near, query.text, index, partitions, wanted)
        return DeferredResult(look) if self._embedding.in_turn else BackgroundResult(look)

    def _near(self, text: str, index: Vectors | None, partitions: Sequence[int], wanted: int) -> Near:
        vector = self._embedding.query(text)
        if vector is None or index is None:
            return Near(vector)
        texts, cues = index.nearest(vector.vector, partitions, wanted)
        return Near(vector, index, frozenset(seq for seq, _ in (*texts, *cues)))

    def _by_words(self, terms: Sequence[str], partitions: Sequence[int], wanted: int) -> set[int]:
        words = self._store.match_words(terms, partitions, wanted)
        return {*words, *self._store.match_cues(terms, partitions, wanted)}

    def _scored(self, question: Question, seqs: set[int], partitions: Sequence[int]) -> list[Candidate]:
        """Score rows by words, cosine, late interaction, situations and neighbouring turns."""
        rows = self._store.candidate_rows(sorted(seqs))
        existing = [row.seq for row in rows]
        stems = [row.stems.split() for row in rows]
        average = sum(map(len, stems)) / max(1, len(stems))
        late = self._late_scores(question.near, existing, partitions)
        cosines, cue_cosines = _cosines(question.near, existing)
        situations = self._store.situations_of(existing)
        candidates = []
        for row, words in zip(rows, stems, strict=True):
            score = ranking.words_score(words, question.weights, average)
            evidence = Evidence(score, cosines.get(row.seq), late.get(row.seq))
            cue = _best_situation(situations.get(row.seq, ()), cue_cosines.get(row.seq), question, average)
            candidates.append(_candidate(row, evidence, cue, question.code))
        return _with_neighbours(candidates, [_place(row) for row in rows])

    def memories(self, found: Sequence[Candidate]) -> list[tuple[Candidate, Memory]]:
        """Load the memories of candidates, without those that were erased meanwhile."""
        memories = self._store.by_seqs([item.seq for item in found])
        return [(item, memories[item.seq]) for item in found if item.seq in memories]

    def by_vector(self, query: Query, partitions: Sequence[int]) -> list[tuple[Memory, float]]:
        """Return the nearest memories with their cosine, for the profiles that rank by similarity alone."""
        vector, index = self._embedding.query(query.text), self._embedding.index()
        if vector is None or index is None:
            return []
        found, _ = index.nearest(vector.vector, partitions, self._wanted(query, query.limit))
        memories = self._store.by_seqs([seq for seq, _ in found])
        return [(memories[seq], cosine) for seq, cosine in found if seq in memories]

    def verdict(self, found: Found) -> Verdict:
        """Decide whether the best candidate clears the bar for automatic injection, which rises with the store."""
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

    def _late_scores(self, near: Near, seqs: Sequence[int], partitions: Sequence[int]) -> dict[int, float]:
        """Return the late-interaction score of each row whose pieces are embedded."""
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
    """Return the cosines of the query to each row's text, and to each row's best situation."""
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
    """Raise the relevance of conversation turns that stand near a better matching turn."""
    scores = ranking.with_neighbours([item.relevance for item in found], places)
    raised = []
    for item, score in zip(found, scores, strict=True):
        if score != item.relevance:
            gain = Part("neighbours", score - item.relevance, "a turn next to it fits well")
            item = replace(item, relevance=score, more=(*item.more, gain))
        raised.append(item)
    return raised


def _place(row: CandidateRow) -> tuple[str, float] | None:
    """Return the session and position of a conversation turn; None for other rows."""
    if row.source in RAW_SOURCES and row.session and row.position is not None:
        return row.session, float(row.position)
    return None
