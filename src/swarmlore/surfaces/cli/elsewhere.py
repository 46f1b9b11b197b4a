"""Commands while SWARMLORE_URL names a server: which ask it, which work on this machine all the same, and which cannot
be had from here. Kept free of imports: it is looked at before anything is opened."""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

URL = "SWARMLORE_URL"
ASKED = (
    *("remember", "recall", "get", "list", "forget", "prime", "rate", "outcome", "inject", "confirm", "phase", "sweep"),
    *("promote", "quarantine", "restore", "curate", "history", "undo", "why", "stale", "report", "receipts", "stats"),
    *("swarm", "mail", "status", "doctor", "import", "export"),
)
HERE = (
    *("install", "uninstall", "hook", "mcp", "config", "completion", "merge-driver", "serve", "worker"),
    *("learnings", "search-learnings", "context", "instincts", "reflect"),
)
_ITS_FILES = "works with files of a repository and the memory of its own machine"
_ITS_STORE = "is for whoever runs the server, on its machine"
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


def is_asked(command: str, home: str | None, env: Mapping[str, str]) -> bool:
    """Whether a command asks the server that the environment names. Whoever names a home means that one."""
    return bool(env.get(URL)) and home is None and command in ASKED


def refusal(command: str, home: str | None, env: Mapping[str, str]) -> tuple[str, str] | None:
    """Why a command is not to be had while a server is asked, and what to type; None where it is."""
    if not env.get(URL) or home is not None or command not in REFUSED:
        return None
    hint = f"to do it with the memory of this machine: env -u {URL} swarmlore {command} …"
    return f"{command} cannot be asked of a server: it {REFUSED[command]}", hint
