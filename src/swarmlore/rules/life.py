"""How a memory rises, ages and falls. Pure: what is known comes in, what is decided goes out with its reason.

Evidence is counted in phases (swarm) and projects (hive): the same one twice counts once. Nothing here looks at text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from swarmlore.codec import iso
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.records import LIVE_STATUSES, Memory

if TYPE_CHECKING:
    from typing import Any

DAY_S = 86_400.0
PHASES_TO_RISE = 3  # distinct phases that make a candidate established, and an established one promoted
BAD_SIGNAL = -0.3  # from here on nothing rises by itself
SIGNAL_DOUBT = 4  # how much evidence it takes before the signal means something
APPLIED_TO_FLAG = 5
FEW_ROWS = 50  # below, a sweep may take what it wants
MOST_SHARE = 0.2
REASON_CHARS = 500
QUARANTINE_MARKS = ("original_status", "quarantine_reason", "quarantined_at", "reported_by")


@frozen
class LifeTerms:
    """The limits that apply; those of `[knowledge]`."""

    max_phases: int = 10
    todo_phases: int = 3
    promote_days: float = 90
    evergreen_confidence: float = 0.9
    evergreen_utility: float = 0.8
    low_utility: float = 0.3
    showings: int = 3


@frozen
class Fate:
    """What becomes of a memory, and why. `action`: established, promoted, archived or removed."""

    action: str
    reason: str


# Evidence


def distinct_places(memory: Memory) -> int:
    """In how many phases, or for the hive projects, it was seen again."""
    return len({confirmation.where for confirmation in memory.confirmed_by if confirmation.where})


def age_days(memory: Memory, now: float) -> float:
    """Days since its birth; one without a time, or from the future, is new."""
    born = memory.created_at
    if not math.isfinite(born) or born <= 0 or born > now:
        return 0.0
    return (now - born) / DAY_S


def outcome_signal(memory: Memory) -> float:
    """What happened after it was shown, from -1 to 1; little evidence says little."""
    counted = memory.outcomes
    good = counted.applied + counted.succeeded_after
    bad = counted.ignored + counted.violated + counted.contradicted + counted.failed_after
    return (good - bad) / (good + bad + SIGNAL_DOUBT) if good + bad > 0 else 0.0


def utility(memory: Memory, showings: int = 3) -> float | None:
    """The share of good endings after it was shown; None before enough showings or without an ending."""
    counted = memory.outcomes
    ended = counted.succeeded_after + counted.failed_after
    if counted.shown < showings or ended <= 0:
        return None
    return counted.succeeded_after / ended


def is_evergreen(memory: Memory, terms: LifeTerms) -> bool:
    """Whether it is so sure and so useful that no sweep takes it."""
    share = utility(memory, terms.showings)
    return share is not None and memory.confidence >= terms.evergreen_confidence and share >= terms.evergreen_utility


def is_low_utility(memory: Memory, terms: LifeTerms) -> bool:
    """Whether it was followed often enough to know that it does not help."""
    share = utility(memory, terms.showings)
    return share is not None and share <= terms.low_utility and memory.outcomes.applied >= APPLIED_TO_FLAG


# Rising


def next_step(memory: Memory, now: float, terms: LifeTerms) -> Fate | None:
    """The one step up that a shared lesson has earned, or None."""
    if not memory.live or memory.raw or memory.tier != "swarm" or outcome_signal(memory) <= BAD_SIGNAL:
        return None
    places = distinct_places(memory)
    if memory.status == "candidate":
        return Fate("established", f"seen in {places} phases") if places >= PHASES_TO_RISE else None
    if memory.status != "established":
        return None
    if places >= PHASES_TO_RISE:
        return Fate("promoted", f"seen in {places} phases")
    days = age_days(memory, now)
    return Fate("promoted", f"{days:.0f} days old") if days >= terms.promote_days else None


def risen(memory: Memory, fate: Fate, now: float) -> Memory:
    """The memory one step further; a promoted one may go to the hive, and lives on without an end."""
    promoted = fate.action == "promoted"
    return replace(
        memory,
        status=fate.action,
        hive_eligible=memory.hive_eligible or promoted,
        expires_at=None if promoted else memory.expires_at,
        updated_at=now,
    )


# Ageing


def renews(before: Memory, after: Memory) -> bool:
    """Whether a change lets a memory begin its phases anew: seen again, said differently, or brought back."""
    if not after.live:
        return False
    return not before.live or before.text != after.text or len(after.confirmed_by) > len(before.confirmed_by)


def phases_since(renewed_in: int, completed: Sequence[int]) -> int:
    """How many phases were completed after a mark."""
    return sum(number > renewed_in for number in completed)


def life_of(memory: Memory, terms: LifeTerms) -> int:
    """How many completed phases it outlives."""
    if memory.category == "todo":
        return terms.todo_phases
    return terms.max_phases if memory.max_phases is None else memory.max_phases


def fate_of(memory: Memory, phases: int, terms: LifeTerms) -> Fate | None:
    """What a sweep does with a memory that so many phases passed by; None leaves it."""
    if not memory.live or memory.raw or memory.tier == "agent" or memory.status == "promoted":
        return None
    limit = life_of(memory, terms)
    if phases <= limit or is_evergreen(memory, terms):
        return None
    reason = f"{phases} phases without a confirmation, at most {limit}"
    return Fate("removed" if memory.category == "todo" else "archived", reason)


def over_cap(memories: Sequence[Memory], cap: int, total: int | None = None) -> list[Memory]:
    """The oldest ones of too many; promoted ones stay, and count. `total` counts more than those that are at hand."""
    excess = (len(memories) if total is None else total) - cap
    if excess <= 0:
        return []
    mortal = (memory for memory in memories if memory.status != "promoted")
    return sorted(mortal, key=lambda memory: (memory.created_at, memory.id))[:excess]


def is_too_much(leaving: int, rows: int) -> bool:
    """Whether a sweep would take so much that a clock or a mistake is the likelier cause."""
    return rows >= FEW_ROWS and leaving > MOST_SHARE * rows


# Quarantine


def state_of(memory: Memory) -> str:
    """What a memory is, in a word, where that hinders something."""
    if memory.forgotten_at is not None:
        return "forgotten"
    return "in use" if memory.live else memory.status


def said_in_short(text: str, most: int) -> str:
    """What somebody gave as a reason or a name, as one line: without secrets, control characters and length."""
    from swarmlore.rules.gate import scrub_text  # loads every rule of the gate

    plain = "".join(" " if ord(char) < 32 or 127 <= ord(char) < 160 else char for char in scrub_text(text))
    return " ".join(plain.split())[:most].strip()


def quarantined(memory: Memory, reason: str, reported_by: str, at: float) -> Memory:
    """The memory where nobody is shown it, with what it was before."""
    marks = {
        "original_status": memory.status,
        "quarantine_reason": said_in_short(reason, REASON_CHARS),
        "quarantined_at": iso(at),
        "reported_by": said_in_short(reported_by, 64),
    }
    return replace(memory, status="quarantined", updated_at=at, extra={**memory.extra, **marks})


def brought_back(memory: Memory, status: str, at: float) -> Memory:
    """The memory as it was before it was put aside; unknown former states count as new."""
    extra = {name: value for name, value in memory.extra.items() if name not in QUARANTINE_MARKS}
    return replace(memory, status=status if status in LIVE_STATUSES else "candidate", updated_at=at, extra=extra)


def terms_of(knowledge: Any) -> LifeTerms:
    """The terms that the settings of `[knowledge]` say."""
    names: Mapping[str, str] = {
        "max_phases": "default_max_phases",
        "todo_phases": "todo_max_phases",
        "promote_days": "auto_promote_days",
        "evergreen_confidence": "evergreen_confidence",
        "evergreen_utility": "evergreen_utility",
        "low_utility": "low_utility_threshold",
        "showings": "min_retrievals_for_utility",
    }
    return LifeTerms(**{name: getattr(knowledge, said) for name, said in names.items()})
