"""Connections to one PostgreSQL server: a small pool, parameter spelling, and the settings of a transaction.

A connection is opened by the thread that needs it. Nothing runs in the background, so a command with one query opens
one connection, and a server that comes back is noticed by the next query.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import psycopg

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Params

    Connection = psycopg.Connection[Any]


class Visibility(NamedTuple):
    """The caller's visibility for row-level security; a tuple, as it is compared for each statement."""

    agent: str = ""
    projects: tuple[str, ...] = ()
    leads: bool = False
    wide: bool = False
    works: str = ""


NOBODY = Visibility()


@cache
def spelled(sql: str) -> str:
    """Rewrite a statement for psycopg: `:name` becomes `%(name)s`, and lists use ANY."""
    sql = re.sub(r"\bIN \(:list:(\w+)\)", r"= ANY (:\1)", sql.replace("%", "%%"))
    return re.sub(r"(?<![:\w]):(\w+)\b", r"%(\1)s", sql)


def with_lists(params: Params) -> Params:
    """Convert sets and tuples to lists, which psycopg passes as arrays."""
    kinds = (tuple, set, frozenset)
    return {name: list(value) if isinstance(value, kinds) else value for name, value in params.items()}


BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
WRITES = "SELECT writes FROM clock"
COUNT_WRITE = "UPDATE clock SET writes = writes + 1 RETURNING writes, pg_current_xact_id()::TEXT"
_WAITS = (
    "set_config('lock_timeout', %(lock)s, true), set_config('synchronous_commit', %(sync)s, true), "
    "set_config('idle_in_transaction_session_timeout', %(idle)s, true)"
)
_VISIBILITY = (
    "set_config('swarmlore.agent', %(agent)s, true), set_config('swarmlore.leads', %(leads)s, true), "
    "set_config('swarmlore.wide', %(wide)s, true), set_config('swarmlore.projects', %(projects)s, true), "
    "set_config('swarmlore.works', %(works)s, true)"
)
_LOCK = "pg_advisory_xact_lock(%(writers)s)"
SET_VISIBILITY = f"SELECT {_VISIBILITY}"
SET_WAITS = f"SELECT {_WAITS}"
# Evaluated from left to right: visibility, timeouts, then the lock.
TAKE_TURN = f"SELECT {_WAITS}, {_LOCK}"
TAKE_TURN_FOR = f"SELECT {_VISIBILITY}, {_WAITS}, {_LOCK}"


def visibility_params(visibility: Visibility) -> dict[str, str]:
    """Return the parameters of `SET_VISIBILITY` for a caller's visibility."""
    return {
        "agent": visibility.agent,
        "leads": "1" if visibility.leads else "",
        "wide": "1" if visibility.wide else "",
        "works": visibility.works,
        "projects": _array_text(visibility.projects) if visibility.projects else "",
    }


def _array_text(values: Sequence[str]) -> str:
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return "{" + ",".join(f'"{value}"' for value in quoted) + "}"


SCRUBBED = (  # tables that hold text of memories
    *("memory", "situation", "audit", "posting", "cue_posting", "shingle", "mention", "relation", "community"),
    *("embedding", "piece", "rejection", "job", "message"),
)
UNPROTECTED = """
    SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = :schema AND relkind = 'r' AND NOT (relrowsecurity AND relforcerowsecurity)
      AND relname NOT IN ('migration', 'meta', 'clock', 'project_alias') ORDER BY relname
"""
ROLE_FACTS = """
    SELECT current_user, rolsuper, rolbypassrls, EXISTS (
        SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = :schema AND relname = 'memory' AND pg_has_role(current_user, relowner, 'USAGE')
    ) FROM pg_roles WHERE rolname = current_user
"""
SERVER_FACTS = """
    SELECT current_setting('server_version'), pg_database_size(current_database()),
        (SELECT extversion FROM pg_extension WHERE extname = 'vector')
"""

IDLE_S = 30.0  # a connection idle for longer is tested before use


class Pool:
    """A connection pool of at most `size` connections; a thread that finds none free waits for one."""

    def __init__(self, connect: Callable[[], Connection], size: int) -> None:
        self._connect = connect
        self._free: list[tuple[Connection, float]] = []
        self._places = threading.BoundedSemaphore(size)
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Context manager: a connection for one transaction; a broken one is not reused."""
        with self._places:
            db = self._take() or self._connect()
            try:
                yield db
            finally:
                self._give_back(db)

    def _take(self) -> Connection | None:
        while True:
            with self._guard:
                if not self._free:
                    return None
                db, since = self._free.pop()
            if time.monotonic() - since < IDLE_S or _lives(db):
                return db
            db.close()

    def _give_back(self, db: Connection) -> None:
        idle = psycopg.pq.TransactionStatus.IDLE
        with self._guard:
            if not self._closed and not db.closed and db.info.transaction_status == idle:
                self._free.append((db, time.monotonic()))
                return
        db.close()

    def forget(self) -> None:
        """Close the free connections: after one broke, the others are likely dead too."""
        with self._guard:
            free, self._free = self._free, []
        for db, _ in free:
            db.close()

    def close(self) -> None:
        self._closed = True
        self.forget()


def _lives(db: Connection) -> bool:
    """Return whether a connection still answers."""
    try:
        db.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True
