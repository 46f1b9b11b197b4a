"""Keep a small running state of a session (last prompts, commands, files, counts): the situation of what it teaches."""

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
# Keys in a session's `extra`: failed attempts to read its transcript (its database was busy), and the last one's time.
UNREAD, TRIED_AT = "unread", "tried_at"


def new_session(event: Event, project: str, agent: str) -> Session:
    """Return the state of a session before its first event."""
    return Session(event.session, event.client, project, agent, event.at, None, event.cwd, {})


def session_of(event: Event) -> str:
    """Return the session id for receipts: a sub-agent has a context of its own, so it gets an id of its own."""
    return f"{event.session}/{event.agent}" if event.session and event.agent else event.session


def advance(session: Session, event: Event) -> Session:
    """Return the session's state after an event."""
    extra = dict(session.extra)
    extra["last_event_at"] = event.at
    extra["last_event"] = event.name
    if not event.agent:  # the prompts of a sub-agent belong to another conversation
        _update_conversation(extra, event)
    if event.task:
        extra["last_task"] = event.task[:PROMPT_CHARS]
    if event.files:
        newest_first = dict.fromkeys(reversed([*extra.get("files", ()), *event.files]))
        extra["files"] = list(newest_first)[:FILES_KEPT][::-1]
    _count(extra, event)
    ended = event.at if event.moment == e.SESSION_END else None
    return replace(session, extra=extra, ended_at=ended, cwd=session.cwd or event.cwd)


def _update_conversation(extra: dict[str, Any], event: Event) -> None:
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
    """Count prompts, tool calls, errors and retries; they stand in for an outcome that nobody reported."""
    counted = {
        e.PROMPT: "prompts",
        e.AFTER_TOOL: "tool_calls",
        e.TOOL_FAILED: "errors",
        e.COMPACTED: "compactions",
        e.AGENT_START: "sub_agents",
    }
    from_agent = event.agent and event.moment == e.PROMPT  # an agent prompted a sub-agent
    if (name := counted.get(event.moment)) and not from_agent:
        extra[name] = int(extra.get(name, 0)) + 1
    if event.moment == e.TOOL_FAILED:
        extra["tool_calls"] = int(extra.get("tool_calls", 0)) + 1
    if event.moment in (e.AFTER_TOOL, e.TOOL_FAILED) and event.tool in (e.SHELL, e.WRITE):
        if event.tool == e.SHELL and is_retry(extra, event):
            extra["retries"] = int(extra.get("retries", 0)) + 1
        extra["attempts"] = [*attempts_of(extra), _attempt(event)][-ATTEMPTS_KEPT:]


def is_retry(extra: Mapping[str, Any], event: Event) -> bool:
    """Return whether the same command failed just before."""
    last = [item for item in attempts_of(extra) if item.get("tool") == e.SHELL][-1:]
    return bool(last) and bool(last[0].get("error")) and last[0].get("command") == _attempt(event)["command"]


def is_unsummed(event: Event) -> bool:
    """Return whether the session must not be summarised: it summarises another one itself, which would never end."""
    env = event.extra.get("env")
    return isinstance(env, Mapping) and bool(env.get("SKIP_SESSION_SUMMARY"))


def attempts_of(extra: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the recent commands and writes in a session's `extra`."""
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
