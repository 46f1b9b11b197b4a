"""Notes found by reading their files: quick, without a store, a model or settings.

A file is understood in full only where one of the words is somewhere in it, and heads that are written plainly are read
without a YAML parser, which would take longer than all the rest.
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
    """A note that fits, and how well."""

    title: str
    category: str
    key_insight: str
    tags: tuple[str, ...]
    path: str
    score: int
    text: str


@frozen
class Head:
    """What is needed of a note to find it."""

    title: str
    category: str
    symptoms: tuple[str, ...]
    key_insight: str
    tags: tuple[str, ...]
    body: str


def scan(folder: str, query: str, category: str = "", tags: Sequence[str] = (), limit: int = 10) -> list[ScannedNote]:
    """The notes below a folder that have a word of the query, best first: title 100, symptoms 80, key insight 60, tags
    40, text 20. A category is a folder or what the note says; of tags all have to be there."""
    tokens = query_tokens(query)
    wanted = [_pattern(tag.strip()) for tag in tags if tag.strip()]
    found: list[tuple[float, ScannedNote]] = []
    for path in _paths(folder):
        try:
            text = read_text(path)
        except NotAllowed:
            continue  # a link, a device, another user's or no text: not one of the notes here
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
    """The notes below a folder, in order; links are not followed."""
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
    """A tag that is asked for may be a regular expression; what is none, such as `c++`, is meant as it stands."""
    try:
        return re.compile(f"(?:{tag})|{re.escape(tag)}", re.IGNORECASE)
    except re.error:
        return re.compile(re.escape(tag), re.IGNORECASE)


def _fits(head: Head, below: str, category: str, tags: Sequence[re.Pattern[str]]) -> bool:
    if category and category.lower() not in (below.lower(), head.category.lower()):
        return False
    return all(any(pattern.fullmatch(tag) for tag in head.tags) for pattern in tags)


def _head(text: str) -> Head | None:
    """The head of a note; None where it has no title, or cannot be read."""
    quick = _quick(text)
    if quick is None:
        return _thorough(text)
    fields, body = quick
    title = _text(fields, "title")
    if not title:
        return None
    lists = {name: _list(fields.get(name), commas=name == "tags") for name in ("symptoms", "tags")}
    said = {name: _text(fields, name) for name in ("category", "key_insight")}
    return Head(title, said["category"], lists["symptoms"], said["key_insight"], lists["tags"], body)


def _thorough(text: str) -> Head | None:
    from swarmlore.notes.note_format import parse_note

    try:
        note = parse_note(text)
    except SwarmloreError:
        return None
    if not note.title:
        return None
    return Head(note.title, note.category, note.symptoms, note.key_insight, note.tags, note.body)


def _quick(text: str) -> tuple[dict[str, Any], str] | None:
    """The fields of a head of plain lines, and the body; None where only a parser can tell."""
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
    """Takes the lines of a head one by one, as long as they are plain."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self._list: list[str] | None = None  # to which items below a name belong
        self._indent = -1

    def take(self, line: str) -> bool:
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
    """What stands behind a name: nothing (a list may follow), a list in one line, or a value; None for more."""
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
    """One plain or quoted value; None where it is more than that."""
    if not text or not text.isprintable():  # YAML knows more ends of lines than one
        return None
    mark = text[0]
    if mark in "\"'":
        inner = text[1:-1]
        return inner if len(text) > 1 and text[-1] == mark and mark not in inner and "\\" not in inner else None
    odd = not mark.isalnum() or ": " in text or " #" in text or text.endswith(":")
    return None if odd else text


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) and value not in ("~", "null") else ""


def _list(value: Any, *, commas: bool) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")] if commas else [value]
    return tuple(dict.fromkeys(item for item in value or () if item))
