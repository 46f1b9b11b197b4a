"""Build the context block that answers a hook event: derive the cue from the event, then recall."""

from __future__ import annotations

import os

from swarmlore.capture.session_state import session_of
from swarmlore.clients.hook import event as e
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.retrieval.context import DeadlinePassed

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
    """Return the context block for an event, or ''. Everything but a tool call that succeeded leaves a receipt.
    Raise TooLate if nothing is ready before `until`, a time of the monotonic clock."""
    if not e.is_answered(event):
        return ""
    blocks: list[str] = []
    for moment in _moments(lore, event):
        try:
            blocks.append(_context_block(lore, replace(event, moment=moment), mode, until))
            blocks.append(_mail(lore, replace(event, moment=moment)))
        except DeadlinePassed:
            if not any(blocks):
                raise
    return "\n\n".join(filter(None, blocks))


def _moments(lore: Lore, event: Event) -> tuple[str, ...]:
    """Return the moments that an event stands for, in the order in which they are answered.

    Some clients report neither the start of a session nor a compaction in time, so a prompt may also stand for one of
    them. The block for the prompt comes before the one for the session start, in case time runs out; a compaction comes
    first, because its block says what is in the context.
    """
    if event.moment != e.PROMPT or event.agent or not event.session:
        return (event.moment,)
    if event.client not in (*e.BEGUN_BY_PROMPT, *e.CUT_SILENTLY):
        return (event.moment,)
    lead = replace(lore.caller, role="lead")  # sees receipts of every agent name that the client had
    with lore.acting():
        given = lore.store.receipts(lead, event.session, limit=200)
    if event.client in e.BEGUN_BY_PROMPT and not any(item.trigger in _BEGINNINGS for item in given):
        return event.moment, e.SESSION_START
    answered_at = max((item.at for item in given if item.trigger == TRIGGERS[e.COMPACTED]), default=0.0)
    cut = given and _cut_at(event) > answered_at
    return (e.COMPACTED, event.moment) if cut else (event.moment,)


def _cut_at(event: Event) -> float:
    """Return when the context was compacted: as reported by the machine that has the transcript, else from the
    transcript."""
    reported = event.extra.get("cut_at")
    if isinstance(reported, (int, float)) and not isinstance(reported, bool):
        return float(reported)
    from swarmlore.clients.transcripts import compacted_at

    return compacted_at(event.client, event.transcript)


def _mail(lore: Lore, event: Event) -> str:
    """Return a notice of waiting messages and proposals at the start of a session; agents do not look unprompted."""
    if event.moment != e.SESSION_START or event.agent:
        return ""
    from swarmlore.domain.policy.context_block import notice

    waiting = "\n".join(filter(None, (lore.mail_notice(), lore.proposals_notice())))
    return notice(waiting, os.urandom(6).hex())


def _context_block(lore: Lore, event: Event, mode: str, until: float | None) -> str:
    if event.moment == e.BEFORE_TOOL and isinstance(event.extra.get("find"), dict):
        return _answer_find(lore, event, event.extra["find"], mode)
    request = _request(lore, event)
    if request is None:
        return ""
    cue = request.pop("cue")
    if not lore.settings.knowledge.enabled:
        cue = ""  # the receipt says why nothing was given, and must not keep the prompt
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


def _answer_find(lore: Lore, event: Event, find: dict[str, Any], mode: str) -> str:
    """Answer a query that was meant for an older memory tool (`find`) from this store. The `lane` profile ranks by
    that tool's own rules, but needs vectors; without a hit the default profile is tried."""
    from swarmlore.errors import SwarmloreError

    if not lore.settings.knowledge.enabled:
        return ""
    query, limit = str(find.get("query", "")), find.get("limit")
    named = find.get("entities")
    entities = tuple(map(str, named)) if isinstance(named, list) else ()
    most = limit if isinstance(limit, int) else 5
    try:
        hits = lore.recall(query, most, "lane", mode or None, entities=entities)
        hits = hits or lore.recall(query, most, "default", mode or None, entities=entities)
    except SwarmloreError:  # an empty query, or an ambiguous name
        return ""
    return lore.quote(hits, query, trigger="redirect", session=session_of(event)).text


def _reason_to_skip(lore: Lore, event: Event) -> str:
    """Return why a session start gets no block, or '': a resumed session still has the earlier one in its context."""
    if event.moment != e.SESSION_START or event.source != "resume":
        return ""
    with lore.acting():
        shown = lore.store.shown_in(lore.caller, event.session)
    return "the session goes on: what it was given is in its context" if shown else ""


def _request(lore: Lore, event: Event) -> dict[str, Any] | None:
    """Return the cue and the files to recall for; None if the tool touches no file of the project."""
    if e.is_about_files(event):
        files = tuple(path for name in event.files if (path := _relative_to_project(name, lore.project.root)))
        # A path alone is too weak a cue, so only memories that cite the file count; the text of a change is enough.
        cue = f"{' '.join(files)}: {event.change}" if event.change else ""
        return {"cue": cue, "files": files} if files else None
    if event.moment == e.TOOL_FAILED:
        return {"cue": _error_cue(event)}
    if event.moment == e.PROMPT:
        return {"cue": event.prompt}
    return {"cue": _last_prompt(lore, event)}


def _error_cue(event: Event) -> str:
    """Return the error text, shortened to its telling lines if it is long; the command is added to a short error."""
    from swarmlore.domain.extraction.fixes import error_excerpt, stable_lines

    error = stable_lines(event.error)
    if len(error) > ERROR_CHARS:
        error = error_excerpt(error, ERROR_CHARS)
    return error if len(error) >= LITTLE_CHARS else f"{event.command[:200]}\n{error}".strip()


def _last_prompt(lore: Lore, event: Event) -> str:
    """Return the last prompt of a session after a compaction; for a sub-agent its task, if the client reported it."""
    if event.moment == e.AGENT_START and event.task:
        return event.task
    if event.moment == e.SESSION_START or not event.session:
        return ""
    client = replace(
        lore.caller, agent=lore.caller.agent.removesuffix(f"/{event.agent_type}")
    )  # sessions belong to the client
    with lore.acting():
        session = lore.store.session(client, event.session)
    extra = session.extra if session else {}
    task = str(extra.get("last_task", "")) if event.moment == e.AGENT_START else ""
    last, before = str(extra.get("last_prompt", "")), str(extra.get("prompt_before", ""))
    return task or (
        last if len(last) >= LITTLE_CHARS else f"{last}\n{before}".strip()
    )  # a prompt such as "go on" is too short to search by


def _relative_to_project(path: str, root: str) -> str:
    """Return the path relative to the project, as citations write it; '' if it lies outside."""
    relative = os.path.relpath(path, root)
    return "" if relative.startswith("..") else relative.replace(os.sep, "/")


def _headroom(event: Event) -> float | None:
    """Return the free share of the context window, from the event or the transcript; None if the client does not
    tell."""
    reported = event.extra.get("context")
    if isinstance(reported, dict) and isinstance(reported.get("used"), int) and isinstance(reported.get("fits"), int):
        return _free(reported["used"], reported["fits"])
    if event.moment not in (e.PROMPT, e.TOOL_FAILED, e.BEFORE_TOOL, e.AFTER_TOOL) or not event.transcript:
        return None
    from swarmlore.clients.transcripts import context_used

    used = context_used(event.client, event.transcript)
    return _free(used[0], used[1]) if used and used[1] else None


def _free(used: int, fits: int) -> float:
    return min(1.0, max(0.0, 1 - used / max(1, fits)))
