"""SQLite through APSW: the default engine.

Nothing of ours opens the file with the standard module: many Pythons ship an SQLite with the WAL-reset bug, and two
SQLite versions on one file are not allowed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import apsw

from swarmlore import errors
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store.lock import FairLock

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Params, Row

WAL_LIMIT_BYTES = 16 * 1024 * 1024
BUSY_TIMEOUT_MS = 10_000
SAFE_SQLITE = (3, 51, 3)  # the first release without the WAL-reset bug


class SqliteEngine:
    """One connection to one file; writers of all processes queue at a fair lock."""

    name = "sqlite"

    def __init__(self, path: str, *, readonly: bool = False, lock_timeout_s: float = 30.0) -> None:
        self.path = path
        self.readonly = readonly
        self._lock = FairLock(path + ".lock", lock_timeout_s)
        self._depth = 0
        self._seen = -1
        with _ours(path):
            self._db = _connect(path, readonly)

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        try:  # not the context manager below: this runs dozens of times for one memory
            return self._db.execute(sql, params).fetchall() if params else self._db.execute(sql).fetchall()
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def run_many(self, sql: str, rows: Iterable[Params]) -> None:
        with _ours(self.path):
            for _ in self._db.executemany(sql, rows):
                pass

    def script(self, sql: str) -> None:
        """Drain every statement: APSW runs the next one only when the rows of the last were taken."""
        with _ours(self.path):
            for _ in self._db.execute(sql):
                pass

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[None]:
        if self._depth:
            with self._joined():
                yield
            return
        if self.readonly:
            raise errors.StoreReadOnly(f"{self.path} was opened for reading only", "check the file's permissions")
        with _ours(self.path), self._lock:
            self._db.execute("PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                with self._joined():
                    yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

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
                self._db.execute("COMMIT")

    @contextmanager
    def _joined(self) -> Iterator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def version(self) -> int:
        return int(self.run("PRAGMA user_version")[0][0])

    def set_version(self, version: int) -> None:
        self.run(f"PRAGMA user_version = {version:d}")

    def changed_elsewhere(self) -> bool:
        seen = int(self.run("PRAGMA data_version")[0][0])
        changed, self._seen = seen != self._seen, seen
        return changed

    def scrub(self) -> None:
        """Merge the full-text segments (deleted words live on in old ones), rewrite the file, empty the WAL."""
        with _ours(self.path), self._lock:
            for table in ("words", "cue_words"):
                self.script(f"INSERT INTO {table}({table}) VALUES ('optimize')")
            self.script("VACUUM")
            self.script("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> list[str]:
        problems = [row[0] for row in self.run("PRAGMA integrity_check(20)") if row[0] != "ok"]
        for table in ("words", "cue_words"):
            try:
                self._db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 0)").fetchall()
            except apsw.CorruptError:
                problems.append(f"the full-text index {table} is damaged")
            except (apsw.ReadOnlyError, apsw.BusyError):
                continue  # the check is written as an insert; a file that cannot be written skips it
        return problems

    def copy_to(self, path: str) -> None:
        with _ours(path):
            target = apsw.Connection(path)
            try:
                with target.backup("main", self._db, "main") as backup:
                    while not backup.done:
                        backup.step(1000)
                target.execute("PRAGMA journal_mode = DELETE").fetchall()
            finally:
                target.close()

    def load_from(self, path: str) -> None:
        """Replace everything by the content of another file, in one step that open connections survive."""
        with _ours(self.path), self._lock:
            source = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            try:
                with self._db.backup("main", source, "main") as backup:
                    backup.step(-1)
            finally:
                source.close()
            _turn_on_wal(self._db)

    def facts(self) -> Mapping[str, Any]:
        wal = self.path + "-wal"
        return {
            "engine": self.name,
            "path": self.path,
            "sqlite": apsw.sqlite_lib_version(),
            "sqlite_safe": tuple(map(int, apsw.sqlite_lib_version().split("."))) >= SAFE_SQLITE,
            "bytes": os.path.getsize(self.path),
            "wal_bytes": os.path.getsize(wal) if os.path.exists(wal) else 0,
            "mode": oct(os.stat(self.path).st_mode & 0o777),
        }

    def close(self) -> None:
        self._db.close()
        self._lock.close()


def _connect(path: str, readonly: bool) -> apsw.Connection:
    new = not os.path.exists(path)
    if new and not readonly:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    flags = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    db = apsw.Connection(path, flags=flags)
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    mode = str(db.execute("PRAGMA journal_mode").fetchall()[0][0])
    if mode != "wal" and not readonly:
        _turn_on_wal(db)
    for pragma in (
        "PRAGMA foreign_keys = ON",
        "PRAGMA secure_delete = ON",
        f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}",
        "PRAGMA cache_size = -32000",
        "PRAGMA temp_store = MEMORY",
    ):
        db.execute(pragma).fetchall()
    return db


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


def translated(error: apsw.Error, path: str) -> Exception:
    """What went wrong in our words, with what to do next; a mistake of ours stays as it is."""
    for kinds, kind, message, hint in _MEANINGS:
        if isinstance(error, kinds):
            return kind(message.format(path=path), hint.format(path=path))
    return error


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
        (apsw.CorruptError, apsw.NotADBError),
        errors.StoreCorrupt,
        "{path} is damaged; it was left as it is",
        "keep the file, then restore a copy: swarmlore restore-backup FILE (swarmlore doctor lists the backups)",
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
