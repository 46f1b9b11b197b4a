"""The headings of a Markdown text with their places, and lines put below one of them without touching another byte."""

from __future__ import annotations

from collections.abc import Iterator

from swarmlore.errors import Conflict
from swarmlore.frozen import frozen

_INDENT = 3  # spaces; from one more on a line is code
_DEEPEST = 6


@frozen
class Heading:
    """A heading, the place where its line begins, and where the line below it begins."""

    level: int
    title: str
    start: int
    end: int
    line: int
    """The number of its line, from 1."""


@frozen
class Outline:
    """The headings of a text; those in code and in comments are none."""

    text: str
    headings: tuple[Heading, ...]
    open_line: int = 0
    """The line, from 1, of a fence or a comment that has no end; 0 where all have one."""

    def end_of(self, number: int) -> int:
        """Where what stands below a heading ends: at the next heading, whatever its level."""
        return self.headings[number + 1].start if number + 1 < len(self.headings) else len(self.text)


def lines_of(text: str, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int]]:
    """Where each line begins and where the next one does; a form feed or a Unicode separator ends none."""
    stop = len(text) if stop is None else stop
    while start < stop:
        end = text.find("\n", start, stop) + 1 or stop
        yield start, end
        start = end


def outline(text: str, start: int = 0) -> Outline:
    """The headings from a place on."""
    start = start or int(text.startswith("\ufeff"))
    headings, hidden, open_line = [], Hidden(), 0
    for number, (begin, end) in enumerate(lines_of(text, start), start=text.count("\n", 0, start) + 1):
        line = text[begin:end].rstrip("\r\n")
        was_open = hidden.is_open
        if hidden.holds(line):
            open_line = open_line if was_open else number
        elif (heading := _heading(line)) is not None:
            headings.append(Heading(*heading, begin, end, number))
    return Outline(text, tuple(headings), open_line if hidden.is_open else 0)


class Hidden:
    """Knows while it goes through lines whether they stand in a fence or a comment."""

    def __init__(self) -> None:
        self._fence = ""
        self.is_comment = False

    @property
    def is_open(self) -> bool:
        return self.is_comment or bool(self._fence)

    def holds(self, line: str) -> bool:
        """Whether a line is inside, or is the edge; to be asked of every line in turn."""
        bare = line.strip()
        if self.is_comment:
            self.is_comment = "-->" not in bare
            return True
        if self._fence:
            if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
                self._fence = ""
            return True
        if bare.startswith("<!--"):
            self.is_comment = "-->" not in bare
            return True
        self._fence = _fence(bare)
        return bool(self._fence)


def _fence(bare: str) -> str:
    """The marks that begin a block of code, else nothing."""
    mark = bare[:1]
    if mark not in ("`", "~") or not bare.startswith(mark * 3):
        return ""
    rest = bare.lstrip(mark)
    return "" if mark == "`" and "`" in rest else mark * (len(bare) - len(rest))


def _heading(line: str) -> tuple[int, str] | None:
    bare = line.lstrip(" ")
    title = bare.lstrip("#")
    level = len(bare) - len(title)
    if not 1 <= level <= _DEEPEST or len(line) - len(bare) > _INDENT or title[:1] not in ("", " ", "\t"):
        return None
    title = title.strip()
    without = title.rstrip("#")
    return level, without.rstrip() if without[-1:] in ("", " ", "\t") else title


# Adding


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def put_below(text: str, start: int, end: int, lines: list[str], *, tight: bool = False) -> str:
    """The text with lines after the last one that says something between two places; an empty line parts them.

    `tight` leaves the empty line out, as between two items of a list.
    """
    newline = newline_of(text)
    start = start or int(text.startswith("\ufeff"))
    said = start + len(text[start:end].rstrip())
    place = said if said == start else text.find("\n", said) + 1 or len(text)
    before = newline if text[max(0, place - 1) : place] not in ("", "\n", "\ufeff") else ""
    parted = tight or not text[:place].strip("\ufeff \t\r\n")
    fresh = before + ("" if parted else newline) + "".join(line + newline for line in lines)
    next_line = text[place : text.find("\n", place) + 1 or len(text)]
    return text[:place] + fresh + (newline if next_line.strip() else "") + text[place:]


def refuse_open(outline: Outline) -> None:
    """Raises Conflict where a fence or a comment has no end: what is added below would be part of it."""
    if outline.open_line:
        raise Conflict(
            f"a block of code or a comment has no end (line {outline.open_line})", "close it by hand, then try again"
        )
