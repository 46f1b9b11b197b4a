"""What is told about notes that were found, and small questions to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from swarmlore.domain.records import Memory
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.note_places import PROJECT

if TYPE_CHECKING:
    from typing import Any

HIGH = 0.8


@frozen
class NoteFound:
    """One note: what its head says, where it lies, and the memory that stands for it."""

    id: str
    title: str
    category: str
    tags: tuple[str, ...]
    confidence: float
    language: str
    created: str
    key_insight: str
    place: str
    path: str
    memory: Memory
    score: float = 0.0
    also: tuple[str, ...] = ()  # where the same note lies besides


@frozen
class FoundNotes:
    """What a search found, best first, with notes on how; in mode global also reports on what belongs together."""

    query: str
    mode: str
    notes: tuple[NoteFound, ...] = ()
    said: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


@frozen
class WrittenNote:
    """A note that was written or taken in: its path and id, the memory that stands for it (None where the gate refused
    it or somebody forgot it), and whether it took the place of another."""

    path: str
    id: str
    memory: Memory | None
    replaced: bool = False


def text_in(head: Mapping[str, Any], name: str) -> str:
    """A field of a note's head that is a text; else ''."""
    value = head.get(name)
    return value.strip() if isinstance(value, str) else ""


def speaks(note: NoteFound, language: str) -> bool:
    """Whether a note is for a language, as a field or a tag."""
    word = language.strip().lower()
    return not word or word == note.language.lower() or word in {tag.lower() for tag in note.tags}


def label_of(note: NoteFound) -> str:
    """How certain a note is, in a word."""
    if note.memory.extra.get("confidence_label") == "unknown":
        return "unknown"
    return "high" if note.confidence >= HIGH else "medium" if note.confidence >= 0.5 else "low"


def each_once(notes: Iterable[NoteFound]) -> list[NoteFound]:
    """Each note once, in its order, with the places of its copies; the project's file is the note."""
    same: dict[str, list[NoteFound]] = {}
    for note in notes:
        same.setdefault(note.id, []).append(note)
    sorted_by_place = (sorted(group, key=lambda note: (note.place != PROJECT, note.path)) for group in same.values())
    return [replace(first, also=tuple(other.path for other in others)) for first, *others in sorted_by_place]


def counted(words: Iterable[str]) -> dict[str, int]:
    """How often each word comes, by the alphabet."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items()))
