"""Memories as they begin: from a draft that passed the gate to a record, and confirmations of it."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.domain.json_codec import iso
from swarmlore.domain.records import (
    Caller,
    Citation,
    Confirmation,
    Draft,
    Memory,
    Situation,
    confidence_of,
)
from swarmlore.frozen import TYPE_CHECKING, replace

if TYPE_CHECKING:
    from typing import Any

DAY_S = 86_400.0
PATTERN = "pattern"  # key in `extra` of the record of an approach
CLAIMS = "swarmlore_claims"  # key in `extra` of the claims of a memory's file; see `domain.policy.merge`
# Memories derived from tool output, transcripts, the web or files of others never have more trust.
TRUST_CEILING = {"transcript": 1, "session_summary": 1, "import": 1, "ledger": 1, "migration": 1}


def memory_from_draft(draft: Draft, caller: Caller, id: str, now: float, life_days: Mapping[str, float]) -> Memory:
    """Create the memory of a draft, with defaults for every field that it leaves open."""
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
        extra=without_reserved_keys(draft.extra),
    )


def without_reserved_keys(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory's extra values without the names under which the product keeps its own records."""
    return {name: value for name, value in extra.items() if name not in (PATTERN, CLAIMS)}


def trust_of(draft: Draft, caller: Caller) -> int:
    """Return the lowest of the trust that the draft claims, the caller has, and the source allows."""
    claimed = caller.trust if draft.trust is None else min(draft.trust, caller.trust)
    return max(0, min(claimed, TRUST_CEILING.get(draft.source, 3)))


def _expiry(draft: Draft, created_at: float, life_days: Mapping[str, float]) -> float | None:
    if draft.ttl_s is not None:
        return created_at + draft.ttl_s
    days = life_days.get(draft.source)
    return None if days is None else created_at + days * DAY_S


def in_force(memory: Memory, now: float) -> bool:
    """Return whether a memory is neither expired nor outside its time of validity."""
    if memory.expires_at is not None and memory.expires_at <= now:
        return False
    return (memory.valid_from or now) <= now and (memory.valid_until is None or memory.valid_until > now)


def sighting_place(memory: Memory, project: str, at: float) -> str:
    """Return the place in which a sighting counts once: a project for the hive, else the day."""
    if memory.tier == "hive":
        return project
    day = iso(at)
    return f"day:{day[:10]}" if day else ""


def birth_places(memory: Memory) -> frozenset[str]:
    """Return where a memory was born; being seen there again does not confirm it."""
    if memory.tier == "hive":
        return frozenset((memory.project,))
    day = sighting_place(memory, memory.project, memory.created_at)
    return frozenset((day, f"phase:{memory.born_in_phase}") if memory.born_in_phase else (day,))


def confirm(memory: Memory, caller: Caller, now: float, phase: str = "") -> Memory | None:
    """Return the memory with one more confirmation, or None if this sighting does not count.

    `phase` is the current phase of the project; without it the day counts.
    """
    where = sighting_place(memory, caller.project, now)
    if phase and memory.tier != "hive":
        where = phase
    known = {confirmation.where for confirmation in memory.confirmed_by} | birth_places(memory)
    if where in known or not memory.live:
        return None
    confirmed_by = (*memory.confirmed_by, Confirmation(where, now, caller.agent))
    earned = confidence_of(len(confirmed_by), memory.auto_generated)
    return replace(memory, confirmed_by=confirmed_by, confidence=max(memory.confidence, earned), updated_at=now)
