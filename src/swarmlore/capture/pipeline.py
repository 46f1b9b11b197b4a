"""Events of another machine: what its hooks reported, taken in and answered here for whoever shows a token.

Nothing in them is taken for granted. No path that they name is read or written here: what was in a transcript comes
with the event, and files of the project are named as the project sees them.
"""

from __future__ import annotations

import contextlib
import os
import re
import time

from swarmlore.capture import extract
from swarmlore.capture.answering import answer
from swarmlore.capture.lore_pool import Siblings
from swarmlore.capture.session_state import TRIED_AT, UNREAD, advance, new_session
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event import Event, from_plain
from swarmlore.clients.hook.home import spool_dir
from swarmlore.clients.hook.spool import note_problem
from swarmlore.domain.language.citations import clean_path
from swarmlore.domain.policy.gate import scrub_value
from swarmlore.errors import StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.retrieval.context import TooLate

if TYPE_CHECKING:
    from collections.abc import Mapping
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


AGAIN_AFTER_S = 10.0  # two hook files report the same within this; the same prompt after it is another prompt
LOCK = "digest.lock"
LOOK_EVERY = 50  # events between two looks at how much waits for the worker


@frozen
class Digested:
    """How many events were new, how many known before, and how many lines were none."""

    new: int = 0
    known: int = 0
    bad: int = 0

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.new, self.known, self.bad

    def plus(self, other: Digested) -> Digested:
        return Digested(self.new + other.new, self.known + other.known, self.bad + other.bad)


class Digester:
    """Digests what waits for the memory of one home, whichever project it came from."""

    def __init__(self, lore: Lore, siblings: Siblings | None = None) -> None:
        self._lore = lore
        self._spool = spool_dir(lore.home)
        self._siblings = siblings or Siblings(lore)

    def drain(self, budget_s: float = float("inf"), *, hurry: bool = False) -> Digested:
        """Digest what waits, until it is done or the time is up; nothing where another process is at it.

        In a hurry what takes long by itself is left to a process for which nobody waits. What came while we were at it
        is looked for once the lock is free again: whoever wanted to digest it meanwhile found us and went away.
        """
        tally, deadline = Digested(), time.monotonic() + budget_s
        more = spool.waits(self._spool) and not self._is_full()
        while more and (lock := _lock(os.path.join(self._spool, LOCK))) is not None:
            try:
                tally = tally.plus(self._drain(deadline, hurry))
            finally:
                os.close(lock)
            more = spool.came(self._spool) and time.monotonic() < deadline and not self._is_full()
        if not hurry and time.monotonic() < deadline:
            self.read_silent(deadline)
        return tally

    def read_silent(self, deadline: float = float("inf")) -> None:
        """Read sessions that stopped reporting, if it is time to look for them and nobody else is at it."""
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
        # A server shows each caller its own sessions; a file has no such limits.
        whose = self._siblings.known() if self._lore.store.engine.remote else [self._lore]
        for seen_by in whose:
            for session in find_silent(seen_by, now):
                if time.monotonic() > deadline:
                    return  # the next look goes on with the others
                self._end(session)
        if not any(has_unread(seen_by, now) for seen_by in whose):
            looked(self._spool, now)

    def _end(self, session: Session) -> None:
        """Take a session for ended; one from a folder whose settings are broken waits until they are mended."""
        try:
            lore = self._siblings.of_session(session)
        except StoreError:
            raise
        except SwarmloreError:
            return
        take_in(lore, lore, end_of(session))

    def _is_full(self) -> bool:
        """Whether the worker is so far behind that events had better wait where they are; nothing is lost by that."""
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
            self._note("", f"{tally.bad} lines could not be digested")
        return tally

    def _read(self, path: str, tally: Digested, deadline: float, hurry: bool) -> tuple[Digested, int | None]:
        """Digest the events of a file; returns also where the next one has to begin, None if it is done."""
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
        """Digest one event. A store that is full, gone or closed stops us; any other fault is one event's own (it may
        come from a folder whose settings are broken), and must not keep those behind it waiting."""
        try:
            if event is not None:
                new = self.digest(event)
                return replace(tally, new=tally.new + new, known=tally.known + (not new))
        except StoreError:
            raise
        except Exception as error:
            if self._lore.acting().closed:
                raise
            self._note(f"{event.client} {event.name}"[:80] if event else "", f"not digested: {_what(error)}")
        return replace(tally, bad=tally.bad + 1)

    def _note(self, hook: str, what: str) -> None:
        spool.note_problem(self._spool, {"at": round(time.time(), 3), "hook": hook, "what": what[:200]})

    def digest(self, event: Event) -> bool:
        """Take in one event; False where it was known."""
        return take_in(self._siblings.of_event(event), self._siblings.of_actor(event), event)


def take_in(lore: Lore, actor: Lore, event: Event, *, far: bool = False) -> bool:
    """Take in one event; False where it was known. From afar comes what another machine reported: its files are not
    here, and what was in them comes with the event."""
    store, caller = lore.store, lore.caller
    with lore.acting():
        if store.seen(caller, event.id, event.at, AGAIN_AFTER_S if event.loose else 0.0):
            return False
        if not lore.settings.knowledge.enabled:  # it is done with, and nothing that it said is kept
            store.digested(caller, event.id, event.at, None, lore.now())
            return True
        known = store.session(caller, event.session) if event.session else None
    session = known or new_session(event, caller.project, caller.agent)
    told = _learned(actor, event, session, far)
    after = advance(session, event)
    after = replace(after, extra={**after.extra, **told})
    if told.get(UNREAD):
        after = replace(after, ended_at=None)  # it ends when its transcript was read
        look_soon(spool_dir(lore.home))
    with lore.acting():
        store.digested(caller, event.id, event.at, after if event.session else None, lore.now())
    return True


def _learned(lore: Lore, event: Event, session: Session, far: bool) -> dict[str, object]:
    """Store what an event teaches; where that fails, the session goes on counting."""
    try:
        return extract.learn(lore, event, session, far=far)
    except StoreError:
        raise
    except Exception as error:
        if lore.acting().closed:
            raise
        hook = f"{event.client} {event.name}"[:80]
        what = f"not digested: {_what(error)}"[:200]
        spool.note_problem(spool_dir(lore.home), {"at": round(time.time(), 3), "hook": hook, "what": what})
        return {}


def _what(error: Exception) -> str:
    return error.message if isinstance(error, SwarmloreError) else type(error).__name__


def _lock(path: str) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(path, flags, 0o600)
    if spool.locked(fd):
        return fd
    os.close(fd)
    return None


MOST_CHARS = 10_000  # of one text; hooks cut theirs shorter
AHEAD_S = 86_400.0  # a clock that is further ahead than this is wrong
KEPT = ("find", "context", "outcome", "turns", "cut_at", "payload_too_long")  # of what a client alone says


def event_of(values: Any, root: str, now: float) -> Event | None:
    """The event that another machine sent, as far as it can be one; `root` is where its project would lie here."""
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


def _extra(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is told beside the usual; of the environment only that the session sums up another."""
    env = said.get("env")
    skip = isinstance(env, dict) and bool(env.get("SKIP_SESSION_SUMMARY"))
    return {name: said[name] for name in KEPT if name in said} | (
        {"env": {"SKIP_SESSION_SUMMARY": "1"}} if skip else {}
    )


def digest_far(lore: Lore, values: Any) -> str:
    """What became of an event: new, known or bad."""
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
        # One event's own fault: it must not keep those behind it waiting on the machine that it comes from.
        hook = f"{event.client} {event.name}"[:80]
        problem = {"at": round(lore.now(), 3), "hook": hook, "what": f"not digested: {type(error).__name__}"}
        note_problem(spool_dir(lore.home), problem)
        return "bad"


def answer_far(lore: Lore, values: Any, until: float) -> str:
    """The context for an event, or '' where there is none in time."""
    event = event_of(values, lore.project.root, lore.now())
    if event is None:
        return ""
    try:
        return answer(lore, event, "" if lore.embedding.loaded else "keyword", until)
    except TooLate:
        return ""
