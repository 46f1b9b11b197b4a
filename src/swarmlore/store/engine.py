"""What a database has to offer so that the store can be written once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from swarmlore.domain.records import Caller

Row = tuple[Any, ...]
Params = Mapping[str, Any]


class Watch(Protocol):
    """Notices that there may be something new in the queue."""

    def wait(self, seconds: float) -> bool:
        """Return when something was written since the last time, or after so long at most; tells whether it was."""
        ...

    def close(self) -> None: ...


class Engine(Protocol):
    """Run statements and transactions; the few things that really differ between databases are named queries."""

    name: str
    readonly: bool
    remote: bool
    """Whether the rows are elsewhere: then vectors are searched there, and words are counted per partition there."""

    user: str
    """Who logged in, where one has to; agents of a team are named after it."""

    undone: int
    """How many transactions, or acts of a group, were undone so far: what was kept in mind of them is gone."""

    path: str
    """Where the rows are: a file, or the address of a server without its password."""

    @property
    def inside(self) -> bool:
        """Whether this thread is in a transaction."""
        ...

    def run(self, sql: str, params: Params = ...) -> list[Row]:
        """Run one statement and return all its rows; `:name` takes a value, `IN (:list:name)` a list."""
        ...

    def note(self, sql: str, params: Params) -> None:
        """Run one statement whose rows nobody needs. It may be sent later, with the next one or at the end of the act:
        then it is seen by that one, and a failure of it shows there."""
        ...

    def run_many(self, sql: str, rows: Iterable[Params]) -> None:
        """Run one statement for each of many parameter sets."""
        ...

    def script(self, sql: str) -> None:
        """Run several statements, each to its end."""
        ...

    def act_for(self, caller: Caller, projects: Sequence[str], *, wide: bool = False, works: str = "") -> None:
        """From now on see what this caller may see, whose project has these names; wide: what every project shares;
        works: the queue as well, `own` for what the same login put there, `team` for all of it."""
        ...

    def writing(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """One write transaction: committed and durable when it ends, undone when it fails; nested ones join."""
        ...

    def grouping(self) -> AbstractContextManager[None]:
        """Several acts, one after the other, with one wait for the disk: each act inside is undone alone if it fails,
        and none is certain before the group has ended."""
        ...

    @property
    def grouped(self) -> bool:
        """Whether what is written now is an act of a group."""
        ...

    @property
    def is_cut_off(self) -> bool:
        """Whether the line to the database is gone, and the open transaction with it."""
        ...

    @property
    def intact(self) -> bool:
        """Whether the open transaction can still be committed: a question that failed may be the end of it."""
        ...

    def uniting(self) -> AbstractContextManager[None]:
        """The same, as part of a group where one is open."""
        ...

    def prove(self, sql: str, params: Params) -> None:
        """What finds something that only the open transaction wrote: should the answer to its commit be lost, that
        tells whether it was committed."""
        ...

    def queueing(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """A transaction for rows of the queue, which decide nothing about memories: it waits for no writer where the
        database can do that. Inside a write transaction it is part of that."""
        ...

    def watch(self) -> Watch:
        """Be told when somebody has written to the queue, from now on."""
        ...

    def now(self) -> float:
        """The time by which leases are counted: that of whoever holds the rows."""
        ...

    def hurried(self, seconds: float) -> AbstractContextManager[None]:
        """Inside, this thread waits for other writers so long at most."""
        ...

    def roomy(self) -> AbstractContextManager[None]:
        """Inside, more memory may be used: many rows come, and each is compared with what is there."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Statements inside see one snapshot."""
        ...

    def accept(self) -> None:
        """The content was found to be ours; until this is called, closing leaves every file as it was."""
        ...

    def leave_tidying(self) -> None:
        """Another connection calls `tidy`; a commit of this one does that work only where it falls far behind."""
        ...

    def tidy(self) -> None:
        """Copy what a journal holds into the file, as far as that keeps nobody waiting; one that has become long begins
        anew, for which writers wait a moment."""
        ...

    def version(self) -> int:
        """The number of the newest migration that this store has seen."""
        ...

    def set_version(self, version: int) -> None: ...

    def data_version(self) -> int:
        """A number that is another one after another connection has written."""
        ...

    def changed(self) -> bool:
        """Whether anybody, this connection included, has written since the last time this was asked."""
        ...

    def vector(self, data: bytes) -> Any:
        """Little-endian floats as the database keeps them."""
        ...

    def numbers(self, data: bytes) -> Any:
        """Little-endian numbers of two bytes as the database keeps them."""
        ...

    def vector_bytes(self, value: Any) -> bytes:
        """What `vector` was given."""
        ...

    def number_bytes(self, value: Any) -> bytes:
        """What `numbers` was given."""
        ...

    def scrub(self) -> None:
        """Make deleted content unrecoverable from the database's own files, as far as that is in its power."""
        ...

    def damaged_indexes(self) -> list[str]:
        """The indexes of words that contradict themselves; looks without keeping a writer waiting."""
        ...

    def check(self) -> list[str]:
        """What is wrong with the database; empty when nothing is."""
        ...

    def copy_to(self, path: str) -> None:
        """Write a consistent copy of the whole store to a new file while others go on."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What `doctor` and `stats` should know: version, size, where it is."""
        ...

    def close(self) -> None: ...
