"""Claims of a file about its memories: who said them, how sure they are, how often they held. Pure.

A memory that came from a file has a file's standing here: trust 1, candidate, unconfirmed, never rated or read. What
the file claimed instead is kept under `swarmlore_claims`, for two readers only: exports, so that a round trip loses
nothing, and the ranking formula of a source system's own profile. Each claim is stored beside the value that the memory
had here at that time, `{name: [claimed, own]}`; what changed here since then is joined with the claim on export.
"""

from __future__ import annotations

from swarmlore.codec import plain
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.records import RAW_SOURCES, Confirmation, Memory
from swarmlore.rules.birth import CLAIMS
from swarmlore.rules.confidence import confidence_of

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
    return [plain(item) for item in value] if isinstance(value, tuple) else value


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
