"""What a session has been doing, kept small: enough to say under which circumstances something was learned. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.clients.hook import event as e
from swarmlore.domain.records import Session
from swarmlore.frozen import TYPE_CHECKING, replace

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.hook.event import Event


PROMPT_CHARS = 800
SAID_CHARS = 1_500
ATTEMPT_CHARS = 600
FILES_KEPT = 20
ATTEMPTS_KEPT = 12
# In a session: how often its transcript was tried in vain, because its owner was busy with it, and when last.
UNREAD, TRIED_AT = "unread", "tried_at"


def new_session(event: Event, project: str, agent: str) -> Session:
    return Session(event.session, event.client, project, agent, event.at, None, event.cwd, {})


def session_of(event: Event) -> str:
    """Under which name its receipts stand: a sub-agent has a context of its own."""
    return f"{event.session}/{event.agent}" if event.session and event.agent else event.session


def advance(session: Session, event: Event) -> Session:
    """The session after an event."""
    extra = dict(session.extra)
    extra["last_event_at"] = event.at
    extra["last_event"] = event.name
    if not event.agent:  # a sub-agent has a conversation of its own
        _note_talk(extra, event)
    if event.task:
        extra["last_task"] = event.task[:PROMPT_CHARS]
    if event.files:
        extra["files"] = _newest([*extra.get("files", ()), *event.files])
    _count(extra, event)
    ended = event.at if event.moment == e.SESSION_END else None
    return replace(session, extra=extra, ended_at=ended, cwd=session.cwd or event.cwd)


def _note_talk(extra: dict[str, Any], event: Event) -> None:
    if event.transcript:
        extra["transcript"] = event.transcript
    if is_unsummed(event):
        extra["unsummed"] = True
    if event.prompt:
        if extra.get("last_prompt"):
            extra["prompt_before"] = extra["last_prompt"]
        extra["last_prompt"] = event.prompt[:PROMPT_CHARS]
    if event.said:
        extra["last_said"] = event.said[-SAID_CHARS:]


def _count(extra: dict[str, Any], event: Event) -> None:
    """What the outcome of a session is judged by, where nobody reports it."""
    counted = {
        e.PROMPT: "prompts",
        e.AFTER_TOOL: "tool_calls",
        e.TOOL_FAILED: "errors",
        e.COMPACTED: "compactions",
        e.AGENT_START: "sub_agents",
    }
    told = event.agent and event.moment == e.PROMPT  # to a sub-agent, by an agent
    if (name := counted.get(event.moment)) and not told:
        extra[name] = int(extra.get(name, 0)) + 1
    if event.moment == e.TOOL_FAILED:
        extra["tool_calls"] = int(extra.get("tool_calls", 0)) + 1
    if event.moment in (e.AFTER_TOOL, e.TOOL_FAILED) and event.tool in (e.SHELL, e.WRITE):
        if event.tool == e.SHELL and is_retry(extra, event):
            extra["retries"] = int(extra.get("retries", 0)) + 1
        extra["attempts"] = [*attempts_of(extra), _attempt(event)][-ATTEMPTS_KEPT:]


def is_retry(extra: Mapping[str, Any], event: Event) -> bool:
    """Whether the same command failed just before."""
    last = [item for item in attempts_of(extra) if item.get("tool") == e.SHELL][-1:]
    return bool(last) and bool(last[0].get("error")) and last[0].get("command") == _attempt(event)["command"]


def is_unsummed(event: Event) -> bool:
    """Whether the session itself only sums up another one: a summary of that would never end."""
    env = event.extra.get("env")
    return isinstance(env, Mapping) and bool(env.get("SKIP_SESSION_SUMMARY"))


def attempts_of(extra: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = extra.get("attempts", ())
    return [item for item in found if isinstance(item, dict)] if isinstance(found, (list, tuple)) else []


def _attempt(event: Event) -> dict[str, Any]:
    return {
        "tool": event.tool,
        "command": event.command[:ATTEMPT_CHARS],
        "files": list(event.files[:3]),
        "error": event.error[-ATTEMPT_CHARS:],
        "at": event.at,
    }


def _newest(files: list[str]) -> list[str]:
    return list(dict.fromkeys(reversed(files)))[:FILES_KEPT][::-1]
