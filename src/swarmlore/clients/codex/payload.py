"""Codex. It drops an answer with a key it does not know, and reports a failed command as any other."""

from __future__ import annotations

import re

from swarmlore.clients.claude import payload as claude
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event_from_payload import inner, text, words_of
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


SHOWS_NOTICE = False
_TOOLS = {"Bash": e.SHELL, "shell": e.SHELL, "exec_command": e.SHELL, "apply_patch": e.WRITE, "read_file": e.READ}
_PATCHED = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.{1,1000})$"


def moment(name: str, payload: dict[str, Any]) -> str:
    found = claude.moment(name, payload)
    return e.TOOL_FAILED if found == e.AFTER_TOOL and _failed(payload) else found


def _failed(payload: dict[str, Any]) -> bool:
    """By the exit code, which stands in the transcript when the hook runs; else by what was printed."""
    if _TOOLS.get(text(payload, "tool_name")) != e.SHELL:
        return False
    from swarmlore.clients.hook.client_log import exit_code, looks_failed

    code = exit_code(text(payload, "transcript_path"), text(payload, "tool_use_id"))
    if code is not None:
        return code != 0
    return looks_failed(text(inner(payload, "tool_input"), "command"), words_of(payload.get("tool_response"), 20_000))


def facts(payload: dict[str, Any]) -> dict[str, Any]:
    """As Claude Code's, whose payloads it follows, but for its own tools and ids."""
    found = claude.facts(payload)
    found["unique"] = text(payload, "tool_use_id") or text(payload, "turn_id")
    tool_name = found["tool_name"]
    found["tool"] = _TOOLS.get(tool_name, "other") if tool_name else ""
    if tool_name == "apply_patch":
        patch = text(inner(payload, "tool_input"), "command", "input", "patch")
        found["files"] = [path.strip() for path in re.findall(_PATCHED, patch)[:50]]
        found["change"] = "\n".join(re.findall(r"(?m)^\+(.{0,400})$", patch)[:50])
        found["command"] = ""
    if _failed(payload):
        found["error"], found["output"] = found["output"], ""
    return found


def encode(name: str, context: str, notice: str = "") -> str:
    """The answer that puts a text into the context. A line for the person has no place in it."""
    return claude.encode(name, context) if context else ""
