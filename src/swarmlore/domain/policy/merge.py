"""Merge versions of a memory, and keep the claims of imported files apart from its own evidence.

A memory from a file has low standing here: trust 1, candidate, unconfirmed, never rated or read. The file's own claims
are kept under `swarmlore_claims`, for two readers only: exports, so that a round trip loses nothing, and the ranking
formula of the source system's profile. Each claim is stored beside the value that the memory had here at that time,
`{name: [claimed, own]}`; changes made here since then are combined with the claim on export.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b

from swarmlore.domain.json_codec import iso, record_fields
from swarmlore.domain.policy.new_memory import CLAIMS
from swarmlore.domain.records import RAW_SOURCES, Confirmation, Memory, confidence_of
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from typing import Any

FILE_TRUST = 1
SHARED_TRUST = 2  # highest trust in an export of a memory of this store
MOST_TRUST = 3  # and of one that came from a file
LADDER = ("candidate", "established", "promoted")
_COUNTERS = ("access_count", "feedback_count")
STANDING = (
    *("owner", "trust", "status", "source", "confidence", "confirmed_by", "encounter_score", "hive_eligible"),
    *(*_COUNTERS, "last_accessed_at", "feedback_score"),
)


def with_file_standing(memory: Memory, source: str, owner: str) -> Memory:
    """Return the memory with the standing of a file, whatever it claims. A private one still belongs to its agent."""
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
    """Return the memory with its own standing, and the differing values of `told` as claims for these fields."""
    claims = dict(memory.extra.get(CLAIMS, {}))
    for name in names:
        own, claimed = _shared(name, memory), _plain(getattr(told, name))
        claims.pop(name, None)
        if own != claimed:
            claims[name] = [claimed, own]
    extra = {name: value for name, value in memory.extra.items() if name != CLAIMS}
    return replace(memory, extra={**extra, CLAIMS: claims} if claims else extra)


def as_claimed(memory: Memory) -> Memory:
    """Return the memory with the values its file claims, combined with changes made here since."""
    claims = memory.extra.get(CLAIMS)
    if not claims:
        return memory
    values = {
        name: _typed(name, claimed) if _shared(name, memory) == own else _joined(name, memory, claimed, own)
        for name, (claimed, own) in claims.items()
    }
    return replace(memory, **values, extra={name: value for name, value in memory.extra.items() if name != CLAIMS})


def _shared(name: str, memory: Memory) -> Any:
    """Return the value of a field, as JSON, that an export gives for a memory without claims."""
    value = _plain(getattr(memory, name))
    return min(value, SHARED_TRUST) if name == "trust" else value


def _plain(value: Any) -> Any:
    return [record_fields(item) for item in value] if isinstance(value, tuple) else value


def _typed(name: str, value: Any) -> Any:
    return tuple(Confirmation(**item) for item in value) if name == "confirmed_by" else value


def _joined(name: str, memory: Memory, claimed: Any, own: Any) -> Any:
    """Combine a claim with a value that has changed here since the import."""
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
# Fields that are taken together from the newer version.
CONTENT = (
    *("text", "title", "kind", "category", "entities", "owner", "scope", "status", "trust", "source", "source_ref"),
    *("key", "confidence", "expires_at", "valid_from", "valid_until", "superseded_by", "born_in_phase", "max_phases"),
    *("hive_eligible", "auto_generated", "encounter_score", "extra"),
)
GATHERED = ("tags", "confirmed_by", "citations", "supersedes", "situations")
# Fields of a memory's standing that a version contains; the last one for the hive only.
_CLAIMED = ("owner", "trust", "status", "source", "confidence", "confirmed_by", "hive_eligible", "encounter_score")
QUARANTINE = {"original_status": "candidate", "quarantine_reason": "", "reported_by": "auto"}
_BLANK = Memory(id="", text="")


@frozen
class Version:
    """A memory as it is exported: without counters, handle and history.

    A version without text is a deletion; with `erased`, only its id may be kept.
    """

    memory: Memory
    deleted_at: float = 0.0
    erased: bool = False

    @property
    def gone(self) -> bool:
        return self.deleted_at > 0.0

    @property
    def at(self) -> tuple[float, str]:
        """Return the sort key of a version in a ledger: creation time, then id."""
        return (self.memory.created_at or self.deleted_at, self.memory.id)


def published(memory: Memory, project_name: str = "", *, situations: bool = False) -> Version:
    """Return a stored memory as it is exported, with the claims of its file.

    Counters are never exported, situations only if asked for.
    """
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
    exported = Memory(
        id=memory.id,
        tier=memory.tier,
        project=memory.project if hive else "",
        created_at=round(memory.created_at, 3),
        updated_at=round(memory.updated_at, 3),
        **{**shared, "extra": extra},
    )
    # A forgotten memory is a deletion, even if it was changed after that.
    hidden = memory.forgotten_at is not None
    deleted_at = max(round(memory.forgotten_at or 0.0, 3), exported.updated_at) if hidden else 0.0
    return settled(Version(ordered(exported), deleted_at))


def merge(one: Version, other: Version) -> Version:
    """Merge two versions of a memory: the newer content, and everything gathered from both."""
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
    """Return the version that remains of an erased memory: its id and the time."""
    return Version(Memory(id=id, text="", tier=tier), round(at, 3), erased=True)


def merge_all(versions: Iterable[Version]) -> Version | None:
    """Merge all versions of a memory into one; None if there are none."""
    result: Version | None = None
    for version in versions:
        result = version if result is None else merge(result, version)
    return result


def settled(version: Version) -> Version:
    """Return a version reduced to either its content or the deletion that hides it."""
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
    """Return a stored memory after a merge, so that exporting it gives the merged version.

    It keeps its own standing, but changed words get the standing of a file, with this source and owner.
    """
    told = merged.memory
    if merged.erased:  # elsewhere: here it is hidden, but kept
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
    """Return whether the first content wins: any over none, then the newer, then the greater hash, alike for all."""
    mine, theirs = (bool(one.text), one.updated_at), (bool(other.text), other.updated_at)
    if mine != theirs:
        return mine > theirs
    return content_hash(one) >= content_hash(other)


def content_hash(memory: Memory) -> str:
    """Return a hash of the fields that the newer version decides."""
    values = {name: getattr(memory, name) for name in CONTENT}
    data = json.dumps(values, sort_keys=True, ensure_ascii=True, default=str)
    return blake2b(data.encode("ascii"), digest_size=16).hexdigest()


def ordered(memory: Memory) -> Memory:
    """Return the memory with its gathered fields free of duplicates and in a canonical order."""
    if not any(getattr(memory, name) for name in GATHERED):
        return memory
    return replace(
        memory,
        tags=tuple(sorted(set(memory.tags))),
        supersedes=tuple(sorted(set(memory.supersedes))),
        confirmed_by=_sightings(memory.confirmed_by),
        citations=tuple(
            sorted(set(memory.citations), key=lambda item: [getattr(item, name) for name in item.__slots__])
        ),
        situations=_newest(memory.situations),
    )


def _sightings(found: Iterable[Confirmation]) -> tuple[Confirmation, ...]:
    """Return one confirmation for each place and confirmer, the earliest."""
    first: dict[tuple[str, str], float] = {}
    for item in found:
        key, at = (item.where, item.by), round(item.at, 3)
        first[key] = min(first.get(key, at), at)
    sightings = (Confirmation(where, at, by) for (where, by), at in first.items())
    return tuple(sorted(sightings, key=lambda item: (item.at, item.where, item.by)))


def _newest(found: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(found), key=lambda item: (item.at, item.text, item.via))[-SITUATIONS_KEPT:])
