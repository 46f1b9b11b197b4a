"""How a task of a swarm ended, as its worker told a tool: what the memory-catcher begins with."""

from __future__ import annotations

from swarmlore.domain.extraction.lesson_text import excerpt, path
from swarmlore.domain.extraction.task_reports import count, flag
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.hooks.payload import inner, text, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TOOLS = ("swarm_complete", "swarm_record_outcome")
_TEXTS = {"summary": (1_500, 500), "evaluation": (2_500, 1_500), "failure_details": (500, 500)}
_NAMES = ("bead_id", "agent_name", "strategy", "failure_mode", "task_type")
_COUNTS = ("duration_ms", "error_count", "retry_count")
_LISTS = {"criteria": 20, "tags": 20}
_MOST_FILES = 100
_ANSWERS = ("tool_response", "output", "toolResult", "tool_result")


def outcome_of(tool_name: str, given: dict[str, Any]) -> dict[str, Any]:
    """`{"outcome": …}` for a call that reports one, cut and redacted; else nothing. Whoever completes a task and says
    nothing else has succeeded; whoever records an outcome has to say so."""
    if not tool_name.endswith(TOOLS):
        return {}
    found: dict[str, Any] = {name: excerpt(text(given, name), *_TEXTS[name]) for name in _TEXTS}
    found |= {name: excerpt(text(given, name)[:400], 100, 100) for name in _NAMES}
    found |= {name: given[name] for name in _COUNTS if count(given.get(name)) is not None}
    found["files_touched"] = _paths(given.get("files_touched"))
    found |= {
        name: [excerpt(item, 200, 1) for item in _listed(given.get(name))[:most]] for name, most in _LISTS.items()
    }
    kept = {name: value for name, value in found.items() if value or value == 0}
    flags = {name: value for name in ("success", "persist") if (value := flag(given.get(name))) is not None}
    if tool_name.endswith(TOOLS[0]) and not (kept.get("failure_mode") or kept.get("failure_details")):
        flags.setdefault("success", True)
    return {"outcome": {**kept, **flags}}


def is_refused(payload: Mapping[str, Any]) -> bool:
    """Whether a tool answered that it did not do what it was asked: an error, or JSON that says `success: false`."""
    answers = [payload[name] for name in _ANSWERS if name in payload]
    if any(isinstance(answer, dict) and _says_no(answer) for answer in answers):
        return True
    said = words_of(inner(dict(payload), "output").get("output") or answers, 20_000).strip()
    if not said.startswith("{"):
        return False
    import json

    try:
        told = json.loads(said)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and _says_no(told)


def _says_no(answer: dict[str, Any]) -> bool:
    return answer.get("isError") is True or answer.get("is_error") is True or answer.get("success") is False


def _listed(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


def _paths(value: Any) -> list[str]:
    return [path(name) for name in _listed(value)[:_MOST_FILES] if len(name) <= 4_096 and "\0" not in name]
