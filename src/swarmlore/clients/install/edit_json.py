"""JSON that other programs and people wrote: a value is put in or taken out, every other character stays.

Positions are looked for in text that `json` has read before, so that the scanner need not know what is wrong JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache

from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any


Splice = tuple[int, int, str]  # where, how many characters now, and what stood there before


class Sheet:
    """The text of a file under change; `undo` leads back to what it was."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.undo: list[Splice] = []
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def splice(self, start: int, end: int, new: str) -> None:
        """Put new text in place of a piece."""
        if self.text[start:end] == new:
            return
        self.undo.append((start, len(new), self.text[start:end]))
        self.text = self.text[:start] + new + self.text[end:]


def undone(text: str, splices: Iterable[Splice]) -> str:
    """The text before these changes were made to it, the last of them first."""
    for start, length, before in reversed(list(splices)):
        text = text[:start] + before + text[start + length :]
    return text


def blanked(text: str) -> str:
    """The text as plain JSON of the same length."""
    return _last_comma().sub(lambda found: found[0] if found[1] is None else " " + found[2], uncommented(text))


def uncommented(text: str) -> str:
    """The text without comments, of the same length; a comma before a closing bracket stays."""
    return _pieces().sub(_blank, text) if "/" in text else text


def _blank(found: re.Match[str]) -> str:
    piece = found[0]
    stays = piece.startswith('"') or (piece.startswith("/*") and found[1] is None)
    return piece if stays else re.sub(r"[^\r\n]", " ", piece)


@cache
def _pieces() -> re.Pattern[str]:
    """A string, which stays, or a comment; one that never ends is none. Each matches in any case, else every quote
    and every slash of a broken file would be followed to its end."""
    return re.compile(r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)|//[^\r\n]*|/\*[\s\S]*?(?:(\*/)|\Z)')


@cache
def _last_comma() -> re.Pattern[str]:
    """A string, which stays, or a comma with nothing behind it but a closing bracket."""
    return re.compile(r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)|(,)(\s*[}\]])')


Path = tuple[str | int, ...]
INDENT = "  "
_SPACE = " \t\r\n"


@frozen
class Item:
    """A member of an object, or an element of an array: where it starts, and where its value starts and ends."""

    key: str | int
    start: int
    value: int
    end: int


def read(text: str) -> Any:
    """The value of a text; raises ValueError where a strict reader would refuse it."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


class JsonSheet(Sheet):
    """A document under change. Its `data` follow every change of the text; `made` are containers that were put in."""

    def __init__(self, text: str, *, comments: bool = False, commas: bool = False) -> None:
        super().__init__(text)
        self._comments = comments  # for clients that read JSON with comments: theirs stay where they are
        self._commas = commas  # and with a comma behind the last item
        self.data: Any = read(self._plain) if text.strip() else {}
        self.made: list[Path] = []
        if not text.strip():
            self.splice(0, len(text), "{}\n")

    @property
    def _plain(self) -> str:
        """The text without comments, every place where it was."""
        return (blanked if self._commas else uncommented)(self.text) if self._comments else self.text

    def at(self, path: Path) -> Any:
        """The value at a path, or None."""
        value = self.data
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def ensure(self, path: Path, empty: Any) -> None:
        """A container of this kind at the path; its parent has to be there."""
        if self.at(path) is None:
            self.put(path, empty)
            self.made.append(path)

    def put(self, path: Path, value: Any) -> None:
        """Set the value at a path; a new member, or an element past the last, goes to the end."""
        parent, last = path[:-1], path[-1]
        opening, items, closing = self._container(parent)
        item = next((item for item in reversed(items) if item.key == last), None)
        if item is None:
            self._add(opening, items, closing, last, value)
        elif self.at(path) != value or type(self.at(path)) is not type(value):
            self.splice(item.value, item.end, self._render(value, _indent_at(self.text, item.start), "\n" in self.text))
        into, value = self.at(parent), json.loads(json.dumps(value))  # nobody else changes what is in it
        if isinstance(into, list) and last == len(into):
            into.append(value)
        else:
            into[last] = value

    def append(self, path: Path, value: Any) -> None:
        self.put((*path, len(self.at(path))), value)

    def remove(self, path: Path) -> None:
        """Take out a member or an element, with its comma."""
        _, items, _ = self._container(path[:-1])
        for place in reversed([n for n, item in enumerate(items) if item.key == path[-1]]):
            opening, items, closing = self._container(path[:-1])  # each time: what is behind has moved
            start, end = _reach(opening, items, closing, place)
            if self._comments and self.text[start:end] != self._plain[start:end]:
                self._cut_out(items, place)
            else:
                self.splice(start, end, "")
        del self.at(path[:-1])[path[-1]]

    def _cut_out(self, items: list[Item], place: int) -> None:
        """Take out an item and one comma, and leave every comment where it is."""
        item, plain = items[place], uncommented(self.text)
        after = _past_space(plain, item.end)
        if plain[after] == ",":
            self.splice(after, after + 1, "")
        start, end = item.start - len(_indent_at(self.text, item.start)), item.end
        alone = start == 0 or self.text[start - 1] == "\n"
        rest = self.text.find("\n", end) + 1
        whole_line = alone and rest and not self.text[end:rest].strip()
        self.splice(start if whole_line else item.start, rest if whole_line else end, "")
        if plain[after] != "," and place:
            comma = plain.index(",", items[place - 1].end)
            self.splice(comma, comma + 1, "")

    def checked(self) -> str:
        """The text, if it says what it should."""
        if read(self._plain) != self.data:
            raise AssertionError("the text does not hold the data")
        return self.text

    def _container(self, path: Path) -> tuple[int, list[Item], int]:
        """Where the object or array at a path opens, what is in it, and where it closes."""
        plain = self._plain
        start = _past_space(plain, 0)
        for step in path:
            items, _ = _items(plain, start)
            start = next(item.value for item in reversed(items) if item.key == step)
        items, closing = _items(plain, start)
        return start, items, closing

    def _add(self, opening: int, items: list[Item], closing: int, key: str | int, value: Any) -> None:
        name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
        if not items:
            self._fill(opening, closing, name, value)
            return
        last = items[-1]
        spread = "\n" in self.text[opening : items[0].start]
        indent = _indent_at(self.text, last.start)
        between = self.newline + indent if spread else self._gap(items)
        added = between + name + self._render(value, indent, spread)
        end = self._past_remarks(last.end) if spread else last.end
        if end == last.end:
            self.splice(end, end, "," + added)
        elif "," in uncommented(self.text)[last.end : end]:  # whoever ends the last line with a comma goes on so
            self.splice(end, end, added + ",")
        else:
            self.splice(end, end, added)
            self.splice(last.end, last.end, ",")

    def _past_remarks(self, at: int) -> int:
        """Behind the remarks that stand in the same line: they are about what is before them."""
        found = self.text.find("\n", at)
        line = self.text[at : found if found >= 0 else len(self.text)].rstrip("\r")
        return at + len(line.rstrip()) if self._comments and "/" in line and not blanked(line).strip(" \t,") else at

    def _fill(self, opening: int, closing: int, name: str, value: Any) -> None:
        """The first thing in an empty container."""
        indent = _indent_at(self.text, opening)
        inner = indent + self._unit()
        held = self.text[opening + 1 : closing].rstrip() if self._comments else ""  # remarks in an empty container
        if "\n" not in self.text.strip(_SPACE) and len(self.text.strip(_SPACE)) > closing - opening + 1:
            self.splice(opening + 1, closing, held + name + self._render(value, "", False))  # one line stays one
            return
        body = held + self.newline + inner + name + self._render(value, inner, True) + self.newline + indent
        self.splice(opening + 1, closing, body)

    def _gap(self, items: list[Item]) -> str:
        """What stands between a comma and the next item of one line."""
        if len(items) < 2:
            return " "
        between = self._plain[items[-2].end : items[-1].start]
        return between.partition(",")[2].replace("\r", "").replace("\n", "")

    def _unit(self) -> str:
        """By how much a level is indented here."""
        found = _first_indent().search(self.text)
        return found[1] if found else INDENT

    def _render(self, value: Any, indent: str, spread: bool) -> str:
        if not spread:
            return json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit()).split("\n")
        return (self.newline + indent).join(lines)


def _reach(opening: int, items: list[Item], closing: int, place: int) -> tuple[int, int]:
    """What goes with an item of a container: its comma, and the space around it."""
    if len(items) == 1:
        return opening + 1, closing
    if place == len(items) - 1:
        return items[place - 1].end, items[place].end
    return items[place].start, items[place + 1].start


def _items(text: str, opening: int) -> tuple[list[Item], int]:
    """What is in the object or array that opens there, and where it closes."""
    found: list[Item] = []
    named = text[opening] == "{"
    at = _past_space(text, opening + 1)
    while text[at] not in "}]":
        start, key = at, len(found)  # type: int, str | int
        if named:
            at = _value_end(text, start)
            key = json.loads(text[start:at])
            at = _past_space(text, _past_space(text, at) + 1)
        end = _value_end(text, at)
        found.append(Item(key, start, at, end))
        at = _past_space(text, end)
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return found, at


def _value_end(text: str, start: int) -> int:
    """Behind the value that starts there."""
    if text[start] not in '{["':
        found = _scalar().match(text, start)
        return found.end() if found else start
    depth = 0
    for token in _token().finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _indent_at(text: str, at: int) -> str:
    """The white space that the line of this place starts with."""
    start = text.rfind("\n", 0, at) + 1
    end = start
    while end < at and text[end] in " \t":
        end += 1
    return text[start:end]


@cache
def _token() -> re.Pattern[str]:
    return re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]')


@cache
def _scalar() -> re.Pattern[str]:
    return re.compile(r"[^\s,\]}]+")


@cache
def _first_indent() -> re.Pattern[str]:
    return re.compile(r"\n([ \t]+)[\"\[{\w-]")
