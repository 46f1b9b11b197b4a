"""Which memory a person's own hooks name. Those of a project name none and may run beside them: they use the same one,
else every event would be kept twice, in two memories."""

from __future__ import annotations

import os

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
