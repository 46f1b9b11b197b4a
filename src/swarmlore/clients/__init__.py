"""Registry of the supported agent clients, whose modules are loaded when they are needed."""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    from swarmlore.clients.install.locations import Client

CLIENTS = ("claude", "codex", "gemini", "copilot", "opencode")


def client(name: str) -> ModuleType | None:
    """Return the payload module of a client, or None if the client is unknown. Such a module has `moment(name,
    payload)`, `facts(payload)`, `encode(name, text, notice)` and `SHOWS_NOTICE`, which says whether its answer to a
    session start can show the person a line."""
    if name not in CLIENTS:
        return None
    module: ModuleType = __import__(f"swarmlore.clients.{name}.payload", fromlist=["facts"])  # importlib costs more
    return module


def sender(name: str, payload: Mapping[str, Any]) -> str:
    """Return the client that sent a payload: Copilot CLI also runs the hooks that a repository has for Claude Code.
    Only Copilot sends a timestamp, and its transcripts are named events.jsonl or are not named at all."""
    transcript = payload.get("transcript_path", "events.jsonl")
    timed = isinstance(payload.get("timestamp"), (str, int)) and str(transcript).endswith("events.jsonl")
    return "copilot" if name == "claude" and timed else name


def installer_of(name: str) -> Client:
    """Return the installer's description of a client."""
    from importlib import import_module

    described: Client = import_module(f"swarmlore.clients.{name}.install").CLIENT
    return described


def every_client() -> tuple[Client, ...]:
    """Return the installer's descriptions of all clients."""
    return tuple(map(installer_of, CLIENTS))


def installed_clients(env: Mapping[str, str]) -> tuple[Client, ...]:
    """Return the clients that this machine has."""
    return tuple(client for client in every_client() if client.is_here(env))
