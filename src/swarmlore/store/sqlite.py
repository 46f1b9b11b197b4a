"""SQLite through APSW: the default engine.

Nothing of ours opens the file with the standard module: many Pythons ship an SQLite with the WAL-reset bug, and two
SQLite versions on one file are not allowed.
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
LATE_LIMIT_BYTES = 256 * 1024 * 1024  # a busy server fills a long journal again at once: cutting it took 30 ms a time
CACHE_KB = 32_000
ROOMY_KB = 128_000  # of an import, which looks up twenty keys a text all over the file
CHECKPOINT_PAGES = 12_000  # an import writes the same pages again and again: copy them less often
LATE_PAGES = 10 * CHECKPOINT_PAGES  # for a writer beside which somebody else copies them
BUSY_TIMEOUT_MS = 10_000
WATCH_S = 0.1  # between two looks at the number that changes when another process has written
LAST_CHANGE = (
    "SELECT max(change) FROM embedding UNION ALL SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_change'"
)
KEEP_META = (
    "INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_WORDS = ("words", "cue_words")  # the full-text indexes
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
        """`refused` says why nothing can be written; the file is then read as one that stands still."""
        self.path = path
        self.readonly = readonly or refused is not None
        self._refused = refused or errors.StoreReadOnly(
            f"{path} was opened for reading only", "check its permissions and those of its folder"
        )
        self._lock = FairLock(path + ".lock", lock_timeout_s)
        self._depth = 0
        self._grouped = False  # a transaction is open that holds several acts
        self._seen = (-1, -1)
        self._wal = False
        with _ours(path):
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
            sql, params = _spelled(sql), _with_lists(params or {})
        try:  # not the context manager below: this runs dozens of times for one memory
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
        ours = translated(error, self.path)
        if isinstance(ours, errors.StoreCorrupt):
            self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # a damaged file is left as it is, WAL and all
        return ours

    def note(self, sql: str, params: Params) -> None:
        self.run(sql, params)

    def script(self, sql: str) -> None:
        """Drain every statement: APSW runs the next one only when the rows of the last were taken."""
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
            with self._joined():
                yield
            return
        if self.readonly:
            raise self._refused
        with _ours(self.path), self._part() if self._grouped else self._whole(durable), self._joined():
            yield

    @contextmanager
    def _whole(self, durable: bool) -> Iterator[None]:
        """A transaction: committed when it ends."""
        with self._lock:
            self._prepare()
            self._db.execute("PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self.undone += 1
                self._finish("ROLLBACK")
                raise

    @contextmanager
    def _part(self) -> Iterator[None]:
        """One act of a group: undone alone where it fails."""
        if not self._db.in_transaction:  # SQLite gave the whole group up: a full disk, a broken one
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
        with _ours(self.path), self._whole(durable=True):
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
        return True  # what fails here ends no transaction, or the group says so itself

    def uniting(self) -> AbstractContextManager[None]:
        return nullcontext() if self._grouped else self.grouping()

    def prove(self, sql: str, params: Params) -> None:
        """Nothing to prove: what is committed to a file is told at once."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        if self._db.in_transaction:
            yield
            return
        with _ours(self.path):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                self._finish("COMMIT")

    def _finish(self, word: str) -> None:
        """End the transaction, where SQLite has not ended it already because of an error."""
        if self._db.in_transaction:
            self._db.execute(word)

    def _prepare(self) -> None:
        """Before a write, under the lock: still the same file, and its journal a WAL. Reading alone changes neither."""
        if files.identity(self.path) != self._file:
            raise errors.StoreError(
                f"{self.path} was replaced while this program had it open; nothing was changed", "run the command again"
            )
        if not self._wal:
            _turn_on_wal(self._db)
            self._wal = True

    @contextmanager
    def _joined(self) -> Iterator[None]:
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
        """Whoever can open the file can read it: sight is a matter of the statements here."""

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
        if self._copy_journal() < CHECKPOINT_PAGES:
            return
        for _ in range(2):  # nearly all of it is on disk then, and little was written meanwhile
            files.flush(self.path)
            self._copy_journal()
        with self._lock:  # a log begins anew only where nobody has written since the last copied page
            self._copy_journal()

    def _copy_journal(self) -> int:
        """Copy what no reader needs any more as it was; returns how many pages the journal has."""
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
        """Merge the full-text segments (deleted words live on in old ones), rewrite the file, empty the WAL."""
        with _ours(self.path), self._lock:
            self._prepare()
            try:
                for table in _WORDS:
                    self.script(f"INSERT INTO {table}({table}) VALUES ('optimize')")
                self.script("VACUUM")
            except errors.StoreFull as error:
                raise errors.StoreFull(
                    "there is no room to rewrite the file, so what was erased may still be in it",
                    "free some space, then run: swarmlore reindex",
                ) from error
            self._empty_wal()

    def _empty_wal(self) -> None:
        """Copy the log into the file and cut it; a reader of an older state keeps that from happening for a while."""
        deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
        while self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]:
            if time.monotonic() > deadline:
                raise errors.StoreBusy(
                    "another process reads an older state, so what was erased is still in the log file",
                    "end the other process, then run: swarmlore reindex",
                )
            time.sleep(0.05)

    def damaged_indexes(self) -> list[str]:
        with _ours(self.path):
            return [name for name in _WORDS if self._db.execute(f"PRAGMA integrity_check({name})").fetchall() != _SOUND]

    def check(self) -> list[str]:
        found = [str(row[0]) for row in self.run("PRAGMA integrity_check(20)") if row[0] != "ok"]
        problems = [line for line in found if "fts5" not in line.lower()]
        return problems + [f"the full-text index {name} is damaged" for name in self.damaged_indexes()]

    def copy_to(self, path: str) -> None:
        with _ours(path):
            files.create(path)
            # SQLite does not copy from a connection that writes; another one sees what was there before.
            source = (
                _connect(self.path, readonly=True, still=False, wait_s=30.0) if self._db.in_transaction else self._db
            )
            target = apsw.Connection(path)
            try:
                with target.backup("main", source, "main") as backup:
                    backup.step(-1)  # in one go: between two steps a writer could make it begin anew
                target.execute("PRAGMA journal_mode = DELETE").fetchall()
            finally:
                target.close()
                if source is not self._db:
                    source.close()

    def load_from(self, path: str, keep: str = "") -> None:
        """Replace everything by the content of another file, in one step that open connections survive; a copy of
        what was there is kept where that is asked."""
        with _ours(self.path), self._lock:
            if keep:
                self.copy_to(keep)
            numbers = self._numbers()
            source = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            try:
                with self._db.backup("main", source, "main") as backup:
                    backup.step(-1)
            finally:
                source.close()
            self._wal = False  # the copy may have brought another journal
            self._go_on_from(numbers)

    def _numbers(self) -> dict[str, int]:
        """The last number of each table that gives none out twice, and under '' the last change of a vector."""
        if self.version() <= 0:
            return {}
        numbers = {str(name): int(seq) for name, seq in self.run("SELECT name, seq FROM sqlite_sequence")}
        return {**numbers, "": max(int(row[0] or 0) for row in self.run(LAST_CHANGE))}

    def _go_on_from(self, numbers: Mapping[str, int]) -> None:
        """Other processes keep row numbers in mind: after a restore none of them may come to mean another row."""
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
    """A file tells nobody; but looking at its version costs next to nothing."""

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
        """Nothing is held."""


@cache
def _spelled(sql: str) -> str:
    """A statement with lists as SQLite reads it."""
    return re.sub(r"\(:list:(\w+)\)", r"(SELECT value FROM json_each(:\1))", sql)


def _with_lists(params: Params) -> Params:
    """Each list as the one parameter that json_each reads."""
    kinds = (list, tuple, set, frozenset)
    return {name: json.dumps(list(value)) if isinstance(value, kinds) else value for name, value in params.items()}


def _connect(path: str, *, readonly: bool, still: bool, wait_s: float) -> apsw.Connection:
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
    """What holds for this connection only; nothing here writes to the file."""
    db.set_busy_timeout(min(BUSY_TIMEOUT_MS, int(1000 * wait_s)))  # whoever cannot wait for us cannot wait for SQLite
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # until accept(): a file that is refused keeps its WAL
    for pragma in (
        "PRAGMA foreign_keys = ON",
        "PRAGMA secure_delete = ON",
        f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}",
        f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}",
        f"PRAGMA cache_size = -{CACHE_KB}",
        "PRAGMA temp_store = MEMORY",
    ):
        db.execute(pragma).fetchall()
    db.execute("PRAGMA schema_version").fetchall()  # the first read: whatever keeps us from reading shows here


def _turn_on_wal(db: apsw.Connection) -> None:
    """Changing the journal needs the file alone and does not wait by itself; several processes may try at once."""
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
def _ours(path: str) -> Iterator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except apsw.Error as error:
        raise translated(error, path) from error


def translated(error: Exception, path: str) -> Exception:
    """What went wrong in our words, with what to do next; a mistake of ours stays as it is."""
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
