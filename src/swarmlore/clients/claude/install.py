"""Installation for Claude Code: hooks and permissions in settings.json, the server in .claude.json or .mcp.json."""

from __future__ import annotations

import os

from swarmlore.clients.install.commands import SERVER, server
from swarmlore.clients.install.entries import Allowed, File, Hook, Hooks, JsonServer
from swarmlore.clients.install.locations import RESTART, Client, Where, skill_files

NAME = "claude"
FOLDER = ".claude"
VARIABLE = "CLAUDE_CONFIG_DIR"
WATCHED_TOOLS = "Read|Edit|Write|MultiEdit|NotebookEdit|Agent|Task"  # tools for files, and for sub-agents
HOOKS = (
    Hook("SessionStart", 10),  # may have to open the store when no daemon runs
    Hook("UserPromptSubmit", 5),
    Hook("PreToolUse", 5, WATCHED_TOOLS),
    Hook("PostToolUse", 5),
    Hook("PostToolUseFailure", 5),
    Hook("SubagentStart", 5),
    Hook("SubagentStop", 5),
    Hook("Stop", 5),
    Hook("PreCompact", 5),
    Hook("SessionEnd", 5),
)
READING = (f"mcp__{SERVER}__recall", f"mcp__{SERVER}__get")


def folder(where: Where) -> str:
    """Return the client's folder for settings."""
    return where.config(FOLDER, VARIABLE)


def files(where: Where) -> tuple[File, ...]:
    """Return the client's files with our entries."""
    base = folder(where)
    # alwaysLoad: else the model finds the tools only if it searches for them.
    entry = JsonServer(("mcpServers", SERVER), {"type": "stdio", **server(NAME, where.target), "alwaysLoad": True})
    return (
        File(
            os.path.join(base, "settings.json"),
            (Hooks(NAME, where.target, HOOKS), Allowed(("permissions", "allow"), READING)),
        ),
        File(_servers(where), (entry,), mode=0o644 if where.root else 0o600),
        *skill_files(os.path.join(base, "skills"), FOLDER, f"~/{FOLDER}"),
    )


def _servers(where: Where) -> str:
    if where.root:
        return os.path.join(where.root, ".mcp.json")
    return os.path.join(folder(where) if where.env.get(VARIABLE) else where.user, ".claude.json")


def to_do(where: Where) -> tuple[str, ...]:
    """Return what is left for the person to do after an installation."""
    if where.root:
        return ("Claude Code asks once whether to use the server swarmlore of this project: agree.",)
    return (RESTART,)


CLIENT = Client(NAME, "Claude Code", folder, files, to_do)
