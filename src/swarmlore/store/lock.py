"""A fair lock between the processes that write to one store.

SQLite lets a waiting writer try again by chance, so a process in a tight loop can keep others out for seconds. Here
every writer first takes this lock. A plain file lock has the same weakness in small: who lets go can take it again at
once. So waiting is visible (each waiter holds a shared lock on a second file), and whoever lets go while somebody
waits stands back for a moment. Both locks belong to open files: they die with their process.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from swarmlore.errors import StoreBusy
from swarmlore.store.files import refusal

try:
    import fcntl

    HAVE_LOCKS = True
except ImportError:  # Windows: SQLite's own lock has to do
    HAVE_LOCKS = False

STAND_BACK_S = 0.002
POLL_S = 0.0005
POLL_MAX_S = 0.004


class Patience:
    """How long this thread waits for others; less for a while where somebody waits for it."""

    def __init__(self, seconds: float) -> None:
        self._usual = seconds
        self._local = threading.local()

    @property
    def seconds(self) -> float:
        return float(getattr(self._local, "seconds", self._usual))

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        before = self.seconds
        self._local.seconds = min(before, max(0.0, seconds))
        try:
            yield
        finally:
            self._local.seconds = before


class FairLock:
    """Mutual exclusion over processes and threads, without starvation."""

    def __init__(self, path: str, timeout_s: float = 30.0) -> None:
        self._path = path
        self.patience = Patience(timeout_s)
        self._threads = threading.RLock()
        self._depth = 0
        self._held_fd = -1
        self._waiting_fd = -1

    def __enter__(self) -> FairLock:
        self._threads.acquire()
        if self._depth == 0:
            try:
                self._take()
            except BaseException:
                self._threads.release()
                raise
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        crowded = self._depth == 0 and self._let_go()
        self._threads.release()
        if crowded:
            time.sleep(STAND_BACK_S)

    def close(self) -> None:
        for fd in (self._held_fd, self._waiting_fd):
            if fd >= 0:
                os.close(fd)
        self._held_fd = self._waiting_fd = -1

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            self._held_fd = os.open(self._path, flags, 0o600)
            self._waiting_fd = os.open(self._path + "-waiting", flags, 0o600)
        except OSError as error:
            self.close()
            raise refusal(self._path, error) from error

    def _take(self) -> None:
        if not HAVE_LOCKS:
            return
        if self._held_fd < 0:
            self._open()
        if self._try():
            return
        fcntl.flock(self._waiting_fd, fcntl.LOCK_SH)
        try:
            self._wait()
        finally:
            fcntl.flock(self._waiting_fd, fcntl.LOCK_UN)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._held_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait(self) -> None:
        deadline = time.monotonic() + self.patience.seconds
        pause = POLL_S
        while not self._try():
            if time.monotonic() > deadline:
                raise StoreBusy(
                    f"another process kept the store for more than {self.patience.seconds:.3g} s",
                    "find it with: swarmlore doctor",
                )
            time.sleep(pause)
            pause = min(pause * 1.5, POLL_MAX_S)

    def _let_go(self) -> bool:
        """Release, and tell whether somebody waits."""
        if not HAVE_LOCKS:
            return False
        fcntl.flock(self._held_fd, fcntl.LOCK_UN)
        try:
            fcntl.flock(self._waiting_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self._waiting_fd, fcntl.LOCK_UN)
        return False
