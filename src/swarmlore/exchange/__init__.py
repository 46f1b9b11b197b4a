"""Exchange of memories through files: ledgers in git, imports and exports."""

from __future__ import annotations

from importlib import import_module

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


_COMPAT = "swarmlore.compat."
RECORDS = "foreign_import"  # reading any of the formats
TOOL_SETS = {
    "knowledge": "opencode_swarm_tools",
    "lane": "lane_tools",
    "agent-swarm": "agent_swarm_tools",
    "swarm-mail": "swarm_mail_tools",
}


def compat(module: str) -> Any:
    """Import and return a module of `compat` by its name."""
    return import_module(_COMPAT + module)
