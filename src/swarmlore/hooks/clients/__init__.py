"""One module per client: what its events are called, what its payloads say, and how it wants to be answered."""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

CLIENTS = ("claude", "codex")


def client(name: str) -> ModuleType | None:
    """The module of a client: `moment(name, payload)`, `facts(payload)` and `encode(name, text)`."""
    if name not in CLIENTS:
        return None
    module: ModuleType = __import__(f"swarmlore.hooks.clients.{name}", fromlist=["facts"])  # importlib costs more
    return module
