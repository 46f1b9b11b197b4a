"""Lines of `knowledge-retractions.jsonl`: lessons that somebody took back, here or in opencode-swarm."""

from __future__ import annotations

import json
from collections.abc import Mapping

from swarmlore.domain.json_codec import from_iso, iso
from swarmlore.domain.language.similarity import normalize
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.workspace.jsonl import BadLine

if TYPE_CHECKING:
    from typing import Any


@frozen
class Retraction:
    """What was taken back, by whom and when, and the memories it was known to mean."""

    lesson: str
    normalized: str
    recorded_at: float
    reported_by: str
    swarm_ids: tuple[str, ...]
    hive_ids: tuple[str, ...]


def is_retraction(obj: Mapping[str, Any]) -> bool:
    """Whether an object is a retraction and no lesson."""
    return "retracted_lesson" in obj and "lesson" not in obj


def retraction_from(obj: Mapping[str, Any]) -> Retraction:
    """The retraction that an object describes; raises BadLine where nothing says what is meant."""
    lesson = obj.get("retracted_lesson")
    swarm, hive = _ids(obj.get("matched_swarm_ids")), _ids(obj.get("matched_hive_ids"))
    if not isinstance(lesson, str) or not (normalize(lesson) or swarm or hive):
        raise BadLine("no retracted lesson")
    by = obj.get("reported_by")
    return Retraction(lesson, normalize(lesson), _at(obj), by if isinstance(by, str) else "user", swarm, hive)


def retraction_line(retraction: Retraction, id: str) -> bytes:
    """A retraction as a line of its file."""
    said = {
        "id": id,
        "retracted_lesson": retraction.lesson,
        "normalized_lesson": retraction.normalized,
        "recorded_at": iso(retraction.recorded_at),
        "reported_by": retraction.reported_by,
        "matched_swarm_ids": list(retraction.swarm_ids),
        "matched_hive_ids": list(retraction.hive_ids),
    }
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _ids(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _at(obj: Mapping[str, Any]) -> float:
    try:
        return from_iso(obj["recorded_at"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return 0.0
