"""Edit single values of a YAML text and keep every other byte: comments, order, quoting, indentation, line ends.

A value is replaced in its own style; a name goes below the last one of its table, an item after the last one of its
list. The result is parsed again and compared with what was wanted; `Conflict` is raised if it differs.
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
    """The text is not YAML, or not the subset that is accepted from a repository."""


@frozen
class Scalar:
    """A single value with its start and end offset in the text."""

    value: str
    start: int
    end: int
    quoted: bool = False


@frozen
class ListNode:
    """A YAML sequence; `flow` means it is written in brackets."""

    items: tuple[Any, ...]
    start: int
    end: int
    flow: bool


@frozen
class MappingNode:
    """A YAML mapping with its keys, which are scalars, in their order; `flow` means it is written in braces."""

    entries: tuple[tuple[Scalar, Any], ...]
    start: int
    end: int
    flow: bool

    def get(self, name: str) -> Any:
        """Return the value node of a key; None without one."""
        return next((value for key, value in self.entries if key.value == name), None)


@frozen
class ParsedYaml:
    """A parsed YAML text: its source, the root node (None if empty) and the offsets where lines start."""

    text: str
    root: Any = None
    starts: tuple[int, ...] = field(default_factory=tuple)

    def line(self, place: int) -> int:
        """Return the line number of an offset, from 0."""
        from bisect import bisect_right

        return bisect_right(self.starts, place) - 1

    def column(self, place: int) -> int:
        """Return the column of an offset, from 0."""
        start = self.starts[self.line(place)]
        mark = 1 if start == 0 and self.text.startswith("\ufeff") else 0  # a byte order mark has no width
        return place - start - mark

    def line_of(self, number: int) -> str:
        """Return the text of a line with its line end."""
        return self.text[self.starts[number] : self.line_end(number)]

    def line_end(self, number: int) -> int:
        """Return the offset where the next line starts."""
        return self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)

    def last_line(self, node: Any) -> int:
        """Return the number of the last line with content of a node."""
        end = last(node)
        return self.line(max(end.start, len(self.text[end.start : end.end].rstrip()) + end.start - 1))


def last(node: Any) -> Any:
    """Return the last scalar or flow node of a block; a block's own end offset is where the next token starts."""
    while not isinstance(node, Scalar) and not node.flow:
        node = node.items[-1] if isinstance(node, ListNode) else node.entries[-1][1]
    return node


def read(text: str) -> ParsedYaml:
    """Parse a YAML text into nodes with offsets; raise Unreadable with the line of the problem."""
    import yaml  # imported late: half of the run time of a small command

    if len(text) > MAX_BYTES:
        raise Unreadable(f"it is larger than {MAX_BYTES // 1024} KB", "split it")
    try:
        root = _Tree(yaml.parse(text, Loader=yaml.SafeLoader)).root()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise Unreadable(f"it is no YAML{where}", "mend it by hand") from None
    return ParsedYaml(text, root, tuple(_starts(text)))


def plain(node: Any) -> Any:
    """Convert a node into strings, lists and dicts."""
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    if isinstance(node, MappingNode):
        return {key.value: plain(value) for key, value in node.entries}
    return None if node is None else node.value


def _starts(text: str) -> Iterator[int]:
    """Yield the offsets where lines start; only `\n` ends one here, unlike in Python's splitlines."""
    yield 0
    place = text.find("\n")
    while place >= 0:
        if place + 1 < len(text):
            yield place + 1
        place = text.find("\n", place + 1)


class _Tree:
    """Builds the node tree from parser events one by one, so that parsing stops at the first refused event."""

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
        # The parser tags quoted scalars with "!" by itself.
        self._refuse(event.tag not in (None, "!"), event, "a tag")
        self._refuse(depth > MAX_DEPTH, event, "something very deep")
        self._refuse(self._count > MAX_PARTS, event, "too many parts")
        if name == "ScalarEvent":
            quoted = event.style is not None
            return Scalar(event.value, event.start_mark.index, event.end_mark.index, quoted)
        return self._listing(event, depth) if name == "SequenceStartEvent" else self._table(event, depth)

    def _listing(self, begin: Any, depth: int) -> ListNode:
        items = []
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            items.append(self._node(event, depth + 1))
        return ListNode(tuple(items), begin.start_mark.index, event.end_mark.index, bool(begin.flow_style))

    def _table(self, begin: Any, depth: int) -> MappingNode:
        entries: list[tuple[Scalar, Any]] = []
        names: set[str] = set()
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            key = self._node(event, depth + 1)
            self._refuse(not isinstance(key, Scalar), event, "a name that is no text")
            self._refuse(key.value in names, event, "the same name twice")
            names.add(key.value)
            entries.append((key, self._node(next(self._events), depth + 1)))
        return MappingNode(tuple(entries), begin.start_mark.index, event.end_mark.index, bool(begin.flow_style))

    def _refuse(self, wrong: bool, event: Any, what: str) -> None:
        if wrong:
            raise Unreadable(f"it holds {what} (line {event.start_mark.line + 1})", _PLAIN)


TRUE = ("true", "yes", "on")
_NOT_WORDS = (*TRUE, "y", "n", "no", "off", "false", "null", "nan", "inf")
# Line ends that editors do not show, and characters that YAML forbids unescaped.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
HIDDEN = re.compile(f"[\x00-\x1f]|{_ESCAPED.pattern}")


def written(values: Mapping[str, Any]) -> str:
    """Return a new YAML text with these values in their order."""
    return "".join(line + "\n" for name, value in values.items() for line in entry_lines(name, value, 0))


def entry_lines(name: str, value: Any, column: int) -> list[str]:
    """Format a key and its value as YAML lines."""
    head = f"{' ' * column}{named(name)}:"
    return [head, *value_lines(value, column + 2)] if takes_lines(value) else [f"{head} {literal(value)}"]


def value_lines(value: Any, column: int) -> list[str]:
    """Format a mapping or a sequence as block-style lines."""
    if isinstance(value, Mapping):
        return [line for name, inner in value.items() for line in entry_lines(name, inner, column)]
    return [line for item in value for line in item_lines(item, column)]


def item_lines(item: Any, column: int) -> list[str]:
    """Format a sequence item as lines, the first with a dash."""
    if not isinstance(item, Mapping) or not item:
        return [f"{' ' * column}- {literal(item)}"]
    first, *others = value_lines(item, column + 2)
    return [" " * column + "- " + first[column + 2 :], *others]


def takes_lines(value: Any) -> bool:
    """Return whether a value is written in block style: mappings, and lists that hold mappings or sentences."""
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, (list, tuple)) and any(
        isinstance(item, Mapping) or (isinstance(item, str) and item.count(" ") > 1) for item in value
    )


def literal(value: Any) -> str:
    """Format a value on one line: strings are quoted; ids, dates and numbers stay plain."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{named(name)}: {literal(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, str) and not _is_word(value):
        return quoted(value)
    return str(bare(value))


def quoted(text: str) -> str:
    """Return a text as a double-quoted YAML scalar."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def named(name: str) -> str:
    """Format a key, quoted if needed."""
    return name if name[:1].isalpha() and _is_word(name) else quoted(name)


def _is_word(text: str) -> bool:
    """Return whether every YAML parser reads the unquoted text as that string: an id-like name or a date."""
    if not text.isascii() or text.lower() in _NOT_WORDS:
        return False
    if text[:1].isalpha():
        return all(part.isalnum() for part in text.replace("_", "-").split("-"))
    return [len(part) for part in text.split("-")] == [4, 2, 2] and text.replace("-", "").isdigit()


def bare(value: Any) -> Any:
    """Convert a value into what `plain` returns for it after parsing: strings, lists and dicts."""
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
    """Replacement of the text between two offsets; `below` means that `fresh` is whole lines."""

    start: int
    end: int
    fresh: str
    below: bool = False


def with_value(found: ParsedYaml, path: Path, value: Any) -> str:
    """Return the text with one value set; missing keys on the path are added."""
    return with_values(found, {tuple(path): value})


def with_values(found: ParsedYaml, values: Mapping[tuple[Any, ...], Any]) -> str:
    """Return the text with several values set at once; no two new values may share a missing parent."""
    wanted = _plain_of(found.text)
    edits = [setting(found, path, value) for path, value in values.items()]
    for path, value in values.items():
        wanted = _set_in(wanted, path, _expected(found, path, value))
    return _checked(_applied(found.text, edits), wanted)


def with_item(found: ParsedYaml, path: Path, item: Any) -> str:
    """Return the text with an item appended to a list; a missing list is created."""
    wanted = _plain_of(found.text)
    before = _items(wanted, path)
    return _checked(_applied(found.text, [_adding(found, path, item)]), _set_in(wanted, path, [*before, bare(item)]))


def without_items(found: ParsedYaml, path: Path, numbers: Iterable[int]) -> str:
    """Return the text without some items of a list; comments on lines of their own stay."""
    removed, listed = sorted(set(numbers)), _at(found.root, path)
    if not removed:
        return found.text
    if not isinstance(listed, ListNode) or removed[-1] >= len(listed.items):
        raise by_hand()
    edits = _removals_in_line(found, listed, removed) if listed.flow else [_removal(found, listed, n) for n in removed]
    wanted = _plain_of(found.text)
    left = [item for number, item in enumerate(_items(wanted, path)) if number not in removed]
    # A key whose block list was removed is parsed as an empty string.
    return _checked(_applied(found.text, edits), _set_in(wanted, path, left if left or listed.flow else ""))


def setting(found: ParsedYaml, path: Path, value: Any) -> Edit:
    """Return the edit that sets the value at a path."""
    node, parent = found.root, None
    for depth, name in enumerate(path):
        child = _child(node, name)
        if child is None:
            return _new_name(found, parent, node, path[depth:], value)
        node, parent = child, node
    return _replacement(found, parent, node, value)


def _new_name(found: ParsedYaml, parent: Any, node: Any, rest: Path, value: Any) -> Edit:
    """Return the edit that adds a key to a mapping or to an empty node."""
    name, inner = rest[0], _nested(rest[1:], value)
    if not isinstance(name, str):
        raise by_hand()
    if node is None or (parent is None and is_nothing(node)):
        return _below(found, len(found.text), entry_lines(name, inner, 0))
    if is_nothing(node):
        return _replacement(found, parent, node, {name: inner})
    if not isinstance(node, MappingNode):
        raise by_hand()
    if node.flow:
        return _into_flow(found, node, f"{named(name)}: {literal(inner)}")
    return _below(found, _after(found, node), entry_lines(name, inner, found.column(node.start)))


def _replacement(found: ParsedYaml, parent: Any, node: Any, value: Any) -> Edit:
    """Return the edit that replaces one value by another."""
    if _is_empty(node) and takes_lines(value) and not parent.flow:
        return _lines_for_nothing(found, parent, node, value)
    if isinstance(node, Scalar):
        return _over_scalar(found, node, value)
    same_type = Mapping if isinstance(node, MappingNode) else (list, tuple)
    if not node.flow or not isinstance(value, same_type) or "\n" in found.text[node.start : node.end]:
        raise by_hand()
    return Edit(node.start, node.end, literal(value))


def _over_scalar(found: ParsedYaml, node: Scalar, value: Any) -> Edit:
    """Return the edit that replaces a scalar, in the quoting style of the old one."""
    if node.start == node.end:
        return Edit(node.start, node.end, " " + literal(value))
    quote = found.text[node.start]
    if _is_block(found, node):
        return _over_block(found, node, value)
    if not node.quoted or isinstance(value, (list, tuple, Mapping)):
        return Edit(node.start, node.end, literal(value))
    text = str(bare(value))
    if quote == "'" and not HIDDEN.search(text):
        return Edit(node.start, node.end, "'" + text.replace("'", "''") + "'")
    return Edit(node.start, node.end, quoted(text))


def _over_block(found: ParsedYaml, node: Scalar, value: Any) -> Edit:
    """Return the edit that replaces a block scalar (`|`, `>`); a value that does not fit goes beside its key."""
    text = found.text
    first, end = _block_lines(found, node)
    if not _fits_block(found, node, value):
        header = text[node.start : first or len(text)].rstrip("\r\n")
        return Edit(node.start, max(end, node.start + len(header)), literal(value) + header.lstrip("|>+-0123456789"))
    line = next(line for line in text[first:end].split("\n") if line.strip())
    indent = line[: len(line) - len(line.lstrip(" "))]
    gap = 2 if text[node.start] == ">" else 1  # a folded scalar needs an empty line for each line end
    lines = [indent + line if line else "" for line in str(bare(value)).rstrip("\n").split("\n")]
    return Edit(first, end, (_newline(text) * gap).join(lines))


def _block_lines(found: ParsedYaml, node: Scalar) -> tuple[int, int]:
    """Return start and end offset of a block scalar's content, without trailing empty lines."""
    first = found.text.find("\n", node.start) + 1
    inside = found.text[first : node.end].rstrip() if 0 < first <= node.end else ""
    if not inside:
        return first, 0
    end = found.text.find("\n", first + len(inside))
    return first, len(found.text) if end < 0 else end - (found.text[end - 1] == "\r")


def _fits_block(found: ParsedYaml, node: Scalar, value: Any) -> bool:
    """Return whether a value can be written below the existing block scalar header."""
    first, end = _block_lines(found, node)
    lines = str(bare(value)).rstrip("\n").split("\n")
    header = found.text[node.start : first].split("#")[0]
    return (
        end > 0
        and not isinstance(value, (list, tuple, Mapping))
        and not any(letter.isdigit() for letter in header)
        and bool(lines[0])
        # Whitespace-only lines below may belong to the old text and would become part of the new one.
        and node.value.rstrip("\n") == node.value.rstrip()
        and all(line == line.strip() and not HIDDEN.search(line) for line in lines)
    )


def _lines_for_nothing(found: ParsedYaml, parent: Any, node: Any, value: Any) -> Edit:
    """Return the edit that writes block lines below a key with an empty value; a comment after it stays."""
    if not isinstance(parent, MappingNode):
        raise by_hand()
    text, newline = found.text, _newline(found.text)
    end = found.line_end(found.line(node.end - (node.end > node.start)))
    start = len(text[: node.start].rstrip(" ")) if node.end > node.start else node.start
    comment = text[node.end : end].rstrip("\r\n")
    lines = value_lines(value, found.column(parent.start) + 2)
    return Edit(start, end, comment + newline + "".join(line + newline for line in lines))


def _adding(found: ParsedYaml, path: Path, item: Any) -> Edit:
    listed = _at(found.root, path)
    if not isinstance(listed, ListNode) or not listed.items:
        if not _is_empty(listed):
            raise by_hand()
        return setting(found, path, [item])
    if listed.flow:
        return _into_flow(found, listed, literal(item))
    return _below(found, _after(found, listed), item_lines(item, found.column(listed.start)))


def _into_flow(found: ParsedYaml, node: Any, fresh: str) -> Edit:
    """Return the edit that adds an element before the closing bracket of a flow list or mapping."""
    if _is_empty(node):
        return Edit(node.start + 1, node.start + 1, fresh)
    end, comma = _end_inside(node), _comma(found, node)
    return Edit(comma, comma, " " + fresh) if comma else Edit(end, end, ", " + fresh)


def _comma(found: ParsedYaml, node: Any) -> int:
    """Return the offset after a trailing comma in brackets; 0 without one."""
    end = _end_inside(node)
    return found.text.index(",", end) + 1 if found.text[end : node.end].lstrip().startswith(",") else 0


def _end_inside(node: Any) -> int:
    """Return the end offset of the last element in brackets."""
    return int((node.items[-1] if isinstance(node, ListNode) else node.entries[-1][1]).end)


def _removal(found: ParsedYaml, listed: ListNode, number: int) -> Edit:
    """Return the edit that removes the lines of one item, from its dash to its end."""
    item = listed.items[number]
    mark = " " * found.column(listed.start) + "-"
    line = found.line(item.start)
    while not found.line_of(line).removeprefix("\ufeff").startswith(mark):  # the dash may be on an earlier line
        line -= 1
        if line < found.line(listed.start):
            raise by_hand()
    return Edit(found.starts[line], _after(found, item), "")


def _removals_in_line(found: ParsedYaml, listed: ListNode, removed: Sequence[int]) -> list[Edit]:
    """Return the edits that remove flow list items, each with the comma before it (the first: after it)."""
    edits = []
    first = next((number for number in range(len(listed.items)) if number not in removed), len(listed.items))
    if first:
        end = listed.items[first].start if first < len(listed.items) else _comma(found, listed) or listed.items[-1].end
        edits.append(Edit(listed.items[0].start, end, ""))
    edits += [Edit(listed.items[n - 1].end, listed.items[n].end, "") for n in removed if n > first]
    if any("#" in found.text[item.end : following.start] for item, following in pairwise(listed.items)):
        raise by_hand()  # it is unclear to which item a comment between them belongs
    return edits


def _after(found: ParsedYaml, node: Any) -> int:
    """Return the offset of the line after a node."""
    end = last(node)
    if _is_block(found, end) and "+" in found.text[end.start + 1 : end.start + 3]:
        return int(end.end)  # with `+` the empty lines below belong to the scalar
    return found.line_end(found.last_line(node))


def _below(found: ParsedYaml, at: int, lines: Sequence[str]) -> Edit:
    newline = _newline(found.text)
    return Edit(at, at, "".join(line + newline for line in lines), below=True)


def _applied(text: str, edits: Iterable[Edit]) -> str:
    """Apply the edits; a last line without line end gets one before lines are added below it."""
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


def _checked(text: str, wanted: Any) -> str:
    """Return the text if it parses to the wanted values; raise Conflict if not."""
    try:
        if _plain_of(text) == wanted:
            return text
    except Unreadable:
        pass
    raise by_hand()


def _plain_of(text: str) -> Any:
    """Parse a text into plain values; a missing final line end is added first, since it changes no value."""
    return plain(read(text if text.endswith("\n") else text + "\n").root)


def _items(tree: Any, path: Path) -> list[Any]:
    """Return the list at a path of a plain tree; [] without one."""
    for name in path:
        inside = tree if isinstance(tree, dict) else dict(enumerate(tree)) if isinstance(tree, list) else {}
        tree = inside.get(name)
    return tree if isinstance(tree, list) else []


def _expected(found: ParsedYaml, path: Path, value: Any) -> Any:
    """Return a value as it will be parsed from the new text; a block scalar keeps its trailing line ends."""
    node = _at(found.root, path)
    if not isinstance(node, Scalar) or not _is_block(found, node) or not _fits_block(found, node, value):
        return bare(value)
    chomped = found.text[node.start + 1 : node.start + 2]
    ends = "" if chomped == "-" else node.value[len(node.value.rstrip("\n")) :] or "\n"
    return str(bare(value)).rstrip("\n") + ends


def _is_block(found: ParsedYaml, node: Any) -> bool:
    """Return whether a node is a block scalar (`|` or `>`)."""
    return isinstance(node, Scalar) and node.quoted and found.text[node.start] in "|>"


def _set_in(tree: Any, path: Path, value: Any) -> Any:
    """Return a plain tree with the value at a path replaced."""
    if not path:
        return value
    name, *rest = path
    if isinstance(name, str) and not isinstance(tree, dict):
        tree = {}
    tree[name] = _set_in(tree[name] if isinstance(name, int) else tree.get(name), rest, value)
    return tree


def _nested(path: Path, value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _at(node: Any, path: Path) -> Any:
    """Return the node at a path; None without one."""
    for name in path:
        node = _child(node, name)
    return node


def _child(node: Any, name: str | int) -> Any:
    if isinstance(node, MappingNode) and isinstance(name, str):
        return node.get(name)
    if isinstance(node, ListNode) and isinstance(name, int) and 0 <= name < len(node.items):
        return node.items[name]
    return None


def is_nothing(node: Any) -> bool:
    """Return whether a node is missing, empty or a YAML null."""
    return node is None or (isinstance(node, Scalar) and not node.quoted and node.value in ("", "~", "null"))


def _is_empty(node: Any) -> bool:
    if isinstance(node, MappingNode):
        return not node.entries
    return is_nothing(node) or (isinstance(node, ListNode) and not node.items)


def by_hand() -> Conflict:
    """Return the Conflict for a text that cannot be edited safely."""
    return Conflict("this file cannot be changed without disturbing what is written in it", _HAND)
