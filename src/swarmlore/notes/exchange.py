"""Notes as files of a folder: taken over from anywhere, and written out for others.

A note that comes in is copied as it is, under its id, with its sidecar; only secrets are taken out. What is there
stays: the same id is the same note. What goes out are the notes of a project and of its user as they are, and lessons
as short notes, with their confidence in words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import slug, whole_words
from swarmlore.domain.policy.gate import refuse_unsafe, scrub_text
from swarmlore.domain.records import Memory
from swarmlore.domain.security.redaction import redact
from swarmlore.errors import InvalidInput, NotAllowed, Rejected
from swarmlore.exchange.import_files import Brought
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.notes.locations import read_text
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from swarmlore.models.embedding import Progress


LEARNINGS_FILE, EPISODES = "documents/learnings", "documents/episodes"
ENDING, SIDECAR = ".md", ".entities.yaml"
MOST_FILES = 50_000
MOST_DEPTH = 12
TITLE_CHARS = 100


@frozen
class Paper:
    """A note on its way: its path below the folder it goes to, its text, and that of its sidecar ('' without one)."""

    path: str
    text: str
    beside: str = ""


# In


def import_notes(source: str, root: str, progress: Progress | None = None) -> Brought:
    """Take the notes of a folder, or one note, over into the folder of notes for every project."""
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


def _incoming(path: str) -> tuple[Paper, bool]:
    """A note as it will lie in the folder; raises where it is none, or none that may be kept."""
    from swarmlore.notes.entities_sidecar import parse_sidecar, sidecar_paths
    from swarmlore.notes.note_format import parse_note

    raw = read_text(path)
    text = redact(raw)[0]
    note = parse_note(text)
    if not note.title:
        raise InvalidInput("it has no title", "write title: … between --- lines at its top")
    refuse_unsafe(note.title, note.body)
    beside = next((read_text(one) for one in sidecar_paths(path) if os.path.lexists(one)), "")
    clean = redact(beside)[0]
    parse_sidecar(clean)
    episode = str(note.fields.get("type", "")) == "episode"
    day = note.created[:10] if episode and _is_day(note.created[:10]) else ""
    folder = f"{EPISODES}/{day}" if day else LEARNINGS_FILE
    return Paper(f"{folder}/{note.own_id or note.id}{ENDING}", text, clean), text != raw or clean != beside


def _is_day(text: str) -> bool:
    return [len(part) for part in text.split("-") if part.isascii() and part.isdigit()] == [4, 2, 2]


def _notes_below(source: str) -> Iterator[str]:
    """The notes in a folder and below it, in order; no link is followed."""
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


# Out


def export_notes(papers: Iterable[Paper], target: str, *, overwrite: bool = False) -> int:
    """Write notes into a folder, which is made; returns how many there are. What is there stays, unless it may be
    overwritten."""
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


def _free(paper: Paper, taken: set[str]) -> Paper:
    """The same under a name that no other note of this export has."""
    stem, number, path = paper.path.removesuffix(ENDING), 2, paper.path
    while path in taken:
        path, number = f"{stem}-{number}{ENDING}", number + 1
    taken.add(path)
    return Paper(path, paper.text, paper.beside)


def outgoing(path: str, category: str) -> Paper | None:
    """A note's file for others: without secrets, by category; None where it cannot be read."""
    from swarmlore.notes.entities_sidecar import sidecar_paths

    try:
        text = redact(read_text(path))[0]
        beside = next((redact(read_text(one))[0] for one in sidecar_paths(path) if os.path.lexists(one)), "")
    except NotAllowed:
        return None
    return Paper(f"{slug(category)[:40] or 'other'}/{os.path.basename(path)}", text, beside)


def lesson_paper(memory: Memory) -> Paper:
    """A lesson as a short note."""
    from swarmlore.notes.note_format import write_note

    title = _title(memory)
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
    return Paper(f"{slug(memory.category)[:40] or 'other'}/{name}", text, _entities(memory))


def _scrubbed(value: object) -> object:
    if isinstance(value, str):
        return scrub_text(value)
    return [scrub_text(str(item)) for item in value] if isinstance(value, list) else value


def _title(memory: Memory) -> str:
    return whole_words(" ".join((memory.title or memory.text).split()), TITLE_CHARS)


def _entities(memory: Memory) -> str:
    from swarmlore.domain.records import Entity
    from swarmlore.notes.entities_sidecar import Sidecar, write_sidecar

    names = [entity.partition(":")[2] or entity for entity in memory.entities]
    if not names:
        return ""
    found = tuple(Entity(name) for name in dict.fromkeys(map(scrub_text, names)))
    return write_sidecar(Sidecar(memory.id, str(iso(memory.updated_at))[:10], found))


# Writing


def _put(root: Folder, paper: Paper, *, overwrite: bool) -> str:
    """Write a note and then what stands beside it; one that is there stays, and so does its sidecar."""
    from swarmlore.notes.entities_sidecar import sidecar_path

    *folders, name = paper.path.split("/")

    def write(folder: Folder) -> str:
        with folder.lock():
            if folder.stamp(name) != "-" and not overwrite:
                return "known"
            if paper.beside:  # first: a note without its sidecar would be taken for a whole one
                folder.replace(sidecar_path(name), [paper.beside.encode()])
            folder.replace(name, [paper.text.encode()])
            return "added"

    return _within(root, folders, write)


def _within(root: Folder, folders: Sequence[str], do: Callable[[Folder], str]) -> str:
    """Do something in a folder below, made and reached step by step."""
    if not folders:
        return do(root)
    inside = root.inside(folders[0], make=True)
    assert inside is not None  # it was made
    with inside:
        return _within(inside, folders[1:], do)
