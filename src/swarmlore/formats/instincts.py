"""`.agents/instincts.yaml`: read leniently, and changed place by place.

A person keeps this file too. Only the values that change are written over, an instinct is added after the last one and
removed with its own lines; every other byte stays, be it a comment, an order, a way of quoting or an end of line. The
result is read again before anybody may store it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from swarmlore.domain.json_codec import from_iso, iso
from swarmlore.domain.pages.instincts import Instinct
from swarmlore.formats.yaml_edit import is_nothing, with_item, with_values, without_items
from swarmlore.formats.yaml_text import Found, Listing, Scalar, Table, Unreadable, read
from swarmlore.formats.yaml_written import TRUE
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

FOLDER = ".agents"
FILE = "instincts.yaml"
LIST = "instincts"
MOST = 2_000


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
    if is_nothing(listed):
        return ()
    if not isinstance(listed, Listing):
        raise Unreadable(f"{LIST} is no list", "write one instinct below the other, each after a dash")
    return listed.items


def _instinct(node: Any) -> Instinct:
    """Raises ValueError with the reason."""
    if not isinstance(node, Table):
        raise ValueError("no instinct: it is no mapping such as `rule: …`")
    said = {key.value: value for key, value in node.entries}

    def text(name: str) -> str:
        value = said.get(name)
        return value.value.strip() if isinstance(value, Scalar) and not is_nothing(value) else ""

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
        promoted=text("promoted").lower() in TRUE,
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
    place = next(place for place in sheet.places if place.instinct.id == id)
    return with_values(sheet.found, {(LIST, place.number, name): value for name, value in values.items()})


def all_changed(sheet: Sheet, name: str, values: Mapping[str, Any]) -> str:
    """The text with one field of several instincts set, each by its id."""
    places = [place for place in sheet.places if place.instinct.id in values]
    return with_values(sheet.found, {(LIST, place.number, name): values[place.instinct.id] for place in places})


def added(sheet: Sheet, values: Mapping[str, Any]) -> str:
    """The text with one more instinct, after all others."""
    found = sheet.found
    if is_nothing(found.root):
        return with_values(found, {("version",): 1, (LIST,): [values]})
    return with_item(found, (LIST,), values)


def removed(sheet: Sheet, ids: Sequence[str]) -> str:
    """The text without these instincts; comments above them stay."""
    return without_items(sheet.found, (LIST,), (place.number for place in sheet.places if place.instinct.id in ids))
