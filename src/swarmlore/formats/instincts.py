"""`.agents/instincts.yaml`: read leniently, and changed place by place.

A person keeps this file too. Only the values that change are written over, an instinct is added after the last one and
removed with its own lines; every other byte stays, be it a comment, an order, a way of quoting or an end of line. The
result is read again before anybody may store it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from swarmlore.codec import from_iso, iso
from swarmlore.errors import Conflict
from swarmlore.formats.yaml_text import Found, Listing, Scalar, Table, Unreadable, plain, read
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.rules.instincts import Instinct

if TYPE_CHECKING:
    from typing import Any

FOLDER = ".agents"
FILE = "instincts.yaml"
LIST = "instincts"
MOST = 2_000
_HAND = "change it by hand, or write one instinct below the other"
_TRUE = ("true", "yes", "on")
_NOT_WORDS = (*_TRUE, "y", "n", "no", "off", "false", "null", "nan", "inf")


@frozen
class Place:
    """An instinct and its table in the text."""

    instinct: Instinct
    table: Table
    number: int
    """Which item of the list it is."""


@frozen
class Sheet:
    """The file: its text as a tree, the instincts in it, and by line what could not be read as one."""

    found: Found
    places: tuple[Place, ...] = ()
    problems: tuple[tuple[int, str], ...] = ()

    @property
    def text(self) -> str:
        return self.found.text

    @property
    def instincts(self) -> tuple[Instinct, ...]:
        return tuple(place.instinct for place in self.places)


def parse(text: str) -> Sheet:
    """The instincts of a file's text; what is no instinct is told and left alone."""
    found = read(text)
    items = _items(found)
    if len(items) > MOST:
        raise Unreadable(f"it has more than {MOST} instincts", "prune it by hand")
    places: list[Place] = []
    problems, ids = [], set[str]()
    for number, item in enumerate(items):
        try:
            place = Place(_instinct(item), item, number)
            if place.instinct.id in ids:  # which of the two is meant by the id, nobody can tell
                raise ValueError(f"another instinct has the id {place.instinct.id}")
            ids.add(place.instinct.id)
            places.append(place)
        except ValueError as problem:
            problems.append((found.line(item.start) + 1, str(problem)))
    return Sheet(found, tuple(places), tuple(problems))


def _items(found: Found) -> Sequence[Any]:
    if found.root is None or (isinstance(found.root, Scalar) and not found.root.value):
        return ()
    if not isinstance(found.root, Table):
        raise Unreadable("it has no names at its top", f"begin with {LIST}:")
    listed = found.root.get(LIST)
    if _is_empty(listed):
        return ()
    if not isinstance(listed, Listing):
        raise Unreadable(f"{LIST} is no list", "write one instinct below the other, each after a dash")
    return listed.items


def _is_empty(node: Any) -> bool:
    """Nothing, or the words that YAML has for nothing."""
    return node is None or (isinstance(node, Scalar) and not node.quoted and node.value in ("", "~", "null"))


def _instinct(node: Any) -> Instinct:
    """Raises ValueError with the reason."""
    if not isinstance(node, Table):
        raise ValueError("no instinct: it is no mapping such as `rule: …`")
    said = {key.value: value for key, value in node.entries}

    def text(name: str) -> str:
        value = said.get(name)
        return value.value.strip() if isinstance(value, Scalar) and not _is_empty(value) else ""

    if not text("rule"):
        raise ValueError("no instinct: it has no rule")
    if not text("id"):
        raise ValueError("no instinct: it has no id")
    tags = said.get("tags")
    return Instinct(
        id=text("id"),
        rule=text("rule"),
        confidence=_share(text("confidence")),
        scope=text("scope") or "project",
        category=text("category"),
        created_at=_day(text("created")),
        reinforced_at=_day(text("last_reinforced")),
        reinforcements=_count(text("reinforcement_count")),
        source=text("source"),
        tags=tuple(tag.value for tag in tags.items if isinstance(tag, Scalar)) if isinstance(tags, Listing) else (),
        promoted=text("promoted").lower() in _TRUE,
    )


def _share(text: str) -> float:
    if not text:
        return 0.5
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError("its confidence is no number")
    return min(1.0, max(0.0, value))


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def _day(text: str) -> float | None:
    try:
        return from_iso(text)
    except (ValueError, OverflowError):
        return None


def day(at: float) -> str:
    """A day as the file writes it."""
    return str(iso(at))[:10]


# Changing


def changed(sheet: Sheet, id: str, values: Mapping[str, Any]) -> str:
    """The text with these fields of one instinct set."""
    text, wanted = sheet.text, plain(sheet.found.root)
    for name, value in values.items():
        sheet = parse(text)  # places move with every change
        place = next(place for place in sheet.places if place.instinct.id == id)
        start, end, fresh = _edit(sheet, place.table, name, value)
        text = text[:start] + fresh + text[end:]
        wanted[LIST][place.number][name] = _bare(value)
    return _checked(text, wanted)


def all_changed(sheet: Sheet, name: str, values: Mapping[str, Any]) -> str:
    """The text with one field of several instincts set, each by its id."""
    text, wanted = sheet.text, plain(sheet.found.root)
    for place in reversed(sheet.places):  # from the end: the places before a change stay where they are
        if place.instinct.id in values:
            value = values[place.instinct.id]
            start, end, fresh = _edit(sheet, place.table, name, value)
            text = text[:start] + fresh + text[end:]
            wanted[LIST][place.number][name] = _bare(value)
    return _checked(text, wanted)


def added(sheet: Sheet, values: Mapping[str, Any]) -> str:
    """The text with one more instinct, after all others."""
    start, end, fresh = _addition(sheet, values)
    wanted = plain(sheet.found.root) or {"version": "1"}
    before = wanted.get(LIST)
    item = {name: _bare(value) for name, value in values.items()}
    wanted[LIST] = [*(before if isinstance(before, list) else ()), item]
    return _checked(sheet.text[:start] + fresh + sheet.text[end:], wanted)


def removed(sheet: Sheet, ids: Sequence[str]) -> str:
    """The text without these instincts; comments above them stay."""
    gone = [place for place in sheet.places if place.instinct.id in ids]
    if not gone:
        return sheet.text
    found, text, listed = sheet.found, sheet.text, sheet.found.root.get(LIST)
    if listed.flow:
        raise _by_hand()
    for place in reversed(gone):
        first, last = _dash_line(found, listed, place.table), found.last_line(place.table)
        text = text[: found.starts[first]] + text[found.line_end(last) :]
    wanted, numbers = plain(found.root), {place.number for place in gone}
    wanted[LIST] = [item for number, item in enumerate(wanted[LIST]) if number not in numbers]
    return _checked(text, wanted)


def _edit(sheet: Sheet, table: Table, name: str, value: Any) -> tuple[int, int, str]:
    """What to write from where to where, for one field."""
    known = table.get(name)
    if known is not None:
        return known.start, known.end, _written(value, known, sheet.text)
    if table.flow:
        return table.end - 1, table.end - 1, f", {name}: {_literal(value)}"
    end = sheet.found.line_end(sheet.found.last_line(table))
    return end, end, _below(sheet.text, end, [f"{' ' * sheet.found.column(table.start)}{name}: {_literal(value)}"])


def _written(value: Any, known: Any, text: str) -> str:
    """A value in the way the one before it was written."""
    mark = text[known.start : known.start + 1] if isinstance(known, Scalar) else "|"
    if mark in ("|", ">") and known.start < known.end:
        raise _by_hand()
    if known.start == known.end:
        return " " + _literal(value)
    bare = str(_bare(value))
    if mark == "'" and known.quoted:
        return "'" + bare.replace("'", "''") + "'"
    return json.dumps(bare, ensure_ascii=False) if known.quoted else _literal(value)


def _addition(sheet: Sheet, values: Mapping[str, Any]) -> tuple[int, int, str]:
    """What to write from where to where, for one more instinct."""
    found, root, text = sheet.found, sheet.found.root, sheet.text
    if not isinstance(root, Table):
        return len(text), len(text), _below(text, len(text), ["version: 1", f"{LIST}:", *_lines(values, 2)])
    listed = root.get(LIST)
    if root.flow or (isinstance(listed, Listing) and listed.flow and listed.items):
        raise _by_hand()
    if isinstance(listed, Listing) and listed.items:
        end = found.line_end(found.last_line(listed))
        return end, end, _below(text, end, _lines(values, found.column(listed.start)))
    if listed is None:
        end = found.line_end(found.last_line(root))
        return end, end, _below(text, end, [f"{LIST}:", *_lines(values, 2)])
    # A list that is written as empty: what says so goes, a comment beside it stays.
    end = found.line_end(found.line(listed.end - (listed.end > listed.start)))
    beside = text[listed.end : end].rstrip()
    return len(text[: listed.start].rstrip(" ")), end, beside + _newline(text) + _below(text, 0, _lines(values, 2))


def _below(text: str, at: int, lines: Sequence[str]) -> str:
    """Lines to be put at a place, with the ends that the text has; a last line without one gets one."""
    before = _newline(text) if at and text[at - 1] != "\n" else ""
    return before + "".join(line + _newline(text) for line in lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _lines(values: Mapping[str, Any], column: int) -> list[str]:
    pairs = [f"{name}: {_literal(value)}" for name, value in values.items()]
    return [" " * column + ("  " if number else "- ") + pair for number, pair in enumerate(pairs)]


def _literal(value: Any) -> str:
    """A value as it is written anew: texts in quotes, names, days and numbers bare."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str) and not _is_word(value):
        return json.dumps(value, ensure_ascii=False)
    return str(_bare(value))


def _is_word(text: str) -> bool:
    """Whether a text means itself without quotes, whoever reads it: a name such as an id, or a day."""
    parts = text.split("-")
    if not all(part.isascii() and part.isalnum() for part in parts) or text.lower() in _NOT_WORDS:
        return False
    return text[0].isalpha() or [len(part) for part in parts] == [4, 2, 2]


def _bare(value: Any) -> Any:
    """A value as the tree tells it."""
    if isinstance(value, (list, tuple)):
        return [_bare(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _dash_line(found: Found, listed: Listing, table: Table) -> int:
    """The line with the dash of an item, which may stand above its first name."""
    mark = " " * found.column(listed.start) + "-"
    line = found.line(table.start)
    while not found.line_of(line).startswith(mark):
        line -= 1
        if line < found.line(listed.start):
            raise _by_hand()
    return line


def _checked(text: str, wanted: Any) -> str:
    """A text that says what it should, and nothing else than before."""
    try:
        root = read(text).root
    except Unreadable:
        raise _by_hand() from None
    said = plain(root)
    if isinstance(root, Table) and _is_empty(root.get(LIST)):
        said[LIST] = []
    if said != wanted:
        raise _by_hand()
    return text


def _by_hand() -> Conflict:
    return Conflict("this file cannot be changed without disturbing what is written in it", _HAND)
