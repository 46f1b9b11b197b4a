"""Which memory a person's own hooks name. Those of a project name none and may run beside them: they use the same one,
else every event would be kept twice, in two memories."""

from __future__ import annotations

import os

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


# The kernel holds a socket's path in 108 bytes (104 on macOS), the end mark included.
MOST_SOCKET_BYTES = 100


def spool_dir(home: str) -> str:
    """The folder in which events wait that no warm process took."""
    return os.path.join(home, "spool")


def outbox_dir(home: str) -> str:
    """The folder in which events wait that a server on another machine is to have."""
    return os.path.join(home, "outbox")


def socket_path(home: str) -> str:
    """Where the warm process of a home listens: there or, if that path is too long, in the user's run folder."""
    own = os.path.join(home, "warm.sock")
    if len(os.fsencode(own)) <= MOST_SOCKET_BYTES or not hasattr(os, "getuid"):  # Windows has no such sockets
        return own
    import zlib

    name = os.fsencode(os.path.abspath(home))
    mark = f"{zlib.crc32(name):08x}{zlib.adler32(name):08x}"
    return os.path.join(_run_folder(), f"{mark}.sock")


def _run_folder() -> str:
    """A folder that only this user can write: the session's, else one of our own under the temporary folder.

    Not by the environment: a client may start its servers with another one than its hooks, and both must meet.
    """
    given = f"/run/user/{os.getuid()}"
    if os.path.isdir(given):
        return os.path.join(given, "swarmlore")
    return f"/tmp/swarmlore-{os.getuid()}"  # made with mode 0700 and checked before use


# Where the hooks of a person are: a variable, what it stands for below the person's folder, and the file.
FILES = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    "codex": ("CODEX_HOME", ".codex", "hooks.json"),
    "gemini": ("GEMINI_CLI_HOME", "", ".gemini/settings.json"),
    "copilot": ("COPILOT_HOME", ".copilot", "hooks/swarmlore.json"),
    "opencode": ("XDG_CONFIG_HOME", ".config", "opencode/plugins/swarmlore.js"),
}
MOST_BYTES = 4_000_000
# As `install` writes a hook's line into JSON, and the command of the plugin.
_LINE = r"swarmlore(?:\.exe)?\'? hook \w+ \w+ --home (.{1,4096}?) --socket "
_LIST = r'"--lines", "--home", "((?:[^"\\]|\\.)*)"'


def usual_home(client: str, env: Mapping[str, str]) -> str:
    """Where a client's events go whose command names no home."""
    from swarmlore.config import home_dir

    return ("" if env.get("SWARMLORE_HOME") else named_home(client, env)) or home_dir(env)


def named_home(client: str, env: Mapping[str, str]) -> str:
    """The home that a person's own hooks name: those of this client, else those of any other."""
    if client not in FILES:
        return ""
    for name in (client, *(other for other in FILES if other != client)):
        home = _home_in(_content(hooks_file(name, env)))
        if home:
            return home
    return ""


def hooks_file(client: str, env: Mapping[str, str]) -> str:
    variable, folder, name = FILES[client]
    chosen = env.get(variable, "")
    base = os.path.expanduser(chosen) if chosen else os.path.join(env.get("HOME") or os.path.expanduser("~"), folder)
    return os.path.join(base, *name.split("/"))


def _content(path: str) -> str:
    """A file of the person; what cannot be read names nothing."""
    try:
        if not os.path.isfile(path):  # a pipe would let us wait
            return ""
        with open(path, "rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _home_in(text: str) -> str:
    import json
    import re

    found = re.search(_LINE, text) or re.search(_LIST, text)
    if found is None:
        return ""
    try:
        home = str(json.loads(f'"{found[1]}"'))
    except ValueError:
        return ""
    if home.startswith("'") and home.endswith("'"):  # as a shell reads it
        home = home[1:-1].replace("'\"'\"'", "'")
    return home if os.path.isabs(home) else ""
