"""Where each client looks for agents of its own, and which file is the one of a named agent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from swarmlore.errors import Conflict, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.notes.markdown import Page, lines_of, read_page, with_added
from swarmlore.notes.yaml_edit import Unreadable

if TYPE_CHECKING:
    from swarmlore.notes.reflect.targets import Places


INSTRUCTIONS = "developer_instructions"
_HEAD_CHARS = 20_000
_NAME = re.compile(r"^name[ \t]*:[ \t]*[\"']?([^\"'#\r\n]{1,200}?)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)
_OPENING = re.compile(rf"^[ \t]*{INSTRUCTIONS}[ \t]*=[ \t]*(\"\"\"|''')[ \t]*\r?\n", re.MULTILINE)
_KEY = re.compile(rf"^[ \t]*{INSTRUCTIONS}[ \t]*=", re.MULTILINE)


def declared_name(text: str, path: str) -> str:
    """The name that a file gives its agent, which counts for more than the file's own; '' where it gives none."""
    if path.endswith(".toml"):
        found = _parsed(text).get("name")
        return found if isinstance(found, str) else ""
    if not text.removeprefix("\ufeff").startswith("---"):
        return ""
    head = text[: max(0, text.find("\n---", 3, _HEAD_CHARS))]
    told = _NAME.search(head)
    return told[1].strip() if told else ""


def with_line(text: str, path: str, heading: str, line: str) -> str:
    """The file with one more line below a heading of its instructions; the same where it stands there."""
    return _in_toml(text, heading, line) if path.endswith(".toml") else with_added(opened(text), heading, line)


def opened(text: str) -> Page:
    """A page whose head need not be YAML: clients take heads that a strict reader refuses, and none of it changes."""
    try:
        return read_page(text)
    except Unreadable:
        spans = list(lines_of(text, int(text.startswith("\ufeff"))))[1:]
        end = next((end for start, end in spans if text[start:end].rstrip() in ("---", "...")), None)
        if end is None:
            raise
        return Page(text, None, end)


def _in_toml(text: str, heading: str, line: str) -> str:
    before = _parsed(text)
    start, end, quotes = _span(text)
    told = _escaped(line, quotes)
    inner = text[start:end]
    if told in (known.strip() for known in inner.splitlines()):
        return text
    more = with_added(Page(inner, None, 0), heading, told)
    after = text[:start] + more + ("" if more.endswith("\n") else "\n") + text[end:]
    if {**_parsed(after), INSTRUCTIONS: ""} != {**before, INSTRUCTIONS: ""}:
        raise Conflict("the instructions cannot be added to", "add it by hand")
    return after


def _span(text: str) -> tuple[int, int, str]:
    """Where the instructions stand between their quotes, which are on lines of their own."""
    found = _OPENING.search(text)
    quotes = found[1] if found else ""
    end = _closing(text, found.end(), quotes) if found else -1
    if found is None or end < 0 or text[text.rfind("\n", 0, end) + 1 : end].strip():
        how = f'put them between """ and """, each on a line of its own, below {INSTRUCTIONS} ='
        what = f"{INSTRUCTIONS} of this file take no further line" if _KEY.search(text) else f"it has no {INSTRUCTIONS}"
        raise Conflict(what, how)
    return found.end(), text.rfind("\n", 0, end) + 1, quotes


def _closing(text: str, start: int, quotes: str) -> int:
    """Where the quotes end; in a text between double ones a backslash takes the next character along."""
    if quotes == "'''":
        return text.find(quotes, start)
    for found in re.compile(r"\\.|\"\"\"", re.DOTALL).finditer(text, start):
        if found[0] == quotes:
            return found.start()
    return -1


def _escaped(line: str, quotes: str) -> str:
    if quotes == '"""':
        return line.replace("\\", "\\\\").replace('"""', '""\\"')
    if "'''" in line:
        raise Conflict("a text between ''' cannot hold '''", "say it in other words")
    return line


def _parsed(text: str) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError):
        raise Unreadable("it is no TOML", "mend the file") from None


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
