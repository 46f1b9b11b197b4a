"""Values of foreign records: lenient parsing, and lossless round trips through our records.

On import a record is read into a memory and written again; fields that differ are kept in `extra`. On export kept
fields are used as long as they still agree with the memory, so a memory that was edited here goes out edited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

from swarmlore.domain.json_codec import from_iso
from swarmlore.domain.records import is_id
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace import jsonl

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from swarmlore.domain.records import Memory

    Fields: TypeAlias = dict[str, Any]


METADATA = "metadata/"  # prefix of fields that stand in a record's `metadata` object
MOST_TAGS = 20
MOST_TAG_CHARS = 64
MOST_SLUGS = 40
_EARLIEST, _LATEST = -62_135_596_800.0, 253_402_300_799.0  # the years 1 and 9999
_MILLIS, _MICROS = 1e11, 1e14  # from these on a time is in ms or µs: in seconds it would be past the year 5138
_DIGITS = re.compile(r"-?\d{9,18}(\.\d{1,9})?")
_SLUG = re.compile(r"(?:project|feature|agent|person|business|chore):[a-z0-9-]+")
_MOST_COUNT = 2**31


def moment(value: Any) -> float | None:
    """Parse a time from ISO 8601 (UTC without a zone), or from seconds, ms or µs since 1970; None if it is none."""
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
    """Parse a finite number, also from a text; None if it is none."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0.0:
        return None
    return float(value)


def count(value: Any) -> int | None:
    """Parse a whole number from 0 to 2**31 - 1; None if it is none."""
    parsed = number(value)
    return int(parsed) if parsed is not None and 0 <= parsed < _MOST_COUNT and parsed == int(parsed) else None


def plain_number(value: float) -> float | int:
    """Return a whole float as an int, so that JSON shows no fraction."""
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def text(value: Any) -> str:
    """Return a text unchanged, and anything else as an empty text."""
    return value if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    """Return the texts in a list, in a JSON list, or in a text with commas."""
    if isinstance(value, str):
        listed = parsed(value.strip()) if value.strip().startswith("[") else None
        value = listed if isinstance(listed, list) else value.split(",")
    if not isinstance(value, list | tuple):
        return []
    return [item.strip() for item in value if isinstance(item, str) and item.strip()]


def tags(*values: Any) -> tuple[str, ...]:
    """Return the distinct tags in these values, at most 20 of at most 64 characters."""
    found = (tag for value in values for tag in texts(value))
    fit = (tag for tag in found if len(tag) <= MOST_TAG_CHARS and tag.isprintable())
    return tuple(dict.fromkeys(fit))[:MOST_TAGS]


def slugs(*values: Any) -> tuple[str, ...]:
    """Return the texts in these values that have the form of our entities, such as `feature:login`; at most 40."""
    found = (slug.lower() for value in values for slug in texts(value))
    return tuple(dict.fromkeys(slug for slug in found if _SLUG.fullmatch(slug)))[:MOST_SLUGS]


def ids(*values: Any) -> tuple[str, ...]:
    """Return the texts in these values that have the form of our ids."""
    found = (id for value in values for id in texts(value))
    return tuple(dict.fromkeys(id for id in found if is_id(id)))


def parsed(json_text: str) -> Any:
    """Parse JSON under the limits of our files; None if it is invalid or exceeds them."""
    try:
        return jsonl.parse_object(f'{{"value":{json_text}}}'.encode()).get("value")
    except (jsonl.BadLine, UnicodeEncodeError):
        return None


def mapping(value: Any) -> dict[str, Any] | None:
    """Return a mapping as a dict, also one written as JSON; None if it is none."""
    if isinstance(value, str):
        value = parsed(value)
    return dict(value) if isinstance(value, Mapping) else None


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the fields that are None."""
    return {name: value for name, value in values.items() if value is not None}


def dumped(value: Any) -> str:
    """Return a value as one line of JSON."""
    return jsonl.dump(value).decode("utf-8")


def first(values: Iterable[Any]) -> Any:
    """Return the first value that is not None."""
    return next((value for value in values if value is not None), None)


def difference(had: Mapping[str, Any], made: Mapping[str, Any], leave: tuple[str, ...] = ()) -> Fields:
    """Return how a record differs from the one we would write: extra fields in `has`, missing names in `lacks`."""
    has = {name: value for name, value in had.items() if name not in leave and not _same(value, made, name)}
    lacks = [name for name in made if name not in had and name not in leave]
    return {**({"has": has} if has else {}), **({"lacks": lacks} if lacks else {})}


def _same(value: Any, made: Mapping[str, Any], name: str) -> bool:
    if name not in made:
        return False
    other = made[name]
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def applied(made: Mapping[str, Any], kept: Any) -> Fields:
    """Apply a stored difference to the record we would write, which gives the original record."""
    has, lacks = parts(kept)
    return {**{name: value for name, value in made.items() if name not in lacks}, **has}


def parts(kept: Any) -> tuple[Fields, list[str]]:
    """Return the fields and the missing names of a stored difference; empty for anything else."""
    if not isinstance(kept, Mapping):
        return {}, []
    has, lacks = kept.get("has"), kept.get("lacks")
    return (
        dict(has) if isinstance(has, Mapping) else {},
        [name for name in lacks if isinstance(name, str)] if isinstance(lacks, list | tuple) else [],
    )


def restored(made: Fields, kept: Any, read: Callable[[Fields], Memory]) -> Fields:
    """Return the record of a memory with those original fields that still read back as the same memory."""
    original = applied(made, kept)
    if original == made:
        return made
    meant = read(made)

    def fits(record: Fields) -> bool:
        return read(record) == meant

    if fits(original):
        return original
    has, lacks = parts(kept)
    record = made
    for name, value in has.items():
        trial = {**record, name: value}
        record = trial if fits(trial) else record
    for name in lacks:
        trial = {key: value for key, value in record.items() if key != name}
        record = trial if fits(trial) else record
    return record


def flat(obj: Mapping[str, Any]) -> Fields:
    """Lift the fields of `metadata` beside the others, under a prefix; metadata that is no object stays as it is."""
    metadata = mapping(obj.get("metadata"))
    if metadata is None:
        return dict(obj)
    rest = {name: value for name, value in obj.items() if name != "metadata"}
    return {**rest, **{METADATA + name: value for name, value in metadata.items()}}


def unflat(record: Mapping[str, Any]) -> Fields:
    """Undo `flat`."""
    metadata = {name.removeprefix(METADATA): value for name, value in record.items() if name.startswith(METADATA)}
    rest = {name: value for name, value in record.items() if not name.startswith(METADATA)}
    return {**rest, "metadata": metadata} if metadata else rest


def kept_by(memory: Memory, format: str) -> Fields:
    """Return what `extra` keeps of the record in this format."""
    kept = memory.extra.get(format)
    return dict(kept) if isinstance(kept, Mapping) else {}


def fingerprint(text: str) -> str:
    """Return a digest of a text without surrounding space; it tells whether the text was edited since the import."""
    return blake2b(text.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()


def kept_for_text(memory: Memory, format: str, of_the_text: tuple[str, ...]) -> Fields:
    """Like `kept_by`, without the fields that only hold for the original text if the text was edited."""
    kept = kept_by(memory, format)
    if kept.get("of") == fingerprint(memory.text):
        return kept
    has, _ = parts(kept)
    return {**kept, "has": {name: value for name, value in has.items() if name not in of_the_text}}
