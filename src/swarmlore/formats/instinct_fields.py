"""What an instinct's entry in its file says, name by name."""

from __future__ import annotations

from swarmlore.domain.pages.instincts import Instinct
from swarmlore.formats.instincts import day
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def all_fields(one: Instinct) -> dict[str, Any]:
    """A new instinct in the order of the seed's example; what is not known is left out."""
    born, confirmed = one.created_at, one.created_at if one.reinforced_at is None else one.reinforced_at
    said: dict[str, Any] = {
        "id": one.id,
        "rule": one.rule,
        "confidence": float(one.confidence),
        "scope": one.scope,
        "category": one.category,
        "created": "" if born is None else day(born),
        "last_reinforced": "" if confirmed is None else day(confirmed),
        "reinforcement_count": one.reinforcements or "",
        "source": one.source,
        "tags": list(one.tags),
    }
    said = {name: value for name, value in said.items() if value not in ("", [])}
    return {**said, "promoted": True} if one.promoted else said


def changed_fields(after: Instinct, before: Instinct) -> dict[str, Any]:
    """What has to be written where an instinct has changed."""
    said: dict[str, Any] = {}
    if after.confidence != before.confidence:
        said["confidence"] = float(after.confidence)
    if after.reinforced_at is not None and after.reinforced_at != before.reinforced_at:
        said["last_reinforced"] = day(after.reinforced_at)
    if after.reinforcements != before.reinforcements:
        said["reinforcement_count"] = after.reinforcements
    if after.promoted != before.promoted:
        said["promoted"] = after.promoted
    return said
