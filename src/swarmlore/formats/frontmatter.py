"""A page: a Markdown text, with or without a block of YAML at its head.

The head begins with a line `---`, which is the first one, and ends at the next line `---` or `...`. It is read with the
line above it, so that a place in it is a place in the page. Nothing but what is asked for changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.formats.markdown import lines_of, newline_of, outline, put_below, refuse_open
from swarmlore.formats.yaml_edit import is_nothing
from swarmlore.formats.yaml_edit import with_item as yaml_with_item
from swarmlore.formats.yaml_edit import with_value as yaml_with_value
from swarmlore.formats.yaml_text import Found, Listing, Scalar, Table, Unreadable, plain, read
from swarmlore.formats.yaml_written import written
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

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
