"""The clients that can be installed: one module each, with a CLIENT in it."""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from swarmlore.installing.where import Client

NAMES = ("claude", "codex", "gemini", "copilot", "opencode")


def client_called(name: str) -> Client:
    from importlib import import_module

    found: Client = import_module(f"swarmlore.installing.clients.{name}").CLIENT
    return found


def every_client() -> tuple[Client, ...]:
    return tuple(map(client_called, NAMES))


def clients_here(env: Mapping[str, str]) -> tuple[Client, ...]:
    """Those that this machine has."""
    return tuple(client for client in every_client() if client.is_here(env))
