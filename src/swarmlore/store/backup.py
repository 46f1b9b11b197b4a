"""Back up a store while it is in use, inspect backups, and restore one."""

from __future__ import annotations

import os
import shlex
import time

from swarmlore.errors import InvalidInput, NotFound, StoreCorrupt, StoreError, StoreReadOnly, StoreTooNew
from swarmlore.frozen import frozen, replace
from swarmlore.store.database import newest
from swarmlore.store.files import FairLock, make_folder, refusal, wal_bytes
from swarmlore.store.sqlite import SqliteEngine
from swarmlore.store.store import BACKUPS, FILE, Store, mark

SQLITE_HEADER = b"SQLite format 3\0"
WHERE = "backups lie in the folder backups of the home"


@frozen
class Backup:
    """A checked backup file: its size, number of memories and time."""

    path: str
    bytes: int
    memories: int
    at: float


def back_up(store: Store, home: str, path: str = "") -> Backup:
    """Write a checked copy of the whole store; an existing file is never overwritten."""
    path = _named(path) if path else _unused(os.path.join(home, BACKUPS, f"lore-{_stamp()}"))
    if os.path.exists(path):
        raise InvalidInput(f"{path} is there already", "name another file")
    _check_folder(os.path.dirname(path), os.path.join(home, BACKUPS))
    part = f"{path}.part-{os.urandom(4).hex()}"
    try:
        store.engine.copy_to(part)
        backup = inspect(part)
        _publish(part, path)
    except OSError as error:
        raise refusal(path, error) from error
    finally:
        if os.path.exists(part):
            os.unlink(part)
    return replace(backup, path=path)


def _check_folder(folder: str, own: str) -> None:
    """Create the home's own backup folder; raise if any other is missing, as its name was probably mistyped."""
    if os.path.abspath(folder) == os.path.abspath(own):
        make_folder(folder)
    elif not os.path.isdir(folder):
        raise InvalidInput(f"there is no folder {folder}", f"make it first: mkdir -p {shlex.quote(folder)}")


def _named(path: str) -> str:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        path = "\0"
    if "\0" in path:
        raise InvalidInput("that is not the name of a file", "name one, or none for a dated one in the home")
    return os.path.abspath(path)


def _publish(part: str, path: str) -> None:
    """Rename a finished file; a hard link, unlike a rename, fails if the name was taken meanwhile."""
    try:
        os.link(part, path)
    except OSError:
        if os.path.exists(path):
            raise InvalidInput(f"{path} is there already", "name another file") from None
        os.rename(part, path)  # a file system without hard links, such as that of a memory stick


def inspect(path: str, *, in_use: bool = False) -> Backup:
    """Check that a file is a complete store this program can read; `in_use` means others may write to it."""
    if not os.path.exists(path):
        raise NotFound(f"no file {path}", WHERE)
    if not _is_sqlite(path):
        raise _no_store(path)
    engine = SqliteEngine(path, readonly=True) if in_use else _look_at(path)
    try:
        version = engine.version()
        if version <= 0 or not engine.run("SELECT 1 FROM sqlite_master WHERE name = 'memory'"):
            raise _no_store(path)
        if version > newest(engine.name):
            raise StoreTooNew(f"{path} was written by a newer program", "update: pip install -U swarmlore")
        if problems := engine.check():
            raise StoreCorrupt(f"{path} is not a whole store: {problems[0]}", "try an older backup")
        memories = int(engine.run("SELECT count(*) FROM memory")[0][0])
    finally:
        engine.close()
    return Backup(path, os.path.getsize(path), memories, os.path.getmtime(path))


def _is_sqlite(path: str) -> bool:
    """Return whether a file starts with SQLite's header. A pipe or device is not opened, as that would block."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}", "check its permissions") from error


def _look_at(path: str) -> SqliteEngine:
    """Open a file read only; without a WAL it is opened as immutable, as SQLite would else leave files beside it."""
    if os.path.exists(path + "-wal"):
        return SqliteEngine(path, readonly=True)
    return SqliteEngine(path, refused=StoreReadOnly(f"{path} is only looked at"))


def _no_store(path: str) -> InvalidInput:
    """Return the error for a file that is not a copy of a store."""
    return InvalidInput(f"{path} is not a copy of a store", f"name a file that swarmlore backup wrote; {WHERE}")


def restore(home: str, backup: Backup, now: float) -> str:
    """Replace the store by an inspected backup; return the path of the copy that keeps the former content."""
    path = backup.path
    live = os.path.join(home, FILE)
    if os.path.exists(live) and os.path.samefile(live, path):
        raise InvalidInput(f"{path} is the store itself", "name a backup")
    mark(home, now)  # from here on an empty file means a failed restore, not a new store
    copy = moved = ""
    if _is_whole(live):
        make_folder(os.path.join(home, BACKUPS))
        copy = _unused(os.path.join(home, BACKUPS, f"before-restore-{_stamp()}"))
    else:
        moved = _move_away(live)
    engine = SqliteEngine(live)
    try:
        engine.load_from(path, copy)
    finally:
        engine.close()
    Store.open(home, now).close()
    return copy or moved


def _is_whole(live: str) -> bool:
    """Return whether the current store is readable. If so, restore overwrites it in place for open processes."""
    if not (os.path.exists(live) and os.path.getsize(live)):
        return False  # SQLite would discard the WAL of an empty file
    try:
        inspect(live, in_use=True)
    except (InvalidInput, NotFound, StoreCorrupt, StoreTooNew):
        return False
    return True


def _move_away(live: str) -> str:
    """Rename an unreadable store, under the write lock; return its new path."""
    if not (os.path.exists(live) and os.path.getsize(live)) and not wal_bytes(live):
        return ""
    path = f"{live}.corrupt-{_stamp()}-{os.urandom(2).hex()}"
    lock = FairLock(live + ".lock")
    try:
        with lock:
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(live + suffix):
                    os.rename(live + suffix, path + suffix)
    except OSError as error:
        raise refusal(live, error) from error
    finally:
        lock.close()
    return path


def list_backups(home: str) -> list[str]:
    """Return the files in the home's backup folder, newest first."""
    folder = os.path.join(home, BACKUPS)
    if not os.path.isdir(folder):
        return []
    names = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".db")]
    return sorted(names, key=os.path.getmtime, reverse=True)


def holding(home: str, id: str) -> list[str]:
    """Return the backups that contain a memory; an unreadable one counts, as it may."""
    return [path for path in list_backups(home) if _holds(path, id)]


def _holds(path: str, id: str) -> bool:
    """Return whether a backup contains a memory; True if it cannot be read."""
    try:
        engine = SqliteEngine(path, readonly=True)
    except StoreError:
        return True  # it cannot be read, so it may
    try:
        return bool(engine.run("SELECT 1 FROM memory WHERE id = :id", {"id": id}))
    except StoreError:
        return True
    finally:
        engine.close()


def _unused(base: str) -> str:
    """Return a file name that does not exist yet."""
    path, number = base + ".db", 1
    while os.path.exists(path):
        path, number = f"{base}-{number}.db", number + 1
    return path


def _stamp() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
