"""What agent clients remember by themselves, taken over as notes for every project.

Each file becomes a note in `documents/learnings/` of the folder of notes and a copy in `documents/memories/`, both
without secrets. A log says which file became which note, so that nothing comes twice. A file that changed changes its
note as long as the note is as it was written; what a person edited or removed stays so. Each file is done for itself,
and the log last: after a kill the same command goes on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.display import slug
from swarmlore.domain.policy.fence import strip_blocks
from swarmlore.domain.policy.gate import refuse_unsafe, scrub_text
from swarmlore.domain.records import Caller, choose
from swarmlore.errors import InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.notes import memory_files
from swarmlore.notes.project_memory.client_memory import (
    CLIENTS,
    Kept,
    Told,
    head_of,
    is_index,
    kept_as,
    kept_by,
    kept_in,
    memory_id,
    subject_of,
    told_by,
    without_worktree,
)
from swarmlore.workspace.files import Folder
from swarmlore.workspace.project import find_project

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.models.embedding import Progress


FILE = ".memory-ingest-log.yaml"
HEAD = "# Which memory files of agent clients became notes. Written by swarmlore.\n"
_MOST_CHARS = 4_000  # of a line
_PLAIN = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}"
_NOTE = re.compile(rf"documents/learnings/{_PLAIN}\.md")
_COPY = re.compile(rf"documents/memories/{_PLAIN}/{_PLAIN}\.md|")
_NAMES = ("source", "hash", "id", "note", "note_hash", "copy", "at")


@frozen
class Logged:
    """A file of a client as it was last taken over: marks of its text and of the note that was written."""

    source: str
    hash: str
    id: str
    note: str
    note_hash: str
    copy: str = ""
    at: str = ""


def read_log(text: str) -> dict[str, Logged]:
    """What is noted, by source."""
    found: dict[str, Logged] = {}
    for line in text.split("\n"):
        if line.startswith("- {") and len(line) <= _MOST_CHARS and (entry := _entry(line[2:])):
            found[entry.source] = entry
    return found


def _entry(text: str) -> Logged | None:
    try:
        told: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, Mapping) or not all(isinstance(told.get(name), str) for name in _NAMES[:5]):
        return None
    entry = Logged(**{name: str(told.get(name, "")) for name in _NAMES})
    # The folder may come from elsewhere by git: a path that leads out of it is no entry.
    return entry if _NOTE.fullmatch(entry.note) and _COPY.fullmatch(entry.copy) else None


def log_line(entry: Logged, *, first: bool = False) -> bytes:
    """One more line; the first one comes with a head."""
    told = json.dumps({name: getattr(entry, name) for name in _NAMES}, ensure_ascii=False)
    return f"{HEAD if first else ''}- {told}\n".encode("utf-8", "backslashreplace")


LEARNINGS = "documents/learnings"
COPIES = "documents/memories"


@frozen
class Taken:
    """What became of one file: `added`, `updated`, `known`, `left` (somebody edited or removed its note), `skipped`
    (there is nothing to learn in it) or `refused`, with the reason."""

    source: str
    project: str
    outcome: str
    id: str = ""
    note: str = ""
    learning_type: str = ""
    title: str = ""
    why: str = ""
    redacted: bool = False


@frozen
class Ingested:
    """What became of all files. `folder` is where the notes lie."""

    folder: str
    files: tuple[Taken, ...] = ()
    dry_run: bool = False

    def count(self, outcome: str) -> int:
        return sum(one.outcome == outcome for one in self.files)


@frozen
class _Drafted:
    """A note that is ready to be written, and the text that it was made of."""

    told: Told
    project: str
    digest: str
    copy: str
    created: str
    redacted: bool


class Ingesting:
    """Memories of one user's clients, for one caller."""

    def __init__(self, folder: str, home: str, env: Mapping[str, str], root: str, name: str, caller: Caller) -> None:
        self._folder = folder
        self._home = home
        self._env = env
        self._own = {memory_files.slug_of(one): name for one in memory_files.roots_of(root)}
        self._caller = caller
        self._projects: dict[str, str] = {}

    def run(
        self,
        clients: Sequence[str] = (),
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        only: str = "",
        now: Callable[[], float],
    ) -> Ingested:
        """Take over every file of these clients, of one folder, or one. An agent only sees what would be done."""
        choose("client", clients, CLIENTS)
        if not dry_run and self._caller.role != "person":
            raise NotAllowed(
                "taking over what clients remember is a person's to decide", "look first: add --dry-run, or --json"
            )
        found = self._at(only) if only else list(kept_by(clients or CLIENTS, self._home, self._env))
        taken = self._look(found, progress) if dry_run else self._take_all(found, progress, now)
        return Ingested(self._folder, tuple(taken), dry_run)

    def copies(self, project: str) -> Iterator[tuple[str, str]]:
        """What was taken over about a project: the names that files had at their client, and their texts."""
        if not os.path.isdir(self._folder):
            return
        with Folder(os.path.realpath(self._folder)) as root:
            desk = _Desk(root)
            for entry in desk.every():
                text = desk.read(entry.copy) if entry.copy.startswith(f"{_copies_of(project)}/") else None
                if text is not None:
                    yield os.path.basename(entry.source), text.decode("utf-8", "replace")

    def _at(self, path: str) -> list[Kept]:
        """The files of a folder, or one file."""
        if not os.path.exists(path):
            raise NotFound(f"no file or folder {path}", "name a memory file, or a folder of them")
        return list(kept_in(path)) if os.path.isdir(path) else [kept_as(path, self._home, self._env)]

    # One after the other

    def _look(self, found: Sequence[Kept], progress: Progress | None) -> Iterator[Taken]:
        """What would become of each, with nothing written."""
        if not os.path.isdir(self._folder):
            yield from (self._taken(kept, _Desk(None), write=False) for kept in _counted(found, progress))
            return
        with Folder(os.path.realpath(self._folder)) as root:
            desk = _Desk(root)
            yield from (self._taken(kept, desk, write=False) for kept in _counted(found, progress))

    def _take_all(self, found: Sequence[Kept], progress: Progress | None, now: Callable[[], float]) -> Iterator[Taken]:
        if not found:
            return
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with Folder(os.path.realpath(self._folder)) as root:
            desk = _Desk(root, str(iso(now())))
            for kept in _counted(found, progress):
                with root.lock():
                    taken = self._taken(kept, desk, write=True)
                yield taken

    def _taken(self, kept: Kept, desk: _Desk, *, write: bool) -> Taken:
        source = kept.source
        if scrub_text(source) != source:
            return Taken("", "", "refused", why="its path holds a secret")
        project = self._project_of(kept)
        try:
            drafted = self._drafted(kept, project)
        except (Rejected, InvalidInput, NotAllowed) as refusal:
            return Taken(source, project, "refused", why=refusal.message)
        if isinstance(drafted, str):
            return Taken(source, project, "skipped", why=drafted)
        return _Placing(kept, drafted, desk).place(write=write)

    def _drafted(self, kept: Kept, project: str) -> _Drafted | str:
        """The note that a file makes, or why it makes none."""
        raw = memory_files.read_note(kept.path)
        text = scrub_text(raw)
        fields, body = head_of(strip_blocks(text))
        if is_index(body):
            return "it only lists other files"
        told = told_by(fields, body, kept.stem)
        if not told.body.strip():
            return "it says nothing of its own"
        refuse_unsafe(told.title, told.body)
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        created = str(iso(os.lstat(kept.path).st_mtime))[:10]
        return _Drafted(told, project, digest, text, created, "[redacted:" in text and "[redacted:" not in raw)

    # Whose it is

    def _project_of(self, kept: Kept) -> str:
        """The name of the project that a file is about; of a client that keeps one file for everything, its own."""
        if kept.client != "claude" and "rollout_summaries" not in kept.path:
            return kept.client
        if kept.slug in self._own:
            return self._own[kept.slug]
        known = kept.slug or kept.path
        if known not in self._projects:
            self._projects[known] = self._named(kept)
        return self._projects[known]

    def _named(self, kept: Kept) -> str:
        folder = without_worktree(subject_of(kept))
        if not folder:
            return scrub_text(kept.slug.strip("-")) or kept.client
        return scrub_text(find_project(folder).name if os.path.isdir(folder) else os.path.basename(folder))


class _Placing:
    """One note and its place in the folder."""

    def __init__(self, kept: Kept, drafted: _Drafted, desk: _Desk) -> None:
        self._kept, self._drafted, self._desk = kept, drafted, desk
        self._before = desk.logged(kept.source)
        stem = os.path.splitext(kept.name)[0]
        self.id = self._before.id if self._before else memory_id(drafted.project, stem, drafted.digest)
        self.note = self._before.note if self._before else f"{LEARNINGS}/{self.id}.md"
        self._copy = self._before.copy if self._before else self._free_copy(stem)

    def place(self, *, write: bool) -> Taken:
        """Say what becomes of it, and do it unless somebody only looks."""
        outcome, why = self._outcome()
        if write and outcome in ("added", "updated", "known") and not self._is_logged:
            if outcome != "known":
                self._desk.write(self.note, self._text)
                self._desk.write(self._copy, self._drafted.copy)
            self._desk.log(self._entry)
        told = self._drafted.told
        return Taken(
            self._kept.source,
            self._drafted.project,
            outcome,
            self.id,
            self.note,
            told.learning_type,
            told.title,
            why,
            self._drafted.redacted,
        )

    @property
    def _is_logged(self) -> bool:
        return self._before is not None and self._before.hash == self._drafted.digest

    def _outcome(self) -> tuple[str, str]:
        if self._is_logged:
            return "known", ""
        there = self._desk.read(self.note)
        if self._before is None:
            return ("added", "") if there is None else ("known", "")  # its id has a mark of the text: it is this one
        if there is None:
            return "left", f"{self.note} was removed"
        if _mark(there) != self._before.note_hash:
            return "left", f"{self.note} was edited"
        return "updated", ""

    @property
    def _text(self) -> str:
        from swarmlore.notes.note_format import write_note

        told, drafted, kept = self._drafted.told, self._drafted, self._kept
        about = told.learning_type != "preference" and drafted.project != kept.client
        fields = {
            "title": told.title,
            "category": told.category,
            "tags": list(dict.fromkeys(tag for tag in ("auto-memory", kept.client, slug(drafted.project)) if tag)),
            "key_insight": told.key_insight,
            "created": drafted.created,
            "confidence": "medium",
            "type": "learning",
            "id": self.id,
            "scope": f"project:{drafted.project}" if about else "universal",
            "learning_type": told.learning_type,
            "source": kept.source,
        }
        return write_note(fields, told.body + "\n")

    @property
    def _entry(self) -> Logged:
        there = self._desk.read(self.note)
        mark = _mark(there) if there is not None else ""
        return Logged(self._kept.source, self._drafted.digest, self.id, self.note, mark, self._copy, self._desk.at)

    def _free_copy(self, stem: str) -> str:
        """A name for the copy that no other file has."""
        plain = f"{_copies_of(self._drafted.project)}/{slug(stem)[:60] or 'memory'}"
        mark = sha256(self._kept.source.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{plain}-{mark[:6]}.md" if self._desk.has_copy(f"{plain}.md") else f"{plain}.md"


class _Desk:
    """The folder of notes and its log; None stands for a folder that is not there yet."""

    def __init__(self, root: Folder | None, at: str = "") -> None:
        self._root = root
        self.at = at
        self._stamp = ""
        self._entries: dict[str, Logged] = {}
        self._copies: set[str] = set()

    def logged(self, source: str) -> Logged | None:
        """What is noted about a file."""
        self._look()
        return self._entries.get(source)

    def every(self) -> list[Logged]:
        """All that is noted, in a stable order."""
        self._look()
        return [self._entries[source] for source in sorted(self._entries)]

    def _look(self) -> None:
        """The log is read again only where somebody else wrote to it."""
        if self._root is not None and (stamp := self._root.stamp(FILE)) != self._stamp:
            self._entries = read_log(self._root.read(FILE).decode("utf-8", "replace"))
            self._copies = {entry.copy for entry in self._entries.values()}
            self._stamp = stamp

    def has_copy(self, path: str) -> bool:
        return path in self._copies

    def log(self, entry: Logged) -> None:
        assert self._root is not None  # somebody who only looks writes nothing
        self._root.append(FILE, log_line(entry, first=self._stamp == "-"), mode=0o600)
        self._entries[entry.source] = entry
        self._copies.add(entry.copy)
        self._stamp = self._root.stamp(FILE)

    def write(self, path: str, text: str) -> None:
        assert self._root is not None
        *folders, name = path.split("/")
        _within(self._root, folders, lambda folder: folder.replace(name, [text.encode()], mode=0o600), make=True)

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None where there is none."""
        found: list[bytes] = []

        def take(folder: Folder) -> None:
            if folder.stamp(name) != "-":
                found.append(folder.read(name))

        *folders, name = path.split("/")
        if self._root is not None:
            _within(self._root, folders, take, make=False)
        return found[0] if found else None


def _within(root: Folder, folders: Sequence[str], do: Callable[[Folder], object], *, make: bool) -> None:
    """Do something in a folder below, reached step by step."""
    if not folders:
        do(root)
        return
    inside = root.inside(folders[0], make=make)
    if inside is not None:
        with inside:
            _within(inside, folders[1:], do, make=make)


def _copies_of(project: str) -> str:
    """The folder for copies of what is about a project."""
    return f"{COPIES}/{slug(project)[:40] or 'project'}"


def _mark(content: bytes) -> str:
    return sha256(content).hexdigest()


def _counted(found: Sequence[Kept], progress: Progress | None) -> Iterable[Kept]:
    for number, kept in enumerate(found, 1):
        yield kept
        if progress:
            progress(number, len(found))
