"""PostgreSQL through psycopg: the engine of a team's store.

The program works as the role `swarmlore_app`, which owns nothing and cannot bypass row-level security; the caller is
set for each transaction. Writers queue at one advisory lock, first come, first served: what is decided in a write
transaction (is this known already?) holds when it commits.
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
    SET_SIGHT,
    SET_WAITS,
    TAKE_TURN,
    TAKE_TURN_FOR,
    UNPROTECTED,
    WRITES,
    Pool,
    Sight,
    sight_params,
    spelled,
    with_lists,
)

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from swarmlore.domain.records import Caller
    from swarmlore.store.engine import Params, Row

    T = TypeVar("T")


ROLE = "swarmlore_app"


def check_address(url: str) -> None:
    """Raise for an address that cannot be read; none of it is repeated, as any part may belong to the password."""
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


def why_unreachable(said: str) -> str:
    """The reason in our words; the driver's own may repeat what was typed."""
    return next((f": {why}" for words, why in _REASONS.items() if words in said), "")


def may_come_back(error: psycopg.OperationalError) -> bool:
    """Whether the server seems to be on its way up or down; the driver tells it in words only."""
    said = str(error)
    return any(words in said for words in ("starting up", "shutting down", "recovery", "refused", "No such file"))


LOST = ("the connection to the database broke; nothing was changed", "try again in a moment")


def translated(error: Exception, path: str) -> Exception:
    """What went wrong in our words, with what to do next; a mistake of ours stays as it is."""
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


logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it warns of is told by our own errors
SCHEMA = "swarmlore"
POOL_SIZE = 8
CONNECT_S = 10.0
PATIENCE_S = 3.0
LOCK_S = 30.0
IDLE_S = 20  # a writer whose line is dead must not keep the others waiting
WRITERS = 0x5357524D  # the advisory lock that writers queue at
READ_TRIES = 3
# A line is known to be dead after some 35 s of silence, or after 20 s in which nothing that was sent arrived.
KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
CLOCK_S = 30.0  # until the server is asked for its time again
CHANNEL = "swarmlore_job"  # where whoever puts a job tells of it
OUTCOME_S = 30.0  # how long to ask what became of a commit whose answer was lost


@frozen
class Proof:
    """What finds something that only the open transaction wrote, and who sees that."""

    sql: str
    params: Params
    sight: Sight


class _Turn:
    """What one thread is doing: its connection while a transaction is open, and for whom that was begun."""

    def __init__(self) -> None:
        self.db: psycopg.Connection[Any] | None = None
        self.cursor: psycopg.Cursor[Any] | None = None
        self.held: list[tuple[str, Params]] = []  # statements whose rows nobody needs: sent with the next
        self.depth = 0
        self.united = False  # whether acts are parts of the open transaction
        self.proof: Proof | None = None
        self.told = NOBODY  # the sight that the open transaction was given
        self.noticed = False  # whether it is known what others wrote before the open transaction
        self.seen = -1


class PostgresEngine:
    """Pooled connections to one database."""

    name = "postgres"
    remote = True
    undone = 0
    readonly = False

    def __init__(self, url: str, *, owner: bool = False, lock_timeout_s: float = LOCK_S) -> None:
        """`owner` works as the role that logged in, for migrations and copies of the whole store."""
        check_address(url)
        self.path = without_password(url)
        self.user = user_of(url)
        self._owner = owner
        self._patience = Patience(lock_timeout_s)
        self._local = threading.local()
        self._sight: ContextVar[Sight] = ContextVar("sight", default=NOBODY)
        self._url = url
        self._clock: tuple[float, float] | None = None
        self._seen_writes = -1  # the number of writes that we know of
        self._others_wrote = 0  # how often that number was another than we left
        self._pool = Pool(self._connect, POOL_SIZE)
        self._reach()

    def _reach(self) -> None:
        """Connect once: whatever keeps us from the server shows now. One that is being restarted is waited for."""
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
        """A connection that sees our schema and, unless we are the owner, works as the role that owns nothing."""
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
            with self._ours():
                return self._execute(self._turn.db, sql, params)
        return self._again(lambda: self._read(sql, params))

    def _read(self, sql: str, params: Params | None) -> list[Row]:
        """One statement in a transaction of its own, sent in one go: each answer that is waited for is a way there and
        back."""
        with self._ours(), self._pool.connection() as db:
            try:
                with _at_once(db):
                    db.execute(BEGIN)
                    if not self._owner:
                        db.execute(SET_SIGHT, sight_params(self._sight.get()))
                    cursor = db.execute(spelled(sql), with_lists(params or {}))
                    db.execute("COMMIT")
                return _rows(cursor)
            except BaseException:
                _roll_back(db)
                raise

    def _again(self, work: Callable[[], T]) -> T:
        """Reading twice does no harm: a connection that broke is replaced and asked again."""
        for left in range(READ_TRIES - 1, -1, -1):
            try:
                return work()
            except errors.StoreLost:
                self._pool.forget()
                if not left:
                    raise
                time.sleep(0.1)
        raise AssertionError  # the loop returns or raises

    def _execute(self, db: psycopg.Connection[Any], sql: str, params: Params | None) -> list[Row]:
        self._tell_sight()
        return self._ask(db, spelled(sql), with_lists(params or {}))

    def _ask(self, db: psycopg.Connection[Any], sql: str, params: Params | None = None) -> list[Row]:
        """The rows of a statement, which is sent with those that were held back."""
        turn = self._turn
        turn.cursor = turn.cursor or db.cursor()
        if not turn.held:
            return _rows(turn.cursor.execute(sql, params))
        with _at_once(db):
            self._send_held(db)
            turn.cursor.execute(sql, params)
        return _rows(turn.cursor)

    def _send_held(self, db: psycopg.Connection[Any]) -> None:
        held, self._turn.held = self._turn.held, []
        for sql, params in held:
            db.execute(sql, params)

    def note(self, sql: str, params: Params) -> None:
        if self._turn.db is None:
            self.run(sql, params)
        else:
            self._tell_sight()
            self._turn.held.append((spelled(sql), with_lists(params)))

    def run_many(self, sql: str, rows: Iterable[Params]) -> None:
        db = self._turn.db
        if db is None:
            with self.writing():
                self.run_many(sql, rows)
            return
        with self._ours():
            self._tell_sight()
            with _at_once(db):
                self._send_held(db)
                db.cursor().executemany(spelled(sql), list(rows))

    def script(self, sql: str) -> None:
        with self._ours():
            if self._turn.db is not None:
                self._turn.db.execute(sql.encode(), prepare=False)
                return
            with self._pool.connection() as db:
                db.execute(sql.encode(), prepare=False)

    # Transactions

    def act_for(self, caller: Caller, projects: Sequence[str], *, wide: bool = False, works: str = "") -> None:
        named = tuple(projects) if caller.project else ()
        self._sight.set(Sight(caller.agent, named, caller.leads, wide, works))

    def _tell_sight(self) -> None:
        if told := self._sight_to_tell():
            self._turn.held.append((SET_SIGHT, told))

    def _sight_to_tell(self) -> dict[str, str]:
        """For whom the open transaction acts from now on; nothing where it knows."""
        turn, sight = self._turn, self._sight.get()
        if turn.told == sight or self._owner:
            return {}
        turn.told = sight
        return sight_params(sight)

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[None]:
        turn = self._turn
        if turn.db is not None and (turn.depth or turn.united):
            with self._part(turn.db), self._joined():
                yield
            return
        if turn.db is not None:
            raise errors.StoreError("a write cannot begin inside a read", "end the read first")
        begin = partial(self._begin_writing, durable=durable)
        with self._transaction(begin=begin, commit=self._commit_write), self._joined():
            yield

    @contextmanager
    def grouping(self) -> Iterator[None]:
        """One transaction: between two acts there is no way there and back, and nobody else's turn."""
        with self.writing():
            turn = self._turn
            turn.united, turn.depth = True, turn.depth - 1  # the next who writes begins an act
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
    def _part(self, db: psycopg.Connection[Any]) -> Iterator[None]:
        """One of several acts in a transaction, undone alone where it fails; what is inside an act is part of it."""
        turn = self._turn
        if turn.depth:
            yield
            return
        with self._ours():
            told, proof = turn.told, turn.proof
            turn.held.append(("SAVEPOINT act", {}))
            try:
                yield
                self._ask(db, "RELEASE act")
            except BaseException:
                turn.told, turn.proof = told, proof  # whom it acts for is undone as well
                if not (db.closed or db.broken):
                    self._undo(db)
                raise

    def _undo(self, db: psycopg.Connection[Any]) -> None:
        """Go back to where the act began, which the server may not even have been told yet."""
        with suppress(psycopg.Error), _at_once(db):
            self._send_held(db)
        db.execute("ROLLBACK TO act; RELEASE act")

    def prove(self, sql: str, params: Params) -> None:
        self._turn.proof = None if self._owner else Proof(sql, params, self._sight.get())

    def _begin_writing(self, db: psycopg.Connection[Any], durable: bool) -> psycopg.Cursor[Any] | None:
        """Wait for our turn; the number of writes that is asked for afterwards stands until we are done."""
        told = self._sight_to_tell()
        db.execute(TAKE_TURN_FOR if told else TAKE_TURN, {**told, **self._waits(durable), "writers": WRITERS})
        return None if self._owner else db.execute(WRITES)

    def _begin_queueing(self, db: psycopg.Connection[Any], durable: bool) -> None:
        self._tell_sight()
        db.execute(SET_WAITS, self._waits(durable))

    def _waits(self, durable: bool) -> dict[str, str]:
        """How long a transaction waits for others, and whether for the disk."""
        patience = f"{max(1, int(self._patience.seconds * 1000))}ms"
        return {"lock": patience, "sync": "on" if durable else "off", "idle": f"{IDLE_S}s"}

    @contextmanager
    def queueing(self, *, durable: bool = True) -> Iterator[None]:
        """Without the lock of the writers: jobs are taken one by one, and each row has a lock of its own."""
        turn = self._turn
        if turn.db is not None and (turn.depth or turn.united):
            with self._part(turn.db), self._joined():
                yield
            return
        begin = partial(self._begin_queueing, durable=durable)
        with self._transaction(begin=begin, commit=self._commit), self._joined():
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        if self._turn.db is not None:
            yield
            return
        with self._transaction(isolation="REPEATABLE READ"):
            yield

    @contextmanager
    def _joined(self) -> Iterator[None]:
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
        """One transaction on one connection of the pool, for the caller that acts now."""
        turn = self._turn
        with self._ours(), self._pool.connection() as db:
            turn.db, turn.told, turn.proof, turn.held = db, NOBODY, None, []
            try:
                with _at_once(db):
                    db.execute(f"BEGIN ISOLATION LEVEL {isolation}")
                    writes = begin(db) if begin else None
                if writes is not None:
                    self._notice(writes)
                yield
                (commit or self._end)(db)
            except BaseException:
                self.undone += 1
                _roll_back(db)
                raise
            finally:
                turn.db, turn.cursor, turn.depth, turn.united, turn.noticed = None, None, 0, False, False

    def _commit_write(self, db: psycopg.Connection[Any]) -> None:
        """Commit, and count it."""
        if self._owner:
            self._commit(db)
            return
        writes, number = self._ask(db, COUNT_WRITE)[0]
        self._commit_as(db, number)
        self._seen_writes = writes

    def _commit(self, db: psycopg.Connection[Any]) -> None:
        self._commit_as(db, self._ask(db, "SELECT pg_current_xact_id_if_assigned()::TEXT")[0][0])

    def _end(self, db: psycopg.Connection[Any]) -> None:
        self._ask(db, "COMMIT")

    def _commit_as(self, db: psycopg.Connection[Any], number: str | None) -> None:
        """Commit; where the answer is lost, ask the server what became of it, so that nothing is done twice."""
        try:
            db.execute("COMMIT")
        except psycopg.OperationalError as error:
            self._pool.forget()
            if number is None or not self._was_committed(number, self._turn.proof):
                raise errors.StoreLost(*LOST) from error

    def _was_committed(self, number: str, proof: Proof | None = None) -> bool:
        """Whether a transaction was committed; waits for one that is still at it. A server that died before it wrote
        the number down gives it to another transaction: what was written is the proof."""
        deadline = time.monotonic() + OUTCOME_S
        while time.monotonic() < deadline:
            try:
                with self._pool.connection() as db:
                    row = db.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone()
                    if row is not None and row[0] == "committed" and proof is not None:
                        return _is_there(db, proof)
            except psycopg.OperationalError:
                row = None
            except psycopg.DataError:  # "in the future": the server died before it ever wrote that number down
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
        with self._ours():
            return _Watch(self._connect)

    def now(self) -> float:
        """The server's time, so that all machines mean the same by a lease; ours only counts on from it."""
        elapsed = time.monotonic()
        if self._clock is None or elapsed - self._clock[0] > CLOCK_S:
            told = float(self.run("SELECT extract(epoch FROM clock_timestamp())::FLOAT8")[0][0])
            self._clock = (time.monotonic(), told)
        return self._clock[1] + time.monotonic() - self._clock[0]

    def accept(self) -> None:
        """Nothing to keep as it was: the server guards its own files."""

    def leave_tidying(self) -> None:
        """The server does it anyway."""

    def tidy(self) -> None:
        """The server does it by itself."""

    def version(self) -> int:
        if not self.run("SELECT to_regclass(:name)", {"name": f"{SCHEMA}.migration"})[0][0]:
            return 0
        return int(self.run("SELECT coalesce(max(version), 0) FROM migration")[0][0])

    def set_version(self, version: int) -> None:
        """The newest row of `migration` says it."""

    def data_version(self) -> int:
        if not self._turn.noticed:
            self._notice_number(self._writes())
        return self._others_wrote

    def _writes(self) -> int:
        return int(self.run(WRITES)[0][0])

    def _notice(self, asked: psycopg.Cursor[Any]) -> None:
        """Under the lock: nobody else writes until we are done."""
        self._notice_number(int(_rows(asked)[0][0]))
        self._turn.noticed = True

    def _notice_number(self, writes: int) -> None:
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
        """Give back the space of deleted rows. Log and backups of the server are its administrator's."""
        with self._pool.connection() as db:
            for table in SCRUBBED:
                try:
                    db.execute(f"VACUUM {SCHEMA}.{table}")
                except pg.InsufficientPrivilege:
                    return  # autovacuum does it later

    def damaged_indexes(self) -> list[str]:
        return []  # they are tables, which the server guards

    def check(self) -> list[str]:
        found = self.run(UNPROTECTED, {"schema": SCHEMA})
        problems = [f"row-level security is not forced on {name}" for (name,) in found]
        role, superuser, bypass, _ = self._role()
        if superuser or bypass:
            problems.append(f"the role {role} is not bound by row-level security")
        return problems

    def _role(self) -> tuple[str, bool, bool, bool]:
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
    def _ours(self) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        try:
            yield
        except (psycopg.Error, UnicodeError, OverflowError) as error:
            raise translated(error, self.path) from error


class _Watch:
    """Listens on a line of its own; where that broke, it is made anew, and until then a look now and then has to do."""

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
            return True  # what came meanwhile was not told

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None


def _is_there(db: psycopg.Connection[Any], proof: Proof) -> bool:
    """Whether whoever wrote it finds it."""
    with db.transaction():
        db.execute(SET_SIGHT, sight_params(proof.sight))
        return db.execute(spelled(proof.sql), proof.params).fetchone() is not None


def _at_once(db: psycopg.Connection[Any]) -> AbstractContextManager[object]:
    """Statements inside are sent without waiting for the answers to those before, where the driver can do that."""
    return db.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()


def _rows(cursor: psycopg.Cursor[Any]) -> list[Row]:
    """What a statement found; asked of the answer itself, as the cursor would describe every column for that."""
    answer = cursor.pgresult
    return cursor.fetchall() if answer is not None and answer.nfields else []


def _roll_back(db: psycopg.Connection[Any]) -> None:
    """End a transaction that failed, on a connection that may be broken; the pool throws broken ones away."""
    if db.closed or db.broken:
        return
    try:
        db.execute("ROLLBACK")
    except psycopg.Error:
        db.close()


def _may_become_app(db: psycopg.Connection[Any]) -> bool:
    row = db.execute(
        "SELECT pg_has_role(current_user, oid, 'SET') FROM pg_roles WHERE rolname = %s", (ROLE,)
    ).fetchone()
    return bool(row and row[0])
