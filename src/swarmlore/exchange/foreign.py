"""Registry of what the `compat` package offers: the core knows names, and imports a module when it is used.

Formats of other programs are a name here, a module there. The core never imports `compat` itself.
"""

from __future__ import annotations

from importlib import import_module

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_COMPAT = "swarmlore.compat."
RECORDS = "foreign_records"  # reading any of the formats
TOOL_SETS = {
    "knowledge": "opencode_swarm_tools",
    "lane": "lane_tools",
    "agent-swarm": "agent_swarm_tools",
    "swarm-mail": "swarm_mail_tools",
}


def compat(module: str) -> Any:
    """A module of `compat`, by its name."""
    return import_module(_COMPAT + module)
