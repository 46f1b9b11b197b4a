"""Election of the daemon of a home: the process that holds a lock file, and listens at the socket. The lock ends with
its process."""

from __future__ import annotations

import os
import socket
import stat
import time
from contextlib import suppress

from swarmlore.clients.hook.home import socket_path
from swarmlore.clients.hook.spool import HAVE_LOCKS, try_lock
from swarmlore.errors import StoreError

LOCK = "warm.lock"
BACKLOG = 128
STARTING_S = 15.0


class DaemonLock:
    """The lock and the listening socket of the daemon; `close` releases both."""

    def __init__(self, lock: int, listener: socket.socket, path: str) -> None:
        self._lock = lock
        self.listener = listener
        self.path = path

    def is_ready(self) -> None:
        """Record that the daemon answers from now on, so that other processes no longer wait for it to start."""
        with suppress(OSError):
            os.utime(self._lock, (0, 0))

    def close(self) -> None:
        """Remove the socket file first, so that a new client finds no daemon instead of a closed connection."""
        _unlink(self.path)
        self.listener.close()
        os.close(self._lock)


def acquire(home: str) -> DaemonLock | None:
    """Become the daemon of a home; return None if another process is, or if Unix sockets or file locks are missing."""
    if not HAVE_LOCKS or not hasattr(socket, "AF_UNIX"):
        return None
    lock = _lock(home)
    if lock is None:
        return None
    path = socket_path(home)
    try:
        os.utime(lock)  # marks the daemon as starting: see `is_starting`
        return DaemonLock(lock, _listen(path), path)
    except BaseException:
        os.close(lock)
        raise


def is_starting(home: str) -> bool:
    """Tell whether a process became the daemon less than 15 seconds ago. If a hundred clients start at once, it needs
    seconds before it answers; if all others took it for dead and served themselves, it would need minutes."""
    try:
        return abs(time.time() - os.stat(os.path.join(home, LOCK)).st_mtime) < STARTING_S
    except OSError:
        return False


def tidy(home: str) -> None:
    """Remove the socket file of a killed daemon."""
    path = socket_path(home)
    if not HAVE_LOCKS or not os.path.lexists(path):
        return
    lock = _lock(home)
    if lock is not None:
        _unlink(path)
        os.close(lock)


def _lock(home: str) -> int | None:
    fd = os.open(os.path.join(home, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if try_lock(fd):
        return fd
    os.close(fd)
    return None


def _listen(path: str) -> socket.socket:
    _check_folder(os.path.dirname(path))
    _unlink(path)  # of a killed daemon: this process holds the lock
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def _check_folder(folder: str) -> None:
    """Raise StoreError unless the socket folder is ours alone: in a shared one another user could listen instead."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise StoreError(f"{folder} is not this user's alone", f"chmod 700 {folder}, or remove it")


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
