"""Format of mem0: the output of its `get_all` and of its export, as one JSON document or a memory per line.

The field `memory` is the text, `metadata` has fields of its own; each relation of its graph becomes a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import md5

from swarmlore.compat import foreign_values
from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.merge import ordered
from swarmlore.domain.records import CATEGORIES, KINDS, Memory, is_id
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.workspace.jsonl import BadLine

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.compat.foreign_values import Fields


NAME = "mem0"
LISTS = ("results", "memories", "data", "items")  # names of the list of memories in a document
RELATIONS = "relations"
TEXTS = ("memory", "text", "data", "content")
_IN = foreign_values.METADATA
_OF_THE_TEXT = ("hash", "score")  # fields that do not hold for an edited text


def is_record(obj: Mapping[str, Any]) -> bool:
    """Whether an object is a memory of mem0."""
    return isinstance(obj.get("memory"), str) and "lesson" not in obj


def from_object(obj: Mapping[str, Any]) -> Memory:
    """Read a record into a memory; raise BadLine if it has no text."""
    record = foreign_values.flat(obj)
    name = next((name for name in TEXTS if isinstance(obj.get(name), str) and obj[name].strip()), "")
    if not name:
        raise BadLine("no memory")
    memory = _memory({**record, "memory": record[name]})
    left = foreign_values.difference(record, _made(memory), (name, "memory"))
    kept: Fields = {**left, "of": foreign_values.fingerprint(memory.text)} if left else {}
    if name != "memory":
        kept["text"] = name
    extra: Fields = {NAME: kept}
    if graph := _graph(obj):
        extra["graph"] = graph
    return replace(memory, extra=extra)


def from_relation(obj: Mapping[str, Any]) -> Memory:
    """Read a relation of the graph into a memory that states it; raise BadLine if a part is missing."""
    words = [
        foreign_values.text(obj.get("source")),
        foreign_values.text(obj.get("relationship")) or foreign_values.text(obj.get("relation")),
    ]
    words.append(foreign_values.text(obj.get("target")) or foreign_values.text(obj.get("destination")))
    if not all(word.strip() for word in words):
        raise BadLine("no relation: it needs a source, a relationship and a target")
    source, kind, target = words
    graph = {"entities": [], "relations": [{"source": source, "target": target, "type": kind}]}
    text = f"{source} {kind.replace('_', ' ')} {target}"
    extra = {NAME: {"relation": dict(obj), "of": foreign_values.fingerprint(text)}, "graph": graph}
    return Memory(id=derived_id(NAME, "\n".join(words)), text=text, trust=1, source="import", extra=extra)


def relation_of(memory: Memory) -> Fields | None:
    """Return the relation that a memory was read from, or None if there is none or the text was edited since."""
    kept = foreign_values.kept_by(memory, NAME)
    relation, unedited = kept.get("relation"), kept.get("of") == foreign_values.fingerprint(memory.text)
    return dict(relation) if isinstance(relation, Mapping) and unedited else None


def to_object(memory: Memory) -> Fields:
    """Write a memory as a record."""
    kept = foreign_values.kept_for_text(memory, NAME, _OF_THE_TEXT)
    record = foreign_values.restored(_made(memory), kept, _memory)
    name = str(kept.get("text", "memory"))
    return foreign_values.unflat({name if key == "memory" else key: value for key, value in record.items()})


def _memory(record: Mapping[str, Any]) -> Memory:
    text, id = foreign_values.text(record.get("memory")).strip(), record.get("id")
    created_at = foreign_values.moment(record.get("created_at")) or 0.0
    kind, category = record.get(_IN + "kind"), record.get(_IN + "category")
    run = foreign_values.text(record.get("run_id"))
    confidence = foreign_values.number(record.get(_IN + "confidence"))
    made = Memory(
        id=id if isinstance(id, str) and is_id(id) else derived_id(NAME, text),
        text=text,
        kind=str(kind) if kind in KINDS else "learning",
        category=str(category) if category in CATEGORIES else "other",
        tags=foreign_values.tags(record.get("categories"), record.get(_IN + "tags")),
        entities=foreign_values.slugs(record.get(_IN + "entities")),
        owner=foreign_values.text(record.get("agent_id")),
        trust=1,
        source="import",
        source_ref={"session": run} if run else {},
        confidence=confidence if confidence is not None and 0 <= confidence <= 1 else 0.5,
        created_at=created_at,
        updated_at=foreign_values.moment(record.get("updated_at")) or created_at,
        expires_at=foreign_values.moment(record.get("expiration_date")),
    )
    return ordered(made)


def _made(memory: Memory) -> Fields:
    run = memory.source_ref.get("session")
    optional = {
        "agent_id": memory.owner or None,
        "run_id": run if isinstance(run, str) and run else None,
        "categories": list(memory.tags) or None,
        "expiration_date": _day(memory.expires_at),
        f"{_IN}kind": memory.kind if memory.kind != "learning" else None,
        f"{_IN}category": memory.category if memory.category != "other" else None,
        f"{_IN}entities": list(memory.entities) or None,
        f"{_IN}confidence": memory.confidence,
    }
    return {
        "id": memory.id,
        "memory": memory.text,
        "hash": md5(memory.text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest(),
        **foreign_values.without_none(optional),
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
    }


def _day(at: float | None) -> str | None:
    """Format a time; midnight UTC as a date alone, as mem0 writes it."""
    text = iso(at)
    return text.removesuffix("T00:00:00.000Z") if text else None


def _graph(obj: Mapping[str, Any]) -> Fields | None:
    """Return the entities and relations of a record; its relations may refer to entities by id."""
    entries = obj.get("entities")
    listed = [item for item in entries if isinstance(item, Mapping)] if isinstance(entries, list) else []
    names = {str(item.get("id")): foreign_values.text(item.get("name")) for item in listed}
    entities = [
        {"name": foreign_values.text(item.get("name")), "type": foreign_values.text(item.get("type"))}
        for item in listed
    ]
    related = obj.get(RELATIONS)
    relations = []
    for item in related if isinstance(related, list) else ():
        if isinstance(item, Mapping):
            ends = [foreign_values.text(item.get(end)) for end in ("source", "target")]
            source, target = (names.get(end) or end for end in ends)
            kind = foreign_values.text(item.get("relationship")) or foreign_values.text(item.get("relation"))
            relations.append({"source": source, "target": target, "type": kind or "relates_to"})
    kept = [entity for entity in entities if entity["name"]]
    return {"entities": kept, "relations": relations} if kept or relations else None
