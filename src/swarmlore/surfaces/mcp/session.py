"""For whom a server works: the folder, the client and the session that a connection speaks for.

Standard library only: the proxy sends the same facts that the server reads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from swarmlore.frozen import TYPE_CHECKING, field, frozen

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from swarmlore.lore import Lore

    Lend = Callable[["Context"], Lore]

PROJECT_DIR = "CLAUDE_PROJECT_DIR"
# What clients tell the servers that they start about the session they are in.
SESSION_IDS = ("SWARMLORE_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID")
_PASSED_ON = ("SWARMLORE_", "MEMORY_")
_MOST_CHARS = 4_096
_MOST_SETS = 16


@frozen
class Context:
    """Where a connection comes from."""

    cwd: str
    client: str = "mcp"
    env: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()  # the sets of tools that it asked for; none means the usual one
    profile: str = ""  # whose rules a call means, by the set that its tool is from

    @property
    def folder(self) -> str:
        """The folder whose project is meant: what the client says, else where it started us."""
        said = self.env.get(PROJECT_DIR, "")
        return said if said and os.path.isdir(said) else self.cwd

    @property
    def session(self) -> str:
        """The client's session, or ''."""
        return next((found for name in SESSION_IDS if (found := self.env.get(name, ""))), "")[:200]


def hello(context: Context) -> dict[str, Any]:
    """What a proxy says first."""
    said = {"op": "mcp", "cwd": context.cwd, "client": context.client, "env": dict(context.env)}
    return {**said, "tools": list(context.tools)} if context.tools else said


def context_of(said: Mapping[str, Any]) -> Context:
    """Who speaks, from what a proxy said first; nothing in it is taken for granted."""
    cwd, client, env = (said.get(name) for name in ("cwd", "client", "env"))
    known = {
        name: value
        for name, value in (env.items() if isinstance(env, dict) else ())
        if _is_passed_on(name) and isinstance(value, str) and len(value) <= _MOST_CHARS
    }
    folder = cwd if isinstance(cwd, str) and "\0" not in cwd and os.path.isabs(cwd) else os.path.expanduser("~")
    sets = said.get("tools")
    tools = tuple(name for name in sets if isinstance(name, str))[:_MOST_SETS] if isinstance(sets, list) else ()
    return Context(folder, client[:80] if isinstance(client, str) and client else "mcp", known, tools)


def passed_on(env: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that says for whom a server works."""
    return {name: value for name, value in env.items() if _is_passed_on(name)}


def _is_passed_on(name: str) -> bool:
    return name.startswith(_PASSED_ON) or name == PROJECT_DIR or name in SESSION_IDS
