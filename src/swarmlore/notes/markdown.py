"""Markdown pages with optional YAML front matter: parse them, find headings, and add text or fields in place.

The front matter starts with a first line `---` and ends at the next line `---` or `...`. It is parsed together with its
first line, so that its offsets are offsets in the page. All other bytes stay unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from swarmlore.errors import Conflict
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.notes.yaml_edit import (
    ListNode,
    MappingNode,
    ParsedYaml,
    Scalar,
    Unreadable,
    is_nothing,
    plain,
    read,
    written,
)
from swarmlore.notes.yaml_edit import with_item as yaml_with_item
from swarmlore.notes.yaml_edit import with_value as yaml_with_value

if TYPE_CHECKING:
    from typing import Any


_INDENT = 3  # most spaces before a heading; four make a code line
_DEEPEST = 6


@frozen
class Heading:
    """A heading with the offsets of its line and of the next line."""

    level: int
    title: str
    start: int
    end: int
    line: int
    """Line number, from 1."""


@frozen
class Outline:
    """The headings of a text, without those in code blocks and comments."""

    text: str
    headings: tuple[Heading, ...]
    open_line: int = 0
    """Line number, from 1, of an unclosed fence or comment; 0 if all are closed."""

    def end_of(self, number: int) -> int:
        """Return the offset where a heading's content ends: at the next heading of any level."""
        return self.headings[number + 1].start if number + 1 < len(self.headings) else len(self.text)


def lines_of(text: str, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield start and end offset of each line; only `\n` ends one, not a form feed or Unicode separator."""
    stop = len(text) if stop is None else stop
    while start < stop:
        end = text.find("\n", start, stop) + 1 or stop
        yield start, end
        start = end


def outline(text: str, start: int = 0) -> Outline:
    """Return the headings from an offset on."""
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
    """Tracks, line by line, whether a line is in a code block or comment."""

    def __init__(self) -> None:
        self._fence = ""
        self.is_comment = False

    @property
    def is_open(self) -> bool:
        """Whether a code block or comment is open."""
        return self.is_comment or bool(self._fence)

    def holds(self, line: str) -> bool:
        """Return whether the line is in or delimits a code block or comment; call it for each line in order."""
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
    """Return the fence that a line opens; '' if it opens none."""
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
    stripped = title.rstrip("#")
    return level, stripped.rstrip() if stripped[-1:] in ("", " ", "\t") else title


def newline_of(text: str) -> str:
    """Return the line end that a text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def put_below(text: str, start: int, end: int, lines: list[str], *, tight: bool = False) -> str:
    """Insert lines after the last non-empty line between two offsets; an empty line goes before them unless `tight`."""
    newline = newline_of(text)
    start = start or int(text.startswith("\ufeff"))
    content_end = start + len(text[start:end].rstrip())
    place = content_end if content_end == start else text.find("\n", content_end) + 1 or len(text)
    before = newline if text[max(0, place - 1) : place] not in ("", "\n", "\ufeff") else ""
    no_gap = tight or not text[:place].strip("\ufeff \t\r\n")
    block = before + ("" if no_gap else newline) + "".join(line + newline for line in lines)
    next_line = text[place : text.find("\n", place) + 1 or len(text)]
    return text[:place] + block + (newline if next_line.strip() else "") + text[place:]


def refuse_open(outline: Outline) -> None:
    """Raise Conflict if a code block or comment is not closed: text added below would be part of it."""
    if outline.open_line:
        raise Conflict(
            f"a block of code or a comment has no end (line {outline.open_line})", "close it by hand, then try again"
        )


MAX_CHARS = 1_000_000


@frozen
class Page:
    """A text, its parsed front matter (None without one), and the offset of its body."""

    text: str
    head: ParsedYaml | None
    body_at: int

    @property
    def body(self) -> str:
        """The text after the front matter, unchanged."""
        return self.text[self.body_at :]

    @property
    def fields(self) -> dict[str, Any]:
        """The front matter as strings, lists and dicts."""
        fields = plain(self.head.root) if self.head is not None else None
        return fields if isinstance(fields, dict) else {}


def read_page(text: str) -> Page:
    """Parse a page; raise Unreadable with the line if its front matter is invalid."""
    if len(text) > MAX_CHARS:
        raise Unreadable(f"it is larger than {MAX_CHARS // 1_000_000} MB", "split it")
    mark = 1 if text.startswith("\ufeff") else 0
    spans = lines_of(text, mark)
    first = next(spans, None)
    if first is None or text[first[0] : first[1]].rstrip() != "---":
        return Page(text, None, mark)
    for start, end in spans:
        if text[start:end].rstrip() in ("---", "..."):
            return _page(text, start, end)
    if _is_named(text[first[1] : text.find("\n", first[1]) + 1 or len(text)]):
        raise Unreadable("its head has no end (line 1)", "write a line --- below the last field")
    return Page(text, None, mark)


def _page(text: str, head_end: int, body_at: int) -> Page:
    head = read(text[:head_end])
    if isinstance(head.root, MappingNode) or is_nothing(head.root):
        return Page(text, head, body_at)
    return Page(text, None, 1 if text.startswith("\ufeff") else 0)  # text between two horizontal rules


def _is_named(line: str) -> bool:
    name, colon, _ = line.partition(":")
    return bool(colon) and name.replace("_", "").replace("-", "").isalnum()


def write_page(fields: Mapping[str, Any], body: str) -> str:
    """Return a new page with these fields and body."""
    return f"---\n{written(fields)}---\n{body}"


def with_field(page: Page, name: str, value: Any) -> str:
    """Return the page's text with one field set; a missing field is added after the others."""
    if page.head is None:
        return _with_head(page, {name: value})
    head = yaml_with_value(page.head, (name,), value)
    return head + page.text[len(page.head.text) :]


def with_item(page: Page, name: str, item: Any) -> str:
    """Return the page's text with an item appended to a list field; a single string becomes a list first."""
    known = page.head.root.get(name) if page.head is not None and isinstance(page.head.root, MappingNode) else None
    if isinstance(known, Scalar) and not is_nothing(known):
        items = texts_of(known.value, commas=name == "tags")
        return page.text if item in items else with_field(page, name, [*items, item])
    if isinstance(known, ListNode) and item in plain(known):
        return page.text
    if page.head is None:
        return _with_head(page, {name: [item]})
    return yaml_with_item(page.head, (name,), item) + page.text[len(page.head.text) :]


def with_added(page: Page, heading: str, text: str) -> str:
    """Return the page's text with an addition at the end of a section, which is created at the end of the page if
    missing.

    A heading is given by its words, or with marks (`### Context`) to set the level of a new one.
    """
    found = outline(page.text, page.body_at)
    title = heading.lstrip("#").strip()
    lines = text.strip("\r\n").replace("\r\n", "\n").split("\n")
    for number, known in enumerate(found.headings):
        if known.title.casefold() == title.casefold():
            end = found.end_of(number)
            if end == len(page.text):
                refuse_open(found)
            tight = _is_item(lines[0]) and _ends_with_item(page.text[known.end : end])
            return put_below(page.text, known.end, end, lines, tight=tight)
    refuse_open(found)
    marks = heading[: len(heading) - len(heading.lstrip("#"))] or "##"
    return put_below(page.text, page.body_at, len(page.text), [f"{marks} {title}", "", *lines])


def texts_of(value: Any, *, commas: bool = False) -> tuple[str, ...]:
    """Return a string or a list of strings as a tuple of strings; () for other values."""
    if isinstance(value, str):
        value = value.strip().removeprefix("[").removesuffix("]").split(",") if commas else [value]
    found = (item.strip() for item in value if isinstance(item, str)) if isinstance(value, list) else ()
    return tuple(item for item in found if item)


def _with_head(page: Page, fields: Mapping[str, Any]) -> str:
    head = write_page(fields, "").replace("\n", newline_of(page.text))
    return page.text[: page.body_at] + head + page.body


def _is_item(line: str) -> bool:
    return line.lstrip()[:2] in ("- ", "* ", "+ ")


def _ends_with_item(text: str) -> bool:
    """Return whether a text ends with a list item."""
    for line in reversed(text.rstrip().split("\n")):
        if _is_item(line) or not line[:1].isspace():
            return _is_item(line)
    return False
