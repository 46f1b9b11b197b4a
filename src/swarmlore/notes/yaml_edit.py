"""One thing changed in a YAML text that people write too, and every other byte left as it is.

A value is written over in the way it was written, a name is added below the last one of its table, an item below or
beside the last one of its list, and an item goes with its own lines. Comments, order, quoting, indents and ends of
lines stay. The result is read again and must say what it should; where it does not, `Conflict` is raised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from swarmlore.errors import Conflict, InvalidInput
from swarmlore.frozen import TYPE_CHECKING, field, frozen

if TYPE_CHECKING:
    from typing import Any

    Path = Sequence[str | int]


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


TRUE = ("true", "yes", "on")
_NOT_WORDS = (*TRUE, "y", "n", "no", "off", "false", "null", "nan", "inf")
# Ends of lines that editors do not show, and what no YAML may hold as it is.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
HIDDEN = re.compile(f"[\x00-\x1f]|{_ESCAPED.pattern}")


def written(values: Mapping[str, Any]) -> str:
    """A new text that says these values, in their order."""
    return "".join(line + "\n" for name, value in values.items() for line in entry_lines(name, value, 0))


def entry_lines(name: str, value: Any, column: int) -> list[str]:
    """A name and its value as lines."""
    head = f"{' ' * column}{named(name)}:"
    return [head, *value_lines(value, column + 2)] if takes_lines(value) else [f"{head} {literal(value)}"]


def value_lines(value: Any, column: int) -> list[str]:
    """A table or a list as lines."""
    if isinstance(value, Mapping):
        return [line for name, inner in value.items() for line in entry_lines(name, inner, column)]
    return [line for item in value for line in item_lines(item, column)]


def item_lines(item: Any, column: int) -> list[str]:
    """An item of a list as lines, after its dash."""
    if not isinstance(item, Mapping) or not item:
        return [f"{' ' * column}- {literal(item)}"]
    first, *others = value_lines(item, column + 2)
    return [" " * column + "- " + first[column + 2 :], *others]


def takes_lines(value: Any) -> bool:
    """Whether a value is written below its name: tables, and lists of tables or sentences."""
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, (list, tuple)) and any(
        isinstance(item, Mapping) or (isinstance(item, str) and item.count(" ") > 1) for item in value
    )


def literal(value: Any) -> str:
    """A value in one line as it is written anew: texts in quotes, names, days and numbers bare."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{named(name)}: {literal(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, str) and not _is_word(value):
        return quoted(value)
    return str(bare(value))


def quoted(text: str) -> str:
    """A text in double quotes."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def named(name: str) -> str:
    """A name as it stands before its colon."""
    return name if name[:1].isalpha() and _is_word(name) else quoted(name)


def _is_word(text: str) -> bool:
    """Whether a text means itself without quotes, whoever reads it: a name such as an id, or a day."""
    if not text.isascii() or text.lower() in _NOT_WORDS:
        return False
    if text[:1].isalpha():
        return all(part.isalnum() for part in text.replace("_", "-").split("-"))
    return [len(part) for part in text.split("-")] == [4, 2, 2] and text.replace("-", "").isdigit()


def bare(value: Any) -> Any:
    """A value as the tree tells it."""
    if isinstance(value, Mapping):
        return {str(name): bare(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [bare(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return f"{value:g}" if isinstance(value, float) else str(value)


_HAND = "change it by hand, or write one thing below the other"


@frozen
class Edit:
    """What to write from where to where; `below` says that it is whole lines."""

    start: int
    end: int
    fresh: str
    below: bool = False


# What a caller asks for


def with_value(found: Found, path: Path, value: Any) -> str:
    """The text with one value set; names on the way to it that are missing are added."""
    return with_values(found, {tuple(path): value})


def with_values(found: Found, values: Mapping[tuple[Any, ...], Any]) -> str:
    """The text with several values set at once; what is not there yet must not stand below another such one."""
    wanted = _said(found.text)
    edits = [setting(found, path, value) for path, value in values.items()]
    for path, value in values.items():
        wanted = _with(wanted, path, _told(found, path, value))
    return _checked(_applied(found.text, edits), wanted)


def with_item(found: Found, path: Path, item: Any) -> str:
    """The text with one more item at the end of a list, which is made where there is none."""
    wanted = _said(found.text)
    before = _items(wanted, path)
    return _checked(_applied(found.text, [_adding(found, path, item)]), _with(wanted, path, [*before, bare(item)]))


def without_items(found: Found, path: Path, numbers: Iterable[int]) -> str:
    """The text without some items of a list; comments on lines of their own stay."""
    gone, listed = sorted(set(numbers)), _at(found.root, path)
    if not gone:
        return found.text
    if not isinstance(listed, Listing) or gone[-1] >= len(listed.items):
        raise by_hand()
    edits = _removals_in_line(found, listed, gone) if listed.flow else [_removal(found, listed, n) for n in gone]
    wanted = _said(found.text)
    left = [item for number, item in enumerate(_items(wanted, path)) if number not in gone]
    # A list that stood below its name leaves the name with nothing, which is read as an empty text.
    return _checked(_applied(found.text, edits), _with(wanted, path, left if left or listed.flow else ""))


# Where it goes


def setting(found: Found, path: Path, value: Any) -> Edit:
    """The edit that sets one value."""
    node, parent = found.root, None
    for depth, name in enumerate(path):
        child = _child(node, name)
        if child is None:
            return _new_name(found, parent, node, path[depth:], value)
        node, parent = child, node
    return _replacement(found, parent, node, value)


def _new_name(found: Found, parent: Any, node: Any, rest: Path, value: Any) -> Edit:
    """The edit that adds a name to what is a table, or is nothing yet."""
    name, inner = rest[0], _nested(rest[1:], value)
    if not isinstance(name, str):
        raise by_hand()
    if node is None or (parent is None and is_nothing(node)):
        return _below(found, len(found.text), entry_lines(name, inner, 0))
    if is_nothing(node):
        return _replacement(found, parent, node, {name: inner})
    if not isinstance(node, Table):
        raise by_hand()
    if node.flow:
        return _into_flow(found, node, f"{named(name)}: {literal(inner)}")
    return _below(found, _after(found, node), entry_lines(name, inner, found.column(node.start)))


def _replacement(found: Found, parent: Any, node: Any, value: Any) -> Edit:
    """The edit that writes a value over another."""
    if _is_empty(node) and takes_lines(value) and not parent.flow:
        return _lines_for_nothing(found, parent, node, value)
    if isinstance(node, Scalar):
        return _over_scalar(found, node, value)
    inside = found.text[node.start : node.end]
    alike = Mapping if isinstance(node, Table) else (list, tuple)
    if not node.flow or not isinstance(value, alike) or "\n" in inside:
        raise by_hand()
    return Edit(node.start, node.end, literal(value))


def _over_scalar(found: Found, node: Scalar, value: Any) -> Edit:
    """A value in the way the one before it was written."""
    if node.start == node.end:
        return Edit(node.start, node.end, " " + literal(value))
    mark = found.text[node.start]
    if _is_block(found, node):
        return _over_block(found, node, value)
    if not node.quoted or isinstance(value, (list, tuple, Mapping)):
        return Edit(node.start, node.end, literal(value))
    text = str(bare(value))
    if mark == "'" and not HIDDEN.search(text):
        return Edit(node.start, node.end, "'" + text.replace("'", "''") + "'")
    return Edit(node.start, node.end, quoted(text))


def _over_block(found: Found, node: Scalar, value: Any) -> Edit:
    """New lines for a text that stands below its mark; where they cannot say it, the text goes beside its name."""
    text = found.text
    first, end = _block_lines(found, node)
    if not _fits_block(found, node, value):
        header = text[node.start : first or len(text)].rstrip("\r\n")
        return Edit(node.start, max(end, node.start + len(header)), literal(value) + header.lstrip("|>+-0123456789"))
    line = next(line for line in text[first:end].split("\n") if line.strip())
    indent = line[: len(line) - len(line.lstrip(" "))]
    gap = 2 if text[node.start] == ">" else 1  # a folded text tells the end of a line by an empty one
    lines = [indent + line if line else "" for line in str(bare(value)).rstrip("\n").split("\n")]
    return Edit(first, end, (_newline(text) * gap).join(lines))


def _block_lines(found: Found, node: Scalar) -> tuple[int, int]:
    """From where to where the lines below a mark say something; the empty ones after them do not count."""
    first = found.text.find("\n", node.start) + 1
    inside = found.text[first : node.end].rstrip() if 0 < first <= node.end else ""
    if not inside:
        return first, 0
    end = found.text.find("\n", first + len(inside))
    return first, len(found.text) if end < 0 else end - (found.text[end - 1] == "\r")


def _fits_block(found: Found, node: Scalar, value: Any) -> bool:
    """Whether lines below the mark that is there can say a value."""
    first, end = _block_lines(found, node)
    lines = str(bare(value)).rstrip("\n").split("\n")
    header = found.text[node.start : first].split("#")[0]
    return (
        end > 0
        and not isinstance(value, (list, tuple, Mapping))
        and not any(letter.isdigit() for letter in header)
        and bool(lines[0])
        # Lines of spaces below it may be a part of it, and would be one of the new text.
        and node.value.rstrip("\n") == node.value.rstrip()
        and all(line == line.strip() and not HIDDEN.search(line) for line in lines)
    )


def _lines_for_nothing(found: Found, parent: Any, node: Any, value: Any) -> Edit:
    """Lines below a name whose value is written as empty: what says so goes, a comment beside it stays."""
    if not isinstance(parent, Table):
        raise by_hand()
    text, newline = found.text, _newline(found.text)
    end = found.line_end(found.line(node.end - (node.end > node.start)))
    start = len(text[: node.start].rstrip(" ")) if node.end > node.start else node.start
    beside = text[node.end : end].rstrip("\r\n")
    lines = value_lines(value, found.column(parent.start) + 2)
    return Edit(start, end, beside + newline + "".join(line + newline for line in lines))


def _adding(found: Found, path: Path, item: Any) -> Edit:
    listed = _at(found.root, path)
    if not isinstance(listed, Listing) or not listed.items:
        if not _is_empty(listed):
            raise by_hand()
        return setting(found, path, [item])
    if listed.flow:
        return _into_flow(found, listed, literal(item))
    return _below(found, _after(found, listed), item_lines(item, found.column(listed.start)))


def _into_flow(found: Found, node: Any, fresh: str) -> Edit:
    """One more thing before the bracket that closes a list or table, beside the last one."""
    if _is_empty(node):
        return Edit(node.start + 1, node.start + 1, fresh)
    end, comma = _end_inside(node), _comma(found, node)
    return Edit(comma, comma, " " + fresh) if comma else Edit(end, end, ", " + fresh)


def _comma(found: Found, node: Any) -> int:
    """The place after a comma that follows the last thing in brackets; 0 where there is none."""
    end = _end_inside(node)
    return found.text.index(",", end) + 1 if found.text[end : node.end].lstrip().startswith(",") else 0


def _end_inside(node: Any) -> int:
    """Where the last thing in brackets ends."""
    return int((node.items[-1] if isinstance(node, Listing) else node.entries[-1][1]).end)


def _removal(found: Found, listed: Listing, number: int) -> Edit:
    """The lines of one item, from its dash to its end."""
    item = listed.items[number]
    mark = " " * found.column(listed.start) + "-"
    line = found.line(item.start)
    while not found.line_of(line).removeprefix("\ufeff").startswith(mark):  # it may stand above its first name
        line -= 1
        if line < found.line(listed.start):
            raise by_hand()
    return Edit(found.starts[line], _after(found, item), "")


def _removals_in_line(found: Found, listed: Listing, gone: Sequence[int]) -> list[Edit]:
    """Items of a list in brackets, each with the comma that parts it from the one before, or after at the beginning."""
    edits = []
    first = next((number for number in range(len(listed.items)) if number not in gone), len(listed.items))
    if first:
        end = listed.items[first].start if first < len(listed.items) else _comma(found, listed) or listed.items[-1].end
        edits.append(Edit(listed.items[0].start, end, ""))
    edits += [Edit(listed.items[n - 1].end, listed.items[n].end, "") for n in gone if n > first]
    if any("#" in found.text[one.end : two.start] for one, two in pairwise(listed.items)):
        raise by_hand()  # a comment between them: whose it is, nobody can tell
    return edits


def _after(found: Found, node: Any) -> int:
    """Where the line after a node's last one begins."""
    end = last(node)
    if _is_block(found, end) and "+" in found.text[end.start + 1 : end.start + 3]:
        return int(end.end)  # the empty lines below such a text belong to it
    return found.line_end(found.last_line(node))


def _below(found: Found, at: int, lines: Sequence[str]) -> Edit:
    newline = _newline(found.text)
    return Edit(at, at, "".join(line + newline for line in lines), below=True)


def _applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits; a last line without an end gets one before something stands below it."""
    parts, at = [""], 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += [piece for piece in (text[at : edit.start],) if piece]
        if edit.below and parts[-1] and not parts[-1].endswith("\n"):
            parts.append(_newline(text))
        parts.append(edit.fresh)
        at = edit.end
    return "".join(parts) + text[at:]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


# What it should say


def _checked(text: str, wanted: Any) -> str:
    """A text that says what it should, and nothing else than before."""
    try:
        said = _said(text)
    except Unreadable:
        raise by_hand() from None
    if said != wanted:
        raise by_hand()
    return text


def _said(text: str) -> Any:
    """What a text says, its last line ended: an end of line there is no change of a value."""
    return plain(read(text if text.endswith("\n") else text + "\n").root)


def _items(tree: Any, path: Path) -> list[Any]:
    """The items of the list at a path of a tree of texts, lists and dicts."""
    for name in path:
        inside = tree if isinstance(tree, dict) else dict(enumerate(tree)) if isinstance(tree, list) else {}
        tree = inside.get(name)
    return tree if isinstance(tree, list) else []


def _told(found: Found, path: Path, value: Any) -> Any:
    """A value as the tree will tell it; a text below a mark keeps the ends of lines that it has."""
    node = _at(found.root, path)
    if not isinstance(node, Scalar) or not _is_block(found, node) or not _fits_block(found, node, value):
        return bare(value)
    chomped = found.text[node.start + 1 : node.start + 2]
    ends = "" if chomped == "-" else node.value[len(node.value.rstrip("\n")) :] or "\n"
    return str(bare(value)).rstrip("\n") + ends


def _is_block(found: Found, node: Any) -> bool:
    """Whether a text stands in lines below a mark."""
    return isinstance(node, Scalar) and node.quoted and found.text[node.start] in "|>"


def _with(tree: Any, path: Path, value: Any) -> Any:
    """A tree of texts, lists and dicts with one value set."""
    if not path:
        return value
    name, *rest = path
    if isinstance(name, str) and not isinstance(tree, dict):
        tree = {}
    tree[name] = _with(tree[name] if isinstance(name, int) else tree.get(name), rest, value)
    return tree


def _nested(path: Path, value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _at(node: Any, path: Path) -> Any:
    """The node at a path; None where there is none."""
    for name in path:
        node = _child(node, name)
    return node


def _child(node: Any, name: str | int) -> Any:
    if isinstance(node, Table) and isinstance(name, str):
        return node.get(name)
    if isinstance(node, Listing) and isinstance(name, int) and 0 <= name < len(node.items):
        return node.items[name]
    return None


def is_nothing(node: Any) -> bool:
    """Nothing, or the words that YAML has for nothing."""
    return node is None or (isinstance(node, Scalar) and not node.quoted and node.value in ("", "~", "null"))


def _is_empty(node: Any) -> bool:
    if isinstance(node, Table):
        return not node.entries
    return is_nothing(node) or (isinstance(node, Listing) and not node.items)


def by_hand() -> Conflict:
    return Conflict("this file cannot be changed without disturbing what is written in it", _HAND)
