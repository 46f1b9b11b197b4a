"""Digest events: each once, lessons first.

A lesson is stored before its event is marked as done, so a process that dies in between leaves the event waiting, and
telling the same lesson again from the same session changes nothing. Counters and the mark are one transaction.
"""

from __future__ import annotations

import os
import time

from swarmlore.capture import lessons, silent
from swarmlore.capture.siblings import Siblings
from swarmlore.capture.state import UNREAD, advance, new_session
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event import Event, from_plain
from swarmlore.clients.hook.home import spool_dir
from swarmlore.errors import StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace

if TYPE_CHECKING:
    from swarmlore.domain.records import Session
    from swarmlore.lore import Lore

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
        if not silent.is_time(self._spool, now) or self._lore.store.engine.readonly or self._is_full():
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
            for session in silent.find_silent(seen_by, now):
                if time.monotonic() > deadline:
                    return  # the next look goes on with the others
                self._end(session)
        if not any(silent.has_unread(seen_by, now) for seen_by in whose):
            silent.looked(self._spool, now)

    def _end(self, session: Session) -> None:
        """Take a session for ended; one from a folder whose settings are broken waits until they are mended."""
        try:
            lore = self._siblings.of_session(session)
        except StoreError:
            raise
        except SwarmloreError:
            return
        take_in(lore, lore, silent.end_of(session))

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
            if hurry and event is not None and lessons.takes_long(event):
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
        silent.look_soon(spool_dir(lore.home))
    with lore.acting():
        store.digested(caller, event.id, event.at, after if event.session else None, lore.now())
    return True


def _learned(lore: Lore, event: Event, session: Session, far: bool) -> dict[str, object]:
    """Store what an event teaches; where that fails, the session goes on counting."""
    try:
        return lessons.learn(lore, event, session, far=far)
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
