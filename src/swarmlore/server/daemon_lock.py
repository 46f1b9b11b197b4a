"""Which process of a home is the warm one: whoever holds a lock that dies with it, and listens."""

from __future__ import annotations

import os
import socket
import stat
import time
from contextlib import suppress

from swarmlore.clients.hook.home import socket_path
from swarmlore.clients.hook.spool import HAVE_LOCKS, locked
from swarmlore.errors import StoreError

LOCK = "warm.lock"
BACKLOG = 128
STARTING_S = 15.0


class Elected:
    """The place of the warm process: its lock and its listening socket, given back by `close`."""

    def __init__(self, lock: int, listener: socket.socket, path: str) -> None:
        self._lock = lock
        self.listener = listener
        self.path = path

    def is_ready(self) -> None:
        """Say that whoever comes is answered from now on: who is not, need not wait."""
        with suppress(OSError):
            os.utime(self._lock, (0, 0))

    def close(self) -> None:
        """Take the name away first: whoever comes then finds nobody instead of a closed door."""
        _unlink(self.path)
        self.listener.close()
        os.close(self._lock)


def elect(home: str) -> Elected | None:
    """Become the warm process of a home, or None where another one is it, or the system has no such sockets."""
    if not HAVE_LOCKS or not hasattr(socket, "AF_UNIX"):
        return None
    lock = _lock(home)
    if lock is None:
        return None
    path = socket_path(home)
    try:
        os.utime(lock)  # it may take a while now: see `is_starting`
        return Elected(lock, _listen(path), path)
    except BaseException:
        os.close(lock)
        raise


def is_starting(home: str) -> bool:
    """Whether a process became the warm one just now. Where a hundred start at once it needs seconds before it answers;
    if all others took it for dead and served themselves, it would need minutes."""
    try:
        return abs(time.time() - os.stat(os.path.join(home, LOCK)).st_mtime) < STARTING_S
    except OSError:
        return False


def tidy(home: str) -> None:
    """Remove the socket of a warm process that was killed."""
    path = socket_path(home)
    if not HAVE_LOCKS or not os.path.lexists(path):
        return
    lock = _lock(home)
    if lock is not None:
        _unlink(path)
        os.close(lock)


def _lock(home: str) -> int | None:
    fd = os.open(os.path.join(home, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if locked(fd):
        return fd
    os.close(fd)
    return None


def _listen(path: str) -> socket.socket:
    _check_folder(os.path.dirname(path))
    _unlink(path)  # a killed predecessor's: we hold the lock
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def _check_folder(folder: str) -> None:
    """The folder of a socket must be ours alone: in a shared one somebody else could listen in our place."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise StoreError(f"{folder} is not this user's alone", f"chmod 700 {folder}, or remove it")


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
