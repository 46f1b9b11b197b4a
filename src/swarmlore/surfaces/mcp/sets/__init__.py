"""Tools under the names of the systems that an agent may come from: `swarmlore mcp --tools knowledge,lane`.

A set is a table of tools (`NAME.py`), read for the list, and what they do (`NAME_calls.py`), loaded with the first
call. Each set has the profile of its system: an agent that knows only that system finds its rules.
"""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.surfaces.mcp.answers import Answer
    from swarmlore.surfaces.mcp.schema import Tool
    from swarmlore.surfaces.mcp.sets.saying import Talk

    Handler = Callable[[Lore, dict[str, Any], Talk], Answer]

DEFAULT = "default"
PROFILES = {"knowledge": "knowledge", "lane": "lane", "agent-swarm": "swarm", "swarm-mail": "", DEFAULT: ""}
NAMES = tuple(PROFILES)


def tools_in(name: str) -> dict[str, Tool]:
    """The tools of a set by their names; none of one that is unknown, as a newer program may know more."""
    if name == DEFAULT:
        from swarmlore.surfaces.mcp.tools import BY_NAME

        return BY_NAME
    return {tool.name: tool for tool in _module(name).TOOLS} if name in PROFILES else {}


def set_of(tool: str, sets: Sequence[str]) -> str:
    """Which of these sets a tool is from; the usual one where no other has it."""
    return next((name for name in sets if name != DEFAULT and tool in tools_in(name)), DEFAULT)


def handler_of(name: str, tool: str) -> Handler:
    """What a tool of a set does."""
    handlers: dict[str, Handler] = _module(f"{name}_calls").HANDLERS
    return handlers[tool]


def _module(name: str) -> Any:
    from importlib import import_module

    return import_module(f"{__name__}.{name.replace('-', '_')}")
