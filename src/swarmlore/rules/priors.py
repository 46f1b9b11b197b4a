"""The bounded nudges of the `default` profile.

Relevance decides. What else is known about a memory moves its score by a few percent: each factor is bounded by its
weight, all together by `TOGETHER`. A memory nobody has shown, rated or read yet is moved by its kind and age only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from swarmlore.frozen import frozen
from swarmlore.records import Memory, Part
from swarmlore.rules.ranking import Scored, age_days, proven_at, times

TOGETHER = 0.30
RECENCY_HALF_LIFE_DAYS = 180.0
ACCESS_HALF_WAY = 5  # after so many reads half of the weight is reached
SHOWN_BEFORE_UTILITY = 3
_WORTH_TELLING = 0.0005

_STRONG_KINDS = frozenset({"correction", "decision", "commitment"})
_WEAK_KINDS = frozenset({"pattern_seed", "cross_agent", "workflow_note", "gap"})
# What was said or done in passing, as opposed to what somebody wrote down to be kept.
_CHATTER = frozenset({"transcript", "session_summary", "task_completion", "outcome"})


@frozen
class PriorWeights:
    """How far each fact may move a score: .05 is five percent.

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
    """By which factor, between .7 and 1.3, relevance is multiplied."""
    product = math.prod(value for _, value in _moves(memory, now, weights, stale))
    return min(1 + TOGETHER, max(1 - TOGETHER, product))


def default_priors(
    memory: Memory, now: float, *, weights: PriorWeights = DEFAULT_WEIGHTS, stale: bool = False
) -> Scored:
    """The same, with a name for every factor that is not 1."""
    told = (Part(name, value, _NOTES[name](memory, now)) for name, value in _moves(memory, now, weights, stale))
    return Scored(default_factor(memory, now, weights=weights, stale=stale), tuple(told))


def preferred(one: Memory, other: Memory) -> Memory:
    """Of two memories that contradict each other: the higher trust, then the better proven, then the newer."""
    return max(one, other, key=lambda memory: (memory.trust, memory.confidence, proven_at(memory), memory.id))


def utility(memory: Memory) -> float | None:
    """The share of good endings after it was shown; None before three showings or without an ending."""
    outcomes = memory.outcomes
    ended = outcomes.succeeded_after + outcomes.failed_after
    if outcomes.shown < SHOWN_BEFORE_UTILITY or ended <= 0:
        return None
    return outcomes.succeeded_after / ended


def _moves(memory: Memory, now: float, weights: PriorWeights, stale: bool) -> list[tuple[str, float]]:
    """The factors that are not 1, each within its weight."""
    directions = (
        ("kind", _kind(memory), weights.kind),
        ("confidence", 2 * (memory.confidence - 0.5), weights.confidence),
        ("feedback", _feedback(memory), weights.feedback),
        ("utility", _utility(memory), weights.utility),
        ("recency", _recency(memory, now), weights.recency),
        ("access", _access(memory), weights.access),
        ("freshness", -1.0 if stale else 0.0, weights.freshness),
    )
    moved = [(name, 1 + weight * min(1.0, max(-1.0, direction))) for name, direction, weight in directions if direction]
    return [(name, value) for name, value in moved if abs(value - 1) >= _WORTH_TELLING]


# Which way a fact moves a score, between -1 and 1


def _kind(memory: Memory) -> float:
    if memory.source in _CHATTER:
        return -1.0
    return (memory.kind in _STRONG_KINDS) - (memory.kind in _WEAK_KINDS)


def _feedback(memory: Memory) -> float:
    """One harmful rating (× .5) takes the whole weight; seven helpful ones (× 1.1 each) earn it."""
    return math.log2(memory.feedback_score) if memory.feedback_score > 0 else -1.0


def _utility(memory: Memory) -> float:
    share = utility(memory)
    return 0.0 if share is None else 2 * share - 1


def _recency(memory: Memory, now: float) -> float:
    return math.pow(0.5, _days(memory, now) / RECENCY_HALF_LIFE_DAYS) - 1


def _access(memory: Memory) -> float:
    reads = max(0, memory.access_count)
    return reads / (reads + ACCESS_HALF_WAY)


# Why


def _days(memory: Memory, now: float) -> float:
    return age_days(proven_at(memory), now)


def _told_kind(memory: Memory, now: float) -> str:
    return f"said in passing ({memory.source})" if memory.source in _CHATTER else memory.kind


_NOTES: dict[str, Callable[[Memory, float], str]] = {
    "kind": _told_kind,
    "confidence": lambda memory, _: f"{memory.confidence:g}",
    "feedback": lambda memory, _: f"rated {times(memory.feedback_count)}",
    "utility": lambda memory, _: f"{utility(memory) or 0:.0%} of the tasks it was shown in went well",
    "recency": lambda memory, now: f"{_days(memory, now):.0f} days old",
    "access": lambda memory, _: f"read {times(max(0, memory.access_count))}",
    "freshness": lambda *_: "cited code has changed",
}
