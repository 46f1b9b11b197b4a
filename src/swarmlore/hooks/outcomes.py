"""How a task of a swarm ended, as its worker told a tool: what the memory-catcher begins with."""

from __future__ import annotations

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.hooks.payload import text
from swarmlore.rules.excerpts import excerpt, path

if TYPE_CHECKING:
    from typing import Any

TOOLS = ("swarm_complete", "swarm_record_outcome")
_TEXTS = {"summary": (1_500, 500), "evaluation": (2_500, 1_500), "failure_details": (500, 500)}
_NAMES = ("bead_id", "agent_name", "strategy", "failure_mode")
_COUNTS = ("duration_ms", "error_count", "retry_count")
_MOST_COUNT = 10**12
_MOST_FILES = 100


def outcome_of(tool_name: str, given: dict[str, Any]) -> dict[str, Any]:
    """`{"outcome": …}` for a call that reports one, cut and redacted; else nothing. Who completes a task succeeded."""
    if not tool_name.endswith(TOOLS):
        return {}
    found: dict[str, Any] = {name: excerpt(text(given, name), *_TEXTS[name]) for name in _TEXTS}
    found |= {name: excerpt(text(given, name)[:400], 100, 100) for name in _NAMES}
    found |= {name: given[name] for name in _COUNTS if _is_count(given.get(name))}
    found["files_touched"] = _paths(given.get("files_touched"))
    found["criteria"] = [excerpt(item, 200, 1) for item in _listed(given.get("criteria"))[:20]]
    said = given.get("success")
    kept = {name: value for name, value in found.items() if value or value == 0}
    return {"outcome": {**kept, "success": said if isinstance(said, bool) else True}}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_COUNT


def _listed(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


def _paths(value: Any) -> list[str]:
    return [path(name) for name in _listed(value)[:_MOST_FILES] if len(name) <= 4_096 and "\0" not in name]
