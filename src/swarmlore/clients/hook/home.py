"""Find the home, socket, spool and outbox that a hook uses.

Hooks of a project name no home and may run next to a person's own hooks. They use the home that those name, else every
event would be kept twice, in two stores.
"""

from __future__ import annotations

import os

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# The kernel stores a socket's path in 108 bytes (104 on macOS), with the terminating NUL.
MOST_SOCKET_BYTES = 100


def spool_dir(home: str) -> str:
    """Return the folder of events that wait because no daemon took them."""
    return os.path.join(home, "spool")


def outbox_dir(home: str) -> str:
    """Return the folder of events that wait to be sent to a remote server."""
    return os.path.join(home, "outbox")


def socket_path(home: str) -> str:
    """Return the path of the daemon's socket: in the home or, if that path is too long, in the user's runtime
    folder."""
    own = os.path.join(home, "warm.sock")
    if len(os.fsencode(own)) <= MOST_SOCKET_BYTES or not hasattr(os, "getuid"):  # Windows has no such sockets
        return own
    import zlib

    name = os.fsencode(os.path.abspath(home))
    mark = f"{zlib.crc32(name):08x}{zlib.adler32(name):08x}"
    return os.path.join(_run_folder(), f"{mark}.sock")


def _run_folder() -> str:
    """Return a folder that only this user can write: the session's runtime folder, else one in /tmp. Environment
    variables are ignored: a client may start servers and hooks with different ones, and both must meet."""
    given = f"/run/user/{os.getuid()}"
    if os.path.isdir(given):
        return os.path.join(given, "swarmlore")
    return f"/tmp/swarmlore-{os.getuid()}"  # created with mode 0700, and checked before use


# A person's hooks per client: the variable that names the folder, its default below the user's folder, and the file.
FILES = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    "codex": ("CODEX_HOME", ".codex", "hooks.json"),
    "gemini": ("GEMINI_CLI_HOME", "", ".gemini/settings.json"),
    "copilot": ("COPILOT_HOME", ".copilot", "hooks/swarmlore.json"),
    "opencode": ("XDG_CONFIG_HOME", ".config", "opencode/plugins/swarmlore.js"),
}
MOST_BYTES = 4_000_000
# How `install` writes a hook's command line into JSON, and the plugin's command.
_LINE = r"swarmlore(?:\.exe)?\'? hook \w+ \w+ --home (.{1,4096}?) --socket "
_LIST = r'"--lines", "--home", "((?:[^"\\]|\\.)*)"'


def usual_home(client: str, env: Mapping[str, str]) -> str:
    """Return the home for a hook whose command names none."""
    from swarmlore.config import home_dir

    return ("" if env.get("SWARMLORE_HOME") else named_home(client, env)) or home_dir(env)


def named_home(client: str, env: Mapping[str, str]) -> str:
    """Return the home that a person's own hooks name: those of this client, else those of any other; or ''."""
    if client not in FILES:
        return ""
    for name in (client, *(other for other in FILES if other != client)):
        home = _home_in(_content(hooks_file(name, env)))
        if home:
            return home
    return ""


def hooks_file(client: str, env: Mapping[str, str]) -> str:
    """Return the path of the file with a person's own hooks for a client."""
    variable, folder, name = FILES[client]
    chosen = env.get(variable, "")
    base = os.path.expanduser(chosen) if chosen else os.path.join(env.get("HOME") or os.path.expanduser("~"), folder)
    return os.path.join(base, *name.split("/"))


def _content(path: str) -> str:
    """Return the text of a file, or '' if it cannot be read."""
    try:
        if not os.path.isfile(path):  # reading a pipe would block
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
    if home.startswith("'") and home.endswith("'"):  # undo the shell's quoting
        home = home[1:-1].replace("'\"'\"'", "'")
    return home if os.path.isabs(home) else ""
