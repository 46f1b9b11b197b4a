"""SQLite through APSW: the default engine.

The store file is never opened with the standard `sqlite3` module: many Pythons ship an SQLite with the WAL-reset bug,
and two SQLite versions must not use one file.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import apsw

from swarmlore import errors
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store import files
from swarmlore.store.files import FairLock

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Caller
    from swarmlore.store.engine import Params, Row

WAL_LIMIT_BYTES = 16 * 1024 * 1024
LATE_LIMIT_BYTES = 256 * 1024 * 1024  # a busy server refills the WAL at once: truncating it took 30 ms each time
CACHE_KB = 32_000
ROOMY_KB = 128_000  # cache of an import, which looks up twenty keys a text all over the file
CHECKPOINT_PAGES = 12_000  # an import rewrites the same pages many times: checkpoint less often
LATE_PAGES = 10 * CHECKPOINT_PAGES  # while a background checkpointer does the work: only a fallback
BUSY_TIMEOUT_MS = 10_000
WATCH_S = 0.1  # poll interval for writes of other processes
LAST_CHANGE = (
    "SELECT max(change) FROM embedding UNION ALL SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_change'"
)
KEEP_META = (
    "INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_TEXT_INDEXES = ("words", "cue_words")
_SOUND = [("ok",)]
SAFE_SQLITE = (3, 51, 3)  # the first release without the WAL-reset bug


class SqliteEngine:
    """One connection to one file; writers of all processes queue at a fair lock."""

    name = "sqlite"
    remote = False
    undone = 0
    user = ""

    def __init__(
        self,
        path: str,
        *,
        readonly: bool = False,
        lock_timeout_s: float = 30.0,
        refused: errors.StoreError | None = None,
    ) -> None:
        """Open the file. `refused` is the error that writes raise; the file is then read as immutable."""
        self.path = path
        self.readonly = readonly or refused is not None
        self._refused = refused or errors.StoreReadOnly(
            f"{path} was opened for reading only", "check its permissions and those of its folder"
        )
        self._lock = FairLock(path + ".lock", lock_timeout_s)
        self._depth = 0
        self._grouped = False  # inside `grouping`: a transaction of several operations is open
        self._seen = (-1, -1)
        self._wal = False
        with _driver_errors(path):
            still = refused is not None or (readonly and files.is_still(path))
            self._db = _connect(path, readonly=self.readonly, still=still, wait_s=lock_timeout_s)
        self._file = files.identity(path)

    def hurried(self, seconds: float) -> AbstractContextManager[None]:
        return self._lock.patience.at_most(seconds)

    @contextmanager
    def roomy(self) -> Iterator[None]:
        self.run(f"PRAGMA cache_size = -{ROOMY_KB}")
        try:
            yield
        finally:
            self.run(f"PRAGMA cache_size = -{CACHE_KB}")

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        if ":list:" in sql:
            sql, params = _native_sql(sql), _with_lists(params or {})
        try:  # without the slower context manager: this runs dozens of times per memory
            return self._db.execute(sql, params).fetchall() if params else self._db.execute(sql).fetchall()
        except (apsw.Error, *_ODD_VALUES) as error:
            raise self._translated(error) from error

    def run_many(self, sql: str, rows: Iterable[Params]) -> None:
        try:
            for _ in self._db.executemany(sql, rows):
                pass
        except (apsw.Error, *_ODD_VALUES) as error:
            raise self._translated(error) from error

    def _translated(self, error: Exception) -> Exception:
        """Return our error for a driver error; after damage, closing no longer checkpoints into the file."""
        ours = translated(error, self.path)
        if isinstance(ours, errors.StoreCorrupt):
            self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # leave a damaged file and its WAL untouched
        return ours

    def note(self, sql: str, params: Params) -> None:
        self.run(sql, params)

    def script(self, sql: str) -> None:
        """Run several statements, fetching all rows, as APSW else stops before the next statement."""
        try:
            for _ in self._db.execute(sql):
                pass
        except (apsw.SQLError, apsw.ConstraintError) as error:
            raise errors.StoreError(
                f"{self.path} could not be changed: {error}",
                "use the former version of the program, and please report it",
            ) from error
        except apsw.Error as error:
            raise self._translated(error) from error

    @property
    def inside(self) -> bool:
        return self._db.in_transaction

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[None]:
        if self._depth:
            with self._nested():
                yield
            return
        if self.readonly:
            raise self._refused
        with (
            _driver_errors(self.path),
            self._savepoint() if self._grouped else self._write_transaction(durable),
            self._nested(),
        ):
            yield

    @contextmanager
    def _write_transaction(self, durable: bool) -> Iterator[None]:
        """Take the write lock and run one transaction; commit at the end, roll back on an error."""
        with self._lock:
            self._prepare()
            self._db.execute("PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self.undone += 1
                self._end_transaction("ROLLBACK")
                raise

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Run one operation of a group in a savepoint, so that it can fail alone."""
        if not self._db.in_transaction:  # SQLite rolled back the whole group: the disk is full or failed
            raise errors.StoreFull("the group of writes was given up; nothing was changed", "try again")
        self._db.execute("SAVEPOINT act")
        try:
            yield
            self._db.execute("RELEASE act")
        except BaseException:
            self.undone += 1
            if self._db.in_transaction:
                self._db.execute("ROLLBACK TO act")
                self._db.execute("RELEASE act")
            raise

    @contextmanager
    def grouping(self) -> Iterator[None]:
        if self._grouped or self._depth:
            raise AssertionError("groups of acts do not nest")
        if self.readonly:
            raise self._refused
        with _driver_errors(self.path), self._write_transaction(durable=True):
            self._grouped = True
            try:
                yield
            finally:
                self._grouped = False
            if not self._db.in_transaction:
                raise errors.StoreFull("the group of writes was given up; nothing was changed", "try again")

    @property
    def grouped(self) -> bool:
        return self._grouped

    @property
    def is_cut_off(self) -> bool:
        return False

    @property
    def intact(self) -> bool:
        return True  # a failed statement ends no transaction here, or the group raises

    def uniting(self) -> AbstractContextManager[None]:
        return nullcontext() if self._grouped else self.grouping()

    def prove(self, sql: str, params: Params) -> None:
        """Do nothing: a file's commit always returns its outcome."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        if self._db.in_transaction:
            yield
            return
        with _driver_errors(self.path):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                self._end_transaction("COMMIT")

    def _end_transaction(self, statement: str) -> None:
        """Run COMMIT or ROLLBACK, unless SQLite already ended the transaction because of an error."""
        if self._db.in_transaction:
            self._db.execute(statement)

    def _prepare(self) -> None:
        """Before a write, under the lock: check that the file was not replaced, and turn on WAL mode."""
        if files.identity(self.path) != self._file:
            raise errors.StoreError(
                f"{self.path} was replaced while this program had it open; nothing was changed", "run the command again"
            )
        if not self._wal:
            _turn_on_wal(self._db)
            self._wal = True

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def queueing(self, *, durable: bool = True) -> AbstractContextManager[None]:
        return self.writing(durable=durable)

    def watch(self) -> _Watch:
        return _Watch(self)

    def now(self) -> float:
        return time.time()

    def act_for(self, caller: Caller, projects: Sequence[str], *, wide: bool = False, works: str = "") -> None:
        """Do nothing: a file has no row-level security, so the statements themselves filter by partition."""

    def vector(self, data: bytes) -> bytes:
        return data

    def numbers(self, data: bytes) -> bytes:
        return data

    def vector_bytes(self, value: bytes) -> bytes:
        return value

    def number_bytes(self, value: bytes) -> bytes:
        return value

    def accept(self) -> None:
        self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)

    def leave_tidying(self) -> None:
        self.run(f"PRAGMA wal_autocheckpoint = {LATE_PAGES}")
        self.run(f"PRAGMA journal_size_limit = {LATE_LIMIT_BYTES}")

    def tidy(self) -> None:
        if self._checkpoint() < CHECKPOINT_PAGES:
            return
        for _ in range(2):  # the second pass has little left to copy
            files.flush(self.path)
            self._checkpoint()
        with self._lock:  # the WAL restarts only if nothing was written since the last copied page
            self._checkpoint()

    def _checkpoint(self) -> int:
        """Run a passive checkpoint; return the number of pages in the WAL."""
        _, pages, _ = self.run("PRAGMA wal_checkpoint(PASSIVE)")[0]
        return int(pages)

    def version(self) -> int:
        return int(self.run("PRAGMA user_version")[0][0])

    def set_version(self, version: int) -> None:
        self.run(f"PRAGMA user_version = {version:d}")

    def data_version(self) -> int:
        return int(self.run("PRAGMA data_version")[0][0])

    def changed(self) -> bool:
        seen = (self.data_version(), self._db.total_changes())
        changed, self._seen = seen != self._seen, seen
        return changed

    def scrub(self) -> None:
        """Make deleted text unrecoverable: merge the full-text segments, rewrite the file, empty the WAL."""
        with _driver_errors(self.path), self._lock:
            self._prepare()
            try:
                for table in _TEXT_INDEXES:
                    self.script(f"INSERT INTO {table}({table}) VALUES ('optimize')")
                self.script("VACUUM")
            except errors.StoreFull as error:
                raise errors.StoreFull(
                    "there is no room to rewrite the file, so what was erased may still be in it",
                    "free some space, then run: swarmlore reindex",
                ) from error
            self._empty_wal()

    def _empty_wal(self) -> None:
        """Checkpoint and truncate the WAL; wait while a reader still uses an older snapshot."""
        deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
        while self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]:
            if time.monotonic() > deadline:
                raise errors.StoreBusy(
                    "another process reads an older state, so what was erased is still in the log file",
                    "end the other process, then run: swarmlore reindex",
                )
            time.sleep(0.05)

    def damaged_indexes(self) -> list[str]:
        with _driver_errors(self.path):
            return [
                name
                for name in _TEXT_INDEXES
                if self._db.execute(f"PRAGMA integrity_check({name})").fetchall() != _SOUND
            ]

    def check(self) -> list[str]:
        found = [str(row[0]) for row in self.run("PRAGMA integrity_check(20)") if row[0] != "ok"]
        problems = [line for line in found if "fts5" not in line.lower()]
        return problems + [f"the full-text index {name} is damaged" for name in self.damaged_indexes()]

    def copy_to(self, path: str) -> None:
        with _driver_errors(path):
            files.create(path)
            # SQLite cannot back up from a connection in a write transaction; a second one copies the state before it.
            source = (
                _connect(self.path, readonly=True, still=False, wait_s=30.0) if self._db.in_transaction else self._db
            )
            target = apsw.Connection(path)
            try:
                with target.backup("main", source, "main") as backup:
                    backup.step(-1)  # all pages at once: a write between two steps would restart the backup
                target.execute("PRAGMA journal_mode = DELETE").fetchall()
            finally:
                target.close()
                if source is not self._db:
                    source.close()

    def load_from(self, path: str, keep: str = "") -> None:
        """Replace the whole content by that of another file, in one step that open connections survive. With `keep`,
        save the former content there first."""
        with _driver_errors(self.path), self._lock:
            if keep:
                self.copy_to(keep)
            numbers = self._last_numbers()
            source = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            try:
                with self._db.backup("main", source, "main") as backup:
                    backup.step(-1)
            finally:
                source.close()
            self._wal = False  # the copied file may use another journal mode
            self._continue_numbers(numbers)

    def _last_numbers(self) -> dict[str, int]:
        """Return the highest row number ever used per table, and under '' the highest vector change number."""
        if self.version() <= 0:
            return {}
        numbers = {str(name): int(seq) for name, seq in self.run("SELECT name, seq FROM sqlite_sequence")}
        return {**numbers, "": max(int(row[0] or 0) for row in self.run(LAST_CHANGE))}

    def _continue_numbers(self, numbers: Mapping[str, int]) -> None:
        """After a restore, continue row and change numbers from the former ones: other processes cache them, and a
        number must never mean another row."""
        with self.writing():
            for name, seq in numbers.items():
                last = {"name": name, "seq": seq}
                if not name:
                    self.run("UPDATE embedding SET change = change + :seq", {"seq": seq})
                    self.run("DELETE FROM meta WHERE name IN ('vector_file', 'vector_making')")
                    for named, value in (("vectors_gone", f"[{seq + 1}, []]"), ("last_change", str(seq + 1))):
                        self.run(KEEP_META, {"name": named, "value": value})
                elif self.run("SELECT 1 FROM sqlite_sequence WHERE name = :name", {"name": name}):
                    self.run("UPDATE sqlite_sequence SET seq = max(seq, :seq) WHERE name = :name", last)
                else:
                    self.run("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)", last)

    def facts(self) -> Mapping[str, Any]:
        return {
            "engine": self.name,
            "path": self.path,
            "sqlite": apsw.sqlite_lib_version(),
            "sqlite_safe": tuple(map(int, apsw.sqlite_lib_version().split("."))) >= SAFE_SQLITE,
            "bytes": os.path.getsize(self.path),
            "wal_bytes": files.wal_bytes(self.path),
            "mode": oct(os.stat(self.path).st_mode & 0o777),
        }

    def close(self) -> None:
        self._db.close()
        self._lock.close()


class _Watch:
    """Detect writes of other processes by polling the file's data version, which costs next to nothing."""

    def __init__(self, engine: SqliteEngine) -> None:
        self._engine = engine
        self._seen = engine.data_version()

    def wait(self, seconds: float) -> bool:
        deadline, before = time.monotonic() + seconds, self._seen
        while (seen := self._engine.data_version()) == before and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(WATCH_S, left))
        self._seen = seen
        return seen != before

    def close(self) -> None:
        """Do nothing: a watch holds no resources."""


@cache
def _native_sql(sql: str) -> str:
    """Rewrite the list parameters `(:list:name)` of a statement for SQLite."""
    return re.sub(r"\(:list:(\w+)\)", r"(SELECT value FROM json_each(:\1))", sql)


def _with_lists(params: Params) -> Params:
    """Encode list parameters as JSON, which json_each reads."""
    kinds = (list, tuple, set, frozenset)
    return {name: json.dumps(list(value)) if isinstance(value, kinds) else value for name, value in params.items()}


def _connect(path: str, *, readonly: bool, still: bool, wait_s: float) -> apsw.Connection:
    """Open a connection, creating the file unless it is read only; set it up and run a first read."""
    if not readonly and not os.path.exists(path):
        files.create(path)
    files.check_size(path)
    flags = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    db = apsw.Connection(files.address(path, still=still), flags=flags | apsw.SQLITE_OPEN_URI)
    try:
        _set_up(db, wait_s)
    except BaseException:
        db.close()
        raise
    return db


def _set_up(db: apsw.Connection, wait_s: float) -> None:
    """Set the connection's own options; nothing here writes to the file."""
    db.set_busy_timeout(min(BUSY_TIMEOUT_MS, int(1000 * wait_s)))  # never longer than the caller's own lock timeout
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # until accept(): closing a refused file leaves its WAL
    for pragma in (
        "PRAGMA foreign_keys = ON",
        "PRAGMA secure_delete = ON",
        f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}",
        f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}",
        f"PRAGMA cache_size = -{CACHE_KB}",
        "PRAGMA temp_store = MEMORY",
    ):
        db.execute(pragma).fetchall()
    db.execute("PRAGMA schema_version").fetchall()  # the first read: an unreadable file fails here


def _turn_on_wal(db: apsw.Connection) -> None:
    """Switch the journal to WAL. This needs exclusive access and does not wait by itself, so retry."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextmanager
def _driver_errors(path: str) -> Iterator[None]:
    """Context manager: turn the driver's errors into ours."""
    try:
        yield
    except apsw.Error as error:
        raise translated(error, path) from error


def translated(error: Exception, path: str) -> Exception:
    """Return our error, with a hint, for a driver error; return any other error unchanged."""
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)):
        return files.damaged(path)
    if isinstance(error, (*_ODD_VALUES, apsw.ConstraintError)):
        return _odd_value(error)
    for kinds, kind, message, hint in _MEANINGS:
        if isinstance(error, kinds):
            return kind(message.format(path=path), hint.format(path=path))
    return error


def _odd_value(error: Exception) -> errors.SwarmloreError:
    if getattr(error, "extendedresult", 0) in (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY):
        return errors.Conflict("that id is taken", "give another one, or none")
    return errors.InvalidInput(
        "a value was given that cannot be stored or looked for", "give Unicode text, and numbers of usual size"
    )


# A lone surrogate, a number beyond 64 bits, a list where a text belongs. A UnicodeDecodeError is damage in the file.
_ODD_VALUES = (UnicodeError, OverflowError, TypeError, apsw.MismatchError, apsw.TooBigError)
_MEANINGS: tuple[tuple[tuple[type[apsw.Error], ...], type[errors.StoreError], str, str], ...] = (
    (
        (apsw.BusyError, apsw.LockedError),
        errors.StoreBusy,
        "another process is using the store",
        "try again in a moment",
    ),
    (
        (apsw.FullError,),
        errors.StoreFull,
        "no space left for {path}; nothing was changed",
        "free some space, then run the command again",
    ),
    (
        (apsw.ReadOnlyError,),
        errors.StoreReadOnly,
        "{path} cannot be written",
        "check its permissions: ls -l {path}; reading still works",
    ),
    (
        (apsw.CantOpenError,),
        errors.StoreError,
        "{path} cannot be opened",
        "check that its folder exists and that you may use it",
    ),
    (
        (apsw.IOError,),
        errors.StoreFull,
        "the disk failed while writing {path}; nothing was changed",
        "check the disk and its free space",
    ),
)
