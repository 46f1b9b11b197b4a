"""The rules of two files of instincts as those of one. Pure.

They are copies of one file that went different ways. A rule that both have gets the later confirmation and the higher
count, and the higher confidence where it was confirmed over there: nothing is counted twice, and doing it again changes
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.pages.rule_conflicts import Known
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


@frozen
class MergedRules:
    """What another file brings: rules that are missing, rules that are surer now, how many are known as they are, and
    the pairs (theirs, ours) of which only one can be followed."""

    added: tuple[Instinct, ...] = ()
    raised: tuple[Instinct, ...] = ()
    known: int = 0
    against: tuple[tuple[Instinct, Instinct], ...] = ()


def merge_rules(own: Sequence[Instinct], others: Sequence[Instinct]) -> MergedRules:
    """Take the rules of another file over, one by one."""
    held, ids = list(own), {one.id: place for place, one in enumerate(own)}
    texts = Known(one.rule for one in own)
    against: list[tuple[Instinct, Instinct]] = []
    known = 0
    for other in others:
        place = _place(other, held, ids, texts)
        if place is not None:
            held[place] = merged(held[place], other)
            known += 1
        elif opposed := texts.against(other.rule):
            against += [(other, held[place]) for place in opposed]
        else:
            texts.add(other.rule)
            held.append(other)
    raised = tuple(after for before, after in zip(own, held, strict=False) if after != before)
    return MergedRules(tuple(held[len(own) :]), raised, known, tuple(against))


def _place(other: Instinct, held: Sequence[Instinct], ids: dict[str, int], texts: Known) -> int | None:
    """Where the same rule stands. The same id with another rule is another instinct."""
    same = texts.same(other.rule)
    if same is not None:
        return same
    place = ids.get(other.id)
    return place if place is not None and held[place].rule == other.rule else None


def merged(own: Instinct, other: Instinct) -> Instinct:
    """One rule that both files have. Only where it was confirmed over there since is it surer: an old copy must not
    bring back what a contradiction took here."""
    since = other.reinforcements > own.reinforcements or (other.reinforced_at or 0.0) > (own.reinforced_at or 0.0)
    times = [at for at in (own.reinforced_at, other.reinforced_at) if at is not None]
    return replace(
        own,
        confidence=max(own.confidence, other.confidence) if since else own.confidence,
        reinforced_at=max(times, default=None),
        reinforcements=max(own.reinforcements, other.reinforcements),
        promoted=own.promoted or other.promoted,
    )
