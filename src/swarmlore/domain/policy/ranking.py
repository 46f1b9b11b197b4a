"""Ranking: the score formula of each recall profile, the priors, and the bar below which nothing is shown.

Profile `default` adds three views of one pair of texts, never normalised per list, so the sum also says when nothing
fits:

    relevance = late + meaning · cosine + lexical weight · bm25 / ln N − nothing

`late` is late interaction (each piece of the cue finds its best piece in the memory), `cosine` compares the two
sentence vectors, `bm25` counts shared words. Whether anything is shown at all is decided separately, from cosine and
words, less the cue's closeness to everyday requests: late interaction favours short cues and would show too much.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from swarmlore.domain.language.citations import is_stale
from swarmlore.domain.policy.merge import as_claimed
from swarmlore.domain.records import Cited, Hit, Memory, Part
from swarmlore.frozen import frozen, replace

DAY_S = 86_400.0
HOUR_S = 3_600.0

LANE_WEIGHTS = {
    **dict.fromkeys(("correction", "decision", "commitment"), 1.0),
    **dict.fromkeys(("insight", "learning", "confidence"), 0.7),
    **dict.fromkeys(("pattern_seed", "cross_agent", "workflow_note", "gap"), 0.4),
}
LANE_UNKNOWN_KIND = 0.5
LANE_INTENT_BOOST = 1.15
_INTENTS = (
    (("mistake", "wrong", "error"), ("correction", "gap")),
    (("decided", "chose", "choice"), ("decision",)),
    (("pattern", "usually", "habit"), ("pattern_seed", "commitment")),
    (("learned", "realized"), ("learning", "insight")),
)

# Stems in the order in which they are tried. Two-letter ones count as whole words only ("ci" is not in "circle").
_PHASES = (
    ("test qa quality verification validation", ("testing", "debugging")),
    ("implement build develop coding code", ("tooling", "architecture", "debugging")),
    ("integrat deploy ci cd release publish", ("integration", "tooling", "performance")),
    ("plan design architect spec requirement", ("architecture", "process")),
    ("review refactor cleanup polish optimi", ("performance", "architecture", "process")),
    ("secur audit harden compliance", ("security", "testing")),
    ("setup config scaffold init bootstrap", ("tooling", "other")),
    ("doc readme changelog", ("process", "tooling")),
)
_ANY_PHASE = ("process", "tooling")
KNOWLEDGE_TIE = 0.001

_FIELD_WEIGHTS = (100.0, 80.0, 60.0, 40.0, 20.0)
_FIELD_TIE = 0.49
_SMALL_WORDS = """
a an and are as at be by can do does for from how i in is it my of on or our that the this to was we what when where
which why with you your
"""
_STOP_WORDS = frozenset(_SMALL_WORDS.split())


@frozen
class Scored:
    """A score, and the factors or terms that explain it."""

    score: float
    parts: tuple[Part, ...] = ()


SWARM_FLOOR = 0.4
"""Cosine above which profile swarm shows a memory unasked."""


@frozen
class SwarmRanking:
    """The settings of profile `swarm`."""

    half_life_days: float = 14.0
    access_boost_max: float = 1.5
    access_recency_hours: float = 48.0


def recency_decay(weight: float, age_days: float, half_life_days: float = 90.0) -> float:
    """Halve a weight once per half-life; a memory dated in the future is not aged."""
    half_life = half_life_days if half_life_days > 0 else 1.0
    return float(weight * 0.5 ** (max(0.0, age_days) / half_life))


def age_days(since: float, now: float) -> float:
    """Return the days between two times, never below zero."""
    return max(0.0, (now - since) / DAY_S)


def proven_at(memory: Memory) -> float:
    """Return when a memory last proved good: its creation or, if later, its last helpful validation."""
    return max(memory.created_at, memory.last_validated_at or memory.created_at)


def intent_kinds(query: str) -> frozenset[str]:
    """Return the kinds of memory that a question's words ask for; a word inside another counts, as in the original."""
    lowered = query.lower()
    return frozenset(kind for words, kinds in _INTENTS if any(word in lowered for word in words) for kind in kinds)


def lane_score(
    memory: Memory,
    cosine: float,
    query: str,
    now: float,
    *,
    min_similarity: float = 0.3,
    entities: frozenset[str] = frozenset(),
) -> Scored:
    """Rank as Memory Lane: cosine × kind × decay × intent × feedback; 0 if too far or without an asked entity."""
    memory = as_claimed(memory)
    if cosine < min_similarity:
        return Scored(0.0, (Part("cosine", cosine, f"below the minimum of {min_similarity:g}"),))
    if entities and entities.isdisjoint(memory.entities):
        return Scored(0.0, (Part("entities", 0.0, "none of the entities asked for"),))
    parts = [
        Part("cosine", cosine),
        Part("kind", LANE_WEIGHTS.get(memory.kind, LANE_UNKNOWN_KIND), memory.kind),
        Part("decay", recency_decay(1.0, age_days(proven_at(memory), now)), "half-life 90 days"),
    ]
    if memory.kind in intent_kinds(query):
        parts.append(Part("intent", LANE_INTENT_BOOST, f"the question asks for a {memory.kind}"))
    parts.append(Part("feedback", memory.feedback_score, f"{memory.feedback_count} ratings"))
    return Scored(math.prod(part.value for part in parts), tuple(parts))


def times(count: int) -> str:
    """Return a count in words: `1 time`, `3 times`."""
    return f"{count} time" if count == 1 else f"{count} times"


def swarm_score(memory: Memory, similarity: float, now: float, settings: SwarmRanking | None = None) -> Scored:
    """Rank as Agent Swarm: similarity × recency decay × access boost."""
    memory = as_claimed(memory)
    settings = settings or SwarmRanking()
    decay = recency_decay(1.0, age_days(memory.created_at, now), settings.half_life_days)
    boost = _access_boost(memory, now, settings)
    parts = (
        Part("similarity", similarity),
        Part("decay", decay, f"half-life {settings.half_life_days:g} days"),
        Part("access", boost, f"read {times(memory.access_count)}"),
    )
    return Scored(similarity * decay * boost, parts)


def _access_boost(memory: Memory, now: float, settings: SwarmRanking) -> float:
    """Return the factor for frequent access; accesses that are no longer recent count half."""
    if memory.access_count <= 0:
        return 1.0
    last = memory.last_accessed_at
    recent = last is not None and now - last <= settings.access_recency_hours * HOUR_S
    gain = min(memory.access_count / 10, max(0.0, settings.access_boost_max - 1))
    return 1 + gain * (1.0 if recent else 0.5)


def phase_categories(phase: str) -> tuple[str, ...]:
    """Return the categories that fit a phase, by the first group of stems that begins one of its words."""
    words = re.findall(r"[^\W_]+", phase.lower())
    for stems, categories in _PHASES:
        pairs = ((word, stem) for stem in stems.split() for word in words)
        if any(word == stem if len(stem) == 2 else word.startswith(stem) for word, stem in pairs):
            return categories
    return _ANY_PHASE


def knowledge_score(memory: Memory, phase: str, query_terms: frozenset[str], project: str) -> Scored:
    """Rank as the two-tier knowledge: .4 category + .35 confidence + .25 tags, ± .05 for the hive, within 0 and 1.

    The `project` of a hive memory is its source project; shown there, the memory adds little and loses .05.
    """
    parts = [
        Part("category", 0.4 * _category_fit(memory.category, phase), memory.category),
        Part("confidence", 0.35 * memory.confidence, f"{memory.confidence:g}"),
        Part("tags", 0.25 * _tag_share(memory.tags, query_terms), " ".join(memory.tags)),
    ]
    if memory.tier == "hive":
        parts.append(Part("hive", 0.05, "holds for every project"))
        if project and memory.project == project:
            parts.append(Part("same project", -0.05, "the hive learned it here"))
    total = math.fsum(part.value for part in parts)
    return Scored(min(1.0, max(0.0, total)), tuple(parts))


def _category_fit(category: str, phase: str) -> float:
    if not phase.strip():
        return 0.5
    if category in phase_categories(phase):
        return 1.0
    return 0.5 if category == "process" else 0.0


def _tag_share(tags: Sequence[str], terms: frozenset[str]) -> float:
    if not tags:
        return 0.5
    lowered = [term.lower() for term in terms]
    return sum(any(_same_tag(tag.lower(), term) for term in lowered) for tag in tags) / len(tags)


def _same_tag(tag: str, term: str) -> bool:
    """Return whether a tag equals a term or, from three letters on, one holds the other ("go" is not in "mongo")."""
    return tag == term or (min(len(tag), len(term)) >= 3 and (tag in term or term in tag))


def rank_knowledge(hits: Iterable[Hit]) -> list[Hit]:
    """Order hits by score; where two scores are within a thousandth, the newer memory comes first."""
    from functools import cmp_to_key

    def compare(a: Hit, b: Hit) -> int:
        difference = b.score - a.score
        if abs(difference) <= KNOWLEDGE_TIE:
            difference = b.memory.created_at - a.memory.created_at
        return (difference > 0) - (difference < 0)

    return sorted(hits, key=cmp_to_key(compare))


def fuse(*rankings: Sequence[str], k: int = 60) -> dict[str, float]:
    """Score ids by reciprocal rank over several rankings; only the order within one ranking counts."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, id in enumerate(ranking, start=1):
            scores[id] = scores.get(id, 0.0) + 1 / (k + place)
    return scores


def learnings_score(memory: Memory, fused: float, query_tags: frozenset[str], now: float) -> Scored:
    """Rank as the learnings' hybrid recall: fused rank × confidence label × age × shared tags."""
    label, weight = _confidence_label(memory)
    shared = len({tag.lower() for tag in memory.tags} & {tag.lower() for tag in query_tags})
    parts = (
        Part("fused rank", fused),
        Part("confidence", weight, label),
        Part("age", math.exp(-age_days(memory.created_at, now) / 90), "e to the minus age in days / 90"),
        Part("tags", 1 + 0.1 * shared, f"{shared} shared"),
    )
    return Scored(math.prod(part.value for part in parts), parts)


def _confidence_label(memory: Memory) -> tuple[str, float]:
    if memory.extra.get("confidence_label") == "unknown":
        return "unknown", 0.5
    if memory.confidence >= 0.8:
        return "high", 1.0
    return ("medium", 0.7) if memory.confidence >= 0.5 else ("low", 0.4)


def field_score(
    query: str, title: str, symptoms: Sequence[str], key_insight: str, tags: Sequence[str], content: str
) -> float:
    """Add 100, 80, 60, 40, 20 for each field in which a word of the query occurs; 0 when none does.

    Up to .49 is taken off for the share of query words that occur nowhere. That only breaks ties: `round()` gives the
    plain sum, and a note that has every word has exactly that sum.
    """
    tokens = query_tokens(query)
    fields = [_joined(field).lower() for field in (title, symptoms, key_insight, tags, content)]
    matches = [{token for token in tokens if _occurs(token, field)} for field in fields]
    total = sum(weight for weight, matched in zip(_FIELD_WEIGHTS, matches, strict=True) if matched)
    if not total:
        return 0.0
    return total - _FIELD_TIE * (1 - len(set().union(*matches)) / len(tokens))


def query_tokens(query: str) -> frozenset[str]:
    """Return the words of a query without stop words, unless it consists of stop words only."""
    words = frozenset(re.findall(r"\w+", query.lower()))
    return words - _STOP_WORDS or words


def _joined(field: Sequence[str]) -> str:
    return field if isinstance(field, str) else "\n".join(field)


def _occurs(token: str, text: str) -> bool:
    """Return whether a token is in a lower-cased text; one or two letters must be a whole word."""
    return token in text and (len(token) > 2 or token in re.findall(r"\w+", text))


def beads_matches(memory: Memory, query: str) -> bool:
    """Return whether every word of the query is in the memory's text, in any case; an empty query matches all."""
    text = memory.text.lower()
    return all(word in text for word in query.lower().split())


def beads_rank(memories: Iterable[Memory], query: str) -> list[Memory]:
    """List the memories that match a query, newest first and each key once.

    Only the latest memory of a key counts: where it does not match, an older match is left out too.
    """
    latest: dict[str, Memory] = {}
    for memory in memories:
        key = memory.key or memory.id
        if key not in latest or memory.created_at >= latest[key].created_at:
            latest[key] = memory
    matching = [memory for memory in latest.values() if beads_matches(memory, query)]
    return sorted(matching, key=lambda memory: memory.created_at, reverse=True)


HALF_LIFE_DAYS = 30.0
_STATUS = {"candidate": 1 / 3, "established": 2 / 3, "promoted": 1.0}
_BINDING = frozenset({"correction", "commitment", "decision"})
_FULLY_CONFIRMED = 3
_FULLY_TRUSTED = 3


def standing(memory: Memory, now: float) -> Scored:
    """Score from 0 to 1, with reasons, how much a memory deserves to be shown unasked; harmful ratings lower it."""
    parts = (
        Part("status", 0.25 * _STATUS.get(memory.status, 0.0), memory.status),
        Part("confirmed", 0.2 * min(len(memory.confirmed_by), _FULLY_CONFIRMED) / _FULLY_CONFIRMED),
        Part("trust", 0.15 * min(memory.trust, _FULLY_TRUSTED) / _FULLY_TRUSTED),
        Part("kind", 0.15 if memory.kind in _BINDING else 0.0, memory.kind),
        Part("recent", 0.25 * 0.5 ** (age_days(memory.updated_at, now) / HALF_LIFE_DAYS)),
    )
    nonzero = tuple(part for part in parts if part.value)
    return Scored(sum(part.value for part in nonzero) * min(1.0, memory.feedback_score), nonzero)


TOGETHER = 0.30
RECENCY_HALF_LIFE_DAYS = 180.0
ACCESS_HALF_WAY = 5  # reads that reach half of the weight
SHOWN_BEFORE_UTILITY = 3
_LEAST_CHANGE = 0.0005

_STRONG_KINDS = frozenset({"correction", "decision", "commitment"})
_WEAK_KINDS = frozenset({"pattern_seed", "cross_agent", "workflow_note", "gap"})
# Sources of text said or done in passing, as opposed to text written down to be kept.
_CHATTER = frozenset({"transcript", "session_summary", "task_completion", "outcome"})


@frozen
class PriorWeights:
    """How far each prior may move a score: .05 is five percent.

    Kind outweighs recency, so a year-old correction still beats yesterday's chatter of the same relevance.
    """

    kind: float = 0.02
    confidence: float = 0.04
    feedback: float = 0.08
    utility: float = 0.08
    recency: float = 0.015
    access: float = 0.02
    freshness: float = 0.10


DEFAULT_WEIGHTS = PriorWeights()


def default_factor(
    memory: Memory, now: float, *, weights: PriorWeights = DEFAULT_WEIGHTS, stale: bool = False
) -> float:
    """Return the product of a memory's priors, between .7 and 1.3, by which its relevance is multiplied."""
    product = math.prod(value for _, value in _priors(memory, now, weights, stale))
    return min(1 + TOGETHER, max(1 - TOGETHER, product))


def default_priors(
    memory: Memory, now: float, *, weights: PriorWeights = DEFAULT_WEIGHTS, stale: bool = False
) -> Scored:
    """Return the product of a memory's priors, and a named part for every prior that is not 1."""
    parts = (Part(name, value, _NOTES[name](memory, now)) for name, value in _priors(memory, now, weights, stale))
    return Scored(default_factor(memory, now, weights=weights, stale=stale), tuple(parts))


def preferred(one: Memory, other: Memory) -> Memory:
    """Choose between two memories that contradict each other: higher trust, then better proven, then newer."""
    return max(one, other, key=lambda memory: (memory.trust, memory.confidence, proven_at(memory), memory.id))


def utility(memory: Memory) -> float | None:
    """Return the share of tasks that succeeded after a memory was shown; None below three showings or without any."""
    outcomes = memory.outcomes
    ended = outcomes.succeeded_after + outcomes.failed_after
    if outcomes.shown < SHOWN_BEFORE_UTILITY or ended <= 0:
        return None
    return outcomes.succeeded_after / ended


def _priors(memory: Memory, now: float, weights: PriorWeights, stale: bool) -> list[tuple[str, float]]:
    """Return the priors that differ from 1, by name; none moves the score by more than its weight."""
    share, reads = utility(memory), max(0, memory.access_count)
    directions = (
        ("kind", _kind(memory), weights.kind),
        ("confidence", 2 * (memory.confidence - 0.5), weights.confidence),
        # One harmful rating (× .5) costs the whole weight, seven helpful ones (× 1.1) earn it.
        ("feedback", math.log2(memory.feedback_score) if memory.feedback_score > 0 else -1.0, weights.feedback),
        ("utility", 0.0 if share is None else 2 * share - 1, weights.utility),
        ("recency", math.pow(0.5, _days_since_proven(memory, now) / RECENCY_HALF_LIFE_DAYS) - 1, weights.recency),
        ("access", reads / (reads + ACCESS_HALF_WAY), weights.access),
        ("freshness", -1.0 if stale else 0.0, weights.freshness),
    )
    priors = [
        (name, 1 + weight * min(1.0, max(-1.0, direction))) for name, direction, weight in directions if direction
    ]
    return [(name, value) for name, value in priors if abs(value - 1) >= _LEAST_CHANGE]


def _kind(memory: Memory) -> float:
    """Return the direction, from -1 to 1, in which the kind of a memory moves its score."""
    if memory.source in _CHATTER:
        return -1.0
    return (memory.kind in _STRONG_KINDS) - (memory.kind in _WEAK_KINDS)


def _days_since_proven(memory: Memory, now: float) -> float:
    return age_days(proven_at(memory), now)


def _kind_note(memory: Memory, now: float) -> str:
    return f"said in passing ({memory.source})" if memory.source in _CHATTER else memory.kind


_NOTES: dict[str, Callable[[Memory, float], str]] = {
    "kind": _kind_note,
    "confidence": lambda memory, _: f"{memory.confidence:g}",
    "feedback": lambda memory, _: f"rated {times(memory.feedback_count)}",
    "utility": lambda memory, _: f"{utility(memory) or 0:.0%} of the tasks it was shown in went well",
    "recency": lambda memory, now: f"{_days_since_proven(memory, now):.0f} days old",
    "access": lambda memory, _: f"read {times(max(0, memory.access_count))}",
    "freshness": lambda *_: "cited code has changed",
}


def rank_down(hit: Hit, now: float) -> Hit:
    """Return the hit of profile `default` with the score it has when its cited code has changed."""
    fresh, stale = default_priors(hit.memory, now), default_priors(hit.memory, now, stale=True)
    parts = hit.explanation[: len(hit.explanation) - len(fresh.parts)]
    return replace(hit, score=hit.score / fresh.score * stale.score, explanation=(*parts, *stale.parts))


def with_citations(hits: Iterable[Hit], check: Callable[[Memory], tuple[Cited, ...]]) -> Iterator[Hit]:
    """Check the citations of each hit lazily, as it is iterated: hits that nobody asks for cost nothing."""
    for hit in hits:
        yield replace(hit, cited=check(hit.memory)) if hit.memory.citations else hit


def rerank_stale(hits: Iterable[Hit], now: float) -> Iterator[Hit]:
    """Reorder descending hits so that stale ones come at their lowered score; takes only as many hits as needed."""
    waiting: list[Hit] = []
    for hit in hits:
        while waiting and waiting[0].score >= hit.score:
            yield waiting.pop(0)
        if is_stale(hit.cited):
            waiting = sorted((*waiting, rank_down(hit, now)), key=lambda item: -item.score)
        else:
            yield hit
    yield from waiting


@frozen
class Relevance:
    """Constants of the relevance formula; each optimum is flat, so a third more or less changes little."""

    # BM25: memories are short, a repeated word says little (k1) and neither does length (b); rare words count more.
    saturation: float = 1.2
    length_share: float = 0.3
    idf_power: float = 1.5
    # Sums of rare words grow with the store, cosines do not: words are divided by ln N.
    size_power: float = 1.0
    least_size: int = 10
    # Words weigh little in a plain sentence, five times as much where half of the cue is code or machine output.
    plain_words: float = 0.0125
    code_words: float = 0.05
    full_code_share: float = 0.5
    # The sentence vector adds little to late interaction, but is all there is where pieces are missing.
    meaning: float = 0.2
    late_slope: float = 0.68
    late_base: float = 0.27
    # The score of two unrelated texts; below it relevance is zero.
    nothing: float = 0.25
    # Half of the best situation's score above chance is added. A situation that does not fit takes nothing away, else
    # memories without situations would rank above those that have been useful.
    situation_share: float = 0.5
    situation_floor: float = 0.15
    # A turn of a conversation gets a share of the best turn within two of it, if that one is in the upper quarter of
    # the candidates: a session full of mildly fitting turns must not outweigh the one that answers.
    neighbour_share: float = 0.25
    neighbour_reach: float = 2
    neighbour_floor: float = 0.75
    # Semantic search alone always finds a nearest vector, even for nonsense. Nonsense reaches a cosine of .03 to .18
    # with the notes of a project, a question that has an answer .21 and more.
    naive_floor: float = 0.2
    # For the decision to show anything, words weigh the same for every cue, and most of the closeness to everyday
    # requests is subtracted.
    gate_words: float = 0.05
    gate_generic: float = 0.6
    # Cosine assumed for a memory without a vector, so that words alone can meet the same bar.
    gate_blind: float = 0.05
    # The best of many scores higher by chance: measured from 10 to 600 memories, constant from 3,000 on.
    bar: float = -0.115
    bar_growth: float = 0.0756
    bar_size: int = 3_000
    # Only hits near the first are shown: three instead of five, and hardly an answer is lost.
    near_best: float = 0.2
    share_of_best: float = 0.25  # where even the best is weak, near_best alone would let everything through


DEFAULT = Relevance()


@frozen
class Evidence:
    """The views of one memory for one cue. None means that the memory has no vector, or no pieces."""

    words: float = 0.0
    cosine: float | None = None
    late: float | None = None


def idf(frequency: int, size: int) -> float:
    """Return the inverse document frequency of a word in `frequency` of `size` visible memories; never negative."""
    return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5)) if size >= frequency else 0.0


def term_weights(frequencies: Mapping[str, int], size: int, rules: Relevance = DEFAULT) -> dict[str, float]:
    """Return the weight of each of the cue's terms, made comparable between stores of different sizes.

    Among a handful of memories no word is rare, so a store counts as having at least `least_size` memories.
    """
    size = max(size, rules.least_size)
    scale = math.log(size) ** rules.size_power
    return {term: idf(count, size) ** rules.idf_power / scale for term, count in frequencies.items() if count > 0}


def words_score(
    words: Sequence[str], weights: Mapping[str, float], average_length: float, rules: Relevance = DEFAULT
) -> float:
    """Return the BM25 score of a memory, given as its stems, for a cue given as weighted terms."""
    counts: dict[str, int] = {}
    for word in words:
        if word in weights:
            counts[word] = counts.get(word, 0) + 1
    length = len(words) / max(average_length, 1.0)
    damp = rules.saturation * (1 - rules.length_share + rules.length_share * length)
    return sum(weights[word] * n * (rules.saturation + 1) / (n + damp) for word, n in counts.items())


def words_weight(code_share: float, rules: Relevance = DEFAULT) -> float:
    """Return how much shared words count for a cue, given the share of it that looks like code."""
    return rules.plain_words + rules.code_words * min(1.0, code_share / rules.full_code_share)


def relevance(evidence: Evidence, code_share: float, rules: Relevance = DEFAULT) -> float:
    """Score a memory for a cue: 0 for unrelated texts, about .5 for an answer; a missing view is estimated."""
    cosine = 0.0 if evidence.cosine is None else evidence.cosine
    late = rules.late_base + rules.late_slope * cosine if evidence.late is None else evidence.late
    score = late + rules.meaning * cosine + words_weight(code_share, rules) * evidence.words
    return max(0.0, score - rules.nothing)


def with_situations(text: float, situations: Iterable[float], rules: Relevance = DEFAULT) -> float:
    """Add a share of how well the cue fits the best situation in which the memory was needed."""
    best = max(situations, default=0.0)
    return text + rules.situation_share * max(0.0, best - rules.situation_floor)


def with_neighbours(
    scores: Sequence[float], places: Sequence[tuple[str, float] | None], rules: Relevance = DEFAULT
) -> list[float]:
    """Add to each conversation turn a share of the best turn near it in its session.

    `places` are (session, position), or None for a memory that is no turn.
    """
    if not any(places):
        return list(scores)
    floor = sorted(scores)[int(len(scores) * rules.neighbour_floor)]
    strong: dict[str, list[tuple[float, float]]] = {}
    for score, place in zip(scores, places, strict=True):
        if place and score > floor:
            strong.setdefault(place[0], []).append((place[1], score - floor))
    return [
        score + rules.neighbour_share * _best_near(place[1], strong.get(place[0], ()), rules) if place else score
        for score, place in zip(scores, places, strict=True)
    ]


def _best_near(position: float, turns: Sequence[tuple[float, float]], rules: Relevance) -> float:
    """Return the largest excess score of the turns within reach of a position, without the position itself."""
    reach = rules.neighbour_reach
    return max((excess for at, excess in turns if 0 < abs(at - position) <= reach), default=0.0)


def is_near(views: Iterable[Evidence], rules: Relevance = DEFAULT) -> bool:
    """Return whether a memory, by its text or one of its situations, is semantically close to a cue."""
    return any(view.cosine is not None and view.cosine >= rules.naive_floor for view in views)


def is_related(views: Iterable[Evidence], rules: Relevance = DEFAULT) -> bool:
    """Return whether a memory is semantically close to a cue or shares a word with it."""
    views = tuple(views)
    return any(view.words > 0 for view in views) or is_near(views, rules)


def gate_score(evidence: Evidence, generic: float, rules: Relevance = DEFAULT) -> float:
    """Return the score that is compared with the bar; `generic` is the cue's best cosine to everyday requests."""
    cosine = rules.gate_blind if evidence.cosine is None else evidence.cosine
    return cosine + rules.gate_words * evidence.words - rules.gate_generic * max(0.0, generic)


def bar(size: int, rules: Relevance = DEFAULT) -> float:
    """Return the gate score that the best memory must reach before anything is shown; it grows with the store."""
    return rules.bar + rules.bar_growth * math.log(min(max(size, rules.least_size), rules.bar_size))


def near_best(scores: Sequence[float], limit: int, rules: Relevance = DEFAULT) -> int:
    """Return how many of the descending scores to show: at most `limit`, none far below the first."""
    if not scores:
        return 0
    least = max(scores[0] - rules.near_best, scores[0] * rules.share_of_best)
    near = [score for score in scores[:limit] if score >= least]
    return len(near)
