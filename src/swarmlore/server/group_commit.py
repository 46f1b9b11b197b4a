"""The writes of many callers, one after the other in one thread; those that came meanwhile share a wait for the disk.

Waiting for the disk is what a small write costs most. Whoever writes is answered after the commit of its group, so an
answer still means that the text is on disk; and as there is one writer, nobody is kept out by others. Where a line to a
database broke, nothing of the group was changed, and all of it is done again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from functools import partial

from swarmlore.errors import StoreBusy, StoreLost, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from swarmlore.store.store import Store

    T = TypeVar("T")

    Turn = tuple[Callable[[], Any], Future[Any]]
    Told = tuple[Any, BaseException | None]  # what a turn returned, or raised


MOST_TURNS = 64  # of one group
GROUP_S = 0.03  # the first of a group does not wait longer for the others
MOST_WAITING = 2_000


class Turns:
    """Takes turns from any thread. `alone` keeps everybody else from the store while a group is written."""

    def __init__(self, store: Store, alone: Callable[[], AbstractContextManager[Any]]) -> None:
        self._store = store
        self._alone = alone
        self._waiting: deque[Turn] = deque()
        self._change = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="swarmlore-writer", daemon=True)
        self._thread.start()

    def take(self, work: Callable[[], T]) -> Future[T]:
        """What `work` returns or raises, once it is durable."""
        future: Future[T] = Future()
        with self._change:
            if self._closed:
                raise SwarmloreError("this server is ending", "try again in a moment")
            if len(self._waiting) >= MOST_WAITING:
                raise StoreBusy("too many writes wait already", "try again in a moment")
            self._waiting.append((work, future))
            self._change.notify()
        return future

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def close(self, wait_s: float) -> None:
        """Do what was taken already, then end."""
        with self._change:
            self._closed = True
            self._change.notify()
        self._thread.join(wait_s)

    def _work(self) -> None:
        while self._wait():
            group: list[Turn] = []
            told: list[Told] = []
            try:
                self._store.look(partial(self._write, group, told))
            except BaseException as error:  # noqa: BLE001 - the group's commit failed: told to everyone in it
                owns = [own for _, own in told]
                told = [(None, own or error) for own in owns + [None] * (len(group) - len(owns))]
            for (_, future), end in zip(group, told, strict=True):
                _settle(future, *end)

    def _wait(self) -> bool:
        """Whether there is a turn; False where there will be none any more."""
        with self._change:
            while not self._waiting and not self._closed:
                self._change.wait()
            return bool(self._waiting)

    def _write(self, group: list[Turn], told: list[Told]) -> None:
        """Do the turns of a group, and those that come while they are done; what takes too long is left to the next."""
        told.clear()
        self._take(group)
        with self._alone(), self._store.together():
            until = time.monotonic() + GROUP_S
            while len(told) < len(group):
                told.append(self._done(*group[len(told)]))
                if not self._store.engine.intact:
                    self._give_up(group, told)
                if time.monotonic() < until:
                    self._take(group)
                else:
                    self._leave(group, len(told))

    def _take(self, group: list[Turn]) -> None:
        while self._waiting and len(group) < MOST_TURNS:
            group.append(self._waiting.popleft())

    def _leave(self, group: list[Turn], done: int) -> None:
        self._waiting.extendleft(reversed(group[done:]))
        del group[done:]

    def _give_up(self, group: list[Turn], told: list[Told]) -> None:
        """The last turn was the end of the transaction, whether it noticed or not: the others are done without it."""
        lost = StoreLost("the group of writes was given up; nothing was changed", "try again in a moment")
        _, future = group.pop(len(told) - 1)
        _, own = told.pop()
        _settle(future, None, own or lost)
        raise lost

    def _done(self, work: Callable[[], Any], future: Future[Any]) -> Told:
        if not _is_wanted(future):
            return None, None
        try:
            return work(), None
        except StoreLost as error:
            if self._store.engine.is_cut_off:
                raise  # with all that the group did so far
            return None, error
        except Exception as error:  # noqa: BLE001 - told to whoever asked; it was undone alone
            return None, error


def _is_wanted(future: Future[Any]) -> bool:
    """Whether whoever asked still waits; once it is begun, it is brought to its end."""
    return future.running() or (not future.done() and future.set_running_or_notify_cancel())


def _settle(future: Future[Any], result: Any, error: BaseException | None) -> None:
    if not _is_wanted(future):
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
