"""learnings entities: what a note is about, shown, written beside it, or as GraphRAG reads it."""

from __future__ import annotations

from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_notes
from swarmlore.surfaces.cli.desk import Desk

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Entity, Relation
    from swarmlore.lore import Lore
    from swarmlore.notes.write import NoteGraph

PARTED = "|"
ENTITY, RELATION = "NAME|TYPE|DESCRIPTION", "SOURCE|TYPE|TARGET|STRENGTH"


def entities_arguments(parser: Any) -> None:
    parser.add_argument("--write", action="store_true", help="write it into <note>.entities.yaml, at a terminal")
    parser.add_argument(
        "--entity",
        action="append",
        metavar="A|TYPE|TEXT",
        help="add or change one there: its name, type and description; may be repeated",
    )
    parser.add_argument(
        "--relation", action="append", metavar="A|TYPE|B|N", help="the same for a relation: from, type, to, strength"
    )
    parser.add_argument("--graphrag", action="store_true", help="show it as GraphRAG reads it")


def run_entities(desk: Desk, lore: Lore) -> int:
    args = desk.args
    if len(args.words) != 1:
        raise InvalidInput("name one note", "swarmlore learnings entities docs/solutions/CATEGORY/NOTE.md")
    (ref,) = args.words
    entities, relations = tuple(map(_entity, args.entity or ())), tuple(map(_relation, args.relation or ()))
    if args.write or entities or relations:
        told = lore.notes.write_about(ref, entities, relations)
    else:
        told = lore.notes.about(ref)
    if args.graphrag:
        return _as_graphrag(desk, told)
    return desk.show(lambda: _document(told), lambda page: render_notes.about(told, page))


def _as_graphrag(desk: Desk, told: NoteGraph) -> int:
    from swarmlore.notes.entities_sidecar import to_graphrag

    text = to_graphrag(told.as_sidecar("", "") if told.entities or told.relations else None)
    return desk.show(lambda: {"graphrag": text}, lambda _: text, whole=True)


def _document(told: NoteGraph) -> dict[str, Any]:
    names = ("id", "title", "path", "origin", "by", "sidecar")
    entities = [{"name": one.name, "type": one.type, "description": one.description} for one in told.entities]
    relations = [
        {"source": r.source, "target": r.target, "type": r.kind, "description": r.description, "strength": r.strength}
        for r in told.relations
    ]
    return {**{name: getattr(told, name) for name in names}, "entities": entities, "relationships": relations}


def _parts(text: str, least: int, form: str) -> list[str]:
    parts = [" ".join(part.split()) for part in text.split(PARTED)]
    most = form.count(PARTED) + 1
    if not least <= len(parts) <= most or not all(parts[:least]):
        raise InvalidInput(f"{text!r} cannot be read", f"write it as {form!r}; what stands last may be left out")
    return parts + [""] * (most - len(parts))


def _entity(text: str) -> Entity:
    from swarmlore.domain.language.concepts import type_of
    from swarmlore.domain.records import Entity

    name, type, description = _parts(text, 1, ENTITY)
    return Entity(name, type or type_of(name), description)


def _relation(text: str) -> Relation:
    from swarmlore.domain.records import Relation

    source, kind, target, strength = _parts(text, 3, RELATION)
    try:
        number = float(strength or 5)
    except ValueError:
        number = 0.0
    if not 1 <= number <= 10:
        raise InvalidInput(f"the strength {strength!r} is none", "from 1 to 10")
    return Relation(source, target, kind, "", number)
