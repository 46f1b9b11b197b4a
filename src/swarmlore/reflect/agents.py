"""Where each client looks for agents of its own, and which file is the one of a named agent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from swarmlore.errors import SwarmloreError
from swarmlore.formats.agent_file import declared_name
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.reflect.places import Places

# By client: folders in the project and in the client's own folder, and how its files end, best first.
FOLDERS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "claude": ((".claude/agents",), ("agents",), (".md",)),
    "copilot": ((".github/agents",), ("agents",), (".agent.md", ".md")),
    "opencode": ((".opencode/agents", ".opencode/agent"), ("agents", "agent"), (".md",)),
    "gemini": ((".gemini/agents",), ("agents",), (".md",)),
    "codex": ((".codex/agents",), ("agents",), (".toml", ".md")),
}
# The folder of a client's own: the variable that names it, what lies below that, and where it is else in the home.
_OWN = {
    "claude": ("CLAUDE_CONFIG_DIR", "", ".claude"),
    "copilot": ("COPILOT_HOME", "", ".copilot"),
    "opencode": ("XDG_CONFIG_HOME", "opencode", ".config/opencode"),
    "gemini": ("GEMINI_CLI_HOME", ".gemini", ".gemini"),
    "codex": ("CODEX_HOME", "", ".codex"),
}
PROJECT = "project"
MOST_FILES = 300  # of one folder
NAME_CHARS = 100


def own_folders(env: Mapping[str, str], home: str) -> dict[str, str]:
    """The folder that each client has for its user, whether it is there or not."""
    found = {}
    for client, (variable, below, usual) in _OWN.items():
        chosen = os.path.abspath(os.path.expanduser(env.get(variable, ""))) if env.get(variable) else ""
        found[client] = os.path.join(chosen, below) if chosen and below else chosen or os.path.join(home, usual)
    return found


def is_place(path: str) -> bool:
    """Whether a path in a client's own folder is one of an agent's file."""
    return path.partition("/")[0] in ("agents", "agent")


def agent_file(places: Places, name: str, client: str = "") -> tuple[str, str] | None:
    """Where the file of a named agent lies: of the client that had the session first, and the project's before the
    user's. The name that a file declares counts, else that of the file."""
    if not name or name.startswith(".") or any(char in name for char in "/\\\0") or len(name) > NAME_CHARS:
        return None
    for place, folder, endings in _folders(client):
        listed = list(_files(places, place, folder, endings))
        declared = [path for path, stem in listed if _declares(places, place, path) == name]
        named = [path for path, stem in listed if stem == name]
        if found := [path for path in (*declared, *named) if places.exists(place, path)]:
            return place, found[0]
    return None


def agents(places: Places) -> list[str]:
    """The names of agents that have a file."""
    found = set()
    for place, folder, endings in _folders(""):
        for path, stem in _files(places, place, folder, endings):
            found.add(_declares(places, place, path) or stem)
    return sorted(found)


def _folders(client: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    order = sorted(FOLDERS, key=lambda name: name != client)
    for name in order:
        yield from ((PROJECT, folder, FOLDERS[name][2]) for folder in FOLDERS[name][0])
        if name == client:
            yield from ((name, folder, FOLDERS[name][2]) for folder in FOLDERS[name][1])
    for name in order:
        yield from ((name, folder, FOLDERS[name][2]) for folder in FOLDERS[name][1])


def _files(places: Places, place: str, folder: str, endings: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Path and stem of each file of a folder and of the folders in it, by how it ends and then by name."""
    names = _names(os.path.join(places.root(place), folder))
    for ending in endings:
        fits = (name for name in names if name.endswith(ending) and not name.endswith(_longer(ending, endings)))
        yield from ((f"{folder}/{name}", os.path.basename(name).removesuffix(ending)) for name in fits)


def _longer(ending: str, endings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(other for other in endings if other != ending and other.endswith(ending))


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)[:MOST_FILES]
        inner = [entry.name for entry in listed if entry.is_dir(follow_symlinks=False)]
        below = [f"{name}/{file}" for name in inner[:20] for file in sorted(os.listdir(os.path.join(folder, name)))]
    except OSError:
        return []
    return [entry.name for entry in listed] + below[:MOST_FILES]


def _declares(places: Places, place: str, path: str) -> str:
    try:
        return declared_name(places.read(place, path) or "", path)
    except SwarmloreError:
        return ""
