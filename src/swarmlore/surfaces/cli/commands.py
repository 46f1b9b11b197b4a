"""Which commands there are, and where. Kept free of imports: the list is read at every start."""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


COMMANDS = {
    "remember": "store a lesson",
    "recall": "find what is known about something",
    "get": "show one memory in full",
    "list": "show memories, newest first",
    "forget": "hide a memory, or erase it for good",
    "history": "show what happened to a memory",
    "undo": "take back the last change, or a named one",
    "receipts": "show what agents were given, and why or why not",
    "stats": "count what is stored",
    "doctor": "check that everything is healthy",
    "config": "show settings and where they come from, or set one",
    "reindex": "build the search indexes anew",
    "backup": "write a checked copy of the store",
    "restore-backup": "put a backup in place of the store",
    "completion": "print a completion script for a shell",
}
GROUPS = (
    ("Every day", ("remember", "recall", "get", "list", "forget")),
    ("What happened", ("history", "undo", "receipts", "stats")),
    ("Care", ("doctor", "config", "reindex", "backup", "restore-backup", "completion")),
)


def module_of(name: str) -> Any:
    """The module of a command: `arguments(parser)`, `run(desk)`, and EXAMPLES."""
    from importlib import import_module

    return import_module("swarmlore.surfaces.cli." + name.replace("-", "_"))


def closest(name: str) -> list[str]:
    """Commands that look like a mistyped one."""
    from difflib import get_close_matches

    return get_close_matches(name, COMMANDS, n=2, cutoff=0.6)
