"""Search a project's own files for how to begin: requirements, commands to run, environment variables, and the
technologies in use.

Each finding is taken from one place; nothing is combined that no file says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from swarmlore.domain.language.tokenizer import split_words, stem_word
from swarmlore.frozen import frozen, replace
from swarmlore.research.question import NEEDS, STEPS, SYSTEM, Asked, Question, task_group, text_of
from swarmlore.research.report import Finding
from swarmlore.workspace.cited_code import Tree
from swarmlore.workspace.codebase import (
    Part,
    is_command,
    is_doc,
    is_env_example,
    is_readme,
    is_test,
    language_of,
    parts_of,
)
from swarmlore.workspace.manifests import MAX_BYTES, MOST, json_table, line_of, pairs
from swarmlore.workspace.stack import Stack, Technology

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
    """A command that a file names; the name is '' if the command has none. `about` is the comment on it."""

    name: str
    command: str
    line: int
    about: str = ""


def makefile(text: str) -> Iterator[Task]:
    """Yield the targets of a Makefile."""
    yield from _recipes(text, _TARGET, ("\t",))


def justfile(text: str) -> Iterator[Task]:
    """Yield the recipes of a justfile."""
    yield from _recipes(text, _RECIPE, (" ", "\t"))


def _recipes(text: str, head: re.Pattern[str], indents: tuple[str, ...]) -> Iterator[Task]:
    """Yield the targets with the first command of each; a comment behind `##` or directly above describes it."""
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
    """Yield the scripts of a package.json or composer.json."""
    start = max(text.find('"scripts"'), 0)
    for name, command in pairs(json_table(text).get("scripts")):
        yield Task(name, command[:COMMAND_CHARS], line_of(text, name, start))


def procfile(text: str) -> Iterator[Task]:
    """Yield the processes of a Procfile."""
    for number, line in enumerate(text.split("\n")[:MOST], start=1):
        if found := _PROC.match(line):
            yield Task(found[1], found[2][:COMMAND_CHARS], number)


def dockerfile(text: str) -> Iterator[Task]:
    """Yield the command that a container starts."""
    for number, line in enumerate(text.split("\n")[:MOST], start=1):
        if found := _START.match(line):
            listed = re.findall(r'"([^"]{1,200})"', found[1]) if found[1].lstrip().startswith("[") else []
            yield Task("start", (" ".join(listed) or found[1])[:COMMAND_CHARS], number)


def pipeline(text: str) -> Iterator[Task]:
    """Yield the commands of CI jobs with the job's name: steps of workflows, and lists under `script`."""
    keys: list[tuple[int, str]] = []
    listing, block = -1, -1  # columns of the current list and block of commands
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
        if (run := _RUN.match(line[:400])) and (command := run[1].strip()):
            if command[0] in "|>":
                block = column
            else:
                yield _job(keys, command, number)
        elif key := _KEY.match(line[:400]):
            keys = [*(known for known in keys if known[0] < column), (column, key[2].strip())][-8:]
            listing = column if key[2].strip() in _SCRIPTS and not key[3].strip() else -1


def _job(keys: list[tuple[int, str]], command: str, line: int) -> Task:
    names = [name for _, name in keys if name not in (*_SCRIPTS, "jobs", "steps", "name", "uses", "with")]
    return Task(names[0] if names else "", command[:COMMAND_CHARS], line)


def system_packages(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (installer, packages, line) of each command that installs system packages, joining continued lines."""
    lines = text.split("\n")[: 4 * MOST]
    for number, line in enumerate(lines):
        found = _SYSTEM.search(line[:1_000])
        if found is None or line.lstrip().startswith(("#", "//")):
            continue
        listed = found[2]
        for more in lines[number + 1 : number + 41]:
            if not listed.rstrip().endswith("\\"):
                break
            listed = f"{listed.rstrip()[:-1]} {more[:300].strip()}"
        if named := _packages(listed):
            yield found[1], " ".join(named), number + 1


def _packages(listed: str) -> list[str]:
    """Return the package names of an install command."""
    command = re.split(r"&&|\|\||[;|\"'`)]", listed)[0]
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

ASKED_FOR = 2.0  # rank of what the question names literally
_PACKAGES = {
    "database": "database",
    "framework": "framework",
    "language": "language",
    "runtime": "runtime",
    "package manager": "packages",
    "test runner": "tests",
    "test framework": "tests",
    "build tool": "build",
}
_WHICH = re.compile(
    rf"\b(?:which|what)\s+(?:\w{{1,30}}\s+)??({'|'.join(sorted(_PACKAGES, key=len, reverse=True))})s?\b(?!\s+should)",
    re.I,
)


def search_stack(stack: Stack, question: Question, limit: int) -> tuple[Finding, ...]:
    """Return the technologies whose version or kind (`which database …`) a question asks for."""
    kinds = kinds_asked(question)
    asked = [item for item in stack.technologies if item.kind in kinds]
    if "version" in question.terms:
        asked += [item for item in named_in(question, stack) if item.version and item not in asked]
    shares = ", ".join(f"{item.name} {round(100 * item.share)}%" for item in stack.languages[:6])
    spoken = [] if "language" not in kinds else [Finding(shares, "stack", "files", rank=ASKED_FOR)]
    return (*spoken, *(Finding(_technology_line(item), "stack", item.place, rank=ASKED_FOR) for item in asked))[:limit]


def kinds_asked(question: Question) -> set[str]:
    """Return the kinds of technology a question asks for: `which database …`."""
    return {_PACKAGES[found.lower()] for found in _WHICH.findall(question.text)}


def named_in(question: Question, stack: Stack) -> list[Technology]:
    """Return the technologies that a question names."""
    return [item for item in stack.technologies if item.name and _named_package(item.name, question.text)]


def _named_package(name: str, text: str) -> bool:
    """Return whether a text names a technology; Node is Node.js. A short name such as `go` or `make` is also a common
    word, so it counts only in its exact case or if its version is asked for."""
    short = re.escape(name.removesuffix(".js"))
    if len(name) > 4:
        return re.search(rf"(?<!\w){short}(?:\.js)?(?!\w)", text, re.I) is not None
    version = rf"(?<!\w)(?:{short} version|version of {short})(?!\w)"
    return re.search(rf"(?<!\w){short}(?!\w)", text) is not None or re.search(version, text, re.I) is not None


def _technology_line(item: Technology) -> str:
    """Describe a technology with its version or package."""
    version = f"{item.version}{'' if item.locked else ' or what fits it'}" if item.version else ""
    via = f"through {item.package}" if item.package and not item.version else ""
    return " ".join(filter(None, (item.name, version, via)))


SOURCE = "setup"
MOST_FILES = 40
MOST_PAGES = 12
MOST_READ = 400  # code files searched for variables
TEXT_CHARS = 420
PAGE_CHARS = 200_000
DEEPEST = 3
_FIRST = re.compile(r"prerequisite|requirements?|dependenc|you(?:'ll)? need|before you (?:begin|start)|needed", re.I)
_SETUP = re.compile(
    r"install|set ?-?up|getting started|quick ?-?start|development|begin|\brun\b|running|usage|local", re.I
)
_INSTALL = re.compile(r"install|set ?-?up|getting started|quick ?-?start", re.I)
_SAID = re.compile(
    r"\byou(?:'ll| will)? (?:also )?need\b|\brequires?\b|\bmust be (?:installed|running|there)\b|"
    r"\binstall\b.{1,80}\bfirst\b|"
    r"\bmake sure\b|\bprerequisites?\b|\bdepends on\b|\bhave .{1,60} installed\b",
    re.I,
)
_VARIABLE = re.compile(
    r"""(?:environ(?:\.get\(|\[)|getenv\(|process\.env\.|process\.env\[|ENV\[|ENV\.fetch\(|env::var(?:_os)?\(|Deno\.env\.get\(|"""
    r"""LookupEnv\(|GetEnvironmentVariable\()\s*["'`]?([A-Z][A-Z0-9_]{2,60})"""
)
_LISTED = re.compile(r"\s*(?:export\s+)?([A-Z][A-Z0-9_]{1,60})\s*=(.{0,200})")
_PREPARES = re.compile(r"\b(?:install|ci|login|add|update|upgrade|cd|export|echo|sync|checkout)\b")
_RUNNERS = {"Makefile": "make", "makefile": "make", "GNUmakefile": "make"}
_RUNNERS |= dict.fromkeys(("justfile", "Justfile", ".justfile"), "just")
_KINDS = ("runtime", "packages", "database", "build")


@frozen
class Project:
    """The files of a project to search, and the technologies it uses."""

    tree: Tree
    paths: tuple[str, ...]
    stack: Stack


def search_setup(project: Project, asked: Asked, limit: int) -> tuple[Finding, ...]:
    """Return what the project's files say about how to begin; nothing for any other question."""
    if asked.plain:
        return ()
    found: list[Finding] = []
    if asked.variables:
        found += _variables(project, asked)
    if asked.needs:
        found += _needed(project, asked)
    if asked.tasks and (asked.needs != SYSTEM):
        found += _tasks(project, asked)
    once: dict[str, Finding] = {}
    for item in sorted(found, key=lambda item: -item.rank):
        once.setdefault(item.place, item)
    return tuple(once.values())[: max(limit, 1)]


def _needed(project: Project, asked: Asked) -> Iterator[Finding]:
    """Yield requirements: what pages ask for, what manifests pin, what containers and pipelines install."""
    fit = 0.6 if asked.rest else 1.0  # a question about something particular is not answered by the whole list
    order = {NEEDS: (0.98, 0.92, 0.86), SYSTEM: (0.9, 0.8, 0.98), STEPS: (0.86, 0.8, 0.74)}[asked.needs]
    from_pages, pinned, installed = (share * fit for share in order)
    page_findings = [item for item in _pages(project) if asked.needs != SYSTEM or _is_system(item.text)]
    yield from _ranked(page_findings, from_pages)
    yield from _ranked(_installed(project), installed)
    if asked.needs != SYSTEM:
        yield from _ranked(map(_pinned, _technologies(project.stack)), pinned)
        yield from _ranked(_commands(project, asked.needs == STEPS), 0.96 * fit if asked.needs == STEPS else 0.8 * fit)


def _ranked(found: Iterable[Finding], first: float) -> Iterator[Finding]:
    """Rank findings of one kind in their order, the first with the given rank."""
    for number, item in enumerate(found):
        yield replace(item, rank=round(first - 0.004 * min(number, 20), 4))


def _pages(project: Project) -> Iterator[Finding]:
    """Yield list items under a heading such as "Requirements", and sentences that ask for something to be installed."""
    for path in _docs(project.paths):
        for part in parts_of(text_of(project.tree, path)[:PAGE_CHARS]):
            listed = part.kind in ("item", "row", "prose") and _FIRST.search(part.heading)
            asking = part.kind in ("item", "prose") and _SAID.search(part.text) and _begins(part)
            if listed or asking:
                yield Finding(part.text[:TEXT_CHARS], SOURCE, f"{path}:{part.line}", title=part.heading)


def _begins(part: Part) -> bool:
    """Return whether a part of a page is about getting started."""
    return part.top or _SETUP.search(part.heading) is not None


def _docs(paths: Sequence[str]) -> list[str]:
    """Return the pages for beginners, README first."""
    named = ("readme", "install", "contributing", "development", "getting", "quickstart", "setup", "hacking")
    fit = [path for path in paths if is_doc(path) and path.rpartition("/")[2].lower().startswith(named)]
    return sorted(fit, key=lambda path: (path.count("/"), not is_readme(path), path))[:MOST_PAGES]


def _commands(project: Project, steps: bool) -> Iterator[Finding]:
    """Yield the commands that pages show for getting started and, with `steps`, the items of their lists."""
    for path in _docs(project.paths):
        for part in parts_of(text_of(project.tree, path)[:PAGE_CHARS]):
            command = part.kind == "code" and _begins(part) and is_command(part.text)
            if command or (steps and part.kind == "item" and _INSTALL.search(part.heading)):
                yield Finding(part.text.strip()[:TEXT_CHARS], SOURCE, f"{path}:{part.line}", title=part.heading)


def _technologies(stack: Stack) -> list[Technology]:
    """Return what a machine needs (runtimes, package managers, servers, pinned tools), the root's first."""
    fit = [item for kind in _KINDS for item in stack.of(kind)]
    own = [item for item in fit if item.kind in ("runtime", "packages") or (item.version and not item.package)]
    return sorted(own, key=lambda item: (_KINDS.index(item.kind), item.path.count("/")))


def _pinned(item: Technology) -> Finding:
    version = f" {item.version}{'' if item.locked else ' or what fits it'}" if item.version else ""
    return Finding(f"{item.name}{version}", SOURCE, item.place, how=item.kind)


def _installed(project: Project) -> Iterator[Finding]:
    """Yield the system packages that containers, pipelines and scripts install."""
    for path in _files(project.paths):
        for program, packages, line in system_packages(text_of(project.tree, path)[:MAX_BYTES]):
            yield Finding(packages[:TEXT_CHARS], SOURCE, f"{path}:{line}", how=f"installed by {program}")


def _is_system(text: str) -> bool:
    """Return whether a text is about system packages."""
    return (
        re.search(
            r"\b(?:apt|apt-get|apk|dnf|yum|brew|lib\w+|compiler|system|toolchain|openssl|gcc|clang)\b", text, re.I
        )
        is not None
    )


def _files(paths: Sequence[str]) -> list[str]:
    """Return files that define tasks or install something, those at the root first and pipelines last."""
    fit = [path for path in paths if path.count("/") <= DEEPEST and not is_test(path) and _reads(path)]
    return sorted(fit, key=lambda path: (_is_pipeline(path), path.count("/"), path))[:MOST_FILES]


def _reads(path: str) -> bool:
    name = path.rpartition("/")[2]
    script = path.startswith(("bin/", "script/", "scripts/")) or name.endswith(".sh")
    return name in READERS or script or name.startswith("Dockerfile") or _is_pipeline(path) or "devcontainer" in name


def _is_pipeline(path: str) -> bool:
    if READERS.get(path.rpartition("/")[2]) is pipeline:
        return True
    return path.startswith((".github/workflows/", ".circleci/")) and path.endswith((".yml", ".yaml"))


def _tasks(project: Project, asked: Asked) -> Iterator[Finding]:
    """Yield the commands for the tasks asked for, from task files, pages, pipelines and scripts. If the question asks
    for requirements, they rank lower."""
    later = 0.85 if asked.needs == NEEDS else 1.0
    for path in _files(project.paths):
        for task, best in _named(project.tree, path):
            if rank := later * _fits(task, asked, best):
                text = _called(task, path.rpartition("/")[2], project.stack)
                yield Finding(text, SOURCE, f"{path}:{task.line}", how=task.about, rank=rank)
    for path in _docs(project.paths):
        for part in parts_of(text_of(project.tree, path)[:PAGE_CHARS]):
            task = Task("", part.text.strip()[:TEXT_CHARS], part.line, part.heading)
            if part.kind == "code" and is_command(part.text) and (rank := later * _fits(task, asked, 0.98)):
                yield Finding(task.command, SOURCE, f"{path}:{part.line}", title=part.heading, rank=rank)
    yield from _scripts(project, asked)


def _named(tree: Tree, path: str) -> Iterator[tuple[Task, float]]:
    """Yield the tasks of a file with their highest possible rank. A command of a CI job is one of many, so it is judged
    by what it runs; the job's name only describes it."""
    text, name = text_of(tree, path)[:MAX_BYTES], path.rpartition("/")[2]
    reader = pipeline if _is_pipeline(path) else READERS.get(name)
    if reader is pipeline:
        for task in pipeline(text):
            yield replace(task, name="", about="" if _PREPARES.search(task.command) else task.name), 0.9
    elif reader is not None:
        container = 0.05 if name.startswith("Dockerfile") else 0.0
        yield from ((task, 0.95 - 0.03 * path.count("/") - container) for task in reader(text))


def _scripts(project: Project, asked: Asked) -> Iterator[Finding]:
    """Yield the project's scripts whose name matches a task."""
    for path in _files(project.paths):
        name = path.rpartition("/")[2].partition(".")[0]
        if path.startswith(("bin/", "script/", "scripts/")) and (rank := _fits(Task(name, "", 1), asked, 0.88)):
            yield Finding(
                f"{path} — {_about(text_of(project.tree, path)) or 'a program of the project'}",
                SOURCE,
                f"{path}:1",
                rank=rank,
            )


def _about(text: str) -> str:
    """Return the comment at the top of a script."""
    top = [line for line in text.split("\n", 6)[:6] if line.startswith(("#", "//", '"""')) and line[:2] != "#!"]
    comments = (line.strip('#/" ') for line in top)
    return next((line for line in comments if len(line.split()) > 2), "")[:TEXT_CHARS]


def _fits(task: Task, asked: Asked, best: float) -> float:
    """Score how well a task fits: by its name, lower by its command, lower still for words it lacks."""
    named = task_group(split_words(task.name))
    meant = named or task_group(split_words(task.command))
    rank = best if named else best - 0.08
    if not meant & set(asked.tasks):
        above = not named and task_group(split_words(task.about)) & set(asked.tasks)
        rank = best - 0.12 if above and task.about else 0.0
    own = {stem_word(word) for word in split_words(f"{task.name} {task.command} {task.about}")}
    missing = [word for word in asked.rest if word not in own]
    return round(rank * (1 - 0.45 * len(missing) / max(1, len(asked.rest))), 4)


def _called(task: Task, file: str, stack: Stack) -> str:
    """Return the command that runs a task, and what the task runs."""
    runner = _RUNNERS.get(file, "")
    if file == "package.json":
        names = [item.name.lower() for item in stack.of("packages")]
        runner = next((f"{name} run" for name in ("pnpm", "yarn", "bun", "npm") if name in names), "npm run")
    elif file == "composer.json":
        runner = "composer run"
    call = f"{runner} {task.name}" if runner else ""
    return ": ".join(filter(None, (call, task.command))) or task.name


def _variables(project: Project, asked: Asked) -> Iterator[Finding]:
    """Yield the variables an example file lists, and those the code reads."""
    seen: set[str] = set()
    for path in sorted((path for path in project.paths if is_env_example(path)), key=lambda path: path.count("/"))[:10]:
        for number, line in enumerate(text_of(project.tree, path).split("\n")[:500], start=1):
            if found := _LISTED.match(line[:300]):
                seen.add(found[1])
                yield Finding(
                    line.strip()[:TEXT_CHARS], SOURCE, f"{path}:{number}", rank=0.95 - 0.002 * min(number, 40)
                )
    code = [path for path in project.paths if language_of(path) and not is_test(path)]
    for path in code[:MOST_READ]:
        text = text_of(project.tree, path)
        for found in _VARIABLE.finditer(text) if "env" in text.lower() else ():
            if found[1] not in seen:
                seen.add(found[1])
                number = text.count("\n", 0, found.start()) + 1
                line = text.split("\n", number)[number - 1].strip()
                yield Finding(f"{found[1]}: {line}"[:TEXT_CHARS], SOURCE, f"{path}:{number}", rank=0.85)
