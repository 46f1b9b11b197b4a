"""Search note files directly, without store, model or settings; used for fast keyword search.

A file is parsed only if it contains a query word, and plain front matter is read without a YAML parser, which would
take longer than everything else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from swarmlore.domain.policy.ranking import field_score, query_tokens
from swarmlore.errors import NotAllowed, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.notes.locations import MOST_FILES, is_note, read_text

if TYPE_CHECKING:
    from typing import Any


_HEAD_LINES = 400


@frozen
class ScannedNote:
    """A matching note and its score."""

    title: str
    category: str
    key_insight: str
    tags: tuple[str, ...]
    path: str
    score: int
    text: str


@frozen
class Head:
    """The fields of a note that the search scores."""

    title: str
    category: str
    symptoms: tuple[str, ...]
    key_insight: str
    tags: tuple[str, ...]
    body: str


def scan(folder: str, query: str, category: str = "", tags: Sequence[str] = (), limit: int = 10) -> list[ScannedNote]:
    """Return the notes below a folder that contain a query word, best first. Weights: title 100, symptoms 80, key
    insight 60, tags 40, body 20. A category matches folder or field; all tags must match."""
    tokens = query_tokens(query)
    wanted = [_pattern(tag.strip()) for tag in tags if tag.strip()]
    found: list[tuple[float, ScannedNote]] = []
    for path in _paths(folder):
        try:
            text = read_text(path)
        except NotAllowed:
            continue  # skip links, devices, binary files and files of other users
        lowered = text.lower()
        if not any(token in lowered for token in tokens):
            continue
        below = _first_folder(folder, path)
        head = _head(text)
        if head is None or not _fits(head, below, category, wanted):
            continue
        score = field_score(query, head.title, head.symptoms, head.key_insight, head.tags, head.body)
        if score > 0:
            kind = head.category or below
            facts = (head.title, kind, head.key_insight, head.tags, path, round(score), text)
            found.append((score, ScannedNote(*facts)))
    found.sort(key=lambda item: (-item[0], item[1].path))
    return [note for _, note in found[:limit]]


def _paths(folder: str) -> Iterator[str]:
    """Yield the notes below a folder in order; links are not followed."""
    count = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if is_note(name) and not name.startswith("."):
                count += 1
                if count > MOST_FILES:
                    return
                yield os.path.join(root, name)


def _first_folder(folder: str, path: str) -> str:
    below = os.path.relpath(path, folder).split(os.sep)
    return below[0] if len(below) > 1 else ""


def _pattern(tag: str) -> re.Pattern[str]:
    """Compile a tag as a regular expression, or literally if it is invalid (`c++`)."""
    try:
        return re.compile(f"(?:{tag})|{re.escape(tag)}", re.IGNORECASE)
    except re.error:
        return re.compile(re.escape(tag), re.IGNORECASE)


def _fits(head: Head, below: str, category: str, tags: Sequence[re.Pattern[str]]) -> bool:
    if category and category.lower() not in (below.lower(), head.category.lower()):
        return False
    return all(any(pattern.fullmatch(tag) for tag in head.tags) for pattern in tags)


def _head(text: str) -> Head | None:
    """Return the searchable fields of a note; None without a title or if it is unreadable."""
    simple = _simple_fields(text)
    if simple is None:
        return _parsed_head(text)
    fields, body = simple
    title = _text(fields, "title")
    if not title:
        return None
    lists = {name: _list(fields.get(name), commas=name == "tags") for name in ("symptoms", "tags")}
    texts = {name: _text(fields, name) for name in ("category", "key_insight")}
    return Head(title, texts["category"], lists["symptoms"], texts["key_insight"], lists["tags"], body)


def _parsed_head(text: str) -> Head | None:
    from swarmlore.notes.note_format import parse_note

    try:
        note = parse_note(text)
    except SwarmloreError:
        return None
    if not note.title:
        return None
    return Head(note.title, note.category, note.symptoms, note.key_insight, note.tags, note.body)


def _simple_fields(text: str) -> tuple[dict[str, Any], str] | None:
    """Parse simple front matter line by line; None if it needs a YAML parser."""
    lines = text.removeprefix("\ufeff").split("\n", _HEAD_LINES)
    if lines[0].rstrip() != "---":
        return {}, text
    head = _Lines()
    for number, line in enumerate(lines[1:], start=1):
        line = line.rstrip(" \r")
        if line == "---":
            return head.fields, "\n".join(lines[number + 1 :])
        if line and not head.take(line):
            return None
    return None


class _Lines:
    """Parser for simple front matter; each method returns False (or None) if a line needs a YAML parser."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self._list: list[str] | None = None  # list that `- item` lines are added to
        self._indent = -1

    def take(self, line: str) -> bool:
        """Parse the next line; return False if it is not simple."""
        item = line.lstrip(" ")
        return (
            self._take_item(item[2:].strip(" "), len(line) - len(item)) if item.startswith("- ") else self._name(line)
        )

    def _take_item(self, text: str, indent: int) -> bool:
        value = _value(text)
        if value is None or self._list is None or self._indent not in (-1, indent):
            return False
        self._indent = indent
        self._list.append(value)
        return True

    def _name(self, line: str) -> bool:
        name, colon, rest = line.partition(":")
        plain = colon and name.replace("_", "").replace("-", "").isalnum() and (not rest or rest[0] == " ")
        value = _flow(rest.strip(" ")) if plain and name not in self.fields else None
        if value is None:
            return False
        self.fields[name] = value
        self._list, self._indent = (value if not rest.strip(" ") else None), -1
        return True


def _flow(text: str) -> Any:
    """Parse the text after a colon: nothing (a list may follow), a flow list or a value; None if it is more complex."""
    if not text:
        return []
    if not text.startswith("["):
        return _value(text)
    inside = text[1:-1].strip() if text.endswith("]") else "["
    if any(mark in inside for mark in "[]{}#\"'"):
        return None
    parts = [part.strip() for part in inside.split(",")] if inside else []
    return None if any(_value(part) is None for part in parts if part) else [part for part in parts if part]


def _value(text: str) -> str | None:
    """Return a plain or quoted scalar; None if it is more complex."""
    if not text or not text.isprintable():  # YAML treats some control characters as line ends
        return None
    quote = text[0]
    if quote in "\"'":
        inner = text[1:-1]
        return inner if len(text) > 1 and text[-1] == quote and quote not in inner and "\\" not in inner else None
    is_complex = not quote.isalnum() or ": " in text or " #" in text or text.endswith(":")
    return None if is_complex else text


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) and value not in ("~", "null") else ""


def _list(value: Any, *, commas: bool) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")] if commas else [value]
    return tuple(dict.fromkeys(item for item in value or () if item))
