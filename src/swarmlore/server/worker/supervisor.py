"""Parent process of the worker: starts a child that runs jobs, kills it when a job exceeds its limits, and starts the
next one."""

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
from swarmlore.clients.hook.spool import try_lock
from swarmlore.errors import StoreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.server.worker.child import ChildOptions, megabytes_of, run
from swarmlore.server.worker.handlers import HANDLERS
from swarmlore.store.jobs import Terms

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.config import WorkerSettings
    from swarmlore.domain.records import Job
    from swarmlore.lore import Lore
    from swarmlore.server.worker.handlers import Handler


WITH_PARENT = "SWARMLORE_SERVER_PID"  # set by a server to its process id: its worker ends with it
TICK_S = 0.1  # between two checks of a child that has a job
IDLE_TICK_S = 0.5
DRAIN_S = 5.0  # for the current job, after a signal to stop
RELEASE_S = 5.0
LEAVE_S = 2.0  # from the last message of a child to the end of its process
MOST_IN_VAIN = 3  # children in a row that did no job
PAUSE_S = 1.0  # before the next child, if the last one could not begin a job


@frozen
class Tally:
    """Counts of completed and failed jobs."""

    done: int = 0
    failed: int = 0


class _Child:
    """A child process, its pipe, and the job that it last reported."""

    def __init__(self, orders: ChildOptions, handlers: Mapping[str, Handler]) -> None:
        # Fork where that is safe: this process has no store open, and one thread. A lock that another thread holds at
        # the fork stays locked in the child for good.
        forked = sys.platform.startswith("linux") and len(os.listdir("/proc/self/task")) == 1
        context: Any = multiprocessing.get_context("fork" if forked else "spawn")
        self.pipe, theirs = context.Pipe()
        args = (orders, handlers, theirs, self.pipe if forked else None)
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

    def receive(self, seconds: float) -> list[Any]:
        """Return the messages of the child within a time; return early if it ended."""
        connection.wait([self.pipe, self.process.sentinel], seconds)
        messages = []
        try:
            while self.pipe.poll():
                messages.append(self.pipe.recv())
        except (EOFError, OSError):
            pass
        return messages

    def ask_to_leave(self) -> None:
        """Ask the child, once, to stop after its current job."""
        if not self._asked:
            self._asked = True
            with contextlib.suppress(OSError):
                self.pipe.send("stop")

    def end(self) -> None:
        """Kill the child."""
        self.process.kill()
        self.process.join()

    def close(self) -> None:
        """Wait for the child and release its pipe."""
        self.process.join()
        self.process.close()
        self.pipe.close()


class Worker:
    """Runs jobs in child processes, one at a time, until stopped or, with `until_empty`, until none is due."""

    def __init__(
        self,
        orders: ChildOptions,
        handlers: Mapping[str, Handler],
        settings: WorkerSettings,
        report: Callable[[Job, str], None] = lambda _job, _error: None,
    ) -> None:
        self._orders = replace(orders, parent=os.getpid())
        self._handlers = handlers
        self._settings = settings
        self._report = report  # called with an ended job and its error
        self._stop_at: float | None = None
        self._parent = 0
        self._drain_s = DRAIN_S
        self._worked = False
        self.tally = Tally()

    def stop(self, *_: object) -> None:
        """Stop after the current job; take no other. Also a signal handler."""
        self._stop_at = self._stop_at or time.monotonic()

    def stay_with(self, parent: int) -> None:
        """Stop when the process `parent` that started this one is gone."""
        self._parent = parent

    def listen_to_signals(self) -> None:
        """Stop on SIGTERM, SIGINT and SIGHUP."""
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self.stop)

    def work(self, limit_s: float = float("inf"), drain_s: float = DRAIN_S) -> Tally:
        """Run jobs until stopped, until none is due, or for `limit_s`; then the current job has `drain_s` to finish."""
        deadline, self._drain_s = time.monotonic() + limit_s, drain_s
        blame: tuple[Job, str] | None = None
        in_vain = 0
        while self._stop_at is None and time.monotonic() < deadline:
            child = _Child(replace(self._orders, blame=blame), self._handlers)
            try:
                blame = self._watch(child, deadline)
                if (child.left and self._orders.until_empty) or self._stop_at is not None:
                    break
                self._check_store(child)
                in_vain = 0 if child.worked else in_vain + 1
                if self._orders.until_empty and in_vain == MOST_IN_VAIN:
                    break  # a one-shot worker gives up; the jobs stay queued
            finally:
                child.end()
                child.close()
        if blame is not None:
            self._give_back(blame[0])
        return self.tally

    def _give_back(self, job: Job) -> None:
        """Release a job that this worker interrupted itself, from a last child, so that it costs no attempt."""
        self.tally = replace(self.tally, failed=self.tally.failed - 1)
        child = _Child(replace(self._orders, release=job), {})
        child.process.join(RELEASE_S)  # else its lease expires, which costs an attempt
        child.end()
        child.close()

    def _watch(self, child: _Child, deadline: float) -> tuple[Job, str] | None:
        """Watch a child until it is gone; return the job that it had then, and why it ended."""
        while child.process.is_alive():
            self._receive(child, child.receive(TICK_S if child.job else IDLE_TICK_S))
            why = self._exceeded_limit(child) if child.job else ""
            if why:
                child.end()
                return self._failed(child, why)
            if time.monotonic() > deadline or (self._parent and os.getppid() != self._parent):
                self.stop()
            self._drain(child)
            if child.left_at and time.monotonic() - child.left_at > LEAVE_S:
                child.end()  # a handler left a thread that does not end
        self._receive(child, child.receive(0))
        code = child.process.exitcode or 0
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return self._failed(child, f"the handler ended its process ({how})") if child.job else None

    def _receive(self, child: _Child, messages: list[Any]) -> None:
        """Process the messages of a child."""
        for word, *rest in messages:
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

    def _exceeded_limit(self, child: _Child) -> str:
        """Return which limit of time or memory the job exceeds; '' if none."""
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

    def _drain(self, child: _Child) -> None:
        """If stopped, ask the child to leave, and kill it after the drain time."""
        if self._stop_at is None:
            return
        child.ask_to_leave()
        if time.monotonic() - self._stop_at > self._drain_s:
            child.end()

    def _check_store(self, child: _Child) -> None:
        """Raise StoreError if no child could ever open the store; if one could before, wait a second for the store."""
        if child.problem is not None and not self._worked:
            raise StoreError(*child.problem)
        if not child.worked:
            time.sleep(PAUSE_S)  # not in a tight loop


LOCK = "burst.lock"
KINDS = tuple(kind for kind in HANDLERS if kind != "embed")  # only long-lived processes load the model


def new_owner() -> str:
    """Return a unique name under which a worker holds its leases."""
    return f"{os.getpid()}-{os.urandom(8).hex()}"


def is_due(lore: Lore, kinds: tuple[str, ...] = KINDS) -> bool:
    """Tell whether a job can be claimed now; only reads."""
    with lore.acting():
        return lore.store.due_in(Terms("", kinds), lore.store.engine.now()) == 0


def run_once(home: str, limit_s: float, outlive: Callable[[float], None]) -> None:
    """One-shot worker: run every due job within `limit_s`, unless another one-shot worker of this home runs; the last
    job may take the time limit of jobs. This process must have one thread, and the store closed."""

    fd = os.open(os.path.join(spool_dir(home), LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if try_lock(fd):
            orders = ChildOptions(home, new_owner(), KINDS, until_empty=True)
            settings = config.load(home, "", os.environ).worker
            outlive(settings.job_s + limit_s)
            Worker(orders, HANDLERS, settings).work(max(0.0, limit_s), settings.job_s)
    finally:
        os.close(fd)
