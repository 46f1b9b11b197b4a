"""Read hook payloads of Codex, which follow Claude Code's, and write the answers. Codex drops an answer that has an
unknown key, and reports a failed command like any other."""

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
    """Return which moment an event of this client is."""
    result = claude.moment(name, payload)
    return e.TOOL_FAILED if result == e.AFTER_TOOL and _failed(payload) else result


def _failed(payload: dict[str, Any]) -> bool:
    """Return whether a command failed: by its exit code in the transcript, else by its output."""
    if _TOOLS.get(text(payload, "tool_name")) != e.SHELL:
        return False
    from swarmlore.clients.hook.client_log import exit_code, looks_failed

    code = exit_code(text(payload, "transcript_path"), text(payload, "tool_use_id"))
    if code is not None:
        return code != 0
    return looks_failed(text(inner(payload, "tool_input"), "command"), words_of(payload.get("tool_response"), 20_000))


def facts(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event: those of Claude Code, with Codex's own tools and ids."""
    values = claude.facts(payload)
    values["unique"] = text(payload, "tool_use_id") or text(payload, "turn_id")
    tool_name = values["tool_name"]
    values["tool"] = _TOOLS.get(tool_name, "other") if tool_name else ""
    if tool_name == "apply_patch":
        patch = text(inner(payload, "tool_input"), "command", "input", "patch")
        values["files"] = [path.strip() for path in re.findall(_PATCHED, patch)[:50]]
        values["change"] = "\n".join(re.findall(r"(?m)^\+(.{0,400})$", patch)[:50])
        values["command"] = ""
    if _failed(payload):
        values["error"], values["output"] = values["output"], ""
    return values


def encode(name: str, context: str, notice: str = "") -> str:
    """Return the answer that adds a text to the context; a notice for the person is not supported."""
    return claude.encode(name, context) if context else ""
