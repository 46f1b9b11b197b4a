"""The clients that can be installed: one module each, with a CLIENT in it."""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    from swarmlore.clients.install.locations import Client


CLIENTS = ("claude", "codex", "gemini", "copilot", "opencode")


def client(name: str) -> ModuleType | None:
    """The module of a client: `moment(name, payload)`, `facts(payload)`, `encode(name, text, notice)` and
    `SHOWS_NOTICE`: whether its answer at the start of a session can show the person a line."""
    if name not in CLIENTS:
        return None
    module: ModuleType = __import__(f"swarmlore.clients.{name}.payload", fromlist=["facts"])  # importlib costs more
    return module


def sender(name: str, payload: Mapping[str, Any]) -> str:
    """Whose payload it is: Copilot also runs the hooks that a repository has for Claude Code.

    Only Copilot says when something happened, and it keeps its transcripts in another place or does not name them.
    """
    transcript = payload.get("transcript_path", "events.jsonl")
    timed = isinstance(payload.get("timestamp"), (str, int)) and str(transcript).endswith("events.jsonl")
    return "copilot" if name == "claude" and timed else name


def client_called(name: str) -> Client:
    from importlib import import_module

    found: Client = import_module(f"swarmlore.clients.{name}.install").CLIENT
    return found


def every_client() -> tuple[Client, ...]:
    return tuple(map(client_called, CLIENTS))


def clients_here(env: Mapping[str, str]) -> tuple[Client, ...]:
    """Those that this machine has."""
    return tuple(client for client in every_client() if client.is_here(env))
