"""Spool: events on disk that wait to be taken in, one JSON line each, appended as a whole and flushed to disk.

A line is appended under a lock of the file. A reader takes the lines by renaming the file under the same lock. An
appender that waited for the lock sees that the name belongs to another file now, and opens that one.
"""

from __future__ import annotations

import json
import os
from errno import EMSGSIZE

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

try:
    import fcntl

    HAVE_LOCKS = True
except ImportError:  # Windows: concurrent lines may mix, and a mixed line is skipped
    HAVE_LOCKS = False

EVENTS = "events.jsonl"
TAKEN = "taken-"
PROBLEMS = "problems.jsonl"
TOLD = "problems.told"
MOST_PROBLEM_BYTES = 100_000
MOST_LINE = 1_000_000
ANSWERED = "answered"
ONCE_S = 5.0  # two hook files report the same event within this time
MOST_ANSWERED = 64


def append(folder: str, record: dict[str, Any]) -> None:
    """Append one event; it is on disk when this returns."""
    line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    if len(line) > MOST_LINE:
        raise OSError(EMSGSIZE, "an event is too long to be read again")
    fd = _open_locked(os.path.join(folder, EVENTS))
    try:
        _write(fd, line)
        os.fsync(fd)
    finally:
        os.close(fd)


def note_problem(folder: str, problem: dict[str, Any]) -> None:
    """Append a problem for `doctor` to report; old ones make room for new ones."""
    path = os.path.join(folder, PROBLEMS)
    line = json.dumps(problem, separators=(",", ":")).encode() + b"\n"
    fd = _open_locked(path)
    try:
        if os.fstat(fd).st_size + len(line) > MOST_PROBLEM_BYTES:
            kept = os.pread(fd, MOST_PROBLEM_BYTES, os.fstat(fd).st_size // 2).partition(b"\n")[2]
            os.ftruncate(fd, 0)
            _write(fd, kept)
        _write(fd, line)
    finally:
        os.close(fd)


def _open_locked(path: str) -> int:
    """Open a file and lock it; create it and its folder if needed."""
    while True:
        fd = _open(path)
        if not HAVE_LOCKS:
            return fd
        fcntl.flock(fd, fcntl.LOCK_EX)
        if _still_named(fd, path):
            return fd
        os.close(fd)


def try_lock(fd: int) -> bool:
    """Try to lock an open file; return False if another process holds it. Closing the file releases the lock."""
    if not HAVE_LOCKS:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        folder = os.path.dirname(path)
        for name in (os.path.dirname(folder), folder):  # home first: `makedirs` sets the mode of the last one only
            os.makedirs(name, mode=0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _still_named(fd: int, path: str) -> bool:
    try:
        named, opened = os.stat(path, follow_symlinks=False), os.fstat(fd)
    except OSError:
        return False
    return (named.st_ino, named.st_dev) == (opened.st_ino, opened.st_dev)


def _write(fd: int, data: bytes) -> None:
    """Write all of the data; on an error, such as a full disk, take the partial line back."""
    end = os.fstat(fd).st_size
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        os.ftruncate(fd, end)
        raise


def has_new_problems(folder: str) -> bool:
    """Return whether problems came since the last report, and mark them as reported."""
    try:
        newest = os.stat(os.path.join(folder, PROBLEMS)).st_mtime_ns
    except OSError:
        return False
    reported = os.path.join(folder, TOLD)
    if os.path.exists(reported) and os.stat(reported).st_mtime_ns >= newest:
        return False
    os.close(os.open(reported, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    os.utime(reported)
    return True


def claim(folder: str, id: str, now: float) -> bool:
    """Return whether this process may answer an event; of two hook files with the same line only one does."""
    path = os.path.join(folder, ANSWERED, id)
    try:
        _make_new(path)
    except FileExistsError:
        if abs(now - os.stat(path).st_mtime) < ONCE_S:
            return False
        os.utime(path)
    names = os.listdir(os.path.dirname(path))
    for name in names if len(names) > MOST_ANSWERED else ():
        other = os.path.join(folder, ANSWERED, name)
        if os.path.exists(other) and now - os.stat(other).st_mtime > ONCE_S:
            os.unlink(other)
    return True


def _make_new(path: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        os.close(os.open(path, flags, 0o600))
    except FileNotFoundError:
        place = os.path.dirname(path)
        for name in (os.path.dirname(os.path.dirname(place)), os.path.dirname(place), place):
            os.makedirs(name, mode=0o700, exist_ok=True)
        os.close(os.open(path, flags, 0o600))


def has_events(folder: str) -> bool:
    """Return whether any events wait; costs one directory listing."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(name == EVENTS or name.startswith(TAKEN) for name in names)


def written_at(folder: str) -> list[float]:
    """Return when each file of waiting events was last written."""
    return [found.st_mtime for found in _files(folder)]


def weight(folder: str) -> int:
    """Return how many bytes of events wait."""
    return sum(found.st_size for found in _files(folder))


def waiting_files(folder: str) -> list[str]:
    """Return the paths of the files with waiting events, sorted by name, without taking them."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = (os.path.join(folder, name) for name in names if name == EVENTS or name.startswith(TAKEN))
    return [path for path in found if os.path.isfile(path) and not os.path.islink(path)]


def many(folder: str) -> int:
    """Count the events that wait; a file that another process takes meanwhile is skipped."""
    total = 0
    for path in waiting_files(folder):
        try:
            total += sum(1 for _ in numbered(path, read_until(path)))
        except OSError:
            continue
    return total


def _files(folder: str) -> list[os.stat_result]:
    found = []
    for path in waiting_files(folder):
        try:
            found.append(os.stat(path))
        except OSError:
            continue  # another process took it meanwhile
    return found


def has_new_events(folder: str) -> bool:
    """Return whether new events came since the waiting ones were taken."""
    return os.path.exists(os.path.join(folder, EVENTS))


def take(folder: str) -> list[str]:
    """Take the waiting events: return their files, oldest first; new events go into another file from now on."""
    path = os.path.join(folder, EVENTS)
    if os.path.exists(path):
        fd = _open_locked(path)
        try:
            stamp = f"{os.fstat(fd).st_mtime_ns:020d}-{os.getpid()}-{os.urandom(4).hex()}"
            os.rename(path, os.path.join(folder, f"{TAKEN}{stamp}.jsonl"))
        finally:
            os.close(fd)
    found = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(TAKEN))
    return [path for path in found if os.path.isfile(path) and not os.path.islink(path)]


def mark_read(path: str, offset: int) -> str:
    """Record in a taken file's name, by an atomic rename, up to which offset it has been read."""
    folder, name = os.path.split(path)
    marked = os.path.join(folder, f"{name.removesuffix('.jsonl').partition('@')[0]}@{offset}.jsonl")
    os.rename(path, marked)
    return marked


def read_until(path: str) -> int:
    """Return the offset at which to continue reading a taken file."""
    offset = os.path.basename(path).removesuffix(".jsonl").partition("@")[2]
    return int(offset) if offset.isascii() and offset.isdigit() and len(offset) < 19 else 0


def lines(path: str) -> Iterator[Any]:
    """Yield the records of a file; None for an invalid line."""
    return (record for _, record in numbered(path, 0))


def numbered(path: str, begin: int) -> Iterator[tuple[int, Any]]:
    """Yield the records of a file from an offset on, each with its own offset; None for an invalid line."""
    with open(path, "rb") as file:
        file.seek(begin)
        while line := file.readline(MOST_LINE + 1):
            at, begin = begin, begin + len(line)
            if len(line) > MOST_LINE:
                while line and not line.endswith(b"\n"):
                    line = file.readline(MOST_LINE)
                    begin += len(line)
                yield at, None
                continue
            try:
                yield at, json.loads(line)
            except (ValueError, RecursionError):
                yield at, None


def problems(folder: str) -> list[dict[str, Any]]:
    """Return the recent problems of hooks, oldest first."""
    try:
        return [found for found in lines(os.path.join(folder, PROBLEMS)) if isinstance(found, dict)]
    except OSError:
        return []
