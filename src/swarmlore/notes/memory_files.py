"""Files of notes as memories: one for each piece of a file, kept in step with it.

The file is the truth. A piece that stays keeps its memory, one that was edited in its place is edited, one that is gone
is forgotten, and comes back with its history when it comes back. What somebody forgot by hand stays forgotten as long
as its text stays the same. All of it is one operation that can be undone.
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
from swarmlore.domain.policy.gate import DAY_S
from swarmlore.domain.records import Caller, Draft, Memory
from swarmlore.errors import InvalidInput, NotAllowed, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.write import Writing
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace import git
from swarmlore.workspace.files import open_own

if TYPE_CHECKING:
    from typing import Any


MOST_BYTES = 1_000_000
MOST_FILES = 500  # of one folder
PRIVATE, SHARED = "agent", "swarm"
CLIENTS = ("claude", "codex")
_NAMED = {"personal": PRIVATE, "shared": SHARED}
FOLDER = "memory"
_NOTES = ".md"
MERGED = "raw_memories.md"  # the same once more, before Codex has sorted it
SUMMARIES = "rollout_summaries"
_HEAD_BYTES = 4_096
_MOST_SLUG = 200


@frozen
class Watched:
    """A file in a watched folder: its real path, who may see what it says, and whose own notes it is part of."""

    path: str
    tier: str
    client: str = ""


def watched(path: str, client: str, home: str, env: Mapping[str, str], roots: Sequence[str] = ()) -> Watched | None:
    """What a file is to the memory, or None where its folder is not watched.

    `client` is who asks, `home` and `env` are its user's, `roots` are the folders of the project.
    """
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
    """The rest of a path inside of a folder, or ''."""
    base = os.path.join(os.path.realpath(folder), "")
    return path[len(base) :] if path.startswith(base) else ""


def _is_slug_of(slug: str, root: str) -> bool:
    whole = slug_of(root)
    if len(whole) <= _MOST_SLUG:
        return slug == whole
    return slug.startswith(whole[:_MOST_SLUG] + "-")  # what follows is a hash of the client's own


def slug_of(root: str) -> str:
    """A path as Claude Code makes a name of it."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in root)


def _is_within(folder: str, roots: Sequence[str]) -> bool:
    return bool(folder) and any(folder == root or folder.startswith(os.path.join(root, "")) for root in roots)


def folder_in(path: str) -> str:
    """The folder that a summary of a session says it is about."""
    try:
        head = read_note(path, _HEAD_BYTES, cut=True)
    except NotAllowed:
        return ""
    lines = head.split("\n")[:20]
    return next((line[4:].strip() for line in lines if line.startswith("cwd:")), "")


def roots_of(root: str) -> tuple[str, ...]:
    """The folders that stand for a project: its own and, of a worktree, that of the repository."""
    _, common = git.find_repository(root)
    main = os.path.dirname(common) if os.path.basename(common) == ".git" else ""
    return tuple(dict.fromkeys(folder for folder in (root, main) if folder))


def own_folders(client: str, home: str, env: Mapping[str, str], roots: Sequence[str]) -> Iterator[str]:
    """The folders in which clients keep notes that concern a project; Codex's are all looked at, for Codex."""
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
    """The files of a folder, newest first, so many at most."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in entries if _is_note(entry)
            ]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)[:MOST_FILES]]


def _is_note(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(_NOTES) and entry.is_file(follow_symlinks=False)


def stamp_of(path: str) -> str:
    """A text that is another one after the file has changed; '' where there is none."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return ""
    return f"{found.st_mtime_ns}.{found.st_size}.{found.st_ino}"


def read_note(path: str, most_bytes: int = MOST_BYTES, *, cut: bool = False) -> str:
    """The text of a file; raises NotAllowed where it is none that may be read. With `cut`, only its beginning."""
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
MOST_AT_ONCE = 50  # files that one look takes in; the others wait for the next
MOST_KNOWN = 2_000  # of one project
_TIERS = (PRIVATE, SHARED)
_TRUST = 2  # what agents write down


@frozen
class IndexedFile:
    """What became of a file's pieces: how many there are, and how many were added, edited, kept, forgotten, left
    forgotten or refused. Without an operation nothing was changed; `skipped` says why it was not read."""

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


class Indexing:
    """Takes in files of notes for one caller."""

    def __init__(
        self,
        home: str,
        store: Store,
        caller: Caller,
        settings: Settings,
        writing: Writing,
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
        """Bring the memories of one file in step with it; any file may be asked for, most are none of ours."""
        unwatched = IndexedFile(path, skipped=UNWATCHED)
        if self._watched(path) is None and os.path.lexists(path):
            return unwatched
        with _known(self._home, self._caller.project) as known:
            return next(iter(self._try(path, known)), unwatched)

    def take(self, path: str, text: str, *, tier: str, title: str, tags: Sequence[str] = ()) -> list[Memory]:
        """Bring the memories of a file that lies elsewhere in step with its text; they are of whoever sends it."""
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
        """The same for every file that is not as it was: those seen before, and those in the clients' own folders."""
        if not self._settings.knowledge.enabled or self._store.engine.readonly:
            return ()
        found: list[IndexedFile] = []
        with _known(self._home, self._caller.project) as known:
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
        """What became of a file; nothing where it does not concern this project, which is noted too."""
        from swarmlore.domain.security.redaction import redact

        if redact(path)[1]:
            return [IndexedFile("", skipped="its path holds a secret")]
        stamp = stamp_of(path)
        spot = self._watched(path) or self._gone(path, known)
        if spot is None:
            _note(known, path, _Seen(stamp))
            return []
        try:
            return [self._index(spot, known)]
        except (NotAllowed, InvalidInput) as refusal:
            _note(known, spot.path, self._seen(spot, stamp))
            return [IndexedFile(spot.path, spot.tier, skipped=refusal.message)]

    @property
    def _user(self) -> str:
        return self._env.get("HOME") or os.path.expanduser("~")

    def _watched(self, path: str) -> Watched | None:
        """What a file is to this caller."""
        spot = watched(path, self._client, self._user, self._env, self._roots)
        if spot is not None and spot.client and self._store.engine.remote:
            return replace(spot, tier=PRIVATE)  # notes about its user: colleagues need not read them
        return spot

    def _gone(self, path: str, known: Mapping[str, _Seen]) -> Watched | None:
        """What a file was that is not there any more."""
        entry = known.get(path, _NOTHING)
        own = entry.tier and entry.agent in ("", self._caller.agent)
        return Watched(path, entry.tier) if own and not os.path.lexists(path) else None

    def _index(self, spot: Watched, known: dict[str, _Seen]) -> IndexedFile:
        stamp = stamp_of(spot.path)
        texts = pieces_of(read_note(spot.path)) if stamp else ()
        operation = self._operation(VERB)
        wanted, rejected = self._prepared(spot, texts, operation)
        told = self._store.perform(operation, lambda act: self._step(spot, wanted, act))
        _note(known, spot.path, self._seen(spot, stamp))
        return replace(told, pieces=len(texts), rejected=rejected)

    def _seen(self, spot: Watched, stamp: str) -> _Seen:
        return _Seen(stamp, spot.tier, self._caller.agent if spot.tier == PRIVATE else "")

    def _prepared(
        self,
        spot: Watched,
        texts: Sequence[str],
        operation: Operation,
        title: str = "",
        tags: Sequence[str] = (),
    ) -> tuple[list[Memory], int]:
        """The memories that the pieces would be, past the gate; and how many it refused."""
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
                continue  # the gate has listed it
        return wanted, len(texts) - len(wanted)

    def _step(self, spot: Watched, wanted: Sequence[Memory], operation: Operation) -> IndexedFile:
        """In one transaction: compare what there is with what there should be, and carry out the difference."""
        step = Step(self._store, operation, self._rows(spot.path), spot.tier)
        step.keep(wanted)
        step.add()
        step.drop()
        return replace(IndexedFile(spot.path, spot.tier), operation=operation.id if step.changed else "", **step.counts)

    def _rows(self, path: str) -> list[Memory]:
        rows = self._store.of_key(self._caller, key_of(path), _TIERS)
        if self._store.engine.remote:  # the same path on another machine is another file
            rows = [row for row in rows if row.owner == self._caller.agent]
        return [row for row in rows if row.source == "file_index"]


class Step:
    """One comparison of a file's memories with its pieces."""

    verb = VERB  # of the operations that hide what is in a file no more

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
        """What is there as it should be stays; its number and its time to live follow the file."""
        there: dict[str, list[Memory]] = {}
        for row in self._left:
            if row.tier == self._tier:
                there.setdefault(row.text, []).append(row)
        for memory in wanted:
            same = there.get(memory.text)
            if not same:
                self._fresh.append(memory)
                continue
            row = same.pop(0)
            self._left.remove(row)
            self._renew(row, memory)
            self.counts["kept"] += 1

    def _renew(self, row: Memory, memory: Memory) -> None:
        after = self.kept(row, memory)
        if after != row:
            self._store.revise(self._operation, row, after, "renewed")
            self.changed = True

    def kept(self, row: Memory, memory: Memory) -> Memory:
        """A memory whose text stays, as its file has it now."""
        due = row.expires_at is not None and (memory.expires_at is None or memory.expires_at - row.expires_at > DAY_S)
        if not due and row.source_ref == memory.source_ref:
            return row
        return replace(row, source_ref=memory.source_ref, expires_at=memory.expires_at)

    def add(self) -> None:
        """What is new comes back, takes the place of what stood there, or is added."""
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
        """The live memory that stood in a place of the file and is not wanted as it is."""
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
        """A memory with the text that its file has now."""
        taken = ("text", "title", "entities", "source_ref", "expires_at", "trust", "citations")
        changes: dict[str, Any] = {name: getattr(memory, name) for name in taken}
        return replace(row, **changes)

    def drop(self) -> None:
        """What is in the file no more is forgotten; what somebody archived is left as it is."""
        for row in self._left:
            if row.live or row.status == "quarantined":
                self._store.forget(self._operation, row, "no longer in its file")
                self._count("forgotten")

    def _count(self, change: str) -> None:
        self.counts[change] += 1
        self.changed = True


def pieces_of(text: str) -> tuple[str, ...]:
    """The pieces of a file. Secrets go first: the cut between two pieces could hide one from the gate."""
    from swarmlore.domain.policy.fence import strip_blocks
    from swarmlore.domain.policy.gate import scrub_text

    text = strip_blocks(scrub_text(text)).strip()
    return chunks(text) or ((text,) if text else ())


def key_of(path: str) -> str:
    """The same for all memories of a file."""
    data = os.fsencode(path)
    return f"file:{crc32(data):08x}{crc32(data[::-1]):08x}"


# --- which files were seen, and how they looked


@frozen
class _Seen:
    """A file as it was when it was last looked at. Without a tier it does not concern the project."""

    stamp: str = ""
    tier: str = ""
    agent: str = ""


_NOTHING = _Seen()


def _note(known: dict[str, _Seen], path: str, seen: _Seen) -> None:
    known.pop(path, None)
    if seen.stamp:
        known[path] = seen


@contextmanager
def _known(home: str, project: str) -> Iterator[dict[str, _Seen]]:
    """The files of a project that were seen on this machine; what was changed is written at the end.

    It is kept beside the store and not in it: an undo takes back what was learned from a file, not that it was seen.
    """
    from swarmlore.workspace.files import Folder

    with Folder(os.path.realpath(home)) as folder, folder.lock():
        every = _read(folder.read(KNOWN))
        known = {path: _Seen(*entry) for path, entry in every.get(project, {}).items()}
        before = dict(known)
        try:
            yield known
        finally:
            if known != before:
                newest = list(known.items())[-MOST_KNOWN:]
                every[project] = {path: [seen.stamp, seen.tier, seen.agent] for path, seen in newest}
                folder.replace(KNOWN, [json.dumps(every, ensure_ascii=True).encode("ascii")], mode=0o600)


def _read(content: bytes) -> dict[str, dict[str, list[str]]]:
    """What was noted; nothing where it cannot be read, for the files tell it again."""
    try:
        told = json.loads(content)
        return {
            str(project): {str(path): [str(part) for part in entry][:3] for path, entry in files.items()}
            for project, files in told.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}
