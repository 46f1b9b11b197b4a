"""Installation for Copilot CLI: hooks in a file of our own, the server in mcp-config.json or .github/mcp.json."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from swarmlore.clients.install.commands import SERVER, hook_call, hook_line, server
from swarmlore.clients.install.entries import HOOKS, File, Hook, Hooks, JsonServer, set_to
from swarmlore.clients.install.locations import RESTART, Client, Where, skill_files
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.install.edit_json import JsonSheet, Path

VERSION: Path = ("version",)
FORM = 1


class FlatHooks(Hooks):
    """Hook entries under `hooks.<event>` without groups, after those of others; the file has a format version."""

    __slots__ = ()
    key = "bash"

    def put(self, sheet: JsonSheet) -> None:
        if sheet.at(VERSION) is None:
            sheet.put(VERSION, FORM)
            sheet.made.append(VERSION)
        super().put(sheet)

    def _put(self, sheet: JsonSheet, path: Path, hook: Hook) -> None:
        values: dict[str, Any] = {"type": "command", self.key: hook_line(self.client, hook.event, self.target)}
        values |= {"timeoutSec": hook.timeout_s, **({"matcher": hook.matcher} if hook.matcher else {})}
        own = list(self._own(sheet, hook.event))
        if not own:
            sheet.append(path, values)
            return
        for place in reversed(own[1:]):
            self._drop(sheet, place)
        for key, value in values.items():
            set_to(sheet, (*own[0], key), value)

    def take(self, sheet: JsonSheet, made: Collection[Path] | None) -> None:
        super().take(sheet, made)
        if sheet.data == {"version": FORM} and (made is None or VERSION in made):  # nothing else is left in the file
            sheet.remove(VERSION)

    def _own(self, sheet: JsonSheet, event: str) -> Iterator[Path]:
        handlers = sheet.at((*HOOKS, event))
        for place, handler in enumerate(handlers if isinstance(handlers, list) else ()):
            if isinstance(handler, dict) and hook_call(handler.get(self.key), self.client):
                yield (*HOOKS, event, place)

    def _drop(self, sheet: JsonSheet, place: Path) -> None:
        sheet.remove(place)


NAME = "copilot"
FOLDER = ".copilot"
PROJECT_FOLDER = ".github"
VARIABLE = "COPILOT_HOME"
WATCHED_TOOLS = "view|create|edit|str_replace|str_replace_editor|apply_patch|task"  # tools for files and sub-agents
HOOKS_FILE = (
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
    """Return the client's folder for settings."""
    return where.config(PROJECT_FOLDER if where.root else FOLDER, VARIABLE)


def files(where: Where) -> tuple[File, ...]:
    """Return the client's files with our entries."""
    base = folder(where)
    values = {"type": "local", **server(NAME, where.target), "tools": ["*"]}
    servers = os.path.join(base, "mcp.json" if where.root else "mcp-config.json")
    return (
        File(os.path.join(base, "hooks", f"{SERVER}.json"), (FlatHooks(NAME, where.target, HOOKS_FILE),)),
        File(servers, (JsonServer(("mcpServers", SERVER), values),), mode=0o644 if where.root else 0o600),
        *skill_files(os.path.join(base, "skills"), PROJECT_FOLDER if where.root else FOLDER, f"~/{FOLDER}"),
    )


def to_do(where: Where) -> tuple[str, ...]:
    """Return what is left for the person to do after an installation."""
    if where.root:
        return ("Copilot CLI uses a project's hooks and servers only where its folder is trusted: agree when it asks.",)
    return (RESTART,)


CLIENT = Client(NAME, "Copilot CLI", folder, files, to_do)
