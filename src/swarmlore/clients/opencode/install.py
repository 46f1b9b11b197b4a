"""Installation for OpenCode: our plugin, the server in its opencode.json, skills in the shared folder."""

from __future__ import annotations

import json
import os
import shlex

from swarmlore.clients.install.commands import SERVER, lines_command, sealed, server
from swarmlore.clients.install.entries import File, JsonServer
from swarmlore.clients.install.locations import RESTART, Client, Where, shared_skills

NAME = "opencode"
IN_PROJECT = ".opencode"
PLUGIN = os.path.join("plugins", "swarmlore.js")
SETTINGS = ("opencode.jsonc", "opencode.json")
LOCK = "package-lock.json"
MODULES = "node_modules"
NOTE = "README.md"
IGNORED = ".gitignore"
OURS = '"swarmlore-stand-in"'
SIGNED = "`swarmlore uninstall opencode`"
STAND_IN = "keeps OpenCode from fetching a package that our plugin does not need"
UNSEEN = "keeps these two files out of git"
STARTUP_MS = 20_000
_MOST_BYTES = 1_000_000


def folder(where: Where) -> str:
    """Return the client's folder for settings."""
    if where.root:
        return os.path.join(where.root, IN_PROJECT)
    base = where.env.get("XDG_CONFIG_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.join(where.user, ".config"), NAME)


def files(where: Where) -> tuple[File, ...]:
    """Return the client's files with our entries."""
    base = folder(where)
    called = server(NAME, where.target)
    command = [called["command"], *called["args"]]
    values = {"type": "local", "command": command, "enabled": True, "timeout": STARTUP_MS}
    run = lines_command(NAME, where.target)
    plugin = sealed(_template("swarmlore.js").replace('["{{COMMAND}}"]', json.dumps(run)))
    return (
        File(os.path.join(base, PLUGIN), text=plugin, about=f"a plugin, which runs: {shlex.join(run)}", starts=NAME),
        File(_settings(where.root or base), (JsonServer(("mcp", SERVER), values),), comments=True, commas=True),
        *_stand_ins(base, in_project=bool(where.root)),
        *shared_skills(where.root or where.user),
    )


def _stand_ins(base: str, *, in_project: bool) -> tuple[File, ...]:
    """Return files that keep OpenCode from downloading a package.

    With a plugin in its folder, OpenCode fetches a package into it at the start, and without a network waits for more
    than a minute. It skips what the lock file names. In a project git must ignore these files: OpenCode writes a
    .gitignore at its first start, and ours is there before.
    """
    wanted = _is_alone(base) and (not in_project or _is_ignored(base))
    stand_ins = tuple(
        File(os.path.join(base, path), text=_template(name), about=STAND_IN, wanted=wanted)
        for path, name in ((LOCK, LOCK), (os.path.join(MODULES, NOTE), "node_modules.md"))
    )
    path = os.path.join(base, IGNORED)
    unseen = File(path, text=_template("gitignore"), about=UNSEEN, wanted=wanted and not os.path.lexists(path))
    return (unseen, *stand_ins) if in_project else stand_ins


def _is_ignored(base: str) -> bool:
    """Return whether git ignores our files: the .gitignore lists them, or is still to be written."""
    path = os.path.join(base, IGNORED)
    return not os.path.lexists(path) or all(_holds(path, name) for name in (LOCK, MODULES))


def _is_alone(base: str) -> bool:
    """Return whether our plugin is the only plugin or tool that may need the package, and nobody has fetched it."""
    others = (path for kind in ("plugin", "plugins", "tool", "tools") for path in _names(os.path.join(base, kind)))
    if any(name.endswith((".js", ".ts")) and name != os.path.basename(PLUGIN) for name in others):
        return False
    if os.path.lexists(os.path.join(base, LOCK)):
        return _holds(os.path.join(base, LOCK), OURS)
    modules = os.path.join(base, MODULES)
    fetched = os.path.lexists(modules) and not (
        _names(modules) == [NOTE] and _holds(os.path.join(modules, NOTE), SIGNED)
    )
    return not fetched and not any(os.path.lexists(os.path.join(base, name)) for name in ("package.json", "bun.lock"))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _settings(folder: str) -> str:
    """Return the path of the settings: the file that names our server, else one that exists."""
    there = [path for name in SETTINGS if os.path.lexists(path := os.path.join(folder, name))]
    ours = [path for path in there if _holds(path, f'"{SERVER}"')]
    return (ours or there or [os.path.join(folder, SETTINGS[1])])[0]


def _holds(path: str, words: str) -> bool:
    try:
        with open(path, "rb") as file:
            return words.encode() in file.read(_MOST_BYTES)
    except OSError:
        return False


def _template(name: str) -> str:
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "install", "templates", "opencode", name)
    with open(path, encoding="utf-8") as file:
        return file.read()


def to_do(where: Where) -> tuple[str, ...]:
    """Return what is left for the person to do after an installation."""
    return (RESTART,)


CLIENT = Client(NAME, "OpenCode", folder, files, to_do)
