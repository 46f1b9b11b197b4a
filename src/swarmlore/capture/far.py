"""Events of another machine: what its hooks reported, taken in and answered here for whoever shows a token.

Nothing in them is taken for granted. No path that they name is read or written here: what was in a transcript comes
with the event, and files of the project are named as the project sees them.
"""

from __future__ import annotations

import os
import re

from swarmlore.capture.answering import answer
from swarmlore.capture.digest import take_in
from swarmlore.clients.hook.event import Event, from_plain
from swarmlore.clients.hook.home import spool_dir
from swarmlore.clients.hook.spool import note_problem
from swarmlore.domain.language.citations import clean_path
from swarmlore.domain.policy.gate import scrub_value
from swarmlore.errors import StoreError
from swarmlore.frozen import TYPE_CHECKING, fields, replace
from swarmlore.retrieval.context import TooLate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from swarmlore.lore import Lore

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
