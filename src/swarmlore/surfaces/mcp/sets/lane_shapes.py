"""Memories and outcomes as Memory Lane writes them. Numbers are on its scales: confidence from 0 to 100."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.ranking import age_days, proven_at, recency_decay
from swarmlore.domain.records import Hit, Memory, Outcome
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.mcp.sets.saying import tame

if TYPE_CHECKING:
    from typing import Any

COLLECTION = "memory-lane"
USUAL = (COLLECTION, "default")  # what has no collection of its own is in these
LANE_VERSION = "1.0.0"
CRITERIA = ("type_safe", "no_bugs", "patterns", "readable")


def collection_of(memory: Memory) -> str:
    named = memory.extra.get("collection")
    return tame(named, 80) if isinstance(named, str) and named else COLLECTION


def is_in(memory: Memory, collection: str) -> bool:
    """Whether a memory is in a collection; in any, where none is named."""
    named = memory.extra.get("collection")
    return not collection or (collection == named if named else collection in USUAL)


def item(hit: Hit, now: float) -> dict[str, Any]:
    """One result of a search."""
    memory = hit.memory
    decay = recency_decay(1.0, age_days(proven_at(memory), now))
    return {
        "id": memory.id,
        "content": tame(memory.text),
        "score": round(hit.score, 4),
        "collection": collection_of(memory),
        "metadata": metadata(memory, decay),
        "effective_confidence": round(100 * memory.confidence * decay),
        "decay_factor": round(decay, 4),
    }


def metadata(memory: Memory, decay: float = 1.0) -> dict[str, Any]:
    """What it knows beside the text."""
    strange = memory.extra.get("entity_slugs")
    entities = [*memory.entities, *(strange if isinstance(strange, list) else ())]
    return {
        **_told_beside(memory.extra.get("metadata")),
        "lane_version": LANE_VERSION,
        "memory_type": memory.kind,
        "entity_slugs": [tame(str(name)) for name in entities],
        "confidence_score": round(100 * memory.confidence),
        "decay_factor": round(decay, 4),
        "tags": [tame(tag) for tag in memory.tags],
        "feedback_score": memory.feedback_score,
        "feedback_count": memory.feedback_count,
        "valid_from": iso(memory.valid_from),
        "valid_until": iso(memory.valid_until),
        "supersedes": list(memory.supersedes),
        "superseded_by": memory.superseded_by or None,
        "times_observed": 1 + len(memory.confirmed_by),
        "first_observed_at": iso(memory.created_at),
        "last_observed_at": iso(max((seen.at for seen in memory.confirmed_by), default=memory.created_at)),
        "access_count": memory.access_count,
        "last_accessed_at": iso(memory.last_accessed_at),
    }


def _told_beside(value: Any) -> dict[str, Any]:
    """What an agent said beside the text when it stored it."""
    return {str(name): _harmless(item) for name, item in value.items()} if isinstance(value, Mapping) else {}


def _harmless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _told_beside(value)
    if isinstance(value, list):
        return [_harmless(item) for item in value]
    return tame(value) if isinstance(value, str) else value


def record(memory: Memory) -> dict[str, Any]:
    """One memory in full."""
    return {
        "id": memory.id,
        "content": tame(memory.text),
        "collection": collection_of(memory),
        "metadata": metadata(memory),
        "confidence": memory.confidence,
        "createdAt": iso(memory.created_at),
        "updatedAt": iso(memory.updated_at),
    }


def recorded(outcome: Outcome, given: Mapping[str, Any]) -> dict[str, Any]:
    """How a task ended, what that is worth, and one piece of feedback for each criterion."""
    signals: dict[str, Any] = {
        "bead_id": outcome.task,
        "duration_ms": outcome.duration_ms,
        "error_count": outcome.errors,
    }
    signals |= {"retry_count": outcome.retries, "success": outcome.success, "files_touched": list(outcome.files)}
    signals |= {"timestamp": iso(outcome.at), "strategy": outcome.strategy or None}
    failure = {
        "failure_mode": outcome.failure_mode or None,
        "failure_details": scrub_text(given.get("failure_details", "")) or None,
    }
    scored = {"type": outcome.verdict, "raw_score": outcome.score, "decayed_value": outcome.score}
    seconds = None if outcome.duration_ms is None else round(outcome.duration_ms / 1000)
    summary = {"feedback_type": outcome.verdict, "duration_seconds": seconds, "error_count": outcome.errors}
    summary |= {"retry_count": outcome.retries, "success": outcome.success, "strategy": outcome.strategy or None}
    return {
        "success": True,
        "outcome": {"id": outcome.id, "signals": {**signals, **failure}, "scored": scored},
        "feedback_events": [_event(outcome, criterion) for criterion in outcome.criteria],
        "summary": {**summary, **failure},
    }


def _event(outcome: Outcome, criterion: str) -> dict[str, Any]:
    return {
        "id": f"{outcome.id}:{criterion}",
        "criterion": criterion,
        "type": outcome.verdict,
        "timestamp": iso(outcome.at),
        "bead_id": outcome.task,
        "raw_value": outcome.score,
        "decayed_value": outcome.score,
    }
