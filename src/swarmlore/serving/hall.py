"""One memory, open for everybody who shows a token: who they are, what they write in turns, what they read beside it.

On SQLite there is one writer, whose turns share their wait for the disk, and a few connections that only read. A team's
database orders its writers itself: there each connection does both.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress

from swarmlore.access import caller_of, is_due, recognise
from swarmlore.config import PROJECT_FILE, USER_FILE
from swarmlore.errors import StoreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.lore import Lore
from swarmlore.records import Caller
from swarmlore.serving.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from swarmlore.records import Token

    T = TypeVar("T")
    Lend = Callable[[str], Lore]

READERS = 1  # each holds the vectors
MOST_KNOWN = 512  # callers whose memory is kept at hand
SERVER = Caller("", "swarmlore-server", "worker", 2)


class Desks:
    """The memory of one connection as each caller sees it."""

    def __init__(self, lore: Lore) -> None:
        self.lore = lore
        self._made: OrderedDict[tuple[object, ...], Lore] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, token: Token, profile: str = "") -> Lore:
        """The memory as whoever shows this token sees it, by the rules of a profile where its door has some."""
        folder = token.folder or self.lore.home
        files = (os.path.join(self.lore.home, USER_FILE), os.path.join(folder, PROJECT_FILE))
        key = (token.id, profile, *map(_stamp, files))  # settings count from the moment they are written
        with self._lock:
            if key not in self._made:
                self._made[key] = self.lore.acting_as(caller_of(token), folder, profile)
                if len(self._made) > MOST_KNOWN:
                    self._made.popitem(last=False)
            self._made.move_to_end(key)
            return self._made[key]


class Hall:
    """Lets callers in and does what they ask."""

    def __init__(self, home: str | None, env: Mapping[str, str]) -> None:
        def opened() -> Desks:
            return Desks(Lore.open(home, cwd=os.path.sep, caller=SERVER, env=env))

        first = opened()
        self.home = first.lore.home
        self.writer = first.lore
        self._porter = opened().lore  # asks whose token it is, and waits for nobody's search
        self._all = [first, *(opened() for _ in range(READERS))]
        for desks in self._all:
            desks.lore.embedding.leave_to_worker()
        for desks in self._all[1:]:
            desks.lore.embedding.borrow(first.lore.embedding)
        self._free: queue.SimpleQueue[Desks] = queue.SimpleQueue()
        self._turns: Turns | None = None
        if not first.lore.store.engine.remote:
            self._writer = first
            self._turns = Turns(first.lore.store, first.lore.acting)
        for desks in self._all[1:] if self._turns else self._all:
            self._free.put(desks)
        self._threads = ThreadPoolExecutor(READERS + 1, "swarmlore-read")

    def recognise(self, shown: str) -> Token | None:
        """Whose token this is; that it was used is noted now and then."""
        with self._porter.acting():
            now = self._porter.now()
            token = recognise(self._porter.store, shown, now)
        if token is not None and is_due(token, now):
            self._note_use(token, now)
        return token

    def _note_use(self, token: Token, now: float) -> None:
        with suppress(StoreError):
            self._write(lambda desks: desks.lore.store.use_token(token.id, now))

    def read(self, token: Token, work: Callable[[Lore], T]) -> Future[T]:
        """What `work` finds in the memory of whoever shows this token."""
        return self.read_by(token, lambda lend: work(lend("")))

    def write(self, token: Token, work: Callable[[Lore], T]) -> Future[T]:
        """The same for what changes something; told when that is durable."""
        return self.write_by(token, lambda lend: work(lend("")))

    def read_by(self, token: Token, work: Callable[[Lend], T]) -> Future[T]:
        """The same for what is asked by the rules of a profile, which `work` chooses."""
        return self._threads.submit(self._beside, lambda desks: work(lambda profile: desks.of(token, profile)))

    def write_by(self, token: Token, work: Callable[[Lend], T]) -> Future[T]:
        return self._write(lambda desks: work(lambda profile: desks.of(token, profile)))

    def write_once(self, token: Token, name: str, asked: str, work: Callable[[Lore], str]) -> Future[str]:
        """The same for a request that its sender named: asked twice, it is done once, and answered the same."""

        def once(lore: Lore) -> str:
            with nullcontext() if self._turns else lore.store.engine.writing():  # in a group, both are certain at once
                told = lore.store.answer_to(token.id, name, asked)
                if told is None:
                    told = work(lore)
                    lore.store.keep_answer(token.id, name, asked, told, lore.now())
                return told

        return self.write(token, once)

    def _write(self, work: Callable[[Desks], T]) -> Future[T]:
        if self._turns is not None:
            return self._turns.take(lambda: work(self._writer))
        return self._threads.submit(self._beside, work)

    def _beside(self, work: Callable[[Desks], T]) -> T:
        desks = self._free.get()
        try:
            return work(desks)
        finally:
            self._free.put(desks)

    def figures(self) -> dict[str, Any]:
        """What can be told about the server's own work."""
        return {"writes_waiting": self._turns.waiting if self._turns else 0}

    def close(self, wait_s: float) -> None:
        """Bring what was begun to its end, then let go of the store."""
        if self._turns is not None:
            self._turns.close(wait_s)
        self._threads.shutdown(wait=True, cancel_futures=True)
        for lore in (self._porter, *(desks.lore for desks in self._all)):
            lore.close()


def _stamp(path: str) -> tuple[int, int]:
    """What tells a file from what it was before."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return 0, 0
    return found.st_mtime_ns, found.st_size
