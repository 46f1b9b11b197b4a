"""Read hook payloads of Gemini CLI and write the answers.

Gemini takes context with a prompt and with a tool's result, but not before a tool runs. It wraps what a hook returned
at a session start into the prompt, and reports that as the prompt. Its `PreCompress` comes before every request; only
one that a person asked for is a compaction.
"""

from __future__ import annotations

from swarmlore.clients.claude import payload as claude
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event_from_payload import inner, stamp, text, words_of
from swarmlore.domain.extraction.message_text import typed_text
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_MOMENTS = {
    "SessionStart": e.SESSION_START,
    "BeforeAgent": e.PROMPT,
    "BeforeTool": e.BEFORE_TOOL,
    "AfterTool": e.AFTER_TOOL,
    "AfterAgent": e.TURN_END,
    "SessionEnd": e.SESSION_END,
}
_TOOLS = {
    "run_shell_command": e.SHELL,
    **dict.fromkeys(("read_file", "read_many_files", "list_directory"), e.READ),
    **dict.fromkeys(("write_file", "replace", "edit"), e.WRITE),
}
SHOWS_NOTICE = True
_PATHS = ("file_path", "absolute_path", "path", "dir_path")


def moment(name: str, payload: dict[str, Any]) -> str:
    """Return which moment an event of this client is."""
    result = _MOMENTS.get(name, e.OTHER)
    if name == "PreCompress" and payload.get("trigger") == "manual":
        return e.BEFORE_COMPACTION
    if result == e.PROMPT and not typed_text(text(payload, "prompt")):
        return e.OTHER
    return e.TOOL_FAILED if result == e.AFTER_TOOL and _ended(payload)[1] else result


def facts(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event; the output of a failed command is its error."""
    given = inner(payload, "tool_input")
    tool_name = text(payload, "tool_name")
    printed, failed = _ended(payload)
    return {
        "session": text(payload, "session_id"),
        "cwd": text(payload, "cwd"),
        "agent": "",
        "agent_type": "",
        "transcript": text(payload, "transcript_path"),
        "source": text(payload, "source", "trigger", "reason"),
        "prompt": typed_text(text(payload, "prompt")),
        "task": "",
        "tool": _TOOLS.get(tool_name, "other") if tool_name else "",
        "tool_name": tool_name,
        "command": text(given, "command"),
        "files": [value for name in _PATHS if (value := text(given, name))],
        "change": text(given, "new_string", "content"),
        "output": "" if failed or _TOOLS.get(tool_name) in (e.READ, e.WRITE) else printed,
        "error": printed if failed else "",
        "said": text(payload, "prompt_response"),
        "unique": stamp(payload, tool_name, given),
        "given": given,
    }


def _ended(payload: dict[str, Any]) -> tuple[str, bool]:
    """Return the output of a tool, and whether it failed: by its error, or for a command by its exit code."""
    from swarmlore.domain.extraction.fixes import gemini_ending, without_wrapping

    response = inner(payload, "tool_response")
    printed = words_of(response.get("llmContent"))
    error = response.get("error")
    message = text(error, "message") or text(response, "error")
    if _TOOLS.get(text(payload, "tool_name")) != e.SHELL:
        return message or without_wrapping(printed), bool(error)
    body, code = gemini_ending(printed)
    return body or message, bool(error or code)


def encode(name: str, context: str, notice: str = "") -> str:
    """Return the answer that adds a text to the context and shows the person a notice, in Claude Code's form."""
    return claude.encode(name, context, notice)
