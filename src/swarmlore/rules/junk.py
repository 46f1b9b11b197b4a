"""Which memories are junk, and when there is too much of it. Pure.

| word | a lesson that |
|---|---|
| stale | cites code that has changed or is gone |
| duplicate | says what another lesson of the same place says |
| harmful | did harm more often than it helped |
| unused | was never shown, for as long as a team wants to wait |
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.frozen import frozen
from swarmlore.rules.freshness import STALE

DAY_S = 86_400.0
WORDS = ("stale", "duplicate", "harmful", "unused")
LEAST_MOMENTS = 20  # fewer say nothing about whether agents are given anything


@frozen
class Evidence:
    """What is known about one lesson: the state of the code it cites, its twin, its ratings, its showings, its age."""

    code: str = ""
    twin: str = ""
    helped: int = 0
    hurt: int = 0
    shown: int = 0
    age_s: float = 0.0


@frozen
class Limits:
    """How much a team accepts, as shares of its lessons; 1 accepts everything. `min_given` is a share of moments."""

    max_stale: float = 0.25
    max_duplicates: float = 0.1
    max_harmful: float = 0.1
    max_unused: float = 0.75
    max_junk: float = 0.8
    min_given: float = 0.01
    unused_after_days: float = 60.0
    min_lessons: int = 20


@frozen
class Limit:
    """One limit held against what was found: `of` such things, a share of `share`, `limit` allowed."""

    name: str
    setting: str
    count: int
    of: int
    share: float
    limit: float
    kept: bool
    note: str = ""


def junk(evidence: Evidence, *, unused_after_days: float, watched: bool) -> tuple[str, ...]:
    """The words for what is wrong with a lesson. Where nobody was ever asked for a block, nothing counts as unused."""
    old = evidence.age_s >= unused_after_days * DAY_S
    found = {
        "stale": evidence.code in STALE,
        "duplicate": bool(evidence.twin),
        "harmful": evidence.hurt > evidence.helped,
        "unused": watched and old and not evidence.shown,
    }
    return tuple(word for word in WORDS if found[word])


def check(found: Sequence[tuple[str, ...]], moments: int, given: int, limits: Limits) -> tuple[Limit, ...]:
    """Every limit, kept or not; `found` has the words of each lesson."""
    counts = {word: sum(word in words for words in found) for word in WORDS}
    most = {
        "stale": ("max_stale", limits.max_stale),
        "duplicate": ("max_duplicates", limits.max_duplicates),
        "harmful": ("max_harmful", limits.max_harmful),
        "unused": ("max_unused", limits.max_unused),
    }
    of = len(found)
    told = [_most(word, *most[word], counts[word], of, limits.min_lessons) for word in WORDS]
    told.append(_most("junk", "max_junk", limits.max_junk, sum(map(bool, found)), of, limits.min_lessons))
    return (*told, _given(moments, given, limits.min_given))


def _most(name: str, setting: str, limit: float, count: int, of: int, least: int) -> Limit:
    share = count / of if of else 0.0
    few = of < least
    note = f"fewer than {least} lessons are not judged" if few else ""
    return Limit(name, f"report.{setting}", count, of, share, limit, few or share <= limit, note)


def _given(moments: int, given: int, least: float) -> Limit:
    share = given / moments if moments else 0.0
    few = moments < LEAST_MOMENTS
    note = f"fewer than {LEAST_MOMENTS} moments are not judged" if few else ""
    return Limit("given", "report.min_given", given, moments, share, least, few or share >= least, note)
