"""Confirmations as opencode-swarm writes them, and as ours.

Theirs name a phase of the project or, in the hive, a project: `{phase_number, confirmed_at, project_name}`. Ours name
one place: `phase:3`, `phase:3@other-project`, a project, or a day where nobody announced phases.
"""

from __future__ import annotations

import re

from swarmlore.domain.json_codec import from_iso, iso
from swarmlore.domain.records import Confirmation
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_PHASE = re.compile(r"phase:(0|[1-9]\d{0,8})(?:@(.+))?", re.DOTALL)
_NAMES = frozenset(("phase_number", "confirmed_at", "project_name", "where", "by"))


def sighting_from(item: Any, tier: str, project_name: str) -> Confirmation | None:
    """One confirmation, or None for something that is none. The oldest form is a bare word."""
    if isinstance(item, str):
        return Confirmation(item, 0.0) if item else None
    if not isinstance(item, dict) or not item.keys() <= _NAMES:
        return None
    where, by, at = _where(item, tier, project_name), item.get("by", ""), item.get("confirmed_at")
    if not where or not isinstance(by, str):
        return None
    try:
        return Confirmation(where, 0.0 if at is None else from_iso(at), by)
    except (ValueError, TypeError, OverflowError):
        return None


def _where(item: dict[str, Any], tier: str, project_name: str) -> str:
    phase, project = item.get("phase_number"), item.get("project_name", "")
    if not isinstance(project, str):
        return ""
    if "where" in item:
        return item["where"] if isinstance(item["where"], str) and phase is None else ""
    if isinstance(phase, int) and not isinstance(phase, bool) and 0 <= phase < 10**9:
        foreign = project and (tier == "hive" or project != project_name)
        return f"phase:{phase}@{project}" if foreign else f"phase:{phase}"
    return project if phase is None and tier == "hive" else ""


def sighting_to(item: Confirmation, tier: str, project_name: str) -> Any:
    """The other way: their form where it can say it, ours where not."""
    phase = _PHASE.fullmatch(item.where)
    if not item.at and not item.by and not phase:
        return item.where
    found: dict[str, Any]
    if phase and (phase[2] or tier != "hive") and phase[2] != (project_name or None):
        project = phase[2] or project_name
        found = {"phase_number": int(phase[1]), "project_name": project}
        if not project:
            del found["project_name"]
    elif tier == "hive":
        found = {"project_name": item.where}
    else:
        found = {"where": item.where}
    if item.at:
        found["confirmed_at"] = iso(item.at)
    if item.by:
        found["by"] = item.by
    return found
