"""Child process of a worker: claims one job after the other, runs its handler, and reports to its parent.

It reports before a job begins and after it ended, so that the parent can kill it when a job takes too long, and knows
which job to blame if the process dies.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from swarmlore.clients.hook.home import spool_dir
from swarmlore.config import Settings, file_stamps
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.records import Job
from swarmlore.errors import StoreError, StoreReadOnly, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.lore import Lore
from swarmlore.lore.opening import open_store
from swarmlore.store.jobs import Terms

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from typing import Any

    from swarmlore.server.worker.handlers import Handler
    from swarmlore.store.engine import Watch
    from swarmlore.store.store import Store


PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Ask Linux to kill this process when its parent ends (PR_SET_PDEATHSIG)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the call
        os._exit(1)


def limit_memory(megabytes: int) -> None:
    """Limit the memory of this process, and disable core dumps, which may hold private text."""
    try:
        import resource
    except ImportError:  # Windows: the parent's check of the memory has to do
        return
    for kind, wanted in ((resource.RLIMIT_DATA, megabytes * 2**20), (resource.RLIMIT_CORE, 0)):
        _, most = resource.getrlimit(kind)
        bound = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (bound, most))


def megabytes_of(pid: int) -> float:
    """Return the memory of a process in MB; 0 if the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


RENEWALS = 3  # renewals per lease time


class Renewing:
    """Renews the lease of a running job from a thread, over a store connection opened for long jobs only."""

    def __init__(self, home: str, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._store: Store | None = None

    @contextmanager
    def of(self, job: Job) -> Iterator[None]:
        """Context manager: renew the lease of a job until it is lost or the job has ended."""
        ended = threading.Event()
        thread = threading.Thread(target=self._renew, args=(job, ended), name="swarmlore-renew", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _renew(self, job: Job, ended: threading.Event) -> None:
        own = self._settings.worker
        held = True
        while held and not ended.wait(own.lease_s / RENEWALS):
            try:
                store = self._connected()
                with store.engine.hurried(own.lease_s / RENEWALS):
                    held = store.renew(job, store.engine.now, own.lease_s)
            except SwarmloreError:
                continue  # a busy or unreachable store: the next renewal comes before the lease ends

    def _connected(self) -> Store:
        if self._store is None:
            self._store = open_store(self._home, self._settings, round(time.time(), 3))
            self._store.engine.leave_tidying()  # this connection writes one row: leave checkpoints to others
        return self._store

    def close(self) -> None:
        """Close the store connection."""
        if self._store is not None:
            self._store.close()


SLICE_S = 0.5  # of waiting, before the next check whether to stop
RACE_S = 0.02  # before the next claim, if another worker was quicker
TROUBLE_S = 1.0  # before the next attempt, while the store cannot be used
MOST_TROUBLE = 5
HEARTBEAT_S = 60.0
MOST_PAUSE_S = 600.0
MOST_ERROR = 300
MOST_OPEN = 64
NICE = 19
DIGEST_S = 30.0  # of digesting spooled events, before jobs run again


@frozen
class ChildOptions:
    """Start options of a child. `blame`: the job during which its predecessor died, and how. `release`: an interrupted
    job to give back; the child does nothing else."""

    home: str
    owner: str
    kinds: tuple[str, ...]
    team: bool = False
    until_empty: bool = False
    digests: bool = False
    blame: tuple[Job, str] | None = None
    release: Job | None = None
    parent: int = 0
    steps_back: bool = False  # lower priority beside a server, whose callers wait, while no one waits for an embedding
    env: Mapping[str, str] | None = None


def run(
    orders: ChildOptions, handlers: Mapping[str, Handler], pipe: Connection, other: Connection | None = None
) -> None:
    """Main function of a child. `other` is the parent's end of the pipe, which a forked child inherits."""
    for name in ("SIGINT", "SIGHUP"):  # a terminal signals both processes; the parent decides
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    die_with_parent(orders.parent)
    if other is not None:
        other.close()  # else the pipe would not close when the parent ends
    try:
        with Lore.open(orders.home, cwd=orders.home, client="worker", env=orders.env) as lore:
            if orders.release is not None:
                _give_back(lore, orders.release)
            else:
                _work(lore, orders, handlers, pipe)
    except SwarmloreError as error:
        pipe.send(("broken", error.message, error.hint))
    except BrokenPipeError:
        return  # the parent is gone; the results are in the store
    except Exception as error:
        what = f"the worker met something unforeseen ({type(error).__name__})"
        pipe.send(("broken", what, "please report it: swarmlore worker --until-empty shows where"))
        raise


def _work(lore: Lore, orders: ChildOptions, handlers: Mapping[str, Handler], pipe: Connection) -> None:
    """Run jobs until told to stop, and report at the end."""
    if lore.store.engine.readonly:
        raise StoreReadOnly(f"{lore.home} cannot be written", "check its owner and permissions")
    limit_memory(lore.settings.worker.memory_mb)
    if orders.steps_back:
        lore.embedding.step_back(NICE)
        lore.store.engine.leave_tidying()  # the server's checkpointer does it
    if "embed" in orders.kinds and lore.store.count_pending().get("embed"):
        lore.embed_later()  # texts without a job: from a former version, or imported files
    if "index" in orders.kinds:
        lore.index_later()
    _queue_silent_sessions(lore)
    runner = Runner(lore, orders, handlers, pipe.send, pipe.poll)
    runner.run()
    pipe.send(("leaves", runner.worn))


def _give_back(lore: Lore, job: Job) -> None:
    """Release an interrupted job without counting the attempt."""
    store = lore.store
    with lore.acting():
        store.look(lambda: store.release(job, store.engine.now))


def _queue_silent_sessions(lore: Lore) -> None:
    """Queue jobs for sessions whose end was never reported; does nothing if it ran a short time ago."""
    from swarmlore.capture.pipeline import is_time

    if not is_time(spool_dir(lore.home), lore.now()):
        return
    from swarmlore.capture.pipeline import SpoolReader

    with contextlib.suppress(StoreError, OSError):  # busy or full: the next run does it
        SpoolReader(lore).read_silent()


def run_due_jobs(
    lore: Lore, handlers: Mapping[str, Handler], owner: str, stopped: Callable[[], bool] = lambda: False
) -> None:
    """Run all due jobs in this process, for handlers that are known to be safe; failed ones wait for a retry."""
    orders = ChildOptions(lore.home, owner, tuple(handlers), until_empty=True)
    Runner(lore, orders, handlers, lambda _: None, stopped).run()


class Runner:
    """Claims and runs jobs until told to stop, or until none is due."""

    def __init__(
        self,
        lore: Lore,
        orders: ChildOptions,
        handlers: Mapping[str, Handler],
        report: Callable[[Any], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._lore = lore
        self._orders = orders
        self._handlers = handlers
        self._report = report
        self._stopped = stopped
        self._own = lore.settings.worker
        self._terms = Terms(orders.owner, orders.kinds, self._own.lease_s, self._own.attempts, orders.team)
        self._open: dict[tuple[object, ...], Lore] = {}
        self._heartbeat_at = time.monotonic()
        self._has_heartbeat = False
        self._inode = 0
        self.worn = False
        self._error = ""
        self._busy = False
        self._blame = orders.blame
        self._watch: Watch | None = None
        self._renewing = Renewing(lore.home, lore.settings)

    def run(self) -> None:
        """Run jobs; a locked, full or restarted store is retried up to five times in a row."""
        trouble = 0
        try:
            while not self._stopped() and not self.worn:
                try:
                    if not self._step():
                        return
                    trouble = 0
                except StoreError:
                    trouble += 1
                    if trouble == MOST_TROUBLE and self._orders.until_empty:
                        return  # a one-shot worker does not wait for the store
                    if trouble == MOST_TROUBLE:
                        raise  # the next child opens the store again: it may have been replaced
                    time.sleep(TROUBLE_S)
        finally:
            self._renewing.close()
            if self._watch is not None:
                self._watch.close()

    def _step(self) -> bool:
        """Run one job or wait once; return False when it is time to exit."""
        if self._blame is not None:
            self._fail(*self._blame)
            self._blame = None
        if not (self._has_heartbeat or self._orders.until_empty):
            self._heartbeat()
        worked = self._next()
        if time.monotonic() - self._heartbeat_at > HEARTBEAT_S or not (worked or self._has_heartbeat):
            self._heartbeat()
        if not worked and self._orders.digests:
            worked = self._digest()
        if worked or self._orders.until_empty:
            return worked
        if self._store_is_gone():
            self.worn = True
            return True
        if self._watch is None:  # claim once more after this, as the watch does not report earlier jobs
            self._watch = self._lore.store.engine.watch()
            return True
        return self._wait(self._watch)

    def _digest(self) -> bool:
        """Digest the events that hooks spooled, if no other process does; return whether there were any."""
        from swarmlore.capture.pipeline import SpoolReader

        return bool(sum(SpoolReader(self._lore).drain(DIGEST_S).counts))

    def _store_is_gone(self) -> bool:
        """Tell whether the store file was replaced, so that this process has a deleted one open."""
        own = _inode(self._lore)
        self._inode = self._inode or own
        return own != self._inode

    def _heartbeat(self) -> None:
        """Record a heartbeat of the worker, which `doctor` checks; the first one follows the first job."""
        with self._lore.acting():
            store = self._lore.store
            pid = self._orders.parent or os.getpid()
            store.seen_worker(self._orders.owner, _host(), pid, store.engine.now(), team=self._orders.team)
        self._heartbeat_at, self._has_heartbeat = time.monotonic(), True
        if "index" in self._orders.kinds and not self._orders.until_empty:  # a one-shot worker did this at its start
            self._lore.index_later()
        _queue_silent_sessions(self._lore)

    def _next(self) -> bool:
        """Claim and run the next job; return False if none is due."""
        store = self._lore.store
        with self._lore.acting():
            now = store.engine.now()
            likely = self._busy or store.due_in(self._terms, now) == 0  # this read needs no lock, but a claim does
            job = store.claim(self._terms, store.engine.now) if likely else None
        self._busy = job is not None
        if job is None:
            return False
        done, self._error = False, ""
        self._report(("job", job))
        try:
            done = self._do(job)
        finally:  # even if the store could not be updated: then the lease expires
            self._report(("ended", done, self._error))
        return True

    def _wait(self, watch: Watch) -> bool:
        """Wait until a job is queued or due, or the poll interval is over; return False when told to stop."""
        with self._lore.acting():
            due = self._lore.store.due_in(self._terms, self._lore.store.engine.now())
        left = self._own.poll_s if due is None else min(self._own.poll_s, max(RACE_S, due))
        deadline = time.monotonic() + left
        while not self._stopped() and (left := deadline - time.monotonic()) > 0:
            if watch.wait(min(SLICE_S, left)):
                return True
        return not self._stopped()

    def _do(self, job: Job) -> bool:
        """Run the handler of a job and record the result, which counts only while this worker holds the lease."""
        try:
            with self._renewing.of(job):
                self._handlers[job.kind](self._lore_of(job), job)
        except BaseException as error:  # noqa: BLE001 - the worker's loop must survive its handlers
            self.worn = isinstance(error, MemoryError)  # a process that ran out of memory is not reliable
            self._error = described(error)
            self._fail(job, self._error)
            return False
        return self._finish(job)

    def _lore_of(self, job: Job) -> Lore:
        """Return the `Lore` of the caller that queued the job, with the current settings."""
        folder = job.folder if os.path.isdir(job.folder) else self._lore.home
        key = (job.caller, folder, file_stamps(self._lore.home, folder))
        if key not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._open.clear()
            self._open[key] = self._lore.acting_as(job.caller, folder)
        return self._open[key]

    def _finish(self, job: Job) -> bool:
        store = self._lore.store
        with self._lore.acting():
            return store.look(lambda: store.finish(job, store.engine.now))

    def _fail(self, job: Job, error: str) -> None:
        """Record a failed attempt and when to try again: exponential backoff with jitter, 600 seconds at most."""
        pause_s = min(MOST_PAUSE_S, self._own.backoff_s * 2 ** (job.attempts - 1)) * random.uniform(0.75, 1.25)
        store, most = self._lore.store, self._own.attempts
        with self._lore.acting():
            store.look(lambda: store.fail(job, error, store.engine.now, pause_s=pause_s, attempts=most))


def _inode(lore: Lore) -> int:
    """Return the inode of the store file; 0 for PostgreSQL, -1 if there is no file."""
    if lore.store.engine.remote:
        return 0
    try:
        return os.stat(lore.store.engine.facts()["path"]).st_ino
    except OSError:
        return -1


def _host() -> str:
    """Return the host name; importing `platform` or `socket` would cost too much here."""
    return (os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", ""))[:100]


def described(error: BaseException) -> str:
    """Return an error as one line without secrets, with its class name first."""
    message = str(error)
    if isinstance(error, SwarmloreError):
        message = f"{error.message} ({error.hint})" if error.hint else error.message
    line = f"{type(error).__name__}: {message}".rstrip(": ")  # other agents are shown only the part before the colon
    plain = " ".join(line[: 8 * MOST_ERROR].split()).encode("utf-8", "replace").decode()
    return scrub_text(plain)[:MOST_ERROR]  # cut after the redaction: half a secret is not recognised
