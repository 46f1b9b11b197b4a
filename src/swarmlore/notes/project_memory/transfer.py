"""Context tier of a project: its memory file and the clients' memories; import and export them as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from swarmlore.domain.pages.instincts import unproven
from swarmlore.domain.policy.gate import check_note
from swarmlore.domain.records import Caller
from swarmlore.domain.security.redaction import redact
from swarmlore.errors import InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.exchange.import_files import NOTES, Brought, check_switches
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.notes.exchange import ENDING, NoteFile, import_notes
from swarmlore.notes.instincts import FILE as INSTINCTS
from swarmlore.notes.instincts import FOLDER, parse
from swarmlore.notes.locations import learnings_root, read_text
from swarmlore.notes.project_memory.client_memory import GEMINI
from swarmlore.notes.project_memory.memory_file import (
    PATH,
    Checked,
    ForeignEntry,
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
    from swarmlore.notes.project_memory.consolidate import Consolidation, Consolidator
    from swarmlore.notes.project_memory.ingest import Ingested, Ingester


def kind_of(path: str, format: str) -> str:
    """Return the note format of a path, as given or by its name; '' for other formats."""
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


class FileImporter:
    """Imports instincts, memory files, notes and client memories, for one caller in one project."""

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
        """Import one file or folder; importing it again adds nothing."""
        check_switches(self._settings, hive=kind in ("notes", "auto-memory"))
        if not os.path.lexists(path):
            raise NotFound(f"no file {path}", "check the path")
        if kind == "notes":
            return import_notes(os.path.realpath(path), self._learnings, progress)
        if kind == "auto-memory":
            return _as_brought(self._ingest(path, progress))
        if os.path.isdir(path):
            raise InvalidInput(f"{path} is a folder", "name a file in it")
        raw = read_text(os.path.realpath(path))
        text = redact(raw)[0]
        brought = self._rules(text) if kind == "instincts" else self._entries(text, path)
        return replace(brought, redacted=int(text != raw))

    def _rules(self, text: str) -> Brought:
        sheet = parse(text)
        verbatim = text if self._caller.leads and not sheet.problems and _is_safe(text) else ""
        merged = self._instincts.merge([unproven(one) for one in sheet.instincts], verbatim)
        refusals = [(line, why) for line, why in sheet.problems]
        refusals += [(0, f"{rule}: {why}") for rule, why in merged.refused]
        refusals += [(0, f"{one.rule}: it speaks against {other.id}") for one, other in merged.against]
        read = len(sheet.instincts) + len(sheet.problems)
        updated = len(merged.raised)
        return Brought(read, len(merged.added), updated, 0, merged.known - updated, len(refusals), tuple(refusals))

    def _entries(self, text: str, path: str) -> Brought:
        if self._caller.role != "person":
            raise NotAllowed(f"{PATH} is a person's to change", "a person does it, with the same command at a terminal")
        found = [ForeignEntry(path, line.section, line.text) for line in lines_of(path, text)]
        before = self._memory.read() or ""
        if found and not before.strip() and line_count(text) <= MAX_LINES and _is_safe(text):
            self._memory.write(Change("", PATH, before, text))  # copy the file as a person wrote it
            return Brought(len(found), len(found), 0, 0, 0, 0)
        merged = merge_entries(before, found)
        self._memory.write(Change("", PATH, merged.before, merged.after))
        refusals = [(0, f"{entry.text}: {why}") for entry, why in merged.refused]
        refusals += [(0, f"{entry.text}: it speaks against {line.text}") for entry, line in merged.against]
        refusals += [(0, f"{entry.text}: there is no room") for entry in merged.no_room]
        return Brought(len(found), len(merged.added), 0, 0, merged.known, len(refusals), tuple(refusals))


def _is_safe(text: str) -> bool:
    """Return whether the validation gate accepts a whole text, comments included."""
    try:
        check_note("", text)
    except (InvalidInput, Rejected):
        return False
    return True


def _as_brought(ingested: Ingested) -> Brought:
    files = ingested.files
    bad = [(number, f"{one.source}: {one.why}") for number, one in enumerate(files, 1) if one.outcome == "refused"]
    known = sum(ingested.count(name) for name in ("known", "left", "skipped"))
    redacted = sum(one.redacted for one in files)
    return Brought(
        len(files), ingested.count("added"), ingested.count("updated"), 0, known, len(bad), tuple(bad), redacted
    )


TEXTS = ("instincts", "memory-md")  # formats of a single file
FOLDERS = ("notes", "auto-memory")


def refuse_lines(format: str) -> None:
    """Raise InvalidInput if a format is exported as a folder, not as text."""
    if format in FOLDERS:
        what = "notes are files" if format == "notes" else "what clients remember is files"
        raise InvalidInput(what, f"name a folder: export --format {format} FOLDER")


class FileExporter:
    """Exports instincts, memory file and client memories of one project."""

    def __init__(
        self, memory: ProjectMemory, instincts: Instincts, copies: Callable[[], Iterable[tuple[str, str]]]
    ) -> None:
        self._memory = memory
        self._instincts = instincts
        self._copies = copies

    def text(self, format: str) -> str:
        """Return one file, redacted; raise NotFound without one."""
        found = self._instincts.text() if format == "instincts" else self._memory.read()
        if not found:
            name = f"{FOLDER}/{INSTINCTS}" if format == "instincts" else PATH
            raise NotFound(f"this project has no {name}", "name another format: --format FORMAT")
        return redact(found)[0]

    def count(self, format: str) -> int:
        """Count the rules or entries of a file."""
        text = self.text(format)
        return len(parse(text).instincts) if format == "instincts" else sum(1 for _ in lines_of(PATH, text))

    def papers(self) -> Iterator[NoteFile]:
        """Yield the imported client memories about this project, under their original names."""
        found = list(self._copies())
        if not found:
            hint = "take it over first: swarmlore learnings ingest"
            raise NotFound("nothing of what clients remember about this project was taken over", hint)
        for name, text in found:
            yield NoteFile(name if name.endswith(ENDING) else name + ENDING, redact(text)[0])


class ContextTier:
    """The memory file, client memories and worktree consolidation of one project, for one caller."""

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

    @property
    def _memory(self) -> ProjectMemory:
        return ProjectMemory(self._root, self._caller, self._now)

    def show(self) -> Shown:
        """Return the state of `.agents/MEMORY.md`."""
        return self._memory.show()

    def check(self) -> Checked:
        """Return the problems of `.agents/MEMORY.md`."""
        return self._memory.check()

    def plan(self, section: str, text: str) -> Planned:
        """Preview `add`. Nothing is changed."""
        return self._memory.plan(section, text)

    def plan_entry(self, section: str, text: str) -> tuple[str, str, str]:
        """Return the file's path in the project and its text before and after adding an entry; equal if it is not
        added."""
        return self._memory.plan_entry(section, text)

    def add(self, section: str, text: str) -> Planned:
        """Add an entry if it is new and there is room. Only a person may; for an agent it is only planned."""
        return self._memory.add(section, text)

    def plan_reference(self) -> tuple[Change, ...]:
        """Return the changes that reference MEMORY.md in CLAUDE.md and AGENTS.md; () if one does already."""
        return self._memory.plan_reference()

    def refer(self) -> tuple[Change, ...]:
        """Add the reference to the instruction files. Only a person may."""
        return self._memory.refer()

    def ingest(
        self, clients: Sequence[str] = (), *, dry_run: bool = False, progress: Progress | None = None, only: str = ""
    ) -> Ingested:
        """Import the clients' memories, or `only` one file or folder, as notes for every project. An agent may only use
        `dry_run`."""
        check_switches(self._settings, hive=True)
        result = self._ingesting.run(clients, dry_run=dry_run, progress=progress, only=only, now=self._now)
        if result.count("added") + result.count("updated") and not dry_run:
            self._index()
        return result

    def copies(self) -> Iterator[tuple[str, str]]:
        """Yield original file name and text of each imported file about this project."""
        return self._ingesting.copies(self._name)

    @property
    def _ingesting(self) -> Ingester:
        from swarmlore.notes.project_memory.ingest import Ingester

        root = learnings_root(self._env, self._home)
        return Ingester(root, self._home, self._env, self._root, self._name, self._caller)

    def plan_consolidation(self) -> Consolidation:
        """Plan what other worktrees add to the main one. Nothing is changed."""
        return self._consolidating.plan()

    def consolidate(self) -> Consolidation:
        """Add what other worktrees know to the main one; nothing is deleted. Only a person may."""
        return self._consolidating.apply()

    @property
    def _consolidating(self) -> Consolidator:
        from swarmlore.notes.project_memory.consolidate import Consolidator

        return Consolidator(
            self._root,
            self._home,
            self._env,
            self._folders(),
            lambda root: ProjectMemory(root, self._caller, self._now),
            self._instincts,
            by_person=self._caller.role == "person",
        )
