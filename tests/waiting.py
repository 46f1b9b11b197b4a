"""Waiting for what another process or thread does: the only place of the suite that reads a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 120.0  # so much that two cores under a load of ten never need it: no test asserts how long something takes
PAUSE_S = 0.02
Found = TypeVar("Found")


def wait_until(
    condition: Callable[[], Found], what: str, facts: Callable[[], object] = str, pause_s: float = PAUSE_S
) -> Found:
    """The first answer of `condition` that is true; a failure says what was waited for, and `facts`."""
    deadline = Deadline(what)
    while not (found := condition()):
        deadline.check(facts)
        time.sleep(pause_s)
    return found


class Deadline:
    """Patience for something that is not asked for but listened to, as with `select`."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._ends_at = time.monotonic() + PATIENCE_S

    def left_s(self) -> float:
        return max(0.0, self._ends_at - time.monotonic())

    def check(self, facts: Callable[[], object] = str) -> None:
        assert self.left_s() > 0, f"waited {PATIENCE_S:.0f} s for this in vain: {self._what} {facts()}"
