"""JSON codec: records as JSON values for `--json`, HTTP and the audit log, with times in ISO 8601."""

from __future__ import annotations

import time
from collections.abc import Mapping

from swarmlore import errors
from swarmlore.domain.records import AuditRow, Citation, Confirmation, Memory, Outcomes, Situation
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, fields

if TYPE_CHECKING:
    from typing import Any

_NESTED = {"confirmed_by": Confirmation, "citations": Citation, "situations": Situation}
_TEXTS = ("tags", "entities", "supersedes")
_FIELDS = tuple(spec.name for spec in fields(Memory))
_TIMES = frozenset(name for name in _FIELDS if name.endswith("_at")) | {"valid_from", "valid_until"}
_PLAIN = {kind: tuple(spec.name for spec in fields(kind)) for kind in (*_NESTED.values(), Outcomes)}


def record_fields(record: Any) -> dict[str, Any]:
    """Return the fields of a small record as a dict."""
    return {name: getattr(record, name) for name in _PLAIN[type(record)]}


def memory_to_dict(memory: Memory) -> dict[str, Any]:
    """Return a memory as JSON values; times stay numbers."""
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
    """Return the memory that `memory_to_dict` serialised."""
    values = {name: data[name] for name in _FIELDS if name in data}
    for name in _TEXTS:
        values[name] = tuple(values.get(name, ()))
    for name, kind in _NESTED.items():
        values[name] = tuple(kind(**item) for item in values.get(name, ()))
    values["outcomes"] = Outcomes(**values.get("outcomes", {}))
    return Memory(**values)


def memory_to_public(memory: Memory) -> dict[str, Any]:
    """Return a memory as JSON values for people and programs: times in ISO 8601."""
    data = memory_to_dict(memory)
    for name in _TIMES:
        data[name] = iso(data[name])
    for name in ("confirmed_by", "situations"):
        for item in data[name]:
            item["at"] = iso(item["at"])
    return data


def iso(at: float | None) -> str | None:
    """Format seconds since the epoch as ISO 8601 in UTC with milliseconds, limited to the years 0001–9999."""
    if at is None:
        return None
    millis = min(max(round(at * 1000), -62_135_596_800_000), 253_402_300_799_999)
    whole, rest = divmod(millis, 1000)
    parts = time.gmtime(whole)
    return f"{parts.tm_year:04d}-{time.strftime('%m-%dT%H:%M:%S', parts)}.{rest:03d}Z"


def from_iso(text: str) -> float:
    """Parse ISO 8601 to seconds since the epoch; raises ValueError unless it is a date or date and time."""
    import calendar
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    moment = moment.astimezone(UTC)
    return round(calendar.timegm(moment.timetuple()) + moment.microsecond / 1_000_000, 3)


UNITS = {
    "notes": "file",
    "auto-memory": "file",
    "instincts": "rule",
    "memory-md": "item",
}  # counted by imports and exports


def plain(value: Any) -> Any:
    """Return any record, or collection of records, as JSON values."""
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
    """Return one audit row as JSON values, with the full memory before and after it."""
    former = None if row.before is None else memory_to_public(memory_from_dict(row.before))
    later = None if row.after is None else memory_to_public(memory_from_dict(row.after))
    return {**plain(row), "before": former, "after": later}


def failure(error: SwarmloreError) -> dict[str, Any]:
    """Return an error as JSON values: message, hint, a stable code, and the details of its class."""
    more = {name: plain(getattr(error, name)) for name in ("layer", "candidates") if hasattr(error, name)}
    return {"error": error.message, "hint": error.hint, "code": code_of(error), "exit_code": error.exit_code, **more}


def code_of(error: SwarmloreError) -> str:
    """Return the stable code of an error: its own, or the name of its class, such as NOT_FOUND for NotFound."""
    if hasattr(error, "code"):
        return str(error.code)
    name = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in name)
    return words.strip("_").upper()
