"""YAML as a tree that knows where in the text each of its parts stands, so that a text is changed and not rewritten.

The text comes with a repository and is not trusted: anchors, aliases, tags, a second document, great depth or size are
refused. No value is given a type: what stands there is a text until somebody reads a number in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, field, frozen

if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 262_144
MAX_DEPTH = 12
MAX_PARTS = 50_000
_PLAIN = "write it without anchors, aliases and tags"


class Unreadable(InvalidInput):
    """A text that is no YAML, or none that is taken from a repository."""


@frozen
class Scalar:
    """A single value: its text, and from where to where it stands."""

    value: str
    start: int
    end: int
    quoted: bool = False


@frozen
class Listing:
    items: tuple[Any, ...]
    start: int
    end: int
    flow: bool


@frozen
class Table:
    """Names and values in their order; a name is a scalar of its own."""

    entries: tuple[tuple[Scalar, Any], ...]
    start: int
    end: int
    flow: bool

    def get(self, name: str) -> Any:
        return next((value for key, value in self.entries if key.value == name), None)


@frozen
class Found:
    """A text and the tree of its one document; no tree where it has none."""

    text: str
    root: Any = None
    starts: tuple[int, ...] = field(default_factory=tuple)

    def line(self, place: int) -> int:
        """The number of the line that a place is in, from 0."""
        from bisect import bisect_right

        return bisect_right(self.starts, place) - 1

    def column(self, place: int) -> int:
        start = self.starts[self.line(place)]
        mark = 1 if start == 0 and self.text.startswith("\ufeff") else 0  # a byte order mark takes no room
        return place - start - mark

    def line_of(self, number: int) -> str:
        return self.text[self.starts[number] : self.line_end(number)]

    def line_end(self, number: int) -> int:
        """Where the line after this one begins."""
        return self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)

    def last_line(self, node: Any) -> int:
        """The last line that holds something of a node."""
        end = last(node)
        return self.line(max(end.start, len(self.text[end.start : end.end].rstrip()) + end.start - 1))


def last(node: Any) -> Any:
    """The part of a node that ends it; the end of a block is where the next thing begins, and says nothing."""
    while not isinstance(node, Scalar) and not node.flow:
        node = node.items[-1] if isinstance(node, Listing) else node.entries[-1][1]
    return node


def read(text: str) -> Found:
    """The tree of a text; raises Unreadable with the line where it stops being one."""
    import yaml  # on use: half of what a small command costs

    if len(text) > MAX_BYTES:
        raise Unreadable(f"it is larger than {MAX_BYTES // 1024} KB", "split it")
    try:
        root = _Tree(yaml.parse(text, Loader=yaml.SafeLoader)).root()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise Unreadable(f"it is no YAML{where}", "mend it by hand") from None
    return Found(text, root, tuple(_starts(text)))


def plain(node: Any) -> Any:
    """A tree as texts, lists and dicts."""
    if isinstance(node, Listing):
        return [plain(item) for item in node.items]
    if isinstance(node, Table):
        return {key.value: plain(value) for key, value in node.entries}
    return None if node is None else node.value


def _starts(text: str) -> Iterator[int]:
    """Where lines begin; YAML knows fewer ends of lines than Python."""
    yield 0
    place = text.find("\n")
    while place >= 0:
        if place + 1 < len(text):
            yield place + 1
        place = text.find("\n", place + 1)


class _Tree:
    """Builds the tree from the parser's events, which come one by one: what is refused is not read further."""

    def __init__(self, events: Any) -> None:
        self._events = iter(events)
        self._count = 0

    def root(self) -> Any:
        root, documents = None, 0
        for event in self._events:
            name = type(event).__name__
            if name == "DocumentStartEvent":
                documents += 1
                self._refuse(documents > 1 or bool(event.tags), event, "more than one plain document")
                root = self._node(next(self._events), 0)
        return root

    def _node(self, event: Any, depth: int) -> Any:
        self._count += 1
        name = type(event).__name__
        self._refuse(name == "AliasEvent", event, "an alias")
        self._refuse(event.anchor is not None, event, "an anchor")
        # "!" alone marks what stands in quotes: the parser says so of its own accord.
        self._refuse(event.tag not in (None, "!"), event, "a tag")
        self._refuse(depth > MAX_DEPTH, event, "something very deep")
        self._refuse(self._count > MAX_PARTS, event, "too many parts")
        if name == "ScalarEvent":
            quoted = event.style is not None
            return Scalar(event.value, event.start_mark.index, event.end_mark.index, quoted)
        return self._listing(event, depth) if name == "SequenceStartEvent" else self._table(event, depth)

    def _listing(self, begin: Any, depth: int) -> Listing:
        items = []
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            items.append(self._node(event, depth + 1))
        return Listing(tuple(items), begin.start_mark.index, event.end_mark.index, bool(begin.flow_style))

    def _table(self, begin: Any, depth: int) -> Table:
        entries: list[tuple[Scalar, Any]] = []
        names: set[str] = set()
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            key = self._node(event, depth + 1)
            self._refuse(not isinstance(key, Scalar), event, "a name that is no text")
            self._refuse(key.value in names, event, "the same name twice")
            names.add(key.value)
            entries.append((key, self._node(next(self._events), depth + 1)))
        return Table(tuple(entries), begin.start_mark.index, event.end_mark.index, bool(begin.flow_style))

    def _refuse(self, wrong: bool, event: Any, what: str) -> None:
        if wrong:
            raise Unreadable(f"it holds {what} (line {event.start_mark.line + 1})", _PLAIN)
