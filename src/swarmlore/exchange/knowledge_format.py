"""Line format of `knowledge.jsonl` and `shared-learnings.jsonl`: opencode-swarm's lesson records plus our fields.

Reading is lenient: it accepts every variant, keeps unknown fields, and replaces a value of the wrong type by the
default, keeping the original in `extra`. Writing is canonical: the same memory gives the same bytes everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b

from swarmlore.domain.json_codec import from_iso, iso, record_fields
from swarmlore.domain.policy.merge import MOST_TRUST, Version, ordered, settled
from swarmlore.domain.records import (
    CATEGORIES,
    KINDS,
    SOURCES,
    STATUSES,
    TIERS,
    Citation,
    Confirmation,
    Memory,
    Situation,
    is_id,
)
from swarmlore.frozen import TYPE_CHECKING, fields
from swarmlore.workspace.jsonl import BadLine, dump

if TYPE_CHECKING:
    from typing import Any


_PHASE = re.compile(r"phase:(0|[1-9]\d{0,8})(?:@(.+))?", re.DOTALL)
_NAMES = frozenset(("phase_number", "confirmed_at", "project_name", "where", "by"))


def confirmation_from(item: Any, tier: str, project_name: str) -> Confirmation | None:
    """Parse one confirmation; return None if it has no known form. The oldest form is a bare word."""
    if isinstance(item, str):
        return Confirmation(item, 0.0) if item else None
    if not isinstance(item, dict) or not item.keys() <= _NAMES:
        return None
    where, by, at = _where(item, tier, project_name), item.get("by", ""), item.get("confirmed_at")
    if not where or not isinstance(by, str):
        return None
    try:
        return Confirmation(where, 0.0 if at is None else from_iso(at), by)
    except (ValueError, TypeError, OverflowError):
        return None


def _where(item: dict[str, Any], tier: str, project_name: str) -> str:
    phase, project = item.get("phase_number"), item.get("project_name", "")
    if not isinstance(project, str):
        return ""
    if "where" in item:
        return item["where"] if isinstance(item["where"], str) and phase is None else ""
    if isinstance(phase, int) and not isinstance(phase, bool) and 0 <= phase < 10**9:
        foreign = project and (tier == "hive" or project != project_name)
        return f"phase:{phase}@{project}" if foreign else f"phase:{phase}"
    return project if phase is None and tier == "hive" else ""


def confirmation_to(item: Confirmation, tier: str, project_name: str) -> Any:
    """Return a confirmation in opencode-swarm's form if that can express it, else in ours."""
    phase = _PHASE.fullmatch(item.where)
    if not item.at and not item.by and not phase:
        return item.where
    found: dict[str, Any]
    if phase and (phase[2] or tier != "hive") and phase[2] != (project_name or None):
        project = phase[2] or project_name
        found = {"phase_number": int(phase[1]), "project_name": project}
        if not project:
            del found["project_name"]
    elif tier == "hive":
        found = {"project_name": item.where}
    else:
        found = {"where": item.where}
    if item.at:
        found["confirmed_at"] = iso(item.at)
    if item.by:
        found["by"] = item.by
    return found


UNCLAIMED_TRUST = 1  # trust of a record that states none
SCHEMA_VERSION = 1
# Fields of opencode-swarm that our record lacks: kept in `extra`, but top-level in the line.
_EXTRA_PLACES = ("retrieval_outcomes", "schema_version", "project_name")
_HIVE_ONLY = ("source_project", "encounter_score")
_KNOWN = frozenset(
    (
        *("id", "tier", "lesson", "category", "tags", "scope", "confidence", "status", "confirmed_by", "created_at"),
        *("updated_at", "hive_eligible", "auto_generated", "max_phases", "title", "kind", "entities", "owner", "trust"),
        *("source", "source_ref", "key", "expires_at", "valid_from", "valid_until", "supersedes", "superseded_by"),
        *("born_in_phase", "citations", "situations", "swarmlore_status", "deleted_at", "extra", *_EXTRA_PLACES),
    )
)
# Statuses that opencode-swarm does not know and must not take for active: written as `archived`.
_OUR_STATUSES = ("deprecated", "superseded")
_PLAIN_STATUSES = tuple(status for status in STATUSES if status not in _OUR_STATUSES)


def to_line(version: Version) -> bytes:
    """Return a version as its line, without the newline."""
    return dump(to_object(version))


def to_object(version: Version) -> dict[str, Any]:
    """Return a version as a JSON object with keys in a fixed order."""
    memory = version.memory
    if version.gone:
        found: dict[str, Any] = {"id": memory.id, "status": "archived", "deleted_at": iso(version.deleted_at)}
        if version.erased:
            return {**found, "erased": True}
        if memory.created_at:
            found["created_at"] = iso(memory.created_at)
        return {**found, **_gathered(memory)}
    return {**_theirs(memory), **_ours(memory), **_rest(memory)}


def from_object(obj: Mapping[str, Any], tier: str = "swarm") -> Version:
    """Parse the version that an object describes; raise BadLine if it is neither a lesson nor a deletion."""
    reader = _Reader(obj, tier)
    memory, deleted_at = reader.memory(), max(0.0, reader.take("deleted_at", _time, 0.0))
    if not memory.text and not deleted_at:
        raise BadLine("no lesson" if "lesson" not in obj else "the lesson is no text")
    if not memory.text and not is_id(str(obj.get("id", ""))):
        raise BadLine("a deletion without an id")
    return settled(Version(ordered(memory), deleted_at, deleted_at > 0.0 and obj.get("erased") is True))


def derived_id(tier: str, lesson: str) -> str:
    """Return an id for a record without one, always the same for the same lesson, so that it is not imported twice."""
    digits = blake2b(
        f"{tier}\n{' '.join(lesson.lower().split())}".encode("utf-8", "replace"), digest_size=16
    ).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


# Writing


def _theirs(memory: Memory) -> dict[str, Any]:
    """Return the fields that opencode-swarm's record has."""
    extra = memory.extra
    found = {
        "id": memory.id,
        "tier": memory.tier,
        "lesson": memory.text,
        "category": memory.category,
        "tags": list(memory.tags),
        "scope": memory.scope,
        "confidence": memory.confidence,
        "status": "archived" if memory.status in _OUR_STATUSES else memory.status,
        "confirmed_by": _confirmations(memory),
        "retrieval_outcomes": extra.get("retrieval_outcomes", {}),
        "schema_version": extra.get("schema_version", SCHEMA_VERSION),
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
        "hive_eligible": memory.hive_eligible,
        "auto_generated": memory.auto_generated,
    }
    if memory.max_phases is not None:
        found["max_phases"] = memory.max_phases
    if memory.tier == "hive":
        found.update(source_project=memory.project, encounter_score=memory.encounter_score)
    if "project_name" in extra:
        found["project_name"] = extra["project_name"]
    return found


def _ours(memory: Memory) -> dict[str, Any]:
    """Return our own fields, without defaults; trust and source are always present."""
    first = {
        "title": memory.title,
        "kind": memory.kind if memory.kind != "learning" else "",
        "entities": list(memory.entities),
        "owner": memory.owner,
    }
    found: dict[str, Any] = {name: value for name, value in first.items() if value}
    found.update(trust=memory.trust, source=memory.source)
    later = {
        "source_ref": dict(memory.source_ref),
        "key": memory.key,
        "expires_at": iso(memory.expires_at),
        "valid_from": iso(memory.valid_from),
        "valid_until": iso(memory.valid_until),
        "superseded_by": memory.superseded_by,
        "born_in_phase": memory.born_in_phase,
        "swarmlore_status": memory.status if memory.status in _OUR_STATUSES else "",
        "situations": [{**record_fields(item), "at": iso(item.at)} for item in memory.situations],
    }
    gathered = {name: value for name, value in _gathered(memory).items() if name in ("citations", "supersedes")}
    return {**found, **{name: value for name, value in later.items() if value}, **gathered}


def _gathered(memory: Memory) -> dict[str, Any]:
    """Return the lists that merging joins: tags, confirmations, citations and superseded ids."""
    found = {
        "tags": list(memory.tags),
        "confirmed_by": _confirmations(memory),
        "citations": [_short(item) for item in memory.citations],
        "supersedes": list(memory.supersedes),
    }
    return {name: value for name, value in found.items() if value}


def _short(record: Any) -> dict[str, Any]:
    """Return the fields of a small record that differ from their defaults."""
    return {spec.name: value for spec in fields(record) if (value := getattr(record, spec.name)) != spec.default}


def _confirmations(memory: Memory) -> list[Any]:
    name = memory.extra.get("project_name")
    return [confirmation_to(item, memory.tier, name if isinstance(name, str) else "") for item in memory.confirmed_by]


def _rest(memory: Memory) -> dict[str, Any]:
    """Return the unknown fields of a memory; those with the name of a known field are nested under `extra`."""
    taken = _taken(memory.tier)
    free = {name: memory.extra[name] for name in sorted(memory.extra) if name not in taken}
    held = {name: memory.extra[name] for name in sorted(memory.extra) if name in taken and name not in _EXTRA_PLACES}
    return {**free, "extra": held} if held else free


def _taken(tier: str) -> frozenset[str]:
    return _KNOWN | frozenset(_HIVE_ONLY) if tier == "hive" else _KNOWN


# Reading


class _Reader:
    """Read the fields of one object; unreadable values are kept unchanged in `extra`."""

    def __init__(self, obj: Mapping[str, Any], tier: str) -> None:
        self._obj = obj
        self.tier = str(obj["tier"]) if obj.get("tier") in TIERS else tier
        taken = _taken(self.tier)
        self.extra = {name: value for name, value in obj.items() if name not in taken}
        held = obj.get("extra")
        if isinstance(held, Mapping):
            self.extra.update({name: value for name, value in held.items() if name in taken})
            if rest := {name: value for name, value in held.items() if name not in taken}:
                self.extra["extra"] = rest
        elif "extra" in obj:
            self.extra["extra"] = held
        self._take_places()

    def _take_places(self) -> None:
        defaults = {"retrieval_outcomes": {}, "schema_version": SCHEMA_VERSION}
        for name in _EXTRA_PLACES:
            if name in self._obj and (name not in defaults or self._obj[name] != defaults[name]):
                self.extra[name] = self._obj[name]

    def take(self, name: str, read: Callable[[Any], Any], default: Any) -> Any:
        """Return a field's value, or the default if it is missing or unreadable."""
        if name not in self._obj:
            return default
        try:
            return read(self._obj[name])
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            self.extra.setdefault(name, self._obj[name])
            return default

    def memory(self) -> Memory:
        text = self._obj.get("lesson")
        text = text.strip() if isinstance(text, str) else ""
        hive = self.tier == "hive"
        created_at = self.take("created_at", _time, 0.0)
        status = self._status()
        return Memory(
            id=self.take("id", _id, "") or derived_id(self.tier, text),
            text=text,
            tier=self.tier,
            project=self.take("source_project", _text, "") if hive else "",
            encounter_score=self.take("encounter_score", _number, 0.0 if "encounter_score" in self._obj else 1.0)
            if hive
            else 1.0,
            category=self.take("category", _one_of(CATEGORIES), "other"),
            tags=self.take("tags", _texts, ()),
            scope=self.take("scope", _text, "global"),
            confidence=self.take("confidence", _number, 0.5),
            status=status,
            confirmed_by=self._confirmed_by(),
            created_at=created_at,
            updated_at=max(self.take("updated_at", _time, created_at), self._quarantined_at(status)),
            hive_eligible=self.take("hive_eligible", _flag, False),
            auto_generated=self.take("auto_generated", _flag, False),
            max_phases=self.take("max_phases", _count, None),
            **self._ours(),
            extra=self.extra,
        )

    def _ours(self) -> dict[str, Any]:
        return {
            "title": self.take("title", _text, ""),
            "kind": self.take("kind", _one_of(KINDS), "learning"),
            "entities": self.take("entities", _texts, ()),
            "owner": self.take("owner", _text, ""),
            "trust": min(self.take("trust", _count, UNCLAIMED_TRUST), MOST_TRUST),
            "source": self.take("source", _one_of(SOURCES), "import"),
            "source_ref": self.take("source_ref", _mapping, {}),
            "key": self.take("key", _text, ""),
            "expires_at": self.take("expires_at", _time, None),
            "valid_from": self.take("valid_from", _time, None),
            "valid_until": self.take("valid_until", _time, None),
            "supersedes": self.take("supersedes", _texts, ()),
            "superseded_by": self.take("superseded_by", _text, ""),
            "born_in_phase": self.take("born_in_phase", _count, 0),
            "citations": self.take("citations", _citations, ()),
            "situations": self.take("situations", _situations, ()),
        }

    def _status(self) -> str:
        ours = self.take("swarmlore_status", _one_of(_OUR_STATUSES), "")
        if ours:
            return str(ours)
        status = self._obj.get("status", "candidate")
        if status in _PLAIN_STATUSES:
            return str(status)
        if status != "active":
            self.extra.setdefault("status", status)
        return "quarantined" if isinstance(status, str) and status.startswith("quarantined") else "candidate"

    def _quarantined_at(self, status: str) -> float:
        if status != "quarantined":
            return 0.0
        try:
            return _time(self._obj.get("quarantined_at"))
        except ValueError:
            return 0.0

    def _confirmed_by(self) -> tuple[Any, ...]:
        items = self._obj.get("confirmed_by", [])
        name = self._obj.get("project_name")
        if not isinstance(items, list):
            self.extra.setdefault("confirmed_by", items)
            return ()
        read = [(item, confirmation_from(item, self.tier, name if isinstance(name, str) else "")) for item in items]
        if odd := [item for item, confirmation in read if confirmation is None]:
            held = self.extra.get("confirmed_by")
            self.extra["confirmed_by"] = [*(held if isinstance(held, list) else []), *odd]
        return tuple(confirmation for _, confirmation in read if confirmation is not None)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _id(value: Any) -> str:
    if not isinstance(value, str) or not is_id(value):
        raise ValueError
    return value


def _one_of(allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return read


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError
    return tuple(value)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise ValueError
    return value


def _time(value: Any) -> float:
    if not isinstance(value, str) or not value[:4].isdigit():
        raise ValueError
    return from_iso(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError
    return value


def _citations(value: Any) -> tuple[Citation, ...]:
    return tuple(_citation(item) for item in _list(value))


def _citation(item: Any) -> Citation:
    known = {"path": str, "first_line": int, "last_line": int, "span_hash": str, "commit": str}
    if not all(type(value) is known[name] for name, value in item.items()):
        raise ValueError
    return Citation(**item)


def _situations(value: Any) -> tuple[Situation, ...]:
    return tuple(
        Situation(_text(item["text"]), _text(item.get("via", "prompt")), _time(item["at"])) for item in _list(value)
    )
