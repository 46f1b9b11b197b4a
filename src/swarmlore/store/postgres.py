"""PostgreSQL through psycopg: the engine of a team's store.

The program works as the role `swarmlore_app`, which owns nothing and cannot bypass row-level security; the caller is
set for each transaction. Writers queue at one advisory lock, first come, first served, so a check in a write
transaction (is this lesson a duplicate?) still holds when it commits.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial

import psycopg
import psycopg.conninfo
from psycopg import errors as pg

from swarmlore import errors
from swarmlore.domain.language.display import is_ambiguous, user_of, without_password
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.files import Patience
from swarmlore.store.postgres_connection import (
    BEGIN,
    COUNT_WRITE,
    NOBODY,
    ROLE_FACTS,
    SCRUBBED,
    SERVER_FACTS,
    SET_VISIBILITY,
    SET_WAITS,
    TAKE_TURN,
    TAKE_TURN_FOR,
    UNPROTECTED,
    WRITES,
    Pool,
    Visibility,
    spelled,
    visibility_params,
    with_lists,
)

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from swarmlore.domain.records import Caller
    from swarmlore.store.engine import Params, Row

    T = TypeVar("T")

ROLE = "swarmlore_app"


def check_address(url: str) -> None:
    """Raise ConfigError for an unreadable address, without quoting it: any part may belong to the password."""
    hint = "write @ : / # % of a password as %40 %3A %2F %23 %25"
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise errors.ConfigError("the address of the store cannot be read", hint) from None
    if is_ambiguous(url):
        raise errors.ConfigError("it is not clear where the password in the address of the store ends", hint)


_REASONS = {
    "password authentication failed": "the password was not accepted",
    "no password supplied": "it asks for a password",
    "does not exist": "there is no such database or role",
    "could not translate host name": "the host is not known",
    "refused": "nothing answers there",
    "No such file": "nothing answers there",
    "timeout": "it did not answer in time",
}


def why_unreachable(message: str) -> str:
    """Return the reason of a failed connection in our words; the driver's own message may repeat the password."""
    return next((f": {why}" for words, why in _REASONS.items() if words in message), "")


def may_come_back(error: psycopg.OperationalError) -> bool:
    """Return whether the server seems to be starting up or shutting down; the driver reports this only as text."""
    message = str(error)
    return any(words in message for words in ("starting up", "shutting down", "recovery", "refused", "No such file"))


LOST = ("the connection to the database broke; nothing was changed", "try again in a moment")


def translated(error: Exception, path: str) -> Exception:
    """Return our error, with a hint, for a driver error; return any other error unchanged."""
    if isinstance(error, pg.UniqueViolation):
        return errors.Conflict("that id is taken", "give another one, or none")
    if isinstance(error, (pg.InsufficientPrivilege, pg.UndefinedTable, pg.InvalidSchemaName)):
        why = (error.diag.message_primary or "not permitted").strip()
        return errors.StoreError(f"{path}: {why}", f"ask its administrator: GRANT {ROLE} TO your role")
    for kinds, kind, message, hint in _MEANINGS:
        if isinstance(error, kinds):
            return kind(message.format(path=path), hint)
    return error


# A lone surrogate, a NUL, a number beyond 64 bits.
_ODD_VALUES: tuple[type[Exception], ...] = (UnicodeError, OverflowError, psycopg.DataError)
_MEANINGS: tuple[tuple[tuple[type[Exception], ...], type[errors.SwarmloreError], str, str], ...] = (
    (
        (*_ODD_VALUES, pg.IntegrityError),
        errors.InvalidInput,
        "a value was given that cannot be stored or looked for",
        "give Unicode text, and numbers of usual size",
    ),
    (
        (pg.LockNotAvailable, pg.TooManyConnections, pg.DeadlockDetected, pg.SerializationFailure),
        errors.StoreBusy,
        "others are using the store",
        "try again in a moment",
    ),
    ((pg.DiskFull,), errors.StoreFull, "no space left for {path}; nothing was changed", "free some space there"),
    ((pg.ReadOnlySqlTransaction,), errors.StoreReadOnly, "{path} cannot be written", "connect to the primary server"),
    (
        (pg.ProgramLimitExceeded,),
        errors.InvalidInput,
        "a value is too long for an index of the database",
        "give a shorter key, entity or name",
    ),
    ((pg.QueryCanceled,), errors.StoreBusy, "the database took too long and gave it up", "try again in a moment"),
    (
        (pg.InFailedSqlTransaction,),
        errors.StoreLost,
        "the transaction was given up before; nothing was changed",
        "try again in a moment",
    ),
    ((psycopg.OperationalError,), errors.StoreLost, *LOST),
)

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # our own errors report what it warns about
SCHEMA = "swarmlore"
POOL_SIZE = 8
CONNECT_S = 10.0
PATIENCE_S = 3.0
LOCK_S = 30.0
IDLE_S = 20  # a writer whose connection is dead must not block the others
WRITERS = 0x5357524D  # the advisory lock at which writers queue
READ_TRIES = 3
# A dead connection is detected after some 35 s of silence, or 20 s after data was sent and not acknowledged.
KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
CLOCK_S = 30.0  # how long the server's time is cached
CHANNEL = "swarmlore_job"  # NOTIFY channel for new jobs
OUTCOME_S = 30.0  # how long to ask for the outcome of a commit whose answer was lost


@frozen
class Proof:
    """A query that finds a row only the open transaction wrote, and the visibility it needs."""

    sql: str
    params: Params
    visibility: Visibility


class _Turn:
    """The transaction state of one thread: its connection, and the caller the transaction was begun for."""

    def __init__(self) -> None:
        self.db: psycopg.Connection[Any] | None = None
        self.cursor: psycopg.Cursor[Any] | None = None
        self.held: list[tuple[str, Params]] = []  # statements whose rows are not needed: sent with the next one
        self.depth = 0
        self.united = False  # whether a group is open: each operation is a savepoint
        self.proof: Proof | None = None
        self.applied = NOBODY  # the visibility set in the open transaction
        self.noticed = False  # whether the write counter was read in this transaction
        self.seen = -1


class PostgresEngine:
    """The engine of a team's store: pooled connections to one PostgreSQL database."""

    name = "postgres"
    remote = True
    undone = 0
    readonly = False

    def __init__(self, url: str, *, owner: bool = False, lock_timeout_s: float = LOCK_S) -> None:
        """Connect. `owner` works as the role that logged in, for migrations and whole-store copies."""
        check_address(url)
        self.path = without_password(url)
        self.user = user_of(url)
        self._owner = owner
        self._patience = Patience(lock_timeout_s)
        self._local = threading.local()
        self._visibility: ContextVar[Visibility] = ContextVar("visibility", default=NOBODY)
        self._url = url
        self._clock: tuple[float, float] | None = None
        self._seen_writes = -1  # the server's write counter when we last read it
        self._others_wrote = 0  # how often the counter had changed through others
        self._pool = Pool(self._connect, POOL_SIZE)
        self._reach()

    def _reach(self) -> None:
        """Connect once, so that a wrong address fails here; wait for a server that is restarting."""
        deadline = time.monotonic() + min(PATIENCE_S, self._patience.seconds)
        while True:
            try:
                with self._pool.connection():
                    return
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline or not may_come_back(error):
                    hint = "check the address, the password and that the server runs"
                    why = why_unreachable(str(error))
                    raise errors.StoreError(f"{self.path} cannot be reached{why}", hint) from error
            time.sleep(0.2)

    def _connect(self) -> psycopg.Connection[Any]:
        """Open a connection with our search path that works as the role without ownership, unless we are the owner."""
        db = psycopg.connect(
            self._url, autocommit=True, connect_timeout=int(CONNECT_S), application_name="swarmlore", **KEEPALIVE
        )
        try:
            db.execute(f"SET search_path = {SCHEMA}, public")
            if not self._owner and _may_become_app(db):
                db.execute(f"SET ROLE {ROLE}")
        except BaseException:
            db.close()
            raise
        return db

    @property
    def _turn(self) -> _Turn:
        found: _Turn | None = getattr(self._local, "turn", None)
        if found is None:
            found = self._local.turn = _Turn()
        return found

    @property
    def inside(self) -> bool:
        return self._turn.db is not None

    def hurried(self, seconds: float) -> AbstractContextManager[None]:
        return self._patience.at_most(seconds)

    def roomy(self) -> AbstractContextManager[None]:
        return nullcontext()  # the server has its own memory

    # Statements

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        if self._turn.db is not None:
            with self._driver_errors():
                self._hold_visibility()
                return self._execute_now(self._turn.db, spelled(sql), with_lists(params or {}))
        return self._retry_read(lambda: self._read(sql, params))

    def _read(self, sql: str, params: Params | None) -> list[Row]:
        """Run one statement in its own transaction, pipelined: each answer waited for costs a network round trip."""
        with self._driver_errors(), self._pool.connection() as db:
            try:
                with _pipelined(db):
                    db.execute(BEGIN)
                    if not self._owner:
                        db.execute(SET_VISIBILITY, visibility_params(self._visibility.get()))
                    cursor = db.execute(spelled(sql), with_lists(params or {}))
                    db.execute("COMMIT")
                return _rows(cursor)
            except BaseException:
                _roll_back(db)
                raise

    def _retry_read(self, work: Callable[[], T]) -> T:
        """Run a read; on a lost connection drop the pooled connections and retry. Reading twice does no harm."""
        for left in range(READ_TRIES - 1, -1, -1):
            try:
                return work()
            except errors.StoreLost:
                self._pool.forget()
                if not left:
                    raise
                time.sleep(0.1)
        raise AssertionError  # the loop returns or raises

    def _execute_now(self, db: psycopg.Connection[Any], sql: str, params: Params | None = None) -> list[Row]:
        """Run a statement together with the delayed ones, and return its rows."""
        turn = self._turn
        turn.cursor = turn.cursor or db.cursor()
        if not turn.held:
            return _rows(turn.cursor.execute(sql, params))
        with _pipelined(db):
            self._send_held(db)
            turn.cursor.execute(sql, params)
        return _rows(turn.cursor)

    def _send_held(self, db: psycopg.Connection[Any]) -> None:
        """Send the delayed statements."""
        held, self._turn.held = self._turn.held, []
        for sql, params in held:
            db.execute(sql, params)

    def note(self, sql: str, params: Params) -> None:
        if self._turn.db is None:
            self.run(sql, params)
        else:
            self._hold_visibility()
            self._turn.held.append((spelled(sql), with_lists(params)))

    def run_many(self, sql: str, rows: Iterable[Params]) -> None:
        db = self._turn.db
        if db is None:
            with self.writing():
                self.run_many(sql, rows)
            return
        with self._driver_errors():
            self._hold_visibility()
            with _pipelined(db):
                self._send_held(db)
                db.cursor().executemany(spelled(sql), list(rows))

    def script(self, sql: str) -> None:
        with self._driver_errors():
            if self._turn.db is not None:
                self._turn.db.execute(sql.encode(), prepare=False)
                return
            with self._pool.connection() as db:
                db.execute(sql.encode(), prepare=False)

    # Transactions

    def act_for(self, caller: Caller, projects: Sequence[str], *, wide: bool = False, works: str = "") -> None:
        named = tuple(projects) if caller.project else ()
        self._visibility.set(Visibility(caller.agent, named, caller.leads, wide, works))

    def _hold_visibility(self) -> None:
        """Delay a statement that applies the caller's visibility, if the open transaction has another."""
        if settings := self._visibility_to_apply():
            self._turn.held.append((SET_VISIBILITY, settings))

    def _visibility_to_apply(self) -> dict[str, str]:
        """Return the settings for the current caller's visibility; empty if the open transaction already has them."""
        turn, visibility = self._turn, self._visibility.get()
        if turn.applied == visibility or self._owner:
            return {}
        turn.applied = visibility
        return visibility_params(visibility)

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[None]:
        turn = self._turn
        if turn.db is not None and (turn.depth or turn.united):
            with self._savepoint(turn.db), self._nested():
                yield
            return
        if turn.db is not None:
            raise errors.StoreError("a write cannot begin inside a read", "end the read first")
        begin = partial(self._begin_writing, durable=durable)
        with self._transaction(begin=begin, commit=self._commit_write), self._nested():
            yield

    @contextmanager
    def grouping(self) -> Iterator[None]:
        """Run several operations in one transaction: no round trips in between and no waiting for other writers."""
        with self.writing():
            turn = self._turn
            turn.united, turn.depth = True, turn.depth - 1  # the next write begins an operation of its own
            try:
                yield
            finally:
                turn.united, turn.depth = False, turn.depth + 1

    def uniting(self) -> AbstractContextManager[None]:
        return nullcontext() if self._turn.united else self.grouping()

    @property
    def grouped(self) -> bool:
        return self._turn.united

    @property
    def is_cut_off(self) -> bool:
        db = self._turn.db
        return db is None or db.closed or db.broken

    @property
    def intact(self) -> bool:
        db = self._turn.db
        return db is None or db.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS

    @contextmanager
    def _savepoint(self, db: psycopg.Connection[Any]) -> Iterator[None]:
        """Run one operation of a group in a savepoint, so that it can be rolled back alone; nested writes join it."""
        turn = self._turn
        if turn.depth:
            yield
            return
        with self._driver_errors():
            applied, proof = turn.applied, turn.proof
            turn.held.append(("SAVEPOINT act", {}))
            try:
                yield
                self._execute_now(db, "RELEASE act")
            except BaseException:
                turn.applied, turn.proof = applied, proof  # the rollback restores the former visibility as well
                if not (db.closed or db.broken):
                    self._undo(db)
                raise

    def _undo(self, db: psycopg.Connection[Any]) -> None:
        """Roll back to the savepoint, which may not even have been sent yet."""
        with suppress(psycopg.Error), _pipelined(db):
            self._send_held(db)
        db.execute("ROLLBACK TO act; RELEASE act")

    def prove(self, sql: str, params: Params) -> None:
        self._turn.proof = None if self._owner else Proof(sql, params, self._visibility.get())

    def _begin_writing(self, db: psycopg.Connection[Any], durable: bool) -> psycopg.Cursor[Any] | None:
        """Take the writers' lock, and read the write counter, which no other writer changes until we are done."""
        settings = self._visibility_to_apply()
        db.execute(TAKE_TURN_FOR if settings else TAKE_TURN, {**settings, **self._waits(durable), "writers": WRITERS})
        return None if self._owner else db.execute(WRITES)

    def _begin_queueing(self, db: psycopg.Connection[Any], durable: bool) -> None:
        """Set visibility and timeouts, without the writers' lock."""
        self._hold_visibility()
        db.execute(SET_WAITS, self._waits(durable))

    def _waits(self, durable: bool) -> dict[str, str]:
        """Return the transaction's settings for lock timeout, idle timeout and waiting for the disk."""
        patience = f"{max(1, int(self._patience.seconds * 1000))}ms"
        return {"lock": patience, "sync": "on" if durable else "off", "idle": f"{IDLE_S}s"}

    @contextmanager
    def queueing(self, *, durable: bool = True) -> Iterator[None]:
        """Run a transaction without the writers' lock: jobs are claimed one by one under row locks."""
        turn = self._turn
        if turn.db is not None and (turn.depth or turn.united):
            with self._savepoint(turn.db), self._nested():
                yield
            return
        begin = partial(self._begin_queueing, durable=durable)
        with self._transaction(begin=begin, commit=self._commit), self._nested():
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        if self._turn.db is not None:
            yield
            return
        with self._transaction(isolation="REPEATABLE READ"):
            yield

    @contextmanager
    def _nested(self) -> Iterator[None]:
        turn = self._turn
        turn.depth += 1
        try:
            yield
        finally:
            turn.depth -= 1

    @contextmanager
    def _transaction(
        self,
        isolation: str = "READ COMMITTED",
        begin: Callable[[psycopg.Connection[Any]], psycopg.Cursor[Any] | None] | None = None,
        commit: Callable[[psycopg.Connection[Any]], None] | None = None,
    ) -> Iterator[None]:
        """Run one transaction on a pooled connection; `begin` sets it up and `commit` ends it."""
        turn = self._turn
        with self._driver_errors(), self._pool.connection() as db:
            turn.db, turn.applied, turn.proof, turn.held = db, NOBODY, None, []
            try:
                with _pipelined(db):
                    db.execute(f"BEGIN ISOLATION LEVEL {isolation}")
                    writes = begin(db) if begin else None
                if writes is not None:
                    self._take_count(writes)
                yield
                (commit or self._commit_read)(db)
            except BaseException:
                self.undone += 1
                _roll_back(db)
                raise
            finally:
                turn.db, turn.cursor, turn.depth, turn.united, turn.noticed = None, None, 0, False, False

    def _commit_write(self, db: psycopg.Connection[Any]) -> None:
        """Commit, and increase the write counter."""
        if self._owner:
            self._commit(db)
            return
        writes, number = self._execute_now(db, COUNT_WRITE)[0]
        self._commit_as(db, number)
        self._seen_writes = writes

    def _commit(self, db: psycopg.Connection[Any]) -> None:
        """Commit; the transaction's number tells its outcome if the answer is lost."""
        self._commit_as(db, self._execute_now(db, "SELECT pg_current_xact_id_if_assigned()::TEXT")[0][0])

    def _commit_read(self, db: psycopg.Connection[Any]) -> None:
        self._execute_now(db, "COMMIT")

    def _commit_as(self, db: psycopg.Connection[Any], number: str | None) -> None:
        """Commit. If the answer is lost, ask the server for the outcome, so that the operation is not repeated."""
        try:
            db.execute("COMMIT")
        except psycopg.OperationalError as error:
            self._pool.forget()
            if number is None or not self._was_committed(number, self._turn.proof):
                raise errors.StoreLost(*LOST) from error

    def _was_committed(self, number: str, proof: Proof | None = None) -> bool:
        """Return whether a transaction was committed; wait while it is still running. A server that crashed before it
        saved the number may reuse it, so the written row itself is the proof."""
        deadline = time.monotonic() + OUTCOME_S
        while time.monotonic() < deadline:
            try:
                with self._pool.connection() as db:
                    row = db.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone()
                    if row is not None and row[0] == "committed" and proof is not None:
                        return _is_found(db, proof)
            except psycopg.OperationalError:
                row = None
            except psycopg.DataError:  # "in the future": the server crashed before it saved that number
                return False
            if row is not None and row[0] != "in progress":
                return bool(row[0] == "committed")
            time.sleep(0.1)
        raise errors.StoreError(
            "the connection broke while saving, and the database does not answer",
            "when it is back, see whether the memory is there: swarmlore list",
        )

    # Facts

    def watch(self) -> _Watch:
        with self._driver_errors():
            return _Watch(self._connect)

    def now(self) -> float:
        """Return the server's time, advanced by our clock, so that leases mean the same on all machines."""
        elapsed = time.monotonic()
        if self._clock is None or elapsed - self._clock[0] > CLOCK_S:
            server_time = float(self.run("SELECT extract(epoch FROM clock_timestamp())::FLOAT8")[0][0])
            self._clock = (time.monotonic(), server_time)
        return self._clock[1] + time.monotonic() - self._clock[0]

    def accept(self) -> None:
        """Do nothing: the server manages its own files."""

    def leave_tidying(self) -> None:
        """Do nothing: the server checkpoints by itself."""

    def tidy(self) -> None:
        """Do nothing: the server checkpoints by itself."""

    def version(self) -> int:
        if not self.run("SELECT to_regclass(:name)", {"name": f"{SCHEMA}.migration"})[0][0]:
            return 0
        return int(self.run("SELECT coalesce(max(version), 0) FROM migration")[0][0])

    def set_version(self, version: int) -> None:
        """Do nothing: the newest row of `migration` holds the version."""

    def data_version(self) -> int:
        if not self._turn.noticed:
            self._count_others(self._writes())
        return self._others_wrote

    def _writes(self) -> int:
        return int(self.run(WRITES)[0][0])

    def _take_count(self, asked: psycopg.Cursor[Any]) -> None:
        """Read the write counter at the begin of a write transaction; the lock keeps it valid until the end."""
        self._count_others(int(_rows(asked)[0][0]))
        self._turn.noticed = True

    def _count_others(self, writes: int) -> None:
        """Note whether the write counter changed through others since we last read it."""
        if writes != self._seen_writes:
            self._seen_writes = writes
            self._others_wrote += 1

    def changed(self) -> bool:
        seen = self._writes()
        changed, self._turn.seen = seen != self._turn.seen, seen
        return changed

    def vector(self, data: bytes) -> str:
        return str(array("f", data).tolist())

    def numbers(self, data: bytes) -> list[int]:
        return array("H", data).tolist()

    def vector_bytes(self, value: str) -> bytes:
        return array("f", json.loads(value)).tobytes()

    def number_bytes(self, value: Sequence[int]) -> bytes:
        return array("H", value).tobytes()

    def scrub(self) -> None:
        """Vacuum the tables. The server's log and backups are its administrator's business."""
        with self._pool.connection() as db:
            for table in SCRUBBED:
                try:
                    db.execute(f"VACUUM {SCHEMA}.{table}")
                except pg.InsufficientPrivilege:
                    return  # autovacuum does it later

    def damaged_indexes(self) -> list[str]:
        return []  # the text index is a table, which the server guards

    def check(self) -> list[str]:
        found = self.run(UNPROTECTED, {"schema": SCHEMA})
        problems = [f"row-level security is not forced on {name}" for (name,) in found]
        role, superuser, bypass, _ = self._role()
        if superuser or bypass:
            problems.append(f"the role {role} is not bound by row-level security")
        return problems

    def _role(self) -> tuple[str, bool, bool, bool]:
        """Return the current role: name, superuser, bypasses row-level security, owns the tables."""
        row = self.run(ROLE_FACTS, {"schema": SCHEMA})[0]
        return str(row[0]), bool(row[1]), bool(row[2]), bool(row[3])

    def copy_to(self, path: str) -> None:
        raise errors.InvalidInput(
            "a team's store is saved by its server", "pg_dump, or for what you see: swarmlore migrate-store FOLDER"
        )

    def facts(self) -> Mapping[str, Any]:
        role, superuser, bypass, owner = self._role()
        server, size, extension = self.run(SERVER_FACTS)[0]
        return {
            "engine": self.name,
            "path": self.path,
            "postgresql": server,
            "pgvector": extension or "",
            "bytes": int(size),
            "role": role,
            "role_bound": not (superuser or bypass),
            "role_owns": owner,
        }

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def _driver_errors(self) -> Iterator[None]:
        """Context manager: turn the driver's errors into ours."""
        try:
            yield
        except (psycopg.Error, UnicodeError, OverflowError) as error:
            raise translated(error, self.path) from error


class _Watch:
    """Listen for new jobs on a connection of its own; a broken one is replaced, and reported as a change."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        self._connect = connect
        self._db: psycopg.Connection[Any] | None = None
        self._listen()

    def _listen(self) -> psycopg.Connection[Any]:
        if self._db is None or self._db.closed:
            self._db = self._connect()
            self._db.execute(f"LISTEN {CHANNEL}")
        return self._db

    def wait(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        try:
            db = self._listen()
            return bool(list(db.notifies(timeout=max(0.0, seconds), stop_after=1)))
        except psycopg.OperationalError:
            self.close()
            time.sleep(max(0.0, min(1.0, deadline - time.monotonic())))
            return True  # notifications may have been missed meanwhile

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None


def _is_found(db: psycopg.Connection[Any], proof: Proof) -> bool:
    """Return whether a proof's row is found with the visibility of its writer."""
    with db.transaction():
        db.execute(SET_VISIBILITY, visibility_params(proof.visibility))
        return db.execute(spelled(proof.sql), proof.params).fetchone() is not None


def _pipelined(db: psycopg.Connection[Any]) -> AbstractContextManager[object]:
    """Send the statements inside without waiting for the answers before, where the driver supports pipelining."""
    return db.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()


def _rows(cursor: psycopg.Cursor[Any]) -> list[Row]:
    """Return a statement's rows. The result is asked if it has any, as the cursor would describe every column."""
    answer = cursor.pgresult
    return cursor.fetchall() if answer is not None and answer.nfields else []


def _roll_back(db: psycopg.Connection[Any]) -> None:
    """Roll back a failed transaction; the connection may be broken, then the pool discards it."""
    if db.closed or db.broken:
        return
    try:
        db.execute("ROLLBACK")
    except psycopg.Error:
        db.close()


def _may_become_app(db: psycopg.Connection[Any]) -> bool:
    """Return whether this login may switch to the app role."""
    row = db.execute(
        "SELECT pg_has_role(current_user, oid, 'SET') FROM pg_roles WHERE rolname = %s", (ROLE,)
    ).fetchone()
    return bool(row and row[0])
