"""The interface of a database engine (SQLite, PostgreSQL): what `Store` needs so that it is written once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from swarmlore.domain.records import Caller

Row = tuple[Any, ...]
Params = Mapping[str, Any]


class Watch(Protocol):
    """Wakes a worker when the job queue may have changed."""

    def wait(self, seconds: float) -> bool:
        """Wait until the database was written since the last call, at most this long; return whether it was."""

    def close(self) -> None: ...


class Engine(Protocol):
    """Runs statements and transactions. Most differences between databases are in the named SQL; the rest is here."""

    name: str
    readonly: bool
    remote: bool
    """Whether the rows are on a server. Vectors are then searched and words counted per partition by the server."""

    user: str
    """The login on a server, '' for a file. Agents of a team's store are named after it (`ada/claude`)."""

    undone: int
    """Number of transactions, or operations of a group, rolled back so far. Caches compare it to notice a rollback."""

    path: str
    """The path of the file, or the address of the server without its password."""

    @property
    def inside(self) -> bool:
        """Return whether this thread is in a transaction."""

    def run(self, sql: str, params: Params = ...) -> list[Row]:
        """Run one statement and return all its rows; `:name` takes a value, `IN (:list:name)` a list."""

    def note(self, sql: str, params: Params) -> None:
        """Run one statement whose rows are not needed. It may be delayed and sent with the next statement, which sees
        its effect and raises its errors."""

    def run_many(self, sql: str, rows: Iterable[Params]) -> None:
        """Run one statement once for each of many parameter sets."""

    def script(self, sql: str) -> None:
        """Run several statements, each to completion."""

    def act_for(self, caller: Caller, projects: Sequence[str], *, wide: bool = False, works: str = "") -> None:
        """From now on apply this caller's visibility; `projects` are all names of its project. `wide` adds the shared
        rows of every project; `works` adds the job queue: `own` for jobs of the same login, `team` for all."""

    def writing(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Context manager: one write transaction, durable at its end, rolled back on an error; nested ones join."""

    def grouping(self) -> AbstractContextManager[None]:
        """Context manager: several operations committed together with one fsync. Each is rolled back alone if it fails,
        and none is durable before the group ends."""

    @property
    def grouped(self) -> bool:
        """Return whether a group is open."""

    @property
    def is_cut_off(self) -> bool:
        """Return whether the connection, and with it the open transaction, is lost."""

    @property
    def intact(self) -> bool:
        """Return whether the open transaction can still be committed; a failed statement may have aborted it."""

    def uniting(self) -> AbstractContextManager[None]:
        """Context manager: join the open group, or open one."""

    def prove(self, sql: str, params: Params) -> None:
        """Register a query that finds a row only the open transaction wrote. If the answer to COMMIT is lost, the query
        tells whether it was committed."""

    def queueing(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Context manager: a transaction on the job queue. Where the database allows it, it does not wait for the
        writers' lock. Inside a write transaction it joins that."""

    def watch(self) -> Watch:
        """Return a watch that notices later writes to the queue."""

    def now(self) -> float:
        """Return the clock that leases are counted by: the server's, or this machine's for a file."""

    def hurried(self, seconds: float) -> AbstractContextManager[None]:
        """Context manager: this thread waits at most this long for other writers."""

    def roomy(self) -> AbstractContextManager[None]:
        """Context manager: allow a larger cache, for bulk imports that compare every row with stored ones."""

    def reading(self) -> AbstractContextManager[None]:
        """Context manager: all statements inside see one snapshot."""

    def accept(self) -> None:
        """Declare the content valid. Until then, closing leaves every file unchanged."""

    def leave_tidying(self) -> None:
        """Leave checkpoints to another connection, which calls `tidy`; commits checkpoint only as a fallback."""

    def tidy(self) -> None:
        """Checkpoint the WAL without blocking others. Restart a long one, for which writers wait a moment."""

    def version(self) -> int:
        """Return the number of the newest migration applied to this store."""

    def set_version(self, version: int) -> None:
        """Record the number of the newest applied migration."""

    def data_version(self) -> int:
        """Return a number that changes when another connection has written."""

    def changed(self) -> bool:
        """Return whether any connection, including this one, has written since the last call."""

    def vector(self, data: bytes) -> Any:
        """Convert little-endian float32 bytes to the database's vector type."""

    def numbers(self, data: bytes) -> Any:
        """Convert little-endian 16-bit integers to the database's type."""

    def vector_bytes(self, value: Any) -> bytes:
        """Convert a stored vector back to bytes; inverse of `vector`."""

    def number_bytes(self, value: Any) -> bytes:
        """Convert stored integers back to bytes; inverse of `numbers`."""

    def scrub(self) -> None:
        """Make deleted content unrecoverable from the database's own files, as far as the engine can."""

    def damaged_indexes(self) -> list[str]:
        """Return the names of inconsistent full-text indexes; the check does not block writers."""

    def check(self) -> list[str]:
        """Return the problems of the database; empty if there are none."""

    def copy_to(self, path: str) -> None:
        """Write a consistent copy of the whole store to a new file while others keep writing."""

    def facts(self) -> Mapping[str, Any]:
        """Return version, size, path and settings for `doctor` and `stats`."""

    def close(self) -> None: ...
