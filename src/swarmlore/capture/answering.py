"""The context that answers a moment of a session: which cue it gives, and the block for it."""

from __future__ import annotations

import os

from swarmlore.capture.session_state import session_of
from swarmlore.clients.hook import event as e
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.retrieval.context import TooLate

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.hook.event import Event
    from swarmlore.lore import Lore

TRIGGERS = {
    e.SESSION_START: "session-start",
    e.COMPACTED: "compaction",
    e.PROMPT: "prompt",
    e.BEFORE_TOOL: "file",
    e.AFTER_TOOL: "file",
    e.TOOL_FAILED: "error",
    e.AGENT_START: "agent-start",
}
ERROR_CHARS = 1_200
LITTLE_CHARS = 60
STANDING = (e.SESSION_START, e.COMPACTED, e.AGENT_START)
_BEGINNINGS = (TRIGGERS[e.SESSION_START], TRIGGERS[e.COMPACTED])


def answer(lore: Lore, event: Event, mode: str = "", until: float | None = None) -> str:
    """The block for an event, or ''. Everything but a tool that just worked has a receipt.

    Raises TooLate where there is nothing to give before `until`, by the monotonic clock.
    """
    if not e.is_answered(event):
        return ""
    blocks: list[str] = []
    for moment in _moments(lore, event):
        try:
            blocks.append(_block(lore, replace(event, moment=moment), mode, until))
            blocks.append(_mail(lore, replace(event, moment=moment)))
        except TooLate:
            if not any(blocks):
                raise
    return "\n\n".join(filter(None, blocks))


def _moments(lore: Lore, event: Event) -> tuple[str, ...]:
    """What an event is to the agent. With a prompt may come what the client does not tell of in time: that the session
    begins, or that its context was cut. What fits the prompt comes before what fits any session, should time run out;
    a cut comes first, because it says what is in the context."""
    if event.moment != e.PROMPT or event.agent or not event.session:
        return (event.moment,)
    if event.client not in (*e.BEGUN_BY_PROMPT, *e.CUT_SILENTLY):
        return (event.moment,)
    whole = replace(lore.caller, role="lead")  # whatever its client was called then
    with lore.acting():
        given = lore.store.receipts(whole, event.session, limit=200)
    if event.client in e.BEGUN_BY_PROMPT and not any(item.trigger in _BEGINNINGS for item in given):
        return event.moment, e.SESSION_START
    answered_at = max((item.at for item in given if item.trigger == TRIGGERS[e.COMPACTED]), default=0.0)
    cut = given and _cut_at(event) > answered_at
    return (e.COMPACTED, event.moment) if cut else (event.moment,)


def _cut_at(event: Event) -> float:
    """When the context was cut: as another machine said that has the transcript, else by that."""
    told = event.extra.get("cut_at")
    if isinstance(told, (int, float)) and not isinstance(told, bool):
        return float(told)
    from swarmlore.clients.transcripts import cut_at

    return cut_at(event.client, event.transcript)


def _mail(lore: Lore, event: Event) -> str:
    """That messages or proposals wait, at the beginning of a session: an agent looks only if it is told to."""
    if event.moment != e.SESSION_START or event.agent:
        return ""
    from swarmlore.domain.policy.context_block import notice

    waiting = "\n".join(filter(None, (lore.mail_notice(), lore.proposals_notice())))
    return notice(waiting, os.urandom(6).hex())


def _block(lore: Lore, event: Event, mode: str, until: float | None) -> str:
    if event.moment == e.BEFORE_TOOL and isinstance(event.extra.get("find"), dict):
        return _found(lore, event, event.extra["find"], mode)
    request = _request(lore, event)
    if request is None:
        return ""
    cue = request.pop("cue")
    if not lore.settings.knowledge.enabled:
        cue = ""  # its receipt says why there is nothing, and not what was said
    block = lore.block(
        cue,
        trigger=TRIGGERS[event.moment],
        session=session_of(event),
        standing=event.moment in STANDING,
        skip=_reason_to_skip(lore, event),
        headroom=_headroom(event),
        mode=mode,
        until=until,
        **request,
    )
    return block.text


def _found(lore: Lore, event: Event, asked: dict[str, Any], mode: str) -> str:
    """What an older memory tool was asked for, from this memory: by that tool's own rules, else (they need vectors) by
    ours."""
    from swarmlore.errors import SwarmloreError

    if not lore.settings.knowledge.enabled:
        return ""
    query, limit = str(asked.get("query", "")), asked.get("limit")
    named = asked.get("entities")
    entities = tuple(map(str, named)) if isinstance(named, list) else ()
    most = limit if isinstance(limit, int) else 5
    try:
        hits = lore.recall(query, most, "lane", mode or None, entities=entities)
        hits = hits or lore.recall(query, most, "default", mode or None, entities=entities)
    except SwarmloreError:  # an empty question, or a name that may mean several things
        return ""
    return lore.quote(hits, query, trigger="redirect", session=session_of(event)).text


def _reason_to_skip(lore: Lore, event: Event) -> str:
    """A session that goes on still has before it what it was given."""
    if event.moment != e.SESSION_START or event.source != "resume":
        return ""
    with lore.acting():
        shown = lore.store.shown_in(lore.caller, event.session)
    return "the session goes on: what it was given is in its context" if shown else ""


def _request(lore: Lore, event: Event) -> dict[str, Any] | None:
    """Cue and files of a moment; None where a tool touches nothing that anybody could know about."""
    if e.is_about_files(event):
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
    from swarmlore.domain.extraction.fixes import error_excerpt, stable_lines

    error = stable_lines(event.error)
    if len(error) > ERROR_CHARS:
        error = error_excerpt(error, ERROR_CHARS)
    return error if len(error) >= LITTLE_CHARS else f"{event.command[:200]}\n{error}".strip()


def _last_prompt(lore: Lore, event: Event) -> str:
    """After a compaction what the session was about; for a sub-agent its task, if the client told it."""
    if event.moment == e.AGENT_START and event.task:
        return event.task
    if event.moment == e.SESSION_START or not event.session:
        return ""
    client = replace(lore.caller, agent=lore.caller.agent.removesuffix(f"/{event.agent_type}"))  # it keeps the session
    with lore.acting():
        session = lore.store.session(client, event.session)
    extra = session.extra if session else {}
    task = str(extra.get("last_task", "")) if event.moment == e.AGENT_START else ""
    last, before = str(extra.get("last_prompt", "")), str(extra.get("prompt_before", ""))
    return task or (last if len(last) >= LITTLE_CHARS else f"{last}\n{before}".strip())  # "go on" says too little


def _inside(path: str, root: str) -> str:
    """The path as citations write it, or '' for one outside of the project."""
    relative = os.path.relpath(path, root)
    return "" if relative.startswith("..") else relative.replace(os.sep, "/")


def _headroom(event: Event) -> float | None:
    """The free share of the context, where the client's figures tell: in the event, or in its transcript."""
    told = event.extra.get("context")
    if isinstance(told, dict) and isinstance(told.get("used"), int) and isinstance(told.get("fits"), int):
        return _free(told["used"], told["fits"])
    if event.moment not in (e.PROMPT, e.TOOL_FAILED, e.BEFORE_TOOL, e.AFTER_TOOL) or not event.transcript:
        return None
    from swarmlore.clients.transcripts import context_used

    used = context_used(event.client, event.transcript)
    return _free(used[0], used[1]) if used and used[1] else None


def _free(used: int, fits: int) -> float:
    return min(1.0, max(0.0, 1 - used / max(1, fits)))
