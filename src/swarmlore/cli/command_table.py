"""Table of all commands: summary, group, module, and whether a server may answer it. Imports almost nothing: every
start reads it."""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Mapping
    from typing import Any


URL = "SWARMLORE_URL"
# Commands that a server answers when SWARMLORE_URL names one; commands that always run on this machine.
SERVER_COMMANDS = (
    *("remember", "recall", "get", "list", "forget", "prime", "rate", "outcome", "inject", "confirm", "phase", "sweep"),
    *("promote", "quarantine", "restore", "curate", "history", "undo", "why", "stale", "report", "receipts", "stats"),
    *("swarm", "mail", "status", "doctor", "import", "export"),
)
LOCAL_COMMANDS = (
    *("install", "uninstall", "hook", "mcp", "config", "completion", "merge-driver", "serve", "worker"),
    *("learnings", "search-learnings", "context", "instincts", "reflect"),
)
_ITS_FILES = "works with files of a repository and the memory of its own machine"
_ITS_STORE = "is for whoever runs the server, on its machine"
# Commands that are refused while a server is in use, each with the reason.
REFUSED = {
    "init": _ITS_FILES,
    "trust": _ITS_FILES,
    "sync": _ITS_FILES,
    "migrate": _ITS_FILES,
    "research": _ITS_FILES,
    "visualize": "draws the memory of its own machine",
    "project": "names the folders of its own machine; a token has one project, which swarmlore doctor shows",
    "token": _ITS_STORE,
    "reindex": _ITS_STORE,
    "backup": _ITS_STORE,
    "restore-backup": _ITS_STORE,
    "migrate-store": _ITS_STORE,
}


def is_for_server(command: str, home: str | None, env: Mapping[str, str]) -> bool:
    """Whether a command goes to the server in SWARMLORE_URL; an explicit --home overrides the server."""
    return bool(env.get(URL)) and home is None and command in SERVER_COMMANDS


def refusal(command: str, home: str | None, env: Mapping[str, str]) -> tuple[str, str] | None:
    """Return message and hint for a command that cannot run while a server is in use, or None if it can."""
    if not env.get(URL) or home is not None or command not in REFUSED:
        return None
    hint = f"to do it with the memory of this machine: env -u {URL} swarmlore {command} …"
    return f"{command} cannot be asked of a server: it {REFUSED[command]}", hint


COMMANDS = {
    "remember": "store a lesson",
    "recall": "find what is known about something",
    "get": "show one memory in full",
    "list": "show memories, newest first",
    "forget": "hide a memory, or erase it for good",
    "prime": "show what to know before beginning",
    "research": "put a question to memory, code, docs and history, and keep the report",
    "reflect": "propose what to learn from a session; you decide",
    "rate": "say that a memory helped or did harm",
    "outcome": "record how a task ended, for the memories that were shown",
    "inject": "teach an agent something that the whole swarm should know; for leads and people",
    "confirm": "say that a memory was seen to hold",
    "phase": "show, begin or complete a phase of the project",
    "sweep": "let memories rise and leave as their phases say",
    "promote": "write a lesson for every project, or share a private one",
    "quarantine": "hide a memory from everybody, with a reason",
    "restore": "bring a memory back from quarantine or the archive",
    "curate": "look over all lessons, and decide by number what should become of some",
    "instincts": "show, add, adjust, promote or prune rules of one sentence",
    "learnings": "find, add, list and check notes: pages that people read, review and commit",
    "search-learnings": "find notes by reading their files, weighted by field",
    "context": "show, check or add to what every session of the project begins with",
    "history": "show what happened to a memory",
    "undo": "take back the last change, or a named one",
    "why": "explain a memory: where from, what it did, why it ranks as it does",
    "stale": "list memories whose cited code has changed",
    "report": "show what the memory did, and whether there is too much junk in it",
    "receipts": "show what agents were given, and why or why not",
    "project": "show which project this is, or say what it was called before",
    "init": "share this project's lessons through files in its repository",
    "trust": "agree to exchange memories with a repository, or not any more",
    "sync": "bring the shared files and the memory in step",
    "import": "take in a file of lessons",
    "export": "write lessons to a file",
    "migrate": "take over lessons that opencode-swarm kept in older files",
    "swarm": "the commands of opencode-swarm: knowledge, promote, curate",
    "merge-driver": "merge two versions of a shared file; git calls it",
    "stats": "count what is stored",
    "visualize": "draw what memories mention and how that hangs together",
    "install": "let agent clients on this machine use the memory",
    "uninstall": "take out of the clients what install put there",
    "status": "show which clients use the memory, and what they were given",
    "hook": "take in what a client reports, and answer with what is known; clients call it",
    "mail": "write to other agents, read what they wrote, and see which jobs were given up",
    "serve": "let many agents use one memory, over HTTP",
    "token": "say which agents may ask a server, and take that back",
    "worker": "do what was left for later: extraction, summaries, vectors, sweeps",
    "mcp": "serve the tools to an agent over standard input and output",
    "doctor": "check that everything is healthy",
    "config": "show settings and where they come from, or set one",
    "reindex": "build the search indexes anew",
    "backup": "write a checked copy of the store",
    "restore-backup": "put a backup in place of the store",
    "migrate-store": "copy all that you may see into another store",
    "completion": "print a completion script for a shell",
}
GROUPS = (
    ("Every day", ("remember", "recall", "get", "list", "forget", "prime", "research", "reflect")),
    ("Learning", ("rate", "outcome", "curate", "instincts", "context")),
    ("Notes", ("learnings", "search-learnings")),
    ("The life of a memory", ("confirm", "phase", "sweep", "promote", "quarantine", "restore")),
    ("What happened", ("why", "history", "undo", "stale", "report", "receipts", "stats", "visualize")),
    ("Sharing", ("init", "trust", "sync", "import", "export", "migrate", "swarm", "merge-driver")),
    ("Clients", ("install", "uninstall", "status", "mcp", "hook")),
    ("Working together", ("serve", "token", "inject", "mail", "worker")),
    ("Care", ("doctor", "project", "config", "reindex", "backup", "restore-backup", "migrate-store", "completion")),
)

# A verb of one command that stands for another command.
ALIASES = {("learnings", "visualize"): "visualize"}

# The module of each command, below `swarmlore`. For `restore-backup` it has `restore_backup_arguments(parser)`,
# `run_restore_backup(console)` and RESTORE_BACKUP_EXAMPLES.
MODULES = {
    "compat.opencode_swarm_commands": ("migrate", "swarm"),
    "cli.commands.remember": ("remember",),
    "cli.commands.recall": ("recall",),
    "cli.commands.memories": (
        *("get", "list", "forget", "rate", "confirm", "quarantine", "restore", "history"),
        *("undo", "why", "stale", "stats"),
    ),
    "cli.commands.lifecycle": (*("outcome", "inject", "phase", "sweep", "promote", "curate"),),
    "cli.commands.notes": ("instincts", "learnings", "search-learnings"),
    "cli.commands.context": ("prime", "research", "context"),
    "cli.commands.reflect": ("reflect",),
    "cli.commands.exchange": (*("init", "trust", "sync", "import", "export", "merge-driver"),),
    "cli.commands.clients": ("install", "uninstall", "status", "hook", "mcp"),
    "cli.commands.server": ("serve", "token", "worker"),
    "cli.commands.mail": ("mail",),
    "cli.commands.report": ("report", "receipts", "visualize"),
    "cli.commands.maintenance": (
        *("project", "doctor", "config", "reindex", "backup", "restore-backup", "migrate-store"),
    ),
    "cli.commands.completion": ("completion",),
}


@frozen
class Command:
    """A loaded command: its parser set-up, its run function, its examples and its flags."""

    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Any], int]
    examples: tuple[str, ...]
    mixed: bool  # words may stand on both sides of an option
    project: dict[str, Any] | None  # argparse keywords of --project, if the command defines its own
    offered: tuple[str, ...]  # words that shell completion offers


def load_command(name: str) -> Command:
    """Import the module of a command and return what it defines for that command."""
    from importlib import import_module

    word = name.replace("-", "_")
    module = import_module("swarmlore." + next(module for module, names in MODULES.items() if name in names))
    return Command(
        getattr(module, f"{word}_arguments"),
        getattr(module, f"run_{word}"),
        getattr(module, f"{word.upper()}_EXAMPLES"),
        getattr(module, f"{word.upper()}_MIXED", False),
        getattr(module, f"{word.upper()}_PROJECT", None),
        getattr(module, f"{word.upper()}_OFFERED", ()),
    )
