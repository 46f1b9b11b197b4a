"""Vectors in memory: exact search for small stores, a coarse pass over sign bits before it for large ones.

The table is the truth. The index catches up by the table's change numbers, so writes of other processes are seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swarmlore.store.store import Store

COARSE_KEEP = 200  # candidates per asked row that the coarse pass hands on; recall is measured in bench/vectors.py
GROW = 1.25
MOST_SIMILAR = 6
READ_AT_ONCE = 2_000
SAMPLE = 5_000  # memories from whose pieces it is learnt which are common


class VectorIndex:
    """All vectors of one provider, with the row, situation and partition each belongs to."""

    def __init__(self, provider: str, dimension: int, exact_rows: int) -> None:
        self.provider = provider
        self.dimension = dimension
        self._exact_rows = exact_rows
        self._change = 0
        self._size = 0
        self._slot: dict[tuple[int, int], int] = {}
        self._matrix: NDArray[np.float32] = np.zeros((0, dimension), np.float32)
        self._memory: NDArray[np.int64] = np.zeros(0, np.int64)
        self._cue: NDArray[np.int64] = np.zeros(0, np.int64)
        self._partition: NDArray[np.int64] = np.zeros(0, np.int64)  # -1: not live
        self._bits: NDArray[np.uint64] | None = None
        self._pieces: list[bytes] = []
        self._cues: dict[int, list[int]] = {}
        self._frequencies: tuple[tuple[tuple[int, ...], int], NDArray[np.int64], int] | None = None

    def __len__(self) -> int:
        return self._size

    def refresh(self, store: Store) -> None:
        """Take in what changed since the last time."""
        if self._size == 0:
            self._reserve(store.count_vectors(self.provider))
        while rows := store.vectors_since(self._change, self.provider, READ_AT_ONCE):
            self._take(rows)

    def _take(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self._reserve(self._size + len(rows))
        for memory, cue, partition, live, change, data, piece_ids in rows:
            slot = self._slot.setdefault((memory, cue), self._size)
            if slot == self._size:
                self._size += 1
                self._pieces.append(b"")
                if cue:
                    self._cues.setdefault(memory, []).append(slot)
            self._pieces[slot] = b"" if cue else bytes(piece_ids)
            self._matrix[slot] = np.frombuffer(data, np.float32)
            self._memory[slot], self._cue[slot] = memory, cue
            self._partition[slot] = partition if live else -1
            self._change = change
        self._bits = None

    def nearest(
        self, query: NDArray[np.float32], partitions: Sequence[int], limit: int
    ) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
        """((row, cosine) by text, (row, cosine) by situation), each best first."""
        slots = self._visible(partitions)
        if slots is not None and len(slots) == 0:
            return [], []
        slots, scores = self._score(query, slots, limit)
        cues = self._cue[slots] > 0
        return self._best(slots[~cues], scores[~cues], limit), self._best(slots[cues], scores[cues], limit)

    def cosines(self, query: NDArray[np.float32], rows: Sequence[int]) -> dict[int, float]:
        """The cosine of the query to the texts of given rows; rows without a vector are left out."""
        slots = [(row, self._slot[(row, 0)]) for row in rows if (row, 0) in self._slot]
        if not slots:
            return {}
        scores = self._matrix[[slot for _, slot in slots]] @ query
        return {row: float(score) for (row, _), score in zip(slots, scores, strict=True)}

    def cue_cosines(self, query: NDArray[np.float32], rows: Sequence[int]) -> dict[int, float]:
        """The best cosine of the query to any situation of given rows."""
        known = [(row, self._cues[row]) for row in rows if row in self._cues]
        return {row: float((self._matrix[slots] @ query).max()) for row, slots in known}

    def piece_frequencies(
        self, partitions: Sequence[int], ids: NDArray[np.integer[Any]] | Sequence[int]
    ) -> tuple[NDArray[np.int64], int]:
        """In how many visible memories each word piece occurs (at least these), and of how many; the newest stand for
        many."""
        from swarmlore.late import piece_frequencies

        asked = (tuple(partitions), self._change)
        if self._frequencies is None or self._frequencies[0] != asked:
            mine = np.isin(self._partition[: self._size], partitions) & (self._cue[: self._size] == 0)
            sample = np.flatnonzero(mine)[-SAMPLE:].tolist()
            self._frequencies = (asked, piece_frequencies(self._pieces[slot] for slot in sample), len(sample))
        return self._frequencies[1], self._frequencies[2]

    def similar(self, queries: NDArray[np.float32], partition: int, floor: float) -> list[list[tuple[int, float]]]:
        """For each query the texts of one partition whose cosine reaches the floor, best first."""
        slots = np.flatnonzero((self._partition[: self._size] == partition) & (self._cue[: self._size] == 0))
        if len(slots) == 0:
            return [[] for _ in queries]
        whole = len(slots) == self._size
        scores = queries @ (self._matrix[: self._size] if whole else self._matrix[slots]).T
        return [self._best(slots[near], row[near], MOST_SIMILAR) for row in scores for near in [row >= floor]]

    def vector(self, row: int) -> NDArray[np.float32] | None:
        slot = self._slot.get((row, 0))
        return None if slot is None else self._matrix[slot]

    def partition_of(self, row: int) -> int | None:
        """The partition of a live row, or None."""
        slot = self._slot.get((row, 0))
        place = -1 if slot is None else int(self._partition[slot])
        return None if place < 0 else place

    def _visible(self, partitions: Sequence[int]) -> NDArray[np.int64] | None:
        """The slots of the partitions, or None if that is all of them."""
        mine = np.isin(self._partition[: self._size], np.asarray(partitions, np.int64))
        return None if mine.all() and self._size else np.flatnonzero(mine)

    def _score(
        self, query: NDArray[np.float32], slots: NDArray[np.int64] | None, limit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        if (self._size if slots is None else len(slots)) > self._exact_rows:
            slots = self._coarse(query, slots, limit * COARSE_KEEP)
        if slots is None:
            return np.arange(self._size), self._matrix[: self._size] @ query
        if len(slots) * 2 > self._size:  # gathering most of the rows costs more than scoring all of them
            return slots, (self._matrix[: self._size] @ query)[slots]
        return slots, self._matrix[slots] @ query

    def _coarse(self, query: NDArray[np.float32], slots: NDArray[np.int64] | None, keep: int) -> NDArray[np.int64]:
        """The slots whose sign bits differ least from the query's."""
        if self._bits is None:
            self._bits = _sign_bits(self._matrix[: self._size])
        bits = self._bits if slots is None else self._bits[slots]
        away = np.bitwise_count(bits ^ _sign_bits(query[None])).sum(axis=1, dtype=np.int32)
        near = np.argpartition(away, min(keep, len(away) - 1))[:keep]
        return near if slots is None else slots[near]

    def _best(self, slots: NDArray[np.int64], scores: NDArray[np.float32], limit: int) -> list[tuple[int, float]]:
        if len(scores) > limit:
            top = np.argpartition(scores, -limit)[-limit:]
            slots, scores = slots[top], scores[top]
        order = np.argsort(-scores, kind="stable")
        best: dict[int, float] = {}
        for slot, score in zip(slots[order].tolist(), scores[order].tolist(), strict=True):
            best.setdefault(int(self._memory[slot]), score)
        return list(best.items())

    def _reserve(self, rows: int) -> None:
        if rows <= len(self._matrix):
            return
        room = rows if self._size == 0 else int(rows * GROW)
        for name in ("_matrix", "_memory", "_cue", "_partition"):
            old = getattr(self, name)
            fresh = np.full((room, *old.shape[1:]), -1 if name == "_partition" else 0, old.dtype)
            fresh[: self._size] = old[: self._size]
            setattr(self, name, fresh)


def _sign_bits(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """One bit a dimension, eight bytes at a time."""
    packed = np.packbits(rows > 0, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
