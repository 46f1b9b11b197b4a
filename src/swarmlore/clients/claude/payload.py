"""Read hook payloads of Claude Code and write the answers."""

from __future__ import annotations

import json

from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event_from_payload import inner, text, words_of
from swarmlore.domain.extraction.message_text import typed_text
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_MOMENTS = {
    "SessionStart": e.SESSION_START,
    "UserPromptSubmit": e.PROMPT,
    "PreToolUse": e.BEFORE_TOOL,
    "PostToolUse": e.AFTER_TOOL,
    "PostToolUseFailure": e.TOOL_FAILED,
    "SubagentStart": e.AGENT_START,
    "SubagentStop": e.AGENT_STOP,
    "Stop": e.TURN_END,
    "PreCompact": e.BEFORE_COMPACTION,
    "SessionEnd": e.SESSION_END,
}
_TOOLS = {
    "Bash": e.SHELL,
    "Read": e.READ,
    "NotebookRead": e.READ,
    "Write": e.WRITE,
    "Edit": e.WRITE,
    "MultiEdit": e.WRITE,
    "NotebookEdit": e.WRITE,
}
SHOWS_NOTICE = True
_DELEGATES = ("Agent", "Task")
_STREAMS = ("stdout", "stderr")


def moment(name: str, payload: dict[str, Any]) -> str:
    """Return which moment an event of this client is."""
    result = _MOMENTS.get(name, e.OTHER)
    if result == e.PROMPT and not typed_text(text(payload, "prompt")):
        return e.OTHER  # a prompt by the client itself: a sub-agent has ended, a command has run
    return e.COMPACTED if result == e.SESSION_START and payload.get("source") == "compact" else result


def facts(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event, and `unique`, which tells this event from others of its session."""
    given = inner(payload, "tool_input")
    tool_name = text(payload, "tool_name")
    return {
        "session": text(payload, "session_id"),
        "cwd": text(payload, "cwd"),
        "agent": text(payload, "agent_id"),
        "agent_type": text(payload, "agent_type"),
        "transcript": text(payload, "agent_transcript_path", "transcript_path"),
        "source": text(payload, "source", "trigger", "reason"),
        "prompt": typed_text(text(payload, "prompt")),
        "task": text(given, "prompt") if tool_name in _DELEGATES else "",
        "tool": _TOOLS.get(tool_name, "other") if tool_name else "",
        "tool_name": tool_name,
        "command": text(given, "command"),
        "files": files_of(given),
        "change": text(given, "new_string", "content", "new_source") or _edits(given),
        "output": _output(payload.get("tool_response")),
        "error": text(payload, "error"),
        "said": text(payload, "last_assistant_message"),
        "unique": text(payload, "tool_use_id") or text(payload, "prompt_id"),
        "given": given,
    }


def files_of(given: dict[str, Any]) -> list[str]:
    """Return the files in a tool's input."""
    return [value for name in ("file_path", "path", "notebook_path") if (value := text(given, name))]


def _edits(given: dict[str, Any]) -> str:
    """Return the new texts of a tool's several edits, joined."""
    edits = given.get("edits")
    return "\n".join(text(edit, "new_string") for edit in edits[:20]) if isinstance(edits, list) else ""


def _output(response: Any) -> str:
    """Return the output of a tool; a tool that wrote a file answers with the file, which is no output."""
    if isinstance(response, dict):
        if any(name in response for name in _STREAMS):
            return "\n".join(filter(None, (text(response, name) for name in _STREAMS)))
        if "filePath" in response or "file" in response:
            return ""
    return words_of(response)


def encode(name: str, context: str, notice: str = "") -> str:
    """Return the answer that adds a text to the context, and shows the person a notice."""
    given = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}} if context else {}
    return json.dumps({**given, "systemMessage": notice} if notice else given)
