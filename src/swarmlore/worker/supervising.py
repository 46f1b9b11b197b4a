"""The worker itself: starts a child, watches it, and starts the next one when it is gone.

It opens no store and runs no handler, so nothing that a job does can bring it down: one that hangs is ended after its
time, one that eats memory is ended at its limit, one that ends its process has ended only that. Each costs the job one
of its attempts.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping
from multiprocessing import connection

from swarmlore.errors import StoreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.worker.limits import megabytes_of
from swarmlore.worker.running import Orders, run

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.config import WorkerSettings
    from swarmlore.records import Job
    from swarmlore.worker.handlers import Handler

TICK_S = 0.1  # between two looks at a child that has a job
IDLE_TICK_S = 0.5
DRAIN_S = 5.0  # for the job at hand, after a signal to stop
PAUSE_S = 1.0  # before the next child, where the last one could not even begin


@frozen
class Tally:
    """How many jobs were done, and how often one was not."""

    done: int = 0
    failed: int = 0


class _Child:
    """One child process, and what it was last heard to do."""

    def __init__(self, orders: Orders, handlers: Mapping[str, Handler]) -> None:
        # A copy of this process where that is safe: it has one thread and no file of the store open.
        copied = sys.platform.startswith("linux")
        context: Any = multiprocessing.get_context("fork" if copied else "spawn")
        self.pipe, theirs = context.Pipe()
        args = (orders, handlers, theirs, self.pipe if copied else None)
        self.process = context.Process(target=run, args=args, daemon=True)
        self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.since = 0.0
        self.problem: tuple[str, str] | None = None
        self.left = False
        self.worked = False
        self._asked = False

    def hear(self, seconds: float) -> list[Any]:
        """What it says within a while; nothing, sooner, where it ended."""
        connection.wait([self.pipe, self.process.sentinel], seconds)
        said = []
        try:
            while self.pipe.poll():
                said.append(self.pipe.recv())
        except (EOFError, OSError):
            pass
        return said

    def ask_to_leave(self) -> None:
        if not self._asked:
            self._asked = True
            with contextlib.suppress(OSError):
                self.pipe.send("stop")

    def end(self) -> None:
        self.process.kill()
        self.process.join()

    def close(self) -> None:
        self.process.join()
        self.process.close()
        self.pipe.close()


class Worker:
    """Does jobs, one at a time, until it is told to stop or, where that is asked, until nothing is due."""

    def __init__(self, orders: Orders, handlers: Mapping[str, Handler], settings: WorkerSettings) -> None:
        self._orders = replace(orders, parent=os.getpid())
        self._handlers = handlers
        self._settings = settings
        self._stop_at: float | None = None
        self._worked = False
        self.tally = Tally()

    def stop(self, *_: object) -> None:
        """Let the job at hand come to its end, for a moment; take no other."""
        self._stop_at = self._stop_at or time.monotonic()

    def listen_to_signals(self) -> None:
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self.stop)

    def work(self, limit_s: float = float("inf")) -> Tally:
        """Until stopped, until nothing is due, or for so long."""
        deadline = time.monotonic() + limit_s
        blame: tuple[Job, str] | None = None
        while self._stop_at is None and time.monotonic() < deadline:
            child = _Child(replace(self._orders, blame=blame), self._handlers)
            try:
                blame = self._watch(child, deadline)
                if (child.left and self._orders.until_empty) or self._stop_at is not None:
                    break
                self._check(child)
            finally:
                child.end()
                child.close()
        return self.tally

    def _watch(self, child: _Child, deadline: float) -> tuple[Job, str] | None:
        """Until a child is gone; the job that it had then, and what happened to it."""
        while child.process.is_alive():
            self._take(child, child.hear(TICK_S if child.job else IDLE_TICK_S))
            why = self._too_much(child) if child.job else ""
            if why:
                child.end()
                return self._failed(child, why)
            if time.monotonic() > deadline:
                self.stop()
            self._leave(child)
        self._take(child, child.hear(0))
        code = child.process.exitcode or 0
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return self._failed(child, f"the handler ended its process ({how})") if child.job else None

    def _take(self, child: _Child, said: list[Any]) -> None:
        for word, *rest in said:
            self._worked = self._worked or word != "broken"
            if word == "job":
                child.job, child.since, child.worked = rest[0], time.monotonic(), True
            elif word == "ended":
                child.job = None
                done, failed = self.tally.done, self.tally.failed
                self.tally = Tally(done + 1, failed) if rest[0] else Tally(done, failed + 1)
            elif word == "broken":
                child.problem = (rest[0], rest[1])
            elif word == "leaves":
                child.left = not rest[0]

    def _too_much(self, child: _Child) -> str:
        own = self._settings
        if time.monotonic() - child.since > own.job_s:
            return f"it took longer than {own.job_s:g} s"
        if megabytes_of(child.process.pid or 0) > own.memory_mb:
            return f"it took more than {own.memory_mb} MB of memory"
        return ""

    def _failed(self, child: _Child, why: str) -> tuple[Job, str] | None:
        self.tally = replace(self.tally, failed=self.tally.failed + 1)
        return (child.job, why) if child.job else None

    def _leave(self, child: _Child) -> None:
        """Where it is time to stop: ask, and after a while do not ask any more."""
        if self._stop_at is None:
            return
        child.ask_to_leave()
        if time.monotonic() - self._stop_at > DRAIN_S:
            child.end()

    def _check(self, child: _Child) -> None:
        """A store that could never be opened is for the user to know; one that is gone for the moment is waited for."""
        if child.problem is not None and not self._worked:
            raise StoreError(*child.problem)
        if not child.worked:
            time.sleep(PAUSE_S)  # not in a tight loop
