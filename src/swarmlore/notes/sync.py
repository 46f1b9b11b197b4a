"""Incremental sync of Markdown notes into the store: compare file stamps, read changed notes, apply the difference.

The files are the source of truth. A cache per place holds the stamp, digest and note id of each file as last read. A
sync reads only files whose stamp differs and updates their memories. One process at a time syncs a place (file lock).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from hashlib import sha256

from swarmlore.config import Settings
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.graph import RULES, SIDECAR
from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import InvalidInput, NotAllowed, StoreBusy, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, field, frozen, replace
from swarmlore.memory.write import MemoryWriter
from swarmlore.models.embedding import Progress
from swarmlore.notes import locations
from swarmlore.notes import rows as note_rows
from swarmlore.notes.locations import (
    GLOBAL,
    PROJECT,
    SOLUTIONS,
    VERSION,
    NotePlace,
    digest_of_both,
    other_checkouts,
    version_in,
    version_of,
)
from swarmlore.notes.memory_files import Step
from swarmlore.notes.note_format import Note, note_id, parse_note
from swarmlore.notes.rows import Graph, Spot
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.files import Folder, open_own

if TYPE_CHECKING:
    from typing import Any


def read_files(place: NotePlace, path: str) -> tuple[bytes, bytes]:
    """Return the bytes of a note and of its entities sidecar (b'' without one); raise NotAllowed for an unsafe file."""
    from swarmlore.domain.security.redaction import redact

    if redact(path)[1]:
        raise NotAllowed("its path holds a secret", "give the file another name")
    return locations.read_both(place.root, path)


def parse_file(place: NotePlace, path: str, data: bytes) -> Note | None:
    """Parse a file as a note; None without a title. The folder gives the category of a note that names none."""
    note = parse_note(locations.decoded(path, data))
    if not note.title.strip():
        return None
    title = scrub_text(note.title)
    if title != note.title:  # the id contains the title
        note = replace(note, title=title, id=note_id(title, note.body))
    return note if note.category else replace(note, category=_folder_category(place, path))


def _folder_category(place: NotePlace, path: str) -> str:
    if place.name == GLOBAL:
        return ""
    inside = path.removeprefix(f"{SOLUTIONS}/").split("/")
    return inside[0] if len(inside) > 1 else ""


def graph_of(note: Note, beside: bytes) -> tuple[Graph, str]:
    """Return a note's graph from its sidecar, else from heuristics, and why the sidecar could not be read."""
    problem = ""
    if beside:
        from swarmlore.notes.entities_sidecar import parse_sidecar

        try:
            sidecar = parse_sidecar(locations.decoded("its sidecar", beside))
            return Graph(sidecar.entities, sidecar.relations, RULES if sidecar.is_guess else SIDECAR), ""
        except SwarmloreError as error:
            problem = f"its sidecar cannot be read: {error.message}"
    from swarmlore.domain.language.concepts import concepts_of

    return Graph(*concepts_of(note.title, note.tags, note.body), origin=RULES), problem


def should_be_in(place: NotePlace, ref: Mapping[str, Any]) -> bool:
    """Return whether the note of a memory is expected in a place; not if its former notes folder still has the file."""
    root, path = str(ref.get("root") or place.root), str(ref.get("path") or "")
    return bool(path) and (root == place.root or not os.path.lexists(os.path.join(root, *path.split("/"))))


try:
    import fcntl
except ImportError:  # Windows: two processes may do the same work, but each change is one transaction
    fcntl = None  # type: ignore[assignment]

_LOCKS = fcntl is not None
FOLDER = "notes"
LAYOUT = 2  # version of the memories made from notes; a new number makes the sync read every note again
OUTDATED = "outdated"  # stamp of a file that was stored in another layout
HEAD_BYTES = 65_536
LOCK_S = 300.0
_LOOK_S = 0.05


@frozen
class CacheEntry:
    """Cache entry of a file as last synced. Without an id it is not a note; `problem` is the reason if it was
    unreadable."""

    stamp: str
    digest: str = ""
    id: str = ""
    problem: str = ""


@frozen
class PlaceCache:
    """Cache of one place: entries by path, and in `apart` the copies that were edited separately, by original note."""

    root: str
    project: str
    files: Mapping[str, CacheEntry] = field(default_factory=dict)
    apart: Mapping[str, str] = field(default_factory=dict)


class Cache:
    """Per-place sync caches: JSON files in the `notes` folder of a home, with a lock file for each place."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(os.path.realpath(home), FOLDER)

    @property
    def there(self) -> bool:
        """Whether any place was ever synced."""
        return os.path.isdir(self._path)

    def knows(self, root: str) -> bool:
        """Return whether a root was synced before."""
        return os.path.exists(os.path.join(self._path, _name(root)))

    def stamp(self, root: str) -> str:
        """Return a string that changes when the cache of this root is saved; '' without a cache."""
        try:
            stat = os.stat(os.path.join(self._path, _name(root)))
        except OSError:
            return ""
        return f"{stat.st_mtime_ns}.{stat.st_ino}"

    def load(self, root: str) -> PlaceCache:
        """Load the cache of a root; return an empty one if it is missing or unreadable."""
        return self._read(_name(root)) or PlaceCache(root, "")

    def roots_of(self, names: Iterable[str]) -> list[str]:
        """Return the roots of all synced places of a project on this machine, including deleted ones."""
        wanted = set(names)
        listed = sorted(os.listdir(self._path)) if os.path.isdir(self._path) else []
        heads = (self._head(name) for name in listed if name.endswith(".json"))
        return [str(head.get("root")) for head in heads if head.get("project") in wanted]

    def _head(self, name: str) -> Mapping[str, Any]:
        """Read only the first line of a cache file: layout, root and project."""
        file, _ = open_own(os.path.join(self._path, name))
        if file is None:
            return {}
        with file:
            line = file.readline(HEAD_BYTES)
        try:
            head = json.loads(line) if line.endswith(b"\n") else _parse(self._text(name))
        except (ValueError, TypeError):
            return {}
        return head if isinstance(head, dict) else {}

    def _text(self, name: str) -> str:
        with Folder(self._path) as folder:
            return folder.read(name).decode("ascii", "replace")

    def _read(self, name: str) -> PlaceCache | None:
        if not os.path.isdir(self._path):
            return None
        try:
            saved = _parse(self._text(name))
            files = {str(path): CacheEntry(*map(str, facts[:4])) for path, facts in saved["files"].items()}
            apart = {str(note): str(copy) for note, copy in saved["apart"].items()}
        except (ValueError, TypeError, KeyError, AttributeError, NotAllowed):
            return None
        if saved.get("layout") != LAYOUT:  # keep the entries, but read each file again
            files = {path: replace(seen, stamp=OUTDATED) for path, seen in files.items()}
        return PlaceCache(str(saved.get("root")), str(saved.get("project")), files, apart)

    def save(self, place: PlaceCache) -> None:
        """Write the cache of a place atomically."""
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        head = {"layout": LAYOUT, "root": place.root, "project": place.project}
        files = {path: [seen.stamp, seen.digest, seen.id, seen.problem] for path, seen in place.files.items()}
        lines = (head, {"files": files, "apart": dict(place.apart)})
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode("ascii")
        with Folder(self._path) as folder:
            folder.replace(_name(place.root), [data], mode=0o600)

    def drop(self, root: str) -> None:
        """Delete the cache of a root that no longer exists."""
        with Folder(self._path) as folder:
            folder.remove(_name(root))

    @contextmanager
    def holding(self, root: str, timeout_s: float = LOCK_S) -> Iterator[None]:
        """Hold the sync lock of a place; raise StoreBusy naming its holder. It is released when the process exits."""
        if not _LOCKS:
            yield
            return
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        path = os.path.join(self._path, _name(root).replace(".json", ".lock"))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            _wait(fd, root, timeout_s)
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()} {time.time():.0f}".encode(), 0)
            yield
        finally:
            os.close(fd)


def _wait(fd: int, root: str, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() >= deadline:
                raise _busy(fd, root) from None
            time.sleep(_LOOK_S)


def _busy(fd: int, root: str) -> StoreBusy:
    pid, _, since = os.pread(fd, 64, 0).decode("ascii", "replace").partition(" ")
    age = f" for {max(0, time.time() - float(since)):.0f} s" if since.isdigit() else ""
    owner = f"process {pid}" if pid.isdigit() else "another process"
    return StoreBusy(f"{owner} has been indexing the notes in {root}{age}", "wait for it, or end it, and try again")


def _parse(text: str) -> dict[str, Any]:
    """Parse a cache file: two JSON lines, or one line in the format from before layouts were numbered."""
    parsed: dict[str, Any] = {}
    for line in text.splitlines():
        parsed |= json.loads(line)
    return parsed


def _name(root: str) -> str:
    return f"{sha256(os.fsencode(root)).hexdigest()[:24]}.json"


VERB = "notes"
BATCH, SMALL_BATCH = 200, 25  # notes per transaction: in an explicit sync, in one with a time limit
BATCH_BYTES = 8_000_000
SAVED_EVERY = 2_000  # notes between two saves of the cache: a killed process re-reads at most that many
GONE = "its file is gone"


class NoteStep(Step):
    """Compare the memories of one note with the note as it is now."""

    verb = VERB

    def kept(self, row: Memory, memory: Memory) -> Memory:
        return note_rows.updated_from_note(row, memory)

    def edited(self, row: Memory, memory: Memory) -> Memory:
        return note_rows.updated_from_note(row, memory)


@frozen
class IndexedNotes:
    """Result of a sync: number of notes, files read, memories added, edited, kept, forgotten or left forgotten.
    `problems` lists unreadable files by path; `waiting` counts notes that are still to be read."""

    place: str
    root: str
    notes: int = 0
    read: int = 0
    added: int = 0
    updated: int = 0
    kept: int = 0
    forgotten: int = 0
    left_out: int = 0
    waiting: int = 0
    problems: tuple[tuple[str, str], ...] = ()

    @property
    def changed(self) -> int:
        """Number of memories that were added, edited or forgotten."""
        return self.added + self.updated + self.forgotten


@frozen
class ReadNote:
    """A file that was read. `note` is None if it is not a note or cannot be parsed; `size` is its size in bytes."""

    path: str
    seen: CacheEntry
    note: Note | None = None
    graph: Graph = Graph()
    size: int = 0


@frozen
class Change:
    """A note whose content changed: id and digest before (from the store) and after (from its file)."""

    path: str
    former_id: str
    former_digest: str
    id: str
    digest: str


@frozen
class PlaceState:
    """The cache of a place with its stamp, and the current stamps of its files."""

    stamp: str
    known: PlaceCache
    files: Mapping[str, str]

    @property
    def behind(self) -> int:
        """Number of files that were added, changed or deleted since the last sync."""
        known, files = self.known.files, self.files
        changed = sum(path not in known or known[path].stamp != stamp for path, stamp in files.items())
        return changed + sum(path not in files for path in known)


class PlaceSync:
    """One sync of a place; the caller holds its lock."""

    def __init__(self, index: NoteIndex, place: NotePlace, glance: PlaceState, force: bool) -> None:
        self._index = index
        self._store = index.store
        self._place = place
        self._force = force
        known = glance.known
        self._seen = dict(known.files)
        self._apart = dict(known.apart)
        self._files = glance.files
        self._gone = {path: seen.id for path, seen in known.files.items() if path not in self._files}
        self._unsaved = 0
        self._operation = index.operation(VERB)
        self._counts = dict.fromkeys(("read", "added", "updated", "kept", "forgotten", "left_out"), 0)
        self._waiting = 0
        self.changes: list[Change] = []

    def run(self, most_s: float | None, progress: Progress | None, lost: Sequence[str] = ()) -> None:
        """Sync changed files until the time limit; when none are left, forget deleted files and those of lost roots."""
        due = [
            path
            for path, stamp in self._files.items()
            if self._force or path not in self._seen or self._seen[path].stamp != stamp
        ]
        deadline = None if most_s is None else time.monotonic() + most_s
        done = 0
        try:
            with self._store.engine.roomy():
                for batch in self._batches(due, BATCH if deadline is None else SMALL_BATCH):
                    self._take(batch)
                    done += len(batch)
                    if progress:
                        progress(done, len(due))
                    if deadline is not None and time.monotonic() > deadline:
                        break
                self._waiting = len(due) - done
                if not self._waiting:
                    self._forget_gone()
                    self._forget_roots(lost)
        finally:
            self._save()

    def result(self) -> IndexedNotes:
        """Return the counts of this sync."""
        notes = sum(bool(seen.id) for seen in self._seen.values())
        facts = {"notes": notes, "waiting": self._waiting, "problems": problems_of(self._seen), **self._counts}
        return replace(IndexedNotes(self._place.name, self._place.root), **facts)

    # Reading

    def _batches(self, due: Sequence[str], most: int) -> Iterator[list[ReadNote]]:
        batch: list[ReadNote] = []
        for path in due:
            batch.append(self._read(path))
            if len(batch) >= most or sum(read.size for read in batch) > BATCH_BYTES:
                yield batch
                batch = []
        if batch:
            yield batch

    def _read(self, path: str) -> ReadNote:
        stamp, former = self._files[path], self._seen.get(path)
        try:
            data, beside = read_files(self._place, path)
            digest = digest_of_both(data, beside)
            if former is not None and former.digest == digest and former.stamp != OUTDATED and not self._force:
                return ReadNote(path, replace(former, stamp=stamp))  # touched, or checked out again: same bytes
            note = parse_file(self._place, path, data)
        except (NotAllowed, InvalidInput) as refusal:
            return ReadNote(path, CacheEntry(stamp, "", former.id if former else "", refusal.message))
        if note is None:
            return ReadNote(path, CacheEntry(stamp, digest))
        graph, problem = graph_of(note, beside)
        return ReadNote(path, CacheEntry(stamp, digest, note.id, problem), note, graph, len(data) + len(beside))

    # Storing

    def _take(self, batch: Sequence[ReadNote]) -> None:
        """Store a batch of notes in one transaction and update the cache."""
        self._counts["read"] += len(batch)
        fresh = [read for read in batch if read.note is not None or self._lost_its_title(read)]
        if fresh:
            moved = self._moved(fresh)
            prepared = {read.path: self._memories(read) for read in fresh}
            wanted = {path: memories for path, (memories, _) in prepared.items()}
            act = self._operation
            counts, changes = self._store.perform(act, lambda act: self._compare(fresh, wanted, moved, act))
            for name, count in counts.items():
                self._counts[name] += count
            self.changes += changes
            for former in moved.values():
                self._gone.pop(former, None)
                self._seen.pop(former, None)
        for read in batch:
            refused = prepared[read.path][1] if read.note is not None and fresh else ()
            problem = read.seen.problem or (refused[0] if refused else "")
            self._seen[read.path] = replace(read.seen, problem=problem)
        self._unsaved += len(batch)
        if self._unsaved >= SAVED_EVERY:
            self._save()

    def _lost_its_title(self, read: ReadNote) -> bool:
        """Return whether a file that used to be a note is readable but no longer a note."""
        former = self._seen.get(read.path)
        return former is not None and bool(former.id) and not read.seen.id and not read.seen.problem

    def _memories(self, read: ReadNote) -> tuple[list[Memory], list[str]]:
        if read.note is None:
            return [], []
        return note_rows.memories_of(read.note, self._spot(read), read.graph, self._index.writing, self._operation)

    def _spot(self, read: ReadNote) -> Spot:
        root = "" if self._place.name == PROJECT else self._place.root  # checkouts of a project share memories
        return Spot(self._place.name, read.path, self._place.tier, read.seen.digest, root)

    def _moved(self, batch: Sequence[ReadNote]) -> dict[str, str]:
        """Map the new path of each moved note to its old path."""
        if not self._gone:
            return {}
        where = {id: path for path, id in self._gone.items() if id}
        found = {read.path: where.pop(read.seen.id) for read in batch if read.seen.id in where}
        return {path: former for path, former in found.items() if not self._is_elsewhere(former)}

    def _compare(
        self,
        batch: Sequence[ReadNote],
        wanted: Mapping[str, Sequence[Memory]],
        moved: Mapping[str, str],
        act: Operation,
    ) -> tuple[dict[str, int], list[Change]]:
        """Compare stored and wanted memories of a batch and apply the difference; runs in one transaction."""
        keys = [self._key(path) for read in batch for path in (read.path, moved.get(read.path, "")) if path]
        rows = self._rows(keys)
        total: dict[str, int] = {}
        changes = []
        for read in batch:
            if self._was_erased(read, rows):
                continue
            own = [*self._editable_rows(read, rows), *rows.get(self._key(moved.get(read.path, "")), ())]
            step = NoteStep(self._store, act, own, self._place.tier)
            step.keep(wanted[read.path])
            step.add()
            step.drop()
            for name, count in step.counts.items():
                total[name] = total.get(name, 0) + count
            changes += _change(read, own)
        return total, changes

    def _was_erased(self, read: ReadNote, rows: Mapping[str, Sequence[Memory]]) -> bool:
        """Return whether an unchanged note has no rows left (erased); a layout change must not bring it back."""
        former = self._seen.get(read.path)
        if former is None or former.stamp != OUTDATED or self._force:
            return False
        return bool(former.id) and former.digest == read.seen.digest and self._key(read.path) not in rows

    def _key(self, path: str) -> str:
        return note_rows.key_of(self._place.name, path)

    def _rows(self, keys: Sequence[str]) -> dict[str, list[Memory]]:
        visible = self._store.visible(self._index.caller, (self._place.tier,))
        found = self._store.of_keys(visible, keys)
        return {key: [row for row in rows if row.source == note_rows.SOURCE] for key, rows in found.items()}

    # Other checkouts

    @cached_property
    def _others(self) -> list[str]:
        return self._index.checkouts(self._place.root) if self._place.name == PROJECT else []

    def _is_elsewhere(self, path: str) -> bool:
        return any(os.path.lexists(os.path.join(root, *path.split("/"))) for root in self._others)

    def _versions_elsewhere(self, path: str) -> set[str]:
        """Return the versions of a note in other checkouts; '' stands for rows without a version, which any may own."""
        if not self._is_elsewhere(path):
            return set()
        return {"", *(version_in(root, path) for root in self._others)}

    def _editable_rows(self, read: ReadNote, rows: Mapping[str, Sequence[Memory]]) -> list[Memory]:
        """Return the rows of this note that the sync may modify; not those of versions in other worktrees."""
        found = rows.get(self._key(read.path), ())
        fresh = version_of(read.seen.digest)
        others = {_version(row) for row in found if row.forgotten_at is None} - {"", fresh}
        if self._place.name != PROJECT or not others:
            return list(found)
        kept = others & self._versions_elsewhere(read.path) | self._of_colleagues(read, found)
        return [row for row in found if row.forgotten_at is not None or _version(row) not in kept - {fresh}]

    def _of_colleagues(self, read: ReadNote, rows: Sequence[Memory]) -> set[str]:
        """Return, in a team store, the versions that other users stored and this checkout never had."""
        if not self._store.engine.remote:
            return set()
        former, me = self._seen.get(read.path), self._index.caller.agent
        had = version_of(former.digest) if former else ""
        return {_version(row) for row in rows if row.owner != me} - {had, ""}

    # Deleted notes

    def _forget_gone(self) -> None:
        gone = list(self._gone)
        if self._force and not self._store.engine.remote:  # a local store has only this machine's notes
            gone += [path for path in self._unseen() if path not in self._gone]
        self._forget_all(gone)
        for path in self._gone:
            self._seen.pop(path, None)

    def _forget_roots(self, lost: Sequence[str]) -> None:
        """Forget the notes that existed only in checkouts that were deleted, and drop their caches."""
        for root in lost:
            self._forget_all([path for path, seen in self._index.cache.load(root).files.items() if seen.id])
            self._index.cache.drop(root)

    def _forget_all(self, paths: Sequence[str]) -> None:
        for start in range(0, len(paths), BATCH):
            forget = partial(self._forget, paths[start : start + BATCH])
            self._counts["forgotten"] += self._store.perform(self._operation, forget)

    def _forget(self, paths: Sequence[str], act: Operation) -> int:
        """Forget the rows of these notes whose version no checkout has any more; return how many."""
        found = self._rows([self._key(path) for path in paths])
        rows = [row for path in paths for row in self._outdated(path, found.get(self._key(path), ()))]
        if self._store.engine.remote:  # another user may still have the note that this checkout lacks
            rows = [row for row in rows if row.owner == self._index.caller.agent]
        for row in rows:
            self._store.forget(act, row, GONE)
        return len(rows)

    def _outdated(self, path: str, rows: Sequence[Memory]) -> list[Memory]:
        live = [row for row in rows if row.forgotten_at is None]
        if not live:
            return []
        here = {version_of(self._seen[path].digest), ""} if path in self._files and path in self._seen else set()
        known = here | self._versions_elsewhere(path)
        return [row for row in live if _version(row) not in known]

    def _unseen(self) -> list[str]:
        """Return paths of stored notes that this place lacks; needed when the cache was lost."""
        from swarmlore.store.memories import Filter

        wanted = Filter(source=note_rows.SOURCE, tier=self._place.tier, limit=10 * locations.MOST_FILES)
        refs = (row.source_ref for row in self._store.select(self._index.caller, wanted))
        paths = {
            str(ref["path"]) for ref in refs if ref.get("place") == self._place.name and should_be_in(self._place, ref)
        }
        return sorted(paths - set(self._files))

    def _save(self) -> None:
        project = self._index.caller.project if self._place.name == PROJECT else ""
        self._index.cache.save(PlaceCache(self._place.root, project, self._seen, self._apart))
        self._unsaved = 0


def _version(row: Memory) -> str:
    return str(row.source_ref.get(VERSION, ""))


def _change(read: ReadNote, rows: Sequence[Memory]) -> list[Change]:
    """Return the change of a note whose digest differs from the stored one, as a list of at most one."""
    first = next((row for row in rows if note_rows.note_of(row) and row.forgotten_at is None), None)
    if first is None or read.note is None:
        return []
    former = str(first.extra.get(note_rows.FILE, ""))
    if not former or former == read.seen.digest:
        return []
    return [Change(read.path, str(first.source_ref.get("note", "")), former, read.note.id, read.seen.digest)]


def problems_of(files: Mapping[str, CacheEntry]) -> tuple[tuple[str, str], ...]:
    """Return the unreadable files with the reason, by path."""
    return tuple((path, seen.problem) for path, seen in files.items() if seen.problem)


class NoteIndex:
    """Keeps the note memories of one caller in sync with the note files of the project and of the user."""

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
        self.cache = Cache(home)
        self.store = store
        self.caller = caller
        self.writing = writing
        self.operation = operation
        self.settings = settings
        user = env.get("HOME") or os.path.expanduser("~")
        self.homeless = os.path.realpath(root) == os.path.realpath(user)  # the home folder is not a project
        self.project_place = locations.project_place(os.path.realpath(root))
        learnings = locations.learnings_root(env, user)
        self.global_place = locations.global_place(learnings, private=store.engine.remote)

    @property
    def places(self) -> tuple[NotePlace, ...]:
        """The note folders that this caller syncs. The project's comes first because its copies follow it."""
        knowledge = self.settings.knowledge
        if not knowledge.enabled or self.store.engine.readonly:
            return ()
        shared = self.global_place.tier == "hive" and not knowledge.hive_enabled
        anonymous = self.global_place.tier == "agent" and not self.caller.agent
        return (self.project_place,) if shared or anonymous else (self.project_place, self.global_place)

    def place(self, name: str) -> NotePlace:
        """Return the place by its name, `project` or `global`."""
        return self.project_place if name == PROJECT else self.global_place

    def check(self, note: Note, place: NotePlace) -> None:
        """Run a note through the validation gate; raise what it refuses."""
        note_rows.check(note, Spot(place.name, "", place.tier, ""), self.writing, self.operation(VERB))

    def behind(self, place: NotePlace) -> int:
        """Return how many files of a place changed since the last sync."""
        return self._glance(place).behind

    def _glance(self, place: NotePlace) -> PlaceState:
        if not locations.has_notes_folder(place) and not self.cache.knows(place.root):
            return PlaceState("", PlaceCache(place.root, ""), {})
        return PlaceState(self.cache.stamp(place.root), self.cache.load(place.root), locations.files_of(place))

    def follow(
        self,
        place: NotePlace,
        *,
        force: bool = False,
        most_s: float | None = None,
        wait_s: float = LOCK_S,
        progress: Progress | None = None,
    ) -> tuple[IndexedNotes, tuple[Change, ...]]:
        """Sync the memories of a place with its notes. `most_s` limits the time, `force` re-reads unchanged files."""
        glance, lost = self._glance(place), self._lost_roots(place)
        known = glance.known.files
        if not lost and (not (glance.files or known) or (not force and not glance.behind)):
            notes = sum(bool(seen.id) for seen in known.values())
            return IndexedNotes(place.name, place.root, notes, problems=problems_of(known)), ()
        with self.cache.holding(place.root, wait_s):
            if self.cache.stamp(place.root) != glance.stamp:  # another process synced meanwhile
                glance = self._glance(place)
            look = PlaceSync(self, place, glance, force)
            look.run(most_s, progress, lost)
            return look.result(), tuple(look.changes)

    def checkouts(self, root: str) -> list[str]:
        """Return the other checkouts of the project."""
        return other_checkouts(root, self._seen_roots())

    def _lost_roots(self, place: NotePlace) -> list[str]:
        """Return the synced checkouts of the project that no longer exist."""
        if place.name != PROJECT:
            return []
        return [root for root in self._seen_roots() if not os.path.isdir(root)]

    def _seen_roots(self) -> list[str]:
        return self.cache.roots_of(self.store.names_of(self.caller.project)) if self.cache.there else []
