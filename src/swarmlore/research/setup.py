"""What a project's own files say to whoever begins: what has to be there first, which commands are run, which variables
are set. Each line is taken from one place; nothing is put together that no file says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from swarmlore.domain.language.tokenizer import split_words, stem_word
from swarmlore.formats.manifests.tasks import READERS, Task, pipeline, system_packages
from swarmlore.frozen import frozen, replace
from swarmlore.research.records import Finding
from swarmlore.research.scan import text_of
from swarmlore.rules.asking import NEEDS, STEPS, SYSTEM, Asked, task_group
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
from swarmlore.workspace.manifests import MAX_BYTES
from swarmlore.workspace.stack import Stack, Technology

SOURCE = "setup"
MOST_FILES = 40
MOST_PAGES = 12
MOST_READ = 400  # files of code in which variables are sought
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
    """What is looked through: the files of a project, and what it is built with."""

    tree: Tree
    paths: tuple[str, ...]
    stack: Stack


def search_setup(project: Project, asked: Asked, limit: int) -> tuple[Finding, ...]:
    """What the files say to a question of one who begins; nothing to any other question."""
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
    """What has to be there: what pages ask for, what files pin, what containers and pipelines install."""
    fit = 0.6 if asked.rest else 1.0  # it asks for something particular: the list as a whole is less of an answer
    order = {NEEDS: (0.98, 0.92, 0.86), SYSTEM: (0.9, 0.8, 0.98), STEPS: (0.86, 0.8, 0.74)}[asked.needs]
    said, pinned, installed = (share * fit for share in order)
    told = [item for item in _pages(project) if asked.needs != SYSTEM or _is_system(item.text)]
    yield from _ranked(told, said)
    yield from _ranked(_installed(project), installed)
    if asked.needs != SYSTEM:
        yield from _ranked(map(_pinned, _technologies(project.stack)), pinned)
        yield from _ranked(_commands(project, asked.needs == STEPS), 0.96 * fit if asked.needs == STEPS else 0.8 * fit)


def _ranked(found: Iterable[Finding], first: float) -> Iterator[Finding]:
    """Findings of one kind in their order, the first of them with this rank."""
    for number, item in enumerate(found):
        yield replace(item, rank=round(first - 0.004 * min(number, 20), 4))


def _pages(project: Project) -> Iterator[Finding]:
    """Items under a heading that says so, and sentences that ask for something to be there."""
    for path in _docs(project.paths):
        for part in parts_of(text_of(project.tree, path)[:PAGE_CHARS]):
            listed = part.kind in ("item", "row", "prose") and _FIRST.search(part.heading)
            asking = part.kind in ("item", "prose") and _SAID.search(part.text) and _begins(part)
            if listed or asking:
                yield Finding(part.text[:TEXT_CHARS], SOURCE, f"{path}:{part.line}", title=part.heading)


def _begins(part: Part) -> bool:
    return part.top or _SETUP.search(part.heading) is not None


def _docs(paths: Sequence[str]) -> list[str]:
    """The pages that speak to beginners, README first."""
    named = ("readme", "install", "contributing", "development", "getting", "quickstart", "setup", "hacking")
    fit = [path for path in paths if is_doc(path) and path.rpartition("/")[2].lower().startswith(named)]
    return sorted(fit, key=lambda path: (path.count("/"), not is_readme(path), path))[:MOST_PAGES]


def _commands(project: Project, steps: bool) -> Iterator[Finding]:
    """Commands that pages show under such headings and, where all `steps` are asked for, the items of their lists."""
    for path in _docs(project.paths):
        for part in parts_of(text_of(project.tree, path)[:PAGE_CHARS]):
            command = part.kind == "code" and _begins(part) and is_command(part.text)
            if command or (steps and part.kind == "item" and _INSTALL.search(part.heading)):
                yield Finding(part.text.strip()[:TEXT_CHARS], SOURCE, f"{path}:{part.line}", title=part.heading)


def _technologies(stack: Stack) -> list[Technology]:
    """What a machine needs: runtimes, package managers, servers and pinned tools, not libraries; what the root asks for
    comes first."""
    fit = [item for kind in _KINDS for item in stack.of(kind)]
    own = [item for item in fit if item.kind in ("runtime", "packages") or (item.version and not item.package)]
    return sorted(own, key=lambda item: (_KINDS.index(item.kind), item.path.count("/")))


def _pinned(item: Technology) -> Finding:
    version = f" {item.version}{'' if item.locked else ' or what fits it'}" if item.version else ""
    return Finding(f"{item.name}{version}", SOURCE, item.place, how=item.kind)


def _installed(project: Project) -> Iterator[Finding]:
    """Packages of the system that containers, pipelines and scripts install."""
    for path in _files(project.paths):
        for program, packages, line in system_packages(text_of(project.tree, path)[:MAX_BYTES]):
            yield Finding(packages[:TEXT_CHARS], SOURCE, f"{path}:{line}", how=f"installed by {program}")


def _is_system(text: str) -> bool:
    return (
        re.search(
            r"\b(?:apt|apt-get|apk|dnf|yum|brew|lib\w+|compiler|system|toolchain|openssl|gcc|clang)\b", text, re.I
        )
        is not None
    )


def _files(paths: Sequence[str]) -> list[str]:
    """Files that name tasks or install something, those at the root first, and what pipelines do last."""
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
    """Commands for what is asked: tasks of that name, then commands of pages, then what a pipeline runs. Where it is
    asked what is needed, they stand behind that."""
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
    """The tasks of a file, and how well they can fit. In a job of that name every command is one of many: it is judged
    by what it runs, and the name of the job only tells what it is about."""
    text, name = text_of(tree, path)[:MAX_BYTES], path.rpartition("/")[2]
    reader = pipeline if _is_pipeline(path) else READERS.get(name)
    if reader is pipeline:
        for task in pipeline(text):
            yield replace(task, name="", about="" if _PREPARES.search(task.command) else task.name), 0.9
    elif reader is not None:
        container = 0.05 if name.startswith("Dockerfile") else 0.0
        yield from ((task, 0.95 - 0.03 * path.count("/") - container) for task in reader(text))


def _scripts(project: Project, asked: Asked) -> Iterator[Finding]:
    """Programs of the project whose name says what they do."""
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
    """What the comment at the top of a program says."""
    top = [line for line in text.split("\n", 6)[:6] if line.startswith(("#", "//", '"""')) and line[:2] != "#!"]
    said = (line.strip('#/" ') for line in top)
    return next((line for line in said if len(line.split()) > 2), "")[:TEXT_CHARS]


def _fits(task: Task, asked: Asked, best: float) -> float:
    """How well a task fits: by its name, less by its command alone; less where the question is about something else as
    well that it does not name."""
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
    """How a task is called, and what it runs."""
    runner = _RUNNERS.get(file, "")
    if file == "package.json":
        names = [item.name.lower() for item in stack.of("packages")]
        runner = next((f"{name} run" for name in ("pnpm", "yarn", "bun", "npm") if name in names), "npm run")
    elif file == "composer.json":
        runner = "composer run"
    call = f"{runner} {task.name}" if runner else ""
    return ": ".join(filter(None, (call, task.command))) or task.name


def _variables(project: Project, asked: Asked) -> Iterator[Finding]:
    """Variables that an example lists, and those that the code reads."""
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
