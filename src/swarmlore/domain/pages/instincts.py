"""Instincts (one-sentence rules with a confidence): how confidence grows and decays, and how two files of them merge.

Merged files are diverged copies of one file. A rule in both gets the later confirmation and the higher count; it gets
the higher confidence only if it was confirmed in the other file since. Nothing is counted twice, so merging again
changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.pages.rule_conflicts import RuleIndex
from swarmlore.frozen import frozen, replace

DAY_S = 86_400.0
SCOPES = ("project", "domain", "universal")
CATEGORIES = ("tooling", "style", "api", "testing", "architecture", "convention")
# Initial confidence of an instinct by how it was learned.
ORIGINS = {"correction": 0.7, "approval": 0.5, "repeated": 0.5, "single": 0.3}


@frozen
class Instinct:
    """One rule as stored in its file. Times are seconds since the epoch, None if the file has none."""

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
    """The parameters by which the confidence of an instinct grows and decays."""

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
    """Return the whole days since the instinct was last confirmed or created; 0 if neither time is known."""
    since = instinct.created_at if instinct.reinforced_at is None else instinct.reinforced_at
    return 0 if since is None else max(0, int((now - since) // DAY_S))


def confidence_now(instinct: Instinct, now: float, course: Course) -> float:
    """Return the confidence that is left after the time without confirmation."""
    lost = course.stale * (idle_days(instinct, now) // course.stale_days)
    return _clamped(instinct.confidence - lost)


def reinforce(instinct: Instinct, now: float, course: Course) -> Instinct:
    """Confirm an instinct: raise its decayed confidence and restart the decay from now."""
    left = confidence_now(instinct, now, course)
    raised = max(left, min(course.highest, _clamped(left + course.reinforced)))
    # Writing the instinct down counts as the first confirmation, even if the file holds no count.
    return replace(instinct, confidence=raised, reinforced_at=now, reinforcements=max(1, instinct.reinforcements) + 1)


def contradict(instinct: Instinct, course: Course) -> Instinct:
    """Contradict an instinct: lower its confidence; its decay continues unchanged."""
    return replace(instinct, confidence=_clamped(instinct.confidence - course.contradicted))


def unproven(instinct: Instinct) -> Instinct:
    """Return an instinct from another file as new: confidence at most the start value, no confirmations."""
    start = min(instinct.confidence, Course().start)
    return replace(instinct, confidence=start, reinforced_at=None, reinforcements=0, promoted=False)


def is_prunable(instinct: Instinct, now: float, course: Course, *, stale: bool = False) -> bool:
    """Tell whether its confidence is too low or, with `stale`, its last confirmation too old; promoted ones stay."""
    if instinct.promoted:
        return False
    if stale and idle_days(instinct, now) >= course.prune_days:
        return True
    return confidence_now(instinct, now, course) < course.prune_below


def is_promotable(instinct: Instinct, now: float, course: Course) -> bool:
    """Tell whether an instinct is universal and confident enough to be promoted."""
    sure = confidence_now(instinct, now, course) >= course.promote_from
    return sure and instinct.scope == "universal" and not instinct.promoted


def _clamped(value: float) -> float:
    """Clamp a confidence to 0..1 and round away the float error of adding tenths."""
    return round(min(1.0, max(0.0, value)), 6)


@frozen
class MergedRules:
    """Result of a merge: added and raised rules, the count of known ones, contradictory pairs (theirs, ours)."""

    added: tuple[Instinct, ...] = ()
    raised: tuple[Instinct, ...] = ()
    known: int = 0
    against: tuple[tuple[Instinct, Instinct], ...] = ()


def merge_rules(own: Sequence[Instinct], others: Sequence[Instinct]) -> MergedRules:
    """Merge the rules of another file into our own, one by one."""
    rules, ids = list(own), {rule.id: place for place, rule in enumerate(own)}
    texts = RuleIndex(rule.rule for rule in own)
    against: list[tuple[Instinct, Instinct]] = []
    known = 0
    for other in others:
        place = _index_of_same(other, rules, ids, texts)
        if place is not None:
            rules[place] = merged(rules[place], other)
            known += 1
        elif opposed := texts.against(other.rule):
            against += [(other, rules[place]) for place in opposed]
        else:
            texts.add(other.rule)
            rules.append(other)
    raised = tuple(after for before, after in zip(own, rules, strict=False) if after != before)
    return MergedRules(tuple(rules[len(own) :]), raised, known, tuple(against))


def _index_of_same(other: Instinct, rules: Sequence[Instinct], ids: dict[str, int], texts: RuleIndex) -> int | None:
    """Return the index of the same rule. The same id with another rule is a different instinct."""
    same = texts.same(other.rule)
    if same is not None:
        return same
    place = ids.get(other.id)
    return place if place is not None and rules[place].rule == other.rule else None


def merged(own: Instinct, other: Instinct) -> Instinct:
    """Merge one rule of both files; an old copy must not undo a contradiction, so only a newer confirmation counts."""
    confirmed_since = other.reinforcements > own.reinforcements or (other.reinforced_at or 0.0) > (
        own.reinforced_at or 0.0
    )
    times = [at for at in (own.reinforced_at, other.reinforced_at) if at is not None]
    return replace(
        own,
        confidence=max(own.confidence, other.confidence) if confirmed_since else own.confidence,
        reinforced_at=max(times, default=None),
        reinforcements=max(own.reinforcements, other.reinforcements),
        promoted=own.promoted or other.promoted,
    )
