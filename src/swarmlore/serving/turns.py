"""The writes of many callers, one after the other in one thread; those that came meanwhile share a wait for the disk.

Waiting for the disk is what a small write costs most. Whoever writes is answered after the commit of its group, so an
answer still means that the text is on disk; and as there is one writer, nobody is kept out by others.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future

from swarmlore.errors import StoreBusy, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from swarmlore.store.store import Store

    T = TypeVar("T")

    Turn = tuple[Callable[[], Any], "Future[Any]"]

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
            group: list[tuple[Future[Any], Any, BaseException | None]] = []
            try:
                with self._alone(), self._store.together():
                    self._fill(group)
            except BaseException as error:  # noqa: BLE001 - the group's commit failed: told to everyone in it
                group = [(future, None, own or error) for future, _, own in group]
            for turn in group:
                _settle(*turn)

    def _wait(self) -> bool:
        """Whether there is a turn; False where there will be none any more."""
        with self._change:
            while not self._waiting and not self._closed:
                self._change.wait()
            return bool(self._waiting)

    def _fill(self, group: list[tuple[Future[Any], Any, BaseException | None]]) -> None:
        """Do the turns of one group: those that wait, and those that come while they are done."""
        until = time.monotonic() + GROUP_S
        while self._waiting and len(group) < MOST_TURNS:
            work, future = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue  # whoever asked has gone
            try:
                group.append((future, work(), None))
            except Exception as error:  # noqa: BLE001 - told to whoever asked; it was undone alone
                group.append((future, None, error))
            if time.monotonic() > until:
                return


def _settle(future: Future[Any], result: Any, error: BaseException | None) -> None:
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
