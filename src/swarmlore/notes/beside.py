"""What stands beside a note, shown and written: what it is about and who says so. A person asks for the file; nothing
else writes one that is a person's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.graph import RULES, origin_of, written_entities, written_relations
from swarmlore.domain.records import Entity, Memory, Relation
from swarmlore.errors import InvalidInput
from swarmlore.formats.sidecar import (
    BY_RULES,
    Sidecar,
    parse_sidecar,
    sidecar_path,
    sidecar_paths,
    with_entity,
    with_relation,
    write_sidecar,
)
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.note_places import NotePlace, decoded, read_bytes
from swarmlore.notes.copies import open_folder
from swarmlore.notes.rows import GRAPH

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T", Entity, Relation)

BY_PERSON = "a person"


@frozen
class NoteGraph:
    """What a note is about: who says so (sidecar, model, guessed; `by` is the model's name), and the file beside it; ''
    where there is none."""

    id: str
    title: str
    path: str
    origin: str
    by: str = ""
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    sidecar: str = ""

    def as_sidecar(self, day: str, by: str) -> Sidecar:
        return Sidecar(self.id, day, self.entities, self.relations, extracted_by=by)


def told_by(memory: Memory, path: str) -> NoteGraph:
    """The graph of a note as its first memory has it."""
    graph: Mapping[str, Any] = memory.extra.get(GRAPH) or {}
    there = next((beside for beside in sidecar_paths(path) if os.path.lexists(beside)), "")
    names = str(memory.source_ref.get("note", "")), memory.title
    parts = written_entities(graph), written_relations(graph)
    return NoteGraph(*names, path, origin_of(graph), str(graph.get("by") or ""), *parts, there)


def write_beside(
    place: NotePlace, known: NoteGraph, day: str, entities: Sequence[Entity] = (), relations: Sequence[Relation] = ()
) -> str:
    """Write what is known about a note into the file beside it, with what a person adds; what somebody wrote there
    stays as it is, but for that. Gives the path of the file."""
    text = _said_there(known)
    if text and not (entities or relations):
        raise InvalidInput(f"{known.sidecar} says it already", 'add to it: --entity "NAME|TYPE|DESCRIPTION"')
    by = BY_PERSON if entities or relations else BY_RULES if known.origin == RULES else known.by
    text = text or write_sidecar(known.as_sidecar(day, by))
    for entity in entities:
        text = with_entity(text, _scrubbed(entity))
    for relation in relations:
        text = with_relation(text, _scrubbed(relation))
    return _replace(place, known.sidecar or sidecar_path(known.path), text)


def _said_there(known: NoteGraph) -> str:
    """What somebody wrote beside a note; nothing where rules did, or nobody."""
    text = decoded(known.sidecar, read_bytes(known.sidecar)) if known.sidecar else ""
    return "" if text and parse_sidecar(text).is_guess else text


def _scrubbed(one: T) -> T:
    values = {spec.name: getattr(one, spec.name) for spec in fields(type(one))}
    return replace(one, **{name: scrub_text(value) for name, value in values.items() if isinstance(value, str)})


def _replace(place: NotePlace, path: str, text: str) -> str:
    from swarmlore.domain.security.redaction import redact

    below = os.path.relpath(path, place.root).replace(os.sep, "/")
    folder, _, name = below.rpartition("/")
    with open_folder(place.root, folder) as inside, inside.lock():
        inside.replace(name, [redact(text)[0].encode("utf-8")])
    return path
