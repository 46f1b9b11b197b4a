"""Which word pieces are common among the memories of a partition.

The rarer a piece of a question, the more it counts. Counting takes some milliseconds and a swarm writes all the time:
a count is kept until a hundredth of what it was taken from has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from swarmlore.domain.language.late_interaction import VOCABULARY, piece_frequencies
from swarmlore.frozen import frozen

SAMPLE = 5_000  # memories of a partition from which it is learnt, the newest
TOLERATED = 0.01
MOST_COUNTED = 256  # partitions whose count is kept

Read = Callable[[int], Iterable[bytes]]


@frozen
class Counted:
    """In how many of some memories of a partition each piece occurs."""

    pieces: NDArray[np.intp]
    times: NDArray[np.int64]
    memories: int
    news: int  # changes of the partition before it was counted


class Common:
    """The counts of the partitions that were asked for. It keeps no `read`: that would make a cycle with the index."""

    def __init__(self) -> None:
        self._news: dict[int, int] = {}
        self._counted: dict[int, Counted] = {}

    def changed(self, partition: int) -> None:
        """A memory of this partition came, went or changed."""
        self._news[partition] = self._news.get(partition, 0) + 1

    def forget(self) -> None:
        self._counted.clear()

    def among(self, partitions: Sequence[int], read: Read) -> tuple[NDArray[np.int64], int]:
        """In how many memories of these partitions each piece occurs, and of how many; `read` gives the pieces of the
        newest memories of one."""
        times, memories = np.zeros(VOCABULARY, np.int64), 0
        for counted in (self._of(partition, read) for partition in partitions):
            times[counted.pieces] += counted.times
            memories += counted.memories
        return times, memories

    def _of(self, partition: int, read: Read) -> Counted:
        known, news = self._counted.get(partition), self._news.get(partition, 0)
        if known is not None and news - known.news <= TOLERATED * known.memories:
            return known
        if len(self._counted) >= MOST_COUNTED:
            self._counted.clear()
        memories = list(read(partition))
        times = piece_frequencies(memories)
        pieces = np.flatnonzero(times)
        counted = self._counted[partition] = Counted(pieces, times[pieces], len(memories), news)
        return counted
