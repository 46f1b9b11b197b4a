"""What `--json` prints: records as JSON values, times in ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore import errors
from swarmlore.codec import iso, memory_from_dict, memory_to_public
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.records import AuditRow, Memory

if TYPE_CHECKING:
    from typing import Any

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
