"""Format of Agent Swarm: rows of its table `agent_memory`, with or without the columns added later."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.compat import foreign_values
from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.merge import ordered
from swarmlore.domain.records import CATEGORIES, Memory, is_id
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.workspace.jsonl import BadLine

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.compat.foreign_values import Fields


NAME = "agent_swarm"
TABLE = "agent_memory"
EDGES, ENDS = "agent_memory_edge", ("from_id", "to_id", "type")
VECTOR = ("embedding", "embeddingModel")  # left out: made by another model
SOURCES = ("manual", "file_index", "session_summary", "task_completion")
SCOPES = ("agent", "swarm")
NAME_CHARS = 60
TITLE_CHARS = 200  # as many as its own tools allow
_NEEDED = ("id", "scope", "name", "source", "createdAt", "accessedAt")
_OF_THE_TEXT = ("contentHash", "summary")  # columns that do not hold for an edited text


def from_row(row: Mapping[str, Any]) -> Memory:
    """Read a row into a memory; raise BadLine without a text, or for a private memory without an owner."""
    memory = _memory(row)
    if not memory.text:
        raise BadLine("no content")
    if row.get("scope") not in SCOPES:
        raise BadLine(f"unknown scope: {str(row.get('scope'))[:40]}")
    if memory.tier == "agent" and not memory.owner:
        raise BadLine("a private memory without an agentId")
    left = foreign_values.difference(row, _made(memory), ("content", *VECTOR))
    kept = {**left, "of": foreign_values.fingerprint(memory.text)} if left else {}
    return replace(memory, extra={NAME: kept})


def to_row(memory: Memory) -> Fields:
    """Write a memory as a row of the table."""
    made = _made(memory)
    row = foreign_values.restored(made, foreign_values.kept_for_text(memory, NAME, _OF_THE_TEXT), _memory)
    needed = {name: made[name] for name in _NEEDED if row.get(name) is None}
    return {**row, **needed, "content": memory.text, "embedding": None, "embeddingModel": None}


def _memory(row: Mapping[str, Any]) -> Memory:
    text, source = foreign_values.text(row.get("content")).strip(), row.get("source")
    private = row.get("scope") == "agent"
    agent, id = foreign_values.text(row.get("agentId")), row.get("id")
    created_at = foreign_values.moment(row.get("createdAt")) or 0.0
    tags = foreign_values.tags(row.get("tags"))
    made = Memory(
        id=id if isinstance(id, str) and is_id(id) else derived_id(f"{NAME}\n{agent if private else ''}", text),
        text=text,
        title=" ".join(foreign_values.text(row.get("name")).split())[:TITLE_CHARS],
        category=next((tag for tag in tags if tag in CATEGORIES), "other"),
        tags=tags,
        tier="agent" if private else "swarm",
        owner=agent,
        trust=1,
        source=str(source) if source in SOURCES else "import",
        source_ref=_origin(row),
        created_at=created_at,
        updated_at=foreign_values.moment(row.get("updatedAt")) or created_at,
        last_accessed_at=_accessed_at(row, created_at),
        access_count=foreign_values.count(row.get("accessCount")) or 0,
        expires_at=foreign_values.moment(row.get("expiresAt")),
    )
    return ordered(made)


def _accessed_at(row: Mapping[str, Any], created_at: float) -> float | None:
    """Return when a row was last read; unread rows hold the time of their creation there."""
    at = foreign_values.first((foreign_values.moment(row.get("accessedAt")), created_at))
    return None if at == created_at and not foreign_values.count(row.get("accessCount")) else at


def _origin(row: Mapping[str, Any]) -> Fields:
    """Return the origin of a row: task, path and, for a part of a file, its number."""
    origin: Fields = {
        "task": foreign_values.text(row.get("sourceTaskId")),
        "path": foreign_values.text(row.get("sourcePath")),
    }
    origin = {name: value for name, value in origin.items() if value}
    chunk, chunks = foreign_values.count(row.get("chunkIndex")) or 0, foreign_values.count(row.get("totalChunks"))
    if chunk or (chunks is not None and chunks != 1):
        origin |= {"chunk": chunk, "chunks": 1 if chunks is None else chunks}
    return origin


def _made(memory: Memory) -> Fields:
    origin = memory.source_ref
    return {
        "id": memory.id,
        "agentId": memory.owner or None,
        "scope": "agent" if memory.tier == "agent" else "swarm",
        "name": memory.title or " ".join(memory.text.split())[:NAME_CHARS],
        "content": memory.text,
        "summary": None,
        "source": memory.source if memory.source in SOURCES else "manual",
        "sourceTaskId": foreign_values.text(origin.get("task")) or None,
        "sourcePath": foreign_values.text(origin.get("path")) or None,
        "chunkIndex": foreign_values.count(origin.get("chunk")) or 0,
        "totalChunks": foreign_values.first((foreign_values.count(origin.get("chunks")), 1)),
        "tags": foreign_values.dumped(list(memory.tags)),
        "createdAt": iso(memory.created_at),
        "accessedAt": iso(memory.last_accessed_at or memory.created_at),
        "expiresAt": iso(memory.expires_at),
        "accessCount": memory.access_count,
        **({"updatedAt": iso(memory.updated_at)} if memory.updated_at != memory.created_at else {}),
    }
