"""Imports that come again after they were undone.

Taking an import back is a change of its own, newer than the file. So what the file says again is not held against the
memory as it is, but against what it was before the import, and it counts as said now.
"""

from __future__ import annotations

from collections.abc import Callable

from swarmlore.domain.policy.merge import Version, merge
from swarmlore.domain.records import Memory
from swarmlore.frozen import replace

TICK_S = 0.001  # the smallest difference of two times in a file


def said_again(
    version: Version,
    before: Memory | None,
    told: Version | None,
    local: Memory,
    now: float,
    settle: Callable[[Memory, Version], Memory],
) -> Version | None:
    """What a version says once more, as of now, or None where it adds nothing to what was there `before` the import;
    `told` is that as its line says it, `settle` what a memory is after a merge."""
    merged = version if told is None else merge(told, version)
    if version.gone if before is None else merged == told or settle(before, merged) == before:
        return None
    at = round(max(now, local.updated_at + TICK_S, (local.forgotten_at or 0.0) + TICK_S), 3)
    return replace(merged, deleted_at=at) if merged.gone else Version(replace(merged.memory, updated_at=at))
