"""Read hook payloads of OpenCode, which our plugin sends as lines (see `hook.stream`), and write the answers.

A payload is `{"input": …, "output": …}` as the plugin got it, cut, plus what only the plugin knows: `directory`, for a
sub-agent's session `parent` and `agent`, `source`, `said`, and the used part of the `context`.
"""

from __future__ import annotations

import json
import os
import re

from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event_from_payload import inner, text, words_of
from swarmlore.domain.extraction.message_text import typed_text, without_quotes
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
    """Return which moment an event of this client is."""
    result = _MOMENTS.get(name, e.OTHER)
    if result == e.AFTER_TOOL and _failed(payload):
        result = e.TOOL_FAILED
    if text(payload, "parent"):
        return _OF_AN_AGENT.get(result, result)
    if result == e.PROMPT and not _typed(payload):
        return e.OTHER  # a file without text, or a command that the client wrote
    return result


def facts(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event. A sub-agent has a session of its own; the event belongs to the parent's."""
    call, output = inner(payload, "input"), inner(payload, "output")
    given = inner(call, "args") or inner(output, "args")
    own, parent = text(call, "sessionID"), text(payload, "parent")
    tool_name = text(call, "tool")
    tool = _TOOLS.get(tool_name, "other") if tool_name else ""
    typed = _typed(payload)
    printed = text(output, "output") or words_of(output.get("content"))  # tools of MCP servers answer in parts
    failed = _failed(payload) or bool(text(output, "error"))
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
        "change": text(given, "newString", "content") or "\n".join(re.findall(r"(?m)^\+(.{0,400})$", patch)[:50]),
        "output": "" if failed or tool in (e.READ, e.WRITE) else printed,
        "error": text(output, "error") or printed if failed else "",
        "said": text(payload, "said"),
        "unique": text(call, "callID") or text(inner(output, "message"), "id") or text(payload, "mark"),
        "mark": text(
            payload, "mark"
        ),  # id of a compaction's summary, which is reported again at each start of the client
        "given": given,
        "extra": _extra(payload, tool_name, given),
    }


def _typed(payload: dict[str, Any]) -> str:
    """Return the text that a person typed."""
    parts = inner(payload, "output").get("parts")
    own = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    typed = "\n".join(text(part, "text") for part in own if part.get("type") == "text" and not part.get("synthetic"))
    return typed_text(without_quotes(typed))


def _failed(payload: dict[str, Any]) -> bool:
    """Return whether a tool failed: a command by its exit code, a tool of an MCP server by its `isError`."""
    output = inner(payload, "output")
    code = inner(output, "metadata").get("exit")
    return output.get("isError") is True or (isinstance(code, int) and not isinstance(code, bool) and code != 0)


def _files(given: dict[str, Any], patch: str) -> list[str]:
    if patch:
        return [path.strip() for path in re.findall(_PATCHED, patch)[:50]]
    path = text(given, "filePath", "file_path")
    return [path] if path else []


def _extra(payload: dict[str, Any], tool_name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return what other clients do not report: a query for an older memory tool, and the used context."""
    extra: dict[str, Any] = {}
    if tool_name in FINDERS:
        extra["find"] = _query(given)
    context = inner(payload, "context")
    used, fits = context.get("used"), context.get("fits")
    if isinstance(used, int) and isinstance(fits, int) and 0 <= used < 1e12 and 0 < fits < 1e12:
        extra["context"] = {"used": used, "fits": fits}
    return extra


def _query(given: dict[str, Any]) -> dict[str, Any]:
    """Return the query, limit and entities given to an older memory tool, redacted."""
    from swarmlore.domain.security.redaction import redact

    limit, named = given.get("limit"), given.get("entities")
    entities = [name[:120] for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return {
        "query": redact(text(given, "query")[:2_000])[0],
        "limit": limit if isinstance(limit, int) and 0 < limit <= _MOST_FOUND else 5,
        "entities": [redact(name)[0] for name in entities[:_MOST_ENTITIES]],
    }


def transcript_of(session: str) -> str:
    """Return where a session is kept: the path of the client's database, then # and the session's id."""
    if not re.fullmatch(_SESSION, session):
        return ""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    folder = os.path.join(data, "opencode")
    chosen = os.environ.get("OPENCODE_DB") or "opencode.db"
    return "" if chosen == ":memory:" else f"{os.path.join(folder, chosen)}#{session}"


def encode(name: str, context: str, notice: str = "") -> str:
    """Return the answer to a line; a notice for the person is not supported."""
    return json.dumps({"text": context}) if context else ""
