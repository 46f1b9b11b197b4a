"""From a draft that passed the gate to a memory. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.codec import iso
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.records import Caller, Citation, Confirmation, Draft, Memory, Situation
from swarmlore.rules.confidence import confidence_of

if TYPE_CHECKING:
    from typing import Any

DAY_S = 86_400.0
PATTERN = "pattern"  # where the memory of an approach carries its record
CLAIMS = "swarmlore_claims"  # where a memory keeps what its file claimed; see `rules.claims`
# What was derived from tool output, transcripts, the web or files of others is never worth more than this.
TRUST_CEILING = {"transcript": 1, "session_summary": 1, "import": 1, "ledger": 1, "migration": 1}


def birth(draft: Draft, caller: Caller, id: str, now: float, life_days: Mapping[str, float]) -> Memory:
    """The memory a draft becomes, with everything unsaid filled in."""
    tier = draft.tier or "swarm"
    created_at = now if draft.created_at is None else min(draft.created_at, now)
    confidence = confidence_of(0, draft.auto_generated) if draft.confidence is None else draft.confidence
    situation = (Situation(draft.situation, draft.situation_via, now),) if draft.situation else ()
    return Memory(
        id=id,
        text=draft.text,
        title=draft.title,
        kind=draft.kind or "learning",
        category=draft.category or "other",
        tags=tuple(dict.fromkeys(draft.tags)),
        entities=tuple(dict.fromkeys(draft.entities)),
        tier=tier,
        project=caller.project,
        owner=caller.agent,
        scope=draft.scope or "global",
        status="candidate" if draft.status in (None, "active") else draft.status,
        trust=trust_of(draft, caller),
        source=draft.source,
        source_ref=dict(draft.source_ref),
        key=draft.key,
        confidence=confidence,
        created_at=created_at,
        updated_at=created_at,
        expires_at=_expiry(draft, created_at, life_days),
        auto_generated=draft.auto_generated,
        situations=situation,
        citations=tuple(item for item in draft.citations if isinstance(item, Citation)),
        extra=without_record(draft.extra),
    )


def without_record(extra: Mapping[str, Any]) -> dict[str, Any]:
    """What is said beside a text, without the names that the product keeps its own records under."""
    return {name: value for name, value in extra.items() if name not in (PATTERN, CLAIMS)}


def trust_of(draft: Draft, caller: Caller) -> int:
    """The lowest of what the door claims, what the caller has, and what the source allows."""
    claimed = caller.trust if draft.trust is None else min(draft.trust, caller.trust)
    return max(0, min(claimed, TRUST_CEILING.get(draft.source, 3)))


def _expiry(draft: Draft, created_at: float, life_days: Mapping[str, float]) -> float | None:
    if draft.ttl_s is not None:
        return created_at + draft.ttl_s
    days = life_days.get(draft.source)
    return None if days is None else created_at + days * DAY_S


def in_force(memory: Memory, now: float) -> bool:
    """Whether a memory is neither expired nor outside of its time of validity."""
    if memory.expires_at is not None and memory.expires_at <= now:
        return False
    return (memory.valid_from or now) <= now and (memory.valid_until is None or memory.valid_until > now)


def sighting_place(memory: Memory, project: str, at: float) -> str:
    """Where a sighting counts once: a project for the hive, else a phase; unannounced phases are days."""
    if memory.tier == "hive":
        return project
    day = iso(at)
    return f"day:{day[:10]}" if day else ""


def birth_places(memory: Memory) -> frozenset[str]:
    """Where a memory was born: seen there again, it is not confirmed."""
    if memory.tier == "hive":
        return frozenset((memory.project,))
    day = sighting_place(memory, memory.project, memory.created_at)
    return frozenset((day, f"phase:{memory.born_in_phase}") if memory.born_in_phase else (day,))


def confirm(memory: Memory, caller: Caller, now: float, phase: str = "") -> Memory | None:
    """The memory with one more confirmation, or None where this sighting does not count. `phase` is where the project
    stands, where that is more than a day."""
    where = sighting_place(memory, caller.project, now)
    if phase and memory.tier != "hive":
        where = phase
    known = {confirmation.where for confirmation in memory.confirmed_by} | birth_places(memory)
    if where in known or not memory.live:
        return None
    confirmed_by = (*memory.confirmed_by, Confirmation(where, now, caller.agent))
    earned = confidence_of(len(confirmed_by), memory.auto_generated)
    return replace(memory, confirmed_by=confirmed_by, confidence=max(memory.confidence, earned), updated_at=now)
