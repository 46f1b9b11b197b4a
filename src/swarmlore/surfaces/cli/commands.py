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

# A verb of one command that is another one.
SAME = {("learnings", "visualize"): "visualize"}


def module_of(name: str) -> Any:
    """The module of a command: `arguments(parser)`, `run(desk)`, and EXAMPLES."""
    from importlib import import_module

    word = name.replace("-", "_")
    return import_module("swarmlore.surfaces.cli." + ("import_" if word == "import" else word))
