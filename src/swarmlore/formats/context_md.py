"""The bullets of a `.swarm/context.md`: where opencode-swarm kept what it knew before it had a file of lessons.

Only sections that are known count; a heading below a section's own belongs to it. What stands in a fence or a comment
is an example, not a lesson.
"""

from __future__ import annotations

import re

from swarmlore.frozen import frozen

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
