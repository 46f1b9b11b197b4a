"""Index note files as memories, one per piece: clients' memory folders, `personal/memory` and `shared/memory`.

The file is the source of truth. An unchanged piece keeps its memory, an edited one updates it, a removed one is
forgotten and revived with its history if it returns. A memory that a user forgot stays forgotten while its text is the
same. Each sync of a file is one operation that can be undone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from zlib import crc32

from swarmlore.clients.claude import transcript as claude
from swarmlore.clients.codex import transcript as codex
from swarmlore.config import Settings
from swarmlore.domain.language.chunks import chunks
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.new_memory import DAY_S
from swarmlore.domain.records import Caller, Draft, Memory
from swarmlore.errors import InvalidInput, NotAllowed, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.write import MemoryWriter
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace import git
from swarmlore.workspace.files import Folder, open_own

if TYPE_CHECKING:
    from typing import Any


MOST_BYTES = 1_000_000
MOST_FILES = 500  # of one folder
PRIVATE, SHARED = "agent", "swarm"
CLIENTS = ("claude", "codex")
_NAMED = {"personal": PRIVATE, "shared": SHARED}
FOLDER = "memory"
_NOTES = ".md"
MERGED = "raw_memories.md"  # Codex's unsorted duplicate of its memories
SUMMARIES = "rollout_summaries"
_HEAD_BYTES = 4_096
_MOST_SLUG = 200


@frozen
class Watched:
    """A file in a watched folder: its real path, the tier of its memories, and the client that owns it."""

    path: str
    tier: str
    client: str = ""


def watched(path: str, client: str, home: str, env: Mapping[str, str], roots: Sequence[str] = ()) -> Watched | None:
    """Return tier and owner of a note file, None if its folder is not watched. `client` is the calling agent client,
    `home` and `env` are its user's, `roots` are the project's folders."""
    if not os.path.isabs(path) or "\0" in path or os.path.basename(path).startswith("."):
        return None
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    found = _of_claude(real, home, env, roots) or _of_codex(real, client, home, env, roots)
    return found or _of_named_folder(real)


def _of_claude(real: str, home: str, env: Mapping[str, str], roots: Sequence[str]) -> Watched | None:
    projects = os.path.join(claude.folder(home, env), "projects")
    slug, inside, rest = _below(real, projects).partition(os.sep + FOLDER + os.sep)
    if not inside or os.sep in slug or not rest.endswith(_NOTES):
        return None
    own = any(_is_slug_of(slug, root) for root in roots)
    return Watched(real, SHARED if own else PRIVATE, "claude")


def _of_codex(real: str, client: str, home: str, env: Mapping[str, str], roots: Sequence[str]) -> Watched | None:
    name = _below(real, os.path.join(codex.folder(home, env), "memories"))
    folder, _, last = name.rpartition(os.sep)
    if not name.endswith(_NOTES) or last == MERGED or folder not in ("", SUMMARIES):
        return None
    if folder == SUMMARIES and roots:
        return Watched(real, SHARED, "codex") if _is_within(folder_in(real), roots) else None
    return Watched(real, PRIVATE, "codex") if client == "codex" else None


def _of_named_folder(real: str) -> Watched | None:
    parts = os.path.dirname(real).split(os.sep)
    tiers = [_NAMED[first] for first, second in pairwise(parts) if second == FOLDER and first in _NAMED]
    return Watched(real, tiers[-1]) if tiers else None


def _below(path: str, folder: str) -> str:
    """Return the path relative to a folder; '' if it is outside."""
    base = os.path.join(os.path.realpath(folder), "")
    return path[len(base) :] if path.startswith(base) else ""


def _is_slug_of(slug: str, root: str) -> bool:
    full = slug_of(root)
    if len(full) <= _MOST_SLUG:
        return slug == full
    return slug.startswith(full[:_MOST_SLUG] + "-")  # followed by a hash that the client adds


def slug_of(root: str) -> str:
    """Return the folder name that Claude Code derives from a project path."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in root)


def _is_within(folder: str, roots: Sequence[str]) -> bool:
    return bool(folder) and any(folder == root or folder.startswith(os.path.join(root, "")) for root in roots)


def folder_in(path: str) -> str:
    """Return the working directory named in the head of a Codex session summary."""
    try:
        head = read_note(path, _HEAD_BYTES, cut=True)
    except NotAllowed:
        return ""
    lines = head.split("\n")[:20]
    return next((line[4:].strip() for line in lines if line.startswith("cwd:")), "")


def roots_of(root: str) -> tuple[str, ...]:
    """Return the folders of a project: its own and, for a worktree, the main one of the repository."""
    _, common = git.find_repository(root)
    main = os.path.dirname(common) if os.path.basename(common) == ".git" else ""
    return tuple(dict.fromkeys(folder for folder in (root, main) if folder))


def own_folders(client: str, home: str, env: Mapping[str, str], roots: Sequence[str]) -> Iterator[str]:
    """Yield the memory folders of clients that concern a project; Codex's own notes only when Codex calls."""
    projects = os.path.join(claude.folder(home, env), "projects")
    for root in roots:
        slug = slug_of(root)
        if len(slug) <= _MOST_SLUG:
            yield os.path.join(projects, slug, FOLDER)
    memories = os.path.join(codex.folder(home, env), "memories")
    yield os.path.join(memories, SUMMARIES)
    if client == "codex":
        yield memories


def notes_in(folder: str) -> list[str]:
    """Return the note files of a folder, newest first, at most 500."""
    try:
        with os.scandir(folder) as entries:
            notes = [entry for entry in entries if entry.name.endswith(_NOTES) and entry.is_file(follow_symlinks=False)]
            found = [(entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in notes]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)[:MOST_FILES]]


def stamp_of(path: str) -> str:
    """Return a string that changes with the file; '' without a file."""
    try:
        stat = os.lstat(path)
    except (OSError, ValueError):
        return ""
    return f"{stat.st_mtime_ns}.{stat.st_size}.{stat.st_ino}"


def read_note(path: str, most_bytes: int = MOST_BYTES, *, cut: bool = False) -> str:
    """Return the text of a file, with `cut` only its beginning; raise NotAllowed if it is unsafe or not UTF-8."""
    file, why = open_own(path)
    if file is None:
        raise _refused(path, f"cannot be read: {why}")
    with file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes and not cut:
        raise _refused(path, f"is larger than {most_bytes // 1000} kB")
    if b"\0" in data:
        raise _refused(path, "is not a text")
    try:
        return data.decode("utf-8", "replace" if cut else "strict").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise _refused(path, "is not a text in UTF-8") from None


def _refused(path: str, why: str) -> NotAllowed:
    return NotAllowed(f"{path!a} {why}", "keep notes in small text files of your own")


KNOWN = "memory-files.json"
VERB = "index"
UNWATCHED = "it lies in no folder that is watched"
MOST_AT_ONCE = 50  # files per sync; the next one continues
MOST_KNOWN = 2_000  # of one project
_TIERS = (PRIVATE, SHARED)
_TRUST = 2  # text written by agents


@frozen
class IndexedFile:
    """Result of indexing a file: number of pieces, of memories added, edited, kept, forgotten or left forgotten, and of
    pieces refused. `operation` is '' if nothing changed; `skipped` is the reason why it was not read."""

    path: str
    tier: str = ""
    pieces: int = 0
    added: int = 0
    updated: int = 0
    kept: int = 0
    forgotten: int = 0
    left_out: int = 0
    rejected: int = 0
    operation: str = ""
    skipped: str = ""


class FileIndexer:
    """Indexes note files for one caller."""

    def __init__(
        self,
        home: str,
        store: Store,
        caller: Caller,
        settings: Settings,
        writing: MemoryWriter,
        operation: Callable[[str], Operation],
        root: str,
        env: Mapping[str, str],
    ) -> None:
        self._home = home
        self._store = store
        self._caller = caller
        self._settings = settings
        self._writing = writing
        self._operation = operation
        self._roots = roots_of(root)
        self._env = env
        self._client = next((part for part in caller.agent.split("/") if part in CLIENTS), "")

    def index(self, path: str) -> IndexedFile:
        """Sync the memories of one file; any path may be given, most files are not watched."""
        unwatched = IndexedFile(path, skipped=UNWATCHED)
        if self._watched(path) is None and os.path.lexists(path):
            return unwatched
        with _known_files(self._home, self._caller.project) as known:
            return next(iter(self._try(path, known)), unwatched)

    def take(self, path: str, text: str, *, tier: str, title: str, tags: Sequence[str] = ()) -> list[Memory]:
        """Sync the memories of a remote file with the text that was sent; they belong to the sender."""
        spot = Watched(path, tier)
        operation = self._operation(VERB)
        wanted, _ = self._prepared(spot, pieces_of(text), operation, title, tags)
        if not wanted:
            raise InvalidInput("nothing of this text can be kept", "swarmlore list --rejected shows why")

        def step(act: Operation) -> list[Memory]:
            self._step(spot, wanted, act)
            rows = [row for row in self._rows(path) if row.tier == tier and row.live]
            return sorted(rows, key=lambda row: int(row.source_ref.get("chunk", 0)))

        return self._store.perform(operation, step)

    def changed(self) -> tuple[IndexedFile, ...]:
        """Sync every changed file: those indexed before and those in the memory folders of clients."""
        if not self._settings.knowledge.enabled or self._store.engine.readonly:
            return ()
        found: list[IndexedFile] = []
        with _known_files(self._home, self._caller.project) as known:
            for path in self._places(known):
                if len(found) >= MOST_AT_ONCE:
                    break
                if stamp_of(path) != known.get(path, _NOTHING).stamp:
                    found += self._try(path, known)
        return tuple(found)

    def _places(self, known: Mapping[str, _Seen]) -> list[str]:
        seen = [path for path, entry in known.items() if entry.agent in ("", self._caller.agent)]
        folders = own_folders(self._client, self._user, self._env, self._roots)
        listed = [os.path.realpath(note) for folder in folders for note in notes_in(folder)]
        return list(dict.fromkeys((*seen, *listed)))

    def _try(self, path: str, known: dict[str, _Seen]) -> list[IndexedFile]:
        """Return the result for one file; [] if it does not concern this project, which is remembered too."""
        from swarmlore.domain.security.redaction import redact

        if redact(path)[1]:
            return [IndexedFile("", skipped="its path holds a secret")]
        stamp = stamp_of(path)
        spot = self._watched(path) or self._gone(path, known)
        if spot is None:
            _remember(known, path, _Seen(stamp))
            return []
        try:
            return [self._index(spot, known)]
        except (NotAllowed, InvalidInput) as refusal:
            _remember(known, spot.path, self._seen(spot, stamp))
            return [IndexedFile(spot.path, spot.tier, skipped=refusal.message)]

    @property
    def _user(self) -> str:
        return self._env.get("HOME") or os.path.expanduser("~")

    def _watched(self, path: str) -> Watched | None:
        """Return tier and owner of a file for this caller."""
        spot = watched(path, self._client, self._user, self._env, self._roots)
        if spot is not None and spot.client and self._store.engine.remote:
            return replace(spot, tier=PRIVATE)  # clients' notes are about one user, not for the team
        return spot

    def _gone(self, path: str, known: Mapping[str, _Seen]) -> Watched | None:
        """Return tier and path of an indexed file that was deleted."""
        entry = known.get(path, _NOTHING)
        is_own = entry.tier and entry.agent in ("", self._caller.agent)
        return Watched(path, entry.tier) if is_own and not os.path.lexists(path) else None

    def _index(self, spot: Watched, known: dict[str, _Seen]) -> IndexedFile:
        stamp = stamp_of(spot.path)
        texts = pieces_of(read_note(spot.path)) if stamp else ()
        operation = self._operation(VERB)
        wanted, rejected = self._prepared(spot, texts, operation)
        result = self._store.perform(operation, lambda act: self._step(spot, wanted, act))
        _remember(known, spot.path, self._seen(spot, stamp))
        return replace(result, pieces=len(texts), rejected=rejected)

    def _seen(self, spot: Watched, stamp: str) -> _Seen:
        return _Seen(stamp, spot.tier, self._caller.agent if spot.tier == PRIVATE else "")

    def _prepared(
        self, spot: Watched, texts: Sequence[str], operation: Operation, title: str = "", tags: Sequence[str] = ()
    ) -> tuple[list[Memory], int]:
        """Return the memories for the pieces that pass the validation gate, and how many it refused."""
        title = title or os.path.splitext(os.path.basename(spot.path))[0]
        wanted: list[Memory] = []
        for number, text in enumerate(texts):
            draft = Draft(
                text,
                title=title,
                tags=tuple(tags),
                tier=spot.tier,
                source="file_index",
                source_ref={"path": spot.path, "chunk": number},
                trust=_TRUST,
                auto_generated=True,
            )
            try:
                wanted.append(replace(self._writing.prepare(draft, operation), key=key_of(spot.path)))
            except (Rejected, InvalidInput):
                continue  # the gate records refused texts
        return wanted, len(texts) - len(wanted)

    def _step(self, spot: Watched, wanted: Sequence[Memory], operation: Operation) -> IndexedFile:
        """Compare stored and wanted memories and apply the difference; runs in one transaction."""
        step = Step(self._store, operation, self._rows(spot.path), spot.tier)
        step.keep(wanted)
        step.add()
        step.drop()
        return replace(IndexedFile(spot.path, spot.tier), operation=operation.id if step.changed else "", **step.counts)

    def _rows(self, path: str) -> list[Memory]:
        rows = self._store.of_key(self._caller, key_of(path), _TIERS)
        if self._store.engine.remote:  # another machine's file may have the same path
            rows = [row for row in rows if row.owner == self._caller.agent]
        return [row for row in rows if row.source == "file_index"]


class Step:
    """Comparison of the stored memories of one file with its pieces."""

    verb = VERB  # name of the operations that forget removed pieces

    def __init__(self, store: Store, operation: Operation, rows: Sequence[Memory], tier: str) -> None:
        self._store = store
        self._operation = operation
        self._left = [row for row in rows if row.forgotten_at is None]
        self._hidden = {row.text: row for row in rows if row.forgotten_at is not None and row.tier == tier}
        self._tier = tier
        self._fresh: list[Memory] = []
        self.changed = False
        self.counts = dict.fromkeys(("added", "updated", "kept", "forgotten", "left_out"), 0)

    def keep(self, wanted: Sequence[Memory]) -> None:
        """Keep memories with unchanged text; update their piece number and expiry."""
        by_text: dict[str, list[Memory]] = {}
        for row in self._left:
            if row.tier == self._tier:
                by_text.setdefault(row.text, []).append(row)
        for memory in wanted:
            matching = by_text.get(memory.text)
            if not matching:
                self._fresh.append(memory)
                continue
            row = matching.pop(0)
            self._left.remove(row)
            self._renew(row, memory)
            self.counts["kept"] += 1

    def _renew(self, row: Memory, memory: Memory) -> None:
        renewed = self.kept(row, memory)
        if renewed != row:
            self._store.revise(self._operation, row, renewed, "renewed")
            self.changed = True

    def kept(self, row: Memory, memory: Memory) -> Memory:
        """Return an unchanged memory with the file's current reference and expiry."""
        due = row.expires_at is not None and (memory.expires_at is None or memory.expires_at - row.expires_at > DAY_S)
        if not due and row.source_ref == memory.source_ref:
            return row
        return replace(row, source_ref=memory.source_ref, expires_at=memory.expires_at)

    def add(self) -> None:
        """Revive, update or add a memory for each new piece."""
        past = self._store.pasts(
            [self._hidden[memory.text].id for memory in self._fresh if memory.text in self._hidden]
        )
        for memory in self._fresh:
            hidden = self._hidden.pop(memory.text, None)
            if hidden is not None and past[hidden.id].verb != self.verb:
                self.counts["left_out"] += 1
            elif hidden is not None:
                self._become(hidden, memory, "revived", "added")
            elif old := self._at(memory.source_ref["chunk"]):
                self._become(old, memory, "updated", "updated")
            else:
                self._store.put(self._operation, memory)
                self._count("added")

    def _at(self, number: int) -> Memory | None:
        """Return the live memory at a piece number of the file that no unchanged piece claimed."""
        for row in self._left:
            if row.tier == self._tier and row.live and row.source_ref.get("chunk") == number:
                self._left.remove(row)
                return row
        return None

    def _become(self, row: Memory, memory: Memory, action: str, counted: str) -> None:
        status = memory.status if memory.status == "quarantined" else row.status
        edited = self.edited(row, memory)
        after = replace(edited, status=status, forgotten_at=None, updated_at=self._operation.at)
        self._store.revise(self._operation, row, after, action)
        self._count(counted)

    def edited(self, row: Memory, memory: Memory) -> Memory:
        """Return a memory with the current text of its file."""
        taken = ("text", "title", "entities", "source_ref", "expires_at", "trust", "citations")
        changes: dict[str, Any] = {name: getattr(memory, name) for name in taken}
        return replace(row, **changes)

    def drop(self) -> None:
        """Forget memories whose text was removed from the file; archived ones stay."""
        for row in self._left:
            if row.live or row.status == "quarantined":
                self._store.forget(self._operation, row, "no longer in its file")
                self._count("forgotten")

    def _count(self, change: str) -> None:
        self.counts[change] += 1
        self.changed = True


def pieces_of(text: str) -> tuple[str, ...]:
    """Split a text into pieces. Secrets are redacted before: a cut inside one could hide it from the gate."""
    from swarmlore.domain.policy.fence import strip_blocks

    text = strip_blocks(scrub_text(text)).strip()
    return chunks(text) or ((text,) if text else ())


def key_of(path: str) -> str:
    """Return the store key shared by all memories of a file."""
    data = os.fsencode(path)
    return f"file:{crc32(data):08x}{crc32(data[::-1]):08x}"


@frozen
class _Seen:
    """State of a file when last indexed. Without a tier it does not concern the project."""

    stamp: str = ""
    tier: str = ""
    agent: str = ""


_NOTHING = _Seen()


def _remember(known: dict[str, _Seen], path: str, seen: _Seen) -> None:
    known.pop(path, None)
    if seen.stamp:
        known[path] = seen


@contextmanager
def _known_files(home: str, project: str) -> Iterator[dict[str, _Seen]]:
    """Context manager: the indexed files of a project on this machine by path, saved at the end. They are kept outside
    of the store, so that undoing an operation does not index the file again."""
    with Folder(os.path.realpath(home)) as folder, folder.lock():
        projects = _parse_known(folder.read(KNOWN))
        known = {path: _Seen(*entry) for path, entry in projects.get(project, {}).items()}
        before = dict(known)
        try:
            yield known
        finally:
            if known != before:
                newest = list(known.items())[-MOST_KNOWN:]
                projects[project] = {path: [seen.stamp, seen.tier, seen.agent] for path, seen in newest}
                folder.replace(KNOWN, [json.dumps(projects, ensure_ascii=True).encode("ascii")], mode=0o600)


def _parse_known(content: bytes) -> dict[str, dict[str, list[str]]]:
    """Parse the saved state; {} if it is unreadable, since the files can be indexed again."""
    try:
        saved = json.loads(content)
        return {
            str(project): {str(path): [str(part) for part in entry][:3] for path, entry in files.items()}
            for project, files in saved.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}
