"""What `--json` prints: records as JSON values, times in ISO 8601."""

from __future__ import annotations

import time
from collections.abc import Mapping

from swarmlore import errors
from swarmlore.domain.records import AuditRow, Citation, Confirmation, Memory, Outcomes, Situation
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, fields

if TYPE_CHECKING:
    from typing import Any


_NESTED = {
    "confirmed_by": Confirmation,
    "citations": Citation,
    "situations": Situation,
}
_TEXTS = ("tags", "entities", "supersedes")
_FIELDS = tuple(spec.name for spec in fields(Memory))
_TIMES = frozenset(name for name in _FIELDS if name.endswith("_at")) | {"valid_from", "valid_until"}
_PLAIN = {kind: tuple(spec.name for spec in fields(kind)) for kind in (*_NESTED.values(), Outcomes)}


def record_fields(record: Any) -> dict[str, Any]:
    """The fields of a small record as a dict."""
    return {name: getattr(record, name) for name in _PLAIN[type(record)]}


def memory_to_dict(memory: Memory) -> dict[str, Any]:
    """The whole record as JSON values; times stay numbers."""
    data = {name: getattr(memory, name) for name in _FIELDS}
    for name in _TEXTS:
        data[name] = list(data[name])
    for name in _NESTED:
        data[name] = [record_fields(item) for item in data[name]]
    data["outcomes"] = record_fields(memory.outcomes)
    data["source_ref"] = dict(memory.source_ref)
    data["extra"] = dict(memory.extra)
    return data


def memory_from_dict(data: Mapping[str, Any]) -> Memory:
    """The record that `memory_to_dict` took apart."""
    values = {name: data[name] for name in _FIELDS if name in data}
    for name in _TEXTS:
        values[name] = tuple(values.get(name, ()))
    for name, kind in _NESTED.items():
        values[name] = tuple(kind(**item) for item in values.get(name, ()))
    values["outcomes"] = Outcomes(**values.get("outcomes", {}))
    return Memory(**values)


def memory_to_public(memory: Memory) -> dict[str, Any]:
    """The record as people and programs read it: times in ISO 8601."""
    data = memory_to_dict(memory)
    for name in _TIMES:
        data[name] = iso(data[name])
    for name in ("confirmed_by", "situations"):
        for item in data[name]:
            item["at"] = iso(item["at"])
    return data


def iso(at: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC with milliseconds; years outside 0001–9999 are held at the edge."""
    if at is None:
        return None
    millis = min(max(round(at * 1000), -62_135_596_800_000), 253_402_300_799_999)
    whole, rest = divmod(millis, 1000)
    parts = time.gmtime(whole)
    return f"{parts.tm_year:04d}-{time.strftime('%m-%dT%H:%M:%S', parts)}.{rest:03d}Z"


def from_iso(text: str) -> float:
    """Seconds since the epoch; raises ValueError for anything that is not a date or date and time."""
    import calendar
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    moment = moment.astimezone(UTC)
    return round(calendar.timegm(moment.timetuple()) + moment.microsecond / 1_000_000, 3)


UNITS = {"notes": "file", "auto-memory": "file", "instincts": "rule", "memory-md": "item"}  # of formats in and out


def plain(value: Any) -> Any:
    """Any record, or collection of records, as JSON values."""
    if isinstance(value, Memory):
        return memory_to_public(value)
    if hasattr(value, "__frozen_fields__"):
        return {name: _field(name, getattr(value, name)) for name in value.__frozen_fields__}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _field(name: str, value: Any) -> Any:
    is_time = (name == "at" or name.endswith("_at")) and not isinstance(value, str)
    return iso(value) if is_time else plain(value)


def change(row: AuditRow) -> dict[str, Any]:
    """One row of a history, with the whole record before and after it."""
    former = None if row.before is None else memory_to_public(memory_from_dict(row.before))
    later = None if row.after is None else memory_to_public(memory_from_dict(row.after))
    return {**plain(row), "before": former, "after": later}


def failure(error: SwarmloreError) -> dict[str, Any]:
    """An error for programs: message, hint, a code that does not change, and what else the error knows."""
    more = {name: plain(getattr(error, name)) for name in ("layer", "candidates") if hasattr(error, name)}
    return {
        "error": error.message,
        "hint": error.hint,
        "code": code_of(error),
        "exit_code": error.exit_code,
        **more,
    }


def code_of(error: SwarmloreError) -> str:
    """NOT_FOUND for NotFound: the name of the error's public class, or what it says itself."""
    if hasattr(error, "code"):
        return str(error.code)
    name = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in name)
    return words.strip("_").upper()
