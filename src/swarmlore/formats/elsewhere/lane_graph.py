"""The tables in which swarm-mail keeps the entities of memories, written from the memories' own graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b

from swarmlore.domain.json_codec import iso
from swarmlore.domain.records import Memory
from swarmlore.formats.elsewhere import values
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.formats.elsewhere.residue import Fields

_LABELS = ("canonical_name", "pref_label", "alt_labels")


class EntityRows:
    """The rows of one file: an entity once, whatever memories name it and under whatever ids they came."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def of(self, memory: Memory) -> Iterator[tuple[str, Fields]]:
        """Each row that a memory adds, with the name of its table."""
        written = memory.extra.get("graph")
        if not isinstance(written, Mapping):
            return
        at, types = iso(memory.created_at), {}
        for item in _listed(written, "entities"):
            name, kind = values.text(item.get("name")), values.text(item.get("type")) or "concept"
            if name:
                types[name] = kind
                labels = {label: item[label] for label in _LABELS if isinstance(item.get(label), str)}
                id, rows = self._entity(name, kind, item.get("id"), at, labels)
                yield from rows
                yield "memory_entities", {"memory_id": memory.id, "entity_id": id, "role": _role(item)}
        for item in _listed(written, "relations"):
            yield from self._relation(item, types, memory.id, at)

    def _entity(
        self, name: str, kind: str, id: Any, at: str | None, labels: Mapping[str, str]
    ) -> tuple[str, list[tuple[str, Fields]]]:
        """The id of an entity, and its row where it has none yet."""
        known = self._ids.get((name, kind))
        if known is not None:
            return known, []
        made = self._free(id, f"ent_{_digest(name, kind)}")
        self._ids[name, kind] = made
        row = {"id": made, "name": name, "entity_type": kind, **labels, "created_at": at, "updated_at": at}
        return made, [("entities", row)]

    def _free(self, id: Any, otherwise: str) -> str:
        """The id that something came with, unless something else has it: two programs may have counted alike."""
        made = id if isinstance(id, str) and id and id not in self._taken else otherwise
        self._taken.add(made)
        return made

    def _relation(
        self, item: Mapping[str, Any], types: Mapping[str, str], memory: str, at: str | None
    ) -> Iterator[tuple[str, Fields]]:
        names = [values.text(item.get(end)) for end in ("source", "target")]
        if not all(names):
            return
        ends = []
        for name, end in zip(names, ("source", "target"), strict=True):
            kind = types.get(name) or values.text(item.get(f"{end}_type")) or "concept"
            id, rows = self._entity(name, kind, item.get(f"{end}_id"), at, {})
            yield from rows
            ends.append(id)
        yield self._related(item, ends, memory, at)

    def _related(self, item: Mapping[str, Any], ends: list[str], memory: str, at: str | None) -> tuple[str, Fields]:
        kind, apart = values.text(item.get("type")) or "relates_to", item.get("apart")
        id = self._free(item.get("id"), f"rel_{_digest(*ends, kind, str(apart))}")
        if apart == "entity_taxonomy":
            told = {"entity_id": ends[0], "related_entity_id": ends[1], "relationship_type": kind}
            return "entity_taxonomy", {"id": id, **told, "created_at": at}
        confidence = values.number(item.get("confidence"))
        told = {"subject_id": ends[0], "predicate": kind, "object_id": ends[1]}
        facts = {"memory_id": None if apart else memory, "confidence": 1.0 if confidence is None else confidence}
        return "relationships", {"id": id, **told, **facts, "created_at": at}


def _role(item: Mapping[str, Any]) -> str:
    return values.text(item.get("role")) or "mentioned"


def _listed(written: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = written.get(name)
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list | tuple) else []


def _digest(*words: str) -> str:
    return blake2b("\n".join(words).encode("utf-8", "replace"), digest_size=8).hexdigest()
