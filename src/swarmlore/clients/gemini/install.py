"""Gemini CLI: hooks and servers in one settings.json, whose time limits are milliseconds; skills where agents share."""

from __future__ import annotations

import os

from swarmlore.clients.install.commands import SERVER, server
from swarmlore.clients.install.entries import File, Hook, Hooks, JsonServer
from swarmlore.clients.install.locations import RESTART, Client, Where, shared_skills

NAME = "gemini"
FOLDER = ".gemini"
VARIABLE = "GEMINI_CLI_HOME"  # it stands for the person's own folder, not for the client's
MILLISECONDS = 1000
# Not BeforeTool, at which it takes no context, nor the events around each request to the model: three processes each.
HOOKS = (
    Hook("SessionStart", 10),
    Hook("BeforeAgent", 5),
    Hook("AfterTool", 5),
    Hook("AfterAgent", 5),
    Hook("PreCompress", 5, "manual"),  # else it comes before every request
    Hook("SessionEnd", 5),
)


def folder(where: Where) -> str:
    home = where.env.get(VARIABLE, "")
    if where.root or not home:
        return where.config(FOLDER)
    return os.path.join(os.path.abspath(os.path.expanduser(home)), FOLDER)


def files(where: Where) -> tuple[File, ...]:
    base = folder(where)
    entry = JsonServer(("mcpServers", SERVER), server(NAME, where.target))
    hooks = Hooks(NAME, where.target, HOOKS, MILLISECONDS, SERVER)
    return (
        File(os.path.join(base, "settings.json"), (hooks, entry), comments=True),
        *shared_skills(os.path.dirname(base)),  # its own folder as well would hide one behind the other, with a warning
    )


def to_do(where: Where) -> tuple[str, ...]:
    if where.root:
        return ("Gemini CLI reads a project's hooks and servers only where the folder is trusted: agree when it asks.",)
    return (RESTART,)


CLIENT = Client(NAME, "Gemini CLI", folder, files, to_do)
