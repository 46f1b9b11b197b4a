"""The context that answers a moment of a session: which cue it gives, and the block for it."""

from __future__ import annotations

import os

from swarmlore.capture.state import session_of
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.hooks import event as e

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.hooks.event import Event
    from swarmlore.lore import Lore

TRIGGERS = {
    e.SESSION_START: "session-start",
    e.COMPACTED: "compaction",
    e.PROMPT: "prompt",
    e.BEFORE_TOOL: "file",
    e.TOOL_FAILED: "error",
    e.AGENT_START: "agent-start",
}
ERROR_CHARS = 1_200
LITTLE_CHARS = 60
STANDING = (e.SESSION_START, e.COMPACTED, e.AGENT_START)


def answer(lore: Lore, event: Event, mode: str = "") -> str:
    """The block for an event, or ''. Everything but a tool that just worked has a receipt."""
    if event.moment not in TRIGGERS:
        return ""
    request = _request(lore, event)
    if request is None:
        return ""
    cue = request.pop("cue")
    block = lore.block(
        cue,
        trigger=TRIGGERS[event.moment],
        session=session_of(event),
        standing=event.moment in STANDING,
        skip=_reason_to_skip(lore, event),
        headroom=_headroom(event),
        mode=mode,
        **request,
    )
    return block.text


def _reason_to_skip(lore: Lore, event: Event) -> str:
    """A session that goes on still has before it what it was given."""
    if event.moment != e.SESSION_START or event.source != "resume":
        return ""
    with lore.acting():
        shown = lore.store.shown_in(lore.caller, event.session)
    return "the session goes on: what it was given is in its context" if shown else ""


def _request(lore: Lore, event: Event) -> dict[str, Any] | None:
    """Cue and files of a moment; None where a tool touches nothing that anybody could know about."""
    if event.moment == e.BEFORE_TOOL:
        files = tuple(path for name in event.files if (path := _inside(name, lore.project.root)))
        # A path alone says too little to look for more than what cites it; what is about to be written says enough.
        cue = f"{' '.join(files)}: {event.change}" if event.change else ""
        return {"cue": cue, "files": files} if files else None
    if event.moment == e.TOOL_FAILED:
        return {"cue": _error_cue(event)}
    if event.moment == e.PROMPT:
        return {"cue": event.prompt}
    return {"cue": _last_prompt(lore, event)}


def _error_cue(event: Event) -> str:
    """The error as it is, of a long one the telling lines; the command where the error alone says little."""
    from swarmlore.text.error_lines import error_excerpt, stable_lines

    error = stable_lines(event.error)
    if len(error) > ERROR_CHARS:
        error = error_excerpt(error, ERROR_CHARS)
    return error if len(error) >= LITTLE_CHARS else f"{event.command[:200]}\n{error}".strip()


def _last_prompt(lore: Lore, event: Event) -> str:
    """After a compaction what the session was about; for a sub-agent its task, if the client told it."""
    if event.moment == e.SESSION_START or not event.session:
        return ""
    client = replace(lore.caller, agent=lore.caller.agent.removesuffix(f"/{event.agent_type}"))  # it keeps the session
    with lore.acting():
        session = lore.store.session(client, event.session)
    extra = session.extra if session else {}
    task = str(extra.get("last_task", "")) if event.moment == e.AGENT_START else ""
    return task or str(extra.get("last_prompt", ""))


def _inside(path: str, root: str) -> str:
    """The path as citations write it, or '' for one outside of the project."""
    relative = os.path.relpath(path, root)
    return "" if relative.startswith("..") else relative.replace(os.sep, "/")


def _headroom(event: Event) -> float | None:
    """The free share of the context, where the client's figures tell."""
    if event.moment not in (e.PROMPT, e.TOOL_FAILED, e.BEFORE_TOOL) or not event.transcript:
        return None
    from swarmlore.formats.transcripts import context_used

    used = context_used(event.client, event.transcript)
    if used is None or not used[1]:
        return None
    return min(1.0, max(0.0, 1 - used[0] / used[1]))
