"""Read hook payloads of Copilot CLI and write the answers.

Each event has two names; the keys of one form are in camelCase, those of the other in snake_case. Copilot also runs the
hooks in a repository's `.claude/settings.json`, in the second form and with Claude Code's tool names: `clients.sender`
recognises those payloads. Both reports of an event have the same time and arguments, hence the same id.
"""

from __future__ import annotations

import json
import os
import re

from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event_from_payload import inner, stamp, text, words_of
from swarmlore.domain.extraction.message_text import typed_text
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_MOMENTS = {
    **dict.fromkeys(("sessionStart", "SessionStart"), e.SESSION_START),
    **dict.fromkeys(("userPromptSubmitted", "UserPromptSubmit"), e.PROMPT),
    **dict.fromkeys(("preToolUse", "PreToolUse"), e.BEFORE_TOOL),
    **dict.fromkeys(("postToolUse", "PostToolUse"), e.AFTER_TOOL),
    **dict.fromkeys(("postToolUseFailure", "PostToolUseFailure"), e.TOOL_FAILED),
    **dict.fromkeys(("subagentStart", "SubagentStart"), e.AGENT_START),
    **dict.fromkeys(("subagentStop", "SubagentStop"), e.AGENT_STOP),
    **dict.fromkeys(("agentStop", "Stop"), e.TURN_END),
    **dict.fromkeys(("preCompact", "PreCompact"), e.BEFORE_COMPACTION),
    **dict.fromkeys(("sessionEnd", "SessionEnd"), e.SESSION_END),
}
_TOOLS = {
    **dict.fromkeys(("bash", "powershell", "local_shell", "Bash"), e.SHELL),
    **dict.fromkeys(("view", "Read"), e.READ),
    **dict.fromkeys(("create", "edit", "str_replace", "str_replace_editor", "apply_patch", "insert"), e.WRITE),
    **dict.fromkeys(("Write", "Edit", "MultiEdit"), e.WRITE),
}
SHOWS_NOTICE = False
_DELEGATES = ("task", "Agent", "Task")


def moment(name: str, payload: dict[str, Any]) -> str:
    """Return which moment an event of this client is."""
    result = _MOMENTS.get(name, e.OTHER)
    if result == e.PROMPT and not typed_text(text(payload, "prompt")):
        return e.OTHER
    if result == e.SESSION_START and payload.get("source") == "compact":
        return e.COMPACTED
    return e.TOOL_FAILED if result == e.AFTER_TOOL and _ended(payload)[1] else result


def facts(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event. A sub-agent has an id of its own; the session belongs to the parent it names."""
    given = _arguments(payload)
    tool_name = text(payload, "toolName", "tool_name")
    agent = text(payload, "agentId", "agent_id")
    session = text(payload, "sessionId", "session_id")
    if agent and session == agent:
        session = text(payload, "parentAgentId", "parent_agent_id") or session
    source = text(payload, "source", "trigger", "reason")
    printed, failed = _ended(payload)
    transcript = text(payload, "transcriptPath", "transcript_path")
    stopped = "stopReason" in payload or "stop_reason" in payload
    return {
        "session": session,
        "cwd": text(payload, "cwd"),
        "agent": agent,
        "agent_type": text(payload, "agentType", "agent_type", "agentName", "agent_name"),
        "transcript": transcript or _usual_transcript(session),
        "source": "startup" if source == "new" else source,
        "prompt": typed_text(text(payload, "prompt")),
        "task": text(given, "prompt") if tool_name in _DELEGATES else "",
        "tool": _TOOLS.get(tool_name, "other") if tool_name else "",
        "tool_name": tool_name,
        "command": text(given, "command"),
        "files": [value for name in ("path", "file_path") if (value := text(given, name))],
        "change": text(given, "new_str", "file_text", "insert_text"),
        "output": "" if failed or _TOOLS.get(tool_name) in (e.READ, e.WRITE) else printed,
        "error": printed if failed else "",
        "said": text(payload, "response", "last_assistant_message")
        or (_last_message(transcript) if stopped and not agent else ""),
        "unique": stamp(payload, given),
        "given": given,
    }


def _arguments(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool; some releases write them as JSON in a text."""
    for name in ("toolArgs", "tool_input", "toolInput"):
        value = payload.get(name)
        if isinstance(value, str) and value.startswith("{"):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                continue
        if isinstance(value, dict):
            return value
    return {}


def _ended(payload: dict[str, Any]) -> tuple[str, bool]:
    """Return the output of a tool, and whether it failed: as the client reports, or by a command's exit code."""
    error = payload.get("error")
    if message := text(payload, "error") or text(error, "message"):
        return message, True
    result = inner(payload, "toolResult") or inner(payload, "tool_result")
    printed = text(result, "textResultForLlm", "text_result_for_llm")
    if not printed:  # another form of answer
        printed = words_of(payload.get("tool_response"))
    bad = text(result, "resultType", "result_type") in ("failure", "error")
    if _TOOLS.get(text(payload, "toolName", "tool_name")) != e.SHELL:
        return printed, bad
    from swarmlore.domain.extraction.fixes import copilot_ending

    body, code = copilot_ending(printed)
    return body, bad or bool(code)


def _usual_transcript(session: str) -> str:
    """Return the usual path of a session's transcript, which most payloads do not name."""
    if not re.fullmatch(r"[\w-]{8,128}", session):
        return ""
    home = os.environ.get("COPILOT_HOME") or os.path.join(os.path.expanduser("~"), ".copilot")
    return os.path.join(home, "session-state", session, "events.jsonl")


def _last_message(transcript: str) -> str:
    """Return the agent's last message from the transcript; the payload at the end of a turn lacks it."""
    from swarmlore.clients.hook.client_log import last_line

    line = last_line(transcript, b'{"type":"assistant.message"')
    try:
        return text(json.loads(line)["data"], "content") if line else ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def encode(name: str, context: str, notice: str = "") -> str:
    """Return the answer that adds a text to the context; a notice for the person is not supported."""
    return json.dumps({"additionalContext": context}) if context else ""
