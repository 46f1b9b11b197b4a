"""The file of a note and what stands beside it, read and understood."""

from __future__ import annotations

import os
from collections.abc import Mapping

from swarmlore import note_places
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.graph import RULES, SIDECAR
from swarmlore.errors import NotAllowed, SwarmloreError
from swarmlore.formats.notes import Note, note_id, parse_note
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.note_places import GLOBAL, SOLUTIONS, NotePlace
from swarmlore.notes.rows import Graph

if TYPE_CHECKING:
    from typing import Any


def read_files(place: NotePlace, path: str) -> tuple[bytes, bytes]:
    """A note and what stands beside it about its entities; raises NotAllowed."""
    from swarmlore.domain.security.redaction import redact

    if redact(path)[1]:
        raise NotAllowed("its path holds a secret", "give the file another name")
    return note_places.read_both(place.root, path)


def understood(place: NotePlace, path: str, data: bytes) -> Note | None:
    """The note that a file holds, with the category of its folder where it names none; None for other pages."""
    note = parse_note(note_places.decoded(path, data))
    if not note.title.strip():
        return None
    title = scrub_text(note.title)
    if title != note.title:  # an id tells its title
        note = replace(note, title=title, id=note_id(title, note.body))
    return note if note.category else replace(note, category=_folder_category(place, path))


def _folder_category(place: NotePlace, path: str) -> str:
    if place.name == GLOBAL:
        return ""
    inside = path.removeprefix(f"{SOLUTIONS}/").split("/")
    return inside[0] if len(inside) > 1 else ""


def graph_of(note: Note, beside: bytes) -> tuple[Graph, str]:
    """What a note is about: as its sidecar says or, where there is none that can be read, by rules; and why not."""
    problem = ""
    if beside:
        from swarmlore.formats.sidecar import parse_sidecar

        try:
            found = parse_sidecar(note_places.decoded("its sidecar", beside))
            return Graph(found.entities, found.relations, RULES if found.is_guess else SIDECAR), ""
        except SwarmloreError as error:
            problem = f"its sidecar cannot be read: {error.message}"
    from swarmlore.domain.language.concepts import concepts_of

    return Graph(*concepts_of(note.title, note.tags, note.body), origin=RULES), problem


def should_be_in(place: NotePlace, ref: Mapping[str, Any]) -> bool:
    """Whether the note that a memory comes from should lie in a place: one of another folder for notes that still has
    it need not."""
    root, path = str(ref.get("root") or place.root), str(ref.get("path") or "")
    return bool(path) and (root == place.root or not os.path.lexists(os.path.join(root, *path.split("/"))))
