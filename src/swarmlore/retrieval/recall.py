"""Recall: answer queries through one pipeline with six ranking profiles.

Candidates (words, vectors, situations, graph) → score by the profile → filter → merge near-duplicates → drop one of two
contradicting memories → explain. `default` is ours; the other profiles reproduce the systems they are named after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from swarmlore.config import Settings
from swarmlore.domain.language.concepts import entities_from_path, entities_from_text, resolve_entities, resolve_entity
from swarmlore.domain.language.display import project_name
from swarmlore.domain.language.similarity import content_words, jaccard_bigram
from swarmlore.domain.language.tokenizer import query_terms, query_words
from swarmlore.domain.policy import ranking
from swarmlore.domain.policy.new_memory import in_force
from swarmlore.domain.policy.ranking import (
    default_factor,
    default_priors,
    preferred,
    rerank_stale,
    standing,
    with_citations,
)
from swarmlore.domain.records import KINDS, MODES, PROFILES, SOURCES, TIERS, Caller, Hit, Memory, Part, Query, choose
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.models.embedding import Embedding
from swarmlore.retrieval.candidates import Candidate, Gatherer
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Protocol

    from swarmlore.workspace.cited_code import CitationCheck

    class Versions(Protocol):
        """Select the versions of notes that are valid in this checkout."""

        def holds(self, memory: Memory) -> bool: ...

        def only(self, memories: Iterable[Memory]) -> list[Memory]: ...


REFLECTIONS = "session-reflections"  # the category by which episodes can be asked for
MAX_LIMIT = 1000
MAX_QUERY_CHARS = 20_000
SCAN_ROWS = 10_000  # newest memories considered by profiles that rank without an index
STANDING_ROWS = 200  # newest memories considered for a session start
SAME = 0.6  # word-pair overlap from which two hits count as one, unless an important detail differs
NUDGED, NUDGED_PER_HIT = 40, 4
UNRELATED, ANY_SCORE = 0.0, -math.inf


class Hits(tuple[Hit, ...]):
    """Hits, best first, with notes on how they were found (for example: by words only).

    `reports` are the community reports of mode `global`.
    """

    notes: tuple[str, ...]
    reports: tuple[str, ...]

    def __new__(cls, hits: Iterable[Hit] = (), notes: tuple[str, ...] = (), reports: tuple[str, ...] = ()) -> Hits:
        made = super().__new__(cls, hits)
        made.notes, made.reports = notes, reports
        return made


class Recaller:
    """Answer queries for one caller."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        embedding: Embedding,
        look: Callable[[], CitationCheck],
        versions: Versions,
        home: str = "",
    ) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._gatherer = Gatherer(store, embedding, settings.recall, home)
        self._look = look
        self.versions = versions

    def recall(self, query: Query, now: float) -> Hits:
        """Return the best memories for a query, with explanations."""
        query = self._checked(query)
        self._gatherer.begin()
        partitions = self._partitions(query)
        hits = self._with_code_states(self._ranked(query, partitions, now), query, now)
        final = final_hits(hits, query, now, _floor(query))
        return Hits(final, self._gatherer.notes(query), self._gatherer.reports)

    def relevant(self, query: Query, now: float) -> tuple[list[Hit], str]:
        """Return the memories relevant enough to be shown unasked, or none and the reason."""
        query = self._checked(query)
        partitions = self._partitions(query)
        if query.profile == "swarm":
            return self._similar_enough(query, partitions, now)
        if query.profile != "default":
            ranked = self._ranked(query, partitions, now)
            return final_hits(self._with_code_states(ranked, query, now), query, now), ""
        found = self._gatherer.gather(query, partitions)
        verdict = self._gatherer.verdict(found)
        if verdict.silent:
            return [], verdict.reason
        scored = self._scored(found.candidates, query.limit, now)
        near = final_hits(self._with_code_states(scored, query, now), query, now)
        return verdict.near_best(near), ""

    def _similar_enough(self, query: Query, partitions: Sequence[int], now: float) -> tuple[list[Hit], str]:
        """Return hits of profile `swarm` above its similarity floor, at any age and use; none without vectors."""
        found = self._gatherer.by_vector(query, partitions)
        if not found:
            return [], "there are no vectors, so nobody knows what is similar"
        best = max(cosine for _, cosine in found)
        hits = self._ranked_swarm([item for item in found if item[1] > ranking.SWARM_FLOOR], now)
        shown = final_hits(self._with_code_states(hits, query, now), query, now)
        silence = f"nothing similar enough: the best reached {best:.2f}, the bar is {ranking.SWARM_FLOOR:.2f}"
        return shown, "" if shown else silence

    def standing(self, query: Query, now: float) -> list[Hit]:
        """Return the best lessons for a session start; the query filters and limits them."""
        lessons = [memory for memory in self._scan(self._partitions(query), STANDING_ROWS) if not memory.raw]
        scored = [(memory, standing(memory, now)) for memory in lessons]
        ranked = _ordered(Hit(memory, item.score, item.parts) for memory, item in scored)
        return final_hits(self._with_code_states(ranked, query, now), query, now)

    def about(self, files: Sequence[str], query: Query, now: float) -> list[Hit]:
        """Return the memories that cite one of these project files, then those that name its feature."""
        cited = [f"file:{path}" for path in files]
        features = [name for path in files for name in entities_from_path(path) if name.startswith("feature:")]
        hits = [
            Hit(memory, score, (Part("about", score, why),))
            for names, score, why in ((cited, 1.0, "cites the file"), (features, 0.5, "names its feature"))
            for memory in self._store.about(self._caller, names)
        ]
        unique = {hit.memory.id: hit for hit in reversed(hits)}  # a hit for the citation replaces one for the feature
        return final_hits(self._with_code_states(_ordered(unique.values()), query, now), query, now)

    def _with_code_states(self, hits: Iterable[Hit], query: Query, now: float) -> Iterator[Hit]:
        """Yield the hits that may answer, with the state of the code they cite; only `default` ranks by it."""
        look = cache(self._look)
        fit = (hit for hit in hits if self._fits(hit.memory, query, now))
        cited = with_citations(fit, lambda memory: look().cited(memory))
        return rerank_stale(cited, now) if query.profile == "default" else cited

    def _fits(self, memory: Memory, query: Query, now: float) -> bool:
        """Return True if a memory may answer this caller's query now."""
        if not passes(memory, query, now):
            return False
        if (of := memory.source_ref.get("episode")) is not None:
            return self._wants_episode(str(of), query)
        of_here = query.all_projects or self._store.is_of_here(self._caller, memory)
        return of_here and self.versions.holds(memory)

    def _wants_episode(self, project: str, query: Query) -> bool:
        """Return True if a query asks for episodes, which are no lessons, and this one's project is in scope."""
        if not query.episodes and REFLECTIONS not in query.categories:
            return False
        return query.all_projects or is_episode_of(project, self._store.names_of(self._caller.project))

    def _checked(self, query: Query) -> Query:
        asks = isinstance(query.text, str) and query.text.strip()
        if not asks and query.profile not in ("beads", "knowledge"):
            raise InvalidInput("there is nothing to look for", 'ask something: swarmlore recall "QUESTION"')
        choose("profile", [query.profile], PROFILES)
        choose("mode", [query.mode], MODES)
        choose("kind", query.kinds, KINDS)
        choose("tier", query.tiers, TIERS)
        choose("source", query.sources, SOURCES)
        if not isinstance(query.limit, int) or not 1 <= query.limit <= MAX_LIMIT:
            raise InvalidInput(f"limit {query.limit!r} is out of range", f"from 1 to {MAX_LIMIT}")
        return replace(query, text=query.text[:MAX_QUERY_CHARS], entities=self._entities(query))

    def _entities(self, query: Query) -> tuple[str, ...]:
        """Return the entities of a query as slugs; raise Ambiguous if a bare word matches several."""
        words = tuple(word.strip().lower() for word in query.entities)
        if all(":" in word for word in words):
            return words
        return resolve_entities(words, self._store.known_entities(self._caller))

    def _partitions(self, query: Query) -> list[int]:
        return self._store.visible(self._caller, query.tiers, all_projects=query.all_projects)

    def _ranked(self, query: Query, partitions: Sequence[int], now: float) -> Iterable[Hit]:
        """Return all candidates with the profile's score, best first."""
        ways: dict[str, Callable[[Query, Sequence[int], float], list[Hit]]] = {
            "lane": self._lane,
            "swarm": self._swarm,
            "knowledge": self._knowledge,
            "learnings": self._learnings,
            "beads": self._beads,
        }
        way = ways.get(query.profile)
        if way is not None:
            return way(query, partitions, now)
        found = self._gatherer.connected(query, partitions, lambda memory: self._fits(memory, query, now))
        return self._scored(found.candidates, query.limit, now)

    def _scored(self, found: Iterable[Candidate], limit: int, now: float) -> Iterator[Hit]:
        """Yield candidates multiplied by their priors, best first; those too far behind to reach the top are cut."""
        best = sorted(found, key=lambda item: -item.relevance)[: max(NUDGED, NUDGED_PER_HIT * limit)]
        scores = [
            (item.relevance * default_factor(memory, now), memory, item)
            for item, memory in self._gatherer.memories(best)
        ]
        for score, memory, item in sorted(scores, key=lambda found: (-found[0], -found[1].created_at, found[1].id)):
            yield Hit(memory, score, (*item.parts, *default_priors(memory, now).parts))

    def _lane(self, query: Query, partitions: Sequence[int], now: float) -> list[Hit]:
        found = self._gatherer.by_vector(query, partitions)
        scored = [
            (memory, ranking.lane_score(memory, cosine, query.text, now, entities=frozenset(query.entities)))
            for memory, cosine in found
        ]
        return _ordered(Hit(memory, item.score, item.parts) for memory, item in scored if item.score > 0)

    def _swarm(self, query: Query, partitions: Sequence[int], now: float) -> list[Hit]:
        found = self._gatherer.by_vector(query, partitions)
        if not found:
            recent = self._scan(partitions, SCAN_ROWS)
            return [Hit(memory, 0.0, (Part("recent", 0.0, "no vectors: newest first"),)) for memory in recent]
        return self._ranked_swarm(found, now)

    def _ranked_swarm(self, found: Sequence[tuple[Memory, float]], now: float) -> list[Hit]:
        own = self._settings.recall
        rule = ranking.SwarmRanking(own.recency_half_life_days, own.access_boost_max, own.access_recency_hours)
        scored = [(memory, ranking.swarm_score(memory, cosine, now, rule)) for memory, cosine in found]
        return _ordered(Hit(memory, item.score, item.parts) for memory, item in scored)

    def _knowledge(self, query: Query, partitions: Sequence[int], now: float) -> list[Hit]:
        terms = query_words(query.text)
        project = self._caller.project
        scored = [
            (memory, ranking.knowledge_score(memory, query.phase, terms, project))
            for memory in self._scan(partitions, SCAN_ROWS)
        ]
        hits = ranking.rank_knowledge(Hit(memory, item.score, item.parts) for memory, item in scored)
        return _hive_wins(hits)

    def _learnings(self, query: Query, partitions: Sequence[int], now: float) -> list[Hit]:
        gathered = self._gatherer.gather(query, partitions)
        found = {memory.id: (item, memory) for item, memory in self._gatherer.memories(gathered.candidates)}
        hybrid = sorted(found, key=lambda id: -found[id][0].relevance)
        named = (*self._gatherer.linked(query, gathered, partitions), *self._of_entities(query, partitions))
        linked = list({memory.id: memory for memory in named}.values())
        memories = {id: memory for id, (_, memory) in found.items()} | {memory.id: memory for memory in linked}
        fused = ranking.fuse(hybrid, [memory.id for memory in linked])
        tags = frozenset(query.tags) | query_words(query.text)
        scored = [
            (memories[id], ranking.learnings_score(memories[id], score, tags, now)) for id, score in fused.items()
        ]
        return _ordered(Hit(memory, item.score, item.parts) for memory, item in scored)

    def _beads(self, query: Query, partitions: Sequence[int], now: float) -> list[Hit]:
        found = ranking.beads_rank(self._scan(partitions, SCAN_ROWS), query.text)
        return [Hit(memory, 1 / place, (Part("newest", float(place)),)) for place, memory in enumerate(found, start=1)]

    def _of_entities(self, query: Query, partitions: Sequence[int]) -> list[Memory]:
        """Return the memories about entities that the query names."""
        known = self._store.known_entities(self._caller)
        named = {*query.entities, *entities_from_text(query.text)}
        for word in query_terms(query.text):
            fits = resolve_entity(word, known)
            named.update(fits if len(fits) == 1 else ())
        seqs = self._store.seqs_of_entities(sorted(named), partitions)
        return list(self._store.by_seqs(seqs[:SCAN_ROWS]).values())

    def _scan(self, partitions: Sequence[int], limit: int) -> list[Memory]:
        allowed = set(partitions)
        newest = self._store.select(self._caller, Filter(limit=limit))
        return [memory for memory in newest if self._store.partition_of(memory) in allowed]


def is_episode_of(project: str, names: Iterable[str]) -> bool:
    """Return True if an episode's project has one of these names; an episode without a project belongs to all."""
    return not project or project in {spelling for name in names for spelling in (name, project_name(name))}


def final_hits(hits: Iterable[Hit], query: Query, now: float, floor: float = ANY_SCORE) -> list[Hit]:
    """Filter hits, merge near-duplicates, resolve contradictions and apply the limit.

    A hit with a score at or below the floor is not added, but may still replace one that it corrects.
    """
    kept: list[Hit] = []
    for hit in hits:
        if len(kept) >= query.limit:
            break
        if passes(hit.memory, query, now):
            joined = _with(kept, hit)
            if hit.score > floor or len(joined) <= len(kept):
                kept = joined
    return kept


def _floor(query: Query) -> float:
    """Return the score of two unrelated texts, which hits must exceed; no floor with an entity or tag filter."""
    named = query.entities or query.tags
    return UNRELATED if query.profile == "default" and not named else ANY_SCORE


def passes(memory: Memory, query: Query, now: float) -> bool:
    """Return True if a memory is live, in force, and matches the filters of a query."""
    if not memory.live or not in_force(memory, now):
        return False
    if query.scopes and memory.scope not in query.scopes:
        return False
    if query.entities and not set(query.entities) & set(memory.entities):
        return False
    return (
        (not query.kinds or memory.kind in query.kinds)
        and (not query.categories or memory.category in query.categories)
        and (not query.sources or memory.source in query.sources)
        and set(query.tags) <= set(memory.tags)
    )


def _ordered(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, -hit.memory.created_at, hit.memory.id))


def _with(kept: list[Hit], hit: Hit) -> list[Hit]:
    """Add a hit to the kept ones, resolving duplicates and contradictions.

    It replaces all kept hits that say the same or the opposite, unless one of those is preferred.
    """
    if any(_is_same_note(hit.memory, other.memory) for other in kept):
        return kept
    rivals = [] if hit.memory.raw else [other for other in kept if _clash(hit.memory, other.memory)]
    if not rivals:
        return [*kept, hit]
    if not all(_beats(hit.memory, rival.memory) for rival in rivals):
        return kept
    place = kept.index(rivals[0])
    others = [other for other in kept if other not in rivals]
    return [*others[:place], hit, *others[place:]]


def _is_same_note(one: Memory, other: Memory) -> bool:
    """Return True if both are pieces of one note or of copies of it, so that the better one suffices."""
    if one.source != "note" or other.source != "note":
        return False
    same = one.source_ref.get("note")
    return bool(one.key and one.key == other.key) or bool(same and same == other.source_ref.get("note"))


def _clash(one: Memory, other: Memory) -> bool:
    """Return True if two memories say the same or the opposite, which takes a quarter of common words."""
    words, others = content_words(one.text), content_words(other.text)
    if other.raw or 4 * len(words & others) < min(len(words), len(others)):
        return False
    from swarmlore.domain.policy.contradiction import contradicts  # imported late: few answers have similar texts

    shared = bool(set(one.entities) & set(other.entities))
    return bool(contradicts(one.text, other.text, shared_entity=shared)) or _same(one, other)


def _same(one: Memory, other: Memory) -> bool:
    if jaccard_bigram(one.text, other.text) < SAME:
        return False
    from swarmlore.domain.policy.contradiction import differences

    return not differences(one.text, other.text)


def _beats(hit: Memory, rival: Memory) -> bool:
    """Return True if `hit` replaces `rival`: of duplicates if it is trusted more, else if it is preferred."""
    return hit.trust > rival.trust if _same(hit, rival) else preferred(hit, rival).id == hit.id


def _hive_wins(hits: Sequence[Hit]) -> list[Hit]:
    """Drop swarm lessons that repeat a lesson of the hive."""
    hive = [hit.memory.text for hit in hits if hit.memory.tier == "hive"]
    return [
        hit
        for hit in hits
        if hit.memory.tier == "hive" or not any(jaccard_bigram(hit.memory.text, text) >= SAME for text in hive)
    ]
