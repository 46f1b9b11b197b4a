"""Import and export of whole files: streamed, resumable, and without effect the second time."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b

from swarmlore.config import Settings
from swarmlore.domain.policy.merge import Version, merge
from swarmlore.domain.records import CATEGORIES, Caller, Memory, Rejection
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.exchange.admit import Admission, Refused, nothing
from swarmlore.exchange.foreign import RECORDS, compat
from swarmlore.exchange.knowledge_format import derived_id, from_object, to_line
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.quarantine import is_retraction
from swarmlore.store.database import Operation
from swarmlore.store.history import Past
from swarmlore.store.ledgers import ImportState
from swarmlore.store.store import Store
from swarmlore.workspace import jsonl
from swarmlore.workspace.files import check_other, opened, whole
from swarmlore.workspace.jsonl import BadLine, Line, dump

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from swarmlore.models.embedding import Progress


def end_line(count: int) -> bytes:
    return dump({"end": True, "count": count}) + b"\n"


def is_end(obj: Mapping[str, Any]) -> bool:
    """Whether a record is such a line; no memory has this form."""
    return obj.keys() == {"end", "count"} and obj["end"] is True and type(obj["count"]) is int


FOREIGN = ("lane", "lane-db", "agent-swarm", "mcp-memory", "mem0")  # of other memory programs
DATABASES = {"lane-db": "memories", "agent-swarm": "agent_memory"}  # and their tables
IMPORTED = ("auto", "knowledge", "shared", "legacy-hive", "retractions", *FOREIGN)
HEAD_BYTES = 65_536
_LISTS = ("results", "memories", "entities", "relations")


def check_format(format: str, others: tuple[str, ...]) -> None:
    if format not in IMPORTED:
        raise InvalidInput(f"unknown format: {format}", "one of: " + ", ".join((*IMPORTED, *others)))


def recognised(path: str, format: str, file: BinaryIO) -> str:
    """The format of an open file, which is at its beginning before and after; raises InvalidInput where the file is
    none of the named one."""
    head = file.read(HEAD_BYTES)
    file.seek(0)
    if head.startswith(b"SQLite format 3\x00"):
        return _of_database(path, format)
    if format in DATABASES:
        raise InvalidInput(f"{path} is no SQLite database", f"{format} is read from one; lines of JSON: --format lane")
    if format != "auto":
        return format
    return _of_content(head, file) or _of_name(path)


def _of_database(path: str, format: str) -> str:
    from swarmlore.exchange.sqlite_tables import Tables

    wanted = "lane-db" if format == "lane" else format
    if wanted not in ("auto", *DATABASES):
        raise InvalidInput(f"{path} is a database", "import it with --format lane-db or agent-swarm, or without")
    with Tables(path) as tables:
        found = [kind for kind, table in DATABASES.items() if "content" in tables.columns(table)]
        own = {"memory", "operation", "audit"} <= set(tables.tables)
    if wanted in found:
        return wanted
    if len(found) == 1 and wanted == "auto":
        return found[0]
    if own:
        raise InvalidInput(f"{path} is a store of Swarmlore", "put it in place: swarmlore restore-backup FILE")
    if not found or wanted != "auto":
        table = DATABASES.get(wanted, "memories or agent_memory")
        raise InvalidInput(f"{path} has no table {table} with a content", "check that it is the file that you meant")
    raise InvalidInput(f"{path} has memories of two programs", "say which: --format lane-db or --format agent-swarm")


def _of_content(head: bytes, file: BinaryIO) -> str:
    """By the first record, whatever the file is called; '' where that tells nothing."""
    begins = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if begins.startswith(b"["):
        return _of_list(begins)
    found = ""
    for line in jsonl.lines(file, cap=jsonl.LONG_BYTES):
        with suppress(BadLine):
            found = kind_of_record(jsonl.parse(line))
            break
        if line.end > HEAD_BYTES:
            break
    file.seek(0)
    return found or _of_document(begins)


def kind_of_record(obj: Mapping[str, Any]) -> str:
    """By what a record looks like; '' where that tells nothing."""
    if is_retraction(obj):
        return "retractions"
    if isinstance(obj.get("information"), str) and "lesson" not in obj:
        return "lane"
    if compat("mcp_memory").is_graph(obj) or (
        isinstance(obj.get("entities"), list) and isinstance(obj.get("relations"), list)
    ):
        return "mcp-memory"
    if compat("mem0").is_record(obj) or isinstance(obj.get("results"), list) or isinstance(obj.get("memories"), list):
        return "mem0"
    return ""


def _of_list(begins: bytes) -> str:
    """A document that is a list: of entities, or of memories."""
    return "mcp-memory" if b'"entityType"' in begins and b'"memory"' not in begins else "mem0"


def _of_document(begins: bytes) -> str:
    """A document over several lines, by the names of its lists."""
    if not begins.startswith(b"{"):
        return ""
    at = {name: begins.find(f'"{name}"'.encode()) for name in _LISTS}
    there = {name: place for name, place in at.items() if place >= 0}
    first = min(there, key=lambda name: there[name], default="")
    if first in ("results", "memories"):
        return "mem0"
    return "mcp-memory" if first in ("entities", "relations") and b'"entityType"' in begins else ""


def _of_name(path: str) -> str:
    name = os.path.basename(path)
    if name.startswith("hive-knowledge"):
        return "legacy-hive"
    if name.startswith("knowledge-retractions"):
        return "retractions"
    if name == "memories.jsonl":
        return "lane"
    return "shared" if name.startswith("shared-learnings") else "knowledge"


TICK_S = 0.001  # the smallest difference of two times in a file


def said_again(
    version: Version,
    before: Memory | None,
    told: Version | None,
    local: Memory,
    now: float,
    settle: Callable[[Memory, Version], Memory],
) -> Version | None:
    """What a version says once more, as of now, or None where it adds nothing to what was there `before` the import;
    `told` is that as its line says it, `settle` what a memory is after a merge."""
    merged = version if told is None else merge(told, version)
    if version.gone if before is None else merged == told or settle(before, merged) == before:
        return None
    at = round(max(now, local.updated_at + TICK_S, (local.forgotten_at or 0.0) + TICK_S), 3)
    return replace(merged, deleted_at=at) if merged.gone else Version(replace(merged.memory, updated_at=at))


NOTES = ("notes", "instincts", "memory-md", "auto-memory")  # taken in elsewhere
TIERS = {"knowledge": "swarm", "shared": "hive", "legacy-hive": "hive", "retractions": "swarm"}
CHUNK = 100  # rows of one transaction: other writers wait for it
REFUSALS_LISTED = 10_000
LISTED_CHARS = 2_000
LEGACY_TAG = "migration:legacy-hive"
BY_PEOPLE = ("forget", "undo")  # what hides a memory because somebody wanted it; files hide memories too


@frozen
class Brought:
    """What an import did: lines read, what became of them, and by number what was refused and why. `revived` had gone
    when an import was undone; `forgotten` stay so, and `hidden_by` has how many of them which operation hid. `linked`
    are links between memories; `private` are those of the added that other agents alone can see, and undo."""

    read: int
    added: int
    updated: int
    removed: int
    known: int
    refused: int
    refusals: tuple[tuple[int, str], ...] = ()
    redacted: int = 0
    resumed_at: int = 0
    operation: str = ""
    revived: int = 0
    quarantined: int = 0
    forgotten: int = 0
    hidden_by: tuple[tuple[str, int], ...] = ()
    linked: int = 0
    private: int = 0
    format: str = ""


class Importing:
    """Files in, for one caller."""

    def __init__(self, store: Store, caller: Caller, settings: Settings, name: str) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._name = name

    def run(self, path: str, format: str, operation: Operation, progress: Progress | None = None) -> Brought:
        """Take a file in, from where an interrupted import of it stopped."""
        check_format(format, NOTES)
        check_other(path, self._store.engine.path)
        operation = replace(operation, reason=f"from {os.path.basename(path)}")
        with opened(path) as file:
            kind = recognised(path, format, file)
            check_switches(self._settings, hive=TIERS.get(kind, "swarm") == "hive")
            source = _source(file, kind, self._caller.project)
            state = self._store.import_state(self._caller, source) or ImportState(counts=nothing())
            work = self._work(kind)(self, kind, operation, source, state)
            for position, size in work.run(file):
                if progress:
                    progress(position // 1024, size // 1024)
        self._store.drop_import(self._caller, source)
        return work.told()

    def _work(self, kind: str) -> type[Import]:
        if kind in FOREIGN:
            foreign: type[Import] = compat(RECORDS).ForeignImport
            return foreign
        return _Retractions if kind == "retractions" else Import


def check_switches(settings: Settings, *, hive: bool) -> None:
    """Raise where nothing may be taken in, or nothing for every project."""
    if not settings.knowledge.enabled:
        raise NotAllowed("memory is switched off here", "turn it on: swarmlore config knowledge.enabled true")
    if hive and not settings.knowledge.hive_enabled:
        raise NotAllowed("the hive is switched off here", "turn it on: swarmlore config knowledge.hive_enabled true")


class Import:
    """One run over one file."""

    sent = False  # whether the caller sent the lines, and answers for them

    def __init__(self, door: Importing, kind: str, operation: Operation, source: str, state: ImportState) -> None:
        self._store, self._caller, self._settings = door._store, door._caller, door._settings
        self._name = door._name
        self._operation = operation
        self._kind = kind
        self._source = source
        self._legacy = kind == "legacy-hive"
        self._tier = TIERS.get(kind, "swarm")
        facts = (door._store, door._caller, door._settings, self._tier, door._name)
        self._door = Admission(*facts, source="migration" if self._legacy else "import", sent=self.sent)
        self._position, self._line, self._resumed = state.position, state.line, state.line
        self._counts = {**nothing(), **state.counts}
        self._hidden_by: dict[str, int] = {}
        self._legacy_ids: dict[str, str] = {}
        self._rejected: list[Rejection] = []
        self._revived: set[str] = set()
        self._refusals: list[tuple[int, str]] = []

    def run(self, file: BinaryIO) -> Iterator[tuple[int, int]]:
        """Take in chunk after chunk; gives how far it has come, in bytes, and the size."""
        size = os.fstat(file.fileno()).st_size
        file.seek(self._position)
        chunk: list[tuple[Line, Any]] = []
        for line in jsonl.lines(file, self._position, self._line):
            self._read_one(line, chunk)
            self._position, self._line = line.end, line.number
            if len(chunk) >= CHUNK:
                self._take_in(chunk, durable=False)
                chunk = []
                yield self._position, size
        self._take_in(chunk, durable=True)
        yield size, size

    def _read_one(self, line: Line, chunk: list[tuple[Line, Any]]) -> None:
        """Add what a line says to a chunk, or name what is wrong with it."""
        try:
            obj = jsonl.parse(line)
            if is_end(obj):
                self._check_end(line, obj)
                return
            chunk.append((line, self._record(obj)))
        except BadLine as problem:
            self._refuse(line, problem.reason)
        self._counts["read"] = self._counts.get("read", 0) + 1

    def _check_end(self, line: Line, obj: Mapping[str, Any]) -> None:
        """The last line of what a server gave tells how many there were."""
        if obj["count"] != self._counts.get("read", 0):
            self._refuse(line, f"cut: {self._counts.get('read', 0)} lines came, {obj['count']} were meant")

    def _record(self, obj: dict[str, Any]) -> Any:
        """What a line says."""
        if is_retraction(obj):
            raise BadLine("a retraction: import it with --format retractions")
        if self._legacy and obj.get("tier", "hive") != "hive":
            raise BadLine("no row of the old hive file, it has a tier: import it without --format legacy-hive")
        return from_object(from_legacy(obj) if self._legacy else obj, self._tier)

    def _take_in(self, chunk: list[tuple[Line, Any]], *, durable: bool) -> None:
        """Store a chunk and how far this import has come, in one transaction."""
        fresh = self._admitted(chunk)
        with self._store.operation(self._operation, durable=durable):
            self._store_all(fresh)
            self._keep_rejected()
            self._keep_place()

    def _keep_place(self) -> None:
        """Write down how far it has come, so that the same command goes on from there."""
        state = ImportState(self._position, self._line, self._counts)
        self._store.put_import(self._caller, self._source, state, self._operation.at)

    def _store_all(self, fresh: list[tuple[Line, Any]]) -> None:
        versions = [version for _, version in fresh]
        done = self._door.take_in(self._operation, versions, anybodys=self._revived)
        for (line, version), (outcome, why) in zip(fresh, done, strict=True):
            if outcome in ("added", "updated") and version.memory.status == "quarantined":
                outcome = "quarantined"
            elif outcome == "updated" and version.memory.id in self._revived:
                outcome = "revived"
            self._count(line, outcome, why)
            if outcome in ("added", "quarantined"):
                self._added(version)

    def _added(self, version: Version) -> None:
        """What a kind of import does with a memory that is new here."""

    def _count(self, line: Line, outcome: str, why: str) -> None:
        if outcome == "refused":
            self._refuse(line, why)
        else:
            self._counts[outcome] += 1

    def _admitted(self, chunk: list[tuple[Line, Version]]) -> list[tuple[Line, Version]]:
        """Those of a chunk that say something new, through the gate. What is known already needs no gate."""
        chunk, rows = self._met(chunk)
        known = [self._is_known(rows.get(version.memory.id), version) for _, version in chunk]
        pasts = self._pasts([version for (_, version), is_known in zip(chunk, known, strict=True) if is_known], rows)
        self._revived = set()
        fresh = []
        for (line, version), is_known in zip(chunk, known, strict=True):
            local, past = rows.get(version.memory.id), pasts.get(version.memory.id, Past())
            if is_known and not past.taken_back:
                self._count_known(version, local, past)
                continue
            try:
                admitted = self._door.admit(version, self._operation.at)
            except Refused as refusal:
                self._refuse(line, refusal.reason)
                self._list(refusal)
                continue
            taken = admitted.version
            if is_known and local is not None:
                again = self._again(taken, local, past)
                if again is None:
                    self._count_known(version, local, past)
                    continue
                taken = again
            self._counts["redacted"] += bool(admitted.redacted)
            fresh.append((line, taken))
        return fresh

    def _met(self, chunk: list[tuple[Line, Version]]) -> tuple[list[tuple[Line, Version]], dict[str, Memory]]:
        """A chunk with the rows that have its ids; old rows whose id is taken have one of their own then."""
        rows, elsewhere = self._door.known([version.memory.id for _, version in chunk])
        if self._legacy:
            chunk = [(line, self._with_own_id(version, rows, elsewhere)) for line, version in chunk]
            rows, _ = self._door.known([version.memory.id for _, version in chunk])
        return chunk, rows

    def _with_own_id(self, version: Version, rows: Mapping[str, Memory], elsewhere: Container[str]) -> Version:
        """An old row whose id means another lesson, here or further up in the file, gets one of its own."""
        memory = version.memory
        before = self._legacy_ids.setdefault(memory.id, memory.text)
        if before != memory.text or memory.id in elsewhere or _is_other(rows, version):
            return replace(version, memory=replace(memory, id=derived_id(memory.tier, memory.text)))
        return version

    def _is_known(self, local: Memory | None, version: Version) -> bool:
        if local is None or (local.raw and not version.memory.raw):
            return False
        told = self._door.told(local, situations=True)
        return merge(told, version) == told

    def _pasts(self, known: list[Version], rows: dict[str, Memory]) -> dict[str, Past]:
        """How those that differ from their line came to be so; most are as their line says."""
        ids = {version.memory.id: version for version in known}
        differ = [id for id, version in ids.items() if self._door.told(rows[id], situations=True) != version]
        return self._store.pasts(differ)

    def _again(self, version: Version, local: Memory, past: Past) -> Version | None:
        """What a line says again after its import was undone."""
        told = None if past.before is None else self._door.told(past.before, situations=True)
        again = said_again(version, past.before, told, local, self._operation.at, self._door.settle)
        if again is not None and past.before is None:
            self._revived.add(local.id)
        return again

    def _count_known(self, version: Version, local: Memory | None, past: Past) -> None:
        """Count what is known; what somebody forgot stays so, and is counted apart."""
        hidden = local is not None and local.forgotten_at is not None and not version.gone
        if not hidden or past.verb not in BY_PEOPLE:
            self._counts["known"] += 1
            return
        self._counts["forgotten"] += 1
        self._hidden_by[past.hidden_by] = self._hidden_by.get(past.hidden_by, 0) + 1

    def _refuse(self, line: Line, reason: str) -> None:
        self._counts["refused"] += 1
        if len(self._refusals) < REFUSALS_LISTED:
            self._refusals.append((line.number, reason))

    def _list(self, refusal: Refused) -> None:
        """Note what the gate refused; the same text is listed once, however often its file comes."""
        if refusal.by_gate is None:
            return
        text, reason = refusal.by_gate.draft.text[:LISTED_CHARS], refusal.by_gate.reason
        id = derived_id(self._tier, f"{reason}\n{text}")
        self._rejected.append(Rejection(id, text, reason, refusal.by_gate.layer, self._operation.at))

    def _keep_rejected(self) -> None:
        keep = self._door.rejections_kept
        for rejection in self._rejected[-keep:] if keep else ():
            self._store.reject(self._caller, self._tier, rejection, keep)
        self._rejected = []

    def told(self) -> Brought:
        facts: dict[str, Any] = {name: int(self._counts.get(name, 0)) for name in ("read", *nothing())}
        refusals = tuple(sorted(self._refusals))
        facts |= {"resumed_at": self._resumed, "operation": self._operation.id, "format": self._kind}
        return Brought(**facts, refusals=refusals, hidden_by=tuple(self._hidden_by.items()))


class _Retractions(Import):
    """The same for a file of retractions."""

    def _record(self, obj: dict[str, Any]) -> Any:
        from swarmlore.memory.quarantine import retraction_from

        return retraction_from(obj)

    def _admitted(self, chunk: list[tuple[Line, Any]]) -> list[tuple[Line, Any]]:
        return chunk

    def _store_all(self, fresh: list[tuple[Line, Any]]) -> None:
        from swarmlore.memory.quarantine import retract

        for line, retraction in fresh:
            for outcome, why in retract(self._store, self._operation, retraction):
                self._count(line, outcome, why)


def export_lines(store: Store, caller: Caller, name: str, format: str) -> Iterator[bytes]:
    """Every shared memory of the project, or of the hive, as a line, in order; forgotten ones and raw material not."""
    from swarmlore.domain.policy.merge import published

    for memory in store.in_order(store.visible(caller, (TIERS[format],))):
        if not memory.raw and memory.forgotten_at is None:
            yield to_line(published(memory, name, situations=True)) + b"\n"


def from_legacy(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the old hive file in today's form."""
    made = {
        **{name: value for name, value in obj.items() if name != "scope_tag"},
        "tier": "hive",
        "category": obj.get("category") if obj.get("category") in CATEGORIES else "other",
        "confidence": obj.get("confidence", 0.8),
        "scope": obj.get("scope_tag") or "global",
        "status": "established",
        "tags": [LEGACY_TAG],
        "source_project": "legacy-promotion",
        "encounter_score": 1.0,
        "source": "migration",
        "trust": 1,
    }
    return made


def _is_other(rows: Mapping[str, Memory], version: Version) -> bool:
    local = rows.get(version.memory.id)
    return local is not None and local.text != version.memory.text


def _source(file: BinaryIO, kind: str, project: str) -> str:
    """A name for this content of this file: another content is another import."""
    found = os.fstat(file.fileno())
    head = file.read(HEAD_BYTES)
    file.seek(0)
    facts = f"{kind}\n{project}\n{found.st_dev}.{found.st_ino}.{found.st_size}.{found.st_mtime_ns}\n"
    if kind in FOREIGN:
        facts += _log_of(file.name)
    return blake2b(facts.encode("utf-8", "surrogateescape") + head, digest_size=16).hexdigest()


def _log_of(path: str) -> str:
    """The same for the log beside a database, which holds what was written last."""
    try:
        found = os.stat(f"{os.path.realpath(path)}-wal")
    except OSError:
        return ""
    return f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}\n"


def write_lines(
    path: str, parts: Callable[[], Iterator[bytes]], *, overwrite: bool = False, private: bool = False
) -> int:
    """Write a file whole or not at all, for its owner alone where it is `private`; returns the number of lines."""
    count = 0
    with whole(path, overwrite=overwrite, private=private) as part, open(part, "wb", buffering=1 << 20) as file:
        for line in parts():
            file.write(line)
            count += 1
    return count
