"""Files of a store: private creation, checks before opening, error messages, and the fair write lock between
processes."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from swarmlore.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly

SMALLEST_PAGE = 512  # SQLite's smallest page size in bytes
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DESCRIPTORS = ("/proc/self/fd", "/dev/fd")  # Linux, other systems
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def create(path: str) -> None:
    """Create an empty file that only its user can read, if there is none."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise refusal(path, error) from error


def make_folder(path: str) -> None:
    """Create a folder that only its user can read, if there is none."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise refusal(path, error) from error


def refusal(path: str, error: OSError) -> StoreError:
    """Return the error, with a hint, for a file of the store that cannot be created or opened."""
    if error.errno in _FULL:
        return StoreFull(f"no space left for {path}", "free some space, then run the command again")
    if error.errno in _FORBIDDEN:
        return StoreReadOnly(f"{path} cannot be written", "check its permissions and those of its folder")
    why = error.strerror or type(error).__name__
    return StoreError(f"{path} cannot be used: {why}", "check that its folder exists and that you may use it")


def damaged(path: str, what: str = "is damaged") -> StoreCorrupt:
    """Return the error for a damaged store; nothing attempts to repair it."""
    return StoreCorrupt(
        f"{path} {what}; it was left as it is",
        "restore a copy: swarmlore restore-backup FILE; backups lie in the folder backups beside the store",
    )


def check_size(path: str) -> None:
    """Raise StoreCorrupt for a truncated file. SQLite itself would treat one byte as an empty store and pad half a
    page.

    A file this process has open was checked when it was opened. It must not be opened again beside SQLite: closing it
    would release all locks of this process on it.
    """
    size = os.path.getsize(path) if os.path.exists(path) else 0
    if size == 0 or _open_descriptor(path) is not None:
        return
    try:
        with open(path, "rb") as file:
            page = int.from_bytes(file.read(18)[16:], "big")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}", "check its permissions") from error
    whole_pages = size % max(page, SMALLEST_PAGE) == 0
    # With a WAL the last page may be incomplete: its content is still in the WAL.
    if size < SMALLEST_PAGE or (not whole_pages and not wal_bytes(path)):
        raise damaged(path, "was cut short")


def wal_bytes(path: str) -> int:
    """Return the size of a store's WAL, 0 without one; the last process that closes a store removes it."""
    try:
        return os.path.getsize(path + "-wal")
    except FileNotFoundError:
        return 0


def identity(path: str) -> tuple[int, int]:
    """Return device and inode of a path, to notice that a restore replaced the file."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def flush(path: str) -> None:
    """Call fsync on a file that this process has open."""
    if (fd := _open_descriptor(path)) is not None:
        with suppress(OSError):  # closed meanwhile, or a failing disk: the next write raises it
            os.fsync(fd)


def _open_descriptor(path: str) -> int | None:
    """Return a file descriptor of this process for a file, or None; some systems do not list them."""
    mine = identity(path)
    for folder in _DESCRIPTORS:
        with suppress(OSError):
            for name in os.listdir(folder):
                with suppress(OSError):  # the descriptor of this listing is closed already
                    found = os.fstat(int(name))
                    if (found.st_dev, found.st_ino) == mine:
                        return int(name)
            return None
    return None


def is_still(path: str) -> bool:
    """Return whether a file cannot change while it is read: no WAL, and a read-only folder, so none can come."""
    return not wal_bytes(path) and not os.access(os.path.dirname(path) or ".", os.W_OK)


def address(path: str, *, still: bool) -> str:
    """Return the path or URI for SQLite; with `still` the file is read as immutable, without locks or side files."""
    try:
        name = path.encode()
    except UnicodeEncodeError:
        hint = "choose another folder with SWARMLORE_HOME"
        raise StoreError(f"the name of {path!r} is not Unicode", hint) from None
    if not still:
        return path
    safe = b"/.-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "file:" + "".join(chr(byte) if byte in safe else f"%{byte:02x}" for byte in name) + "?immutable=1"


try:
    import fcntl

    HAVE_LOCKS = True
except ImportError:  # Windows: only SQLite's own lock
    HAVE_LOCKS = False

STAND_BACK_S = 0.002  # pause after a release that others waited for, so that one of them gets the lock
POLL_S = 0.0005
POLL_MAX_S = 0.004


class Patience:
    """How long a thread waits for a lock; can be lowered for a while, per thread."""

    def __init__(self, seconds: float) -> None:
        self._usual = seconds
        self._local = threading.local()

    @property
    def seconds(self) -> float:
        return float(getattr(self._local, "seconds", self._usual))

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Context manager: this thread waits at most this long."""
        before = self.seconds
        self._local.seconds = min(before, max(0.0, seconds))
        try:
            yield
        finally:
            self._local.seconds = before


class FairLock:
    """File lock between processes and threads without starvation: a second file shows that others wait, and the holder
    then pauses after releasing."""

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
        crowded = self._depth == 0 and self._release()
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

    def _release(self) -> bool:
        """Release the lock; return whether another process waits for it."""
        if not HAVE_LOCKS:
            return False
        fcntl.flock(self._held_fd, fcntl.LOCK_UN)
        try:
            fcntl.flock(self._waiting_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self._waiting_fd, fcntl.LOCK_UN)
        return False
