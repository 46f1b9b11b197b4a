"""One memory, open for everybody who shows a token: who they are, what they write in turns, what they read beside it.

There is one writer, whose turns share their wait for the disk. On SQLite a few processes beside it only read. A team's
database is asked over a few connections; what may take longer than a moment is written over these as well, as nobody
else in the team can write while a turn lasts.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial

from swarmlore.config import stamps
from swarmlore.domain.records import Caller
from swarmlore.errors import StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.lore import Lore
from swarmlore.memory.tokens import caller_of, is_due, recognise
from swarmlore.server.checkpointer import Tidier
from swarmlore.server.client.local_server import HERE
from swarmlore.server.group_commit import Turns
from swarmlore.server.readers import Reader, how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from swarmlore.domain.records import Token

    T = TypeVar("T")
    Lend = Callable[..., Lore]
    How = tuple[Any, ...]  # what a memory is lent for: a profile, and what a project is built with


MOST_KNOWN = 512  # callers whose memory is kept at hand
SERVER = Caller("", "swarmlore-server", "worker", 2)


def open_desks(home: str | None, env: Mapping[str, str]) -> Desks:
    """A connection of a server, which makes no vectors while somebody waits: its worker does."""
    made = Desks(Lore.open(home, cwd=os.path.sep, caller=SERVER, env=env))
    made.lore.embedding.leave_to_worker()
    return made


class Desks:
    """The memory of one connection as each caller sees it."""

    def __init__(self, lore: Lore) -> None:
        self.lore = lore
        self._made: OrderedDict[tuple[object, ...], Lore] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, token: Token, profile: str = "", stacks: tuple[str, ...] = ()) -> Lore:
        """The memory as whoever shows this token sees it, by the rules of a profile where its door has some; `stacks`
        is what its project is built with."""
        return self.of_caller((token.id,), caller_of(token), token.folder, profile, stacks)

    def of_caller(
        self, who: tuple[object, ...], caller: Caller, folder: str, profile: str = "", stacks: tuple[str, ...] = ()
    ) -> Lore:
        """The memory as a caller sees it that is known as `who`."""
        settings = stamps(self.lore.home, folder or self.lore.home)
        key = (*who, profile, stacks, settings)  # settings count from the moment they are written
        with self._lock:
            if key not in self._made:
                self._made[key] = self.lore.acting_as(caller, folder, profile, stacks)
                if len(self._made) > MOST_KNOWN:
                    self._made.popitem(last=False)
            self._made.move_to_end(key)
            return self._made[key]


FEW_WAITING = 3  # writes; where more wait, questions leave processors to the writer
CONNECTIONS = 4  # to a team's database, beside that of the writer


class Pool:
    """Threads that lend out a few things of a kind, each to one at a time."""

    def __init__(self, things: list[Any], name: str) -> None:
        self.things = things
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for thing in things:
            self._free.put(thing)
        self._threads = ThreadPoolExecutor(len(things), name)

    def submit(self, work: Callable[[Any], T]) -> Future[T]:
        return self._threads.submit(self._lent, work)

    def _lent(self, work: Callable[[Any], T]) -> T:
        thing = self._free.get()
        try:
            return work(thing)
        finally:
            self._free.put(thing)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


class OneWriter:
    """SQLite: one thread writes, processes of their own answer questions."""

    def __init__(self, writer: Desks, env: Mapping[str, str], readers: int) -> None:
        self._desks = writer
        writer.lore.store.engine.leave_tidying()
        self._beside = open_desks(writer.lore.home, env).lore
        self._tidier = Tidier(self._beside.store.engine)
        self._turns = Turns(writer.lore.store, writer.lore.acting)
        self._readers = Pool([Reader(writer.lore.home, env) for _ in range(readers)], "swarmlore-read")
        for _ in range(readers):
            self._readers.submit(Reader.begin)

    @property
    def waiting(self) -> int:
        return self._turns.waiting

    def read(self, token: Token, work: Callable[[Lend], T]) -> Future[T]:
        return self._readers.submit(lambda reader: reader.ask(token, work, sparing=self.waiting > FEW_WAITING))

    def write(self, work: Callable[[Desks], T], *, brief: bool) -> Future[T]:
        return self._turns.take(lambda: work(self._desks))

    def close(self, wait_s: float) -> None:
        self._turns.close(wait_s)
        self._tidier.close()
        self._beside.close()
        self._readers.close()
        for reader in self._readers.things:
            reader.end()


class Connections:
    """A team's database: one connection for what is written in a moment, a few for everything else."""

    def __init__(self, first: Desks, home: str | None, env: Mapping[str, str]) -> None:
        others = [open_desks(home, env) for _ in range(CONNECTIONS)]
        for desks in others:
            desks.lore.embedding.borrow(first.lore.embedding)
        self._first = first
        self._turns = Turns(first.lore.store, first.lore.acting)
        self._pool = Pool(others, "swarmlore-connection")

    @property
    def waiting(self) -> int:
        return self._turns.waiting

    def read(self, token: Token, work: Callable[[Lend], T]) -> Future[T]:
        return self._pool.submit(lambda desks: work(partial(desks.of, token)))

    def write(self, work: Callable[[Desks], T], *, brief: bool) -> Future[T]:
        return self._turns.take(lambda: work(self._first)) if brief else self._pool.submit(work)

    def close(self, wait_s: float) -> None:
        for desks in (self._first, *self._pool.things):
            desks.lore.store.leaving.set()
        self._turns.close(wait_s)
        self._pool.close()
        for desks in self._pool.things:
            desks.lore.close()


class Hall:
    """Lets callers in and does what they ask."""

    def __init__(self, home: str | None, env: Mapping[str, str], readers: int = 0) -> None:
        self.env = env
        self.apart = partial(open_desks, home, env)  # a connection for a long look, which whoever asked closes
        self._first = open_desks(home, env)
        self.writer = self._first.lore
        self.home = self.writer.home
        self._porter = open_desks(home, env).lore  # asks whose token it is, and waits for nobody's search
        self.is_team = self.writer.store.engine.remote
        many = readers or how_many(os.cpu_count() or 1)
        self._way = Connections(self._first, home, env) if self.is_team else OneWriter(self._first, env, many)

    def recognise(self, shown: str) -> Token | None:
        """Whose token this is; that it was used is noted now and then."""
        with nullcontext() if self.is_team else self._porter.acting():  # a team's database may be asked by several
            now = self._porter.now()
            token = recognise(self._porter.store, shown, now)
        if token is not None and is_due(token, now):
            self._note_use(token, now)
        return token

    def _note_use(self, token: Token, now: float) -> None:
        with suppress(StoreError):
            self._way.write(lambda desks: desks.lore.store.use_token(token.id, now), brief=False)

    def read(self, token: Token, work: Callable[[Lore], T], how: How = ()) -> Future[T]:
        """What `work`, which can be named, finds in the memory of whoever shows this token, lent as `how` says."""
        return self.read_by(token, partial(_lent, work, how))

    def write(self, token: Token, work: Callable[[Lore], T], how: How = (), *, brief: bool = False) -> Future[T]:
        """The same for what changes something; told when that is durable. `brief`: it takes a moment at most, asks
        nobody but the store, and may be done again from the beginning where the line to that broke."""
        return self.write_by(token, partial(_lent, work, how), brief=brief)

    def read_by(self, token: Token, work: Callable[[Lend], T]) -> Future[T]:
        """The same for what is asked by the rules of a profile, which `work` chooses."""
        return self._way.read(token, work)

    def write_by(self, token: Token, work: Callable[[Lend], T], *, brief: bool = False) -> Future[T]:
        return self._way.write(lambda desks: work(partial(desks.of, token)), brief=brief and not self._asks_a_model)

    @property
    def _asks_a_model(self) -> bool:
        """Whether a text may be shown to a language model before it is stored, which takes seconds."""
        return self.writer.settings.writer.kind != "none"

    def write_once(
        self,
        token: Token,
        name: str,
        asked: str,
        work: Callable[[Lore], str],
        how: How = (),
        *,
        brief: bool = False,
    ) -> Future[str]:
        """The same for a request that its sender named: asked twice, it is done once, and answered the same."""
        once = partial(answered_once, token=token.id, name=name, asked=asked, work=work)
        return self.write(token, lambda lore: _united(lore, once), how, brief=brief)

    def write_here(
        self, caller: Caller, folder: str, profile: str, named: tuple[str, str], work: Callable[[Lore], str]
    ) -> Future[str]:
        """The same for a command of this machine, which is believed who it is: it runs as the same user."""

        def turn(desks: Desks) -> str:
            who = ("", caller.project, caller.agent, caller.role, caller.trust, folder)
            return answered_once(desks.of_caller(who, caller, folder, profile), HERE, *named, work)

        return self._way.write(turn, brief=True)

    def search_once(
        self, token: Token, name: str, asked: str, work: Callable[[Lore], str], how: How = ()
    ) -> Future[str]:
        """The same for what looks for something and only notes that it did: nobody has to wait while it looks."""
        return self.read(token, partial(answered_once, token=token.id, name=name, asked=asked, work=work), how)

    def figures(self) -> dict[str, Any]:
        """What can be told about the server's own work."""
        return {"writes_waiting": self._way.waiting}

    def close(self, wait_s: float) -> None:
        """Bring what was begun to its end, then let go of the store."""
        self._way.close(wait_s)
        for lore in (self._porter, self.writer):
            lore.close()


def _lent(work: Callable[[Lore], T], how: How, lend: Lend) -> T:
    return work(lend(*how))


def answered_once(lore: Lore, token: str, name: str, asked: str, work: Callable[[Lore], str]) -> str:
    told = lore.store.answer_to(token, name, asked)
    if told is None:
        told = work(lore)
        lore.store.keep_answer(token, name, asked, told, lore.now())
    return told


def _united(lore: Lore, work: Callable[[Lore], T]) -> T:
    """What `work` does, certain together or not at all: in a group it is that already."""
    return work(lore) if lore.store.engine.grouped else lore.store.look(partial(_alone, lore, work))


def _alone(lore: Lore, work: Callable[[Lore], T]) -> T:
    """The same as a group of its own; a refusal undoes what was refused, not that it is noted."""
    with lore.acting(), lore.store.together():
        try:
            return work(lore)
        except StoreError:
            raise
        except SwarmloreError as error:
            refusal = error
    raise refusal
