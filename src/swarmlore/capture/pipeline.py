"""Take in hook events: drain the spool, end silent sessions, and accept events sent by another machine.

Events of another machine are untrusted. No path in them is read or written here: the transcript's text comes with the
event, and files are named relative to the project.
"""

from __future__ import annotations

import contextlib
import os
import re
import time

from swarmlore.capture import extract
from swarmlore.capture.answering import answer
from swarmlore.capture.lore_pool import LorePool
from swarmlore.capture.session_state import TRIED_AT, UNREAD, advance, new_session
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event import Event, from_plain
from swarmlore.clients.hook.home import spool_dir
from swarmlore.domain.language.citations import clean_path
from swarmlore.domain.policy.gate import scrub_value
from swarmlore.errors import StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.retrieval.context import DeadlinePassed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from swarmlore.domain.records import Session
    from swarmlore.lore import Lore

NAME = "silent"
SILENT_S = 6 * 3_600.0
AGAIN_S = 60.0  # between two attempts to read a transcript whose database is busy
LOOK_S = 600.0  # between two searches for silent sessions, over all processes of a home
KEPT_S = 14 * 86_400.0  # a session silent for longer is not ended any more
MOST = 20  # sessions of one search
LOOKED = "silent.looked"


def is_time(folder: str, now: float) -> bool:
    """Return whether no process of this home has searched for silent sessions within LOOK_S."""
    try:
        return abs(now - os.stat(os.path.join(folder, LOOKED)).st_mtime) > LOOK_S
    except OSError:
        return os.path.isdir(folder)  # without a spool folder no hook has ever run


def note_search(folder: str, now: float) -> None:
    """Record the time of a search for silent sessions."""
    path = os.path.join(folder, LOOKED)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    os.utime(path, (now, now))


def search_soon(folder: str) -> None:
    """Make the next search for silent sessions due at once, because a transcript has to be tried again."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, LOOKED))


def find_silent(lore: Lore, now: float) -> list[Session]:
    """Return open sessions that have been silent for long or need a retry, and whose transcript is on this machine."""
    with lore.acting():
        found = lore.store.open_sessions(now - 2 * KEPT_S)
    return [session for session in found if _is_over(session, now) and _is_here(session)][:MOST]


def has_unread(lore: Lore, now: float) -> bool:
    """Return whether the transcript of a session waits for a retry."""
    with lore.acting():
        found = lore.store.open_sessions(now - 2 * KEPT_S)
    return any(
        session.extra.get(UNREAD) and now - _last_event_at(session) < KEPT_S and _is_here(session) for session in found
    )


def end_of(session: Session) -> Event:
    """Return the session-end event that the client did not send; its id depends on the silence and on the retry
    count."""
    from hashlib import blake2b  # loads OpenSSL, and is rarely needed

    at, tries = _last_event_at(session), session.extra.get(UNREAD, 0)
    id = blake2b(f"{NAME}\0{session.id}\0{at}\0{tries}".encode("utf-8", "replace"), digest_size=16).hexdigest()
    env = {"env": {"SKIP_SESSION_SUMMARY": "1"}} if session.extra.get("unsummed") else {}
    where: dict[str, Any] = {"session": session.id, "cwd": session.cwd, "transcript": _path(session)}
    return Event(id, at, session.client, NAME, e.SESSION_END, extra=env, **where)


def _is_over(session: Session, now: float) -> bool:
    silent_s = now - _last_event_at(session)
    if session.extra.get(UNREAD):
        return silent_s < KEPT_S and now - _number(session, TRIED_AT) > AGAIN_S
    return SILENT_S < silent_s < KEPT_S


def _is_here(session: Session) -> bool:
    """Return whether the transcript is on this machine; a team's store also has sessions of other machines."""
    path = _path(session)
    return bool(path) and os.path.isfile(path.partition("#")[0])


def _path(session: Session) -> str:
    found = session.extra.get("transcript", "")
    return found if isinstance(found, str) and "\0" not in found else ""


def _last_event_at(session: Session) -> float:
    return _number(session, "last_event_at") or session.started_at


def _number(session: Session, name: str) -> float:
    value = session.extra.get(name)
    return float(value) if isinstance(value, (int, float)) else 0.0


AGAIN_AFTER_S = 10.0  # two hook files report the same event within this time; later the same prompt is a new one
LOCK = "digest.lock"
LOOK_EVERY = 50  # events between two checks of the worker's queue


@frozen
class Digested:
    """Result of draining the spool: the number of new events, of events known before, and of invalid lines."""

    new: int = 0
    known: int = 0
    bad: int = 0

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.new, self.known, self.bad

    def plus(self, other: Digested) -> Digested:
        return Digested(self.new + other.new, self.known + other.known, self.bad + other.bad)


class SpoolReader:
    """Take in the spooled events of one home, for all of its projects."""

    def __init__(self, lore: Lore, siblings: LorePool | None = None) -> None:
        self._lore = lore
        self._spool = spool_dir(lore.home)
        self._siblings = siblings or LorePool(lore)

    def drain(self, budget_s: float = float("inf"), *, hurry: bool = False) -> Digested:
        """Take in spooled events until none is left or the budget is used up; do nothing if another process drains.
        In a hurry, events that take long are left for a process that no client waits for. After the lock is released
        the spool is checked again: a process that came meanwhile found the lock taken and went away."""
        tally, deadline = Digested(), time.monotonic() + budget_s
        more = spool.has_events(self._spool) and not self._is_full()
        while more and (lock := _lock(os.path.join(self._spool, LOCK))) is not None:
            try:
                tally = tally.plus(self._drain(deadline, hurry))
            finally:
                os.close(lock)
            more = spool.has_new_events(self._spool) and time.monotonic() < deadline and not self._is_full()
        if not hurry and time.monotonic() < deadline:
            self.read_silent(deadline)
        return tally

    def read_silent(self, deadline: float = float("inf")) -> None:
        """End silent sessions and read their transcripts, if a search is due and no other process holds the lock."""
        now = self._lore.now()
        if not is_time(self._spool, now) or self._lore.store.engine.readonly or self._is_full():
            return
        if (lock := _lock(os.path.join(self._spool, LOCK))) is None:
            return
        try:
            self._read_silent(now, deadline)
        finally:
            os.close(lock)

    def _read_silent(self, now: float, deadline: float) -> None:
        # PostgreSQL shows each caller only its own sessions; SQLite shows all to everyone.
        lores = self._siblings.known() if self._lore.store.engine.remote else [self._lore]
        for lore in lores:
            for session in find_silent(lore, now):
                if time.monotonic() > deadline:
                    return  # the next search continues with the others
                self._end(session)
        if not any(has_unread(lore, now) for lore in lores):
            note_search(self._spool, now)

    def _end(self, session: Session) -> None:
        """End a session that fell silent; skip one whose folder has broken settings until they are repaired."""
        try:
            lore = self._siblings.of_session(session)
        except StoreError:
            raise
        except SwarmloreError:
            return
        take_in(lore, lore, end_of(session))

    def _is_full(self) -> bool:
        """Return whether the worker's queue is so full that events should stay in the spool, where they are safe."""
        return self._lore.queue_full()

    def _drain(self, deadline: float, hurry: bool) -> Digested:
        tally = Digested()
        for path in spool.take(self._spool):
            tally, left = self._read(path, tally, deadline, hurry)
            if left is None:
                os.unlink(path)
            elif left != spool.read_until(path):
                spool.mark_read(path, left)
            if time.monotonic() > deadline:
                break
        if tally.bad:
            _note(self._lore, None, f"{tally.bad} lines could not be digested")
        return tally

    def _read(self, path: str, tally: Digested, deadline: float, hurry: bool) -> tuple[Digested, int | None]:
        """Take in the events of a file; also return the offset of the first event left over, None if there is none."""
        left: int | None = None
        for at, record in spool.numbered(path, spool.read_until(path)):
            if time.monotonic() > deadline or (not sum(tally.counts) % LOOK_EVERY and self._is_full()):
                return tally, at if left is None else left
            event = from_plain(record)
            if hurry and event is not None and extract.takes_long(event):
                left = at if left is None else left
            else:
                tally = self._counted(tally, event)
        return tally, left

    def _counted(self, tally: Digested, event: Event | None) -> Digested:
        """Take in one event and count it in the tally. An error of the store stops the drain. Any other error
        belongs to this event, for instance broken settings in its folder, and must not block the events behind it."""
        try:
            if event is not None:
                new = self.digest(event)
                return replace(tally, new=tally.new + new, known=tally.known + (not new))
        except StoreError:
            raise
        except Exception as error:
            if self._lore.acting().closed:
                raise
            _note(self._lore, event, f"not digested: {_what(error)}")
        return replace(tally, bad=tally.bad + 1)

    def digest(self, event: Event) -> bool:
        """Take in one event; return False if it was known."""
        return take_in(self._siblings.of_event(event), self._siblings.of_actor(event), event)


def take_in(lore: Lore, actor: Lore, event: Event, *, far: bool = False) -> bool:
    """Take in one event; return False if it was known. `far` marks an event of another machine: its files are not
    here, and the text of its transcript comes with it."""
    store, caller = lore.store, lore.caller
    with lore.acting():
        if store.seen(caller, event.id, event.at, AGAIN_AFTER_S if event.loose else 0.0):
            return False
        if not lore.settings.knowledge.enabled:  # mark the event as seen, keep nothing of it
            store.digested(caller, event.id, event.at, None, lore.now())
            return True
        known = store.session(caller, event.session) if event.session else None
    session = known or new_session(event, caller.project, caller.agent)
    learned = _learned(actor, event, session, far)
    after = advance(session, event)
    after = replace(after, extra={**after.extra, **learned})
    if learned.get(UNREAD):
        after = replace(after, ended_at=None)  # the session ends once its transcript has been read
        search_soon(spool_dir(lore.home))
    with lore.acting():
        store.digested(caller, event.id, event.at, after if event.session else None, lore.now())
    return True


def _learned(lore: Lore, event: Event, session: Session, far: bool) -> dict[str, object]:
    """Store what an event teaches and return the changes for its session; on a failure return no changes."""
    try:
        return extract.learn(lore, event, session, far=far)
    except StoreError:
        raise
    except Exception as error:
        if lore.acting().closed:
            raise
        _note(lore, event, f"not digested: {_what(error)}")
        return {}


def _note(lore: Lore, event: Event | None, what: str) -> None:
    """Record a problem, which `doctor` reports."""
    hook = f"{event.client} {event.name}"[:80] if event else ""
    spool.note_problem(spool_dir(lore.home), {"at": round(time.time(), 3), "hook": hook, "what": what[:200]})


def _what(error: Exception) -> str:
    return error.message if isinstance(error, SwarmloreError) else type(error).__name__


def _lock(path: str) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(path, flags, 0o600)
    if spool.try_lock(fd):
        return fd
    os.close(fd)
    return None


MOST_CHARS = 10_000  # of one text; our own hooks cut texts shorter
AHEAD_S = 86_400.0  # a timestamp further in the future comes from a wrong clock
KEPT = ("find", "context", "outcome", "turns", "cut_at", "payload_too_long")  # allowed keys of `extra`


def event_of(values: Any, root: str, now: float) -> Event | None:
    """Validate, cut and redact an event of another machine; return None if it is none. `root` is the project's root
    folder here; the event's files are placed below it."""
    id = values.get("id") if isinstance(values, dict) else None
    if not isinstance(id, str) or not re.fullmatch(r"[0-9a-f]{8,64}", id):
        return None
    event = from_plain({**scrub_value(_cut(values)), "id": id})
    if event is None:
        return None
    files = tuple(os.path.join(root, *path.split("/")) for path in event.files if path and clean_path(path) == path)
    at = event.at if 0 <= event.at <= now + AHEAD_S else now
    return replace(event, at=at, cwd="", project={}, transcript="", files=files, extra=_extra(event.extra))


def _cut(values: Mapping[str, Any]) -> dict[str, Any]:
    known = {spec.name for spec in fields(Event)}
    return {
        name: value[:MOST_CHARS] if isinstance(value, str) else value for name, value in values.items() if name in known
    }


def _extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the allowed keys of an event's `extra`; of its environment only SKIP_SESSION_SUMMARY."""
    env = extra.get("env")
    skip = isinstance(env, dict) and bool(env.get("SKIP_SESSION_SUMMARY"))
    return {name: extra[name] for name in KEPT if name in extra} | (
        {"env": {"SKIP_SESSION_SUMMARY": "1"}} if skip else {}
    )


def take_in_remote(lore: Lore, values: Any) -> str:
    """Take in an event of another machine; return "new", "known" or "bad"."""
    event = event_of(values, lore.project.root, lore.now())
    if event is None:
        return "bad"
    try:
        return "new" if take_in(lore, lore, event, far=True) else "known"
    except StoreError:
        raise
    except Exception as error:
        if lore.acting().closed:
            raise
        # The error belongs to this event; it must not block the events behind it in the other machine's outbox.
        hook = f"{event.client} {event.name}"[:80]
        problem = {"at": round(lore.now(), 3), "hook": hook, "what": f"not digested: {type(error).__name__}"}
        spool.note_problem(spool_dir(lore.home), problem)
        return "bad"


def answer_remote(lore: Lore, values: Any, until: float) -> str:
    """Return the context block for an event of another machine, or '' if there is none in time."""
    event = event_of(values, lore.project.root, lore.now())
    if event is None:
        return ""
    try:
        return answer(lore, event, "" if lore.embedding.loaded else "keyword", until)
    except DeadlinePassed:
        return ""
