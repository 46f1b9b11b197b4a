"""Format of the reference memory server of the Model Context Protocol: entities with observations, and relations.

Each observation becomes a memory that names its entity, each relation a memory that states it; an entity without
observations becomes one that states its type. Exported are first the entities, then the relations, one per line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from swarmlore.compat import foreign_values
from swarmlore.domain.records import Memory
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.workspace.jsonl import BadLine

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.compat.foreign_values import Fields


NAME = "mcp_memory"
MOST_OBSERVATIONS = 100_000  # in one line
_ENTITY = ("type", "name", "entityType", "observations")
_RELATION = ("type", "from", "to", "relationType")


def from_object(obj: Mapping[str, Any], number: int = 0) -> list[Memory]:
    """Read a line into memories; `number` is its line number, which the export sorts by."""
    kind = obj.get("type")
    if kind == "relation" or (kind is None and "relationType" in obj):
        return [_of_relation(obj, number)]
    if kind == "entity" or (kind is None and "entityType" in obj):
        return list(_of_entity(obj, number))
    raise BadLine("neither an entity nor a relation")


def _of_entity(obj: Mapping[str, Any], number: int) -> Iterator[Memory]:
    name, type = _word(obj, "name"), _word(obj, "entityType", needed=False)
    seen = obj.get("observations", [])
    if not isinstance(seen, list) or len(seen) > MOST_OBSERVATIONS:
        raise BadLine("observations are no list of texts")
    odd = [item for item in seen if not isinstance(item, str) or not item.strip()]
    rest = {key: value for key, value in obj.items() if key not in _ENTITY} | ({"odd": odd} if odd else {})
    observations = [item for item in seen if isinstance(item, str) and item.strip()]
    place = {"entity": name, "entityType": type}
    graph = {"entities": [{"name": name, "type": type or "concept"}], "relations": []}
    for at, observation in enumerate(dict.fromkeys(observations)):
        kept = {**place, "observation": observation, "at": [number, at], **({"rest": rest} if rest and not at else {})}
        yield _made(_sentence(name, observation), f"{name}\n{observation}", kept, graph)
    if not observations:
        kept = {**place, "at": [number, 0], **({"rest": rest} if rest else {})}
        yield _made(f"{name} is of the type {type or 'concept'}", f"{name}\n", kept, graph)


def _of_relation(obj: Mapping[str, Any], number: int) -> Memory:
    source, target, kind = _word(obj, "from"), _word(obj, "to"), _word(obj, "relationType")
    rest = {key: value for key, value in obj.items() if key not in _RELATION}
    relation = {"from": source, "to": target, "relationType": kind}
    kept = {"relation": relation, "at": [number, 0], **({"rest": rest} if rest else {})}
    graph = {"entities": [], "relations": [{"source": source, "target": target, "type": kind}]}
    return _made(f"{source} {kind.replace('_', ' ')} {target}", f"{source}\n{kind}\n{target}", kept, graph)


def _made(text: str, key: str, kept: Fields, graph: Fields) -> Memory:
    """Return a memory whose id is derived from `key`, and which keeps its original fields."""
    extra = {NAME: kept, "graph": graph}
    return Memory(id=derived_id(NAME, key), text=text, trust=1, source="import", extra=extra)


def _sentence(name: str, observation: str) -> str:
    """Prefix an observation with the name of its entity, unless it names the entity itself."""
    text = observation.strip()
    return text if name.casefold() in text.casefold() else f"{name}: {text}"


def _word(obj: Mapping[str, Any], name: str, *, needed: bool = True) -> str:
    """Return a text field; raise BadLine if it is no text, or empty although it is needed."""
    value = obj.get(name, "")
    if not isinstance(value, str) or (needed and not value.strip()):
        raise BadLine(f"no {name}")
    return value


# Writing


@frozen
class Graph:
    """The graph during an export: entities by name, distinct relations, and the sort key of each in `order`."""

    entities: dict[str, Fields]
    relations: dict[tuple[str, str, str], Fields]
    order: dict[Any, tuple[int, int, int]]


def to_objects(memories: Iterable[Memory], project: str) -> Iterator[Fields]:
    """Write memories as the objects of a file; memories without an entity become observations of the project."""
    graph = Graph({}, {}, {})
    for number, memory in enumerate(memories):
        _add(graph, memory, project, number)
    for name in sorted(graph.entities, key=lambda name: graph.order[name]):
        entity = graph.entities[name]
        seen = sorted(entity["observations"].items(), key=lambda item: item[1])
        yield {**entity, "observations": [observation for observation, _ in seen]}
    for key in sorted(graph.relations, key=lambda key: graph.order[key]):
        yield graph.relations[key]


def _add(graph: Graph, memory: Memory, project: str, number: int) -> None:
    """Add a memory to the graph: as its original relation or observation, or as an observation of its subject."""
    kept = foreign_values.kept_by(memory, NAME)
    relation = kept.get("relation")
    if isinstance(relation, Mapping):
        if _says(memory, _of_relation({**relation}, 0).text):
            _relate(graph, _relation_words(relation), _rest(kept), _place(kept, number))
            return
        kept = {}  # it was reworded here, so it no longer states that relation
    name = kept.get("entity")
    if isinstance(name, str) and name:
        entity = _entity(graph, name, str(kept.get("entityType", "")), _place(kept, number))
        entity.update(_rest(kept))
        _observe(entity, memory, kept, _place(kept, number))
        return
    name, kind = _subject(memory, project)
    entity = _entity(graph, name, kind, _place(kept, number))
    entity["observations"].setdefault(memory.text, _place(kept, number))
    _add_relations(graph, memory, number)


def _observe(entity: Fields, memory: Memory, kept: Mapping[str, Any], place: tuple[int, int, int]) -> None:
    """Add the original observation, or the text of the memory if that was edited since."""
    observation, name = kept.get("observation"), str(kept.get("entity"))
    if isinstance(observation, str) and _says(memory, _sentence(name, observation)):
        entity["observations"].setdefault(observation, place)
    elif isinstance(observation, str) or not _says(
        memory, f"{name} is of the type {entity['entityType'] or 'concept'}"
    ):
        entity["observations"].setdefault(memory.text, place)


def _says(memory: Memory, text: str) -> bool:
    """Whether the text of a memory equals another one, apart from white space."""
    return " ".join(memory.text.split()) == " ".join(text.split())


def _entity(graph: Graph, name: str, kind: str, place: tuple[int, int, int]) -> Fields:
    graph.order[name] = min(place, graph.order.get(name, place))
    return graph.entities.setdefault(name, {"type": "entity", "name": name, "entityType": kind, "observations": {}})


def _add_relations(graph: Graph, memory: Memory, number: int) -> None:
    """Add the relations in a memory's own graph, with their entities."""
    own = memory.extra.get("graph")
    listed = own.get("relations") if isinstance(own, Mapping) else None
    for at, item in enumerate(listed if isinstance(listed, list) else ()):
        fields = item if isinstance(item, Mapping) else {}
        source, target, kind = (foreign_values.text(fields.get(key)) for key in ("source", "target", "type"))
        if source and target and kind:
            place = (1, number, at)
            for name in (source, target):
                _entity(graph, name, "concept", place)
            _relate(graph, (source, target, kind), {}, place)


def _relate(graph: Graph, words: tuple[str, str, str], rest: Fields, place: tuple[int, int, int]) -> None:
    source, target, kind = words
    made = {"type": "relation", "from": source, "to": target, "relationType": kind, **rest}
    graph.relations.setdefault(words, made)
    graph.order[words] = min(place, graph.order.get(words, place))


def _relation_words(relation: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(relation.get("from")), str(relation.get("to")), str(relation.get("relationType"))


def _rest(kept: Mapping[str, Any]) -> Fields:
    """Return the fields of the original object that have no place in a memory."""
    rest = kept.get("rest")
    rest = dict(rest) if isinstance(rest, Mapping) else {}
    return {name: value for name, value in rest.items() if name not in (*_ENTITY, "odd")}


def _place(kept: Mapping[str, Any], number: int) -> tuple[int, int, int]:
    """Return the sort key of an object: its place in the original file; our own memories come after those."""
    at = kept.get("at")
    if isinstance(at, list) and len(at) == 2 and all(isinstance(item, int) for item in at):
        return (0, at[0], at[1])
    return (1, number, 0)


def _subject(memory: Memory, project: str) -> tuple[str, str]:
    """Return name and type of the entity that a memory of ours is exported under."""
    if memory.entities:
        kind, _, name = memory.entities[0].partition(":")
        return name, kind
    return project or "project", "project"


def is_graph(obj: Mapping[str, Any]) -> bool:
    """Whether an object is an entity or a relation of the memory server."""
    kind = obj.get("type")
    return (kind == "entity" and "name" in obj and "entityType" in obj) or (
        kind == "relation" and "relationType" in obj
    )
