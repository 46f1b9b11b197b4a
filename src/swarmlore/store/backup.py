"""Copies of a store, made while it is in use, and the way back from one."""

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
        found = inspect(part)
        _publish(part, path)
    except OSError as error:
        raise refusal(path, error) from error
    finally:
        if os.path.exists(part):
            os.unlink(part)
    return replace(found, path=path)


def _check_folder(folder: str, own: str) -> None:
    """The home's own folder of backups is made; any other that is not there was probably mistyped."""
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
    """Give a finished file its name; unlike a rename a link fails where the name was taken meanwhile."""
    try:
        os.link(part, path)
    except OSError:
        if os.path.exists(path):
            raise InvalidInput(f"{path} is there already", "name another file") from None
        os.rename(part, path)  # a file system without links, such as that of a memory stick


def inspect(path: str, *, in_use: bool = False) -> Backup:
    """Check that a file is a whole store that this program can read; `in_use` where others may write to it."""
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
    """Whether a file begins like a database; a pipe or a device is not even opened, it would be waited for."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}", "check its permissions") from error


def _look_at(path: str) -> SqliteEngine:
    """A file that stands still is read without locks: SQLite would leave a log beside the database of a stranger."""
    if os.path.exists(path + "-wal"):
        return SqliteEngine(path, readonly=True)
    return SqliteEngine(path, refused=StoreReadOnly(f"{path} is only looked at"))


def _no_store(path: str) -> InvalidInput:
    return InvalidInput(f"{path} is not a copy of a store", f"name a file that swarmlore backup wrote; {WHERE}")


def restore(home: str, backup: Backup, now: float) -> str:
    """Put an inspected backup in place of the store; what was there is kept in a file of its own, whose path is
    returned."""
    path = backup.path
    live = os.path.join(home, FILE)
    if os.path.exists(live) and os.path.samefile(live, path):
        raise InvalidInput(f"{path} is the store itself", "name a backup")
    mark(home, now)  # from here on an empty file is a restore that failed, not a new store
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
    """Whether the store in use can go on being used: other processes then see the restored rows in the same file."""
    if not (os.path.exists(live) and os.path.getsize(live)):
        return False  # SQLite would throw away the WAL of an empty file
    try:
        inspect(live, in_use=True)
    except (InvalidInput, NotFound, StoreCorrupt, StoreTooNew):
        return False
    return True


def _move_away(live: str) -> str:
    """Give a store that cannot be read another name, untouched, while nobody writes to it."""
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
    """The files in the home's backup folder, newest first."""
    folder = os.path.join(home, BACKUPS)
    if not os.path.isdir(folder):
        return []
    names = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".db")]
    return sorted(names, key=os.path.getmtime, reverse=True)


def holding(home: str, id: str) -> list[str]:
    """The backups that still hold a memory."""
    return [path for path in list_backups(home) if _holds(path, id)]


def _holds(path: str, id: str) -> bool:
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
    """A name for a new file."""
    path, number = base + ".db", 1
    while os.path.exists(path):
        path, number = f"{base}-{number}.db", number + 1
    return path


def _stamp() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
