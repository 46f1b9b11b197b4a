"""Group commit: one writer thread batches concurrent writes into one transaction and one fsync.

Waiting for the disk is the largest cost of a small write. Each caller is answered after the commit of its group, so an
answer still means that the text is on disk. As there is only one writer, callers never lock each other out. If the
database connection breaks, nothing of the group was changed, and the whole group runs again.
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

    Write = tuple[Callable[[], Any], Future[Any]]
    Result = tuple[Any, BaseException | None]  # what a write returned, or raised


MOST_IN_GROUP = 64
GROUP_S = 0.03  # after this a group takes no more writes: its first one waits for the commit
MOST_WAITING = 2_000


class GroupCommit:
    """Queues writes from any thread and commits them in groups. `exclusive` returns a context manager that locks the
    store for one group."""

    def __init__(self, store: Store, exclusive: Callable[[], AbstractContextManager[Any]]) -> None:
        self._store = store
        self._exclusive = exclusive
        self._waiting: deque[Write] = deque()
        self._change = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="swarmlore-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Queue a write. The future gives what `work` returns or raises, once it is durable."""
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
        """The number of queued writes."""
        return len(self._waiting)

    def close(self, wait_s: float) -> None:
        """Finish the queued writes, then stop the thread; wait for it no longer than `wait_s`."""
        with self._change:
            self._closed = True
            self._change.notify()
        self._thread.join(wait_s)

    def _work(self) -> None:
        while self._wait():
            group: list[Write] = []
            results: list[Result] = []
            try:
                self._store.look(partial(self._write, group, results))
            except BaseException as error:  # noqa: BLE001 - the commit failed: every caller in the group gets the error
                errors = [own for _, own in results]
                results = [(None, own or error) for own in errors + [None] * (len(group) - len(errors))]
            for (_, future), result in zip(group, results, strict=True):
                _settle(future, *result)

    def _wait(self) -> bool:
        """Block until a write is queued; return False once the queue is closed and empty."""
        with self._change:
            while not self._waiting and not self._closed:
                self._change.wait()
            return bool(self._waiting)

    def _write(self, group: list[Write], results: list[Result]) -> None:
        """Run the writes of a group, and those queued meanwhile; after `GROUP_S` leave the others to the next group."""
        results.clear()
        self._fill(group)
        with self._exclusive(), self._store.together():
            until = time.monotonic() + GROUP_S
            while len(results) < len(group):
                results.append(self._result_of(*group[len(results)]))
                if not self._store.engine.intact:
                    self._give_up(group, results)
                if time.monotonic() < until:
                    self._fill(group)
                else:
                    self._put_back(group, len(results))

    def _fill(self, group: list[Write]) -> None:
        while self._waiting and len(group) < MOST_IN_GROUP:
            group.append(self._waiting.popleft())

    def _put_back(self, group: list[Write], done: int) -> None:
        self._waiting.extendleft(reversed(group[done:]))
        del group[done:]

    def _give_up(self, group: list[Write], results: list[Result]) -> None:
        """Fail the last write of the group, which ended the transaction, and raise StoreLost: the others run again."""
        lost = StoreLost("the group of writes was given up; nothing was changed", "try again in a moment")
        _, future = group.pop(len(results) - 1)
        _, own = results.pop()
        _settle(future, None, own or lost)
        raise lost

    def _result_of(self, work: Callable[[], Any], future: Future[Any]) -> Result:
        """Run one write and return its result or its error; raise only a lost connection, which fails the group."""
        if not _is_wanted(future):
            return None, None
        try:
            return work(), None
        except StoreLost as error:
            if self._store.engine.is_cut_off:
                raise  # everything that the group did so far is lost
            return None, error
        except Exception as error:  # noqa: BLE001 - returned to its caller; only this write was rolled back
            return None, error


def _is_wanted(future: Future[Any]) -> bool:
    """Tell whether the caller has not cancelled the write; a write that began can no longer be cancelled."""
    return future.running() or (not future.done() and future.set_running_or_notify_cancel())


def _settle(future: Future[Any], result: Any, error: BaseException | None) -> None:
    """Set the result or the error of a future, unless it was cancelled."""
    if not _is_wanted(future):
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
