"""Lifecycle of lessons: evidence, promotion to the hive, phases, ageing, quarantine, and the cap on their number.

A lesson of the hive is shown in every project. A lesson that names one project only (its entities, paths, hosts, its
name) is therefore not promoted there unless asked for. Neither is one that came in through a file, for the evidence in
a file is only a claim.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.concepts import entities_from_text
from swarmlore.domain.records import LIVE_STATUSES, Confirmation, Memory, confidence_of
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any

DAY_S = 86_400.0
PHASES_TO_RISE = 3  # distinct phases that make a candidate established, or an established lesson promoted
BAD_SIGNAL = -0.3  # outcome signal at or below which nothing is promoted automatically
SIGNAL_DOUBT = 4  # pseudo-count that damps the signal of little evidence
APPLIED_TO_FLAG = 5
FEW_ROWS = 50  # below this a sweep may remove any share
MOST_SHARE = 0.2
REASON_CHARS = 500
QUARANTINE_MARKS = ("original_status", "quarantine_reason", "quarantined_at", "reported_by")


@frozen
class LifeTerms:
    """Thresholds of the lifecycle, from the settings of `[knowledge]`."""

    max_phases: int = 10
    todo_phases: int = 3
    promote_days: float = 90
    evergreen_confidence: float = 0.9
    evergreen_utility: float = 0.8
    low_utility: float = 0.3
    showings: int = 3


@frozen
class Fate:
    """A change of status and its reason. `action`: established, promoted, archived or removed."""

    action: str
    reason: str


def distinct_places(memory: Memory) -> int:
    """Return in how many phases (for the hive: projects) a memory was seen again."""
    return len({confirmation.where for confirmation in memory.confirmed_by if confirmation.where})


def age_days(memory: Memory, now: float) -> float:
    """Return the days since a memory's creation; one without a time, or from the future, is new."""
    born = memory.created_at
    if not math.isfinite(born) or born <= 0 or born > now:
        return 0.0
    return (now - born) / DAY_S


def outcome_signal(memory: Memory) -> float:
    """Score what happened after a memory was shown, from -1 to 1; little evidence gives a score near 0."""
    counted = memory.outcomes
    good = counted.applied + counted.succeeded_after
    bad = counted.ignored + counted.violated + counted.contradicted + counted.failed_after
    return (good - bad) / (good + bad + SIGNAL_DOUBT) if good + bad > 0 else 0.0


def utility(memory: Memory, showings: int = 3) -> float | None:
    """Return the share of tasks that succeeded after a memory was shown; None below `showings` or without any."""
    counted = memory.outcomes
    ended = counted.succeeded_after + counted.failed_after
    if counted.shown < showings or ended <= 0:
        return None
    return counted.succeeded_after / ended


def is_evergreen(memory: Memory, terms: LifeTerms) -> bool:
    """Return whether a memory is confident and useful enough to survive every sweep."""
    share = utility(memory, terms.showings)
    return share is not None and memory.confidence >= terms.evergreen_confidence and share >= terms.evergreen_utility


def is_low_utility(memory: Memory, terms: LifeTerms) -> bool:
    """Return whether a memory was followed often enough to know that it does not help."""
    share = utility(memory, terms.showings)
    return share is not None and share <= terms.low_utility and memory.outcomes.applied >= APPLIED_TO_FLAG


def next_step(memory: Memory, now: float, terms: LifeTerms) -> Fate | None:
    """Return the one step up in status that a shared lesson has earned, or None."""
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


def with_next_status(memory: Memory, fate: Fate, now: float) -> Memory:
    """Return the memory one status higher; a promoted one may go to the hive, and no longer expires."""
    promoted = fate.action == "promoted"
    return replace(
        memory,
        status=fate.action,
        hive_eligible=memory.hive_eligible or promoted,
        expires_at=None if promoted else memory.expires_at,
        updated_at=now,
    )


def renews(before: Memory, after: Memory) -> bool:
    """Return whether a change restarts a memory's phase count: seen again, reworded, or restored."""
    if not after.live:
        return False
    return not before.live or before.text != after.text or len(after.confirmed_by) > len(before.confirmed_by)


def phases_since(renewed_in: int, completed: Sequence[int]) -> int:
    """Count the phases completed after phase number `renewed_in`."""
    return sum(number > renewed_in for number in completed)


def life_of(memory: Memory, terms: LifeTerms) -> int:
    """Return how many completed phases a memory survives without a confirmation."""
    if memory.category == "todo":
        return terms.todo_phases
    return terms.max_phases if memory.max_phases is None else memory.max_phases


def sweep_action(memory: Memory, phases: int, terms: LifeTerms) -> Fate | None:
    """Return what a sweep does with a memory after so many phases without a confirmation; None keeps it."""
    if not memory.live or memory.raw or memory.tier == "agent" or memory.status == "promoted":
        return None
    limit = life_of(memory, terms)
    if phases <= limit or is_evergreen(memory, terms):
        return None
    reason = f"{phases} phases without a confirmation, at most {limit}"
    return Fate("removed" if memory.category == "todo" else "archived", reason)


def over_cap(memories: Sequence[Memory], cap: int, total: int | None = None) -> list[Memory]:
    """Return the oldest memories beyond the cap; promoted ones count, but stay.

    `total` counts all memories where `memories` holds only some of them.
    """
    excess = (len(memories) if total is None else total) - cap
    if excess <= 0:
        return []
    removable = (memory for memory in memories if memory.status != "promoted")
    return sorted(removable, key=lambda memory: (memory.created_at, memory.id))[:excess]


def is_suspicious_sweep(leaving: int, rows: int) -> bool:
    """Return whether a sweep would remove so many rows that a wrong clock or a mistake is the likelier cause."""
    return rows >= FEW_ROWS and leaving > MOST_SHARE * rows


def state_of(memory: Memory) -> str:
    """Return the state of a memory for a message: `in use`, `forgotten`, or a status such as `archived`."""
    if memory.forgotten_at is not None:
        return "forgotten"
    return "in use" if memory.live else memory.status


def clean_reason(text: str, most: int) -> str:
    """Return a reason or name given by a user as one short line, without secrets and control characters."""
    from swarmlore.domain.policy.gate import scrub_text  # loads every rule of the gate

    plain = "".join(" " if ord(char) < 32 or 127 <= ord(char) < 160 else char for char in scrub_text(text))
    return " ".join(plain.split())[:most].strip()


def quarantined(memory: Memory, reason: str, reported_by: str, at: float) -> Memory:
    """Return the memory with status quarantined; `extra` keeps its former status, the reason and the reporter."""
    marks = {
        "original_status": memory.status,
        "quarantine_reason": clean_reason(reason, REASON_CHARS),
        "quarantined_at": iso(at),
        "reported_by": clean_reason(reported_by, 64),
    }
    return replace(memory, status="quarantined", updated_at=at, extra={**memory.extra, **marks})


def restored(memory: Memory, status: str, at: float) -> Memory:
    """Return the memory as it was before quarantine; an unknown former status becomes candidate."""
    extra = {name: value for name, value in memory.extra.items() if name not in QUARANTINE_MARKS}
    return replace(memory, status=status if status in LIVE_STATUSES else "candidate", updated_at=at, extra=extra)


def terms_of(knowledge: Any) -> LifeTerms:
    """Return the lifecycle thresholds given by the settings of `[knowledge]`."""
    return LifeTerms(
        max_phases=knowledge.default_max_phases,
        todo_phases=knowledge.todo_max_phases,
        promote_days=knowledge.auto_promote_days,
        evergreen_confidence=knowledge.evergreen_confidence,
        evergreen_utility=knowledge.evergreen_utility,
        low_utility=knowledge.low_utility_threshold,
        showings=knowledge.min_retrievals_for_utility,
    )


FAST_TRACK = "hive-fast-track"
POLICIES = ("never", "propose", "auto")
PROJECTS_TO_RISE = 3
READ_CHARS = 2_000  # read of a lesson: only its first sentence goes to the hive, and the patterns are slow
LEAST_NAME = 3  # shorter project names are not looked for in a text
_FOREIGN_SOURCES = ("import", "ledger", "migration")


@frozen
class EncounterTerms:
    """How much the score of a hive lesson gains when a project learns the same lesson again."""

    increment: float = 0.1
    same_project: float = 1.0
    cross_project: float = 0.5
    least: float = 0.1
    most: float = 10.0


def promotion_reason(memory: Memory, now: float, terms: LifeTerms) -> str:
    """Return the reason why a shared lesson qualifies for the hive, or '' if it does not."""
    if not memory.live or memory.raw or memory.tier != "swarm":
        return ""
    if FAST_TRACK in memory.tags:
        return f"tagged {FAST_TRACK}"
    if outcome_signal(memory) <= BAD_SIGNAL:
        return ""
    places = distinct_places(memory)
    if memory.hive_eligible and places >= PHASES_TO_RISE:
        return f"promoted here and seen in {places} phases"
    days = age_days(memory, now)
    return f"{days:.0f} days old" if days >= terms.promote_days else ""


def policy_of(chosen: str, said: bool, profile: str) -> str:
    """Return the policy for promotion to the hive: the user's setting if made, else the profile's default."""
    if said:
        return chosen
    return "auto" if profile == "knowledge" else "propose"


def is_auto_promoted(memory: Memory, policy: str) -> bool:
    """Return whether a qualified lesson is promoted without approval; its tag hive-fast-track is a request."""
    return policy == "auto" or (policy == "propose" and FAST_TRACK in memory.tags)


def approval_reason(memory: Memory, project_names: Iterable[str], *, arrived: bool) -> str:
    """Return why a lesson needs a person's approval before promotion to the hive, or ''."""
    if arrived or memory.source in _FOREIGN_SOURCES:
        return "it came in through a file"
    return project_reference(memory, project_names)


def project_reference(memory: Memory, project_names: Iterable[str] = ()) -> str:
    """Return what in a lesson is specific to one project (entity, path, host, name), or ''."""
    text = f"{memory.title} {memory.text}"[:READ_CHARS]
    if entities := (*memory.entities, *entities_from_text(text)):
        return f"it names {entities[0]}"
    if memory.citations:
        return f"it cites {memory.citations[0].path}"
    for what, pattern in _places_in_text():
        if found := pattern.search(text):
            return f"it names the {what} {found[0].strip()}"
    words = {word.casefold() for word in re.findall(r"[\w-]+", text)}
    for name in project_names:
        if len(name) >= LEAST_NAME and name.casefold() in words:
            return f"it names the project {name}"
    return ""


@cache
def _places_in_text() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of addresses, hosts and paths; `and/or`, `CI/CD` and `node.js` match none."""
    folders = (
        "src|lib|libs|app|apps|pkg|packages|services|tests?|docs?|scripts?|config|internal|cmd|tools|bin|etc|usr|var"
    )
    endings = "com|org|net|io|dev|cloud|internal|local|lan|corp|intra|example|test|edu|gov|de|uk|fr|eu|ch|at|nl|us"
    return (
        ("address", re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)),
        ("host", re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")),
        ("host", re.compile(r"\blocalhost\b", re.IGNORECASE)),
        ("host", re.compile(r"\b[a-z][a-z0-9.-]*:\d{2,5}\b", re.IGNORECASE)),
        ("host", re.compile(r"[\w.+-]+@[\w.-]+\w")),
        ("host", re.compile(rf"\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:{endings})\b", re.IGNORECASE)),
        ("path", re.compile(r"(?:^|(?<=[\s\"'`(=]))(?:~|\.{1,2})?/[\w.-]+")),
        ("path", re.compile(r"\b[A-Za-z]:\\\S+|\\\\[\w.-]+\\\S+|\b[\w.-]+\\[\w.-]+\\[\w.-]+")),
        ("path", re.compile(r"\b[\w.-]+/(?:[\w.*-]+/)*[\w*-]+\.\w{1,8}\b")),
        ("path", re.compile(r"\b[\w.-]+/[\w.-]+/[\w./-]*\w|\b[\w.-]+/(?=[\s,;.)\"'`]|$)")),
        ("path", re.compile(rf"\b(?:{folders})/[\w.-]+")),
    )


def encountered(memory: Memory, project: str, by: str, at: float, terms: EncounterTerms) -> Memory | None:
    """Return a hive lesson after a project learned the same; None if that project was counted before.

    Its own project counts once for the score and among the projects, but not as a confirmation: the lesson came from
    it.
    """
    known = {confirmation.where for confirmation in memory.confirmed_by}
    if not memory.live or memory.tier != "hive" or not project or project in known:
        return None
    weight = terms.same_project if project == memory.project else terms.cross_project
    before = memory.encounter_score if math.isfinite(memory.encounter_score) else 0.0
    score = round(min(terms.most, max(terms.least, before + terms.increment * weight)), 9)
    seen = replace(memory, confirmed_by=(*memory.confirmed_by, Confirmation(project, at, by)), encounter_score=score)
    others = {confirmation.where for confirmation in seen.confirmed_by} - {memory.project}
    earned = max(memory.confidence, confidence_of(len(others), memory.auto_generated)) if others else memory.confidence
    established = memory.status == "candidate" and distinct_places(seen) >= PROJECTS_TO_RISE
    return replace(seen, confidence=earned, status="established" if established else memory.status, updated_at=at)


def encounter_terms(knowledge: Any) -> EncounterTerms:
    """Return the weights of encounters given by the settings of `[knowledge]`."""
    return EncounterTerms(
        knowledge.encounter_increment,
        knowledge.same_project_weight,
        knowledge.cross_project_weight,
        knowledge.min_encounter_score,
        knowledge.max_encounter_score,
    )


@frozen
class Phase:
    """A phase of a project. `place` is where sightings in it are counted.

    A day has no number, unless it lies between announced phases: then it belongs to the last of them.
    """

    name: str
    kind: str
    place: str
    number: int = 0
    started_at: float | None = None
    completed_at: float | None = None
