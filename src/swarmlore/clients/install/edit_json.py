"""Edit JSON files of other programs: put a value in or take it out, and leave every other character as it is.

Positions are searched in text that `json` has parsed before, so the scanner may assume valid JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

# Unterminated strings and comments match too, else every quote of a broken file would be scanned to the end.
_STRING = r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)'
_STRING_OR_COMMENT = _STRING + r"|//[^\r\n]*|/\*[\s\S]*?(?:(\*/)|\Z)"
_STRING_OR_LAST_COMMA = _STRING + r"|(,)(\s*[}\]])"
_TOKEN = r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]'
Splice = tuple[int, int, str]  # offset, length of the new text, the old text


class Sheet:
    """Text of a file that is being edited; `undo` lists the splices that lead back to the original."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.undo: list[Splice] = []
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def splice(self, start: int, end: int, new: str) -> None:
        """Replace a piece of the text."""
        if self.text[start:end] == new:
            return
        self.undo.append((start, len(new), self.text[start:end]))
        self.text = self.text[:start] + new + self.text[end:]


def undone(text: str, splices: Iterable[Splice]) -> str:
    """Return the text before these splices, which are undone in reverse order."""
    for start, length, before in reversed(list(splices)):
        text = text[:start] + before + text[start + length :]
    return text


def blanked(text: str) -> str:
    """Blank out comments and trailing commas, so that plain JSON of the same length is left."""
    plain = uncommented(text)
    return re.sub(_STRING_OR_LAST_COMMA, lambda found: found[0] if found[1] is None else " " + found[2], plain)


def uncommented(text: str) -> str:
    """Blank out comments; the length stays, and trailing commas are kept."""
    return re.sub(_STRING_OR_COMMENT, _blank, text) if "/" in text else text


def _blank(found: re.Match[str]) -> str:
    piece = found[0]
    stays = piece.startswith('"') or (piece.startswith("/*") and found[1] is None)
    return piece if stays else re.sub(r"[^\r\n]", " ", piece)


Path = tuple[str | int, ...]
INDENT = "  "
_SPACE = " \t\r\n"


@frozen
class Item:
    """Member of an object or element of an array: where it starts, and where its value starts and ends."""

    key: str | int
    start: int
    value: int
    end: int


def read(text: str) -> Any:
    """Parse JSON; raise ValueError for NaN and Infinity, which a strict reader refuses."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


class JsonSheet(Sheet):
    """JSON file that is being edited. `data` follows every change of the text; `made` lists the containers that were
    added."""

    def __init__(self, text: str, *, comments: bool = False, commas: bool = False) -> None:
        super().__init__(text)
        self._comments = comments  # the client reads JSON with comments, which are kept
        self._commas = commas  # and with trailing commas
        self.data: Any = read(self._plain) if text.strip() else {}
        self.made: list[Path] = []
        if not text.strip():
            self.splice(0, len(text), "{}\n")

    @property
    def _plain(self) -> str:
        """Return the text as plain JSON, with every character at the same offset."""
        return (blanked if self._commas else uncommented)(self.text) if self._comments else self.text

    def at(self, path: Path) -> Any:
        """Return the value at a path, or None."""
        value = self.data
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def ensure(self, path: Path, empty: Any) -> None:
        """Add an empty container at the path if nothing is there; its parent must exist."""
        if self.at(path) is None:
            self.put(path, empty)
            self.made.append(path)

    def put(self, path: Path, value: Any) -> None:
        """Set the value at a path; a new member or element is added at the end."""
        parent, last = path[:-1], path[-1]
        opening, items, closing = self._container(parent)
        item = next((item for item in reversed(items) if item.key == last), None)
        if item is None:
            self._add(opening, items, closing, last, value)
        elif self.at(path) != value or type(self.at(path)) is not type(value):
            self.splice(item.value, item.end, self._render(value, _indent_at(self.text, item.start), "\n" in self.text))
        into, value = self.at(parent), json.loads(json.dumps(value))  # a copy that the caller cannot change
        if isinstance(into, list) and last == len(into):
            into.append(value)
        else:
            into[last] = value

    def append(self, path: Path, value: Any) -> None:
        """Add an element to the array at a path."""
        self.put((*path, len(self.at(path))), value)

    def remove(self, path: Path) -> None:
        """Remove a member or an element, with its comma."""
        _, items, _ = self._container(path[:-1])
        for place in reversed([n for n, item in enumerate(items) if item.key == path[-1]]):
            opening, items, closing = self._container(path[:-1])  # again, since offsets have changed
            start, end = _span_of(opening, items, closing, place)
            if self._comments and self.text[start:end] != self._plain[start:end]:
                self._cut_out(items, place)
            else:
                self.splice(start, end, "")
        del self.at(path[:-1])[path[-1]]

    def _cut_out(self, items: list[Item], place: int) -> None:
        """Remove an item and one comma, and keep every comment."""
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
        """Return the text; raise AssertionError if it does not hold the data."""
        if read(self._plain) != self.data:
            raise AssertionError("the text does not hold the data")
        return self.text

    def _container(self, path: Path) -> tuple[int, list[Item], int]:
        """Return where the object or array at a path opens, its items, and where it closes."""
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
        end = self._past_comments(last.end) if spread else last.end
        if end == last.end:
            self.splice(end, end, "," + added)
        elif "," in uncommented(self.text)[last.end : end]:  # keep the style of a trailing comma
            self.splice(end, end, added + ",")
        else:
            self.splice(end, end, added)
            self.splice(last.end, last.end, ",")

    def _past_comments(self, at: int) -> int:
        """Return the offset after the comments in the same line, which belong to the item before them."""
        found = self.text.find("\n", at)
        line = self.text[at : found if found >= 0 else len(self.text)].rstrip("\r")
        return at + len(line.rstrip()) if self._comments and "/" in line and not blanked(line).strip(" \t,") else at

    def _fill(self, opening: int, closing: int, name: str, value: Any) -> None:
        """Add the first item to an empty container."""
        indent = _indent_at(self.text, opening)
        inner = indent + self._unit()
        comments = self.text[opening + 1 : closing].rstrip() if self._comments else ""
        if "\n" not in self.text.strip(_SPACE) and len(self.text.strip(_SPACE)) > closing - opening + 1:
            self.splice(opening + 1, closing, comments + name + self._render(value, "", False))  # keep it on one line
            return
        body = comments + self.newline + inner + name + self._render(value, inner, True) + self.newline + indent
        self.splice(opening + 1, closing, body)

    def _gap(self, items: list[Item]) -> str:
        """Return the space between a comma and the next item of the same line."""
        if len(items) < 2:
            return " "
        between = self._plain[items[-2].end : items[-1].start]
        return between.partition(",")[2].replace("\r", "").replace("\n", "")

    def _unit(self) -> str:
        """Return the indentation of one level in this file."""
        found = re.search(r"\n([ \t]+)[\"\[{\w-]", self.text)
        return found[1] if found else INDENT

    def _render(self, value: Any, indent: str, spread: bool) -> str:
        if not spread:
            return json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit()).split("\n")
        return (self.newline + indent).join(lines)


def _span_of(opening: int, items: list[Item], closing: int, place: int) -> tuple[int, int]:
    """Return the span of an item with its comma and the space around it."""
    if len(items) == 1:
        return opening + 1, closing
    if place == len(items) - 1:
        return items[place - 1].end, items[place].end
    return items[place].start, items[place + 1].start


def _items(text: str, opening: int) -> tuple[list[Item], int]:
    """Return the items of the object or array that opens at an offset, and where it closes."""
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
    """Return the offset after the value that starts here."""
    if text[start] not in '{["':
        found = re.compile(r"[^\s,\]}]+").match(text, start)
        return found.end() if found else start
    depth = 0
    for token in re.compile(_TOKEN).finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _indent_at(text: str, at: int) -> str:
    """Return the white space at the beginning of the line."""
    start = text.rfind("\n", 0, at) + 1
    end = start
    while end < at and text[end] in " \t":
        end += 1
    return text[start:end]
