"""Format of Memory Lane: lines of its JSONL export, and rows of swarm-mail's tables with entities and relations.

Entities and relations are kept with the memories that name them, like those of a note's sidecar. A relation without a
memory, or of the taxonomy, goes with the memories that name its source entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

from swarmlore.compat import foreign_values
from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.merge import ordered
from swarmlore.domain.records import CATEGORIES, KINDS, STATUSES, Memory, is_id
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.exchange.sqlite_tables import Tables
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.workspace.jsonl import BadLine

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.compat.foreign_values import Fields


NAME = "lane"
TABLE = "memories"
LINKS, ENDS = "memory_links", ("source_id", "target_id", "link_type")
VECTOR = ("embedding",)  # left out: made by another model
COLLECTION = "memory-lane"
VERSION = "1.0.0"
USUAL_CONFIDENCE = 70
_IN = foreign_values.METADATA
_TEXTS = ("content", "information")
_NEEDED = ("id", "created_at", "updated_at")


def from_line(obj: Mapping[str, Any]) -> Memory:
    """Read a line into a memory; raise BadLine if it has no text."""
    return _from(obj, "information")


def from_row(row: Mapping[str, Any]) -> Memory:
    """Read a row into a memory; its `graph` field holds the entities and relations of the other tables."""
    memory = _from({name: value for name, value in row.items() if name != "graph"}, "content")
    graph = row.get("graph")
    return replace(memory, extra={**memory.extra, "graph": graph}) if graph else memory


def to_line(memory: Memory) -> Fields:
    """Write a memory as a line."""
    line = foreign_values.unflat(_restored(memory, "information"))
    metadata = line.get("metadata")
    if isinstance(metadata, dict) and foreign_values.kept_by(memory, NAME).get("metadata_as") == "text":
        line["metadata"] = foreign_values.dumped(metadata)
    return line


def to_row(memory: Memory) -> Fields:
    """Write a memory as a row of the table."""
    made = _made(memory, "content")
    row = foreign_values.unflat(_restored(memory, "content"))
    if isinstance(row.get("metadata"), dict):
        row["metadata"] = foreign_values.dumped(row["metadata"])
    return {**row, **{name: made[name] for name in _NEEDED if row.get(name) is None}, "content": memory.text}


def _from(obj: Mapping[str, Any], text_name: str) -> Memory:
    record = foreign_values.flat(obj)
    memory = _memory(record, text_name)
    if not memory.text:
        raise BadLine(f"no {text_name}")
    left = foreign_values.difference(record, _made(memory, text_name), _TEXTS)
    kept: Fields = {text_name: left} if left else {}
    if isinstance(obj.get("metadata"), str) and text_name == "information":
        kept["metadata_as"] = "text"
    return replace(memory, extra={NAME: kept})


def _restored(memory: Memory, text_name: str) -> Fields:
    """Return the flat record of a memory with its original fields as far as they still agree."""
    kept, made = foreign_values.kept_by(memory, NAME), _made(memory, text_name)
    if text_name in kept:
        return foreign_values.restored(made, kept[text_name], lambda record: _memory(record, text_name))
    other = next((kept[name] for name in _TEXTS if name in kept), None)  # it was imported in the other form
    has = {name: value for name, value in foreign_values.parts(other)[0].items() if name.startswith(_IN)}
    return foreign_values.restored(made, {"has": has}, lambda record: _memory(record, text_name))


# Reading


def _memory(record: Mapping[str, Any], text_name: str) -> Memory:
    text = foreign_values.text(record.get(text_name)).strip()
    superseded_by = next(iter(foreign_values.ids(_one(record, "superseded_by"))), "")
    created_at = foreign_values.moment(record.get("created_at")) or 0.0
    kind, category = _in(record, "memory_type"), record.get("category")
    made = Memory(
        id=_id(record, text),
        text=text,
        kind=str(kind) if kind in KINDS else "learning",
        category=str(category) if category in CATEGORIES else "other",
        tags=foreign_values.tags(record.get("tags"), _in(record, "tags")),
        entities=foreign_values.slugs(_in(record, "entity_slugs"), _in(record, "entities")),
        status=_status(record.get("status"), superseded_by),
        trust=1,
        source="import",
        confidence=_confidence(record),
        created_at=created_at,
        updated_at=foreign_values.moment(record.get("updated_at")) or created_at,
        last_accessed_at=foreign_values.first(
            (foreign_values.moment(record.get("last_accessed")), _moment(record, "last_accessed_at"))
        ),
        access_count=max(foreign_values.count(value) or 0 for value in _both(record, "access_count")),
        feedback_score=_positive(_in(record, "feedback_score"), 1.0),
        feedback_count=foreign_values.count(_in(record, "feedback_count")) or 0,
        supersedes=foreign_values.ids(_in(record, "supersedes")),
        superseded_by=superseded_by,
        valid_from=_moment(record, "valid_from"),
        valid_until=_moment(record, "valid_until"),
    )
    return ordered(made)


def _in(record: Mapping[str, Any], name: str) -> Any:
    return record.get(_IN + name)


def _both(record: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    return record.get(name), _in(record, name)


def _one(record: Mapping[str, Any], name: str) -> Any:
    return foreign_values.first(_both(record, name))


def _moment(record: Mapping[str, Any], name: str) -> float | None:
    found: float | None = foreign_values.first(foreign_values.moment(value) for value in _both(record, name))
    return found


def _id(record: Mapping[str, Any], text: str) -> str:
    id = record.get("id")
    return id if isinstance(id, str) and is_id(id) else derived_id(NAME, text)


def _status(status: Any, superseded_by: str) -> str:
    if superseded_by:
        return "superseded"
    return str(status) if status in STATUSES else "candidate"


def _confidence(record: Mapping[str, Any]) -> float:
    score = foreign_values.number(_in(record, "confidence_score"))
    share = foreign_values.number(record.get("confidence"))
    if score is None:
        score = USUAL_CONFIDENCE if share is None else share if share > 1 else share * 100
    return round(min(max(score, 0.0), 100.0) / 100, 9)


def _positive(value: Any, default: float) -> float:
    number = foreign_values.number(value)
    return number if number is not None and number >= 0 else default


# Writing


def _made(memory: Memory, text_name: str) -> Fields:
    record: Fields = {"id": memory.id, text_name: memory.text}
    record |= {_IN + name: value for name, value in _metadata(memory).items()}
    record |= {"created_at": iso(memory.created_at), "confidence": memory.confidence}
    if text_name == "information":
        return record | ({"tags": _joined(memory.tags)} if memory.tags else {})
    return record | {
        "collection": COLLECTION,
        "tags": foreign_values.dumped(list(memory.tags)),
        "decay_factor": 1.0,
        "valid_from": iso(memory.valid_from),
        "valid_until": iso(memory.valid_until),
        "superseded_by": memory.superseded_by or None,
        "auto_tags": None,
        "keywords": None,
        "updated_at": iso(memory.updated_at),
        "access_count": str(memory.access_count),
        "last_accessed": iso(memory.last_accessed_at),
        "category": memory.category if memory.category != "other" else None,
        "status": "active" if memory.live else memory.status,
    }


def _metadata(memory: Memory) -> Fields:
    always = {
        "lane_version": VERSION,
        "memory_type": memory.kind,
        "entity_slugs": list(memory.entities),
        "confidence_score": foreign_values.plain_number(round(memory.confidence * 100, 9)),
        "decay_factor": 1.0,
        "feedback_score": memory.feedback_score,
        "feedback_count": memory.feedback_count,
        "access_count": memory.access_count,
    }
    sometimes = {
        "valid_from": iso(memory.valid_from),
        "valid_until": iso(memory.valid_until),
        "supersedes": list(memory.supersedes) or None,
        "superseded_by": memory.superseded_by or None,
        "last_accessed_at": iso(memory.last_accessed_at),
    }
    return always | foreign_values.without_none(sometimes)


def _joined(tags: tuple[str, ...]) -> str | list[str]:
    """Join tags with commas, as Memory Lane does; return a list if a tag itself holds a comma."""
    return list(tags) if any("," in tag or tag.startswith("[") for tag in tags) else ",".join(tags)


# Entities and relations

_LABELS = ("canonical_name", "pref_label", "alt_labels")


class EntityRows:
    """Writer of entity rows for one export: each entity gets one row and one id, however many memories name it."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def of(self, memory: Memory) -> Iterator[tuple[str, Fields]]:
        """Yield the rows that a memory adds, each with the name of its table."""
        graph = memory.extra.get("graph")
        if not isinstance(graph, Mapping):
            return
        at, types = iso(memory.created_at), {}
        for item in _listed(graph, "entities"):
            name, kind = foreign_values.text(item.get("name")), foreign_values.text(item.get("type")) or "concept"
            if name:
                types[name] = kind
                labels = {label: item[label] for label in _LABELS if isinstance(item.get(label), str)}
                id, rows = self._entity(name, kind, item.get("id"), at, labels)
                yield from rows
                yield "memory_entities", {"memory_id": memory.id, "entity_id": id, "role": _role(item)}
        for item in _listed(graph, "relations"):
            yield from self._relation(item, types, memory.id, at)

    def _entity(
        self, name: str, kind: str, id: Any, at: str | None, labels: Mapping[str, str]
    ) -> tuple[str, list[tuple[str, Fields]]]:
        """Return the id of an entity, and its row if it was not written yet."""
        known = self._ids.get((name, kind))
        if known is not None:
            return known, []
        made = self._free(id, f"ent_{_digest(name, kind)}")
        self._ids[name, kind] = made
        row = {"id": made, "name": name, "entity_type": kind, **labels, "created_at": at, "updated_at": at}
        return made, [("entities", row)]

    def _free(self, id: Any, otherwise: str) -> str:
        """Return the original id unless it is in use: files of two programs may number alike."""
        made = id if isinstance(id, str) and id and id not in self._taken else otherwise
        self._taken.add(made)
        return made

    def _relation(
        self, item: Mapping[str, Any], types: Mapping[str, str], memory: str, at: str | None
    ) -> Iterator[tuple[str, Fields]]:
        names = [foreign_values.text(item.get(end)) for end in ("source", "target")]
        if not all(names):
            return
        ends = []
        for name, end in zip(names, ("source", "target"), strict=True):
            kind = types.get(name) or foreign_values.text(item.get(f"{end}_type")) or "concept"
            id, rows = self._entity(name, kind, item.get(f"{end}_id"), at, {})
            yield from rows
            ends.append(id)
        yield self._relation_row(item, ends, memory, at)

    def _relation_row(
        self, item: Mapping[str, Any], ends: list[str], memory: str, at: str | None
    ) -> tuple[str, Fields]:
        kind, apart = foreign_values.text(item.get("type")) or "relates_to", item.get("apart")
        id = self._free(item.get("id"), f"rel_{_digest(*ends, kind, str(apart))}")
        if apart == "entity_taxonomy":
            fields = {"entity_id": ends[0], "related_entity_id": ends[1], "relationship_type": kind}
            return "entity_taxonomy", {"id": id, **fields, "created_at": at}
        confidence = foreign_values.number(item.get("confidence"))
        fields = {"subject_id": ends[0], "predicate": kind, "object_id": ends[1]}
        facts = {"memory_id": None if apart else memory, "confidence": 1.0 if confidence is None else confidence}
        return "relationships", {"id": id, **fields, **facts, "created_at": at}


def _role(item: Mapping[str, Any]) -> str:
    return foreign_values.text(item.get("role")) or "mentioned"


def _listed(graph: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = graph.get(name)
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list | tuple) else []


def _digest(*words: str) -> str:
    return blake2b("\n".join(words).encode("utf-8", "replace"), digest_size=8).hexdigest()


MOST_ROWS = 5_000  # entity rows read for one page of memories
# The tables of relations with their columns for source, type and target.
_RELATIONS = {
    "relationships": ("subject_id", "predicate", "object_id"),
    "entity_taxonomy": ("entity_id", "relationship_type", "related_entity_id"),
}


class EntityTables:
    """Reader of the entity tables of one SQLite file."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._has_entities = "id" in tables.columns("entities") and "entity_id" in tables.columns("memory_entities")

    def of(self, ids: Sequence[str]) -> dict[str, Any]:
        """Return entities and relations of these memories by id; memories without any are left out."""
        if not self._has_entities:
            return {}
        named = self._rows("memory_entities", "memory_id", ids)
        naming: dict[str, list[str]] = {}  # memories by the id of an entity
        for row in named:
            naming.setdefault(str(row.get("entity_id")), []).append(str(row.get("memory_id")))
        relations = self._relations(ids, naming)
        entities = self._entities([*naming, *(end for _, relation in relations for end in relation[:2])])
        graphs: dict[str, Any] = {}
        for row in named:
            if entity := _entity(entities.get(str(row.get("entity_id"))), row.get("role")):
                _graph(graphs, str(row.get("memory_id")))["entities"].append(entity)
        for memory, (source, target, facts) in relations:
            if relation := _relation(entities.get(source), entities.get(target), facts):
                _graph(graphs, memory)["relations"].append(relation)
        return graphs

    def _relations(
        self, ids: Sequence[str], naming: Mapping[str, Sequence[str]]
    ) -> list[tuple[str, tuple[str, str, dict[str, Any]]]]:
        """Return each relation with the id of the memory it belongs to."""
        own = self._rows("relationships", "memory_id", ids)
        relations = [(str(row.get("memory_id")), _ends(row, "relationships")) for row in own]
        for table, (begin, _, _) in _RELATIONS.items():
            for row in self._rows(table, begin, list(naming)):
                if row.get("memory_id") is None:
                    relation = _ends(row, table)
                    relations += [(memory, relation) for memory in naming[relation[0]]]
        return relations

    def _entities(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        wanted = list(dict.fromkeys(keys))[:MOST_ROWS]
        return {str(row.get("id")): row for row in self._rows("entities", "id", wanted)}

    def _rows(self, table: str, column: str, keys: Sequence[str]) -> list[dict[str, Any]]:
        found = self._tables.with_values(table, column, keys[:MOST_ROWS], MOST_ROWS)
        return [row.values for row in found if not row.problem]


def _graph(graphs: dict[str, Any], memory: str) -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = graphs.setdefault(memory, {"entities": [], "relations": []})
    return made


def _ends(row: Mapping[str, Any], table: str) -> tuple[str, str, dict[str, Any]]:
    """Return the ids of both ends of a relation, and its other facts."""
    begin, kind, end = _RELATIONS[table]
    apart = table if row.get("memory_id") is None else None
    facts = {"type": foreign_values.text(row.get(kind)) or "relates_to", "id": row.get("id"), "apart": apart}
    confidence = foreign_values.number(row.get("confidence"))
    if confidence is not None:
        facts |= {"confidence": confidence, "strength": round(min(max(10 * confidence, 1.0), 10.0), 3)}
    return str(row.get(begin)), str(row.get(end)), foreign_values.without_none(facts)


def _entity(row: Mapping[str, Any] | None, role: Any) -> dict[str, Any] | None:
    if row is None or not foreign_values.text(row.get("name")):
        return None
    entity = {
        "name": row["name"],
        "type": foreign_values.text(row.get("entity_type")) or "concept",
        "id": row.get("id"),
    }
    return entity | foreign_values.without_none({"role": role, **{name: row.get(name) for name in _LABELS}})


def _relation(
    source: Mapping[str, Any] | None, target: Mapping[str, Any] | None, facts: Mapping[str, Any]
) -> dict[str, Any] | None:
    ends = {"source": source or {}, "target": target or {}}
    names = {end: foreign_values.text(row.get("name")) for end, row in ends.items()}
    if not all(names.values()):
        return None
    more = {f"{end}_{name}": row.get(key) for end, row in ends.items() for name, key in _OF_AN_END}
    return {**names, **facts, **foreign_values.without_none(more)}


_OF_AN_END = (("id", "id"), ("type", "entity_type"))
