"""What of a foreign record our own has no place for, kept so that the record can be written as it was.

A record is read into a memory, and the memory written again; wherever the two differ, the former value is kept. When
the memory is written later it is used again, but only as far as it still says what the memory says: a memory that was
changed here goes out changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from swarmlore.domain.json_codec import from_iso
from swarmlore.domain.records import is_id
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace import jsonl

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from swarmlore.domain.records import Memory

    Fields: TypeAlias = dict[str, Any]


MOST_TAGS = 20
MOST_TAG_CHARS = 64
MOST_SLUGS = 40
_EARLIEST, _LATEST = -62_135_596_800.0, 253_402_300_799.0  # the years 1 and 9999
_MILLIS, _MICROS = 1e11, 1e14  # seconds of the year 5138, milliseconds of that
_DIGITS = re.compile(r"-?\d{9,18}(\.\d{1,9})?")
_SLUG = re.compile(r"(?:project|feature|agent|person|business|chore):[a-z0-9-]+")
_MOST_COUNT = 2**31


def moment(value: Any) -> float | None:
    """A time from ISO 8601 (without a zone: UTC), or from seconds, milliseconds or microseconds since 1970."""
    if isinstance(value, str):
        text = value.strip()
        if _DIGITS.fullmatch(text):
            return moment(float(text))
        try:
            at = from_iso(text) if text[:4].isdigit() else None
        except (ValueError, OverflowError):
            return None
        return at if at is not None and _EARLIEST <= at <= _LATEST else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    size = abs(value)
    at = value / 1e6 if size >= _MICROS else value / 1e3 if size >= _MILLIS else float(value)
    return round(at, 3) if _EARLIEST <= at <= _LATEST else None


def number(value: Any) -> float | None:
    """A number, also one that is written as a text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0.0:
        return None
    return float(value)


def count(value: Any) -> int | None:
    """A whole number from nought."""
    found = number(value)
    return int(found) if found is not None and 0 <= found < _MOST_COUNT and found == int(found) else None


def plain_number(value: float) -> float | int:
    """A number as it is usually written: without a fraction where there is none."""
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    """The texts of a list, of a list written as JSON, or of a text with commas."""
    if isinstance(value, str):
        said = value.strip()
        listed = parsed(said) if said.startswith("[") else None
        value = listed if isinstance(listed, list) else said.split(",")
    if not isinstance(value, list | tuple):
        return []
    return [item.strip() for item in value if isinstance(item, str) and item.strip()]


def tags(*values: Any) -> tuple[str, ...]:
    """The tags that these values name, as many as a memory can have."""
    found = (tag for value in values for tag in texts(value))
    fit = (tag for tag in found if len(tag) <= MOST_TAG_CHARS and tag.isprintable())
    return tuple(dict.fromkeys(fit))[:MOST_TAGS]


def slugs(*values: Any) -> tuple[str, ...]:
    """The entities among these values that are written as ours are."""
    found = (slug.lower() for value in values for slug in texts(value))
    return tuple(dict.fromkeys(slug for slug in found if _SLUG.fullmatch(slug)))[:MOST_SLUGS]


def ids(*values: Any) -> tuple[str, ...]:
    found = (id for value in values for id in texts(value))
    return tuple(dict.fromkeys(id for id in found if is_id(id)))


def parsed(said: str) -> Any:
    """What a text of JSON says, or None where it is none that could be kept."""
    try:
        return jsonl.parse_object(f'{{"value":{said}}}'.encode()).get("value")
    except (jsonl.BadLine, UnicodeEncodeError):
        return None


def mapping(value: Any) -> dict[str, Any] | None:
    """An object, also one that is written as JSON."""
    if isinstance(value, str):
        value = parsed(value)
    return dict(value) if isinstance(value, Mapping) else None


def without_nothing(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def dumped(value: Any) -> str:
    return jsonl.dump(value).decode("utf-8")


def first(values: Iterable[Any]) -> Any:
    """The first value that is there."""
    return next((value for value in values if value is not None), None)


def difference(had: Mapping[str, Any], made: Mapping[str, Any], leave: tuple[str, ...] = ()) -> Fields:
    """What a record has or lacks beside what we would write."""
    has = {name: value for name, value in had.items() if name not in leave and not _same(value, made, name)}
    lacks = [name for name in made if name not in had and name not in leave]
    return {**({"has": has} if has else {}), **({"lacks": lacks} if lacks else {})}


def _same(value: Any, made: Mapping[str, Any], name: str) -> bool:
    if name not in made:
        return False
    other = made[name]
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def applied(made: Mapping[str, Any], kept: Any) -> Fields:
    """The record as it was."""
    has, lacks = parts(kept)
    return {**{name: value for name, value in made.items() if name not in lacks}, **has}


def parts(kept: Any) -> tuple[Fields, list[str]]:
    if not isinstance(kept, Mapping):
        return {}, []
    has, lacks = kept.get("has"), kept.get("lacks")
    return (
        dict(has) if isinstance(has, Mapping) else {},
        [name for name in lacks if isinstance(name, str)] if isinstance(lacks, list | tuple) else [],
    )


def restored(made: Fields, kept: Any, read: Callable[[Fields], Memory]) -> Fields:
    """The record of a memory, with whatever of its former shape says the same."""
    whole = applied(made, kept)
    if whole == made:
        return made
    meant = read(made)

    def fits(record: Fields) -> bool:
        return read(record) == meant

    if fits(whole):
        return whole
    has, lacks = parts(kept)
    record = made
    for name, value in has.items():
        trial = {**record, name: value}
        record = trial if fits(trial) else record
    for name in lacks:
        trial = {key: value for key, value in record.items() if key != name}
        record = trial if fits(trial) else record
    return record
