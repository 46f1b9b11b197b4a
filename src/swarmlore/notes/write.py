"""Write new notes and sidecars, and add files as notes; an existing file is only replaced on request."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from swarmlore.domain.language.display import slug, whole_words
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.graph import RULES, origin_of, written_entities, written_relations
from swarmlore.domain.records import Entity, Memory, Relation
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.notes.entities_sidecar import (
    BY_RULES,
    Sidecar,
    from_graphrag,
    is_graphrag,
    parse_sidecar,
    sidecar_path,
    sidecar_paths,
    with_entity,
    with_relation,
    write_sidecar,
)
from swarmlore.notes.locations import LEARNINGS, SOLUTIONS, NotePlace, decoded, read_bytes
from swarmlore.notes.note_format import Note, missing_for_add, parse_note, write_note
from swarmlore.notes.rows import GRAPH
from swarmlore.notes.shared_copies import open_folder
from swarmlore.notes.sync import graph_of

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T", Entity, Relation)


BY_PERSON = "a person"


@frozen
class NoteGraph:
    """Graph of a note and its origin: sidecar, model (`by` is its name) or guessed; `sidecar` is its file or ''."""

    id: str
    title: str
    path: str
    origin: str
    by: str = ""
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    sidecar: str = ""

    def as_sidecar(self, day: str, by: str) -> Sidecar:
        """Return the graph as a sidecar."""
        return Sidecar(self.id, day, self.entities, self.relations, extracted_by=by)


def graph_of_memory(memory: Memory, path: str) -> NoteGraph:
    """Return the graph of a note from its first memory."""
    graph: Mapping[str, Any] = memory.extra.get(GRAPH) or {}
    sidecar = next(filter(os.path.lexists, sidecar_paths(path)), "")
    names = str(memory.source_ref.get("note", "")), memory.title
    parts = written_entities(graph), written_relations(graph)
    return NoteGraph(*names, path, origin_of(graph), str(graph.get("by") or ""), *parts, sidecar)


def write_beside(
    place: NotePlace, known: NoteGraph, day: str, entities: Sequence[Entity] = (), relations: Sequence[Relation] = ()
) -> str:
    """Write the graph of a note and a person's additions into its sidecar; existing text is kept. Return the path."""
    text = _sidecar_text(known)
    if text and not (entities or relations):
        raise InvalidInput(f"{known.sidecar} says it already", 'add to it: --entity "NAME|TYPE|DESCRIPTION"')
    by = BY_PERSON if entities or relations else BY_RULES if known.origin == RULES else known.by
    text = text or write_sidecar(known.as_sidecar(day, by))
    for entity in entities:
        text = with_entity(text, _scrubbed_record(entity))
    for relation in relations:
        text = with_relation(text, _scrubbed_record(relation))
    return _replace(place, known.sidecar or sidecar_path(known.path), text)


def _sidecar_text(known: NoteGraph) -> str:
    """Return the text of a sidecar that a person wrote; '' if heuristics wrote it or there is none."""
    text = decoded(known.sidecar, read_bytes(known.sidecar)) if known.sidecar else ""
    return "" if text and parse_sidecar(text).is_guess else text


def _scrubbed_record(one: T) -> T:
    values = {spec.name: getattr(one, spec.name) for spec in fields(type(one))}
    return replace(one, **{name: scrub_text(value) for name, value in values.items() if isinstance(value, str)})


def _replace(place: NotePlace, path: str, text: str) -> str:
    from swarmlore.domain.security.redaction import redact

    below = os.path.relpath(path, place.root).replace(os.sep, "/")
    folder, _, name = below.rpartition("/")
    with open_folder(place.root, folder) as inside, inside.lock():
        inside.replace(name, [redact(text)[0].encode("utf-8")])
    return path


DEFAULT_CATEGORY = "other"
_NAME_CHARS = 60
_INSIGHT_CHARS = 280
_TITLE_CHARS = 120
MOST_NAMES = 1_000


@frozen
class Made:
    """A note that was written: its path below its place, its id, and whether it replaced another."""

    path: str
    id: str
    replaced: bool = False


def compose(text: str, said: Mapping[str, Any], day: str) -> tuple[Note, str]:
    """Build a redacted note from a text and given fields, which override the text's front matter and the defaults."""
    given = parse_note(scrub_text(text))
    body = given.body.strip("\r\n") + "\n"
    fields: dict[str, Any] = {
        "title": whole_words(_sentence_of(_first_line(body)).rstrip(" ."), _TITLE_CHARS),
        "category": DEFAULT_CATEGORY,
        "key_insight": whole_words(_sentence_of(_first_plain_line(body)), _INSIGHT_CHARS),
        "created": day,
        "confidence": "medium",
        **{name: value for name, value in given.fields.items() if value},
        **{name: _scrubbed(value) for name, value in said.items() if value not in ("", None, ())},
    }
    if not str(fields["title"]).strip():
        raise InvalidInput("there is no text for a note", 'say it: swarmlore remember --note "TEXT"')
    content = write_note(fields, f"\n{body}")
    return parse_note(content), content


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return scrub_text(value)
    return [scrub_text(item) for item in value] if isinstance(value, (list, tuple)) else value


def _first_line(body: str) -> str:
    lines = (line.lstrip("#").strip() for line in body.split("\n"))
    return next((line for line in lines if line), "")


def _first_plain_line(body: str) -> str:
    """Return the first line that is not a heading, else the first line."""
    lines = [line.strip() for line in body.split("\n") if line.strip()]
    return next((line for line in lines if not line.startswith("#")), _first_line(body))


def _sentence_of(line: str) -> str:
    end = line.find(". ")
    return line[: end + 1] if end > 0 else line


def write_new(place: NotePlace, note: Note, content: str, beside: bytes) -> Made:
    """Write a note under a free name, with its sidecar."""
    if place.name == "project":
        folder = f"{SOLUTIONS}/{_name(note.category) or DEFAULT_CATEGORY}"
        stem = _name(note.title) or note.id
    else:
        folder, stem = LEARNINGS, note.id
    with open_folder(place.root, folder, make=True) as inside, inside.lock():
        names = (f"{stem}.md", *(f"{stem}-{number}.md" for number in range(2, MOST_NAMES)))
        name = next((name for name in names if not inside.has(name)), "")
        if not name:
            raise InvalidInput(f"there are too many notes called {stem}", "give it another title: --title TEXT")
        inside.replace(name, [content.encode("utf-8")])
        if beside and not inside.has(sidecar_path(name)):
            inside.replace(sidecar_path(name), [beside])
    return Made(f"{folder}/{name}", note.id)


def _name(text: str) -> str:
    """Return a slug for a file or folder, cut between words."""
    name = slug(text)
    return name if len(name) <= _NAME_CHARS else (name[:_NAME_CHARS].rsplit("-", 1)[0] or name[:_NAME_CHARS])


def sidecar_of(note: Note, day: str) -> bytes:
    """Return a sidecar with the entities that heuristics find in a note; b'' if they find none."""
    graph, _ = graph_of(note, b"")
    if not graph.entities:
        return b""
    made = Sidecar(note.id, day, graph.entities, graph.relations, extracted_by=BY_RULES)
    return write_sidecar(made).encode("utf-8")


@frozen
class Offered:
    """A file to be added to the user's notes."""

    path: str
    note: Note
    text: str
    beside: bytes

    @property
    def name(self) -> str:
        """The file name that the note will have."""
        return f"{self.note.id}.md"


def offered(path: str, entities: str, day: str) -> Offered:
    """Read a file as a note to add; raise if a required field is missing or it is unreadable."""
    text = _redacted(path)
    note = parse_note(text)
    if missing := missing_for_add(note):
        names = ", ".join(missing)
        raise InvalidInput(
            f"{os.path.basename(path)} has no {names}", f"write {names} into its head, between --- lines"
        )
    return Offered(path, note, text, _entities(path, entities) or sidecar_of(note, day))


def _entities(path: str, entities: str) -> bytes:
    """Return the named or adjacent sidecar as YAML, b'' without one; raise if it is invalid."""
    found = entities or next(filter(os.path.lexists, sidecar_paths(path)), "")
    if not found:
        return b""
    text = _redacted(found)
    if is_graphrag(text):
        text = write_sidecar(from_graphrag(text))
    parse_sidecar(text)
    return text.encode("utf-8")


def _redacted(path: str) -> str:
    """Return a file's text with secrets redacted and otherwise unchanged, so that a copy equals its original."""
    from swarmlore.domain.security.redaction import redact

    return redact(decoded(path, read_bytes(path)))[0]


def place_of(place: NotePlace, offer: Offered) -> str:
    """Return the path of a note in the user's notes, by its id; '' if it is not there."""
    if os.path.dirname(os.path.realpath(offer.path)) == os.path.realpath(place.path(LEARNINGS)):
        return f"{LEARNINGS}/{os.path.basename(offer.path)}"
    known = f"{LEARNINGS}/{offer.name}"
    return known if os.path.lexists(place.path(known)) else ""


def add(place: NotePlace, offer: Offered, *, force: bool) -> Made:
    """Write a file into the user's notes under its id; an existing note is only replaced with `force`."""
    known = place_of(place, offer)
    if known and os.path.realpath(place.path(known)) == os.path.realpath(offer.path):
        return Made(known, offer.note.id, True)  # the file is already in the folder
    with open_folder(place.root, LEARNINGS, make=True) as target, target.lock():
        taken = target.has(offer.name)
        if taken and not force:
            raise InvalidInput(f"{offer.note.id} is there already", "replace it: swarmlore learnings add FILE --force")
        target.replace(offer.name, [offer.text.encode("utf-8")])
        if offer.beside:
            target.replace(sidecar_path(offer.name), [offer.beside])
    return Made(f"{LEARNINGS}/{offer.name}", offer.note.id, taken)
