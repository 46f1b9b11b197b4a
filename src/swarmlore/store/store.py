"""The store: one class, written once over named SQL and a small engine.

Its base classes, each on top of the one before: `database` (statements, visibility, operations), `graph` (mentions and
relations), `memories` (rows and their indexes), `history` (undo, forget, erase), `search` (candidates and vectors),
`sessions` (sessions, receipts, outcomes, rejections), `ledgers` (files in repositories, imports), `phases` (phases and
the ageing of memories), `jobs` (the queue, under leases), `mail` (messages between agents), `proposals` (reflections
and approvals), `tokens` (access to a server), `reindex` (rebuild the indexes).
"""

from __future__ import annotations

import json
import os

from swarmlore.errors import StoreCorrupt, StoreFull, StoreReadOnly, Unavailable
from swarmlore.store.database import migrate, newest
from swarmlore.store.files import create, damaged, refusal, wal_bytes
from swarmlore.store.reindex import Rebuilding
from swarmlore.store.sqlite import SqliteEngine

FILE = "lore.db"
MARKER = "store.json"
BACKUPS = "backups"
INSTALL_DRIVER = 'pip install "swarmlore[postgres]"'


class Store(Rebuilding):
    """All stored rows of a home or a team, as visible to a caller."""

    @classmethod
    def open(cls, home: str, now: float, *, lock_timeout_s: float = 30.0) -> Store:
        """Open the store of a home folder, created if it is new; never replace a broken store by an empty one."""
        path = os.path.join(home, FILE)
        marked = os.path.exists(os.path.join(home, MARKER))  # checked first: another process may be creating the store
        new = _is_new(path, marked)
        writable = os.access(home if new else path, os.W_OK) and os.access(home, os.W_OK)
        if not writable and new:
            raise StoreReadOnly(f"{home} cannot be written", "choose another folder with SWARMLORE_HOME")
        engine = _reach(path, writable, lock_timeout_s)
        try:
            _check_content(engine, path, marked)
            if engine.version() != newest(engine.name):
                migrate(engine, os.path.join(home, BACKUPS), now)
            engine.accept()
        except BaseException:
            engine.close()
            raise
        if not engine.readonly and not marked:
            mark(home, now)
        return cls(engine)

    @classmethod
    def connect(cls, url: str, now: float, *, lock_timeout_s: float = 30.0) -> Store:
        """Open a team's store on its PostgreSQL server, created if it is new and the role may do so."""
        try:
            from swarmlore.store.postgres_setup import reach
        except ImportError as error:
            raise Unavailable("the driver for PostgreSQL is not installed", INSTALL_DRIVER) from error
        return cls(reach(url, now, lock_timeout_s))


def _is_new(path: str, marked: bool) -> bool:
    """Return whether the home has no store yet. If it had one and the file is missing or empty, raise StoreCorrupt."""
    logged = wal_bytes(
        path
    )  # checked before the file: while another process creates the store, SQLite fills the file first
    empty = not os.path.exists(path) or os.path.getsize(path) == 0
    if empty and (marked or logged):
        raise StoreCorrupt(
            f"{path} is missing or empty although this home had a store",
            f"restore a copy: swarmlore restore-backup FILE; to begin anew, move {os.path.dirname(path)} away",
        )
    return empty


def _reach(path: str, writable: bool, lock_timeout_s: float) -> SqliteEngine:
    """Open the engine of a file; read only where the disk is too full for writing."""
    try:
        return SqliteEngine(path, readonly=not writable, lock_timeout_s=lock_timeout_s)
    except StoreFull as error:
        if wal_bytes(path) or not os.path.exists(path) or os.path.getsize(path) == 0:
            raise
        return SqliteEngine(path, refused=error)


def _check_content(engine: SqliteEngine, path: str, marked: bool) -> None:
    """Refuse a file without our schema, unless its creation was interrupted."""
    version = engine.version()
    if version > 0:
        return
    if version < 0 or marked:
        raise damaged(path, "has lost its content")
    if (
        engine.run("SELECT 1 FROM sqlite_master") and not engine.version()
    ):  # checked again: another process may be creating it
        raise damaged(path, "is a database of another program")


def mark(home: str, now: float) -> None:
    """Write a marker file that a store was created here, so that its loss is noticed."""
    path = os.path.join(home, MARKER)
    if os.path.exists(path):
        return
    create(path)
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"created_at": now, "file": FILE}, file)
    except OSError as error:
        raise refusal(path, error) from error
