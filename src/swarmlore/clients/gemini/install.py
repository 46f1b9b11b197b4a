"""Installation for Gemini CLI: hooks and the server in settings.json, with timeouts in ms; skills in the shared
folder."""

from __future__ import annotations

import os

from swarmlore.clients.install.commands import SERVER, server
from swarmlore.clients.install.entries import File, Hook, Hooks, JsonServer
from swarmlore.clients.install.locations import RESTART, Client, Where, shared_skills

NAME = "gemini"
FOLDER = ".gemini"
VARIABLE = "GEMINI_CLI_HOME"  # replaces the user's home folder, not the client's folder
MILLISECONDS = 1000
# Not BeforeTool, which takes no context, nor the events around each model request, which would start three processes.
HOOKS = (
    Hook("SessionStart", 10),
    Hook("BeforeAgent", 5),
    Hook("AfterTool", 5),
    Hook("AfterAgent", 5),
    Hook("PreCompress", 5, "manual"),  # without the matcher it runs before every request
    Hook("SessionEnd", 5),
)


def folder(where: Where) -> str:
    """Return the client's folder for settings."""
    home = where.env.get(VARIABLE, "")
    if where.root or not home:
        return where.config(FOLDER)
    return os.path.join(os.path.abspath(os.path.expanduser(home)), FOLDER)


def files(where: Where) -> tuple[File, ...]:
    """Return the client's files with our entries."""
    base = folder(where)
    entry = JsonServer(("mcpServers", SERVER), server(NAME, where.target))
    hooks = Hooks(NAME, where.target, HOOKS, MILLISECONDS, SERVER)
    return (
        File(os.path.join(base, "settings.json"), (hooks, entry), comments=True),
        *shared_skills(os.path.dirname(base)),  # with skills in its own folder too, Gemini hides one and warns
    )


def to_do(where: Where) -> tuple[str, ...]:
    """Return what is left for the person to do after an installation."""
    if where.root:
        return ("Gemini CLI reads a project's hooks and servers only where the folder is trusted: agree when it asks.",)
    return (RESTART,)


CLIENT = Client(NAME, "Gemini CLI", folder, files, to_do)
