"""Digest events: each once, lessons first.

A lesson is stored before its event is marked as done, so a process that dies in between leaves the event waiting, and
telling the same lesson again from the same session changes nothing. Counters and the mark are one transaction.
"""

from __future__ import annotations

import os
import time

from swarmlore.capture import lessons
from swarmlore.capture.siblings import Siblings
from swarmlore.capture.state import advance, new_session
from swarmlore.errors import StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.hooks import spool
from swarmlore.hooks.event import Event, from_plain
from swarmlore.hooks.places import spool_dir

if TYPE_CHECKING:
    from swarmlore.lore import Lore
    from swarmlore.records import Session

AGAIN_AFTER_S = 10.0  # two hook files report the same within this; the same prompt after it is another prompt
LOCK = "digest.lock"


@frozen
class Digested:
    """How many events were new, how many known before, and how many lines were none."""

    new: int = 0
    known: int = 0
    bad: int = 0


class Digester:
    """Digests what waits for the memory of one home, whichever project it came from."""

    def __init__(self, lore: Lore, siblings: Siblings | None = None) -> None:
        self._spool = spool_dir(lore.home)
        self._siblings = siblings or Siblings(lore)

    def drain(self, budget_s: float = float("inf")) -> Digested:
        """Digest what waits, until it is done or the time is up; nothing where another process is at it."""
        if not spool.waits(self._spool):
            return Digested()
        lock = _lock(os.path.join(self._spool, LOCK))
        if lock is None:
            return Digested()
        try:
            return self._drain(time.monotonic() + budget_s)
        finally:
            os.close(lock)

    def _drain(self, deadline: float) -> Digested:
        new = known = bad = 0
        for path in spool.take(self._spool):
            for record in spool.lines(path):
                if time.monotonic() > deadline:
                    return Digested(new, known, bad)  # the file stays; what is done is known by its id
                event = from_plain(record)
                if event is None:
                    bad += 1
                elif self.digest(event):
                    new += 1
                else:
                    known += 1
            os.unlink(path)
            if bad:
                spool.note_problem(self._spool, {"at": time.time(), "hook": "", "what": f"{bad} broken lines"})
        return Digested(new, known, bad)

    def digest(self, event: Event) -> bool:
        """Take in one event; False where it was known."""
        lore = self._siblings.of_event(event)
        store, caller = lore.store, lore.caller
        with lore.acting():
            if store.seen(caller, event.id, event.at, AGAIN_AFTER_S if event.loose else 0.0):
                return False
            known = store.session(caller, event.session) if event.session else None
        session = known or new_session(event, caller.project, caller.agent)
        told = _learned(lore, event, session)
        after = advance(session, event)
        after = replace(after, extra={**after.extra, **told})
        with lore.acting():
            store.digested(caller, event.id, event.at, after if event.session else None)
        return True


def _learned(lore: Lore, event: Event, session: Session) -> dict[str, object]:
    """Store what an event teaches. A store that is full or gone stops us; any other fault is one event's own, and
    must not keep those behind it waiting."""
    try:
        return lessons.learn(lore, event, session)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - told to the doctor, without words of the event
        what = error.message if isinstance(error, SwarmloreError) else type(error).__name__
        hook = f"{event.client} {event.name}"
        spool.note_problem(spool_dir(lore.home), {"at": event.at, "hook": hook, "what": f"not digested: {what}"[:200]})
        return {}


def _lock(path: str) -> int | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    if spool.locked(fd):
        return fd
    os.close(fd)
    return None
