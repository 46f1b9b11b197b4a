"""Read opencode-swarm's files: phase and lessons from `.swarm/plan.md`, bullets from `.swarm/context.md`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from swarmlore.domain.policy.lifecycle import clean_reason
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import frozen
from swarmlore.workspace.files import Folder

SWARM, PLAN = ".swarm", "plan.md"
MOST_BYTES = 1_000_000
MOST_NAME = 120
MOST_NUMBER = 10**6
MOST_LINE = 400  # characters of a heading


@frozen
class PlannedPhase:
    """A phase of a plan; its name contains its number."""

    number: int
    name: str


def planned_phase(root: str) -> PlannedPhase | None:
    """Return the phase that a folder's plan marks as in progress; None without a plan or such a mark."""
    return current_phase(_plan(root))


def plan_lessons(root: str) -> tuple[list[Bullet], list[str]]:
    """Return the lessons under "Lessons Learned" in a folder's plan, and the texts of lessons it retracts."""
    bullets = [bullet for bullet in read(_plan(root)) if bullet.section == "lessons-learned"]
    retraction = re.compile(r"(?:RETRACT|BAD RULE):(.*)", re.IGNORECASE | re.DOTALL)
    retracted = {bullet: match[1].strip() for bullet in bullets if (match := retraction.match(bullet.text))}
    return [bullet for bullet in bullets if bullet not in retracted], list(retracted.values())


def _plan(root: str) -> str:
    folder = os.path.join(root, SWARM)
    if not root or not os.path.isfile(os.path.join(folder, PLAN)):
        return ""
    try:
        with Folder(folder) as opened, opened.open(PLAN) as file:  # type: ignore[union-attr]  # it is there
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except (SwarmloreError, OSError, AttributeError):  # removed meanwhile, or a link that leaves the folder
        return ""


def current_phase(text: str) -> PlannedPhase | None:
    """Return the first phase heading marked as in progress, else the phase named by a line `Phase: N`."""
    headings = list(_headings(text))
    for number, title, state in headings:
        if _is_running(state):
            return _phase_in_plan(number, title)
    line = re.search(r"^Phase:[ \t]*(\d{1,6})\b([^\n]{0,200})", text, re.MULTILINE | re.IGNORECASE)
    if line is None or re.search(r"\[(?:complete|blocked|pending)", line[2], re.IGNORECASE):
        return None
    titles = {number: (title, state) for number, title, state in headings}
    title, state = titles.get(int(line[1]), ("", ""))
    return None if state.lower().startswith("complete") else _phase_in_plan(int(line[1]), title)


def number_in(name: str) -> int:
    """Return the number in a name such as `Phase 3: build`, else 0."""
    match = re.match(r"\s*phase\s+(\d{1,6})\b", name, re.IGNORECASE)
    return min(int(match[1]), MOST_NUMBER) if match else 0


def _headings(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield number, title and state of every phase heading.

    Lines are split by hand, since one pattern for the whole line would backtrack over its blanks.
    """
    heading = re.compile(r"#{1,6}[ \t]*Phase[ \t]+(\d{1,6})(?!\w)", re.IGNORECASE)
    for line in text.split("\n"):
        match = heading.match(line) if len(line) <= MOST_LINE else None
        if match:
            title, _, state = line[match.end() :].strip().removesuffix("]").partition("[")
            yield int(match[1]), title.strip().removeprefix(":").lstrip(".–—- \t"), state.strip()


def _is_running(state: str) -> bool:
    return re.sub(r"[\s_-]+", " ", state).strip().lower() in ("in progress", "active", "current")


def _phase_in_plan(number: int, title: str) -> PlannedPhase:
    words = clean_reason(title, MOST_NAME)
    return PlannedPhase(number, f"Phase {number}: {words}" if words else f"Phase {number}")


# The sections that are imported, each with the category of its lessons.
SECTIONS = {"lessons-learned": "lesson", "patterns": "pattern", "sme-cache": "domain", "decisions": "decision"}
SHORTEST = 15  # characters; a shorter bullet is a label and not a lesson
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_NAMES = re.compile(r"[\W\d_]*(?:(lessons?[\s_-]+learned)|(patterns?)|(sme[\s_-]+cache)|(decisions?))(?![\w-])", re.I)
_BULLET = re.compile(r"\s*[-*]\s+(?:\[[ xX]\]\s+)?(.+)")
_FENCE = re.compile(r"\s*(```|~~~)")
_DEEPEST = 3  # deeper headings do not start a section


@frozen
class Bullet:
    """One bullet, its section, and the number of its line."""

    text: str
    section: str
    line: int


def read(text: str) -> list[Bullet]:
    """Return the bullets of the known sections in order, without duplicates."""
    from swarmlore.domain.language.similarity import normalize

    unique: dict[str, Bullet] = {}
    for bullet in _Reader().bullets(text):
        if len(bullet.text) >= SHORTEST:
            unique.setdefault(normalize(bullet.text) or bullet.text, bullet)
    return list(unique.values())


class _Reader:
    """Line-by-line Markdown parser that tracks section, fence and comment, and collects bullets."""

    def __init__(self) -> None:
        self._section, self._level = "", 0
        self._fence = ""
        self._comment = False
        self._open: list[str] = []  # lines of the current bullet
        self._line = 0

    def bullets(self, text: str) -> list[Bullet]:
        """Return every bullet of a known section, with its continuation lines joined."""
        bullets: list[Bullet] = []
        # A form feed or a Unicode line separator ends no line of Markdown, so splitlines() would cut texts.
        for number, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), start=1):
            section = self._section
            if self._continue_bullet(line):
                continue
            bullets += self._close_bullet(section)
            if not self._is_hidden(line):
                self._parse(line, number)
        return bullets + self._close_bullet(self._section)

    def _continue_bullet(self, line: str) -> bool:
        """Add an indented line to the open bullet unless it starts an element of its own; return True if added."""
        own = not line[:1].isspace() or not line.strip() or _BULLET.match(line) or _FENCE.match(line) or "<!--" in line
        if not self._open or own:
            return False
        self._open.append(line.strip())
        return True

    def _close_bullet(self, section: str) -> list[Bullet]:
        parts, self._open = self._open, []
        return [Bullet(" ".join(parts), section, self._line)] if parts else []

    def _is_hidden(self, line: str) -> bool:
        """Return True if a line belongs to a code fence or a comment."""
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

    def _parse(self, line: str, number: int) -> None:
        heading = _HEADING.match(line)
        if heading:
            self._enter_section(len(heading[1]), heading[2])
        elif self._section and (bullet := _BULLET.match(line)):
            self._open, self._line = [bullet[1].strip()], number

    def _enter_section(self, level: int, title: str) -> None:
        if level > _DEEPEST:
            return
        named = _NAMES.match(title)
        if named:
            self._section, self._level = list(SECTIONS)[(named.lastindex or 1) - 1], level
        elif level <= self._level or not self._section:
            self._section, self._level = "", 0


@frozen
class Moved:
    """Result of migrating one old file: `skipped` says why nothing was done, `drops` why a line was dropped."""

    path: str
    skipped: str = ""
    migrated: int = 0
    dropped: int = 0
    known: int = 0
    drops: tuple[tuple[int, str], ...] = ()
    operation: str = ""


@frozen
class Migrated:
    """Results of migrating a project's old `context.md` and the old hive file."""

    context: Moved
    hive: Moved
