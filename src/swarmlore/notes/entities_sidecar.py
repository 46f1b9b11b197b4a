"""Parse and write entity sidecars (`<note>.entities.yaml`): the entities of a note and the relations between them.

Parsing is lenient: any word is a valid type, and a plain string is an entity. GraphRAG's text format is supported too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from swarmlore.domain.language.concepts import GUESSED_STRENGTH
from swarmlore.domain.records import Entity, Relation
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.notes.yaml_edit import (
    ListNode,
    MappingNode,
    ParsedYaml,
    Scalar,
    Unreadable,
    is_nothing,
    plain,
    read,
    with_item,
    with_values,
    written,
)

if TYPE_CHECKING:
    from typing import Any


ENDING = ".entities.yaml"
ENTITIES = "entities"
RELATIONS = ("relationships", "relations")
ENTITY_TYPES = ("technology", "error", "pattern", "function", "concept", "tool")
RELATION_TYPES = ("caused_by", "solves", "requires", "relates_to")
STRENGTH = 5.0
BY_RULES = "rules"
PLACEHOLDER = Entity("knowledge_entry", "concept", "A note without a list of what it speaks of")
_PART, _RECORD, _COMPLETE = "<|>", "##", "<|COMPLETE|>"


@frozen
class Sidecar:
    """A sidecar; `problems` lists invalid items by line. `extracted_by` is `rules`, an LLM's name, or '' for a
    person."""

    document_id: str = ""
    extracted_at: str = ""
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    problems: tuple[tuple[int, str], ...] = ()
    extracted_by: str = ""

    @property
    def is_guess(self) -> bool:
        """Whether heuristics wrote it and no person changed it; without `extracted_by`, relation strengths decide."""
        strengths = {relation.strength for relation in self.relations}
        if self.extracted_by != BY_RULES:
            return not self.extracted_by and strengths == {GUESSED_STRENGTH}
        has_descriptions = any(e.description for e in self.entities) or any(r.description for r in self.relations)
        return not has_descriptions and strengths <= {GUESSED_STRENGTH}


def sidecar_paths(note_path: str) -> tuple[str, str]:
    """Return the possible sidecar paths of a note, the usual one first."""
    stem = note_path[:-3] if note_path.lower().endswith(".md") else note_path
    return stem + ENDING, f"{stem}.md{ENDING}"


def sidecar_path(note_path: str) -> str:
    """Return the path to write a note's sidecar to."""
    return sidecar_paths(note_path)[0]


def note_path(sidecar_path: str) -> str:
    """Return the note path of a sidecar; '' if the path is not a sidecar's."""
    if not sidecar_path.endswith(ENDING):
        return ""
    return sidecar_path[: -len(ENDING)].removesuffix(".md") + ".md"


def parse_sidecar(text: str) -> Sidecar:
    """Parse a sidecar; invalid items are listed in `problems`."""
    found = read(text)
    problems: list[tuple[int, str]] = []
    entities, relations = [], []
    for _, node in _places(found, (ENTITIES,)):
        if (entity := _entity(node)) is not None:
            entities.append(entity)
        else:
            problems.append((found.line(node.start) + 1, "no entity: it has no name"))
    for _, node in _places(found, RELATIONS):
        if (relation := _relation(node)) is not None:
            relations.append(relation)
        else:
            problems.append((found.line(node.start) + 1, "no relation: it needs a source and a target"))
    nodes = _table(found)
    return Sidecar(
        _text(nodes.get("document_id")),
        _text(nodes.get("extracted_at")),
        tuple(entities),
        tuple(relations),
        tuple(problems),
        _text(nodes.get("extracted_by")),
    )


def _table(found: ParsedYaml) -> dict[str, Any]:
    if is_nothing(found.root):
        return {}
    if not isinstance(found.root, MappingNode):
        raise Unreadable("it has no names at its top", f"begin with {ENTITIES}:")
    return {key.value: value for key, value in found.root.entries}


def _places(found: ParsedYaml, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, int], Any]]:
    """Yield path and node of each item of these lists."""
    nodes = _table(found)
    for name in names:
        listed = nodes.get(name)
        if isinstance(listed, ListNode):
            yield from (((name, number), item) for number, item in enumerate(listed.items))
        elif listed is not None and not is_nothing(listed):
            raise Unreadable(f"{name} is no list (line {found.line(listed.start) + 1})", "write one below the other")


def _entity(node: Any) -> Entity | None:
    if isinstance(node, Scalar):
        return Entity(_text(node)) if _text(node) else None
    nodes = _nodes_of(node)
    name = _text(nodes.get("name"))
    return Entity(name, _text(nodes.get("type")) or "concept", _text(nodes.get("description"))) if name else None


def _relation(node: Any) -> Relation | None:
    nodes = _nodes_of(node)
    source, target = _text(nodes.get("source")), _text(nodes.get("target"))
    if not source or not target:
        return None
    kind = _text(nodes.get("type")) or _text(nodes.get("kind")) or "relates_to"
    return Relation(source, target, kind, _text(nodes.get("description")), _strength(_text(nodes.get("strength"))))


def _nodes_of(node: Any) -> dict[str, Any]:
    return {key.value: value for key, value in node.entries} if isinstance(node, MappingNode) else {}


def _text(node: Any) -> str:
    return node.value.strip() if isinstance(node, Scalar) and not is_nothing(node) else ""


def _strength(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return STRENGTH
    return STRENGTH if math.isnan(number) else min(10.0, max(1.0, number))


def write_sidecar(sidecar: Sidecar) -> str:
    """Return the YAML text of a new sidecar."""
    head = {name: getattr(sidecar, name) for name in ("document_id", "extracted_at", "extracted_by")}
    values: dict[str, Any] = {name: value for name, value in head.items() if value}
    values[ENTITIES] = [_entity_fields(entity) for entity in sidecar.entities]
    values[RELATIONS[0]] = [_relation_fields(relation) for relation in sidecar.relations]
    return written(values)


def with_entity(text: str, entity: Entity) -> str:
    """Return the text with an entity updated, by name, or added."""
    found = read(text)
    for path, node in _places(found, (ENTITIES,)):
        known = _entity(node)
        if known is not None and known.name.casefold() == entity.name.casefold():
            return _with_changes(found, path, node, _changes(_entity_fields(known), _entity_fields(entity), "name"))
    return with_item(found, (ENTITIES,), _entity_fields(entity))


def with_relation(text: str, relation: Relation) -> str:
    """Return the text with a relation updated, by source, target and kind, or added."""
    found = read(text)
    for path, node in _places(found, RELATIONS):
        known = _relation(node)
        if known is not None and _key_of(known) == _key_of(relation):
            changes = _changes(_relation_fields(known), _relation_fields(relation), "source", "target", "type")
            return _with_changes(found, path, node, changes)
    name = RELATIONS[1] if RELATIONS[1] in _table(found) and RELATIONS[0] not in _table(found) else RELATIONS[0]
    return with_item(found, (name,), _relation_fields(relation))


def _with_changes(found: ParsedYaml, path: tuple[str, int], node: Any, changes: Mapping[str, Any]) -> str:
    if not changes:
        return found.text
    if isinstance(node, Scalar):
        return with_values(found, {path: {"name": plain(node), **changes}})
    return with_values(found, {(*path, name): value for name, value in changes.items()})


def _changes(known: Mapping[str, Any], wanted: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return the fields that differ, apart from the key fields; empty values remove nothing."""
    return {
        name: value for name, value in wanted.items() if name not in keys and value != "" and value != known.get(name)
    }


def _key_of(relation: Relation) -> tuple[str, str, str]:
    return relation.source.casefold(), relation.target.casefold(), relation.kind


def _entity_fields(entity: Entity) -> dict[str, Any]:
    fields = {"name": entity.name, "type": entity.type, "description": entity.description}
    return {name: value for name, value in fields.items() if value}


def _relation_fields(relation: Relation) -> dict[str, Any]:
    fields = {
        "source": relation.source,
        "target": relation.target,
        "type": relation.kind,
        "description": relation.description,
        "strength": min(10.0, max(1.0, float(relation.strength))),
    }
    return {name: value for name, value in fields.items() if value}


def to_graphrag(sidecar: Sidecar | None) -> str:
    """Return entities and relations in GraphRAG's text format; without a sidecar, a placeholder entity."""
    if sidecar is None:
        sidecar = Sidecar(entities=(PLACEHOLDER,))
    records = [("entity", item.name, item.type, item.description) for item in sidecar.entities]
    lines = [_record(record) for record in records]
    for item in sidecar.relations:
        parts = _record(("relationship", item.source, item.target, item.description))
        lines.append(f"{parts[:-1]}{_PART}{item.strength:g})")
    return f"\n{_RECORD}\n".join(lines) + _COMPLETE


def _record(parts: tuple[str, ...]) -> str:
    return "(" + _PART.join(f'"{_in_line(part)}"' for part in parts) + ")"


def _in_line(text: str) -> str:
    """Escape the delimiters of the format in a text."""
    return " ".join(text.split()).replace("<|", "< |").replace(_RECORD, "# #")


def is_graphrag(text: str) -> bool:
    """Return whether a text is in GraphRAG's format, not YAML."""
    return text.lstrip().startswith(('("entity"', '("relationship"', _COMPLETE))


def from_graphrag(text: str) -> Sidecar:
    """Parse GraphRAG's text format; the placeholder and other lines are skipped."""
    entities, relations = [], []
    for record in text.split(_COMPLETE)[0].split(_RECORD):
        kind, *parts = [_unquoted(part) for part in record.strip().removeprefix("(").removesuffix(")").split(_PART)]
        if kind == "entity" and parts and parts[0] and parts[0] != PLACEHOLDER.name:
            entities.append(Entity(parts[0], *_filled(parts[1:3], ("concept", ""))))
        elif kind == "relationship" and len(parts) > 1 and parts[0] and parts[1]:
            description, strength = _filled(parts[2:4], ("", ""))
            relations.append(Relation(parts[0], parts[1], "relates_to", description, _strength(strength)))
    return Sidecar(entities=tuple(entities), relations=tuple(relations))


def _filled(parts: list[str], defaults: tuple[str, str]) -> tuple[str, str]:
    first, second, *_ = [*parts, *[""] * 2]
    return first or defaults[0], second or defaults[1]


def _unquoted(part: str) -> str:
    part = part.strip()
    return part[1:-1].strip() if len(part) > 1 and part[0] == part[-1] == '"' else part
