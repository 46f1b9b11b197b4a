"""The ways into the hive, and what may not take them unasked. Pure.

A lesson of the hive is shown in every project. So what speaks of one project only (its entities, paths, hosts, its
name) is not carried there unless somebody asks, and neither is what came in through a file: the evidence in a file is a
claim of whoever wrote it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache

from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.records import Confirmation, Memory
from swarmlore.rules.confidence import confidence_of
from swarmlore.rules.life import BAD_SIGNAL, PHASES_TO_RISE, LifeTerms, age_days, distinct_places, outcome_signal
from swarmlore.text.entities import entities_from_text

if TYPE_CHECKING:
    from typing import Any

FAST_TRACK = "hive-fast-track"
POLICIES = ("never", "propose", "auto")
PROJECTS_TO_RISE = 3
READ_CHARS = 2_000  # of a lesson: only its first sentence goes to the hive, and the patterns are slow on more
LEAST_NAME = 3  # characters of a project's name that can be recognised in a text
_FOREIGN_SOURCES = ("import", "ledger", "migration")


@frozen
class EncounterTerms:
    """What meeting a hive lesson again is worth."""

    increment: float = 0.1
    same_project: float = 1.0
    cross_project: float = 0.5
    least: float = 0.1
    most: float = 10.0


# Routes


def route_of(memory: Memory, now: float, terms: LifeTerms) -> str:
    """By which route a shared lesson may go to the hive, in words; '' where by none."""
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
    """Who decides about the hive: what a user set, else the profile."""
    if said:
        return chosen
    return "auto" if profile == "knowledge" else "propose"


def goes_alone(memory: Memory, policy: str) -> bool:
    """Whether a lesson with a route goes without being asked for. A tag is a request of its own."""
    return policy == "auto" or (policy == "propose" and FAST_TRACK in memory.tags)


def why_ask(memory: Memory, project_names: Iterable[str], *, arrived: bool) -> str:
    """Why a lesson is not carried to the hive unasked; '' where it may go."""
    if arrived or memory.source in _FOREIGN_SOURCES:
        return "it came in through a file"
    return names_project(memory, project_names)


def names_project(memory: Memory, project_names: Iterable[str] = ()) -> str:
    """What in a lesson belongs to one project; '' where nothing does."""
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
    """What a path and a host look like. `and/or`, `CI/CD` and `node.js` are neither."""
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


# Encounters


def encountered(memory: Memory, project: str, by: str, at: float, terms: EncounterTerms) -> Memory | None:
    """A lesson of the hive after a project has learned the same; None where that was counted before.

    Its own project counts once for the score and among the projects, and not as a confirmation: it knew already.
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
    """The terms that the settings of `[knowledge]` say."""
    return EncounterTerms(
        knowledge.encounter_increment,
        knowledge.same_project_weight,
        knowledge.cross_project_weight,
        knowledge.min_encounter_score,
        knowledge.max_encounter_score,
    )
