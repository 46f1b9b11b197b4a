"""How the five described systems rank, each by its own formula.

Similarities, terms and the time come in; a score and the parts it was made of go out, so that every hit can explain
itself. The bounded nudges of the `default` profile are in `priors`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from swarmlore.frozen import frozen
from swarmlore.records import Hit, Memory, Part
from swarmlore.rules.claims import as_claimed

DAY_S = 86_400.0
HOUR_S = 3_600.0

LANE_WEIGHTS = {
    "correction": 1.0,
    "decision": 1.0,
    "commitment": 1.0,
    "insight": 0.7,
    "learning": 0.7,
    "confidence": 0.7,
    "pattern_seed": 0.4,
    "cross_agent": 0.4,
    "workflow_note": 0.4,
    "gap": 0.4,
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
    """A score and the factors or terms it was made of."""

    score: float
    parts: tuple[Part, ...] = ()


SWARM_FLOOR = 0.4
"""Cosine above which profile swarm shows something unasked."""


@frozen
class SwarmRanking:
    """The settings of profile `swarm`."""

    half_life_days: float = 14.0
    access_boost_max: float = 1.5
    access_recency_hours: float = 48.0


def recency_decay(weight: float, age_days: float, half_life_days: float = 90.0) -> float:
    """Halve a weight every half-life; what lies in the future has not aged."""
    half_life = half_life_days if half_life_days > 0 else 1.0
    return float(weight * 0.5 ** (max(0.0, age_days) / half_life))


def age_days(since: float, now: float) -> float:
    """Days between two times, never below zero."""
    return max(0.0, (now - since) / DAY_S)


def proven_at(memory: Memory) -> float:
    """When a memory was last known to be good: its creation or, if later, the last helpful validation."""
    return max(memory.created_at, memory.last_validated_at or memory.created_at)


# --- lane


def intent_kinds(query: str) -> frozenset[str]:
    """Say which kinds a question asks for by its words; a word inside another counts, as in the original."""
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
    return f"{count} time" if count == 1 else f"{count} times"


# --- swarm


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
    if memory.access_count <= 0:
        return 1.0
    last = memory.last_accessed_at
    recent = last is not None and now - last <= settings.access_recency_hours * HOUR_S
    gain = min(memory.access_count / 10, max(0.0, settings.access_boost_max - 1))
    return 1 + gain * (1.0 if recent else 0.5)


# --- knowledge


def phase_categories(phase: str) -> tuple[str, ...]:
    """Say which categories fit a phase, by the first group of stems that begins one of its words."""
    words = re.findall(r"[^\W_]+", phase.lower())
    for stems, categories in _PHASES:
        if any(_has_stem(word, stem) for stem in stems.split() for word in words):
            return categories
    return _ANY_PHASE


def _has_stem(word: str, stem: str) -> bool:
    return word == stem if len(stem) == 2 else word.startswith(stem)


def knowledge_score(memory: Memory, phase: str, query_terms: frozenset[str], project: str) -> Scored:
    """Rank as the two-tier knowledge: .4 category + .35 confidence + .25 tags, ± .05 for the hive, within 0 and 1.

    The source project of a hive memory is its `project`; from the asking project itself it says little new.
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
    """Equal, or one inside the other as in the original, from three letters on ("go" is not in "mongo")."""
    return tag == term or (min(len(tag), len(term)) >= 3 and (tag in term or term in tag))


def rank_knowledge(hits: Iterable[Hit]) -> list[Hit]:
    """Order by score; where two are within a thousandth, the newer comes first."""
    from functools import cmp_to_key

    def compare(one: Hit, other: Hit) -> int:
        apart = other.score - one.score
        if abs(apart) <= KNOWLEDGE_TIE:
            apart = other.memory.created_at - one.memory.created_at
        return (apart > 0) - (apart < 0)

    return sorted(hits, key=cmp_to_key(compare))


# --- learnings


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

    Up to .49 is taken off for the share of the query's words found nowhere. It only breaks ties: `round()` gives the
    plain sum, and a note that has every word has exactly that sum.
    """
    tokens = query_tokens(query)
    fields = [_joined(field).lower() for field in (title, symptoms, key_insight, tags, content)]
    found = [{token for token in tokens if _occurs(token, field)} for field in fields]
    total = sum(weight for weight, hits in zip(_FIELD_WEIGHTS, found, strict=True) if hits)
    if not total:
        return 0.0
    return total - _FIELD_TIE * (1 - len(set().union(*found)) / len(tokens))


def query_tokens(query: str) -> frozenset[str]:
    """The words of a query without the small ones, unless there are only small ones."""
    words = frozenset(re.findall(r"\w+", query.lower()))
    return words - _STOP_WORDS or words


def _joined(field: Sequence[str]) -> str:
    return field if isinstance(field, str) else "\n".join(field)


def _occurs(token: str, text: str) -> bool:
    """Whether a token is in a lower-cased text; one or two letters have to be a whole word."""
    return token in text and (len(token) > 2 or token in re.findall(r"\w+", text))


# --- beads


def beads_matches(memory: Memory, query: str) -> bool:
    """Whether every word of the query is in the text, in any case; an empty query matches all."""
    text = memory.text.lower()
    return all(word in text for word in query.lower().split())


def beads_rank(memories: Iterable[Memory], query: str) -> list[Memory]:
    """List what matches, newest first and each key once; of one key the latest counts, also against the query."""
    latest: dict[str, Memory] = {}
    for memory in memories:
        key = memory.key or memory.id
        if key not in latest or memory.created_at >= latest[key].created_at:
            latest[key] = memory
    matching = [memory for memory in latest.values() if beads_matches(memory, query)]
    return sorted(matching, key=lambda memory: memory.created_at, reverse=True)
