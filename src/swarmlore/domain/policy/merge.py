"""Claims of a file about its memories: who said them, how sure they are, how often they held. Pure.

A memory that came from a file has a file's standing here: trust 1, candidate, unconfirmed, never rated or read. What
the file claimed instead is kept under `swarmlore_claims`, for two readers only: exports, so that a round trip loses
nothing, and the ranking formula of a source system's own profile. Each claim is stored beside the value that the memory
had here at that time, `{name: [claimed, own]}`; what changed here since then is joined with the claim on export.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b

from swarmlore.domain.json_codec import iso, record_fields
from swarmlore.domain.policy.gate import CLAIMS
from swarmlore.domain.records import RAW_SOURCES, Confirmation, Memory, confidence_of
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any


FILE_TRUST = 1
SHARED_TRUST = 2  # the most that an export says of a memory of this store
MOST_TRUST = 3  # and of one that came from a file
LADDER = ("candidate", "established", "promoted")
_COUNTERS = ("access_count", "feedback_count")
STANDING = (
    *("owner", "trust", "status", "source", "confidence", "confirmed_by", "encounter_score", "hive_eligible"),
    *(*_COUNTERS, "last_accessed_at", "feedback_score"),
)


def with_file_standing(memory: Memory, source: str, owner: str) -> Memory:
    """The memory with the standing of a file, whatever it claims. A private one still belongs to its agent."""
    return replace(
        memory,
        owner=memory.owner if memory.tier == "agent" else owner,
        trust=FILE_TRUST,
        status="candidate" if memory.status in LADDER else memory.status,
        source=memory.source if memory.source in RAW_SOURCES else source,
        confidence=min(memory.confidence, confidence_of(0, memory.auto_generated)),
        confirmed_by=(),
        encounter_score=1.0,
        hive_eligible=False,
        access_count=0,
        feedback_count=0,
        last_accessed_at=None,
        feedback_score=1.0,
    )


def with_claims(memory: Memory, told: Memory, names: tuple[str, ...] = STANDING) -> Memory:
    """The memory with its own standing and, of these fields, the claims of `told`."""
    claims = dict(memory.extra.get(CLAIMS, {}))
    for name in names:
        own, claimed = _shared(name, memory), _plain(getattr(told, name))
        claims.pop(name, None)
        if own != claimed:
            claims[name] = [claimed, own]
    extra = {name: value for name, value in memory.extra.items() if name != CLAIMS}
    return replace(memory, extra={**extra, CLAIMS: claims} if claims else extra)


def as_claimed(memory: Memory) -> Memory:
    """The memory as its file told it, joined with what was learned here since."""
    claims = memory.extra.get(CLAIMS)
    if not claims:
        return memory
    values = {
        name: _typed(name, claimed) if _shared(name, memory) == own else _joined(name, memory, claimed, own)
        for name, (claimed, own) in claims.items()
    }
    return replace(memory, **values, extra={name: value for name, value in memory.extra.items() if name != CLAIMS})


def _shared(name: str, memory: Memory) -> Any:
    """The value that an export says of a memory without claims, as JSON keeps it."""
    value = _plain(getattr(memory, name))
    return min(value, SHARED_TRUST) if name == "trust" else value


def _plain(value: Any) -> Any:
    return [record_fields(item) for item in value] if isinstance(value, tuple) else value


def _typed(name: str, value: Any) -> Any:
    return tuple(Confirmation(**item) for item in value) if name == "confirmed_by" else value


def _joined(name: str, memory: Memory, claimed: Any, own: Any) -> Any:
    """A claim joined with a value that has changed here since it came."""
    value = getattr(memory, name)
    if name == "confirmed_by":
        return (*_typed(name, claimed), *value)
    if name in _COUNTERS:
        return claimed + value - own
    if name == "feedback_score":
        return claimed * value / own if own else value
    if name == "status":
        return max(claimed, value, key=LADDER.index) if {claimed, value} <= set(LADDER) else value
    if name in ("trust", "confidence", "encounter_score", "hive_eligible"):
        return max(claimed, _shared(name, memory))
    return value


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
