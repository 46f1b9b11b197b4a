"""Two versions of one memory become one, the same one in whatever order they meet. Pure.

A version is made of parts that each have an order of their own, so that merging is commutative, associative and
idempotent: the content is a register that the newer one wins (equal times: the greater hash), what was gathered
(confirmations, tags, citations, situations, what it replaced) is a union, the birth is the earliest, the deletion the
latest. A deletion hides content that is as old as itself or older; what was gathered stays with it, because a newer
version of the content may still bring the memory back. An erasure keeps nothing but its time, so it wins over all: if a
newer version could bring the memory back, it would come with or without its tags, depending on who met first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b

from swarmlore.codec import iso
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.records import Confirmation, Memory
from swarmlore.rules.birth import CLAIMS
from swarmlore.rules.claims import (
    LADDER,
    MOST_TRUST,
    SHARED_TRUST,
    as_claimed,
    with_claims,
    with_file_standing,
)

if TYPE_CHECKING:
    from typing import Any

SITUATIONS_KEPT = 8
# What the newer version decides as a whole.
CONTENT = (
    *("text", "title", "kind", "category", "entities", "owner", "scope", "status", "trust", "source", "source_ref"),
    *("key", "confidence", "expires_at", "valid_from", "valid_until", "superseded_by", "born_in_phase", "max_phases"),
    *("hive_eligible", "auto_generated", "encounter_score", "extra"),
)
GATHERED = ("tags", "confirmed_by", "citations", "supersedes", "situations")
# A memory's standing, as far as a version tells it; the last one, for the hive only.
_CLAIMED = ("owner", "trust", "status", "source", "confidence", "confirmed_by", "hive_eligible", "encounter_score")
QUARANTINE = {"original_status": "candidate", "quarantine_reason": "", "reported_by": "auto"}
_BLANK = Memory(id="", text="")


@frozen
class Version:
    """A memory as others see it: without counters, handle and history. Without text it is only a deletion, and an
    erasure where nothing else of it may be kept."""

    memory: Memory
    deleted_at: float = 0.0
    erased: bool = False

    @property
    def gone(self) -> bool:
        return self.deleted_at > 0.0

    @property
    def at(self) -> tuple[float, str]:
        """Where its line stands: by birth, then by id."""
        return (self.memory.created_at or self.deleted_at, self.memory.id)


def published(memory: Memory, project_name: str = "", *, situations: bool = False) -> Version:
    """A stored memory as others are told it, with the claims of its file. Counters stay here, and situations unless
    they are asked for."""
    hive = memory.tier == "hive"
    most_trust = MOST_TRUST if "trust" in memory.extra.get(CLAIMS, {}) else SHARED_TRUST
    memory = as_claimed(memory)
    extra = dict(memory.extra)
    if not hive and project_name:
        extra = {"project_name": project_name, **extra}
    if memory.status == "quarantined":
        extra = {**QUARANTINE, "quarantined_at": iso(memory.updated_at), **extra}
    shared = {name: getattr(memory, name) for name in (*CONTENT, *GATHERED)}
    shared["trust"] = max(0, min(memory.trust, most_trust))
    shared["source_ref"] = dict(memory.source_ref)
    shared["confidence"] = float(memory.confidence)
    shared["encounter_score"] = memory.encounter_score if hive else _BLANK.encounter_score
    for name in ("expires_at", "valid_from", "valid_until"):
        shared[name] = None if shared[name] is None else round(shared[name], 3)
    if not situations:
        shared["situations"] = ()
    told = Memory(
        id=memory.id,
        tier=memory.tier,
        project=memory.project if hive else "",
        created_at=round(memory.created_at, 3),
        updated_at=round(memory.updated_at, 3),
        **{**shared, "extra": extra},
    )
    # What is forgotten here is a deletion, also where it was changed after that.
    hidden = memory.forgotten_at is not None
    deleted_at = max(round(memory.forgotten_at or 0.0, 3), told.updated_at) if hidden else 0.0
    return settled(Version(ordered(told), deleted_at))


def merge(one: Version, other: Version) -> Version:
    """The version that knows what both know."""
    if one == other:
        return one
    if erasures := [(item.deleted_at, item.memory.tier) for item in (one, other) if item.erased]:
        at, tier = max(erasures)
        return erasure(one.memory.id, tier, at)
    newer, older = (one.memory, other.memory) if _wins(one.memory, other.memory) else (other.memory, one.memory)
    gathered = {name: (*getattr(newer, name), *getattr(older, name)) for name in GATHERED}
    births = [at for at in (newer.created_at, older.created_at) if at]
    joined = replace(newer, **gathered, created_at=min(births, default=0.0))
    if newer.tier == "hive" and not newer.project:
        joined = replace(joined, project=older.project)
    return settled(Version(ordered(joined), max(one.deleted_at, other.deleted_at)))


def erasure(id: str, tier: str, at: float) -> Version:
    """What remains of an erased memory: its id and when."""
    return Version(Memory(id=id, text="", tier=tier), round(at, 3), erased=True)


def merge_all(versions: Iterable[Version]) -> Version | None:
    """One version of all of them."""
    result: Version | None = None
    for version in versions:
        result = version if result is None else merge(result, version)
    return result


def settled(version: Version) -> Version:
    """Either the content, or the deletion that hides it: never both."""
    memory, deleted_at = version.memory, version.deleted_at
    if not deleted_at:
        return version
    if version.erased:
        return erasure(memory.id, memory.tier, deleted_at)
    if memory.text and memory.updated_at > deleted_at:
        return Version(memory)
    gathered = {name: getattr(memory, name) for name in GATHERED if name != "situations"}
    bare = Memory(id=memory.id, text="", tier=memory.tier, created_at=memory.created_at, **gathered)
    return Version(bare, deleted_at)


def applied(local: Memory, merged: Version, source: str, owner: str = "") -> Memory:
    """A stored memory after a merge; published again it is what was merged. It keeps its own standing, but new words
    have the standing of a file, with this source and owner."""
    told = merged.memory
    if merged.erased:  # by somebody else: it is hidden here, and whole
        return replace(local, forgotten_at=merged.deleted_at)
    gathered = {name: getattr(told, name) for name in GATHERED if name not in ("situations", "confirmed_by")}
    if merged.gone:
        born = told.created_at or local.created_at
        after = replace(local, **gathered, created_at=born, forgotten_at=merged.deleted_at)
        return with_claims(after, told, ("confirmed_by",))
    content = {name: getattr(told, name) for name in CONTENT if name not in _CLAIMED}
    content["situations"] = _newest((*local.situations, *told.situations))
    content["extra"] = {**told.extra, **{name: value for name, value in local.extra.items() if name == CLAIMS}}
    times = {"created_at": told.created_at or local.created_at, "updated_at": told.updated_at}
    after = replace(local, **content, **gathered, **times, forgotten_at=None)
    filed = with_file_standing(told, source, owner)
    if (told.text, told.title) != (local.text, local.title):
        after = replace(after, **{name: getattr(filed, name) for name in _CLAIMED})
    elif not {local.status, filed.status} <= set(LADDER):
        after = replace(after, status=filed.status)
    return with_claims(after, told, _CLAIMED if told.tier == "hive" else _CLAIMED[:-1])


def _wins(one: Memory, other: Memory) -> bool:
    """Which content wins: any over none, the newer, then the greater hash, so that all choose alike."""
    mine, theirs = (bool(one.text), one.updated_at), (bool(other.text), other.updated_at)
    if mine != theirs:
        return mine > theirs
    return content_hash(one) >= content_hash(other)


def content_hash(memory: Memory) -> str:
    values = {name: getattr(memory, name) for name in CONTENT}
    data = json.dumps(values, sort_keys=True, ensure_ascii=True, default=str)
    return blake2b(data.encode("ascii"), digest_size=16).hexdigest()


def ordered(memory: Memory) -> Memory:
    """What was gathered, each once, in an order that does not depend on who gathered it first."""
    if not any(getattr(memory, name) for name in GATHERED):
        return memory
    return replace(
        memory,
        tags=tuple(sorted(set(memory.tags))),
        supersedes=tuple(sorted(set(memory.supersedes))),
        confirmed_by=_sightings(memory.confirmed_by),
        citations=tuple(sorted(set(memory.citations), key=_fields)),
        situations=_newest(memory.situations),
    )


def _sightings(found: Iterable[Confirmation]) -> tuple[Confirmation, ...]:
    """One confirmation for each place and confirmer, the earliest."""
    first: dict[tuple[str, str], float] = {}
    for item in found:
        key, at = (item.where, item.by), round(item.at, 3)
        first[key] = min(first.get(key, at), at)
    return tuple(sorted((Confirmation(where, at, by) for (where, by), at in first.items()), key=_when))


def _when(item: Confirmation) -> tuple[float, str, str]:
    return (item.at, item.where, item.by)


def _newest(found: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(found), key=lambda item: (item.at, item.text, item.via))[-SITUATIONS_KEPT:])


def _fields(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in record.__slots__)
