"""Entries from elsewhere in a project's memory file: which are new, known, opposed, or without room."""

from __future__ import annotations

from collections.abc import Iterable

from swarmlore.domain.pages.rule_conflicts import Known
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.errors import SwarmloreError
from swarmlore.formats import memory_md
from swarmlore.frozen import frozen
from swarmlore.project_memory import PATH, Line, lines_of, passed


@frozen
class Foreign:
    """An entry of another file: where it comes from, its section and its words."""

    source: str
    section: str
    text: str


@frozen
class MergedEntries:
    """A memory file with what another one brings. `against` pairs an entry with the line that speaks against it,
    `refused` one with the reason."""

    before: str
    after: str
    added: tuple[Foreign, ...] = ()
    known: int = 0
    against: tuple[tuple[Foreign, Line], ...] = ()
    no_room: tuple[Foreign, ...] = ()
    refused: tuple[tuple[Foreign, str], ...] = ()


def merge_entries(before: str, entries: Iterable[Foreign]) -> MergedEntries:
    """The text of a memory file with what others say besides, each entry in its section. Nothing is removed."""
    work = _Merge(before)
    for entry in entries:
        work.take(entry)
    return work.told()


class _Merge:
    def __init__(self, before: str) -> None:
        self._before = self._after = before
        self._lines: list[Line] = list(lines_of(PATH, before))
        self._texts = Known(line.text for line in self._lines)
        self._added: list[Foreign] = []
        self._against: list[tuple[Foreign, Line]] = []
        self._no_room: list[Foreign] = []
        self._refused: list[tuple[Foreign, str]] = []
        self._known = 0

    def take(self, said: Foreign) -> None:
        try:
            entry = Foreign(said.source, said.section, passed(said.text)[0])
        except SwarmloreError as refusal:
            shown = Foreign(said.source, said.section, scrub_text(said.text)[:200])
            self._refused.append((shown, refusal.message))
            return
        if self._texts.same(entry.text) is not None:
            self._known += 1
        elif opposed := self._texts.against(entry.text):
            self._against.append((entry, self._lines[opposed[0]]))
        else:
            self._add(entry)

    def _add(self, entry: Foreign) -> None:
        after = memory_md.with_entry(self._after, entry.section, entry.text)
        if memory_md.line_count(after) > memory_md.MAX_LINES:
            self._no_room.append(entry)
            return
        self._after = after
        self._added.append(entry)
        self._lines.append(Line(PATH, 0, entry.section, entry.text))
        self._texts.add(entry.text)

    def told(self) -> MergedEntries:
        return MergedEntries(
            self._before,
            self._after,
            tuple(self._added),
            self._known,
            tuple(self._against),
            tuple(self._no_room),
            tuple(self._refused),
        )
