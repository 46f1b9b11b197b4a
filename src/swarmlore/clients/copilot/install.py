"""Copilot CLI: hooks in a file of our own, servers in mcp-config.json (those of a project in .github/mcp.json)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from swarmlore.clients.install.commands import SERVER, Call, Target, hook_call, hook_line, server
from swarmlore.clients.install.entries import HOOKS, File, Hook, JsonServer, mend_lines, need, prune, set_to
from swarmlore.clients.install.locations import RESTART, Client, Where, skill_files
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.install.edit_json import JsonSheet, Path


VERSION: Path = ("version",)
FORM = 1
LINE = "bash"


@frozen
class FlatHooks:
    """Shell lines under `hooks.<event>`, behind those of others; the file says which form it has."""

    client: str
    target: Target
    hooks: tuple[Hook, ...]

    def put(self, sheet: JsonSheet) -> None:
        if sheet.at(VERSION) is None:
            sheet.put(VERSION, FORM)
            sheet.made.append(VERSION)
        sheet.ensure(HOOKS, {})
        need(sheet, HOOKS, dict)
        for hook in self.hooks:
            path = (*HOOKS, hook.event)
            sheet.ensure(path, [])
            need(sheet, path, list)
            self._put(sheet, path, hook)

    def _put(self, sheet: JsonSheet, path: Path, hook: Hook) -> None:
        values: dict[str, Any] = {"type": "command", LINE: hook_line(self.client, hook.event, self.target)}
        values |= {"timeoutSec": hook.timeout_s, **({"matcher": hook.matcher} if hook.matcher else {})}
        own = list(self._own(sheet, hook.event))
        if not own:
            sheet.append(path, values)
            return
        for place in reversed(own[1:]):
            sheet.remove(place)
        for key, value in values.items():
            set_to(sheet, (*own[0], key), value)

    def mend(self, sheet: JsonSheet) -> str:
        lines = [(*place, LINE) for hook in self.hooks for place in self._own(sheet, hook.event)]
        return mend_lines(sheet, self.client, lines)

    def take(self, sheet: JsonSheet, made: Collection[Path] | None) -> None:
        events, held = sheet.at(HOOKS), bool(made)
        for event in list(events) if isinstance(events, dict) else []:
            own = list(self._own(sheet, event))
            for place in reversed(own):
                sheet.remove(place)
            if own or made:
                prune(sheet, (*HOOKS, event), made)
                held = True
        if held:
            prune(sheet, HOOKS, made)
        if sheet.data == {"version": FORM} and (made is None or VERSION in made):  # it says nothing else
            sheet.remove(VERSION)

    def found(self, sheet: JsonSheet) -> tuple[int, int]:
        return sum(any(True for _ in self._own(sheet, hook.event)) for hook in self.hooks), len(self.hooks)

    def calls(self, sheet: JsonSheet) -> Iterator[Call]:
        events = sheet.at(HOOKS)
        for event in events if isinstance(events, dict) else ():
            for place in self._own(sheet, event):
                if call := hook_call(sheet.at((*place, LINE)), self.client):
                    yield call

    def says(self, going: bool) -> str:
        events = ", ".join(hook.event for hook in self.hooks)
        runs = f"; each runs: {hook_line(self.client, 'EVENT', self.target)}"
        return f"hooks at {events}" + ("" if going else runs)

    def _own(self, sheet: JsonSheet, event: str) -> Iterator[Path]:
        """Where our handlers of an event are, whatever else is there."""
        handlers = sheet.at((*HOOKS, event))
        for place, handler in enumerate(handlers if isinstance(handlers, list) else ()):
            if isinstance(handler, dict) and hook_call(handler.get(LINE), self.client):
                yield (*HOOKS, event, place)


NAME = "copilot"
FOLDER = ".copilot"
PROJECT_FOLDER = ".github"
VARIABLE = "COPILOT_HOME"
WATCHED_TOOLS = "view|create|edit|str_replace|str_replace_editor|apply_patch|task"  # files, and sub-agents' tasks
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
    return where.config(PROJECT_FOLDER if where.root else FOLDER, VARIABLE)


def files(where: Where) -> tuple[File, ...]:
    base = folder(where)
    values = {"type": "local", **server(NAME, where.target), "tools": ["*"]}
    servers = os.path.join(base, "mcp.json" if where.root else "mcp-config.json")
    return (
        File(os.path.join(base, "hooks", f"{SERVER}.json"), (FlatHooks(NAME, where.target, HOOKS_FILE),)),
        File(servers, (JsonServer(("mcpServers", SERVER), values),), mode=0o644 if where.root else 0o600),
        *skill_files(os.path.join(base, "skills"), PROJECT_FOLDER if where.root else FOLDER, f"~/{FOLDER}"),
    )


def to_do(where: Where) -> tuple[str, ...]:
    if where.root:
        return ("Copilot CLI uses a project's hooks and servers only where its folder is trusted: agree when it asks.",)
    return (RESTART,)


CLIENT = Client(NAME, "Copilot CLI", folder, files, to_do)
