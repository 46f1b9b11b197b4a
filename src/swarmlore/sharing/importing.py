"""Import and export of whole files: streamed, resumable, and without effect the second time."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b

from swarmlore.config import Settings
from swarmlore.errors import InvalidInput, NotAllowed, NotFound
from swarmlore.formats import jsonl
from swarmlore.formats.jsonl import BadLine, Line
from swarmlore.formats.knowledge import derived_id, from_object, to_line
from swarmlore.formats.retractions import is_retraction
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.records import CATEGORIES, Caller, Memory, Rejection
from swarmlore.rules.merge import Version, merge
from swarmlore.sharing.admission import Admission, Refused, nothing
from swarmlore.sharing.again import said_again
from swarmlore.store.base import Operation
from swarmlore.store.history import Past
from swarmlore.store.ledgers import ImportState
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from swarmlore.embedding import Progress

IMPORTED = ("auto", "knowledge", "shared", "legacy-hive", "retractions")
NOTES = ("notes", "instincts", "memory-md", "auto-memory")  # taken in elsewhere
EXPORTED = ("knowledge", "shared")
TIERS = {"knowledge": "swarm", "shared": "hive", "legacy-hive": "hive", "retractions": "swarm"}
CHUNK = 100  # rows of one transaction: other writers wait for it
REFUSALS_LISTED = 10_000
LISTED_CHARS = 2_000
HEAD_BYTES = 65_536
LEGACY_TAG = "migration:legacy-hive"
BY_PEOPLE = ("forget", "undo")  # what hides a memory because somebody wanted it; files hide memories too


@frozen
class Brought:
    """What an import did: lines read, what became of them, and by number what was refused and why. `revived` had gone
    when an import was undone; `forgotten` stay so, and `hidden_by` has how many of them which operation hid."""

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


class Importing:
    """Files in, for one caller."""

    def __init__(self, store: Store, caller: Caller, settings: Settings, name: str) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._name = name

    def run(self, path: str, format: str, operation: Operation, progress: Progress | None = None) -> Brought:
        """Take a file in, from where an interrupted import of it stopped."""
        kind = format_of(path, format)
        operation = replace(operation, reason=f"from {os.path.basename(path)}")
        with _opened(path) as file:
            if format == "auto" and _tells_retractions(file):
                kind = "retractions"
            check_switches(self._settings, hive=TIERS[kind] == "hive")
            source = _source(file, kind, self._caller.project)
            state = self._store.import_state(self._caller, source) or ImportState(counts=nothing())
            work = (_Retractions if kind == "retractions" else _Import)(self, kind, operation, source, state)
            for position, size in work.run(file):
                if progress:
                    progress(position // 1024, size // 1024)
        self._store.drop_import(self._caller, source)
        return work.told()


def check_switches(settings: Settings, *, hive: bool) -> None:
    """Raise where nothing may be taken in, or nothing for every project."""
    if not settings.knowledge.enabled:
        raise NotAllowed("memory is switched off here", "turn it on: swarmlore config knowledge.enabled true")
    if hive and not settings.knowledge.hive_enabled:
        raise NotAllowed("the hive is switched off here", "turn it on: swarmlore config knowledge.hive_enabled true")


class _Import:
    """One run over one file."""

    def __init__(self, door: Importing, kind: str, operation: Operation, source: str, state: ImportState) -> None:
        self._store, self._caller = door._store, door._caller
        self._operation = operation
        self._source = source
        self._legacy = kind == "legacy-hive"
        self._tier = TIERS[kind]
        self._door = Admission(door._store, door._caller, door._settings, self._tier, door._name, strict=True)
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
            try:
                chunk.append((line, self._record(jsonl.parse(line))))
            except BadLine as problem:
                self._refuse(line, problem.reason)
            self._counts["read"] = self._counts.get("read", 0) + 1
            self._position, self._line = line.end, line.number
            if len(chunk) >= CHUNK:
                self._take_in(chunk, durable=False)
                chunk = []
                yield self._position, size
        self._take_in(chunk, durable=True)
        yield size, size

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

    def _count(self, line: Line, outcome: str, why: str) -> None:
        if outcome == "refused":
            self._refuse(line, why)
        else:
            self._counts[outcome] += 1

    def _admitted(self, chunk: list[tuple[Line, Version]]) -> list[tuple[Line, Version]]:
        """Those of a chunk that say something new, through the gate. What is known already needs no gate."""
        chunk, rows = self._met(chunk)
        known = {line.number for line, version in chunk if self._is_known(rows.get(version.memory.id), version)}
        pasts = self._pasts([version for line, version in chunk if line.number in known], rows)
        self._revived = set()
        fresh = []
        for line, version in chunk:
            local, past = rows.get(version.memory.id), pasts.get(version.memory.id, Past())
            if line.number in known and not past.taken_back:
                self._count_known(version, local, past)
                continue
            try:
                admitted = self._door.admit(version, self._operation.at)
            except Refused as refusal:
                self._refuse(line, refusal.reason)
                self._list(refusal)
                continue
            taken = admitted.version
            if line.number in known and local is not None:
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
        if local is None or local.raw:
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
        again = said_again(version, past.before, told, local, self._operation.at)
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
        facts |= {"resumed_at": self._resumed, "operation": self._operation.id}
        return Brought(**facts, refusals=refusals, hidden_by=tuple(self._hidden_by.items()))


class _Retractions(_Import):
    """The same for a file of retractions."""

    def _record(self, obj: dict[str, Any]) -> Any:
        from swarmlore.formats.retractions import retraction_from

        return retraction_from(obj)

    def _admitted(self, chunk: list[tuple[Line, Any]]) -> list[tuple[Line, Any]]:
        return chunk

    def _store_all(self, fresh: list[tuple[Line, Any]]) -> None:
        from swarmlore.sharing.retracting import retract

        for line, retraction in fresh:
            for outcome, why in retract(self._store, self._operation, retraction):
                self._count(line, outcome, why)


def export_lines(store: Store, caller: Caller, name: str, format: str) -> Iterator[bytes]:
    """Every shared memory of the project, or of the hive, as a line, in order; forgotten ones and raw material not."""
    if format not in EXPORTED:
        raise InvalidInput(f"unknown format: {format}", "one of: " + ", ".join((*EXPORTED, *NOTES)))
    door = TIERS[format]
    from swarmlore.rules.merge import published

    for memory in store.in_order(store.visible(caller, (door,))):
        if not memory.raw and memory.forgotten_at is None:
            yield to_line(published(memory, name, situations=True)) + b"\n"


def format_of(path: str, format: str) -> str:
    """Which format a file has, by its name where nothing was said."""
    if format not in IMPORTED:
        raise InvalidInput(f"unknown format: {format}", "one of: " + ", ".join((*IMPORTED, *NOTES)))
    if format != "auto":
        return format
    name = os.path.basename(path)
    if name.startswith("hive-knowledge"):
        return "legacy-hive"
    if name.startswith("knowledge-retractions"):
        return "retractions"
    return "shared" if name.startswith("shared-learnings") else "knowledge"


def _tells_retractions(file: BinaryIO) -> bool:
    """Whether the first record of a file is a retraction, whatever the file is called."""
    told = False
    for line in jsonl.lines(file):
        with suppress(BadLine):
            told = is_retraction(jsonl.parse(line))
            break
        if line.end > HEAD_BYTES:
            break
    file.seek(0)
    return told


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
    return blake2b(facts.encode("utf-8", "surrogateescape") + head, digest_size=16).hexdigest()


def _opened(path: str) -> BinaryIO:
    try:
        file = open(path, "rb", buffering=1 << 20)  # noqa: SIM115 - the caller closes it
    except FileNotFoundError:
        raise NotFound(f"no file {path}", "check the path") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a folder", "name a file in it") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no name of a file"
        raise InvalidInput(f"{path} cannot be read: {why}", "check the path and its permissions") from None
    if not file.seekable():
        file.close()
        raise InvalidInput(f"{path} is not a regular file", "save it to a file first")
    return file


def write_lines(
    path: str, parts: Callable[[], Iterator[bytes]], *, overwrite: bool = False, private: bool = False
) -> int:
    """Write a file whole or not at all, for its owner alone where it is `private`; returns the number of lines."""
    if os.path.lexists(path) and not (overwrite and os.path.isfile(path)):
        if os.path.isdir(path):
            raise InvalidInput(f"{path} is a folder", "name a file in it")
        hint = "name another file, or overwrite it: --yes" if os.path.isfile(path) else "name a file"
        raise InvalidInput(f"{path} is there already", hint)
    part = f"{path}.part-{os.urandom(4).hex()}"
    count = 0
    try:
        with open(part, "xb", buffering=1 << 20, opener=_private if private else None) as file:
            for line in parts():
                file.write(line)
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}", "name another file") from error
    finally:
        if os.path.exists(part):
            os.unlink(part)
    return count


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
