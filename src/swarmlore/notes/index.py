"""Notes kept in step with their files: whoever changed one, by hand, with git or with another tool.

The files are the truth. A look compares how they look now with how they looked last time, reads those that differ and
carries out the difference, some hundred notes in a transaction. A memory is forgotten only where its file was seen on
this machine, is gone, and lies in no other checkout of the project. What somebody forgot by hand stays forgotten as
long as the note says the same. One process at a time takes in the notes of a place.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from swarmlore import note_places
from swarmlore.config import Settings
from swarmlore.embedding import Progress
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.formats.notes import Note
from swarmlore.frozen import frozen, replace
from swarmlore.indexing import Step
from swarmlore.note_places import PROJECT, NotePlace
from swarmlore.notes import rows as note_rows
from swarmlore.notes.cache import LOCK_S, Cache, Place, Seen, digest_of
from swarmlore.notes.files import graph_of, read_files, should_be_in, understood
from swarmlore.notes.rows import Graph, Spot
from swarmlore.records import Caller, Memory
from swarmlore.store.base import Operation
from swarmlore.store.store import Store
from swarmlore.writing import Writing

VERB = "notes"
BATCH, SMALL_BATCH = 200, 25  # notes of one transaction: asked for, or on the way to something else
BATCH_BYTES = 8_000_000
SAVED_EVERY = 2_000  # notes, after which is kept what was seen: who is killed has that many to read again
GONE = "its file is gone"


class NoteStep(Step):
    """One comparison of a note's memories with the note."""

    verb = VERB

    def kept(self, row: Memory, memory: Memory) -> Memory:
        return note_rows.followed(row, memory)

    def edited(self, row: Memory, memory: Memory) -> Memory:
        return note_rows.followed(row, memory)


@frozen
class IndexedNotes:
    """What became of the notes of a place: how many there are and were read; how many memories were added, edited,
    kept, forgotten or left forgotten; what could not be read, by path; how many notes still wait."""

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
        return self.added + self.updated + self.forgotten


@frozen
class ReadNote:
    """A file that was read. Without a note it is none, or cannot be understood; `size` is what it takes to hold it."""

    path: str
    seen: Seen
    note: Note | None = None
    graph: Graph = Graph()
    size: int = 0


@frozen
class Change:
    """A note that is not as it was: what the memory knew of it, and what its file says now."""

    path: str
    former_id: str
    former_digest: str
    id: str
    digest: str


@frozen
class _Glance:
    """What was seen of a place, with its stamp, and how its files look now."""

    stamp: str
    known: Place
    files: Mapping[str, str]

    @property
    def behind(self) -> int:
        known, files = self.known.files, self.files
        changed = sum(path not in known or known[path].stamp != stamp for path, stamp in files.items())
        return changed + sum(path not in files for path in known)


class NoteIndex:
    """Takes in notes for one caller."""

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
        self.cache = Cache(home)
        self.store = store
        self.caller = caller
        self.writing = writing
        self.operation = operation
        self.settings = settings
        user = env.get("HOME") or os.path.expanduser("~")
        self.homeless = os.path.realpath(root) == os.path.realpath(user)  # no project: a user's own folder
        self.project_place = note_places.project_place(os.path.realpath(root))
        learnings = note_places.learnings_root(env, user)
        self.global_place = note_places.global_place(learnings, private=store.engine.remote)

    @property
    def places(self) -> tuple[NotePlace, ...]:
        """Where this caller's notes lie; the project's come first, for copies follow them."""
        knowledge = self.settings.knowledge
        if not knowledge.enabled or self.store.engine.readonly:
            return ()
        shared = self.global_place.tier == "hive" and not knowledge.hive_enabled
        nobody = self.global_place.tier == "agent" and not self.caller.agent
        return (self.project_place,) if shared or nobody else (self.project_place, self.global_place)

    def place(self, name: str) -> NotePlace:
        return self.project_place if name == PROJECT else self.global_place

    def check(self, note: Note, place: NotePlace) -> None:
        """Raise what the gate has against a note that is to be written to a place."""
        note_rows.check(note, Spot(place.name, "", place.tier, ""), self.writing, self.operation(VERB))

    def behind(self, place: NotePlace) -> int:
        """How many notes are not as they were when they were last looked at."""
        return self._glance(place).behind

    def _glance(self, place: NotePlace) -> _Glance:
        if not note_places.there_is(place) and not self.cache.knows(place.root):
            return _Glance("", Place(place.root, ""), {})
        return _Glance(self.cache.stamp(place.root), self.cache.load(place.root), note_places.files_of(place))

    def follow(
        self,
        place: NotePlace,
        *,
        force: bool = False,
        most_s: float | None = None,
        wait_s: float = LOCK_S,
        progress: Progress | None = None,
    ) -> tuple[IndexedNotes, tuple[Change, ...]]:
        """Bring the memories of a place in step with its notes; with `most_s` as many of them as that takes, and with
        `force` also those that look as they did."""
        glance = self._glance(place)
        known = glance.known.files
        if not (glance.files or known) or (not force and not glance.behind):
            notes = sum(bool(seen.id) for seen in known.values())
            return IndexedNotes(place.name, place.root, notes, problems=_problems(known)), ()
        with self.cache.holding(place.root, wait_s):
            if self.cache.stamp(place.root) != glance.stamp:  # somebody was faster
                glance = self._glance(place)
            look = _Look(self, place, glance, force)
            look.run(most_s, progress)
            return look.told(), tuple(look.changes)

    def elsewhere(self, root: str) -> Callable[[str], bool]:
        """Whether another checkout of the project has a file."""
        names = tuple(self.store.names_of(self.caller.project))
        known = [place.root for place in self.cache.of_project(names)]
        roots = [other for other in dict.fromkeys((*note_places.checkouts(root), *known)) if other != root]
        return lambda path: any(os.path.lexists(os.path.join(other, *path.split("/"))) for other in roots)


class _Look:
    """One pass over a place, under its lock."""

    def __init__(self, index: NoteIndex, place: NotePlace, glance: _Glance, force: bool) -> None:
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

    def run(self, most_s: float | None, progress: Progress | None) -> None:
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
        finally:
            self._save()

    def told(self) -> IndexedNotes:
        notes = sum(bool(seen.id) for seen in self._seen.values())
        facts = {"notes": notes, "waiting": self._waiting, "problems": _problems(self._seen), **self._counts}
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
            digest = digest_of(data) + digest_of(beside)
            if former is not None and former.digest == digest and not self._force:
                return ReadNote(path, replace(former, stamp=stamp))  # touched, or checked out again
            note = understood(self._place, path, data)
        except (NotAllowed, InvalidInput) as refusal:
            return ReadNote(path, Seen(stamp, "", former.id if former else "", refusal.message))
        if note is None:
            return ReadNote(path, Seen(stamp, digest))
        graph, problem = graph_of(note, beside)
        return ReadNote(path, Seen(stamp, digest, note.id, problem), note, graph, len(data) + len(beside))

    # Storing

    def _take(self, batch: Sequence[ReadNote]) -> None:
        """Store what was read, in one transaction, and note that it was seen."""
        self._counts["read"] += len(batch)
        fresh = [read for read in batch if read.note is not None or self._lost_its_title(read)]
        if fresh:
            moved = self._moved(fresh)
            made = {read.path: self._memories(read) for read in fresh}
            wanted = {path: memories for path, (memories, _) in made.items()}
            act = self._operation
            counts, changes = self._store.perform(act, lambda act: self._compare(fresh, wanted, moved, act))
            for name, count in counts.items():
                self._counts[name] += count
            self.changes += changes
            for former in moved.values():
                self._gone.pop(former, None)
                self._seen.pop(former, None)
        for read in batch:
            refused = made[read.path][1] if read.note is not None and fresh else ()
            problem = read.seen.problem or (refused[0] if refused else "")
            self._seen[read.path] = replace(read.seen, problem=problem)
        self._unsaved += len(batch)
        if self._unsaved >= SAVED_EVERY:
            self._save()

    def _lost_its_title(self, read: ReadNote) -> bool:
        """Whether a file that was a note can be read, and is none any more."""
        former = self._seen.get(read.path)
        return former is not None and bool(former.id) and not read.seen.id and not read.seen.problem

    def _memories(self, read: ReadNote) -> tuple[list[Memory], list[str]]:
        if read.note is None:
            return [], []
        return note_rows.wanted(read.note, self._spot(read), read.graph, self._index.writing, self._operation)

    def _spot(self, read: ReadNote) -> Spot:
        root = "" if self._place.name == PROJECT else self._place.root  # a project's checkouts share what they say
        return Spot(self._place.name, read.path, self._place.tier, read.seen.digest, root)

    def _moved(self, batch: Sequence[ReadNote]) -> dict[str, str]:
        """New paths of notes whose file went to another place, with the old ones."""
        if not self._gone:
            return {}
        where = {id: path for path, id in self._gone.items() if id}
        elsewhere = self._index.elsewhere(self._place.root)
        found = {read.path: where.pop(read.seen.id) for read in batch if read.seen.id in where}
        return {path: former for path, former in found.items() if not elsewhere(former)}

    def _compare(
        self,
        batch: Sequence[ReadNote],
        wanted: Mapping[str, Sequence[Memory]],
        moved: Mapping[str, str],
        act: Operation,
    ) -> tuple[dict[str, int], list[Change]]:
        """In one transaction: what there is against what there should be."""
        keys = [self._key(path) for read in batch for path in (read.path, moved.get(read.path, "")) if path]
        rows = self._rows(keys)
        total: dict[str, int] = {}
        changes = []
        for read in batch:
            own = [*rows.get(self._key(read.path), ()), *rows.get(self._key(moved.get(read.path, "")), ())]
            step = NoteStep(self._store, act, own, self._place.tier)
            step.keep(wanted[read.path])
            step.add()
            step.drop()
            for name, count in step.counts.items():
                total[name] = total.get(name, 0) + count
            changes += _change(read, own)
        return total, changes

    def _key(self, path: str) -> str:
        return note_rows.key_of(self._place.name, path)

    def _rows(self, keys: Sequence[str]) -> dict[str, list[Memory]]:
        visible = self._store.visible(self._index.caller, (self._place.tier,))
        found = self._store.of_keys(visible, keys)
        return {key: [row for row in rows if row.source == note_rows.SOURCE] for key, rows in found.items()}

    # What is gone

    def _forget_gone(self) -> None:
        elsewhere = self._index.elsewhere(self._place.root) if self._gone or self._force else lambda _: False
        gone = [path for path in self._gone if not elsewhere(path)]
        if self._force and not self._store.engine.remote:  # a store of one's own was fed from this machine alone
            gone += [path for path in self._unseen() if path not in self._gone and not elsewhere(path)]
        for start in range(0, len(gone), BATCH):
            keys = [self._key(path) for path in gone[start : start + BATCH]]
            self._counts["forgotten"] += self._store.perform(self._operation, partial(self._forget, keys))
        for path in self._gone:
            self._seen.pop(path, None)

    def _forget(self, keys: Sequence[str], act: Operation) -> int:
        rows = [row for found in self._rows(keys).values() for row in found if row.forgotten_at is None]
        if self._store.engine.remote:  # a colleague may still have what this checkout has no more
            rows = [row for row in rows if row.owner == self._index.caller.agent]
        for row in rows:
            self._store.forget(act, row, GONE)
        return len(rows)

    def _unseen(self) -> list[str]:
        """Notes that the memory has and this place does not; for when what was seen is lost."""
        from swarmlore.store.memories import Filter

        wanted = Filter(source=note_rows.SOURCE, tier=self._place.tier, limit=10 * note_places.MOST_FILES)
        refs = (row.source_ref for row in self._store.select(self._index.caller, wanted))
        paths = {
            str(ref["path"]) for ref in refs if ref.get("place") == self._place.name and should_be_in(self._place, ref)
        }
        return sorted(paths - set(self._files))

    def _save(self) -> None:
        project = self._index.caller.project if self._place.name == PROJECT else ""
        self._index.cache.save(Place(self._place.root, project, self._seen, self._apart))
        self._unsaved = 0


def _change(read: ReadNote, rows: Sequence[Memory]) -> list[Change]:
    """A note whose file has other bytes than the memory knew."""
    first = next((row for row in rows if note_rows.note_of(row) and row.forgotten_at is None), None)
    if first is None or read.note is None:
        return []
    former = str(first.extra.get(note_rows.FILE, ""))
    if not former or former == read.seen.digest:
        return []
    return [Change(read.path, str(first.source_ref.get("note", "")), former, read.note.id, read.seen.digest)]


def _problems(files: Mapping[str, Seen]) -> tuple[tuple[str, str], ...]:
    return tuple((path, seen.problem) for path, seen in files.items() if seen.problem)
