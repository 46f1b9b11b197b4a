"""What an approach is worth, from how the tasks ended that used it. Pure.

Every observation weighs half as much after ninety days. Halving forgets nothing but time, so two sums and the moment
they were taken at say as much as the list of all observations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from swarmlore.domain.language.similarity import content_words
from swarmlore.domain.policy.gate import PATTERN
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
# The product of many ratings stays a number that can be ranked by: two dozen helpful ones, seven harmful ones.
LEAST_FEEDBACK, MOST_FEEDBACK = 0.01, 10.0
SAME_CUE = 0.5  # of the content words of two cues: the same request in other words (bench/learns.py)
LEAST_CUE = 8  # characters: a shorter one says nothing about when a memory is needed
_ERROR_TRIGGERS = ("error", "tool-failed")


def outcome_score(success: bool, duration_ms: float | None, errors: int, retries: int) -> float:
    """How well a task went, from 0 to 1; an unknown duration is left out of the weighing."""
    parts = {"success": 1.0 if success else 0.0, "errors": _errors(errors), "retries": _retries(retries)}
    if duration_ms is not None:
        parts["duration"] = _duration(duration_ms)
    weighed = sum(WEIGHTS[name] * value for name, value in parts.items())
    return round(weighed / sum(WEIGHTS[name] for name in parts), 6)


def verdict_of(score: float) -> str:
    """Helpful, harmful, or neutral in between."""
    return HELPFUL if score >= HELPFUL_FROM else HARMFUL if score <= HARMFUL_TO else NEUTRAL


def rated(memory: Memory, helpful: bool, at: float) -> Memory:
    """The memory after one more rating; only a helpful one makes it young again."""
    score = round(min(MOST_FEEDBACK, max(LEAST_FEEDBACK, memory.feedback_score * FACTORS[helpful])), 9)
    proven = at if helpful else memory.last_validated_at
    return replace(memory, feedback_score=score, feedback_count=memory.feedback_count + 1, last_validated_at=proven)


@frozen
class PartPlayed:
    """The part that a memory had in a task; `unseen` where it was used though no block is known to have shown it."""

    cited: bool = False
    applied: bool = False
    unseen: bool = False


def witnessed(memory: Memory, verdict: str, part: PartPlayed, times: int = 1) -> Memory:
    """The memory with one more task counted in which it was shown, or with `times` -1 one less; a neutral end says
    nothing. That it was shown is counted when a block gives it."""
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


def credited(memory: Memory, verdict: str, cues: Mapping[str, str], at: float, part: PartPlayed) -> Memory:
    """The memory after a task that used it: counted, rated, and with the cue it was shown for where it helped, without
    such cues where it did harm."""
    counted = witnessed(memory, verdict, part)
    if verdict == NEUTRAL:
        return counted
    helped = verdict == HELPFUL
    after = rated(counted, helped, at)
    return replace(after, situations=_situations(after, cues, at) if helped else _left(after, cues))


def _situations(memory: Memory, cues: Mapping[str, str], at: float) -> tuple[Situation, ...]:
    known = {situation.text for situation in memory.situations}
    fresh = [(cue, via) for cue, via in cues.items() if len(cue) >= LEAST_CUE and cue not in known]
    return (*memory.situations, *(Situation(cue, _via(via), at) for cue, via in fresh))


def _left(memory: Memory, cues: Mapping[str, str]) -> tuple[Situation, ...]:
    """The situations that are not like a cue under which it did harm: for those it is not to be found that easily."""
    return tuple(item for item in memory.situations if not any(_alike(item.text, cue) for cue in cues))


def _alike(one: str, other: str) -> bool:
    mine, yours = content_words(one), content_words(other)
    return bool(mine | yours) and len(mine & yours) >= SAME_CUE * len(mine | yours)


def _via(trigger: str) -> str:
    return "error" if trigger in _ERROR_TRIGGERS else "file" if trigger == "file" else "prompt"


def _duration(duration_ms: float) -> float:
    return 1.0 if duration_ms < FAST_MS else 0.2 if duration_ms > SLOW_MS else 0.6


def _errors(count: int) -> float:
    return 1.0 if count == 0 else 0.6 if count <= 2 else 0.2


def _retries(count: int) -> float:
    return 1.0 if count == 0 else 0.7 if count == 1 else 0.3


HALF_LIFE_DAYS = 90.0
CANDIDATE, ESTABLISHED, PROVEN, DEPRECATED = "candidate", "established", "proven", "deprecated"
MULTIPLIERS = {CANDIDATE: 0.5, ESTABLISHED: 1.0, PROVEN: 1.5, DEPRECATED: 0.0}
LEAST_EVIDENCE = 3.0
TOO_HARMFUL = 0.3  # above this share of harm an approach is given up
HARMLESS = 0.15  # below it, and with enough help, it is proven
PROVEN_FROM = 5.0
SLACK = 0.01  # three observations of this morning weigh a little less than three
LEAST_WEIGHT = 0.1
AVOID_FROM = 0.6
_PREFIX = r"(?:avoid|do not|don't|never)\b[\s:]*"
_COUNTS = ("helpful", "harmful", "at", "succeeded", "failed")


@frozen
class Record:
    """How often an approach helped and did harm, decayed until `at`; and how its tasks ended, counted."""

    helpful: float = 0.0
    harmful: float = 0.0
    at: float = 0.0
    succeeded: int = 0
    failed: int = 0


@frozen
class Criterion:
    """How much a criterion of judgement is worth: its decayed sums, its weight, and when it last proved itself."""

    name: str
    weight: float = 1.0
    helpful: float = 0.0
    harmful: float = 0.0
    count: int = 0
    last_validated_at: float | None = None

    @property
    def deprecated(self) -> bool:
        """Whether it misled too often to be judged by any longer."""
        total = self.helpful + self.harmful
        return self.count >= LEAST_EVIDENCE and total > 0 and self.harmful / total > TOO_HARMFUL


def observed(record: Record, verdict: str, success: bool, at: float) -> Record:
    """The record with one more task; a neutral end is counted and weighs nothing."""
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
    """The record as it weighs now; a time before its last observation takes nothing away."""
    share = decay(record.at, now)
    return Record(record.helpful * share, record.harmful * share, max(record.at, now), record.succeeded, record.failed)


def decay(at: float, now: float, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """What an observation still weighs: half of it after each half-life; one of the future is as of now."""
    return recency_decay(1.0, age_days(at, now), half_life_days)


def maturity(helpful: float, harmful: float) -> str:
    """How far an approach may be relied on, by its decayed sums."""
    total = helpful + harmful
    share = harmful / total if total > SLACK else 0.0
    if total < LEAST_EVIDENCE - SLACK:
        return CANDIDATE
    if share > TOO_HARMFUL:
        return DEPRECATED
    return PROVEN if helpful >= PROVEN_FROM - SLACK and share < HARMLESS else ESTABLISHED


def avoid_line(text: str, succeeded: int, failed: int) -> str:
    """What to say against an approach that failed three tasks of five, out of three at least; else nothing."""
    total = succeeded + failed
    if total < LEAST_EVIDENCE or failed / total < AVOID_FROM:
        return ""
    plain = re.sub(_PREFIX, "", text.strip(), count=1, flags=re.IGNORECASE).strip().rstrip(".") or text.strip()
    percent = math.floor(100 * failed / total + 0.5)
    return f"AVOID: {plain}. Failed {failed}/{total} times ({percent}% failure rate)"


def criterion_weight(helpful: float, harmful: float) -> float:
    """The share of help in decayed sums, a tenth at least; what was never judged counts in full."""
    total = helpful + harmful
    return max(LEAST_WEIGHT, helpful / total) if total > 0 else 1.0


def criteria_of(events: Iterable[tuple[str, str, float]], now: float) -> tuple[Criterion, ...]:
    """Criteria by (name, verdict, time) of the tasks that were judged by them, in the order of their names."""
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
    """The record that a memory carries, or None. What is no count in it counts as none: files may hold anything."""
    told = extra.get(PATTERN)
    if not isinstance(told, Mapping):
        return None
    helpful, harmful, at, succeeded, failed = (_count(told.get(name)) for name in _COUNTS)
    return Record(helpful, harmful, at, int(succeeded), int(failed))


def carried(record: Record) -> dict[str, Any]:
    """The record as a memory carries it."""
    told = {name: getattr(record, name) for name in _COUNTS}
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in told.items()}


def _count(value: Any) -> float:
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
    return float(number) if 0 <= number < 1e12 else 0.0
