"""`Backend`: token authentication, queued writes and parallel reads on one store, for all requests of the HTTP server.

Writes go through one writer with group commit. On SQLite a few processes serve reads. A PostgreSQL store is read over a
few connections; slow writes use these as well, because a group commit blocks all other writers of the team while it
lasts.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial

from swarmlore.config import file_stamps
from swarmlore.domain.records import Caller
from swarmlore.errors import StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.lore import Lore
from swarmlore.memory.tokens import caller_of, is_due, verify
from swarmlore.server.checkpointer import Checkpointer
from swarmlore.server.client.local_server import HERE
from swarmlore.server.group_commit import GroupCommit
from swarmlore.server.readers import Reader, how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from swarmlore.domain.records import Token

    T = TypeVar("T")
    Lend = Callable[..., Lore]
    LoreOptions = tuple[Any, ...]  # options of `LoreCache.of`: a profile, and the stacks of the project


MOST_KNOWN = 512  # `Lore` objects in the cache
SERVER = Caller("", "swarmlore-server", "worker", 2)


def open_lore_cache(home: str | None, env: Mapping[str, str]) -> LoreCache:
    """Open a store connection of the server. It makes no embeddings while a request waits; the worker makes them."""
    cache = LoreCache(Lore.open(home, cwd=os.path.sep, caller=SERVER, env=env))
    cache.lore.embedding.leave_to_worker()
    return cache


class LoreCache:
    """Cache of `Lore` objects over one store connection, one per caller, profile and settings."""

    def __init__(self, lore: Lore) -> None:
        self.lore = lore
        self._cache: OrderedDict[tuple[object, ...], Lore] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, token: Token, profile: str = "", stacks: tuple[str, ...] = ()) -> Lore:
        """Return the `Lore` of a token's caller, with the ranking of a profile if its tools have one; `stacks` are the
        technologies of its project."""
        return self.of_caller((token.id,), caller_of(token), token.folder, profile, stacks)

    def of_caller(
        self, who: tuple[object, ...], caller: Caller, folder: str, profile: str = "", stacks: tuple[str, ...] = ()
    ) -> Lore:
        """Return the `Lore` of a caller that is identified by `who`."""
        settings = file_stamps(self.lore.home, folder or self.lore.home)
        key = (*who, profile, stacks, settings)  # changed settings apply at once
        with self._lock:
            if key not in self._cache:
                self._cache[key] = self.lore.acting_as(caller, folder, profile, stacks)
                if len(self._cache) > MOST_KNOWN:
                    self._cache.popitem(last=False)
            self._cache.move_to_end(key)
            return self._cache[key]


FEW_WAITING = 3  # queued writes; with more, queries leave CPUs to the writer
CONNECTIONS = 4  # to PostgreSQL, in addition to the writer's


class Pool:
    """Thread pool that lends each of a few resources to one task at a time."""

    def __init__(self, resources: list[Any], name: str) -> None:
        self.resources = resources
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for resource in resources:
            self._free.put(resource)
        self._threads = ThreadPoolExecutor(len(resources), name)

    def submit(self, work: Callable[[Any], T]) -> Future[T]:
        """Run `work` with a free resource in a thread."""
        return self._threads.submit(self._lent, work)

    def _lent(self, work: Callable[[Any], T]) -> T:
        resource = self._free.get()
        try:
            return work(resource)
        finally:
            self._free.put(resource)

    def close(self) -> None:
        """Cancel queued tasks and wait for the running ones."""
        self._threads.shutdown(wait=True, cancel_futures=True)


class OneWriter:
    """SQLite: one writer thread with group commit, and reader processes."""

    def __init__(self, writer: LoreCache, env: Mapping[str, str], readers: int) -> None:
        self._lores = writer
        writer.lore.store.engine.leave_tidying()
        self._checkpoint_lore = open_lore_cache(writer.lore.home, env).lore
        self._checkpointer = Checkpointer(self._checkpoint_lore.store.engine)
        self._group_commit = GroupCommit(writer.lore.store, writer.lore.acting)
        self._readers = Pool([Reader(writer.lore.home, env) for _ in range(readers)], "swarmlore-read")
        for _ in range(readers):
            self._readers.submit(Reader.begin)

    @property
    def waiting(self) -> int:
        return self._group_commit.waiting

    def read(self, token: Token, work: Callable[[Lend], T]) -> Future[T]:
        return self._readers.submit(lambda reader: reader.ask(token, work, sparing=self.waiting > FEW_WAITING))

    def write(self, work: Callable[[LoreCache], T], *, brief: bool) -> Future[T]:
        return self._group_commit.submit(lambda: work(self._lores))

    def close(self, wait_s: float) -> None:
        self._group_commit.close(wait_s)
        self._checkpointer.close()
        self._checkpoint_lore.close()
        self._readers.close()
        for reader in self._readers.resources:
            reader.end()


class Connections:
    """PostgreSQL: one connection for short writes with group commit, a pool of connections for everything else."""

    def __init__(self, writer: LoreCache, home: str | None, env: Mapping[str, str]) -> None:
        others = [open_lore_cache(home, env) for _ in range(CONNECTIONS)]
        for lores in others:
            lores.lore.embedding.borrow(writer.lore.embedding)
        self._writer_lores = writer
        self._group_commit = GroupCommit(writer.lore.store, writer.lore.acting)
        self._pool = Pool(others, "swarmlore-connection")

    @property
    def waiting(self) -> int:
        return self._group_commit.waiting

    def read(self, token: Token, work: Callable[[Lend], T]) -> Future[T]:
        return self._pool.submit(lambda lores: work(partial(lores.of, token)))

    def write(self, work: Callable[[LoreCache], T], *, brief: bool) -> Future[T]:
        return self._group_commit.submit(lambda: work(self._writer_lores)) if brief else self._pool.submit(work)

    def close(self, wait_s: float) -> None:
        for lores in (self._writer_lores, *self._pool.resources):
            lores.lore.store.leaving.set()
        self._group_commit.close(wait_s)
        self._pool.close()
        for lores in self._pool.resources:
            lores.lore.close()


class Backend:
    """Authenticates tokens and runs reads and writes of callers on one store."""

    def __init__(self, home: str | None, env: Mapping[str, str], readers: int = 0) -> None:
        self.env = env
        # For a long read; its user closes the connection.
        self.open_connection = partial(open_lore_cache, home, env)
        self._writer_lores = open_lore_cache(home, env)
        self.writer = self._writer_lores.lore
        self.home = self.writer.home
        # A connection of its own, so that a token lookup never waits for a search.
        self._auth = open_lore_cache(home, env).lore
        self.is_team = self.writer.store.engine.remote
        many = readers or how_many(os.cpu_count() or 1)
        self._executor = (
            Connections(self._writer_lores, home, env) if self.is_team else OneWriter(self._writer_lores, env, many)
        )

    def recognise(self, shown: str) -> Token | None:
        """Return the token of a secret, or None; its last use is recorded now and then."""
        with nullcontext() if self.is_team else self._auth.acting():  # PostgreSQL takes concurrent lookups
            now = self._auth.now()
            token = verify(self._auth.store, shown, now)
        if token is not None and is_due(token, now):
            self._note_use(token, now)
        return token

    def _note_use(self, token: Token, now: float) -> None:
        with suppress(StoreError):
            self._executor.write(lambda lores: lores.lore.store.use_token(token.id, now), brief=False)

    def read(self, token: Token, work: Callable[[Lore], T], options: LoreOptions = ()) -> Future[T]:
        """Run `work` on the memory of the token's caller, opened with `options`. On SQLite it runs in a reader process,
        so it must be importable by name."""
        return self.read_by(token, partial(_lent, work, options))

    def write(
        self, token: Token, work: Callable[[Lore], T], options: LoreOptions = (), *, brief: bool = False
    ) -> Future[T]:
        """Run a write on the memory of the token's caller; the future completes when it is durable. `brief` promises
        that it is short, uses only the store, and may be repeated if the connection broke."""
        return self.write_by(token, partial(_lent, work, options), brief=brief)

    def read_by(self, token: Token, work: Callable[[Lend], T]) -> Future[T]:
        """Run a read that opens the memory itself, as its profile depends on the request."""
        return self._executor.read(token, work)

    def write_by(self, token: Token, work: Callable[[Lend], T], *, brief: bool = False) -> Future[T]:
        """Run a write that opens the memory itself, as its profile depends on the request."""
        return self._executor.write(lambda lores: work(partial(lores.of, token)), brief=brief and not self._asks_llm)

    @property
    def _asks_llm(self) -> bool:
        """Whether a text may be shown to a language model before it is stored, which takes seconds."""
        return self.writer.settings.writer.kind != "none"

    def write_once(
        self,
        token: Token,
        name: str,
        fingerprint: str,
        work: Callable[[Lore], str],
        options: LoreOptions = (),
        *,
        brief: bool = False,
    ) -> Future[str]:
        """Run a write with an idempotency key: a repeated request is not run again, and gets the same answer."""
        once = partial(answered_once, token=token.id, name=name, fingerprint=fingerprint, work=work)
        return self.write(token, lambda lore: _atomically(lore, once), options, brief=brief)

    def write_local(
        self, caller: Caller, folder: str, profile: str, named: tuple[str, str], work: Callable[[Lore], str]
    ) -> Future[str]:
        """Run a write of a command on this machine, which needs no token, because it runs as the same user."""

        def write(lores: LoreCache) -> str:
            who = ("", caller.project, caller.agent, caller.role, caller.trust, folder)
            return answered_once(lores.of_caller(who, caller, folder, profile), HERE, *named, work)

        return self._executor.write(write, brief=True)

    def search_once(
        self, token: Token, name: str, fingerprint: str, work: Callable[[Lore], str], options: LoreOptions = ()
    ) -> Future[str]:
        """Run a search with an idempotency key. It runs as a read, because it only records that it searched."""
        return self.read(
            token, partial(answered_once, token=token.id, name=name, fingerprint=fingerprint, work=work), options
        )

    def figures(self) -> dict[str, Any]:
        """Return metrics of the server's own work."""
        return {"writes_waiting": self._executor.waiting}

    def close(self, wait_s: float) -> None:
        """Finish the queued writes, then close the store connections."""
        self._executor.close(wait_s)
        for lore in (self._auth, self.writer):
            lore.close()


def _lent(work: Callable[[Lore], T], options: LoreOptions, lend: Lend) -> T:
    return work(lend(*options))


def answered_once(lore: Lore, token: str, name: str, fingerprint: str, work: Callable[[Lore], str]) -> str:
    """Return the stored answer of an idempotency key, or run `work` and store its answer."""
    answer = lore.store.answer_to(token, name, fingerprint)
    if answer is None:
        answer = work(lore)
        lore.store.keep_answer(token, name, fingerprint, answer, lore.now())
    return answer


def _atomically(lore: Lore, work: Callable[[Lore], T]) -> T:
    """Run `work` in one transaction; within a group commit it is in one already."""
    return work(lore) if lore.store.engine.grouped else lore.store.look(partial(_alone, lore, work))


def _alone(lore: Lore, work: Callable[[Lore], T]) -> T:
    """Run `work` as a group of its own. A refusal rolls back what was refused, but keeps the record of it."""
    with lore.acting(), lore.store.together():
        try:
            return work(lore)
        except StoreError:
            raise
        except SwarmloreError as error:
            refusal = error
    raise refusal
