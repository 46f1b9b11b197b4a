"""Locate the files that reflection may edit (instructions, agent files, notes) and apply additions to their text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from swarmlore.domain.records import Edit
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.notes.markdown import Page, lines_of, read_page, with_added
from swarmlore.notes.reflect.collect import home_of
from swarmlore.notes.yaml_edit import Unreadable
from swarmlore.workspace.files import Folder

if TYPE_CHECKING:
    from typing import Any


TOML_KEY = "developer_instructions"
_HEAD_CHARS = 20_000
_NAME = re.compile(r"^name[ \t]*:[ \t]*[\"']?([^\"'#\r\n]{1,200}?)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)
_OPENING = re.compile(rf"^[ \t]*{TOML_KEY}[ \t]*=[ \t]*(\"\"\"|''')[ \t]*\r?\n", re.MULTILINE)
_KEY = re.compile(rf"^[ \t]*{TOML_KEY}[ \t]*=", re.MULTILINE)


def declared_name(text: str, path: str) -> str:
    """Return the agent name that a file declares; '' if it declares none."""
    if path.endswith(".toml"):
        found = _parsed(text).get("name")
        return found if isinstance(found, str) else ""
    if not text.removeprefix("\ufeff").startswith("---"):
        return ""
    head = text[: max(0, text.find("\n---", 3, _HEAD_CHARS))]
    match = _NAME.search(head)
    return match[1].strip() if match else ""


def with_line(text: str, path: str, heading: str, line: str) -> str:
    """Return the file with a line added below a heading of its instructions; unchanged if the line is there."""
    return _in_toml(text, heading, line) if path.endswith(".toml") else with_added(opened(text), heading, line)


def opened(text: str) -> Page:
    """Parse a page; keep front matter that is invalid YAML, since clients accept it and additions do not change it."""
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
    escaped = _escaped(line, quotes)
    inner = text[start:end]
    if escaped in (known.strip() for known in inner.splitlines()):
        return text
    more = with_added(Page(inner, None, 0), heading, escaped)
    after = text[:start] + more + ("" if more.endswith("\n") else "\n") + text[end:]
    if {**_parsed(after), TOML_KEY: ""} != {**before, TOML_KEY: ""}:
        raise Conflict("the instructions cannot be added to", "add it by hand")
    return after


def _span(text: str) -> tuple[int, int, str]:
    """Return start, end and quotes of the instructions in a TOML file; the quotes must be on their own lines."""
    found = _OPENING.search(text)
    quotes = found[1] if found else ""
    end = _closing(text, found.end(), quotes) if found else -1
    if found is None or end < 0 or text[text.rfind("\n", 0, end) + 1 : end].strip():
        how = f'put them between """ and """, each on a line of its own, below {TOML_KEY} ='
        what = f"{TOML_KEY} of this file take no further line" if _KEY.search(text) else f"it has no {TOML_KEY}"
        raise Conflict(what, how)
    return found.end(), text.rfind("\n", 0, end) + 1, quotes


def _closing(text: str, start: int, quotes: str) -> int:
    """Return the offset of the closing quotes; in a basic string a backslash escapes the next character."""
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


# By client: agent folders in the project, in the user's folder of the client, and file suffixes, best first.
FOLDERS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "claude": ((".claude/agents",), ("agents",), (".md",)),
    "copilot": ((".github/agents",), ("agents",), (".agent.md", ".md")),
    "opencode": ((".opencode/agents", ".opencode/agent"), ("agents", "agent"), (".md",)),
    "gemini": ((".gemini/agents",), ("agents",), (".md",)),
    "codex": ((".codex/agents",), ("agents",), (".toml", ".md")),
}
# User folder by client: its environment variable, the subfolder below that, and the default below the home.
_OWN = {
    "claude": ("CLAUDE_CONFIG_DIR", "", ".claude"),
    "copilot": ("COPILOT_HOME", "", ".copilot"),
    "opencode": ("XDG_CONFIG_HOME", "opencode", ".config/opencode"),
    "gemini": ("GEMINI_CLI_HOME", ".gemini", ".gemini"),
    "codex": ("CODEX_HOME", "", ".codex"),
}
PROJECT, LEARNINGS, HOME = "project", "learnings", "home"
MOST_FILES = 300  # of one folder
NAME_CHARS = 100


def own_folders(env: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the user's configuration folder of each client, existing or not."""
    folders = {}
    for client, (variable, below, default) in _OWN.items():
        chosen = os.path.abspath(os.path.expanduser(env.get(variable, ""))) if env.get(variable) else ""
        folders[client] = os.path.join(chosen, below) if chosen and below else chosen or os.path.join(home, default)
    return folders


def _folders(client: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    order = sorted(FOLDERS, key=lambda name: name != client)
    for name in order:
        yield from ((PROJECT, folder, FOLDERS[name][2]) for folder in FOLDERS[name][0])
        if name == client:
            yield from ((name, folder, FOLDERS[name][2]) for folder in FOLDERS[name][1])
    for name in order:
        yield from ((name, folder, FOLDERS[name][2]) for folder in FOLDERS[name][1])


def _files(places: Places, place: str, folder: str, endings: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield path and stem of the agent files in a folder and its subfolders, by suffix, then by name."""
    names = _names(os.path.join(places.root(place), folder))
    for ending in endings:
        longer = tuple(other for other in endings if other != ending and other.endswith(ending))
        fits = (name for name in names if name.endswith(ending) and not name.endswith(longer))
        yield from ((f"{folder}/{name}", os.path.basename(name).removesuffix(ending)) for name in fits)


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


MOST_BYTES = 1_000_000  # of a file that is edited
# Instruction files that a client loads in a project: the first that exists is used, else the first is created.
INSTRUCTIONS = {
    "claude": ("CLAUDE.md", "AGENTS.md"),
    "gemini": ("GEMINI.md", "AGENTS.md", "CLAUDE.md"),
    "copilot": ("AGENTS.md", ".github/copilot-instructions.md", "CLAUDE.md"),
}
ANY_CLIENT = ("AGENTS.md", "CLAUDE.md")
_USUAL = (".claude", ".copilot", ".config/opencode", ".gemini", ".codex")
SKILLS = ".agents/skills/{}/SKILL.md"


class Places:
    """Root folders of the files of one project and of its user, with safe access to the files in them."""

    def __init__(self, project: str, learnings: str, home: str, clients: Mapping[str, str] | None = None) -> None:
        own = clients if clients is not None else own_folders({}, home)
        self._roots = {PROJECT: project, LEARNINGS: learnings, HOME: home, **own}

    @classmethod
    def of(cls, project: str, env: Mapping[str, str]) -> Places:
        """Build the places of a project from the environment."""
        from swarmlore.notes.locations import learnings_root

        home = home_of(env)
        return cls(project, learnings_root(env, home), home, own_folders(env, home))

    def root(self, place: str) -> str:
        """Return the root folder of a place."""
        return self._roots[place]

    def full(self, edit: Edit) -> str:
        """Return the absolute path of an edit's file."""
        return os.path.join(self._roots[edit.place], *edit.path.split("/"))

    def shown(self, edit: Edit) -> str:
        """Return the path for display: relative to the project, or with `~`."""
        if edit.place == PROJECT:
            return edit.path
        full, home = self.full(edit), self._roots[HOME].rstrip("/")
        return "~" + full.removeprefix(home) if full.startswith(home + "/") else full

    def read(self, place: str, path: str) -> str | None:
        """Return the text of a file, None without one; raise if it is a link, too large or not text."""
        with self._folder(place, path) as (folder, name):
            return None if folder is None else text_in(folder, name)

    def exists(self, place: str, path: str) -> bool:
        """Return whether a regular, readable text file exists."""
        try:
            return self.read(place, path) is not None
        except (NotAllowed, InvalidInput):
            return False

    @contextmanager
    def changing(self, edit: Edit) -> Iterator[tuple[Folder, str]]:
        """Context manager: create and lock the folder of a file; yield the folder and the file's name."""
        if edit.place == LEARNINGS:
            os.makedirs(self._roots[LEARNINGS], mode=0o700, exist_ok=True)
        with self._folder(edit.place, edit.path, make=True) as (folder, name):
            assert folder is not None  # make=True creates it
            with folder.lock():
                yield folder, name

    @contextmanager
    def _folder(self, place: str, path: str, *, make: bool = False) -> Iterator[tuple[Folder | None, str]]:
        *above, name = _parts(place, path)
        with ExitStack() as opened:
            root = self._roots[place]
            if not os.path.isdir(root):
                yield None, name
                return
            folder = opened.enter_context(Folder(os.path.realpath(root)))
            for part in above:
                inner = folder.inside(part, make=make)
                if inner is None:
                    yield None, name
                    return
                folder = opened.enter_context(inner)
            yield folder, name

    def agent_file(self, name: str, client: str = "") -> tuple[str, str] | None:
        """Return place and path of a named agent's file, or None. The session's client comes first, the project before
        the user, a declared name before a file name."""
        if not name or name.startswith(".") or any(char in name for char in "/\\\0") or len(name) > NAME_CHARS:
            return None
        for place, folder, endings in _folders(client):
            listed = list(_files(self, place, folder, endings))
            declared = [path for path, stem in listed if _declares(self, place, path) == name]
            named = [path for path, stem in listed if stem == name]
            if found := [path for path in (*declared, *named) if self.exists(place, path)]:
                return place, found[0]
        return None

    def agents(self) -> list[str]:
        """Return the names of all agents that have a file."""
        names = set()
        for place, folder, endings in _folders(""):
            for path, stem in _files(self, place, folder, endings):
                names.add(_declares(self, place, path) or stem)
        return sorted(names)

    def instructions(self, client: str) -> str:
        """Return the instruction file that a client loads in this project: the first that exists, else its default."""
        names = INSTRUCTIONS.get(client, ANY_CLIENT)
        return next((name for name in names if self.exists(PROJECT, name)), names[0])


def text_in(folder: Folder, name: str) -> str | None:
    """Return the text of a file in a folder; None without one."""
    file = folder.open(name)
    if file is None:
        return None
    with file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"{folder.path}/{name} is larger than {MOST_BYTES // 1000} KB", "make it shorter")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{folder.path}/{name} is not UTF-8 text", "convert it: iconv -t UTF-8") from None


def _parts(place: str, path: str) -> list[str]:
    """Split a path; raise NotAllowed if it leaves its place or is not an agent file in a user folder."""
    parts = path.split("/")
    if place not in (PROJECT, LEARNINGS) and not _is_agents(place, path):
        raise NotAllowed(f"{path} is no place of an agent's file", "name an agent of yours")
    if any(part in ("", ".", "..", ".git") or "\0" in part or "\\" in part for part in parts):
        raise NotAllowed(f"{path!a} leads elsewhere", "name a file inside of the project")
    return parts


def _is_agents(place: str, path: str) -> bool:
    """Return whether a path in the user's home or a client's folder is that of an agent file."""
    if place != HOME:
        return path.partition("/")[0] in ("agents", "agent")
    return any(path.startswith(f"{folder}/agents/") for folder in _USUAL)


CREATE, RULE, SECTION, ENTRY, REFERENCE, INSTINCT = "create", "rule", "section", "entry", "reference", "instinct"
RULES_HEADING = "Learned rules"
_AROUND = 3
# Fields of an instinct that may change; everywhere else lines are only added.
_FIGURES = re.compile(r"\s*(?:-\s+)?(?:confidence|last_reinforced|reinforcement_count)\s*:.*")


def apply_edit(text: str, edit: Edit) -> str:
    """Return a file's text with an edit applied, unchanged if it is applied already; '' stands for a missing file."""
    if edit.verb == CREATE:
        return _created(text, edit)
    if edit.verb in (RULE, SECTION):
        return _below_heading(text, edit)
    if edit.verb == ENTRY:
        return _entered(text, edit)
    if edit.verb == REFERENCE:
        from swarmlore.notes.project_memory.memory_md import reference_in, with_reference

        return text if reference_in(text) else with_reference(text)
    return _instinct(text, edit)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a file's text with all edits applied."""
    for edit in edits:
        text = apply_edit(text, edit)
    return text


def _created(text: str, edit: Edit) -> str:
    if text and text != edit.text:
        raise Conflict(f"{edit.path} was written by somebody else meanwhile", "look at it, then reflect once more")
    return edit.text


def _below_heading(text: str, edit: Edit) -> str:
    if _has_lines(text, edit.text):
        return text
    if edit.verb == RULE:
        return with_line(text, edit.path, edit.heading, edit.text)
    return with_added(read_page(text), edit.heading, edit.text)


def _has_lines(text: str, wanted: str) -> bool:
    """Return whether a text contains all lines of an addition in sequence."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    sought = [line.strip() for line in wanted.splitlines() if line.strip()]
    return any(lines[at : at + len(sought)] == sought for at, line in enumerate(lines) if line == sought[0])


def _entered(text: str, edit: Edit) -> str:
    from swarmlore.notes.project_memory.memory_md import with_entry

    known = {line.strip().lstrip("-*+ ").strip() for line in text.splitlines()}
    return text if edit.text.strip() in known else with_entry(text, edit.heading, edit.text)


def _instinct(text: str, edit: Edit) -> str:
    from swarmlore.notes.instincts import added, all_changed, parse

    sheet, facts = parse(text), edit.facts
    known = {one.id: one for one in sheet.instincts}
    if values := facts.get("set"):
        return _figures(sheet, known, dict(values)) if values.get("id") in known else text
    fresh = dict(facts["add"])
    if fresh["id"] in known or any(one.rule == fresh["rule"] for one in known.values()):
        return text
    lowered = {id: float(value) for id, value in facts.get("lower", {}).items() if id in known}
    if lowered:
        sheet = parse(all_changed(sheet, "confidence", lowered))
    return added(sheet, fresh)


def _figures(sheet: Any, known: dict[str, Any], values: dict[str, Any]) -> str:
    from swarmlore.notes.instincts import changed

    one = known[values.pop("id")]
    values.pop("rule", None)
    if one.reinforcements >= int(values.get("reinforcement_count", 0)):
        return str(sheet.text)  # reinforced since, or already applied
    return changed(sheet, one.id, values)


def only_adds(before: str, after: str, verb: str = "") -> bool:
    """Return whether every line of the old text is in the new one, in order; figures of an instinct may change."""
    kept = iter(_lines(after))
    lines = _lines(before)
    if verb == INSTINCT:
        kept = iter([line for line in _lines(after) if not _FIGURES.fullmatch(line)])
        lines = [line for line in lines if not _FIGURES.fullmatch(line)]
    return all(any(line == other for other in kept) for line in lines)


def _lines(text: str) -> list[str]:
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def difference(before: str, after: str, name: str) -> str:
    """Return the unified diff of two texts with three lines of context."""
    from difflib import unified_diff

    old, new = _lines(before), _lines(after)
    head, tail = _shared(old, new)
    skipped = max(0, head - _AROUND)
    old, new = (lines[skipped : len(lines) - max(0, tail - _AROUND)] for lines in (old, new))
    names = (f"a/{name}" if before else "/dev/null", f"b/{name}")
    lines = [line.rstrip("\n") for line in unified_diff(old, new, *names, lineterm="")]
    return "".join(f"{_moved(line, skipped)}\n" for line in lines)


def _shared(old: list[str], new: list[str]) -> tuple[int, int]:
    """Return the number of common lines at the start and at the end; only the rest is compared."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return head, tail


def _moved(line: str, by: int) -> str:
    """Return a diff hunk header with its line numbers shifted, so that they count from the start of the file."""
    if not by or not (found := re.fullmatch(r"@@ -(\d+)(.*?) \+(\d+)(.*?) @@", line)):
        return line
    return f"@@ -{int(found[1]) + by}{found[2]} +{int(found[3]) + by}{found[4]} @@"
