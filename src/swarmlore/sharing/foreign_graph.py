"""What swarm-mail's tables say about memories: the entities they name, and how those stand to each other.

It comes with the memories, as a note's sidecar does. A relation that no memory tells, and a taxonomy, come with the
memories that name the entity they begin at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from swarmlore.formats.elsewhere import values
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store.tables import Tables

if TYPE_CHECKING:
    from typing import Any

MOST_ROWS = 5_000  # about the entities of a page of memories
_LABELS = ("canonical_name", "pref_label", "alt_labels")
# Where a relation stands, and what its columns are called there.
_RELATIONS = {
    "relationships": ("subject_id", "predicate", "object_id"),
    "entity_taxonomy": ("entity_id", "relationship_type", "related_entity_id"),
}


class EntityTables:
    """These tables of one file."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._there = "id" in tables.columns("entities") and "entity_id" in tables.columns("memory_entities")

    def of(self, ids: Sequence[str]) -> dict[str, Any]:
        """The graph of each of these memories that has one."""
        if not self._there:
            return {}
        named = self._rows("memory_entities", "memory_id", ids)
        naming: dict[str, list[str]] = {}
        for row in named:
            naming.setdefault(str(row.get("entity_id")), []).append(str(row.get("memory_id")))
        told = self._told(ids, naming)
        entities = self._entities([*naming, *(end for _, relation in told for end in relation[:2])])
        graphs: dict[str, Any] = {}
        for row in named:
            if entity := _entity(entities.get(str(row.get("entity_id"))), row.get("role")):
                _graph(graphs, str(row.get("memory_id")))["entities"].append(entity)
        for memory, (source, target, facts) in told:
            if relation := _relation(entities.get(source), entities.get(target), facts):
                _graph(graphs, memory)["relations"].append(relation)
        return graphs

    def _told(
        self, ids: Sequence[str], naming: Mapping[str, Sequence[str]]
    ) -> list[tuple[str, tuple[str, str, dict[str, Any]]]]:
        """Each relation with the memory it comes with."""
        own = self._rows("relationships", "memory_id", ids)
        found = [(str(row.get("memory_id")), _ends(row, "relationships")) for row in own]
        for table, (begin, _, _) in _RELATIONS.items():
            for row in self._rows(table, begin, list(naming)):
                if row.get("memory_id") is None:
                    told = _ends(row, table)
                    found += [(memory, told) for memory in naming[told[0]]]
        return found

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
    begin, kind, end = _RELATIONS[table]
    apart = table if row.get("memory_id") is None else None
    facts = {"type": values.text(row.get(kind)) or "relates_to", "id": row.get("id"), "apart": apart}
    confidence = values.number(row.get("confidence"))
    if confidence is not None:
        facts |= {"confidence": confidence, "strength": round(min(max(10 * confidence, 1.0), 10.0), 3)}
    return str(row.get(begin)), str(row.get(end)), values.without_nothing(facts)


def _entity(row: Mapping[str, Any] | None, role: Any) -> dict[str, Any] | None:
    if row is None or not values.text(row.get("name")):
        return None
    said = {"name": row["name"], "type": values.text(row.get("entity_type")) or "concept", "id": row.get("id")}
    return said | values.without_nothing({"role": role, **{name: row.get(name) for name in _LABELS}})


def _relation(
    source: Mapping[str, Any] | None, target: Mapping[str, Any] | None, facts: Mapping[str, Any]
) -> dict[str, Any] | None:
    ends = {"source": source or {}, "target": target or {}}
    names = {end: values.text(row.get("name")) for end, row in ends.items()}
    if not all(names.values()):
        return None
    more = {f"{end}_{name}": row.get(key) for end, row in ends.items() for name, key in _OF_AN_END}
    return {**names, **facts, **values.without_nothing(more)}


_OF_AN_END = (("id", "id"), ("type", "entity_type"))
