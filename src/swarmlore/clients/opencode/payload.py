"""OpenCode. It has no commands as hooks: our plugin in it sends what its hooks were given, in lines (`hooks.lines`).

A payload is `{"input": …, "output": …}` as the plugin got it, cut, and what only the plugin knows beside them:
`directory`, for a sub-agent's session `parent` and `agent`, `source`, `said`, and the `context` that is used up.
"""

from __future__ import annotations

import json
import os
import re

from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event_from_payload import inner, text, words_of
from swarmlore.domain.extraction.user_words import unquoted, unwrap
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


_MOMENTS = {
    "session.start": e.SESSION_START,
    "chat.message": e.PROMPT,
    "tool.execute.before": e.BEFORE_TOOL,
    "tool.execute.after": e.AFTER_TOOL,
    "tool.failed": e.TOOL_FAILED,
    "session.idle": e.TURN_END,
    "experimental.session.compacting": e.BEFORE_COMPACTION,
    "session.compacted": e.COMPACTED,
    "session.deleted": e.SESSION_END,
    "dispose": e.SESSION_END,
}
_OF_AN_AGENT = {e.PROMPT: e.AGENT_START, e.TURN_END: e.AGENT_STOP, e.SESSION_START: e.OTHER, e.SESSION_END: e.OTHER}
_TOOLS = {
    "bash": e.SHELL,
    "read": e.READ,
    **dict.fromkeys(("edit", "write", "multiedit", "patch", "apply_patch"), e.WRITE),
}
SHOWS_NOTICE = False
_DELEGATE = "task"
FINDERS = ("semantic-memory_find", "memory-lane_find")
_PATCHED = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.{1,1000})$"
_SESSION = r"ses_[\w-]{4,124}"
_MOST_FOUND = 20
_MOST_ENTITIES = 20


def moment(name: str, payload: dict[str, Any]) -> str:
    found = _MOMENTS.get(name, e.OTHER)
    if found == e.AFTER_TOOL and _failed(payload):
        found = e.TOOL_FAILED
    if text(payload, "parent"):
        return _OF_AN_AGENT.get(found, found)
    if found == e.PROMPT and not _typed(payload):
        return e.OTHER  # a file alone, or a command that the client wrote
    return found


def facts(payload: dict[str, Any]) -> dict[str, Any]:
    """As for other clients. A sub-agent has a session of its own, and its parent's is the one that counts."""
    asked, told = inner(payload, "input"), inner(payload, "output")
    given = inner(asked, "args") or inner(told, "args")
    own, parent = text(asked, "sessionID"), text(payload, "parent")
    tool_name = text(asked, "tool")
    tool = _TOOLS.get(tool_name, "other") if tool_name else ""
    typed = _typed(payload)
    printed, failed = _printed(told), _failed(payload) or bool(text(told, "error"))
    patch = text(given, "patchText", "patch", "input") if tool == e.WRITE else ""
    return {
        "session": parent or own,
        "cwd": text(payload, "directory"),
        "agent": own if parent else "",
        "agent_type": text(payload, "agent") if parent else "",
        "transcript": transcript_of(own),
        "source": text(payload, "source"),
        "prompt": "" if parent else typed,
        "task": typed if parent else text(given, "prompt") if tool_name == _DELEGATE else "",
        "tool": tool,
        "tool_name": tool_name,
        "command": text(given, "command") if tool == e.SHELL else "",
        "files": _files(given, patch),
        "change": text(given, "newString", "content") or _added(patch),
        "output": "" if failed or tool in (e.READ, e.WRITE) else printed,
        "error": text(told, "error") or printed if failed else "",
        "said": text(payload, "said"),
        "unique": text(asked, "callID") or text(inner(told, "message"), "id") or text(payload, "mark"),
        "mark": text(payload, "mark"),  # the summary of a compaction: one is told again whenever the client starts
        "given": given,
        "extra": _extra(payload, tool_name, given),
    }


def _typed(payload: dict[str, Any]) -> str:
    """What a person typed."""
    parts = inner(payload, "output").get("parts")
    own = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    said = "\n".join(text(part, "text") for part in own if part.get("type") == "text" and not part.get("synthetic"))
    return unwrap(unquoted(said))


def _printed(told: dict[str, Any]) -> str:
    """What a tool printed: a tool of an MCP server answers in parts, any other with a text."""
    return text(told, "output") or words_of(told.get("content"))


def _failed(payload: dict[str, Any]) -> bool:
    """A command by its exit code, a tool of an MCP server by what it says."""
    told = inner(payload, "output")
    code = inner(told, "metadata").get("exit")
    return told.get("isError") is True or (isinstance(code, int) and not isinstance(code, bool) and code != 0)


def _files(given: dict[str, Any], patch: str) -> list[str]:
    if patch:
        return [path.strip() for path in re.findall(_PATCHED, patch)[:50]]
    path = text(given, "filePath", "file_path")
    return [path] if path else []


def _added(patch: str) -> str:
    return "\n".join(re.findall(r"(?m)^\+(.{0,400})$", patch)[:50])


def _extra(payload: dict[str, Any], tool_name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What has no place among the facts of other clients."""
    extra: dict[str, Any] = {}
    if tool_name in FINDERS:
        extra["find"] = _question(given)
    context = inner(payload, "context")
    used, fits = context.get("used"), context.get("fits")
    if isinstance(used, int) and isinstance(fits, int) and 0 <= used < 1e12 and 0 < fits < 1e12:
        extra["context"] = {"used": used, "fits": fits}
    return extra


def _question(given: dict[str, Any]) -> dict[str, Any]:
    """What one of the older tools was asked for."""
    from swarmlore.domain.security.redaction import redact

    limit, named = given.get("limit"), given.get("entities")
    entities = [name[:120] for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return {
        "query": redact(text(given, "query")[:2_000])[0],
        "limit": limit if isinstance(limit, int) and 0 < limit <= _MOST_FOUND else 5,
        "entities": [redact(name)[0] for name in entities[:_MOST_ENTITIES]],
    }


def transcript_of(session: str) -> str:
    """Where the client keeps a session: one database for all, and behind a # which of them."""
    if not re.fullmatch(_SESSION, session):
        return ""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    folder = os.path.join(data, "opencode")
    chosen = os.environ.get("OPENCODE_DB") or "opencode.db"
    return "" if chosen == ":memory:" else f"{os.path.join(folder, chosen)}#{session}"


def encode(name: str, context: str, notice: str = "") -> str:
    """What a line is answered with. A line for the person has no place in it."""
    return json.dumps({"text": context}) if context else ""
