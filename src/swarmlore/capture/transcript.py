"""The transcript of a session, as far as it can be read: why it cannot is told to the doctor, or it is tried again."""

from __future__ import annotations

import contextlib
import time

from swarmlore.capture.state import TRIED_AT, UNREAD
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import spool_dir
from swarmlore.clients.transcripts import Tally, read_transcript
from swarmlore.frozen import TYPE_CHECKING, replace

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.hook.event import Event
    from swarmlore.clients.transcripts import Turn
    from swarmlore.domain.records import Session
    from swarmlore.lore import Lore

    Changes = dict[str, Any]

TRANSCRIPT_BYTES = 8_000_000  # of its end
MOST_TRIES = 10  # where its owner is busy with it
FEW_LINES = 20  # of a client's own bookkeeping: a session may have no more than these
# Clients that do not say where a transcript is: one that is not there means that we look in the wrong place.
GUESSED = ("copilot", "opencode")


def read_session(lore: Lore, event: Event, session: Session, path: str) -> tuple[list[Turn], Changes]:
    """The turns of a session, and what it should know about the reading of them."""
    tally, root = Tally(), lore.project.root
    turns = [inside(turn, root) for turn in read_transcript(event.client, path, TRANSCRIPT_BYTES, tally=tally)]
    tries = _tries(session) + 1
    if tally.busy and tries < MOST_TRIES:
        return [], {UNREAD: tries, TRIED_AT: lore.now()}
    if why := _problem(tally, turns, event, session):
        _tell(lore, event, why)
    return turns, {UNREAD: 0} if UNREAD in session.extra else {}


def _tries(session: Session) -> int:
    found = session.extra.get(UNREAD, 0)
    return found if isinstance(found, int) else 0


def _problem(tally: Tally, turns: list[Turn], event: Event, session: Session) -> str:
    """What a person should know. Who never said anything may have no transcript, and some sessions are not kept."""
    asked = bool(session.extra.get("prompts"))
    if tally.missing:
        return tally.refused if asked and event.client in GUESSED else ""
    if not tally.refused and not turns and asked and tally.lines > FEW_LINES:
        return f"nothing was understood in {tally.lines} records"
    return tally.refused


def _tell(lore: Lore, event: Event, why: str) -> None:
    problem = {"at": round(time.time(), 3), "hook": f"{event.client} {event.name}"[:80]}
    with contextlib.suppress(OSError):
        spool.note_problem(spool_dir(lore.home), {**problem, "what": f"transcript not read: {why}"[:200]})


def inside(turn: Turn, root: str) -> Turn:
    """Paths as the project sees them: what lies above it says nothing about it."""
    return replace(turn, files=tuple(path.removeprefix(root.rstrip("/") + "/") for path in turn.files))
