"""What is told about the end of a task, from any door, read as far as it says something. Pure.

What is of another type than it should be was not said; and what was not said is not made up: a task of which nobody
says how it ended has neither succeeded nor failed.
"""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.rules.structure import MAX_TAGS, MAX_WORD

if TYPE_CHECKING:
    from typing import Any


@frozen
class Account:
    """What a worker or a hook tells about the end of a task. `success` is None where nobody said how it ended."""

    success: bool | None = None
    task: str = ""
    summary: str = ""
    evaluation: str = ""
    details: str = ""  # of a failure
    files: tuple[str, ...] = ()
    errors: int = 0
    retries: int = 0
    duration_ms: float | None = None
    agent: str = ""
    strategy: str = ""
    failure_mode: str = ""
    criteria: tuple[str, ...] = ()
    sort: str = ""  # of task: research, scheduled, …
    tags: tuple[str, ...] = ()
    persist: bool = False

    @property
    def duration_s(self) -> float | None:
        return None if self.duration_ms is None else self.duration_ms / 1000

    @property
    def recovered(self) -> bool:
        """Whether errors were overcome."""
        return bool(self.success) and self.errors > 0


# By the names that the systems we come from use; the first that is there counts.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "success": ("success",),
    "task": ("task", "bead_id", "task_id", "taskId"),
    "summary": ("summary", "output", "result"),
    "evaluation": ("evaluation",),
    "details": ("failure_details", "failure_reason", "failureReason", "error"),
    "files": ("files_touched", "files"),
    "errors": ("error_count", "errors"),
    "retries": ("retry_count", "retries"),
    "duration_ms": ("duration_ms",),
    "agent": ("agent_name", "agent"),
    "strategy": ("strategy",),
    "failure_mode": ("failure_mode",),
    "criteria": ("criteria",),
    "sort": ("task_type", "taskType", "type"),
    "tags": ("tags",),
    "persist": ("persist", "persistMemory", "persist_memory"),
}
_FLAGS = ("success", "persist")
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")
_MOST_TEXT = 16_000
_MOST_ITEMS = 100
_MOST_COUNT = 1e12


def account_of(values: Mapping[str, Any]) -> Account:
    """The account in a report. Whoever tells of a failure without saying how the task ended means that it failed; a
    task that was done has no mode of failure."""
    nothing = Account()
    found: dict[str, Any] = {}
    for name, keys in _NAMES.items():
        typed = (_typed(name, getattr(nothing, name), values.get(key)) for key in keys)
        value = next((value for value in typed if value is not None), None)
        if value is not None:
            found[name] = value
    account = replace(nothing, **found)
    if account.success is None and (account.failure_mode or account.details):
        return replace(account, success=False)
    return replace(account, failure_mode="") if account.success else account


def flag(value: Any) -> bool | None:
    """Yes or no as programs and agents write it; None where it is neither."""
    word = str(value).strip().lower() if isinstance(value, (bool, int, str)) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def count(value: Any) -> float | None:
    """A number that counts something; None where it is none, NaN and infinities too."""
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _MOST_COUNT
    return value if usable else None


def usable_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Those tags that a memory can have."""
    kept = (tag for tag in tags if len(tag) <= MAX_WORD and tag.isprintable())
    return tuple(dict.fromkeys(kept))[:MAX_TAGS]


def _typed(name: str, default: Any, value: Any) -> Any:
    """A value in the type of its field, or nothing."""
    if name in _FLAGS:
        return flag(value)
    if isinstance(default, str):
        return value[:_MOST_TEXT] if isinstance(value, str) and value.strip() else None
    if isinstance(default, tuple):
        listed = _listed(value)
        return usable_tags(listed) if name == "tags" and listed else listed
    number = count(value)
    return number if number is None else float(number) if default is None else int(number)


def _listed(value: Any) -> tuple[str, ...] | None:
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)):
        return None
    return tuple(item.strip()[:400] for item in listed[:_MOST_ITEMS] if isinstance(item, str) and item.strip())
