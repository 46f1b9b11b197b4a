"""Outcomes: score how a task ended, credit the memories it used, and rate approaches and criteria by their results.

Each observation loses half its weight in ninety days. Since decay depends on time alone, two sums and the time they
were taken are as good as the list of all observations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from swarmlore.domain.language.similarity import content_words
from swarmlore.domain.policy.new_memory import PATTERN
from swarmlore.domain.policy.ranking import age_days, recency_decay
from swarmlore.domain.records import Memory, Situation
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any

HELPFUL, NEUTRAL, HARMFUL = "helpful", "neutral", "harmful"
VERDICTS = (HELPFUL, NEUTRAL, HARMFUL)
FAILURE_MODES = (
    *("timeout", "conflict", "validation", "tool_failure", "context_overflow", "dependency_blocked"),
    *("user_cancelled", "unknown"),
)
WEIGHTS = {"success": 0.4, "duration": 0.2, "errors": 0.2, "retries": 0.2}
FAST_MS, SLOW_MS = 5 * 60_000, 30 * 60_000
HELPFUL_FROM, HARMFUL_TO = 0.7, 0.4
FACTORS = {True: 1.1, False: 0.5}
# Bounds of the product of ratings: reached after two dozen helpful or seven harmful ones.
LEAST_FEEDBACK, MOST_FEEDBACK = 0.01, 10.0
SAME_CUE = 0.5  # share of common content words that makes two cues the same request (bench/learns.py)
LEAST_CUE = 8  # characters; a shorter cue does not tell when a memory is needed
_VIA = {"error": "error", "tool-failed": "error", "file": "file"}  # of a situation, by the trigger of its cue


def outcome_score(success: bool, duration_ms: float | None, errors: int, retries: int) -> float:
    """Score how well a task went, from 0 to 1; an unknown duration is left out of the weighting."""
    parts = {
        "success": 1.0 if success else 0.0,
        "errors": 1.0 if errors == 0 else 0.6 if errors <= 2 else 0.2,
        "retries": 1.0 if retries == 0 else 0.7 if retries == 1 else 0.3,
    }
    if duration_ms is not None:
        parts["duration"] = 1.0 if duration_ms < FAST_MS else 0.2 if duration_ms > SLOW_MS else 0.6
    total = sum(WEIGHTS[name] * value for name, value in parts.items())
    return round(total / sum(WEIGHTS[name] for name in parts), 6)


def verdict_of(score: float) -> str:
    """Return the verdict for a score: helpful, harmful, or neutral in between."""
    return HELPFUL if score >= HELPFUL_FROM else HARMFUL if score <= HARMFUL_TO else NEUTRAL


def rated(memory: Memory, helpful: bool, at: float) -> Memory:
    """Return the memory after one more rating; only a helpful one counts as a validation now."""
    score = round(min(MOST_FEEDBACK, max(LEAST_FEEDBACK, memory.feedback_score * FACTORS[helpful])), 9)
    proven = at if helpful else memory.last_validated_at
    return replace(memory, feedback_score=score, feedback_count=memory.feedback_count + 1, last_validated_at=proven)


@frozen
class Usage:
    """How a task used a memory; `unseen` if it was used although no context block is known to have shown it."""

    cited: bool = False
    applied: bool = False
    unseen: bool = False


def with_outcome(memory: Memory, verdict: str, part: Usage, times: int = 1) -> Memory:
    """Return the memory with one more task counted in its outcomes, or with `times` -1 one less.

    A neutral verdict changes nothing. Showings are counted when a block is given.
    """
    if verdict == NEUTRAL:
        return memory
    counted = memory.outcomes
    good = verdict == HELPFUL
    added = {
        "shown": part.unseen,
        "cited": part.cited,
        "applied": part.applied,
        "succeeded_after": good,
        "failed_after": not good,
    }
    grown = {name: max(0, getattr(counted, name) + times * more) for name, more in added.items()}
    return replace(memory, outcomes=replace(counted, **grown))


def with_credit(memory: Memory, verdict: str, cues: Mapping[str, str], at: float, part: Usage) -> Memory:
    """Return the memory after a task that used it, with its outcomes counted and one more rating.

    If the task went well, the cues under which it was shown become situations; if it went badly, similar ones are
    removed.
    """
    counted = with_outcome(memory, verdict, part)
    if verdict == NEUTRAL:
        return counted
    after = rated(counted, verdict == HELPFUL, at)
    if verdict == HELPFUL:
        return replace(after, situations=_situations(after, cues, at))
    kept = (item for item in after.situations if not any(_alike(item.text, cue) for cue in cues))
    return replace(after, situations=tuple(kept))


def _situations(memory: Memory, cues: Mapping[str, str], at: float) -> tuple[Situation, ...]:
    """Return the memory's situations with the new cues; cues below eight characters are left out."""
    known = {situation.text for situation in memory.situations}
    fresh = [(cue, trigger) for cue, trigger in cues.items() if len(cue) >= LEAST_CUE and cue not in known]
    return (*memory.situations, *(Situation(cue, _VIA.get(trigger, "prompt"), at) for cue, trigger in fresh))


def _alike(one: str, other: str) -> bool:
    """Return whether two cues share half of their content words."""
    mine, yours = content_words(one), content_words(other)
    return bool(mine | yours) and len(mine & yours) >= SAME_CUE * len(mine | yours)


HALF_LIFE_DAYS = 90.0
CANDIDATE, ESTABLISHED, PROVEN, DEPRECATED = "candidate", "established", "proven", "deprecated"
MULTIPLIERS = {CANDIDATE: 0.5, ESTABLISHED: 1.0, PROVEN: 1.5, DEPRECATED: 0.0}
LEAST_EVIDENCE = 3.0
TOO_HARMFUL = 0.3  # share of harm above which an approach is deprecated
HARMLESS = 0.15  # share of harm below which it is proven, given enough help
PROVEN_FROM = 5.0
SLACK = 0.01  # three observations of this morning have decayed a little below three
LEAST_WEIGHT = 0.1
AVOID_FROM = 0.6
_PREFIX = r"(?:avoid|do not|don't|never)\b[\s:]*"
_COUNTS = ("helpful", "harmful", "at", "succeeded", "failed")


@frozen
class Record:
    """How often an approach helped and harmed, decayed until `at`, and how many of its tasks succeeded and failed."""

    helpful: float = 0.0
    harmful: float = 0.0
    at: float = 0.0
    succeeded: int = 0
    failed: int = 0


@frozen
class Criterion:
    """The reliability of a criterion for judging tasks: decayed sums, weight, and its last helpful use."""

    name: str
    weight: float = 1.0
    helpful: float = 0.0
    harmful: float = 0.0
    count: int = 0
    last_validated_at: float | None = None

    @property
    def deprecated(self) -> bool:
        """Return whether the criterion was misleading too often to be used any longer."""
        total = self.helpful + self.harmful
        return self.count >= LEAST_EVIDENCE and total > 0 and self.harmful / total > TOO_HARMFUL


def observed(record: Record, verdict: str, success: bool, at: float) -> Record:
    """Return the record with one more task; a neutral verdict only counts the task."""
    newest = max(record.at, at)
    sums, weight = decayed(record, newest), decay(at, newest)
    return Record(
        sums.helpful + weight * (verdict == HELPFUL),
        sums.harmful + weight * (verdict == HARMFUL),
        newest,
        record.succeeded + success,
        record.failed + (not success),
    )


def decayed(record: Record, now: float) -> Record:
    """Return the record with its sums decayed until now; a time before its last observation changes nothing."""
    share = decay(record.at, now)
    return Record(record.helpful * share, record.harmful * share, max(record.at, now), record.succeeded, record.failed)


def decay(at: float, now: float, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """Return the remaining weight of an observation: half after each half-life; one from the future counts in full."""
    return recency_decay(1.0, age_days(at, now), half_life_days)


def maturity(helpful: float, harmful: float) -> str:
    """Return how far an approach may be relied on (candidate, established, proven, deprecated), by its decayed sums."""
    total = helpful + harmful
    share = harmful / total if total > SLACK else 0.0
    if total < LEAST_EVIDENCE - SLACK:
        return CANDIDATE
    if share > TOO_HARMFUL:
        return DEPRECATED
    return PROVEN if helpful >= PROVEN_FROM - SLACK and share < HARMLESS else ESTABLISHED


def avoid_line(text: str, succeeded: int, failed: int) -> str:
    """Return a warning against an approach that failed at least 60 % of at least three tasks, else ''."""
    total = succeeded + failed
    if total < LEAST_EVIDENCE or failed / total < AVOID_FROM:
        return ""
    plain = re.sub(_PREFIX, "", text.strip(), count=1, flags=re.IGNORECASE).strip().rstrip(".") or text.strip()
    percent = math.floor(100 * failed / total + 0.5)
    return f"AVOID: {plain}. Failed {failed}/{total} times ({percent}% failure rate)"


def criterion_weight(helpful: float, harmful: float) -> float:
    """Return the share of help in decayed sums, at least .1; a criterion that was never judged counts in full."""
    total = helpful + harmful
    return max(LEAST_WEIGHT, helpful / total) if total > 0 else 1.0


def criteria_of(events: Iterable[tuple[str, str, float]], now: float) -> tuple[Criterion, ...]:
    """Compute criteria, sorted by name, from (name, verdict, time) of the tasks judged by them."""
    found: dict[str, Criterion] = {}
    for name, verdict, at in events:
        known = found.get(name, Criterion(name))
        helped, harmed = verdict == HELPFUL, verdict == HARMFUL
        newest = max(at, known.last_validated_at or at) if helped else known.last_validated_at
        helpful, harmful = known.helpful + helped * decay(at, now), known.harmful + harmed * decay(at, now)
        weight = criterion_weight(helpful, harmful)
        found[name] = Criterion(name, weight, helpful, harmful, known.count + helped + harmed, newest)
    return tuple(found[name] for name in sorted(found))


def record_of(extra: Mapping[str, Any]) -> Record | None:
    """Parse the record of an approach from a memory's `extra`; None without one. Invalid counts become zero."""
    stored = extra.get(PATTERN)
    if not isinstance(stored, Mapping):
        return None
    helpful, harmful, at, succeeded, failed = (_count(stored.get(name)) for name in _COUNTS)
    return Record(helpful, harmful, at, int(succeeded), int(failed))


def carried(record: Record) -> dict[str, Any]:
    """Return the record of an approach as values for a memory's `extra`."""
    values = {name: getattr(record, name) for name in _COUNTS}
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}


def _count(value: Any) -> float:
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
    return float(number) if 0 <= number < 1e12 else 0.0
