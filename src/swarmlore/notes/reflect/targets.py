"""One addition, done to the text of a file. Pure: the same text and the same addition give the same result, and a text
that has the addition stays as it is."""

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
    if {**_parsed(after), TOML_KEY: ""} != {**before, TOML_KEY: ""}:
        raise Conflict("the instructions cannot be added to", "add it by hand")
    return after


def _span(text: str) -> tuple[int, int, str]:
    """Where the instructions stand between their quotes, which are on lines of their own."""
    found = _OPENING.search(text)
    quotes = found[1] if found else ""
    end = _closing(text, found.end(), quotes) if found else -1
    if found is None or end < 0 or text[text.rfind("\n", 0, end) + 1 : end].strip():
        how = f'put them between """ and """, each on a line of its own, below {TOML_KEY} ='
        what = f"{TOML_KEY} of this file take no further line" if _KEY.search(text) else f"it has no {TOML_KEY}"
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
PROJECT_PLACE = "project"
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
        yield from ((PROJECT_PLACE, folder, FOLDERS[name][2]) for folder in FOLDERS[name][0])
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


PROJECT, LEARNINGS, HOME = "project", "learnings", "home"
MOST_BYTES = 1_000_000  # of a file that is added to
# What a client reads in every session of a project, best first: the first that exists, else the first of all.
INSTRUCTIONS = {
    "claude": ("CLAUDE.md", "AGENTS.md"),
    "gemini": ("GEMINI.md", "AGENTS.md", "CLAUDE.md"),
    "copilot": ("AGENTS.md", ".github/copilot-instructions.md", "CLAUDE.md"),
}
ANY_CLIENT = ("AGENTS.md", "CLAUDE.md")
_USUAL = (".claude", ".copilot", ".config/opencode", ".gemini", ".codex")
SKILLS = ".agents/skills/{}/SKILL.md"


class Places:
    """Where the files of one project and of its user are."""

    def __init__(self, project: str, learnings: str, home: str, clients: Mapping[str, str] | None = None) -> None:
        own = clients if clients is not None else own_folders({}, home)
        self._roots = {PROJECT: project, LEARNINGS: learnings, HOME: home, **own}

    @classmethod
    def of(cls, project: str, env: Mapping[str, str]) -> Places:
        from swarmlore.notes.locations import learnings_root

        home = home_of(env)
        return cls(project, learnings_root(env, home), home, own_folders(env, home))

    def root(self, place: str) -> str:
        return self._roots[place]

    def full(self, edit: Edit) -> str:
        return os.path.join(self._roots[edit.place], *edit.path.split("/"))

    def shown(self, edit: Edit) -> str:
        """A path as people write it."""
        if edit.place == PROJECT:
            return edit.path
        full, home = self.full(edit), self._roots[HOME].rstrip("/")
        return "~" + full.removeprefix(home) if full.startswith(home + "/") else full

    def read(self, place: str, path: str) -> str | None:
        """The text of a file, or None where there is none; refuses what leads elsewhere, is too large or no text."""
        with self._folder(place, path) as (folder, name):
            if folder is None:
                return None
            return text_in(folder, name)

    def exists(self, place: str, path: str) -> bool:
        """Whether there is a real file that can be added to."""
        try:
            return self.read(place, path) is not None
        except (NotAllowed, InvalidInput):
            return False

    @contextmanager
    def changing(self, edit: Edit) -> Iterator[tuple[Folder, str]]:
        """The folder of a file, made where it is missing and locked, and the file's name there."""
        if edit.place == LEARNINGS:
            os.makedirs(self._roots[LEARNINGS], mode=0o700, exist_ok=True)
        with self._folder(edit.place, edit.path, make=True) as (folder, name):
            assert folder is not None  # it was made
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
        """Where the file of a named agent lies."""
        return agent_file(self, name, client)

    def agents(self) -> list[str]:
        """The names of agents that have a file."""
        return agents(self)

    def instructions(self, client: str) -> str:
        """The file that a client reads in every session of the project: one that exists, else its own."""
        names = INSTRUCTIONS.get(client, ANY_CLIENT)
        return next((name for name in names if self.exists(PROJECT, name)), names[0])


def text_in(folder: Folder, name: str) -> str | None:
    """The text of a file in a folder; None where there is none."""
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
    """The names on the way to a file; one that leads out of its place is refused."""
    parts = path.split("/")
    if place not in (PROJECT, LEARNINGS) and not _is_agents(place, path):
        raise NotAllowed(f"{path} is no place of an agent's file", "name an agent of yours")
    if any(part in ("", ".", "..", ".git") or "\0" in part or "\\" in part for part in parts):
        raise NotAllowed(f"{path!a} leads elsewhere", "name a file inside of the project")
    return parts


def _is_agents(place: str, path: str) -> bool:
    """Whether a path in the user's home, or in a client's folder there, is one of an agent's file."""
    if place != HOME:
        return is_place(path)
    return any(path.startswith(f"{folder}/agents/") for folder in _USUAL)


CREATE, RULE, SECTION, ENTRY, REFERENCE, INSTINCT = "create", "rule", "section", "entry", "reference", "instinct"
RULES_HEADING = "Learned rules"
_AROUND = 3
# Of an instinct that is confirmed or contradicted, its figures change; everywhere else lines are only added.
_FIGURES = re.compile(r"\s*(?:-\s+)?(?:confidence|last_reinforced|reinforcement_count)\s*:.*")


def done_to(text: str, edit: Edit) -> str:
    """The text of a file with an addition; '' stands for a file that is not there."""
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


def all_done_to(text: str, edits: Iterable[Edit]) -> str:
    for edit in edits:
        text = done_to(text, edit)
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
    from swarmlore.notes.markdown import read_page, with_added

    return with_added(read_page(text), edit.heading, edit.text)


def _has_lines(text: str, wanted: str) -> bool:
    """Whether all lines of an addition stand in a text, one after the other."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    sought = [line.strip() for line in wanted.splitlines() if line.strip()]
    return any(lines[at : at + len(sought)] == sought for at, line in enumerate(lines) if line == sought[0])


def _entered(text: str, edit: Edit) -> str:
    from swarmlore.notes.project_memory.memory_md import with_entry

    said = {line.strip().lstrip("-*+ ").strip() for line in text.splitlines()}
    return text if edit.text.strip() in said else with_entry(text, edit.heading, edit.text)


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
        return str(sheet.text)  # it was confirmed since, or this is done
    return changed(sheet, one.id, values)


def only_adds(before: str, after: str, verb: str = "") -> bool:
    """Whether every line of a text is still there, in its order."""
    kept = iter(_lines(after))
    lines = _lines(before)
    if verb == INSTINCT:
        kept = iter([line for line in _lines(after) if not _FIGURES.fullmatch(line)])
        lines = [line for line in lines if not _FIGURES.fullmatch(line)]
    return all(any(line == other for other in kept) for line in lines)


def _lines(text: str) -> list[str]:
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def difference(before: str, after: str, name: str) -> str:
    """What an addition changes, as a unified diff with the usual three lines around it."""
    from difflib import unified_diff

    old, new = _lines(before), _lines(after)
    head, tail = _shared(old, new)
    skipped = max(0, head - _AROUND)
    old, new = (lines[skipped : len(lines) - max(0, tail - _AROUND)] for lines in (old, new))
    names = (f"a/{name}" if before else "/dev/null", f"b/{name}")
    lines = [line.rstrip("\n") for line in unified_diff(old, new, *names, lineterm="")]
    return "".join(f"{_moved(line, skipped)}\n" for line in lines)


def _shared(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines two texts share at their beginning and at their end: what lies between is compared."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return head, tail


def _moved(line: str, by: int) -> str:
    """The head of a hunk with the numbers that its lines have in the whole file."""
    if not by or not (found := re.fullmatch(r"@@ -(\d+)(.*?) \+(\d+)(.*?) @@", line)):
        return line
    return f"@@ -{int(found[1]) + by}{found[2]} +{int(found[3]) + by}{found[4]} @@"
