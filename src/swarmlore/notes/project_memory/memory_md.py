"""Parse and extend the text of `.agents/MEMORY.md`: five sections, at most 200 lines, loaded into every session.

An agent reads all of it at each turn, so it has to stay short; overlong entries are proposed as notes. People write
this file: an entry is added after the last one of its section, and no other byte changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from swarmlore.domain.pages.routing import SECTIONS
from swarmlore.errors import InvalidInput
from swarmlore.frozen import frozen
from swarmlore.notes.markdown import Hidden, Outline, lines_of, outline, put_below, read_page, refuse_open

FOLDER = ".agents"
FILE = "MEMORY.md"
MAX_LINES = 200
TITLE = "# Project Memory"
REFERENCE = f"@{FOLDER}/{FILE}"
NOTES = "docs/solutions/"  # marks an entry that links to a note
_LEVEL = 2
_WORD = re.compile(r"[a-z0-9]+")
_ITEM = re.compile(r" {0,3}([-*+]|[0-9]{1,9}[.)])[ \t]+(?=\S)")
_LOADED = re.compile(r"(?<![\w@])@[^\s`]*[/~][^\s`]*")
_NAMED = re.compile(r"(?<![\w`@])@(?:\./)?\.agents/MEMORY\.md(?![\w/`-])")


@frozen
class Entry:
    """A list item or paragraph with its line numbers, from 1."""

    text: str
    first_line: int
    last_line: int
    end: int
    """Offset of the line after it."""
    mark: str = ""
    """List mark of an item."""

    @property
    def lines(self) -> int:
        """Number of lines."""
        return self.last_line - self.first_line + 1


@frozen
class Section:
    """A heading with its entries; `name` is the standard section name, else the title."""

    name: str
    title: str
    level: int
    entries: tuple[Entry, ...] = ()


@frozen
class Bundle:
    """Entries of one section that would become one note, replaced by a line that links to it."""

    section: str
    entries: tuple[Entry, ...]


@frozen
class Overflow:
    """Size of an overlong file, its excess lines, and the notes that would shorten it."""

    lines: int
    over: int
    bundles: tuple[Bundle, ...]


def parse(text: str) -> tuple[Section, ...]:
    """Parse the sections in order; text above the first heading is ignored."""
    found = _outline(text)
    return tuple(
        Section(section_name(heading.title), heading.title, heading.level, _entries(found, number))
        for number, heading in enumerate(found.headings)
    )


def section_name(title: str) -> str:
    """Return the standard section name for a heading, ignoring spelling variants; else the heading."""
    return next((name for name in SECTIONS if _key(name) == _key(title)), title.strip())


def with_entry(text: str, section: str, entry: str) -> str:
    """Return the text with an entry appended to a section; unchanged if the section contains it."""
    clean = _escape_imports(_without_mark(" ".join(entry.split())))
    if not clean or not _key(section):
        raise InvalidInput("an entry has words and a section", f"name one of: {', '.join(SECTIONS)}")
    found = _outline(text)
    for number, heading in enumerate(found.headings):
        if _key(heading.title) == _key(section):
            return _in_section(found, number, clean)
    return _with_section(found, section_name(section), clean)


def _in_section(found: Outline, number: int, entry: str) -> str:
    start, end = found.headings[number].end, found.end_of(number)
    entries = _entries(found, number)
    if any(_folded(known.text) == _folded(entry) for known in entries):
        return found.text
    if end == len(found.text):
        refuse_open(found)
    mark = entries[-1].mark if entries else ""
    # Use the mark of the list, but not a number, which would have to be counted on.
    line = f"{mark if mark and not mark[0].isdigit() else '-'} {entry}"
    return put_below(found.text, start, entries[-1].end if entries else end, [line], tight=bool(mark))


def _with_section(found: Outline, name: str, entry: str) -> str:
    """Return the text with a new section, inserted in the standard order."""
    text, known = found.text, [heading for heading in found.headings if section_name(heading.title) in SECTIONS]
    head = [] if text.strip("\ufeff \t\r\n") else [TITLE, ""]
    lines = [*head, f"{'#' * (known[0].level if known else _LEVEL)} {name}", "", f"- {entry}"]
    later = [heading for heading in known if _place(heading.title) > _place(name)]
    if later:
        return put_below(text, 0, later[0].start, lines)
    refuse_open(found)
    return put_below(text, 0, len(text), lines)


def _place(title: str) -> int:
    name = section_name(title)
    return SECTIONS.index(name) if name in SECTIONS else len(SECTIONS)


def line_count(text: str) -> int:
    """Count the lines of a text; a final line end starts no line."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def overflowing(text: str, most: int = MAX_LINES, more: int = 0) -> Overflow | None:
    """Return the excess of a file with `more` added lines, and the notes that would make room; None if it fits.

    The longest entries come first, each as its own note. A link line saves nothing in place of a one-line entry, so
    several of those in one section become one note.
    """
    over = line_count(text) + more - most
    if over <= 0:
        return None
    entries = [(section.name, entry) for section in parse(text) for entry in section.entries]
    entries = [(name, entry) for name, entry in entries if NOTES not in entry.text]  # it already links to a note
    long = _long_ones(entries, over)
    left = over - sum(bundle.entries[0].lines - 1 for bundle in long)
    return Overflow(over + most, over, (*long, *_short_ones(entries, left)))


def _long_ones(entries: Sequence[tuple[str, Entry]], over: int) -> list[Bundle]:
    found, left = [], over
    long = (item for item in entries if item[1].lines > 1)
    for name, entry in sorted(long, key=lambda item: (-item[1].lines, -len(item[1].text), item[1].first_line)):
        if left <= 0:
            break
        found.append(Bundle(name, (entry,)))
        left -= entry.lines - 1
    return found


def _short_ones(entries: Sequence[tuple[str, Entry]], over: int) -> list[Bundle]:
    """Bundle one-line entries, the longest of a section together, starting with the largest section."""
    sections: dict[str, list[Entry]] = {}
    for name, entry in entries:
        if entry.lines == 1:
            sections.setdefault(name, []).append(entry)
    found, left = [], over
    for name, own in sorted(sections.items(), key=lambda item: -len(item[1])):
        if left <= 0 or len(own) < 2:
            break
        longest = sorted(own, key=lambda entry: (-len(entry.text), entry.first_line))[: left + 1]
        found.append(Bundle(name, tuple(sorted(longest, key=lambda entry: entry.first_line))))
        left -= len(longest) - 1
    return found


def words_of(lines: Sequence[str], entry: Entry) -> str:
    """Return the text of an entry without its list mark, given the lines of the file."""
    first, *others = (line.rstrip("\r") for line in lines[entry.first_line - 1 : entry.last_line])
    mark = _ITEM.match(first)
    indent = " " * (mark.end() if mark else 0)
    return "\n".join((first.removeprefix(mark[0] if mark else ""), *(line.removeprefix(indent) for line in others)))


def reference_in(text: str) -> bool:
    """Return whether an instruction file references MEMORY.md so that clients load it; not in code blocks."""
    hidden = Hidden()
    lines = (text[start:end].rstrip("\r\n") for start, end in lines_of(text))
    return any(_NAMED.search(line) is not None for line in lines if not hidden.holds(line))


def with_reference(text: str) -> str:
    """Return an instruction file with the reference appended; unchanged if it has one."""
    if reference_in(text):
        return text
    refuse_open(outline(text))
    return put_below(text, 0, len(text), [REFERENCE])


def _outline(text: str) -> Outline:
    return outline(text, read_page(text).body_at)


class _Entries:
    """Assigns the lines of a section to entries, one line at a time."""

    def __init__(self, first_line: int) -> None:
        self.found: list[Entry] = []
        self._line = first_line - 1
        self._hidden = Hidden()
        self._texts: list[str] = []
        self._begun = self._ended = self._end = 0
        self._mark = ""
        self._gap = False

    def take(self, line: str, end: int) -> None:
        """Add the next line; `end` is the offset after it."""
        self._line += 1
        commented, inside = self._hidden.is_comment, self._hidden.is_open
        held = self._hidden.holds(line)
        if commented or (held and not inside and line.lstrip().startswith("<!--")):
            return
        item = None if inside else _ITEM.match(line)
        if item is not None:
            self._begin(item[1])
        elif not inside and not line.strip():
            self._gap = True
            return
        elif not inside and not self._goes_on(line):
            self._begin("")
        self._texts.append(line.strip())
        self._ended, self._end, self._gap = self._line, end, False

    def _goes_on(self, line: str) -> bool:
        """Return whether a line continues the current entry: no empty line between, or indented below an item."""
        return bool(self._texts) and (not self._gap or (bool(self._mark) and line[:1].isspace()))

    def _begin(self, mark: str) -> None:
        self.close()
        self._begun, self._mark = self._line, mark

    def close(self) -> None:
        """Finish the current entry."""
        if self._texts:
            text = _without_mark(" ".join(filter(None, self._texts)))
            self.found.append(Entry(text, self._begun, self._ended, self._end, self._mark))
        self._texts = []


def _entries(found: Outline, number: int) -> tuple[Entry, ...]:
    heading = found.headings[number]
    reader = _Entries(heading.line + 1)
    for begin, end in lines_of(found.text, heading.end, found.end_of(number)):
        reader.take(found.text[begin:end].rstrip("\r\n"), end)
    reader.close()
    return tuple(reader.found)


def _without_mark(text: str) -> str:
    mark = _ITEM.match(text)
    return text[mark.end() :] if mark else text


def _escape_imports(text: str) -> str:
    """Put `@path` references in backticks, since clients would load these files into every session."""
    parts = text.split("`")
    code = range(1, len(parts) - 1, 2)  # parts between pairs of backticks are code
    return "`".join(part if n in code else _LOADED.sub(r"`\g<0>`", part) for n, part in enumerate(parts))


def _key(title: str) -> str:
    return " ".join(word for word in _WORD.findall(title.lower()) if word != "and")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
