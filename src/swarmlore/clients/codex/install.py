"""Installation for Codex: hooks in hooks.json, the server in config.toml, skills in the shared folder."""

from __future__ import annotations

import os

from swarmlore.clients.install.commands import SERVER, server
from swarmlore.clients.install.entries import File, Hook, Hooks, TomlServer
from swarmlore.clients.install.locations import Client, Where, shared_skills

NAME = "codex"
FOLDER = ".codex"
VARIABLE = "CODEX_HOME"
STARTUP_S = 20
HOOKS = (
    Hook("SessionStart", 10),
    Hook("UserPromptSubmit", 5),
    Hook("PreToolUse", 5),
    Hook("PostToolUse", 5),
    Hook("SubagentStart", 5),
    Hook("SubagentStop", 5),
    Hook("Stop", 5),
    Hook("PreCompact", 5),
    Hook("SessionEnd", 3),  # Codex waits no longer, even if more is configured
)


def folder(where: Where) -> str:
    """Return the client's folder for settings."""
    return where.config(FOLDER, VARIABLE)


def files(where: Where) -> tuple[File, ...]:
    """Return the client's files with our entries."""
    base = folder(where)
    values = {**server(NAME, where.target), "startup_timeout_sec": STARTUP_S}
    # An earlier release wrote this key, but never into a project.
    harmful = {} if where.root else {"required": "Codex does not start (required = true)"}
    return (
        File(os.path.join(base, "hooks.json"), (Hooks(NAME, where.target, HOOKS),)),
        File(os.path.join(base, "config.toml"), (TomlServer(("mcp_servers", SERVER), values, harmful),)),
        *shared_skills(where.root or where.user),
    )


def to_do(where: Where) -> tuple[str, ...]:
    """Return what is left for the person to do after an installation."""
    trust = "Codex skips hooks that nobody trusts, silently: type /hooks in Codex, review them, and trust them."
    if where.root:
        agree = "Codex reads a project's hooks and servers only where the project is trusted: agree when it asks."
        return (agree, trust, *_twice(where))
    return (trust,)


def _twice(where: Where) -> tuple[str, ...]:
    if not any(os.path.lexists(file.path) for file in shared_skills(where.user)):
        return ()
    return (
        "Codex shows a project's skills beside your own, and $NAME then calls neither: type /skills, keep one of both.",
    )


CLIENT = Client(NAME, "Codex", folder, files, to_do)
