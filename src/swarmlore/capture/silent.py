"""Sessions whose end nobody reported: a client was killed, or the power went. What they taught is read all the same.

Such a session counts as ended with its last event. If it goes on later, it ends once more, and its lessons are kept
under the same keys: nothing is learned twice.
"""

from __future__ import annotations

import contextlib
import os

from swarmlore.capture.state import TRIED_AT, UNREAD
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event import Event
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Session
    from swarmlore.lore import Lore

NAME = "silent"
SILENT_S = 6 * 3_600.0
AGAIN_S = 60.0  # before a transcript is tried again that its owner was busy with
LOOK_S = 600.0  # between two looks of all processes of a home
KEPT_S = 14 * 86_400.0  # of a longer silence nobody waits for the end
MOST = 20  # at one look
LOOKED = "silent.looked"


def is_time(folder: str, now: float) -> bool:
    """Whether nobody of this home has looked for a while."""
    try:
        return abs(now - os.stat(os.path.join(folder, LOOKED)).st_mtime) > LOOK_S
    except OSError:
        return os.path.isdir(folder)  # without it no hook ever came


def looked(folder: str, now: float) -> None:
    path = os.path.join(folder, LOOKED)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    os.utime(path, (now, now))


def look_soon(folder: str) -> None:
    """Something has to be tried again."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, LOOKED))


def find_silent(lore: Lore, now: float) -> list[Session]:
    """Sessions that have been silent for long, or whose transcript is to be tried again, and that can be read here."""
    with lore.acting():
        found = lore.store.open_sessions(now - 2 * KEPT_S)
    return [session for session in found if _is_over(session, now) and _is_here(session)][:MOST]


def has_unread(lore: Lore, now: float) -> bool:
    """Whether a transcript waits to be tried again."""
    with lore.acting():
        found = lore.store.open_sessions(now - 2 * KEPT_S)
    return any(session.extra.get(UNREAD) and now - _last(session) < KEPT_S and _is_here(session) for session in found)


def end_of(session: Session) -> Event:
    """The end that nobody reported: the same for the same silence, another one if the transcript is tried again."""
    from hashlib import blake2b  # it loads OpenSSL, and mostly there is no such session

    at, tries = _last(session), session.extra.get(UNREAD, 0)
    id = blake2b(f"{NAME}\0{session.id}\0{at}\0{tries}".encode("utf-8", "replace"), digest_size=16).hexdigest()
    env = {"env": {"SKIP_SESSION_SUMMARY": "1"}} if session.extra.get("unsummed") else {}
    where: dict[str, Any] = {"session": session.id, "cwd": session.cwd, "transcript": _path(session)}
    return Event(id, at, session.client, NAME, e.SESSION_END, extra=env, **where)


def _is_over(session: Session, now: float) -> bool:
    silent_s = now - _last(session)
    if session.extra.get(UNREAD):
        return silent_s < KEPT_S and now - _number(session, TRIED_AT) > AGAIN_S
    return SILENT_S < silent_s < KEPT_S


def _is_here(session: Session) -> bool:
    """A team's store also knows sessions of other machines."""
    path = _path(session)
    return bool(path) and os.path.isfile(path.partition("#")[0])


def _path(session: Session) -> str:
    found = session.extra.get("transcript", "")
    return found if isinstance(found, str) and "\0" not in found else ""


def _last(session: Session) -> float:
    return _number(session, "last_event_at") or session.started_at


def _number(session: Session, name: str) -> float:
    value = session.extra.get(name)
    return float(value) if isinstance(value, (int, float)) else 0.0
