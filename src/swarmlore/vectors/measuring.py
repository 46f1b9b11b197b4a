"""How much of the exact answer a search by an index finds: measured on vectors that are there, for a moment only."""

from __future__ import annotations

import time
from collections.abc import Sequence

from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from swarmlore.vectors.local import VectorIndex
    from swarmlore.vectors.remote import RemoteVectors

TOP = 30
ENOUGH = 0.95  # of the exact first ones; less is worth a new index
QUESTIONS = 25


@frozen
class Measured:
    """The share of the exact first ones that was found, over so many questions."""

    recall: float
    questions: int

    @property
    def is_enough(self) -> bool:
        return self.recall >= ENOUGH


def measure(index: VectorIndex | RemoteVectors, partitions: Sequence[int], limit_s: float) -> Measured | None:
    """Hold the index against an exact search, with stored vectors as questions; at least one, then for so long."""
    deadline, found, asked = time.monotonic() + limit_s, 0.0, 0
    for row in index.some_rows(partitions, QUESTIONS):
        question = index.vector(row)
        if question is None:
            continue
        wanted = index.nearest_exactly(question, partitions, TOP)
        near = {seq for seq, _ in index.nearest(question, partitions, TOP)[0]}
        found, asked = found + len(near.intersection(wanted)) / max(1, len(wanted)), asked + 1
        if time.monotonic() > deadline:
            break
    return Measured(found / asked, asked) if asked else None
