"""Count reflections and approvals in `metrics.yaml` of the learnings folder, each exactly once even after a crash."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from swarmlore.domain.json_codec import iso
from swarmlore.domain.records import Approval, Edit, Proposal, Reflection
from swarmlore.frozen import TYPE_CHECKING, field, frozen
from swarmlore.notes.reflect.targets import LEARNINGS, Places, text_in
from swarmlore.notes.yaml_edit import MappingNode, ParsedYaml, Unreadable, bare, is_nothing, plain, read, with_values

if TYPE_CHECKING:
    from typing import Any


FILE = "metrics.yaml"
_DIGITS = 12  # a longer number counts as 0
_NUMBERS = {
    "sessions": "total_sessions_analyzed",
    "signals": "total_signals_detected",
    "proposed": "total_changes_proposed",
    "accepted": "total_changes_accepted",
    "skills": "skills_created",
}
_TABLES = {
    "agents": "most_updated_agents",
    "confidence": "confidence_breakdown",
    "types": "type_breakdown",
    "scopes": "scope_breakdown",
}
_LEVELS = ("high", "medium", "low")
_TIME = re.compile(r"~?([0-9]{1,9}(?:\.[0-9]{1,6})?) ?(hours?|h|minutes?|min|m)?")


@frozen
class Metrics:
    """Metrics: the totals of a file, or an increment to add to them."""

    at: str = ""
    """Time of the last reflection, in ISO 8601."""
    sessions: int = 0
    signals: int = 0
    proposed: int = 0
    accepted: int = 0
    skills: int = 0
    minutes_saved: int = 0
    agents: Mapping[str, int] = field(default_factory=dict)
    confidence: Mapping[str, int] = field(default_factory=dict)
    types: Mapping[str, int] = field(default_factory=dict)
    scopes: Mapping[str, int] = field(default_factory=dict)

    @property
    def acceptance_rate(self) -> float:
        """The share of proposals that were accepted."""
        return round(min(1.0, self.accepted / self.proposed), 2) if self.proposed else 0.0


def parse_metrics(text: str) -> Metrics:
    """Parse the metrics file; invalid numbers count as 0."""
    values = _values_of(read(text))
    numbers: dict[str, Any] = {name: _count_in(values.get(key)) for name, key in _NUMBERS.items()}
    tables: dict[str, Any] = {name: _counts(values.get(key)) for name, key in _TABLES.items()}
    at = values.get("last_reflection")
    return Metrics(
        at=at.strip() if isinstance(at, str) else "",
        minutes_saved=_minutes(values.get("estimated_time_saved")) or 0,
        **numbers,
        **tables,
    )


def counted(text: str, more: Metrics) -> str:
    """Return the text of the metrics file with an increment added."""
    found = read(text)
    values, before = _values_of(found), parse_metrics(text)
    wanted: dict[str, Any] = {"last_reflection": more.at} if more.at else {}
    sums = {name: getattr(before, name) + getattr(more, name) for name in _NUMBERS}
    for name, key in _NUMBERS.items():
        wanted[key] = sums[name]
        if name == "accepted":
            wanted["acceptance_rate"] = Metrics(proposed=sums["proposed"], accepted=sums["accepted"]).acceptance_rate
    for name, key in _TABLES.items():
        wanted[key] = _summed(getattr(before, name), getattr(more, name), _LEVELS if name == "confidence" else ())
    minutes = _minutes(values.get("estimated_time_saved"))
    if minutes is not None:
        wanted["estimated_time_saved"] = f"{minutes + more.minutes_saved} minutes"
    return with_values(found, _places(values, wanted))


def _places(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Return the values to write by path: whole tables that are missing, else only the numbers that changed."""
    changes: dict[tuple[str, ...], Any] = {}
    for key, value in wanted.items():
        known = current.get(key)
        if isinstance(value, dict) and isinstance(known, dict) and known:
            changes.update({(key, name): count for name, count in value.items() if known.get(name) != str(count)})
        elif known != bare(value) and (value or known is None):
            changes[(key,)] = value
    return changes


def _summed(before: Mapping[str, int], more: Mapping[str, int], always: tuple[str, ...]) -> dict[str, int]:
    names = dict.fromkeys((*always, *before, *more))
    return {name: before.get(name, 0) + more.get(name, 0) for name in names}


def _values_of(found: ParsedYaml) -> dict[str, Any]:
    if is_nothing(found.root):
        return {}
    if not isinstance(found.root, MappingNode):
        raise Unreadable("it has no names at its top", "begin with last_reflection:")
    values = plain(found.root)
    return {name: None if value in ("", "~", "null") else value for name, value in values.items()}


def _counts(value: Any) -> dict[str, int]:
    return {name: _count_in(count) for name, count in value.items()} if isinstance(value, dict) else {}


def _count_in(value: Any) -> int:
    digits = value.strip() if isinstance(value, str) else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS else 0


def _minutes(value: Any) -> int | None:
    """Parse a duration in minutes; None if it is not understood, in which case it is left alone."""
    found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return 0 if value is None else None
    return round(float(found[1]) * (60 if (found[2] or "").startswith("h") else 1))


LAST = "last_counted"  # field with the newest counted ids
REMEMBERED = 8
MINUTES_SAVED = 5  # estimate per accepted proposal


def count_reflection(places: Places, reflection: Reflection) -> None:
    """Count a reflection: its signals and proposals."""
    _count(
        places,
        reflection.id,
        Metrics(
            at=iso(reflection.at) or "",
            sessions=0 if reflection.again else 1,
            signals=sum(reflection.signals.values()),
            proposed=len(reflection.proposals),
            confidence=dict(reflection.signals),
        ),
    )


def count_approval(places: Places, approval: Approval, applied: Sequence[Proposal]) -> None:
    """Count an approval: accepted proposals by route, scope and agent."""
    agents = Counter(_agent_of(item) for item in applied if item.route == "behavioral")
    _count(
        places,
        approval.id,
        Metrics(
            accepted=len(applied),
            skills=sum(item.route == "skill" for item in applied),
            minutes_saved=MINUTES_SAVED * len(applied),
            agents=dict(agents),
            types=dict(Counter(item.route for item in applied)),
            scopes=dict(Counter(item.scope or "project" for item in applied)),
        ),
    )


def read_metrics(places: Places) -> Metrics:
    """Return the current metrics."""
    return parse_metrics(places.read(LEARNINGS, FILE) or "")


def _agent_of(item: Proposal) -> str:
    edit = item.edits[0]
    name = edit.path.rpartition("/")[2].removesuffix(".md").removesuffix(".toml").removesuffix(".agent")
    return item.agent or (name if edit.place != LEARNINGS else "")


def _count(places: Places, id: str, more: Metrics) -> None:
    with places.changing(Edit(LEARNINGS, FILE, "")) as (folder, name):
        text = text_in(folder, name) or ""
        before = _last(text)
        if id in before:
            return
        text = counted(text, more)
        text = with_values(read(text), {(LAST,): " ".join([*before, id][-REMEMBERED:])})
        folder.replace(name, [text.encode()])


def _last(text: str) -> list[str]:
    values: Any = plain(read(text).root) if text.strip() else {}
    value = values.get(LAST) if isinstance(values, dict) else ""
    return value.split() if isinstance(value, str) else []
