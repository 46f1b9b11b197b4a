"""What a project's own files run: targets of make and just, scripts of package.json, jobs of a CI, and what a container
starts; and which packages of the system they install first. Read line by line, run never."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from swarmlore.frozen import frozen
from swarmlore.workspace.manifests import MOST, json_table, line_of, pairs

MOST_TASKS = 400
COMMAND_CHARS = 200
_TARGET = re.compile(
    r"([A-Za-z][\w./-]{0,60})((?:\s+[\w./-]{1,60}){0,6})\s*:(?![:=])([^#]{0,200})(?:##?\s*(.{1,160}))?"
)
_RECIPE = re.compile(r"@?([A-Za-z_][\w-]{0,60})(?:\s+[^:]{0,120})?:(?!=)")
_RUN = re.compile(r"\s*(?:-\s+)?run:\s*([^|>\s].{0,300}|[|>][+-]?\s*$)")
_KEY = re.compile(r"(\s*)(?:-\s+)?([\w .-]{1,60}):\s*(.{0,300})$")
_START = re.compile(r"\s*(?:CMD|ENTRYPOINT)\s+(.{1,300})")
_PROC = re.compile(r"([a-z][\w-]{0,40}):\s+(.{1,300})")
_SYSTEM = re.compile(
    r"\b(apt-get|apt|apk|yum|dnf|microdnf|zypper|brew|pacman)\s+(?:-\S{1,40}\s+){0,4}(?:install|add|-S)\s+(.{1,600})"
)
_PACKAGE = re.compile(r"[a-z0-9][\w.+:@/-]{0,80}(?:[=~<>][\w.:*+~-]{0,40})?", re.I)
_SCRIPTS = ("before_script", "script", "after_script", "run", "commands")


@frozen
class Task:
    """A command that a file gives a name to; the name is '' where it stands for itself. `about` is what the file says
    of it."""

    name: str
    command: str
    line: int
    about: str = ""


def makefile(text: str) -> Iterator[Task]:
    yield from _recipes(text, _TARGET, ("\t",))


def justfile(text: str) -> Iterator[Task]:
    yield from _recipes(text, _RECIPE, (" ", "\t"))


def _recipes(text: str, head: re.Pattern[str], indents: tuple[str, ...]) -> Iterator[Task]:
    """Targets with the first command below each; what stands behind `##`, or in a comment above, is about it."""
    lines = text.split("\n")[: 20 * MOST]
    for number, line in enumerate(lines):
        found = head.match(line[:500]) if line[:1].isalpha() or line[:1] in "@_" else None
        if found is None:
            continue
        below = lines[number + 1] if number + 1 < len(lines) else ""
        command = below.strip().lstrip("@-") if below.startswith(indents) else ""
        above = lines[number - 1].strip() if number else ""
        about = (found[4] if head is _TARGET and found[4] else "") or (above.lstrip("# ") if above[:1] == "#" else "")
        for name in (found[1], *((found[2] or "").split() if head is _TARGET else ())):
            yield Task(name, command[:COMMAND_CHARS], number + 1, about.strip()[:COMMAND_CHARS])


def package_scripts(text: str) -> Iterator[Task]:
    """Scripts of package.json and composer.json."""
    start = max(text.find('"scripts"'), 0)
    for name, command in pairs(json_table(text).get("scripts")):
        yield Task(name, command[:COMMAND_CHARS], line_of(text, name, start))


def procfile(text: str) -> Iterator[Task]:
    for number, line in enumerate(text.split("\n")[:MOST], start=1):
        if found := _PROC.match(line):
            yield Task(found[1], found[2][:COMMAND_CHARS], number)


def dockerfile(text: str) -> Iterator[Task]:
    """What a container starts, as one command."""
    for number, line in enumerate(text.split("\n")[:MOST], start=1):
        if found := _START.match(line):
            listed = re.findall(r'"([^"]{1,200})"', found[1]) if found[1].lstrip().startswith("[") else []
            yield Task("start", (" ".join(listed) or found[1])[:COMMAND_CHARS], number)


def pipeline(text: str) -> Iterator[Task]:
    """Commands of a CI's jobs, each with the name of its job: steps of workflows, lists under `script`."""
    keys: list[tuple[int, str]] = []
    listing, block = -1, -1  # the columns of an open list of commands, and of an open block of them
    for number, line in enumerate(text.split("\n")[: 4 * MOST], start=1):
        bare, column = line[:400].strip(), len(line) - len(line.lstrip())
        if not bare or bare.startswith("#"):
            continue
        if block >= 0 and column > block:
            yield _job(keys, bare, number)
            continue
        block = -1
        if listing >= 0 and column >= listing and bare.startswith("- ") and not _KEY.match(bare):
            yield _job(keys, bare[2:].strip("\"' "), number)
            continue
        listing = -1
        if (run := _RUN.match(line[:400])) and (said := run[1].strip()):
            if said[0] in "|>":
                block = column
            else:
                yield _job(keys, said, number)
        elif key := _KEY.match(line[:400]):
            keys = [*(known for known in keys if known[0] < column), (column, key[2].strip())][-8:]
            listing = column if key[2].strip() in _SCRIPTS and not key[3].strip() else -1


def _job(keys: list[tuple[int, str]], command: str, line: int) -> Task:
    names = [name for _, name in keys if name not in (*_SCRIPTS, "jobs", "steps", "name", "uses", "with")]
    return Task(names[0] if names else "", command[:COMMAND_CHARS], line)


def system_packages(text: str) -> Iterator[tuple[str, str, int]]:
    """Packages of the system that a file installs: by which program, all of one command, and its line. A command may go
    on behind a backslash."""
    lines = text.split("\n")[: 4 * MOST]
    for number, line in enumerate(lines):
        found = _SYSTEM.search(line[:1_000])
        if found is None or line.lstrip().startswith(("#", "//")):
            continue
        said = found[2]
        for more in lines[number + 1 : number + 41]:
            if not said.rstrip().endswith("\\"):
                break
            said = f"{said.rstrip()[:-1]} {more[:300].strip()}"
        if named := _packages(said):
            yield found[1], " ".join(named), number + 1


def _packages(said: str) -> list[str]:
    command = re.split(r"&&|\|\||[;|\"'`)]", said)[0]
    return [word for word in command.split() if _PACKAGE.fullmatch(word)][:40]


READERS: dict[str, Callable[[str], Iterator[Task]]] = {
    "Makefile": makefile,
    "makefile": makefile,
    "GNUmakefile": makefile,
    "justfile": justfile,
    "Justfile": justfile,
    ".justfile": justfile,
    "package.json": package_scripts,
    "composer.json": package_scripts,
    "Procfile": procfile,
    "Dockerfile": dockerfile,
    ".gitlab-ci.yml": pipeline,
    ".travis.yml": pipeline,
    "azure-pipelines.yml": pipeline,
    "bitbucket-pipelines.yml": pipeline,
}
