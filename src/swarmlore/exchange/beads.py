"""Lessons from LEARNED comments on beads, in `.beads/memory/knowledge.jsonl` and its archive, one per line.

Other programs write these files too, so lines are only appended, and unreadable lines are counted and kept. Beyond
1,000 lines, rotation appends the oldest 500 to the archive and then replaces the active file. If a process dies in
between, both files hold them, which the next rotation detects.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from swarmlore.domain.extraction.learned_comments import BeadLesson, find_bead_lessons
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
    """Lessons of the files in order, the number of unreadable lines, and the number of archived lessons."""

    entries: tuple[BeadLesson, ...] = ()
    bad_lines: int = 0
    archived: int = 0


# Places


def beads_root(root: str) -> str:
    """Return the folder with a project's beads: the main worktree if it has them, since linked ones are temporary."""
    dot = os.path.join(root, ".git")
    if os.path.isdir(dot) or not os.path.lexists(dot):
        return root
    common = git.common_dir(dot)
    main = os.path.dirname(common)
    known = os.path.basename(common) == ".git" and _is_worktree(dot, common)
    return main if known and os.path.isdir(os.path.join(main, BEADS)) else root


def _is_worktree(dot: str, common: str) -> bool:
    """Return True if the repository lists this worktree, as its `.git` file alone could name any repository."""
    own = git.first_line(dot).removeprefix("gitdir:").strip()
    private = os.path.realpath(os.path.join(os.path.dirname(dot), own))
    back = git.first_line(os.path.join(private, "gitdir"))
    inside = os.path.dirname(private) == os.path.join(common, "worktrees")
    return inside and os.path.realpath(os.path.join(private, back)) == os.path.realpath(dot)


@contextmanager
def memory_folder(root: str, *, make: bool = False) -> Iterator[Folder | None]:
    """Context manager: open the memory folder of a project's beads, or yield None; made only if it uses beads."""
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
    """Return True if a project has a `.beads` folder."""
    return os.path.isdir(os.path.join(beads_root(root), BEADS))


def has_memory(root: str) -> bool:
    """Return True if a project has a `.beads/memory` folder."""
    return os.path.isdir(os.path.join(beads_root(root), BEADS, MEMORY))


# Reading


def read_knowledge(root: str, *, archived: bool = False) -> Knowledge:
    """Read every lesson of a project, oldest first, with `archived` also from the archive."""
    with memory_folder(root) as folder:
        if folder is None:
            return Knowledge()
        old, old_bad = _entries(folder, ARCHIVE)
        new, new_bad = _entries(folder, ACTIVE)
    if archived:
        return Knowledge((*old, *new), old_bad + new_bad, len(old))
    return Knowledge(tuple(new), new_bad, len(old))


def _entries(folder: Folder, name: str) -> tuple[list[BeadLesson], int]:
    file = folder.open(name)
    if file is None:
        return [], 0
    with file:
        return _parsed(jsonl.lines(file))


def _parsed(lines: Iterable[jsonl.Line]) -> tuple[list[BeadLesson], int]:
    entries = [_entry(line) for line in lines]
    return [entry for entry in entries if entry is not None], entries.count(None)


def _entry(line: jsonl.Line) -> BeadLesson | None:
    try:
        value = jsonl.parse(line)
    except jsonl.BadLine:
        return None
    content, type = value.get("content"), _word(value, "type") or "learned"
    if not isinstance(content, str) or not content.strip():
        return None
    tags = value.get("tags")
    return BeadLesson(
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


def newest(entries: Iterable[BeadLesson]) -> list[BeadLesson]:
    """Return the latest entry of each key, newest first."""
    latest: dict[str, BeadLesson] = {}
    for entry in entries:
        if entry.key not in latest or entry.ts >= latest[entry.key].ts:
            latest.pop(entry.key, None)  # of two from the same second, the later line counts as newer
            latest[entry.key] = entry
    return sorted(latest.values(), key=lambda entry: entry.ts)[::-1]


def matches(entry: BeadLesson, query: str) -> bool:
    """Return True if every word of the query is in the lesson's text, or is one of its tags or its bead.

    Keys and types are not searched, since all of them contain "learned".
    """
    text = entry.content.lower()
    names = {tag.lower() for tag in entry.tags if tag != entry.type} | {entry.bead.lower()}
    return all(word in text or word in names for word in query.lower().split())


def showable(entry: BeadLesson) -> BeadLesson:
    """Return an entry with secrets redacted, since other programs that write these files may not redact."""
    return replace(entry, content=redact(entry.content)[0])


def label(entry: BeadLesson) -> str:
    """Return the type of an entry as a short label such as `[LEARN]`."""
    return f"[{entry.type.upper()[:LABEL_CHARS]}]"


def session_text(project_root: str) -> str:
    """Return the five newest lessons for a session start, or ''. The caller must fence them as untrusted text."""
    try:
        with memory_folder(project_root) as folder:
            entries = newest(_recent(folder)[0]) if folder else []
            has_script = folder is not None and folder.size(SCRIPT) > 0
    except SwarmloreError:
        return ""  # `problem` reports it
    if not entries:
        return ""
    lines = [f"## Recent Knowledge ({len(entries)} entries)"]
    for entry in map(showable, entries[:SHOWN]):
        text = " ".join(entry.content.split())[:SHOWN_CHARS]
        lines.append(f"  {_one_line(label(entry))} {text}  ({_one_line(entry.source)})")
    search = f"{BEADS}/{MEMORY}/{SCRIPT}" if has_script else "swarmlore recall --profile beads"
    return "\n".join([*lines, f'  Search: {search} "keyword"'])


def _one_line(text: str) -> str:
    return " ".join(text.split())[:SHOWN_CHARS]


def _recent(folder: Folder) -> tuple[list[BeadLesson], int]:
    """Return entries and bad lines of the active file, or of its end if it is larger than rotation allows."""
    import io

    data = folder.tail(ACTIVE, SMALL_BYTES)
    if len(data) == SMALL_BYTES:
        data = data[data.find(b"\n") + 1 :]
    return _parsed(jsonl.lines(io.BytesIO(data)))


# Writing


def capture_learned(root: str, cwd: str, command: str, at: float) -> tuple[BeadLesson, ...]:
    """Find the LEARNED comments in a command, add them to the project's file, and return the new ones.

    A repeated event adds nothing. If the file is missing or unusable, all count as new, and `problem` reports why.
    """
    found = find_bead_lessons(command, cwd, at)
    try:
        return add_learned(root, found) if found else ()
    except SwarmloreError:
        return found


def problem(root: str) -> str:
    """Return what is wrong with a project's beads files, or ''."""
    try:
        with memory_folder(root) as folder:
            bad = _entries(folder, ACTIVE)[1] if folder else 0
    except SwarmloreError as error:
        return error.message
    lines = "1 line is" if bad == 1 else f"{bad} lines are"
    return f"{lines} no record in {BEADS}/{MEMORY}/{ACTIVE}" if bad else ""


def add_learned(root: str, found: Sequence[BeadLesson]) -> tuple[BeadLesson, ...]:
    """Append lessons to a project's file and return the new ones.

    A lesson is skipped if it is the newest of its key or was written before with the same time.
    """
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


def _unknown(found: Iterable[BeadLesson], known: Sequence[BeadLesson]) -> list[BeadLesson]:
    latest = {entry.key: entry.content for entry in reversed(newest(known))}
    written = {(entry.key, entry.content, entry.ts) for entry in known}
    new = []
    for entry in found:
        if latest.get(entry.key) == entry.content or (entry.key, entry.content, entry.ts) in written:
            continue
        latest[entry.key] = entry.content
        new.append(entry)
    return new


def document(entry: BeadLesson) -> dict[str, Any]:
    """Return a lesson as the JSON object of its line."""
    values = {field.name: getattr(entry, field.name) for field in fields(entry)}
    return {**values, "tags": list(entry.tags)}


def _glue(folder: Folder, name: str) -> bytes:
    """Return the newline that is missing after the last line of a file, or b""."""
    return b"\n" if folder.tail(name, 1) not in (b"", b"\n") else b""


def _rotate(folder: Folder) -> None:
    """Move the oldest 500 lines to the archive if there are more than 1,000; leave an oversized file alone."""
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
    """Return how many bytes of the moved lines the archive ends with, which a killed rotation may have added."""
    at = 0
    while at < len(end):
        if moved.startswith(end[at : at + GLANCE_BYTES]) and moved.startswith(end[at:]):
            return len(end) - at
        at = end.find(b"\n", at) + 1 or len(end)
    return 0
