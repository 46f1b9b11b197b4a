"""New notes: written for somebody who said something worth a page, or taken in from a file. Nothing is overwritten
unless that was asked for."""

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
        text = with_entity(text, _scrubbed_record(entity))
    for relation in relations:
        text = with_relation(text, _scrubbed_record(relation))
    return _replace(place, known.sidecar or sidecar_path(known.path), text)


def _said_there(known: NoteGraph) -> str:
    """What somebody wrote beside a note; nothing where rules did, or nobody."""
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
    """A note that was written: where (below its place), its id, and whether it took the place of another."""

    path: str
    id: str
    replaced: bool = False


def compose(text: str, said: Mapping[str, Any], day: str) -> tuple[Note, str]:
    """A whole note from a text and what was said about it; a head that the text has already counts where nothing else
    was said. Secrets are gone from it."""
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
    whole = write_note(fields, f"\n{body}")
    return parse_note(whole), whole


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return scrub_text(value)
    return [scrub_text(item) for item in value] if isinstance(value, (list, tuple)) else value


def _first_line(body: str) -> str:
    lines = (line.lstrip("#").strip() for line in body.split("\n"))
    return next((line for line in lines if line), "")


def _first_plain_line(body: str) -> str:
    """The first line that is no heading, where there is one."""
    lines = [line.strip() for line in body.split("\n") if line.strip()]
    return next((line for line in lines if not line.startswith("#")), _first_line(body))


def _sentence_of(line: str) -> str:
    end = line.find(". ")
    return line[: end + 1] if end > 0 else line


def write_new(place: NotePlace, note: Note, whole: str, beside: bytes) -> Made:
    """Write a note under a name that is free; with what it is about beside it."""
    if place.name == "project":
        folder = f"{SOLUTIONS}/{_name(note.category) or DEFAULT_CATEGORY}"
        stem = _name(note.title) or note.id
    else:
        folder, stem = LEARNINGS, note.id
    with open_folder(place.root, folder, make=True) as inside, inside.lock():
        name = next((name for name in _names(stem) if not inside.has(name)), "")
        if not name:
            raise InvalidInput(f"there are too many notes called {stem}", "give it another title: --title TEXT")
        inside.replace(name, [whole.encode("utf-8")])
        if beside and not inside.has(sidecar_path(name)):
            inside.replace(sidecar_path(name), [beside])
    return Made(f"{folder}/{name}", note.id)


def _names(stem: str) -> Sequence[str]:
    return [f"{stem}.md", *(f"{stem}-{number}.md" for number in range(2, MOST_NAMES))]


def _name(text: str) -> str:
    """A name for a file or folder, cut between words."""
    name = slug(text)
    return name if len(name) <= _NAME_CHARS else (name[:_NAME_CHARS].rsplit("-", 1)[0] or name[:_NAME_CHARS])


def sidecar_of(note: Note, day: str) -> bytes:
    """What a note is about, by rules, as a file beside it; nothing where the rules find nothing."""
    graph, _ = graph_of(note, b"")
    if not graph.entities:
        return b""
    made = Sidecar(note.id, day, graph.entities, graph.relations, extracted_by=BY_RULES)
    return write_sidecar(made).encode("utf-8")


# Taking in a file


@frozen
class Offered:
    """A file that is to be added to the notes for every project."""

    path: str
    note: Note
    text: str
    beside: bytes

    @property
    def name(self) -> str:
        return f"{self.note.id}.md"


def offered(path: str, entities: str, day: str) -> Offered:
    """A file as a note that can be added; raises where it lacks something or cannot be read."""
    text = _redacted(path)
    note = parse_note(text)
    if missing := missing_for_add(note):
        names = ", ".join(missing)
        raise InvalidInput(
            f"{os.path.basename(path)} has no {names}", f"write {names} into its head, between --- lines"
        )
    return Offered(path, note, text, _entities(path, entities) or sidecar_of(note, day))


def _entities(path: str, entities: str) -> bytes:
    """The sidecar that was named, or that stands beside the file; it is read once, so that no broken one is added."""
    found = entities or next((beside for beside in sidecar_paths(path) if os.path.lexists(beside)), "")
    if not found:
        return b""
    text = _redacted(found)
    if is_graphrag(text):
        text = write_sidecar(from_graphrag(text))
    parse_sidecar(text)
    return text.encode("utf-8")


def _redacted(path: str) -> str:
    """A file's text without secrets and else as it is: a copy that is the same follows its original."""
    from swarmlore.domain.security.redaction import redact

    return redact(decoded(path, read_bytes(path)))[0]


def place_of(place: NotePlace, offer: Offered) -> str:
    """Where a file lies among the notes for every project, under its id; '' where it does not yet."""
    if os.path.dirname(os.path.realpath(offer.path)) == os.path.realpath(place.path(LEARNINGS)):
        return f"{LEARNINGS}/{os.path.basename(offer.path)}"
    known = f"{LEARNINGS}/{offer.name}"
    return known if os.path.lexists(place.path(known)) else ""


def add(place: NotePlace, offer: Offered, *, force: bool) -> Made:
    """Write a file into the folder of notes for every project, under its id; one that is there stays without force."""
    known = place_of(place, offer)
    if known and os.path.realpath(place.path(known)) == os.path.realpath(offer.path):
        return Made(known, offer.note.id, True)  # it lies there already
    with open_folder(place.root, LEARNINGS, make=True) as target, target.lock():
        taken = target.has(offer.name)
        if taken and not force:
            raise InvalidInput(f"{offer.note.id} is there already", "replace it: swarmlore learnings add FILE --force")
        target.replace(offer.name, [offer.text.encode("utf-8")])
        if offer.beside:
            target.replace(sidecar_path(offer.name), [offer.beside])
    return Made(f"{LEARNINGS}/{offer.name}", offer.note.id, taken)
