"""Files of the learnings tradition taken in: folders of notes, instincts, memory files, what clients remember."""

from __future__ import annotations

import os
from collections.abc import Callable

from swarmlore.auto_memory import GEMINI
from swarmlore.domain.pages.instincts import unproven
from swarmlore.domain.policy.gate import refuse_unsafe
from swarmlore.domain.records import Caller
from swarmlore.domain.security.redaction import redact
from swarmlore.entry_merge import Foreign, merge_entries
from swarmlore.errors import InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.exchange.import_files import NOTES, Brought, check_switches
from swarmlore.formats.instincts import parse
from swarmlore.formats.memory_md import MAX_LINES, line_count
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.note_exchange import import_notes
from swarmlore.note_places import read_text
from swarmlore.project_memory import PATH, ProjectMemory, lines_of
from swarmlore.workspace.files import Change

if TYPE_CHECKING:
    from swarmlore.config import Settings
    from swarmlore.ingesting import Ingested
    from swarmlore.instincts import Instincts
    from swarmlore.models.embedding import Progress


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
