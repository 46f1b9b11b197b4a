"""The bounded nudges of the `default` profile.

Relevance decides. What else is known about a memory moves its score by a few percent: each factor is bounded by its
weight, all together by `TOGETHER`. A memory nobody has shown, rated or read yet is moved by its kind and age only.
"""

from __future__ import annotations

import math

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


def default_priors(
    memory: Memory, now: float, *, weights: PriorWeights = DEFAULT_WEIGHTS, stale: bool = False
) -> Scored:
    """Say by which factor, between .7 and 1.3, relevance is multiplied, and name every factor that is not 1."""
    parts = (
        _kind(memory, weights.kind),
        _confidence(memory, weights.confidence),
        _feedback(memory, weights.feedback),
        _utility(memory, weights.utility),
        _recency(memory, now, weights.recency),
        _access(memory, weights.access),
        Part("freshness", 1 - weights.freshness if stale else 1.0, "cited code has changed"),
    )
    told = tuple(part for part in parts if abs(part.value - 1) >= _WORTH_TELLING)
    product = math.prod(part.value for part in told)
    return Scored(min(1 + TOGETHER, max(1 - TOGETHER, product)), told)


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


def _moved(name: str, direction: float, weight: float, note: str) -> Part:
    """A factor within its weight; direction is between -1 and 1."""
    return Part(name, 1 + weight * min(1.0, max(-1.0, direction)), note)


def _kind(memory: Memory, weight: float) -> Part:
    if memory.source in _CHATTER:
        return _moved("kind", -1, weight, f"said in passing ({memory.source})")
    direction = (memory.kind in _STRONG_KINDS) - (memory.kind in _WEAK_KINDS)
    return _moved("kind", direction, weight, memory.kind)


def _confidence(memory: Memory, weight: float) -> Part:
    return _moved("confidence", 2 * (memory.confidence - 0.5), weight, f"{memory.confidence:g}")


def _feedback(memory: Memory, weight: float) -> Part:
    """One harmful rating (× .5) takes the whole weight; seven helpful ones (× 1.1 each) earn it."""
    direction = math.log2(memory.feedback_score) if memory.feedback_score > 0 else -1.0
    return _moved("feedback", direction, weight, f"rated {times(memory.feedback_count)}")


def _utility(memory: Memory, weight: float) -> Part:
    share = utility(memory)
    if share is None:
        return Part("utility", 1.0)
    return _moved("utility", 2 * share - 1, weight, f"{share:.0%} of the tasks it was shown in went well")


def _recency(memory: Memory, now: float, weight: float) -> Part:
    days = age_days(proven_at(memory), now)
    aged = 1 - 0.5 ** (days / RECENCY_HALF_LIFE_DAYS)
    return _moved("recency", -aged, weight, f"{days:.0f} days old")


def _access(memory: Memory, weight: float) -> Part:
    reads = max(0, memory.access_count)
    return _moved("access", reads / (reads + ACCESS_HALF_WAY), weight, f"read {times(reads)}")
