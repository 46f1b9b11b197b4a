"""Copilot CLI: hooks in a file of our own, servers in mcp-config.json (those of a project in .github/mcp.json)."""

from __future__ import annotations

import os

from swarmlore.installing.calls import SERVER, server
from swarmlore.installing.entries import File, Hook, JsonServer
from swarmlore.installing.flat_hooks import FlatHooks
from swarmlore.installing.skills import skill_files
from swarmlore.installing.where import RESTART, Client, Where

NAME = "copilot"
FOLDER = ".copilot"
PROJECT_FOLDER = ".github"
VARIABLE = "COPILOT_HOME"
WATCHED_TOOLS = "view|create|edit|str_replace|str_replace_editor|apply_patch|task"  # files, and sub-agents' tasks
HOOKS = (
    Hook("sessionStart", 10),
    Hook("userPromptSubmitted", 5),
    Hook("preToolUse", 5, WATCHED_TOOLS),
    Hook("postToolUse", 5),
    Hook("postToolUseFailure", 5),
    Hook("subagentStart", 5),
    Hook("subagentStop", 5),
    Hook("agentStop", 5),
    Hook("preCompact", 5),
    Hook("sessionEnd", 5),
)


def folder(where: Where) -> str:
    return where.config(PROJECT_FOLDER if where.root else FOLDER, VARIABLE)


def files(where: Where) -> tuple[File, ...]:
    base = folder(where)
    values = {"type": "local", **server(NAME, where.target), "tools": ["*"]}
    servers = os.path.join(base, "mcp.json" if where.root else "mcp-config.json")
    return (
        File(os.path.join(base, "hooks", f"{SERVER}.json"), (FlatHooks(NAME, where.target, HOOKS),)),
        File(servers, (JsonServer(("mcpServers", SERVER), values),), mode=0o644 if where.root else 0o600),
        *skill_files(os.path.join(base, "skills"), PROJECT_FOLDER if where.root else FOLDER, f"~/{FOLDER}"),
    )


def to_do(where: Where) -> tuple[str, ...]:
    if where.root:
        return ("Copilot CLI uses a project's hooks and servers only where its folder is trusted: agree when it asks.",)
    return (RESTART,)


CLIENT = Client(NAME, "Copilot CLI", folder, files, to_do)
