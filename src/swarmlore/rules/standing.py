"""What an agent should know before anything was asked: the lessons of a project that have earned it.

At the start of a session there is no cue. What counts is evidence (status, confirmations, who said it), what kind of
statement it is, and how fresh: a correction of yesterday says more about the next session than an insight of last year.
"""

from __future__ import annotations

from swarmlore.records import Memory, Part
from swarmlore.rules.ranking import Scored, age_days

HALF_LIFE_DAYS = 30.0
_STATUS = {"candidate": 1 / 3, "established": 2 / 3, "promoted": 1.0}
_BINDING = frozenset({"correction", "commitment", "decision"})
_FULLY_CONFIRMED = 3
_FULLY_TRUSTED = 3


def standing(memory: Memory, now: float) -> Scored:
    """How much a memory deserves to be shown unasked, 0 to 1, and why. What was rated harmful sinks."""
    parts = (
        Part("status", 0.25 * _STATUS.get(memory.status, 0.0), memory.status),
        Part("confirmed", 0.2 * min(len(memory.confirmed_by), _FULLY_CONFIRMED) / _FULLY_CONFIRMED),
        Part("trust", 0.15 * min(memory.trust, _FULLY_TRUSTED) / _FULLY_TRUSTED),
        Part("kind", 0.15 if memory.kind in _BINDING else 0.0, memory.kind),
        Part("recent", 0.25 * 0.5 ** (age_days(memory.updated_at, now) / HALF_LIFE_DAYS)),
    )
    told = tuple(part for part in parts if part.value)
    return Scored(sum(part.value for part in told) * min(1.0, memory.feedback_score), told)
