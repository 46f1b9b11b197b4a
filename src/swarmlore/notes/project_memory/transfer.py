"""What is always in an agent's context: the memory file of a project, and what clients remember by themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from swarmlore.domain.pages.instincts import unproven
from swarmlore.domain.policy.gate import refuse_unsafe
from swarmlore.domain.records import Caller
from swarmlore.domain.security.redaction import redact
from swarmlore.errors import InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.exchange.import_files import NOTES, Brought, check_switches
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.notes.exchange import ENDING, Paper, import_notes
from swarmlore.notes.instincts import FILE as INSTINCTS
from swarmlore.notes.instincts import FOLDER, parse
from swarmlore.notes.instincts import parse as parse_instincts
from swarmlore.notes.locations import learnings_root, read_text
from swarmlore.notes.project_memory.client_memory import GEMINI
from swarmlore.notes.project_memory.memory_file import (
    PATH,
    Checked,
    Foreign,
    Planned,
    ProjectMemory,
    Shown,
    lines_of,
    merge_entries,
)
from swarmlore.notes.project_memory.memory_md import MAX_LINES, line_count
from swarmlore.workspace.files import Change

if TYPE_CHECKING:
    from swarmlore.config import Settings
    from swarmlore.models.embedding import Progress
    from swarmlore.notes.instincts import Instincts
    from swarmlore.notes.project_memory.consolidate import Consolidating, Consolidation
    from swarmlore.notes.project_memory.ingest import Ingested, Ingesting


def kind_of(path: str, format: str) -> str:
    """Which of these formats a path has, by what was said or by its name; '' where it is another one."""
    if format != "auto":
        return format if format in NOTES else ""
    parent, name = os.path.split(os.path.abspath(path))
    if os.path.isdir(path):
        return "auto-memory" if name == "memory" else "notes"
    if name == GEMINI:
        return "auto-memory"
    if name == "MEMORY.md":
        return "memory-md"
    if name.endswith(("instincts.yaml", "instincts.yml")):
        return "instincts"
    return "notes" if name.endswith(".md") and os.path.basename(parent) != ".swarm" else ""


class Bringing:
    """Such files in, for one caller in one project."""

    def __init__(
        self,
        caller: Caller,
        settings: Settings,
        memory: ProjectMemory,
        instincts: Instincts,
        learnings: str,
        ingest: Callable[[str, Progress | None], Ingested],
    ) -> None:
        self._caller = caller
        self._settings = settings
        self._memory = memory
        self._instincts = instincts
        self._learnings = learnings
        self._ingest = ingest

    def bring(self, path: str, kind: str, progress: Progress | None = None) -> Brought:
        """Take one in. The second time it adds nothing."""
        check_switches(self._settings, hive=kind in ("notes", "auto-memory"))
        if not os.path.lexists(path):
            raise NotFound(f"no file {path}", "check the path")
        if kind == "notes":
            return import_notes(os.path.realpath(path), self._learnings, progress)
        if kind == "auto-memory":
            return _of_ingest(self._ingest(path, progress))
        if os.path.isdir(path):
            raise InvalidInput(f"{path} is a folder", "name a file in it")
        raw = read_text(os.path.realpath(path))
        text = redact(raw)[0]
        told = self._rules(text) if kind == "instincts" else self._entries(text, path)
        return replace(told, redacted=int(text != raw))

    def _rules(self, text: str) -> Brought:
        sheet = parse(text)
        whole = text if self._caller.leads and not sheet.problems and _is_safe(text) else ""
        told = self._instincts.merge([unproven(one) for one in sheet.instincts], whole)
        refusals = [(line, why) for line, why in sheet.problems]
        refusals += [(0, f"{rule}: {why}") for rule, why in told.refused]
        refusals += [(0, f"{one.rule}: it speaks against {other.id}") for one, other in told.against]
        read = len(sheet.instincts) + len(sheet.problems)
        updated = len(told.raised)
        return Brought(read, len(told.added), updated, 0, told.known - updated, len(refusals), tuple(refusals))

    def _entries(self, text: str, path: str) -> Brought:
        if self._caller.role != "person":
            raise NotAllowed(f"{PATH} is a person's to change", "a person does it, with the same command at a terminal")
        found = [Foreign(path, line.section, line.text) for line in lines_of(path, text)]
        before = self._memory.read() or ""
        if found and not before.strip() and line_count(text) <= MAX_LINES and _is_safe(text):
            self._memory.write(Change("", PATH, before, text))  # as somebody wrote it
            return Brought(len(found), len(found), 0, 0, 0, 0)
        told = merge_entries(before, found)
        self._memory.write(Change("", PATH, told.before, told.after))
        refusals = [(0, f"{entry.text}: {why}") for entry, why in told.refused]
        refusals += [(0, f"{entry.text}: it speaks against {line.text}") for entry, line in told.against]
        refusals += [(0, f"{entry.text}: there is no room") for entry in told.no_room]
        return Brought(len(found), len(told.added), 0, 0, told.known, len(refusals), tuple(refusals))


def _is_safe(text: str) -> bool:
    """Whether the gate has nothing against a whole text, comments and all."""
    try:
        refuse_unsafe("", text)
    except (InvalidInput, Rejected):
        return False
    return True


def _of_ingest(told: Ingested) -> Brought:
    bad = [(number, f"{one.source}: {one.why}") for number, one in enumerate(told.files, 1) if one.outcome == "refused"]
    known = sum(told.count(name) for name in ("known", "left", "skipped"))
    redacted = sum(one.redacted for one in told.files)
    return Brought(
        len(told.files), told.count("added"), told.count("updated"), 0, known, len(bad), tuple(bad), redacted
    )


TEXTS = ("instincts", "memory-md")  # each is one file
FOLDERS = ("notes", "auto-memory")


def refuse_lines(format: str) -> None:
    """Raise where a format is a folder and not a text."""
    if format in FOLDERS:
        what = "notes are files" if format == "notes" else "what clients remember is files"
        raise InvalidInput(what, f"name a folder: export --format {format} FOLDER")


class Giving:
    """Such files out, of one project and its user."""

    def __init__(
        self, memory: ProjectMemory, instincts: Instincts, copies: Callable[[], Iterable[tuple[str, str]]]
    ) -> None:
        self._memory = memory
        self._instincts = instincts
        self._copies = copies

    def text(self, format: str) -> str:
        """One file as it is, without secrets; raises NotFound where there is none."""
        found = self._instincts.text() if format == "instincts" else self._memory.read()
        if not found:
            name = f"{FOLDER}/{INSTINCTS}" if format == "instincts" else PATH
            raise NotFound(f"this project has no {name}", "name another format: --format FORMAT")
        return redact(found)[0]

    def count(self, format: str) -> int:
        """How many rules or entries it has."""
        text = self.text(format)
        return len(parse_instincts(text).instincts) if format == "instincts" else sum(1 for _ in lines_of(PATH, text))

    def papers(self) -> Iterator[Paper]:
        """What was taken over from clients about this project, under the names that it had there."""
        found = list(self._copies())
        if not found:
            hint = "take it over first: swarmlore learnings ingest"
            raise NotFound("nothing of what clients remember about this project was taken over", hint)
        for name, text in found:
            yield Paper(name if name.endswith(ENDING) else name + ENDING, redact(text)[0])


class Context:
    """The context tier of one project and one user, for one caller."""

    def __init__(
        self,
        root: str,
        name: str,
        caller: Caller,
        settings: Settings,
        env: Mapping[str, str],
        now: Callable[[], float],
        folders: Callable[[], Sequence[str]],
        instincts: Callable[[str], Instincts],
        index: Callable[[], None],
    ) -> None:
        self._root = root
        self._name = name
        self._caller = caller
        self._settings = settings
        self._env = env
        self._now = now
        self._folders = folders
        self._instincts = instincts
        self._index = index

    @property
    def _home(self) -> str:
        return self._env.get("HOME") or os.path.expanduser("~")

    # The memory file

    @property
    def _memory(self) -> ProjectMemory:
        return ProjectMemory(self._root, self._caller, self._now)

    def show(self) -> Shown:
        """`.agents/MEMORY.md` as it is."""
        return self._memory.show()

    def check(self) -> Checked:
        """What a person should look at in it."""
        return self._memory.check()

    def plan(self, section: str, text: str) -> Planned:
        """What would become of an entry. Nothing is changed."""
        return self._memory.plan(section, text)

    def plan_entry(self, section: str, text: str) -> tuple[str, str, str]:
        """The file's path in the project, and its text before and after an entry was added to it; the same twice where
        it is known or there is no room."""
        return self._memory.plan_entry(section, text)

    def add(self, section: str, text: str) -> Planned:
        """Add an entry, if it is new and there is room. A person's: for an agent it is only planned."""
        return self._memory.add(section, text)

    def plan_reference(self) -> tuple[Change, ...]:
        """CLAUDE.md and AGENTS.md with a line that names the file, where neither names it."""
        return self._memory.plan_reference()

    def refer(self) -> tuple[Change, ...]:
        """Let them name it. A person's."""
        return self._memory.refer()

    # What clients remember

    def ingest(
        self,
        clients: Sequence[str] = (),
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        only: str = "",
    ) -> Ingested:
        """Take over what clients remember as notes for every project; `only` names one folder of theirs. A person's: an
        agent may look, with `dry_run`."""
        from swarmlore.exchange.import_files import check_switches

        check_switches(self._settings, hive=True)
        told = self._ingesting.run(clients, dry_run=dry_run, progress=progress, only=only, now=self._now)
        if told.count("added") + told.count("updated") and not dry_run:
            self._index()
        return told

    def copies(self) -> Iterator[tuple[str, str]]:
        """What was taken over about this project: names of files and their texts."""
        return self._ingesting.copies(self._name)

    @property
    def _ingesting(self) -> Ingesting:
        from swarmlore.notes.project_memory.ingest import Ingesting

        root = learnings_root(self._env, self._home)
        return Ingesting(root, self._home, self._env, self._root, self._name, self._caller)

    # Other work trees

    def plan_consolidation(self) -> Consolidation:
        """What other work trees of the repository know and its main one does not. Nothing is changed."""
        return self._consolidating.plan()

    def consolidate(self) -> Consolidation:
        """Bring it into the main one: additions only, nothing is deleted. A person's."""
        return self._consolidating.apply()

    @property
    def _consolidating(self) -> Consolidating:
        from swarmlore.notes.project_memory.consolidate import Consolidating

        return Consolidating(
            self._root,
            self._home,
            self._env,
            self._folders(),
            lambda root: ProjectMemory(root, self._caller, self._now),
            self._instincts,
            by_person=self._caller.role == "person",
        )
