"""Copies of a store, made while it is in use, and the way back from one."""

from __future__ import annotations

import os
import time

from swarmlore.errors import InvalidInput, NotFound, StoreCorrupt, StoreError, StoreTooNew
from swarmlore.frozen import frozen
from swarmlore.store.migrate import newest
from swarmlore.store.sqlite import SqliteEngine
from swarmlore.store.store import BACKUPS, FILE, Store


@frozen
class Backup:
    path: str
    bytes: int
    memories: int
    at: float


def back_up(store: Store, home: str, path: str = "") -> Backup:
    """Write a checked copy of the whole store; an existing file is never overwritten."""
    path = os.path.abspath(path) if path else _fresh_name(home)
    if os.path.exists(path):
        raise InvalidInput(f"{path} is there already", "name another file")
    part = path + ".part"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        store.engine.copy_to(part)
        found = inspect(part)
        os.link(part, path)  # unlike a rename it fails where the name was taken meanwhile
    except OSError as error:
        raise StoreError(f"the backup {path} could not be written: {error.strerror}", "name another file") from error
    finally:
        for leftover in (part, part + ".lock", part + ".lock-waiting"):
            if os.path.exists(leftover):
                os.unlink(leftover)
    return Backup(path, found.bytes, found.memories, found.at)


def inspect(path: str) -> Backup:
    """Check that a file is a whole store that this program can read."""
    if not os.path.isfile(path):
        raise NotFound(f"no file {path}", "swarmlore doctor lists the backups")
    engine = SqliteEngine(path, readonly=True)
    try:
        version = engine.version()
        if version > newest(engine.name):
            raise StoreTooNew(f"{path} was written by a newer program", "update: pip install -U swarmlore")
        problems = engine.check()
        if problems or version == 0:
            raise StoreCorrupt(
                f"{path} is not a whole store: {(problems or ['it is empty'])[0]}", "try an older backup"
            )
        memories = int(engine.run("SELECT count(*) FROM memory")[0][0])
    finally:
        engine.close()
    return Backup(path, os.path.getsize(path), memories, os.path.getmtime(path))


def restore(home: str, path: str, now: float) -> tuple[Backup, str]:
    """Put a backup in place of the store; what was there is kept in a file of its own, whose path is returned."""
    found = inspect(path)
    live = os.path.join(home, FILE)
    kept = ""
    if os.path.exists(live) and os.path.getsize(live):
        kept = _set_aside(home, live)
    engine = SqliteEngine(live)
    try:
        engine.load_from(path)
    finally:
        engine.close()
    Store.open(home, now).close()
    return found, kept


def _set_aside(home: str, live: str) -> str:
    """Copy a healthy store, so that other processes can go on using the file; move a broken one away untouched."""
    stamp = _stamp()
    try:
        inspect(live)
        path = os.path.join(home, BACKUPS, f"before-restore-{stamp}.db")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        engine = SqliteEngine(live)
        try:
            engine.copy_to(path)
        finally:
            engine.close()
        return path
    except (StoreCorrupt, StoreError):
        path = f"{live}.corrupt-{stamp}"
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(live + suffix):
                os.rename(live + suffix, path + suffix)
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


def _fresh_name(home: str) -> str:
    base = os.path.join(home, BACKUPS, f"lore-{_stamp()}")
    path, number = base + ".db", 1
    while os.path.exists(path):
        path, number = f"{base}-{number}.db", number + 1
    return path


def _stamp() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
