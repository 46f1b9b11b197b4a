"""Import files: recognise the format, stream the lines into the store, resume after an interruption.

Importing the same file again changes nothing. Also writes exports of the own format.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b

from swarmlore.config import Settings
from swarmlore.domain.policy.merge import Version, merge
from swarmlore.domain.records import CATEGORIES, Caller, Memory, Rejection
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.exchange import RECORDS, compat
from swarmlore.exchange.admit import Admission, Refused, zero_counts
from swarmlore.exchange.knowledge_format import derived_id, from_object, to_line
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.quarantine import is_retraction
from swarmlore.store.database import Operation
from swarmlore.store.history import Past
from swarmlore.store.ledgers import ImportState
from swarmlore.store.store import Store
from swarmlore.workspace import jsonl
from swarmlore.workspace.files import opened, refuse_store_file, replace_file
from swarmlore.workspace.jsonl import BadLine, Line, dump

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from swarmlore.models.embedding import Progress


def end_line(count: int) -> bytes:
    """Return the last line of a stream from a server, with the number of lines before it."""
    return dump({"end": True, "count": count}) + b"\n"


def is_end(obj: Mapping[str, Any]) -> bool:
    """Return True if a record is such a last line; no memory has this form."""
    return obj.keys() == {"end", "count"} and obj["end"] is True and type(obj["count"]) is int


OWN = ("knowledge", "shared")
FOREIGN = ("lane", "lane-db", "agent-swarm", "mcp-memory", "mem0")  # formats of other memory programs
DATABASES = {"lane-db": "memories", "agent-swarm": "agent_memory"}  # and their tables
IMPORTED = ("auto", *OWN, "legacy-hive", "retractions", *FOREIGN)
HEAD_BYTES = 65_536
_LISTS = ("results", "memories", "entities", "relations")


def check_format(format: str, others: tuple[str, ...]) -> None:
    """Raise InvalidInput unless a format can be imported; `others` are formats that the hint names as well."""
    if format not in IMPORTED:
        raise InvalidInput(f"unknown format: {format}", "one of: " + ", ".join((*IMPORTED, *others)))


def detect_format(path: str, format: str, file: BinaryIO) -> str:
    """Return the format of an open file, leaving it at its beginning; raise InvalidInput if it is not `format`."""
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
        kinds = [kind for kind, table in DATABASES.items() if "content" in tables.columns(table)]
        own = {"memory", "operation", "audit"} <= set(tables.tables)
    if wanted in kinds:
        return wanted
    if len(kinds) == 1 and wanted == "auto":
        return kinds[0]
    if own:
        raise InvalidInput(f"{path} is a store of Swarmlore", "put it in place: swarmlore restore-backup FILE")
    if not kinds or wanted != "auto":
        table = DATABASES.get(wanted, "memories or agent_memory")
        raise InvalidInput(f"{path} has no table {table} with a content", "check that it is the file that you meant")
    raise InvalidInput(f"{path} has memories of two programs", "say which: --format lane-db or --format agent-swarm")


def _of_content(head: bytes, file: BinaryIO) -> str:
    """Return the format by the first record of a file; '' if that is not conclusive."""
    begins = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if begins.startswith(b"["):
        return "mcp-memory" if b'"entityType"' in begins and b'"memory"' not in begins else "mem0"
    kind = ""
    for line in jsonl.lines(file, cap=jsonl.LONG_BYTES):
        with suppress(BadLine):
            kind = kind_of_record(jsonl.parse(line))
            break
        if line.end > HEAD_BYTES:
            break
    file.seek(0)
    return kind or _of_document(begins)


def kind_of_record(obj: Mapping[str, Any]) -> str:
    """Return the format that a record's fields suggest; '' if they are not conclusive."""
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


def _of_document(begins: bytes) -> str:
    """Return the format of a JSON document over several lines, by the name of its first list."""
    if not begins.startswith(b"{"):
        return ""
    at = {name: begins.find(f'"{name}"'.encode()) for name in _LISTS}
    present = {name: place for name, place in at.items() if place >= 0}
    first = min(present, key=lambda name: present[name], default="")
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


TICK_S = 0.001  # resolution of times in a file


def said_again(
    version: Version,
    before: Memory | None,
    published: Version | None,
    local: Memory,
    now: float,
    settle: Callable[[Memory, Version], Memory],
) -> Version | None:
    """Return a version to import again after its import was undone, dated now; None if it would change nothing.

    `before` is the memory before the first import and `published` its line; `settle` applies a merge to a memory.
    """
    merged = version if published is None else merge(published, version)
    if version.gone if before is None else merged == published or settle(before, merged) == before:
        return None
    at = round(max(now, local.updated_at + TICK_S, (local.forgotten_at or 0.0) + TICK_S), 3)
    return replace(merged, deleted_at=at) if merged.gone else Version(replace(merged.memory, updated_at=at))


NOTES = ("notes", "instincts", "memory-md", "auto-memory")  # formats that the notes package imports
TIERS = {"knowledge": "swarm", "shared": "hive", "legacy-hive": "hive", "retractions": "swarm"}
CHUNK = 100  # rows of one transaction, for which other writers wait
REFUSALS_LISTED = 10_000
LISTED_CHARS = 2_000
LEGACY_TAG = "migration:legacy-hive"
BY_PEOPLE = ("forget", "undo")  # operations that hide a memory on request; a file can hide one too


@frozen
class Brought:
    """Result of an import: lines read, the count of each outcome, and refusals by line number.

    `revived` were removed by undoing an import. `forgotten` stay forgotten; `hidden_by` counts them by the operation
    that hid them. `linked` counts links. `private` are added memories that only other agents can see and undo.
    """

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


class Importer:
    """Import files for one caller."""

    def __init__(self, store: Store, caller: Caller, settings: Settings, name: str) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._name = name

    def run(self, path: str, format: str, operation: Operation, progress: Progress | None = None) -> Brought:
        """Import a file, continuing where an interrupted import of it stopped."""
        check_format(format, NOTES)
        refuse_store_file(path, self._store.engine.path)
        operation = replace(operation, reason=f"from {os.path.basename(path)}")
        with opened(path) as file:
            kind = detect_format(path, format, file)
            check_switches(self._settings, hive=TIERS.get(kind, "swarm") == "hive")
            source = _source(file, kind, self._caller.project)
            state = self._store.import_state(self._caller, source) or ImportState(counts=zero_counts())
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
    """Raise NotAllowed if memory is switched off or, for records of the hive, if the hive is."""
    if not settings.knowledge.enabled:
        raise NotAllowed("memory is switched off here", "turn it on: swarmlore config knowledge.enabled true")
    if hive and not settings.knowledge.hive_enabled:
        raise NotAllowed("the hive is switched off here", "turn it on: swarmlore config knowledge.hive_enabled true")


class Import:
    """One run of an import over one file."""

    sent = False  # True if the caller sent the lines and is accountable for them

    def __init__(self, importing: Importer, kind: str, operation: Operation, source: str, state: ImportState) -> None:
        self._store, self._caller, self._settings = importing._store, importing._caller, importing._settings
        self._name = importing._name
        self._operation = operation
        self._kind = kind
        self._source = source
        self._legacy = kind == "legacy-hive"
        self._tier = TIERS.get(kind, "swarm")
        facts = (self._store, self._caller, self._settings, self._tier, self._name)
        self._door = Admission(*facts, source="migration" if self._legacy else "import", sent=self.sent)
        self._position, self._line, self._resumed = state.position, state.line, state.line
        self._counts = {**zero_counts(), **state.counts}
        self._hidden_by: dict[str, int] = {}
        self._legacy_ids: dict[str, str] = {}
        self._rejected: list[Rejection] = []
        self._revived: set[str] = set()
        self._refusals: list[tuple[int, str]] = []

    def run(self, file: BinaryIO) -> Iterator[tuple[int, int]]:
        """Import chunk by chunk; yield the position in bytes and the size of the file."""
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
        """Parse a line and add its record to a chunk, or refuse it with the reason."""
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
        """Refuse the last line of a server's stream if its count shows that lines are missing."""
        if obj["count"] != self._counts.get("read", 0):
            self._refuse(line, f"cut: {self._counts.get('read', 0)} lines came, {obj['count']} were meant")

    def _record(self, obj: dict[str, Any]) -> Any:
        """Return the version that a line describes; raise BadLine if it has another format."""
        if is_retraction(obj):
            raise BadLine("a retraction: import it with --format retractions")
        if self._legacy and obj.get("tier", "hive") != "hive":
            raise BadLine("no row of the old hive file, it has a tier: import it without --format legacy-hive")
        return from_object(from_legacy(obj) if self._legacy else obj, self._tier)

    def _take_in(self, chunk: list[tuple[Line, Any]], *, durable: bool) -> None:
        """Store a chunk and the position of this import in one transaction."""
        fresh = self._admitted(chunk)
        with self._store.operation(self._operation, durable=durable):
            self._store_all(fresh)
            self._keep_rejected()
            self._keep_place()

    def _keep_place(self) -> None:
        """Store the position of this import, so that the same command continues there."""
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
        """Hook for subclasses, called for each memory that is new here."""

    def _count(self, line: Line, outcome: str, why: str) -> None:
        if outcome == "refused":
            self._refuse(line, why)
        else:
            self._counts[outcome] += 1

    def _admitted(self, chunk: list[tuple[Line, Version]]) -> list[tuple[Line, Version]]:
        """Return the records of a chunk that change something and pass the gate; count the known ones."""
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
            accepted = admitted.version
            if is_known and local is not None:
                again = self._again(accepted, local, past)
                if again is None:
                    self._count_known(version, local, past)
                    continue
                accepted = again
            self._counts["redacted"] += bool(admitted.redacted)
            fresh.append((line, accepted))
        return fresh

    def _met(self, chunk: list[tuple[Line, Version]]) -> tuple[list[tuple[Line, Version]], dict[str, Memory]]:
        """Return a chunk with the stored rows of its ids; legacy records with a taken id get a new one first."""
        rows, elsewhere = self._door.known([version.memory.id for _, version in chunk])
        if self._legacy:
            chunk = [(line, self._with_own_id(version, rows, elsewhere)) for line, version in chunk]
            rows, _ = self._door.known([version.memory.id for _, version in chunk])
        return chunk, rows

    def _with_own_id(self, version: Version, rows: Mapping[str, Memory], elsewhere: Container[str]) -> Version:
        """Give a legacy record a new id if its id belongs to another lesson, here or earlier in the file."""
        memory = version.memory
        before = self._legacy_ids.setdefault(memory.id, memory.text)
        other = memory.id in rows and rows[memory.id].text != memory.text
        if before != memory.text or memory.id in elsewhere or other:
            return replace(version, memory=replace(memory, id=derived_id(memory.tier, memory.text)))
        return version

    def _is_known(self, local: Memory | None, version: Version) -> bool:
        """Return True if merging a version with the stored memory would change nothing."""
        if local is None or (local.raw and not version.memory.raw):
            return False
        published = self._door.told(local, situations=True)
        return merge(published, version) == published

    def _pasts(self, known: list[Version], rows: dict[str, Memory]) -> dict[str, Past]:
        """Return the history of known memories that differ from their line, which few do."""
        ids = {version.memory.id: version for version in known}
        differ = [id for id, version in ids.items() if self._door.told(rows[id], situations=True) != version]
        return self._store.pasts(differ)

    def _again(self, version: Version, local: Memory, past: Past) -> Version | None:
        """Return the version to import again after an undo of its import; None if it changes nothing."""
        published = None if past.before is None else self._door.told(past.before, situations=True)
        again = said_again(version, past.before, published, local, self._operation.at, self._door.settle)
        if again is not None and past.before is None:
            self._revived.add(local.id)
        return again

    def _count_known(self, version: Version, local: Memory | None, past: Past) -> None:
        """Count a known record; one that a caller forgot stays forgotten and is counted separately."""
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
        """Note a text that the gate refused, with an id that lists the same text only once over many imports."""
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
        """Return the result of the import."""
        facts: dict[str, Any] = {name: int(self._counts.get(name, 0)) for name in ("read", *zero_counts())}
        refusals = tuple(sorted(self._refusals))
        facts |= {"resumed_at": self._resumed, "operation": self._operation.id, "format": self._kind}
        return Brought(**facts, refusals=refusals, hidden_by=tuple(self._hidden_by.items()))


class _Retractions(Import):
    """Import of a file of retractions."""

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
    """Yield the shared lessons of the project or of the hive as lines in order, without forgotten ones."""
    from swarmlore.domain.policy.merge import published

    for memory in store.in_order(store.visible(caller, (TIERS[format],))):
        if not memory.raw and memory.forgotten_at is None:
            yield to_line(published(memory, name, situations=True)) + b"\n"


def from_legacy(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a record of the old hive file to the current form."""
    return {
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


def _source(file: BinaryIO, kind: str, project: str) -> str:
    """Return the fingerprint of a file and its content, under which the position of its import is stored."""
    stat = os.fstat(file.fileno())
    head = file.read(HEAD_BYTES)
    file.seek(0)
    facts = f"{kind}\n{project}\n{stat.st_dev}.{stat.st_ino}.{stat.st_size}.{stat.st_mtime_ns}\n"
    if kind in FOREIGN:
        facts += _wal_facts(file.name)
    return blake2b(facts.encode("utf-8", "surrogateescape") + head, digest_size=16).hexdigest()


def _wal_facts(path: str) -> str:
    """Return inode, size and time of a database's WAL, which holds the latest writes; '' without one."""
    try:
        stat = os.stat(f"{os.path.realpath(path)}-wal")
    except OSError:
        return ""
    return f"{stat.st_ino}.{stat.st_size}.{stat.st_mtime_ns}\n"


def write_lines(
    path: str, parts: Callable[[], Iterator[bytes]], *, overwrite: bool = False, private: bool = False
) -> int:
    """Write a file atomically, readable by its owner only if `private`; return the number of lines."""
    count = 0
    with replace_file(path, overwrite=overwrite, private=private) as part, open(part, "wb", buffering=1 << 20) as file:
        for line in parts():
            file.write(line)
            count += 1
    return count
