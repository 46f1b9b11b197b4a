"""Read SQLite databases of other programs: read-only, briefly, without running anything stored in them.

The needed rows are copied into memory at once. In WAL mode, which the clients use, readers do not block writers; our
connection never checkpoints, so the owner's files stay unchanged.
"""

from __future__ import annotations

import os
import time

import apsw

from swarmlore.errors import StoreBusy, StoreError
from swarmlore.frozen import frozen

MOST_S = 3.0
BUSY_MS = 250
STEPS = 20_000  # steps of SQLite's virtual machine between two checks of the time limit
MOST_VALUE = 16_000_000
# The + disables the index on part.session_id, with which each message would scan all parts of the session.
_PARTS = """
SELECT message.id, message.data, part.id, part.data FROM message
LEFT JOIN part ON part.message_id = message.id AND +part.session_id = message.session_id
WHERE message.session_id = :session ORDER BY message.time_created DESC, message.id DESC, part.id DESC
"""
_PARENT = "SELECT parent_id FROM session WHERE id = :session"


@frozen
class Conversation:
    """Newest messages of a session that fit, with their parts, oldest first, as JSON texts."""

    parts: tuple[tuple[str, str, str, str], ...]  # id and JSON of a message, id and JSON of one of its parts
    parent: str = ""
    complete: bool = True


def opencode_session(path: str, session: str, most_bytes: int) -> Conversation:
    """Return one session from OpenCode's database; raise StoreBusy if a retry may succeed."""
    db = _open(path)
    try:
        parent = db.execute(_PARENT, {"session": session}).fetchone()
        found, complete = _newest(db.execute(_PARTS, {"session": session}), most_bytes)
    except (apsw.BusyError, apsw.LockedError, apsw.InterruptError) as error:  # InterruptError: our own time limit
        raise StoreBusy(f"{path} cannot be read: {type(error).__name__}", "it belongs to OpenCode") from error
    except apsw.Error as error:
        raise StoreError(f"{path} cannot be read: {type(error).__name__}", "it belongs to OpenCode") from error
    finally:
        db.close()
    return Conversation(tuple(reversed(found)), _text(parent[0]) if parent else "", complete)


def _newest(cursor: apsw.Cursor, most_bytes: int) -> tuple[list[tuple[str, str, str, str]], bool]:
    found: list[tuple[str, str, str, str]] = []
    left = most_bytes
    for row in cursor:
        texts = tuple(map(_text, row))
        left -= len(texts[3]) + (len(texts[1]) if not found or found[-1][0] != texts[0] else 0)
        if left < 0:
            return found, False
        found.append((texts[0], texts[1], texts[2], texts[3]))
    return found, True


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _open(path: str) -> apsw.Connection:
    """Open a connection that can only read tables; views and triggers in the file are disabled."""
    place = os.path.join(
        os.path.realpath(os.path.dirname(path)), os.path.basename(path)
    )  # the folder may be a link, the file not
    try:
        db = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)
    except apsw.Error as error:
        raise StoreError(f"{path} cannot be opened: {type(error).__name__}", "it belongs to another program") from error
    db.set_busy_timeout(BUSY_MS)
    confine(db)
    db.limit(apsw.SQLITE_LIMIT_LENGTH, MOST_VALUE)
    until = time.monotonic() + MOST_S
    db.set_progress_handler(lambda: time.monotonic() > until, STEPS)
    return db


def confine(db: apsw.Connection) -> None:
    """Restrict a connection to reading tables; disable views, triggers and checkpoints."""
    for option, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        (apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1),
    ):
        db.config(option, value)
