"""Import notes from a folder of Markdown files, and export notes and lessons to one.

An imported note is copied under its id with its sidecar; only secrets are redacted, and a note whose id exists is kept.
The export writes notes as they are, and lessons as short notes with the confidence in words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import slug, whole_words
from swarmlore.domain.policy.gate import check_note, scrub_text
from swarmlore.domain.records import Memory
from swarmlore.domain.security.redaction import redact
from swarmlore.errors import InvalidInput, NotAllowed, Rejected
from swarmlore.exchange.import_files import Brought
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.notes.locations import EPISODES, LEARNINGS, read_text
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from swarmlore.models.embedding import Progress


ENDING = ".md"
MOST_FILES = 50_000
MOST_DEPTH = 12
TITLE_CHARS = 100


@frozen
class NoteFile:
    """A note to import or export: target path, text, and sidecar text ('' without one)."""

    path: str
    text: str
    beside: str = ""


def import_notes(source: str, root: str, progress: Progress | None = None) -> Brought:
    """Import the notes of a folder, or one note, into the user's notes folder."""
    found = list(_notes_below(source))
    if not found:
        raise InvalidInput(f"there is no note in {source}", "a note is a Markdown file with a title between --- lines")
    os.makedirs(root, mode=0o700, exist_ok=True)
    counts = dict.fromkeys(("added", "updated", "known", "redacted"), 0)
    refusals: list[tuple[int, str]] = []
    with Folder(os.path.realpath(root)) as folder:
        for number, path in enumerate(found, 1):
            try:
                paper, redacted = _incoming(path)
                outcome = _put(folder, paper, overwrite=False)
                counts[outcome] += 1
                counts["redacted"] += redacted and outcome == "added"
            except (Rejected, InvalidInput, NotAllowed) as refusal:
                refusals.append((number, f"{os.path.relpath(path, source)}: {refusal.message}"))
            if progress:
                progress(number, len(found))
    return Brought(
        len(found), counts["added"], 0, 0, counts["known"], len(refusals), tuple(refusals), counts["redacted"]
    )


def _incoming(path: str) -> tuple[NoteFile, bool]:
    """Read a note for import; raise if it is not a note or unsafe."""
    from swarmlore.notes.entities_sidecar import parse_sidecar, sidecar_paths
    from swarmlore.notes.note_format import parse_note

    raw = read_text(path)
    text = redact(raw)[0]
    note = parse_note(text)
    if not note.title:
        raise InvalidInput("it has no title", "write title: … between --- lines at its top")
    check_note(note.title, note.body)
    beside = next((read_text(file) for file in sidecar_paths(path) if os.path.lexists(file)), "")
    sidecar = redact(beside)[0]
    parse_sidecar(sidecar)
    episode = str(note.fields.get("type", "")) == "episode"
    day = note.created[:10] if episode and _is_day(note.created[:10]) else ""
    folder = f"{EPISODES}/{day}" if day else LEARNINGS
    paper = NoteFile(f"{folder}/{note.own_id or note.id}{ENDING}", text, sidecar)
    return paper, text != raw or sidecar != beside


def _is_day(text: str) -> bool:
    return [len(part) for part in text.split("-") if part.isascii() and part.isdigit()] == [4, 2, 2]


def _notes_below(source: str) -> Iterator[str]:
    """Yield the notes of a folder and its subfolders in order; links are not followed."""
    if os.path.isfile(source) and not os.path.islink(source):
        yield source
        return
    count = 0
    for folder, names, files in os.walk(source):
        below = os.path.relpath(folder, source).count(os.sep)
        names[:] = sorted(name for name in names if not name.startswith(".") and below < MOST_DEPTH)
        for name in sorted(files):
            if name.endswith(ENDING) and name.lower() != "readme.md" and not name.startswith("."):
                count += 1
                if count > MOST_FILES:
                    return
                yield os.path.join(folder, name)


def export_notes(papers: Iterable[NoteFile], target: str, *, overwrite: bool = False) -> int:
    """Write notes into a new folder and return their number; `overwrite` allows a folder with files."""
    target = os.path.abspath(target)
    if os.path.lexists(target) and not os.path.isdir(target):
        raise InvalidInput(f"{target} is not a folder", "name a folder for the notes")
    if os.path.isdir(target) and os.listdir(target) and not overwrite:
        raise InvalidInput(f"{target} is not empty", "name another folder, or overwrite what is in it: --yes")
    os.makedirs(target, exist_ok=True)
    taken: set[str] = set()
    with Folder(os.path.realpath(target)) as folder:
        for paper in papers:
            _put(folder, _free(paper, taken), overwrite=True)
    return len(taken)


def _free(paper: NoteFile, taken: set[str]) -> NoteFile:
    """Return the note under a path that no other note of this export has."""
    stem, number, path = paper.path.removesuffix(ENDING), 2, paper.path
    while path in taken:
        path, number = f"{stem}-{number}{ENDING}", number + 1
    taken.add(path)
    return NoteFile(path, paper.text, paper.beside)


def outgoing(path: str, category: str) -> NoteFile | None:
    """Return a note's file for export, redacted, in a folder per category; None if it is unreadable."""
    from swarmlore.notes.entities_sidecar import sidecar_paths

    try:
        text = redact(read_text(path))[0]
        beside = next((redact(read_text(one))[0] for one in sidecar_paths(path) if os.path.lexists(one)), "")
    except NotAllowed:
        return None
    return NoteFile(f"{slug(category)[:40] or 'other'}/{os.path.basename(path)}", text, beside)


def lesson_paper(memory: Memory) -> NoteFile:
    """Return a lesson as a short note."""
    from swarmlore.notes.note_format import write_note

    title = whole_words(" ".join((memory.title or memory.text).split()), TITLE_CHARS)
    fields = {
        "title": title,
        "category": memory.category or "other",
        "tags": list(memory.tags),
        "symptoms": [situation.text for situation in memory.situations],
        "key_insight": " ".join(memory.text.split())[:500],
        "created": str(iso(memory.created_at))[:10],
        "confidence": memory.confidence,
        "type": "learning",
        "id": memory.id,
        "scope": memory.scope,
        "kind": memory.kind,
        "status": memory.status,
    }
    name = f"{slug(title)[:50].strip('-') or 'lesson'}-{memory.handle}{ENDING}"
    text = write_note({key: _scrubbed(value) for key, value in fields.items()}, f"\n{scrub_text(memory.text)}\n")
    return NoteFile(f"{slug(memory.category)[:40] or 'other'}/{name}", text, _entities(memory))


def _scrubbed(value: object) -> object:
    if isinstance(value, str):
        return scrub_text(value)
    return [scrub_text(str(item)) for item in value] if isinstance(value, list) else value


def _entities(memory: Memory) -> str:
    from swarmlore.domain.records import Entity
    from swarmlore.notes.entities_sidecar import Sidecar, write_sidecar

    names = [entity.partition(":")[2] or entity for entity in memory.entities]
    if not names:
        return ""
    found = tuple(Entity(name) for name in dict.fromkeys(map(scrub_text, names)))
    return write_sidecar(Sidecar(memory.id, str(iso(memory.updated_at))[:10], found))


def _put(root: Folder, paper: NoteFile, *, overwrite: bool) -> str:
    """Write a note with its sidecar; return `added`, or `known` if it exists and is kept."""
    from swarmlore.notes.entities_sidecar import sidecar_path

    *folders, name = paper.path.split("/")

    def write(folder: Folder) -> str:
        with folder.lock():
            if folder.stamp(name) != "-" and not overwrite:
                return "known"
            if paper.beside:  # sidecar first: a crash in between must not leave a note without it
                folder.replace(sidecar_path(name), [paper.beside.encode()])
            folder.replace(name, [paper.text.encode()])
            return "added"

    return _within(root, folders, write)


def _within(root: Folder, folders: Sequence[str], do: Callable[[Folder], str]) -> str:
    """Call a function with a subfolder, which is created step by step."""
    if not folders:
        return do(root)
    inside = root.inside(folders[0], make=True)
    assert inside is not None  # make=True creates it
    with inside:
        return _within(inside, folders[1:], do)
