"""A worker for a moment: what is due now is done, then it is gone. For whoever leaves a process behind anyway."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing import connection

from swarmlore import config
from swarmlore.clients.hook.home import spool_dir
from swarmlore.clients.hook.spool import locked
from swarmlore.errors import StoreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.server.worker.child import Orders, megabytes_of, run
from swarmlore.server.worker.handlers import HANDLERS
from swarmlore.store.jobs import Terms

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.config import WorkerSettings
    from swarmlore.domain.records import Job
    from swarmlore.lore import Lore
    from swarmlore.server.worker.handlers import Handler


WITH_PARENT = "SWARMLORE_SERVER_PID"  # set by a server: its process, with which its worker ends
TICK_S = 0.1  # between two looks at a child that has a job
IDLE_TICK_S = 0.5
DRAIN_S = 5.0  # for the job at hand, after a signal to stop
RELEASE_S = 5.0
LEAVE_S = 2.0  # from its last word to the end of its process
MOST_IN_VAIN = 3  # children in a row that came to nothing
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
        self.left_at = 0.0
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

    def __init__(
        self,
        orders: Orders,
        handlers: Mapping[str, Handler],
        settings: WorkerSettings,
        report: Callable[[Job, str], None] = lambda _job, _error: None,
    ) -> None:
        self._orders = replace(orders, parent=os.getpid())
        self._handlers = handlers
        self._settings = settings
        self._report = report  # a job that has ended, and what went wrong
        self._stop_at: float | None = None
        self._parent = 0
        self._drain_s = DRAIN_S
        self._worked = False
        self.tally = Tally()

    def stop(self, *_: object) -> None:
        """Let the job at hand come to its end, for a moment; take no other."""
        self._stop_at = self._stop_at or time.monotonic()

    def stay_with(self, parent: int) -> None:
        """End when the process is gone that started this one, however it went."""
        self._parent = parent

    def listen_to_signals(self) -> None:
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self.stop)

    def work(self, limit_s: float = float("inf"), drain_s: float = DRAIN_S) -> Tally:
        """Until stopped, until nothing is due, or for so long; the job at hand then has so long to come to its end."""
        deadline, self._drain_s = time.monotonic() + limit_s, drain_s
        blame: tuple[Job, str] | None = None
        in_vain = 0
        while self._stop_at is None and time.monotonic() < deadline:
            child = _Child(replace(self._orders, blame=blame), self._handlers)
            try:
                blame = self._watch(child, deadline)
                if (child.left and self._orders.until_empty) or self._stop_at is not None:
                    break
                self._check(child)
                in_vain = 0 if child.worked else in_vain + 1
                if self._orders.until_empty and in_vain == MOST_IN_VAIN:
                    break  # whoever came for a moment does not try for ever; the queue knows what is left
            finally:
                child.end()
                child.close()
        if blame is not None:
            self._give_back(blame[0])
        return self.tally

    def _give_back(self, job: Job) -> None:
        """A job that we interrupted ourselves is not to blame: a last child tells the store so, in a moment."""
        self.tally = replace(self.tally, failed=self.tally.failed - 1)
        child = _Child(replace(self._orders, release=job), {})
        child.process.join(RELEASE_S)  # else its lease ends by itself, and costs an attempt
        child.end()
        child.close()

    def _watch(self, child: _Child, deadline: float) -> tuple[Job, str] | None:
        """Until a child is gone; the job that it had then, and what happened to it."""
        while child.process.is_alive():
            self._take(child, child.hear(TICK_S if child.job else IDLE_TICK_S))
            why = self._too_much(child) if child.job else ""
            if why:
                child.end()
                return self._failed(child, why)
            if time.monotonic() > deadline or (self._parent and os.getppid() != self._parent):
                self.stop()
            self._leave(child)
            if child.left_at and time.monotonic() - child.left_at > LEAVE_S:
                child.end()  # a handler left something behind that does not end
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
                if child.job is not None:
                    self._report(child.job, "" if rest[0] else rest[1] or "the lease was lost")
                child.job = None
                done, failed = self.tally.done, self.tally.failed
                self.tally = Tally(done + 1, failed) if rest[0] else Tally(done, failed + 1)
            elif word == "broken":
                child.problem = (rest[0], rest[1])
            elif word == "leaves":
                child.left, child.left_at = not rest[0], time.monotonic()

    def _too_much(self, child: _Child) -> str:
        own = self._settings
        if time.monotonic() - child.since > own.job_s:
            return f"it took longer than {own.job_s:g} s"
        if megabytes_of(child.process.pid or 0) > own.memory_mb:
            return f"it took more than {own.memory_mb} MB of memory"
        return ""

    def _failed(self, child: _Child, why: str) -> tuple[Job, str] | None:
        self.tally = replace(self.tally, failed=self.tally.failed + 1)
        if child.job is not None and self._stop_at is None:
            self._report(child.job, why)
        return (child.job, why) if child.job else None

    def _leave(self, child: _Child) -> None:
        """Where it is time to stop: ask, and after a while do not ask any more."""
        if self._stop_at is None:
            return
        child.ask_to_leave()
        if time.monotonic() - self._stop_at > self._drain_s:
            child.end()

    def _check(self, child: _Child) -> None:
        """A store that could never be opened is for the user to know; one that is gone for the moment is waited for."""
        if child.problem is not None and not self._worked:
            raise StoreError(*child.problem)
        if not child.worked:
            time.sleep(PAUSE_S)  # not in a tight loop


LOCK = "burst.lock"
KINDS = tuple(kind for kind in HANDLERS if kind != "embed")  # loading the model is for those who stay


def new_owner() -> str:
    """The name under which a worker holds its leases."""
    return f"{os.getpid()}-{os.urandom(8).hex()}"


def is_due(lore: Lore, kinds: tuple[str, ...] = KINDS) -> bool:
    """Whether a job can be taken now; only reads."""
    with lore.acting():
        return lore.store.due_in(Terms("", kinds), lore.store.engine.now()) == 0


def burst(home: str, limit_s: float, outlive: Callable[[float], None]) -> None:
    """Take what is due, for so long at most, unless another process of this home is at it; the last job may take the
    time that jobs may take. This process must have one thread, and the store closed."""

    fd = os.open(os.path.join(spool_dir(home), LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if locked(fd):
            orders = Orders(home, new_owner(), KINDS, until_empty=True)
            settings = config.load(home, "", os.environ).worker
            outlive(settings.job_s + limit_s)
            Worker(orders, HANDLERS, settings).work(max(0.0, limit_s), settings.job_s)
    finally:
        os.close(fd)
