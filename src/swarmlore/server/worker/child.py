"""The child of a worker: takes one job after the other, runs its handler, and tells how it went.

Its parent is told before a job begins and after it ended, so that it can end this process when a job takes too long,
and knows what to blame when this process is gone.
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
from swarmlore.config import Settings, stamps
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
    """Let the system kill this process when its parent ends, where it can do that."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the system knew
        os._exit(1)


def limit_memory(megabytes: int) -> None:
    """Refuse what goes beyond; and leave no image of the memory behind, which may hold anything."""
    try:
        import resource
    except ImportError:  # Windows: the watch over the process has to do
        return
    for kind, wanted in ((resource.RLIMIT_DATA, megabytes * 2**20), (resource.RLIMIT_CORE, 0)):
        _, most = resource.getrlimit(kind)
        bound = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (bound, most))


def megabytes_of(pid: int) -> float:
    """What a process takes of the memory, 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


RENEWALS = 3  # tries in the time of one lease


class Renewing:
    """Renews the lease of the job at hand; nothing is opened for jobs that are done before that."""

    def __init__(self, home: str, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._store: Store | None = None

    @contextmanager
    def of(self, job: Job) -> Iterator[None]:
        """Inside, the lease is renewed until it is lost or the job has ended."""
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
                store = self._opened()
                with store.engine.hurried(own.lease_s / RENEWALS):
                    held = store.renew(job, store.engine.now, own.lease_s)
            except SwarmloreError:
                continue  # a store that is busy or gone for the moment: there is another try before the lease ends

    def _opened(self) -> Store:
        if self._store is None:
            self._store = open_store(self._home, self._settings, round(time.time(), 3))
            self._store.engine.leave_tidying()  # a lease is a row: whoever writes more does it
        return self._store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


SLICE_S = 0.5  # of waiting, before a look whether to stop
RACE_S = 0.02  # before the next look, where another worker was quicker
TROUBLE_S = 1.0  # before the next look, while the store cannot be used
MOST_TROUBLE = 5
TELL_S = 60.0  # between two signs of life
MOST_PAUSE_S = 600.0
MOST_ERROR = 300
MOST_OPEN = 64
NICE = 19
DIGEST_S = 30.0  # of taking in what hooks left, before jobs have their turn again


@frozen
class Orders:
    """What a child is started with. `blame`: the job during which its predecessor ended, and how. `release`: a job that
    was interrupted because the worker has to leave; giving it back is all there is to do then."""

    home: str
    owner: str
    kinds: tuple[str, ...]
    team: bool = False
    until_empty: bool = False
    digests: bool = False
    blame: tuple[Job, str] | None = None
    release: Job | None = None
    parent: int = 0
    steps_back: bool = False  # for those who ask a server: they wait for an answer, nobody waits for a vector
    env: Mapping[str, str] | None = None


def run(orders: Orders, handlers: Mapping[str, Handler], pipe: Connection, other: Connection | None = None) -> None:
    """The whole life of a child. `other` is the parent's end of the pipe, which a copy of the parent has as well."""
    for name in ("SIGINT", "SIGHUP"):  # a terminal tells both; the parent decides
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    die_with_parent(orders.parent)
    if other is not None:
        other.close()  # else the end of the parent would not be the end of the pipe
    try:
        with Lore.open(orders.home, cwd=orders.home, client="worker", env=orders.env) as lore:
            if orders.release is not None:
                _give_back(lore, orders.release)
            else:
                _work(lore, orders, handlers, pipe)
    except SwarmloreError as error:
        pipe.send(("broken", error.message, error.hint))
    except BrokenPipeError:
        return  # the parent is gone; what it was to be told, the store knows
    except Exception as error:
        what = f"the worker met something unforeseen ({type(error).__name__})"
        pipe.send(("broken", what, "please report it: swarmlore worker --until-empty shows where"))
        raise


def _work(lore: Lore, orders: Orders, handlers: Mapping[str, Handler], pipe: Connection) -> None:
    if lore.store.engine.readonly:
        raise StoreReadOnly(f"{lore.home} cannot be written", "check its owner and permissions")
    limit_memory(lore.settings.worker.memory_mb)
    if orders.steps_back:
        lore.embedding.step_back(NICE)
        lore.store.engine.leave_tidying()  # the server does it, while nobody waits for a commit
    if "embed" in orders.kinds and lore.store.count_pending().get("embed"):
        lore.embed_later()  # what came in without a job: from a former version, or through files
    if "index" in orders.kinds:
        lore.index_later()
    _look_for_silent(lore)
    runner = Runner(lore, orders, handlers, pipe.send, pipe.poll)
    runner.run()
    pipe.send(("leaves", runner.worn))


def _give_back(lore: Lore, job: Job) -> None:
    store = lore.store
    with lore.acting():
        store.look(lambda: store.release(job, store.engine.now))


def _look_for_silent(lore: Lore) -> None:
    """Leave work for sessions whose end nobody reported; now and then, however often this is called."""
    from swarmlore.capture.pipeline import is_time

    if not is_time(spool_dir(lore.home), lore.now()):
        return
    from swarmlore.capture.pipeline import Digester

    with contextlib.suppress(StoreError, OSError):  # busy or full: the next look does it
        Digester(lore).read_silent()


def do_here(
    lore: Lore, handlers: Mapping[str, Handler], owner: str, stopped: Callable[[], bool] = lambda: False
) -> None:
    """Do what is due in this process, for handlers that are known to behave; one that fails waits for its next try."""
    orders = Orders(lore.home, owner, tuple(handlers), until_empty=True)
    Runner(lore, orders, handlers, lambda _: None, stopped).run()


class Runner:
    """Does jobs until it is told to stop, or until nothing is due."""

    def __init__(
        self,
        lore: Lore,
        orders: Orders,
        handlers: Mapping[str, Handler],
        tell: Callable[[Any], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._lore = lore
        self._orders = orders
        self._handlers = handlers
        self._tell = tell
        self._stopped = stopped
        self._own = lore.settings.worker
        self._terms = Terms(orders.owner, orders.kinds, self._own.lease_s, self._own.attempts, orders.team)
        self._open: dict[tuple[object, ...], Lore] = {}
        self._told_at = time.monotonic()
        self._is_known = False
        self._inode = 0
        self.worn = False
        self._error = ""
        self._busy = False
        self._blame = orders.blame
        self._watch: Watch | None = None
        self._renewing = Renewing(lore.home, lore.settings)

    def run(self) -> None:
        """Go on through whatever happens to the store: it may be locked, full or restarted."""
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
                        return  # whoever came for a moment does not wait for better times
                    if trouble == MOST_TROUBLE:
                        raise  # the next child opens the store anew: it may be another one
                    time.sleep(TROUBLE_S)
        finally:
            self._renewing.close()
            if self._watch is not None:
                self._watch.close()

    def _step(self) -> bool:
        """One job or one wait; False where it is time to leave."""
        if self._blame is not None:
            self._fail(*self._blame)
            self._blame = None
        if not (self._is_known or self._orders.until_empty):
            self._sign()
        did = self._next()
        if time.monotonic() - self._told_at > TELL_S or not (did or self._is_known):
            self._sign()
        if not did and self._orders.digests:
            did = self._take_in()
        if did or self._orders.until_empty:
            return did
        if self._store_is_gone():
            self.worn = True
            return True
        if self._watch is None:  # one more look after it, as what came before is not told
            self._watch = self._lore.store.engine.watch()
            return True
        return self._wait(self._watch)

    def _take_in(self) -> bool:
        """What hooks left on disk, while nobody else does that; whether there was anything."""
        from swarmlore.capture.pipeline import Digester

        return bool(sum(Digester(self._lore).drain(DIGEST_S).counts))

    def _store_is_gone(self) -> bool:
        """Whether another file is where the store was: this one is nobody's any more."""
        own = _inode(self._lore)
        self._inode = self._inode or own
        return own != self._inode

    def _sign(self) -> None:
        """Tell now and then that there is a worker; `doctor` looks for that. Jobs go first."""
        with self._lore.acting():
            store = self._lore.store
            pid = self._orders.parent or os.getpid()
            store.seen_worker(self._orders.owner, _host(), pid, store.engine.now(), team=self._orders.team)
        self._told_at, self._is_known = time.monotonic(), True
        if "index" in self._orders.kinds and not self._orders.until_empty:  # whoever leaves looked when it came
            self._lore.index_later()
        _look_for_silent(self._lore)

    def _next(self) -> bool:
        """Do the next job; False where none is due."""
        store = self._lore.store
        with self._lore.acting():
            now = store.engine.now()
            likely = self._busy or store.due_in(self._terms, now) == 0  # looking needs no lock, taking does
            job = store.claim(self._terms, store.engine.now) if likely else None
        self._busy = job is not None
        if job is None:
            return False
        done, self._error = False, ""
        self._tell(("job", job))
        try:
            done = self._do(job)
        finally:  # also where the store could not be told: then the lease ends by itself
            self._tell(("ended", done, self._error))
        return True

    def _wait(self, watch: Watch) -> bool:
        """Until somebody puts a job, one is due, or it is time to look; False where it is time to stop."""
        with self._lore.acting():
            due = self._lore.store.due_in(self._terms, self._lore.store.engine.now())
        left = self._own.poll_s if due is None else min(self._own.poll_s, max(RACE_S, due))
        deadline = time.monotonic() + left
        while not self._stopped() and (left := deadline - time.monotonic()) > 0:
            if watch.wait(min(SLICE_S, left)):
                return True
        return not self._stopped()

    def _do(self, job: Job) -> bool:
        """Run a job's handler and tell the store how it went, which counts only while the lease is ours."""
        try:
            with self._renewing.of(job):
                self._handlers[job.kind](self._lore_of(job), job)
        except BaseException as error:  # noqa: BLE001 - the worker's loop: it outlives what it runs
            self.worn = isinstance(error, MemoryError)  # what is left of this process is not worth relying on
            self._error = described(error)
            self._fail(job, self._error)
            return False
        return self._finish(job)

    def _lore_of(self, job: Job) -> Lore:
        """The memory as whoever put the job sees it, with the settings as they are now."""
        folder = job.folder if os.path.isdir(job.folder) else self._lore.home
        key = (job.caller, folder, stamps(self._lore.home, folder))
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
        pause_s = min(MOST_PAUSE_S, self._own.backoff_s * 2 ** (job.attempts - 1)) * random.uniform(0.75, 1.25)
        store, most = self._lore.store, self._own.attempts
        with self._lore.acting():
            store.look(lambda: store.fail(job, error, store.engine.now, pause_s=pause_s, attempts=most))


def _inode(lore: Lore) -> int:
    """Which file the store is; 0 where it is none, or nobody can tell."""
    if lore.store.engine.remote:
        return 0
    try:
        return os.stat(lore.store.engine.facts()["path"]).st_ino
    except OSError:
        return -1


def _host() -> str:
    """The name of this machine; the module that knows better costs more than it is worth here."""
    return (os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", ""))[:100]


def described(error: BaseException) -> str:
    """What went wrong, in one line without secrets; its name first."""
    told = str(error)
    if isinstance(error, SwarmloreError):
        told = f"{error.message} ({error.hint})" if error.hint else error.message
    said = f"{type(error).__name__}: {told}".rstrip(": ")  # others are shown what stands before the colon only
    plain = " ".join(said[: 8 * MOST_ERROR].split()).encode("utf-8", "replace").decode()
    return scrub_text(plain)[:MOST_ERROR]  # in this order: half a secret is not recognised
