"""What the end of a task is worth, and what it says about the memories that were shown for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.frozen import frozen, replace
from swarmlore.records import Memory, Situation
from swarmlore.text.similarity import content_words

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
class Part:
    """The part that a memory had in a task; `unseen` where it was used though no block is known to have shown it."""

    cited: bool = False
    applied: bool = False
    unseen: bool = False


def witnessed(memory: Memory, verdict: str, part: Part, times: int = 1) -> Memory:
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


def credited(memory: Memory, verdict: str, cues: Mapping[str, str], at: float, part: Part) -> Memory:
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
