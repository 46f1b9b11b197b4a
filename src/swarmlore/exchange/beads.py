"""LEARNED comments in `.beads/memory/`: `knowledge.jsonl`, one lesson a line, and what was rotated out of it.

The files belong to the repository and to other programs too. Lines are added at the end, and a line that is no
record is counted and left alone. Where the active file has more than a thousand lines, its oldest five hundred move to
the archive: first they are added there, then the active file is replaced. A process that dies in between leaves them
in both, and the next rotation sees that they are there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from swarmlore.domain.extraction.learned_comments import Learned, find_learned
from swarmlore.domain.language.display import learned_key
from swarmlore.domain.security.redaction import redact
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.workspace import git, jsonl
from swarmlore.workspace.files import SMALL_BYTES, Folder

if TYPE_CHECKING:
    from typing import Any


BEADS = ".beads"
MEMORY = "memory"
ACTIVE = "knowledge.jsonl"
ARCHIVE = "knowledge.archive.jsonl"
SCRIPT = "recall.sh"
MOST_LINES = 1000
MOVED_LINES = 500
SHOWN = 5
SHOWN_CHARS = 100
LABEL_CHARS = 5
GLANCE_BYTES = 80  # enough to tell two lines apart


@frozen
class Knowledge:
    """What the files hold, in their order, and how many lines of them are no records."""

    entries: tuple[Learned, ...] = ()
    bad_lines: int = 0
    archived: int = 0


# Where


def beads_root(root: str) -> str:
    """Where a project's beads lie: in the main work tree if it has them, because linked ones go away again."""
    dot = os.path.join(root, ".git")
    if os.path.isdir(dot) or not os.path.lexists(dot):
        return root
    common = git.common_dir(dot)
    main = os.path.dirname(common)
    known = os.path.basename(common) == ".git" and _is_worktree(dot, common)
    return main if known and os.path.isdir(os.path.join(main, BEADS)) else root


def _is_worktree(dot: str, common: str) -> bool:
    """Whether the repository knows of the work tree that names it; a file alone could name any repository."""
    own = git.first_line(dot).removeprefix("gitdir:").strip()
    private = os.path.realpath(os.path.join(os.path.dirname(dot), own))
    back = git.first_line(os.path.join(private, "gitdir"))
    inside = os.path.dirname(private) == os.path.join(common, "worktrees")
    return inside and os.path.realpath(os.path.join(private, back)) == os.path.realpath(dot)


@contextmanager
def memory_folder(root: str, *, make: bool = False) -> Iterator[Folder | None]:
    """The folder of a project's comments, or None. Made only where the project uses beads."""
    path = os.path.join(beads_root(root), BEADS)
    if not os.path.isdir(path):
        yield None
        return
    with Folder(path) as beads:
        folder = beads.inside(MEMORY, make=make)
        try:
            yield folder
        finally:
            if folder is not None:
                folder.close()


def uses_beads(root: str) -> bool:
    return os.path.isdir(os.path.join(beads_root(root), BEADS))


def has_memory(root: str) -> bool:
    """Whether a project has a folder for what was learned on its beads."""
    return os.path.isdir(os.path.join(beads_root(root), BEADS, MEMORY))


# Reading


def read_knowledge(root: str, *, archived: bool = False) -> Knowledge:
    """Every readable line of a project, oldest first; with `archived` also those that were rotated out."""
    with memory_folder(root) as folder:
        if folder is None:
            return Knowledge()
        old, old_bad = _entries(folder, ARCHIVE)
        new, new_bad = _entries(folder, ACTIVE)
    if archived:
        return Knowledge((*old, *new), old_bad + new_bad, len(old))
    return Knowledge(tuple(new), new_bad, len(old))


def _entries(folder: Folder, name: str) -> tuple[list[Learned], int]:
    file = folder.open(name)
    if file is None:
        return [], 0
    with file:
        return _parsed(jsonl.lines(file))


def _parsed(lines: Iterable[jsonl.Line]) -> tuple[list[Learned], int]:
    found: list[Learned] = []
    bad = 0
    for line in lines:
        entry = _entry(line)
        if entry is None:
            bad += 1
        else:
            found.append(entry)
    return found, bad


def _entry(line: jsonl.Line) -> Learned | None:
    try:
        value = jsonl.parse(line)
    except jsonl.BadLine:
        return None
    content, type = value.get("content"), _word(value, "type") or "learned"
    if not isinstance(content, str) or not content.strip():
        return None
    tags = value.get("tags")
    return Learned(
        _word(value, "key") or learned_key(content, type),
        type,
        content,
        _word(value, "source"),
        tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        _seconds(value.get("ts")),
        _word(value, "bead"),
    )


def _word(value: dict[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _seconds(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:18])
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


def newest(entries: Iterable[Learned]) -> list[Learned]:
    """Each key once, the latest of its lines; newest first."""
    latest: dict[str, Learned] = {}
    for entry in entries:
        if entry.key not in latest or entry.ts >= latest[entry.key].ts:
            latest.pop(entry.key, None)  # of two from the same second the later line is the newer one
            latest[entry.key] = entry
    return sorted(latest.values(), key=lambda entry: entry.ts)[::-1]


def matches(entry: Learned, query: str) -> bool:
    """Whether every word of the query stands in the lesson, in any case, or is one of its keywords or its bead.

    The rest of the line is not searched: every key and every list of tags says "learned".
    """
    text = entry.content.lower()
    names = {tag.lower() for tag in entry.tags if tag != entry.type} | {entry.bead.lower()}
    return all(word in text or word in names for word in query.lower().split())


def showable(entry: Learned) -> Learned:
    """An entry as it may be shown: others write these files too, and not all of them redact."""
    return replace(entry, content=redact(entry.content)[0])


def label(entry: Learned) -> str:
    return f"[{entry.type.upper()[:LABEL_CHARS]}]"


def session_text(project_root: str) -> str:
    """What a session starts with: the five newest lessons, or '' without any. Words of a repository: to be fenced."""
    try:
        with memory_folder(project_root) as folder:
            found = newest(_recent(folder)[0]) if folder else []
            has_script = folder is not None and folder.size(SCRIPT) > 0
    except SwarmloreError:
        return ""  # `problem` tells
    if not found:
        return ""
    lines = [f"## Recent Knowledge ({len(found)} entries)"]
    for entry in map(showable, found[:SHOWN]):
        text = " ".join(entry.content.split())[:SHOWN_CHARS]
        lines.append(f"  {_one_line(label(entry))} {text}  ({_one_line(entry.source)})")
    search = f"{BEADS}/{MEMORY}/{SCRIPT}" if has_script else "swarmlore recall --profile beads"
    return "\n".join([*lines, f'  Search: {search} "keyword"'])


def _one_line(text: str) -> str:
    return " ".join(text.split())[:SHOWN_CHARS]


def _recent(folder: Folder) -> tuple[list[Learned], int]:
    """The lines of the active file; of one that is larger than ours ever get, those at its end."""
    import io

    data = folder.tail(ACTIVE, SMALL_BYTES)
    if len(data) == SMALL_BYTES:
        data = data[data.find(b"\n") + 1 :]
    return _parsed(jsonl.lines(io.BytesIO(data)))


# Writing


def capture_learned(root: str, cwd: str, command: str, at: float) -> tuple[Learned, ...]:
    """Find the lessons that a command writes and add them to the project's file; those that were new.

    An event that is told twice adds nothing. Where there is no file, or none that can be used, all count as new: what
    was learned is worth more than the file, and `problem` tells what is wrong with it.
    """
    found = find_learned(command, cwd, at)
    try:
        return add_learned(root, found) if found else ()
    except SwarmloreError:
        return found


def problem(root: str) -> str:
    """What is wrong with the files of a project, or ''."""
    try:
        with memory_folder(root) as folder:
            bad = _entries(folder, ACTIVE)[1] if folder else 0
    except SwarmloreError as error:
        return error.message
    lines = "1 line is" if bad == 1 else f"{bad} lines are"
    return f"{lines} no record in {BEADS}/{MEMORY}/{ACTIVE}" if bad else ""


def add_learned(root: str, found: Sequence[Learned]) -> tuple[Learned, ...]:
    """Add lessons to a project's file, but none that is its key's newest or was written at that time before."""
    with memory_folder(root, make=True) as folder:
        if folder is None:
            return tuple(found)
        with folder.lock():
            new = _unknown(found, _recent(folder)[0])
            if new:
                lines = b"".join(jsonl.dump(document(entry)) + b"\n" for entry in new)
                folder.append(ACTIVE, _glue(folder, ACTIVE) + lines)
                _rotate(folder)
    return tuple(new)


def _unknown(found: Iterable[Learned], known: Sequence[Learned]) -> list[Learned]:
    latest = {entry.key: entry.content for entry in reversed(newest(known))}
    written = {(entry.key, entry.content, entry.ts) for entry in known}
    new = []
    for entry in found:
        if latest.get(entry.key) == entry.content or (entry.key, entry.content, entry.ts) in written:
            continue
        latest[entry.key] = entry.content
        new.append(entry)
    return new


def document(entry: Learned) -> dict[str, Any]:
    """A lesson as a line holds it."""
    values = {field.name: getattr(entry, field.name) for field in fields(entry)}
    return {**values, "tags": list(entry.tags)}


def _glue(folder: Folder, name: str) -> bytes:
    """What closes a last line that somebody left open."""
    return b"\n" if folder.tail(name, 1) not in (b"", b"\n") else b""


def _rotate(folder: Folder) -> None:
    """Move the oldest lines to the archive where there are too many. A file beyond all measure is not ours to move."""
    if folder.size(ACTIVE) > SMALL_BYTES:
        return
    content = folder.read(ACTIVE)
    if content.count(b"\n") <= MOST_LINES:
        return
    cut = 0
    for _ in range(MOVED_LINES):
        cut = content.index(b"\n", cut) + 1
    moved = content[:cut]
    done = _already_there(folder.tail(ARCHIVE, len(moved)), moved)
    if done < len(moved):
        folder.append(ARCHIVE, (b"" if done else _glue(folder, ARCHIVE)) + moved[done:])
    folder.replace(ACTIVE, [content[cut:]])


def _already_there(end: bytes, moved: bytes) -> int:
    """How much of the moved lines the archive ends with: a rotation that was killed may have added some or all."""
    at = 0
    while at < len(end):
        if moved.startswith(end[at : at + GLANCE_BYTES]) and moved.startswith(end[at:]):
            return len(end) - at
        at = end.find(b"\n", at) + 1 or len(end)
    return 0
