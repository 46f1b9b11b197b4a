"""What `learnings` and `search-learnings` show to people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import Page, amount, clean, hang, many, one_line, say, table
from swarmlore.surfaces.render import reports

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.notes.file_search import ScannedNote
    from swarmlore.notes.notes import FoundNotes, NoteFound, WrittenNote
    from swarmlore.notes.sync import IndexedNotes
    from swarmlore.notes.write import NoteGraph

NONE = "No notes yet. To write one: swarmlore remember --note TEXT, or a page in docs/solutions"
EXCERPT = 240


def found(told: FoundNotes, page: Page) -> str:
    """Reports on what belongs together, then hits with their score, what they come down to, and where they lie."""
    listed = "\n\n".join(_hit(note, page) for note in told.notes) or "No note fits."
    return "\n".join([*reports(told.reports, page), listed])


def _hit(note: NoteFound, page: Page) -> str:
    head = hang(f"{amount(note.score)}  ", _title(note), page, 7, "bold")
    said = note.key_insight or one_line(note.memory.text, EXCERPT)
    about = " · ".join(part for part in (clean(note.category), clean(", ".join(note.tags)), _label(note)) if part)
    lines = [say(said, page, 7)] if note.title else []
    return "\n".join([head, *lines, say(about, page, 7, "dim"), say(_where(note), page, 7, "dim")])


def _title(note: NoteFound) -> str:
    """What a note is called; one that was kept without a title is called by how it begins."""
    return note.title or one_line(note.memory.text, EXCERPT)


def _where(note: NoteFound) -> str:
    return note.path or f"memory {note.memory.handle}"


def _places(note: NoteFound, page: Page, indent: int) -> list[str]:
    """Where a note lies, and where its copies do, each on a line."""
    return [say(_where(note), page, indent, "dim"), *(say(f"also {path}", page, indent, "dim") for path in note.also)]


def _label(note: NoteFound) -> str:
    return f"confidence {note.confidence:.2g}"


def simple(notes: Iterable[NoteFound]) -> str:
    """One line each: title, category, path, parted by tabs."""
    return "\n".join("\t".join(one_line(part, 0) for part in (_title(n), n.category, _where(n))) for n in notes)


def listed(notes: Sequence[NoteFound], page: Page, asked: str = "") -> str:
    """Every note under its category; `asked` is the only category that was wanted."""
    if not notes:
        return f"No note is of category {clean(asked)}. To see all: swarmlore learnings list" if asked else NONE
    lines: list[str] = []
    category = None
    for note in notes:
        if note.category != category:
            category = note.category
            lines += [*([""] if lines else []), page.paint("bold", clean(category))]
        lines += [hang("  ", note.title, page, 4), *_places(note, page, 4)]
    return "\n".join([*lines, "", many(len(notes), "note")])


def patterns(notes: Sequence[NoteFound], page: Page) -> str:
    if not notes:
        return "No critical pattern: those are notes of high confidence in architecture-decisions or patterns."
    lines = []
    for note in notes:
        said = note.key_insight or one_line(note.memory.text, EXCERPT)
        lines += [hang(page.paint("bold", "• "), note.title, page, 2), say(said, page, 2)]
        lines += _places(note, page, 2)
    return "\n".join(lines)


def added(written: WrittenNote, page: Page) -> str:
    word = "Replaced" if written.replaced else "Added"
    lines = [f"{word}: {page.paint('bold', clean(written.id))}", say(written.path, page, 2)]
    return "\n".join([*lines, *_unfound(written, page)])


def written(told: WrittenNote, page: Page) -> str:
    """Where a note was written that somebody wanted kept."""
    name = f" as {page.paint('bold', clean(told.memory.handle))}" if told.memory is not None else ""
    lines = [f"Noted{name}:", say(told.path, page, 2)]
    lines.append(say("The file is the note: edit it, commit it; to take it back, remove it.", page, style="dim"))
    return "\n".join([*lines, *_unfound(told, page)])


def _unfound(told: WrittenNote, page: Page) -> list[str]:
    """Why a note that is written may not be found."""
    if told.memory is None:
        return [say("It is not in the memory: the same note was forgotten there before.", page, style="yellow")]
    if told.memory.status == "quarantined":
        return [say("The memory keeps it in quarantine: it reads like an order to an agent.", page, style="yellow")]
    return []


def reindexed(told: Sequence[IndexedNotes], page: Page) -> str:
    lines = []
    for one in told:
        words = [f"{one.read:,} read", f"{one.added:,} added", f"{one.updated:,} changed", f"{one.forgotten:,} gone"]
        words += [f"{one.left_out:,} left forgotten"] if one.left_out else []
        lines.append(hang(f"{one.place}: ", f"{many(one.notes, 'note')} in {one.root}", page, 2))
        lines.append(say(", ".join(words), page, 2, "dim"))
        lines += [say(f"{path}: {why}", page, 2, "yellow") for path, why in one.problems]
    return "\n".join(lines)


def stats(counts: Mapping[str, Any], page: Page) -> str:
    def told(name: str) -> str:
        return ", ".join(f"{word or 'none'} {number:,}" for word, number in counts[name].items())

    rows = [
        ("notes", f"{counts['notes']:,}"),
        ("where", told("by_place")),
        ("categories", told("by_category")),
        ("confidence", told("by_confidence")),
        ("episodes", f"{counts['episodes']:,}"),
        ("entities", f"{counts['entities']:,}"),
        ("relations", f"{counts['relations']:,}"),
        ("told by", told("by_origin")),
        ("wait for the model", f"{counts['waiting_for_model']:,}" if counts["waiting_for_model"] else ""),
        ("wait for a vector", f"{counts['waiting_for_vector']:,}" if counts["waiting_for_vector"] else ""),
        ("project", counts["project_root"]),
        ("every project", counts["learnings_root"]),
    ]
    lines = table(rows, page, 0)
    lines += [
        say(f"cannot be read: {one['path']}: {one['reason']}", page, style="yellow") for one in counts["unreadable"]
    ]
    lines += [
        say(f"{one['copy']} is another text than {one['note']}", page, style="yellow") for one in counts["copies_apart"]
    ]
    return "\n".join(lines)


def about(told: NoteGraph, page: Page) -> str:
    """What a note is about, who says so, and where that is written."""
    who = {"sidecar": "its sidecar", "model": clean(told.by), "guessed": "rules, which guess"}[told.origin]
    lines = [page.paint("bold", clean(told.title)), say(f"told by {who}", page, 2, "dim")]
    lines += [say(told.sidecar, page, 2, "dim")] if told.sidecar else []
    for entity in told.entities:
        about = f": {entity.description}" if entity.description else ""
        lines.append(hang("  ", f"{one_line(entity.name, 0)} ({one_line(entity.type, 0)}){about}", page, 4))
    for one in told.relations:
        said = f"{one_line(one.source, 0)} —{one_line(one.kind, 0)}→ {one_line(one.target, 0)}"
        lines.append(hang("  ", f"{said}, strength {one.strength:g}", page, 4))
    return "\n".join(lines)


# search-learnings


def summary(notes: Sequence[ScannedNote], page: Page) -> str:
    if not notes:
        return "No note fits."
    return "\n\n".join(_summary(note, page) for note in notes)


def _summary(note: ScannedNote, page: Page) -> str:
    head = f"• {page.paint('bold', one_line(note.title, 0))} [{one_line(note.category, 0)}]"
    return "\n".join([head, f"  Key: {one_line(note.key_insight, 0)}", f"  File: {one_line(note.path, 0)}"])


def full(notes: Sequence[ScannedNote], page: Page) -> str:
    """The same with the whole text of each note."""
    if not notes:
        return "No note fits."
    return "\n\n".join(f"{_summary(note, page)}\n\n{clean(note.text.rstrip())}" for note in notes)
