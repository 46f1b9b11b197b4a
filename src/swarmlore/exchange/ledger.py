"""The ledger: two-way sync between the store and a file of shared lessons in the project's git repository."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from io import BytesIO

from swarmlore.config import Settings
from swarmlore.domain.policy.merge import Version, erasure, merge, settled
from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import Conflict, NotAllowed, SwarmloreError
from swarmlore.exchange.admit import Admission, Refused
from swarmlore.exchange.knowledge_format import from_object, to_line
from swarmlore.exchange.ledger_files import Place, SetAside, keep_aside, rejected_ids, rejected_lines
from swarmlore.exchange.ledger_setup import FOLDER, Step
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.ledgers import KnownLine, LedgerState
from swarmlore.store.store import Store
from swarmlore.workspace import jsonl
from swarmlore.workspace.files import Folder, stamp_of
from swarmlore.workspace.git import unmerged
from swarmlore.workspace.jsonl import BadLine, Line

if TYPE_CHECKING:
    from typing import BinaryIO


CHUNK = 400
QUARANTINED_KEPT = 100
AUTOMATIC_LINES = 5_000  # more lines are synced only on request, since a recall must not wait for them
SIDE_BYTES = 64 * 1024 * 1024
OVERLAP = 64  # audit rows read again, as on a server they may become visible out of order


@frozen
class Synced:
    """Result of one sync: lines read, the count of each outcome, and unreadable lines with place and reason."""

    read: int = 0
    added: int = 0
    updated: int = 0
    removed: int = 0
    restored: int = 0
    redacted: int = 0
    lines: int = 0
    written: bool = False
    set_aside: tuple[SetAside, ...] = ()


@frozen
class _Spot:
    """Position of an unchanged line in a file."""

    file: str
    offset: int
    length: int


@frozen
class _Entry:
    """A line to write: copied from its `spot` in the file, or new bytes in `line`."""

    at: float
    id: str
    line: bytes = b""
    spot: _Spot | None = None
    hidden: bool = False
    gone: bool = False


class Pass:
    """One sync of the files of a ledger, under its lock."""

    def __init__(self, store: Store, admission: Admission, place: Place, folder: Folder, operation: Operation) -> None:
        self._store, self._admission, self._place, self._folder = store, admission, place, folder
        self._caller = operation.caller
        self._operation = replace(operation, reason=f"from {place.main}")
        store.act_for(self._caller)
        self._state = store.ledger_state(place.key) or LedgerState()
        self._known = store.ledger_lines(place.key)
        self._by_hash = {line.hash: line for line in self._known.values()}
        self._spots: dict[str, _Spot] = {}
        self._touched: set[str] = set()
        self._deletions = {
            id: from_object(jsonl.parse_object(line.line.encode())) for id, line in self._known.items() if line.line
        }
        self._stamps: dict[str, str] = {}
        self._aside: list[SetAside] = []
        self._counts: dict[str, int] = {}

    def check_amount(self) -> None:
        """Raise NotAllowed if more than 5,000 lines are new, which takes an explicit sync."""
        if self._state.stamp == self._place.stamp(self._folder):
            return
        fresh = 0
        for name in (self._place.main, self._place.quarantined):
            file = self._folder.open(name)
            if file is None:
                continue
            with file:
                fresh += sum(self._hash(name, line.raw) not in self._by_hash for line in jsonl.lines(file))
        if fresh > AUTOMATIC_LINES:
            raise too_much(self._place, f"{fresh} new lines")

    def look(self) -> Synced:
        """Read new lines into the store without writing the files; the next change or sync writes them."""
        place = self._place
        merging = place.merging()
        before = self._store.last_audit()
        waiting = self._state.seen != before
        self._read_all(full=False)
        entries: dict[str, _Entry] = {}
        listed = set(self._touched)
        for memory in self._store.by_ids(self._admission.partitions(), sorted(listed)).values():
            listed.discard(memory.id)
            self._enter(entries, memory)
        self._enter_deletions(entries, sorted(listed))
        stamp = " ".join((self._stamps[place.main], self._stamps[place.quarantined], *merging))
        # Changes that wait to be written stay pending, with the problem that held them up.
        problem = self._unreadable() or (self._state.problem if waiting else "")
        own = before + sum(self._counts.get(name, 0) for name in ("added", "updated", "removed"))
        in_step = not waiting and self._store.last_audit() == own  # no other process changed anything meanwhile
        seen = own if in_step else self._state.seen
        self._store_state(entries, replace(self._state, seen=seen, stamp=stamp, problem=problem))
        return self._report()

    def _unreadable(self) -> str:
        lost = sum(item.reason != jsonl.MARK for item in self._aside)
        return f"{lost} {'line' if lost == 1 else 'lines'} cannot be taken in" if lost else ""

    def run(self, full: bool) -> Synced:
        """Read new lines into the store, then write the files; `full` compares every row, not only changed ones."""
        place = self._place
        self._read_all(full)
        missing = [id for id in self._known if id not in self._spots and id not in self._touched]
        self._touched.update(missing)
        seen = self._store.last_audit()
        entries = self._entries(full or not self._state.at)
        main, hidden = self._sorted(entries)
        keep_aside(self._folder, place.unreadable, self._aside, self._operation.at)
        written = self._write(place.main, main)
        written = self._write(place.quarantined, hidden) or written
        self._write_rejected()
        self._store_state(entries, LedgerState(seen, place.stamp(self._folder), "", self._operation.at))
        restored = len(missing) if self._state.at else 0
        return replace(self._report(), restored=restored, lines=len(main), written=written)

    def _report(self) -> Synced:
        count = self._counts.get
        return Synced(
            read=count("read", 0),
            added=count("added", 0),
            updated=count("updated", 0),
            removed=count("removed", 0),
            redacted=count("redacted", 0),
            set_aside=tuple(self._aside),
        )

    # Reading

    def _read_all(self, full: bool) -> None:
        """Read the files, and both sides of a conflict that git could not merge, since the file may hold only one.

        Without `full`, conflicts are looked up only during a merge.
        """
        names = (self._place.main, self._place.quarantined)
        for name in names:
            self._read(name)
        if self._place.merging() or (full and self._place.tier != "hive"):
            for name in names:
                for side in unmerged(self._place.folder, name, SIDE_BYTES):
                    self._read_side(name, side)

    def _read_side(self, name: str, side: bytes) -> None:
        reported = {item.raw for item in self._aside}
        lines = jsonl.lines(BytesIO(side))
        fresh = (line for line in lines if line.raw not in reported and self._hash(name, line.raw) not in self._by_hash)
        while chunk := self._chunk(name, fresh):
            self._take_in(name, chunk)

    def _read(self, name: str) -> None:
        """Read the lines of a file that differ from what was last written."""
        with self._folder.open(name) or BytesIO() as file:
            self._stamps[name] = stamp_of(file)
            fresh = (line for line in jsonl.lines(file) if not self._is_known(name, line))
            while chunk := self._chunk(name, fresh):
                self._take_in(name, chunk)

    def _is_known(self, name: str, line: Line) -> bool:
        """Return True and note the position if a line is as it was last written."""
        known = None if line.cut else self._by_hash.get(self._hash(name, line.raw))
        if known is None or known.memory in self._spots:
            return False
        self._spots[known.memory] = _Spot(name, line.offset, len(line.raw))
        return True

    def _hash(self, name: str, line: bytes) -> str:
        """Return the hash of a line, which differs between the main and the quarantined file."""
        mark = "q" if name == self._place.quarantined else ""
        return mark + blake2b(line, digest_size=16).hexdigest()

    def _chunk(self, name: str, fresh: Iterator[Line]) -> list[tuple[Line, Version]]:
        """Return up to 400 new lines that passed the gate, with their versions; set the others aside."""
        chunk: list[tuple[Line, Version]] = []
        for line in fresh:
            self._counts["read"] = self._counts.get("read", 0) + 1
            try:
                admitted = self._admission.admit(from_object(jsonl.parse(line), self._place.tier), self._operation.at)
            except (BadLine, Refused) as refusal:
                self._aside.append(SetAside(name, line.number, refusal.reason, line.raw))
                continue
            self._counts["redacted"] = self._counts.get("redacted", 0) + bool(admitted.redacted)
            chunk.append((line, admitted.version))
            if len(chunk) >= CHUNK:
                break
        return chunk

    def _take_in(self, name: str, chunk: Sequence[tuple[Line, Version]]) -> None:
        versions = [self._with_deletion(version) for _, version in chunk]
        with self._store.operation(self._operation):
            done = self._admission.take_in(self._operation, versions)
        for (line, _), version, (outcome, why) in zip(chunk, versions, done, strict=True):
            self._counts[outcome] = self._counts.get(outcome, 0) + 1
            if outcome == "refused":
                self._aside.append(SetAside(name, line.number, why, line.raw))
            else:
                self._touched.add(version.memory.id)

    def _with_deletion(self, version: Version) -> Version:
        """Merge a version with a known deletion of its memory, which may have no row any more."""
        id = version.memory.id
        if id in self._deletions:
            version = merge(self._deletions[id], version)
        if version.gone:
            self._deletions[id] = version
        return version

    # Writing

    def _entries(self, full: bool) -> dict[str, _Entry]:
        """Return every line to write, by memory id."""
        mine = self._admission.partitions()
        entries = {
            id: _Entry(self._known[id].born_at, id, spot=spot, hidden=spot.file == self._place.quarantined)
            for id, spot in self._spots.items()
            if id not in self._touched
        }
        if full:
            rows: Iterable[Memory] = self._store.in_order(mine)
            listed = set(self._touched)
        else:
            changed = self._store.audited_since(mine, self._state.seen - OVERLAP, AUTOMATIC_LINES + OVERLAP + 1)
            if len(changed) > AUTOMATIC_LINES + OVERLAP:
                raise too_much(self._place, f"more than {AUTOMATIC_LINES} changes to follow")
            listed = self._touched | changed
            rows = self._store.by_ids(mine, sorted(listed)).values()
        for memory in rows:
            listed.discard(memory.id)
            self._enter(entries, memory)
        self._enter_deletions(entries, sorted(listed))
        return entries

    def _enter(self, entries: dict[str, _Entry], memory: Memory) -> None:
        """Add the line of a memory, unless it stands in the file already or is not shared."""
        version = self._admission.told(memory)
        if (deletion := self._deletions.get(memory.id)) and deletion.erased:
            version = deletion  # the row is only hidden here; its line must keep none of its content
        public = memory.id in self._known or memory.id in self._touched
        if memory.raw or (version.gone and not public):
            return
        entry = self._entry(version)
        known, spot = self._known.get(entry.id), self._spots.get(entry.id)
        if (
            known
            and spot
            and entry.id not in self._touched
            and known.hash == self._hash(self._file_of(entry), entry.line)
        ):
            return
        entries[memory.id] = entry

    def _file_of(self, entry: _Entry) -> str:
        return self._place.quarantined if entry.hidden else self._place.main

    def _entry(self, version: Version) -> _Entry:
        at, id = version.at
        hidden = not version.gone and version.memory.status == "quarantined"
        return _Entry(at, id, to_line(version), hidden=hidden, gone=version.gone)

    def _enter_deletions(self, entries: dict[str, _Entry], ids: Sequence[str]) -> None:
        """Add the lines of memories without a row: erased here, or deleted before they ever arrived."""
        public = [id for id in ids if id in self._known or id in self._touched]
        erased = self._store.erased_at(public)
        for id in public:
            known = self._deletions.get(id)
            if id in erased:
                mine = erasure(id, self._place.tier, erased[id])
                known = merge(mine, known) if known else mine
            if known:
                entries[id] = self._entry(known)

    def _sorted(self, entries: dict[str, _Entry]) -> tuple[list[_Entry], list[_Entry]]:
        """Return the sorted lines of the main and of the quarantined file, which keeps the newest 100."""
        ordered = sorted(entries.values(), key=lambda entry: (entry.at, entry.id))
        hidden = [entry for entry in ordered if entry.hidden]
        old = {entry.id for entry in hidden[:-QUARANTINED_KEPT]}
        rows = self._store.by_ids(self._admission.partitions(), sorted(old)) if old else {}
        for id in old:  # lines beyond that are deleted for other clones, but stay in this store
            version = self._admission.told(rows[id])
            entries[id] = self._entry(settled(replace(version, deleted_at=version.memory.updated_at)))
        if old:
            ordered = sorted(entries.values(), key=lambda entry: (entry.at, entry.id))
            hidden = [entry for entry in ordered if entry.hidden]
        return [entry for entry in ordered if not entry.hidden], hidden

    def _write(self, name: str, entries: Sequence[_Entry]) -> bool:
        """Replace a file by these lines unless it holds exactly them; return True if it was replaced."""
        with self._folder.open(name) or BytesIO() as file:
            if stamp_of(file) != self._stamps[name]:  # an editor or git changed it, and its new lines are unread
                raise Conflict(f"{name} was changed meanwhile", "run: swarmlore sync")
            if _digest(_blocks(file)) == _digest(_parts(entries, file)):
                return False
            self._folder.replace(name, _parts(entries, file))
            return True

    def _write_rejected(self) -> None:
        name = self._place.rejected
        keep = self._admission.rejections_kept
        before = self._folder.read(name)
        own = [item for item in self._store.rejections(self._caller, keep) if item.tier == self._place.tier]
        restored = self._restored([*rejected_ids(before), *(item.id for item in own)])
        after = rejected_lines(before, own, keep, restored)
        if after != before:
            self._folder.replace(name, [after])

    def _restored(self, refused: Sequence[str]) -> frozenset[str]:
        """Return those of the refused lessons that were only quarantined and are live again."""
        rows = self._store.by_ids(self._admission.partitions(), refused).values()
        return frozenset(memory.id for memory in rows if memory.live)

    def _store_state(self, entries: dict[str, _Entry], state: LedgerState) -> None:
        """Store the hashes of the changed lines, written or pending, and the state of the sync."""
        place = self._place
        lines = []
        for entry in entries.values():
            if entry.spot is not None:
                continue
            name = self._file_of(entry)
            deletion = entry.line.decode() if entry.gone else ""
            lines.append(KnownLine(entry.id, self._hash(name, entry.line), entry.at, deletion))
        changed = [line for line in lines if self._known.get(line.memory) != line]
        self._store.act_for(self._caller)
        with self._store.engine.writing(durable=False):
            self._store.put_ledger_lines(place.key, self._caller.project, changed)
            self._store.put_ledger_state(place.key, self._caller.project, state)


def too_much(place: Place, what: str) -> NotAllowed:
    """Return the error for a ledger with more changes than an automatic sync takes."""
    return NotAllowed(f"{place.main} has {what}; so much is not taken in by itself", "take it in: swarmlore sync")


def _parts(entries: Sequence[_Entry], file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of the new file; unchanged lines are copied from the old one."""
    for entry in entries:
        if entry.spot is None:
            yield entry.line + b"\n"
        else:
            file.seek(entry.spot.offset)
            yield file.read(entry.spot.length) + b"\n"


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while block := file.read(1 << 20):
        yield block


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.digest()


TRIES = 3  # an editor or git may write while a file is read
AGENT = "ledger"  # agent name of changes by a sync, so that `undo` of one's own last operation skips them
AUTOMATIC_BYTES = 64 * 1024 * 1024  # a larger file is read only by an explicit sync


class Ledger:
    """Keep one ledger and the store in sync."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        place: Place,
        operation: Callable[[Caller, str], Operation],
    ) -> None:
        self._store = store
        self._caller = replace(caller, agent=AGENT, role="worker", trust=2)
        self._settings = settings
        self._operation = operation
        self.place = place
        self._admission = Admission(store, self._caller, settings, place.tier, place.project_name)

    def follow(self, *, changed: bool = False) -> Synced | None:
        """Read changed files and, with `changed`, write them; cheap if nothing differs.

        Never raise: a problem is stored for `doctor`.
        """
        try:
            self._store.act_for(self._caller)
            if not self._allowed() or not self.place.differs(self._store, changed=changed):
                return None
            with Folder(self.place.folder) as folder, folder.lock():
                self._check_size(folder)
                work = self._pass(folder)
                work.check_amount()
                return work.run(full=False) if changed else work.look()
        except (SwarmloreError, OSError) as error:
            self._note(error)
            return None

    def sync(self) -> Synced:
        """Sync files and store completely, comparing every row."""
        self.check_allowed()
        for _ in range(TRIES):
            try:
                with Folder(self.place.folder) as folder, folder.lock():
                    return self._pass(folder).run(full=True)
            except Conflict as error:
                busy = error
        raise busy

    def _pass(self, folder: Folder) -> Pass:
        return Pass(self._store, self._admission, self.place, folder, self._operation(self._caller, "sync"))

    def planned(self) -> Step:
        """Return, as a step of a dry run, how many lessons the next sync would add to the files."""
        self._store.act_for(self._caller)
        known = self._store.ledger_lines(self.place.key)
        rows = self._store.in_order(self._admission.partitions())
        count = sum(not row.raw and row.forgotten_at is None and row.id not in known for row in rows)
        what = f"{FOLDER}/{self.place.main}"
        return Step(what, "would be shared", f"{count} {'lesson' if count == 1 else 'lessons'}")

    def problem(self) -> str:
        """Return the problem of the last automatic sync, or ''."""
        state = self._store.ledger_state(self.place.key)
        return state.problem if state else ""

    def check_allowed(self) -> None:
        """Raise NotAllowed if memory or the hive is switched off, or if the store is read-only."""
        if not self._allowed():
            raise NotAllowed("memory is switched off here or cannot be written", "see: swarmlore doctor")

    def _allowed(self) -> bool:
        knowledge = self._settings.knowledge
        usable = knowledge.enabled and (self.place.tier != "hive" or knowledge.hive_enabled)
        return usable and not self._store.engine.readonly

    def _check_size(self, folder: Folder) -> None:
        place = self.place
        if place.stamp(folder) != (self._store.ledger_state(place.key) or LedgerState()).stamp:
            size = folder.size(place.main) + folder.size(place.quarantined)
            if size > AUTOMATIC_BYTES:
                raise too_much(place, f"{size // 2**20} MB")

    def _note(self, error: Exception) -> None:
        message = error.message if isinstance(error, SwarmloreError) else str(error)
        state = self._store.ledger_state(self.place.key) or LedgerState()
        if state.problem == message or self._store.engine.readonly:
            return
        try:
            self._store.put_ledger_state(self.place.key, self._caller.project, replace(state, problem=message))
        except SwarmloreError:
            return  # `doctor` reports the problem of the store itself
