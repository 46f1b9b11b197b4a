"""Import the memory files of agent clients (Claude Code, Codex, ...) as notes for every project, each file once.

Each file becomes a note in `documents/learnings/` of the notes folder and a copy in `documents/memories/`, both
redacted. A log maps files to notes. A changed file updates its note unless a person edited or removed that. Files are
handled one by one and logged last, so that a killed import can be repeated.
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
from swarmlore.domain.policy.gate import check_note, scrub_text
from swarmlore.domain.records import Caller, choose
from swarmlore.errors import InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.notes import memory_files
from swarmlore.notes.locations import LEARNINGS
from swarmlore.notes.project_memory.client_memory import (
    CLIENTS,
    Kept,
    MemoryNote,
    head_of,
    is_index,
    kept_as,
    kept_by,
    kept_in,
    memory_id,
    parse_memory,
    subject_of,
    without_worktree,
)
from swarmlore.workspace.files import Folder
from swarmlore.workspace.project import find_project

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.models.embedding import Progress


FILE = ".memory-ingest-log.yaml"
HEAD = "# Which memory files of agent clients became notes. Written by swarmlore.\n"
_MOST_CHARS = 4_000  # of a line in the log
_PLAIN = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}"
_NOTE = re.compile(rf"documents/learnings/{_PLAIN}\.md")
_COPY = re.compile(rf"documents/memories/{_PLAIN}/{_PLAIN}\.md|")
_NAMES = ("source", "hash", "id", "note", "note_hash", "copy", "at")


@frozen
class Logged:
    """Log entry: an imported file, with the digests of its text and of the note that was written."""

    source: str
    hash: str
    id: str
    note: str
    note_hash: str
    copy: str = ""
    at: str = ""


def read_log(text: str) -> dict[str, Logged]:
    """Parse the log; entries by source, invalid lines are skipped."""
    found: dict[str, Logged] = {}
    for line in text.split("\n"):
        if line.startswith("- {") and len(line) <= _MOST_CHARS and (entry := _entry(line[2:])):
            found[entry.source] = entry
    return found


def _entry(text: str) -> Logged | None:
    try:
        values: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, Mapping) or not all(isinstance(values.get(name), str) for name in _NAMES[:5]):
        return None
    entry = Logged(**{name: str(values.get(name, "")) for name in _NAMES})
    # The folder may be pulled from git: reject paths that lead out of it.
    return entry if _NOTE.fullmatch(entry.note) and _COPY.fullmatch(entry.copy) else None


def log_line(entry: Logged, *, first: bool = False) -> bytes:
    """Return a log line; the first one includes the header."""
    values = json.dumps({name: getattr(entry, name) for name in _NAMES}, ensure_ascii=False)
    return f"{HEAD if first else ''}- {values}\n".encode("utf-8", "backslashreplace")


COPIES = "documents/memories"


@frozen
class Taken:
    """Result for one file: `added`, `updated`, `known`, `left` (note edited or removed by a person), `skipped` (nothing
    to import) or `refused`, with the reason."""

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
    """Results for all files; `folder` holds the notes."""

    folder: str
    files: tuple[Taken, ...] = ()
    dry_run: bool = False

    def count(self, outcome: str) -> int:
        """Count the files with this outcome."""
        return sum(one.outcome == outcome for one in self.files)


@frozen
class _Drafted:
    """A note ready to be written, and the text that it was made of."""

    memory: MemoryNote
    project: str
    digest: str
    copy: str
    created: str
    redacted: bool


class Ingester:
    """Imports the memory files of one user's clients, for one caller."""

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
        """Import the memory files of these clients, or `only` one file or folder. An agent may only use `dry_run`."""
        choose("client", clients, CLIENTS)
        if not dry_run and self._caller.role != "person":
            raise NotAllowed(
                "taking over what clients remember is a person's to decide", "look first: add --dry-run, or --json"
            )
        files = self._at(only) if only else list(kept_by(clients or CLIENTS, self._home, self._env))
        results = self._preview(files, progress) if dry_run else self._take_all(files, progress, now)
        return Ingested(self._folder, tuple(results), dry_run)

    def copies(self, project: str) -> Iterator[tuple[str, str]]:
        """Yield original file name and text of each imported file about a project."""
        if not os.path.isdir(self._folder):
            return
        with Folder(os.path.realpath(self._folder)) as root:
            desk = _NotesFolder(root)
            for entry in desk.every():
                text = desk.read(entry.copy) if entry.copy.startswith(f"{_copies_of(project)}/") else None
                if text is not None:
                    yield os.path.basename(entry.source), text.decode("utf-8", "replace")

    def _at(self, path: str) -> list[Kept]:
        """Return the memory files of a folder, or the one at a path."""
        if not os.path.exists(path):
            raise NotFound(f"no file or folder {path}", "name a memory file, or a folder of them")
        return list(kept_in(path)) if os.path.isdir(path) else [kept_as(path, self._home, self._env)]

    def _preview(self, found: Sequence[Kept], progress: Progress | None) -> Iterator[Taken]:
        """Yield the result that each file would have; nothing is written."""
        if not os.path.isdir(self._folder):
            yield from (self._taken(kept, _NotesFolder(None), write=False) for kept in _counted(found, progress))
            return
        with Folder(os.path.realpath(self._folder)) as root:
            desk = _NotesFolder(root)
            yield from (self._taken(kept, desk, write=False) for kept in _counted(found, progress))

    def _take_all(self, found: Sequence[Kept], progress: Progress | None, now: Callable[[], float]) -> Iterator[Taken]:
        if not found:
            return
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with Folder(os.path.realpath(self._folder)) as root:
            desk = _NotesFolder(root, str(iso(now())))
            for kept in _counted(found, progress):
                with root.lock():
                    taken = self._taken(kept, desk, write=True)
                yield taken

    def _taken(self, kept: Kept, desk: _NotesFolder, *, write: bool) -> Taken:
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
        return _Placement(kept, drafted, desk).place(write=write)

    def _drafted(self, kept: Kept, project: str) -> _Drafted | str:
        """Return the note for a file, or the reason why it makes none."""
        raw = memory_files.read_note(kept.path)
        text = scrub_text(raw)
        fields, body = head_of(strip_blocks(text))
        if is_index(body):
            return "it only lists other files"
        memory = parse_memory(fields, body, kept.stem)
        if not memory.body.strip():
            return "it says nothing of its own"
        check_note(memory.title, memory.body)
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        created = str(iso(os.lstat(kept.path).st_mtime))[:10]
        return _Drafted(memory, project, digest, text, created, "[redacted:" in text and "[redacted:" not in raw)

    def _project_of(self, kept: Kept) -> str:
        """Return the project that a file is about; for a client with one global file, the client's name."""
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


class _Placement:
    """One note and its files in the notes folder."""

    def __init__(self, kept: Kept, drafted: _Drafted, desk: _NotesFolder) -> None:
        self._kept, self._drafted, self._desk = kept, drafted, desk
        self._before = desk.logged(kept.source)
        stem = os.path.splitext(kept.name)[0]
        self.id = self._before.id if self._before else memory_id(drafted.project, stem, drafted.digest)
        self.note = self._before.note if self._before else f"{LEARNINGS}/{self.id}.md"
        self._copy = self._before.copy if self._before else self._free_copy(stem)

    def place(self, *, write: bool) -> Taken:
        """Return the outcome for a file and, with `write`, write note, copy and log."""
        outcome, why = self._outcome()
        if write and outcome in ("added", "updated", "known") and not self._is_logged:
            if outcome != "known":
                self._desk.write(self.note, self._text)
                self._desk.write(self._copy, self._drafted.copy)
            self._desk.log(self._entry)
        memory = self._drafted.memory
        return Taken(
            self._kept.source,
            self._drafted.project,
            outcome,
            self.id,
            self.note,
            memory.learning_type,
            memory.title,
            why,
            self._drafted.redacted,
        )

    @property
    def _is_logged(self) -> bool:
        return self._before is not None and self._before.hash == self._drafted.digest

    def _outcome(self) -> tuple[str, str]:
        if self._is_logged:
            return "known", ""
        content = self._desk.read(self.note)
        if self._before is None:
            return ("added", "") if content is None else ("known", "")  # the id contains a digest of the text
        if content is None:
            return "left", f"{self.note} was removed"
        if _digest(content) != self._before.note_hash:
            return "left", f"{self.note} was edited"
        return "updated", ""

    @property
    def _text(self) -> str:
        from swarmlore.notes.note_format import write_note

        memory, drafted, kept = self._drafted.memory, self._drafted, self._kept
        is_of_project = memory.learning_type != "preference" and drafted.project != kept.client
        fields = {
            "title": memory.title,
            "category": memory.category,
            "tags": list(dict.fromkeys(tag for tag in ("auto-memory", kept.client, slug(drafted.project)) if tag)),
            "key_insight": memory.key_insight,
            "created": drafted.created,
            "confidence": "medium",
            "type": "learning",
            "id": self.id,
            "scope": f"project:{drafted.project}" if is_of_project else "universal",
            "learning_type": memory.learning_type,
            "source": kept.source,
        }
        return write_note(fields, memory.body + "\n")

    @property
    def _entry(self) -> Logged:
        content = self._desk.read(self.note)
        note_hash = _digest(content) if content is not None else ""
        return Logged(self._kept.source, self._drafted.digest, self.id, self.note, note_hash, self._copy, self._desk.at)

    def _free_copy(self, stem: str) -> str:
        """Return an unused path for the copy."""
        plain = f"{_copies_of(self._drafted.project)}/{slug(stem)[:60] or 'memory'}"
        digest = sha256(self._kept.source.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{plain}-{digest[:6]}.md" if self._desk.has_copy(f"{plain}.md") else f"{plain}.md"


class _NotesFolder:
    """The notes folder with its log; `root` is None if the folder does not exist yet."""

    def __init__(self, root: Folder | None, at: str = "") -> None:
        self._root = root
        self.at = at
        self._stamp = ""
        self._entries: dict[str, Logged] = {}
        self._copies: set[str] = set()

    def logged(self, source: str) -> Logged | None:
        """Return the log entry of a source."""
        self._refresh()
        return self._entries.get(source)

    def every(self) -> list[Logged]:
        """Return all log entries, sorted by source."""
        self._refresh()
        return [self._entries[source] for source in sorted(self._entries)]

    def _refresh(self) -> None:
        """Read the log again if another process changed it."""
        if self._root is not None and (stamp := self._root.stamp(FILE)) != self._stamp:
            self._entries = read_log(self._root.read(FILE).decode("utf-8", "replace"))
            self._copies = {entry.copy for entry in self._entries.values()}
            self._stamp = stamp

    def has_copy(self, path: str) -> bool:
        """Return whether a logged file has this path for its copy."""
        return path in self._copies

    def log(self, entry: Logged) -> None:
        """Append an entry to the log."""
        assert self._root is not None  # dry runs do not write
        self._root.append(FILE, log_line(entry, first=self._stamp == "-"), mode=0o600)
        self._entries[entry.source] = entry
        self._copies.add(entry.copy)
        self._stamp = self._root.stamp(FILE)

    def write(self, path: str, text: str) -> None:
        """Write a file below the folder."""
        assert self._root is not None
        *folders, name = path.split("/")
        _within(self._root, folders, lambda folder: folder.replace(name, [text.encode()], mode=0o600), make=True)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file; None without one."""
        found: list[bytes] = []

        def take(folder: Folder) -> None:
            if folder.stamp(name) != "-":
                found.append(folder.read(name))

        *folders, name = path.split("/")
        if self._root is not None:
            _within(self._root, folders, take, make=False)
        return found[0] if found else None


def _within(root: Folder, folders: Sequence[str], do: Callable[[Folder], object], *, make: bool) -> None:
    """Call a function with a subfolder, opened step by step without following links."""
    if not folders:
        do(root)
        return
    inside = root.inside(folders[0], make=make)
    if inside is not None:
        with inside:
            _within(inside, folders[1:], do, make=make)


def _copies_of(project: str) -> str:
    """Return the folder for copies of files about a project."""
    return f"{COPIES}/{slug(project)[:40] or 'project'}"


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def _counted(found: Sequence[Kept], progress: Progress | None) -> Iterable[Kept]:
    for number, kept in enumerate(found, 1):
        yield kept
        if progress:
            progress(number, len(found))
