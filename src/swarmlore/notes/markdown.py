"""A page: a Markdown text, with or without a block of YAML at its head.

The head begins with a line `---`, which is the first one, and ends at the next line `---` or `...`. It is read with the
line above it, so that a place in it is a place in the page. Nothing but what is asked for changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from swarmlore.errors import Conflict
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.notes.yaml_edit import Found, Listing, Scalar, Table, Unreadable, is_nothing, plain, read, written
from swarmlore.notes.yaml_edit import with_item as yaml_with_item
from swarmlore.notes.yaml_edit import with_value as yaml_with_value

if TYPE_CHECKING:
    from typing import Any


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


MAX_CHARS = 1_000_000


@frozen
class Page:
    """A text, its head as a tree (none without one), and the place where its body begins."""

    text: str
    head: Found | None
    body_at: int

    @property
    def body(self) -> str:
        """Everything after the head, as it stands there."""
        return self.text[self.body_at :]

    @property
    def fields(self) -> dict[str, Any]:
        """What the head says, as texts, lists and dicts."""
        said = plain(self.head.root) if self.head is not None else None
        return said if isinstance(said, dict) else {}


def read_page(text: str) -> Page:
    """A text as a page; raises Unreadable with the line where its head is broken."""
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
    if isinstance(head.root, Table) or is_nothing(head.root):
        return Page(text, head, body_at)
    return Page(text, None, 1 if text.startswith("\ufeff") else 0)  # a line between two rules is no head


def _is_named(line: str) -> bool:
    name, colon, _ = line.partition(":")
    return bool(colon) and name.replace("_", "").replace("-", "").isalnum()


def write_page(fields: Mapping[str, Any], body: str) -> str:
    """A new page."""
    return f"---\n{written(fields)}---\n{body}"


def with_field(page: Page, name: str, value: Any) -> str:
    """The page's text with one field set, which is added below the others where it is missing."""
    if page.head is None:
        return _with_head(page, {name: value})
    head = yaml_with_value(page.head, (name,), value)
    return head + page.text[len(page.head.text) :]


def with_item(page: Page, name: str, item: Any) -> str:
    """The page's text with one more item in a list; a single text becomes the first item of one."""
    known = page.head.root.get(name) if page.head is not None and isinstance(page.head.root, Table) else None
    if isinstance(known, Scalar) and not is_nothing(known):
        items = texts_of(known.value, commas=name == "tags")
        return page.text if item in items else with_field(page, name, [*items, item])
    if isinstance(known, Listing) and item in plain(known):
        return page.text
    if page.head is None:
        return _with_head(page, {name: [item]})
    return yaml_with_item(page.head, (name,), item) + page.text[len(page.head.text) :]


def with_added(page: Page, heading: str, text: str) -> str:
    """The page's text with more at the end of a section, or with the section at the page's end.

    A heading is named by its words, or with its marks (`### Context`) where a new one shall have that level.
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
    """A list of texts, or one text, as texts; what is neither has none."""
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
    """Whether the last lines of a text are an item of a list."""
    for line in reversed(text.rstrip().split("\n")):
        if _is_item(line) or not line[:1].isspace():
            return _is_item(line)
    return False
