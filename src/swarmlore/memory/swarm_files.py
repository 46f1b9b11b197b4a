"""Files of opencode-swarm in a project: the phase and lessons that `.swarm/plan.md` names, and the bullets of
`.swarm/context.md`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from swarmlore.domain.policy.lifecycle import said_in_short
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import frozen
from swarmlore.workspace.files import Folder

SWARM, PLAN = ".swarm", "plan.md"
MOST_BYTES = 1_000_000
MOST_NAME = 120
MOST_NUMBER = 10**6
MOST_LINE = 400  # of a heading


@frozen
class PlannedPhase:
    """A phase as a plan names it; the name holds its number."""

    number: int
    name: str


def planned_phase(root: str) -> PlannedPhase | None:
    """The phase that the plan of a folder says is in progress; None without a plan or where it says nothing."""
    return current_phase(_plan(root))


def looked_back(root: str) -> tuple[list[Bullet], list[str]]:
    """What the plan of a folder says under "Lessons Learned": lessons, and those that it takes back."""
    said = [bullet for bullet in read(_plan(root)) if bullet.section == "lessons-learned"]
    taken_back = {bullet: found[1].strip() for bullet in said if (found := _taken_back().match(bullet.text))}
    return [bullet for bullet in said if bullet not in taken_back], list(taken_back.values())


def _taken_back() -> re.Pattern[str]:
    return re.compile(r"(?:RETRACT|BAD RULE):(.*)", re.IGNORECASE | re.DOTALL)


def _plan(root: str) -> str:
    folder = os.path.join(root, SWARM)
    if not root or not os.path.isfile(os.path.join(folder, PLAN)):
        return ""
    try:
        with Folder(folder) as opened, opened.open(PLAN) as file:  # type: ignore[union-attr]  # it is there
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except (SwarmloreError, OSError, AttributeError):  # it went meanwhile, or leads elsewhere
        return ""


def current_phase(text: str) -> PlannedPhase | None:
    """The first heading that is in progress, else the one that the line `Phase: N` names."""
    headings = list(_headings(text))
    for number, title, state in headings:
        if _is_running(state):
            return _phase_in_plan(number, title)
    said = re.search(r"^Phase:[ \t]*(\d{1,6})\b([^\n]{0,200})", text, re.MULTILINE | re.IGNORECASE)
    if said is None or re.search(r"\[(?:complete|blocked|pending)", said[2], re.IGNORECASE):
        return None
    titles = {number: (title, state) for number, title, state in headings}
    title, state = titles.get(int(said[1]), ("", ""))
    return None if state.lower().startswith("complete") else _phase_in_plan(int(said[1]), title)


def number_in(name: str) -> int:
    """The number in a name such as `Phase 3: build`, else 0."""
    found = re.match(r"\s*phase\s+(\d{1,6})\b", name, re.IGNORECASE)
    return min(int(found[1]), MOST_NUMBER) if found else 0


def _headings(text: str) -> Iterator[tuple[int, str, str]]:
    """Number, title and state of every heading of a phase. A line is taken apart by hand: a pattern for all of it would
    try every way to share out its blanks."""
    heading = re.compile(r"#{1,6}[ \t]*Phase[ \t]+(\d{1,6})(?!\w)", re.IGNORECASE)
    for line in text.split("\n"):
        found = heading.match(line) if len(line) <= MOST_LINE else None
        if found:
            title, _, state = line[found.end() :].strip().removesuffix("]").partition("[")
            yield int(found[1]), title.strip().removeprefix(":").lstrip(".–—- \t"), state.strip()


def _is_running(state: str) -> bool:
    return re.sub(r"[\s_-]+", " ", state).strip().lower() in ("in progress", "active", "current")


def _phase_in_plan(number: int, title: str) -> PlannedPhase:
    words = said_in_short(title, MOST_NAME)
    return PlannedPhase(number, f"Phase {number}: {words}" if words else f"Phase {number}")


SECTIONS = {
    "lessons-learned": "lesson",
    "patterns": "pattern",
    "sme-cache": "domain",
    "decisions": "decision",
}
"""The sections that are taken over, each with the category of its lessons."""
SHORTEST = 15
"""Characters below which a bullet is a label and no lesson."""
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_NAMES = re.compile(r"[\W\d_]*(?:(lessons?[\s_-]+learned)|(patterns?)|(sme[\s_-]+cache)|(decisions?))(?![\w-])", re.I)
_BULLET = re.compile(r"\s*[-*]\s+(?:\[[ xX]\]\s+)?(.+)")
_FENCE = re.compile(r"\s*(```|~~~)")
_DEEPEST = 3  # headings below are part of a text


@frozen
class Bullet:
    """One bullet, the section it stands in, and the number of its line."""

    text: str
    section: str
    line: int


def read(text: str) -> list[Bullet]:
    """The bullets of the known sections, in order, the same words once."""
    from swarmlore.domain.language.similarity import normalize

    found: dict[str, Bullet] = {}
    for bullet in _Reader().bullets(text):
        if len(bullet.text) >= SHORTEST:
            found.setdefault(normalize(bullet.text) or bullet.text, bullet)
    return list(found.values())


class _Reader:
    """Goes through the lines and knows in which section it is."""

    def __init__(self) -> None:
        self._section, self._level = "", 0
        self._fence = ""
        self._comment = False
        self._open: list[str] = []
        self._line = 0

    def bullets(self, text: str) -> list[Bullet]:
        found: list[Bullet] = []
        # A form feed or a Unicode line separator ends no line of Markdown, so splitlines() would cut texts.
        for number, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), start=1):
            section = self._section
            if self._goes_on(line):
                continue
            found += self._closed(section)
            if not self._hidden(line):
                self._take(line, number)
        return found + self._closed(self._section)

    def _goes_on(self, line: str) -> bool:
        """Whether a line is the rest of the bullet before it: indented, and nothing of its own."""
        own = not line[:1].isspace() or not line.strip() or _BULLET.match(line) or _FENCE.match(line) or "<!--" in line
        if not self._open or own:
            return False
        self._open.append(line.strip())
        return True

    def _closed(self, section: str) -> list[Bullet]:
        parts, self._open = self._open, []
        return [Bullet(" ".join(parts), section, self._line)] if parts else []

    def _hidden(self, line: str) -> bool:
        """Whether a line stands in a fence or a comment, or is the edge of one."""
        if self._comment:
            self._comment = "-->" not in line
            return True
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence[1] == self._fence:
                self._fence = ""
            return True
        if fence:
            self._fence = fence[1]
        elif line.lstrip().startswith("<!--"):
            self._comment = "-->" not in line
            return True
        return bool(fence)

    def _take(self, line: str, number: int) -> None:
        heading = _HEADING.match(line)
        if heading:
            self._enter(len(heading[1]), heading[2])
        elif self._section and (bullet := _BULLET.match(line)):
            self._open, self._line = [bullet[1].strip()], number

    def _enter(self, level: int, title: str) -> None:
        if level > _DEEPEST:
            return
        named = _NAMES.match(title)
        if named:
            self._section, self._level = list(SECTIONS)[(named.lastindex or 1) - 1], level
        elif level <= self._level or not self._section:
            self._section, self._level = "", 0


@frozen
class Moved:
    """What became of one old file: `skipped` says why nothing was done; by line, what was dropped and why."""

    path: str
    skipped: str = ""
    migrated: int = 0
    dropped: int = 0
    known: int = 0
    drops: tuple[tuple[int, str], ...] = ()
    operation: str = ""


@frozen
class Migrated:
    """What became of the project's old notes and of the old hive file."""

    context: Moved
    hive: Moved
