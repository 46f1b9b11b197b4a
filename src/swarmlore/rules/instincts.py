"""Instincts: rules of one sentence that become surer when they are confirmed and fade when they are not. Pure.

What time takes away is computed whenever somebody looks, and never written: a file that nobody touches stays as it is.
"""

from __future__ import annotations

from swarmlore.frozen import frozen, replace

DAY_S = 86_400.0
SCOPES = ("project", "domain", "universal")
CATEGORIES = ("tooling", "style", "api", "testing", "architecture", "convention")
ORIGINS = {"correction": 0.7, "approval": 0.5, "repeated": 0.5, "single": 0.3}
"""How sure an instinct is at first, where it is said how it was learned."""


@frozen
class Instinct:
    """One rule as its file tells it. Times are seconds since the epoch; None where the file says none."""

    id: str
    rule: str
    confidence: float = 0.5
    scope: str = "project"
    category: str = ""
    created_at: float | None = None
    reinforced_at: float | None = None
    reinforcements: int = 0
    source: str = ""
    tags: tuple[str, ...] = ()
    promoted: bool = False


@frozen
class Course:
    """The numbers of an instinct's life."""

    start: float = 0.5
    reinforced: float = 0.1
    highest: float = 0.9
    contradicted: float = 0.2
    stale_days: int = 30
    stale: float = 0.1
    prune_below: float = 0.3
    prune_days: int = 90
    promote_from: float = 0.8


def idle_days(instinct: Instinct, now: float) -> int:
    """Whole days since it was last confirmed, or made; 0 where nobody knows."""
    since = instinct.created_at if instinct.reinforced_at is None else instinct.reinforced_at
    return 0 if since is None else max(0, int((now - since) // DAY_S))


def confidence_now(instinct: Instinct, now: float, course: Course) -> float:
    """What is left of its confidence after the time in which nobody confirmed it."""
    lost = course.stale * (idle_days(instinct, now) // course.stale_days)
    return _held(instinct.confidence - lost)


def reinforce(instinct: Instinct, now: float, course: Course) -> Instinct:
    """Confirmed once more: what time took stays taken, and the time begins anew."""
    left = confidence_now(instinct, now, course)
    raised = max(left, min(course.highest, _held(left + course.reinforced)))
    # What was written down counts as the first time, also where the file does not count.
    return replace(instinct, confidence=raised, reinforced_at=now, reinforcements=max(1, instinct.reinforcements) + 1)


def contradict(instinct: Instinct, course: Course) -> Instinct:
    """Spoken against: it loses confidence, and nothing that time does to it is stopped."""
    return replace(instinct, confidence=_held(instinct.confidence - course.contradicted))


def unproven(instinct: Instinct) -> Instinct:
    """The instinct as new: how sure another file is of it, and how often it held there, counts for nothing here."""
    start = min(instinct.confidence, Course().start)
    return replace(instinct, confidence=start, reinforced_at=None, reinforcements=0, promoted=False)


def is_prunable(instinct: Instinct, now: float, course: Course, *, stale: bool = False) -> bool:
    """Whether it is too unsure to be kept, or (if that is asked) unconfirmed for too long. Promoted ones stay."""
    if instinct.promoted:
        return False
    if stale and idle_days(instinct, now) >= course.prune_days:
        return True
    return confidence_now(instinct, now, course) < course.prune_below


def is_promotable(instinct: Instinct, now: float, course: Course) -> bool:
    """Whether it is sure enough and holds everywhere."""
    sure = confidence_now(instinct, now, course) >= course.promote_from
    return sure and instinct.scope == "universal" and not instinct.promoted


def _held(value: float) -> float:
    """A confidence from 0 to 1, without the dust of adding tenths."""
    return round(min(1.0, max(0.0, value)), 6)
