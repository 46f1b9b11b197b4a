"""Vectors in memory: exact search for small stores, for large ones an index of short codes, or else a coarse pass over
sign bits, before it.

The table is the truth. The index catches up by the table's change numbers, so writes of other processes are seen. Of
large stores most vectors are in a file that all processes map (`kept`): a slot below its size is a row of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swarmlore.domain.language.late_interaction import VOCABULARY, piece_frequencies
from swarmlore.frozen import frozen
from swarmlore.store.store import Store
from swarmlore.store.vectors.mapped_file import Kept

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


COARSE_KEEP = 200  # candidates per asked row that the coarse pass hands on, at least
COARSE_SHARE = 0.01  # and of all; recall is measured in bench/approximate.py
GROW = 1.25
MOST_SIMILAR = 6
READ_AT_ONCE = 2_000
HIDDEN = -1  # the partition of a vector whose memory is not live
GONE = -2  # of one that is no more
SPARE = 1_024  # slots that are added at once, at least
BITS_AT_ONCE = 50_000
MOST_SIGHTS = 8  # callers whose sight is kept


class VectorIndex:
    """All vectors of one provider, with the row, situation and partition each belongs to."""

    def __init__(self, provider: str, dimension: int, exact_rows: int, kept: Kept | None = None) -> None:
        self.provider = provider
        self.dimension = dimension
        self.kept = kept
        self._exact_rows = exact_rows
        self._first = len(kept) if kept else 0  # slots below are rows of the file
        self._change = kept.head.change if kept else 0
        self._gone: int | None = kept.head.change if kept else None
        self._size = self._first
        self._slot: dict[tuple[int, int], int] = {}
        self._matrix: NDArray[np.float32] = np.zeros((0, dimension), np.float32)
        self._memory = _copied(kept.memory if kept else ())
        self._cue = _copied(kept.cue if kept else ())
        self._partition = _copied(kept.partition if kept else ())
        self._changed = np.full(self._first, self._change, np.int64)
        self._bits: NDArray[np.uint64] | None = None  # of the slots that were there when it was last needed
        self._pieces: list[bytes] = []
        self._cues: dict[int, list[int]] = {}
        self._common = Common()
        self._sights: dict[tuple[int, ...], tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}

    @property
    def is_sound(self) -> bool:
        """Whether it can be searched: the file under it was not cut."""
        return self.kept is None or self.kept.is_sound

    def __len__(self) -> int:
        return int(np.count_nonzero(self._partition[: self._size] != GONE))

    def refresh(self, store: Store) -> None:
        """Take in what changed since the last time."""
        if self._gone is None:
            self._gone = store.last_change()
            self._reserve(store.count_vectors())
        self._forget(store)
        while rows := store.vectors_since(self._change, self.provider, READ_AT_ONCE):
            self._take(rows)

    def _forget(self, store: Store) -> None:
        """Let go of vectors that are no more; whoever missed some of the deletions looks at what is left."""
        since, told = store.vectors_gone()
        assert self._gone is not None
        if self._gone < since:
            last, left = store.last_change(), set(store.vector_keys(self.provider))
            keys = zip(self._memory[: self._size].tolist(), self._cue[: self._size].tolist(), strict=True)
            lost = [slot for slot, key in enumerate(keys) if key not in left]
            self._partition[lost] = GONE
            self._gone = last
            self._sights.clear()
            self._common.forget()
            return
        for change, memory, cue in told:
            slot = self._find(memory, cue) if change > self._gone else None
            if slot is not None and self._changed[slot] < change:
                self._common.changed(int(self._partition[slot]))
                self._partition[slot] = GONE
                self._sights.clear()
        self._gone = max(self._gone, told[-1][0] if told else 0)

    def _take(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self._reserve(self._size + len(rows))
        for memory, cue, partition, live, change, data, piece_ids in rows:
            vector, self._change = np.frombuffer(data, np.float32), change
            if len(vector) != self.dimension:
                continue  # of a model that gave another size under the same name
            slot = self._place(memory, cue, vector)
            if slot >= self._first:
                self._pieces[slot - self._first] = b"" if cue else bytes(piece_ids)
                self._matrix[slot - self._first] = vector
                if self._bits is not None and slot < self._bits.shape[1]:
                    self._bits[:, slot] = _sign_bits(vector[None])[:, 0]
            self._memory[slot], self._cue[slot] = memory, cue
            for place in {int(self._partition[slot]), partition}:
                self._common.changed(place)
            self._partition[slot] = partition if live else HIDDEN
            self._changed[slot] = change
        self._sights.clear()

    def _place(self, memory: int, cue: int, vector: NDArray[np.float32]) -> int:
        """The slot of a vector: the row of the file that holds the same one, the one it has, or a new one."""
        known = self._slot.get((memory, cue))
        if known is None and self.kept is not None and (slot := self.kept.slot_of(memory, cue)) is not None:
            if np.array_equal(self.kept.matrix[slot], vector):
                return slot
            self._partition[slot] = GONE
        if known is not None:
            return known
        slot = self._slot[memory, cue] = self._size
        self._size += 1
        self._pieces.append(b"")
        if cue:
            self._cues.setdefault(memory, []).append(slot)
        return slot

    def _find(self, memory: int, cue: int) -> int | None:
        """The slot of a vector that is there."""
        slot = self._slot.get((memory, cue))
        if slot is None and self.kept is not None:
            slot = self.kept.slot_of(memory, cue)
        return None if slot is None or self._partition[slot] == GONE else slot

    def nearest(
        self, query: NDArray[np.float32], partitions: Sequence[int], limit: int
    ) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
        """((row, cosine) by text, (row, cosine) by situation), each best first."""
        texts, cues = self._sight(partitions)
        return self._nearest(query, texts, limit), self._nearest(query, cues, limit)

    def nearest_exactly(self, query: NDArray[np.float32], partitions: Sequence[int], limit: int) -> list[int]:
        """The rows of the nearest texts without any short cut: what the others are held against."""
        texts, _ = self._sight(partitions)
        slots = np.flatnonzero(texts)
        return [row for row, _ in self._best(slots, self._scores(query, slots), limit)]

    @property
    def way(self) -> str:
        """By what large partitions are searched."""
        return "sign bits" if self.kept is None or self.kept.near is None else "the index beside the store"

    def is_exact(self, partitions: Sequence[int]) -> bool:
        """Whether what these partitions hold is searched without a short cut."""
        return bool(np.count_nonzero(self._sight(partitions)[0]) <= self._exact_rows)

    def _sight(self, partitions: Sequence[int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which slots are visible texts, and which are visible situations."""
        asked = tuple(partitions)
        if asked not in self._sights:
            if len(self._sights) >= MOST_SIGHTS:
                self._sights.clear()
            mine = np.isin(self._partition[: self._size], np.asarray(partitions, np.int64))
            situations = self._cue[: self._size] > 0
            self._sights[asked] = mine & ~situations, mine & situations
        return self._sights[asked]

    def _nearest(self, query: NDArray[np.float32], mine: NDArray[np.bool_], limit: int) -> list[tuple[int, float]]:
        slots = self._candidates(query, mine, limit)
        return self._best(slots, self._scores(query, slots), limit)

    def _candidates(self, query: NDArray[np.float32], mine: NDArray[np.bool_], limit: int) -> NDArray[np.int64]:
        """The slots that are compared exactly: all where they are few, else those that a short cut finds."""
        many = int(np.count_nonzero(mine))
        if many <= self._exact_rows:
            return np.flatnonzero(mine)
        if self.kept is None or self.kept.near is None:
            keep = max(limit * COARSE_KEEP, int(many * COARSE_SHARE))
            return self._coarse(query, np.flatnonzero(mine), keep)
        found = self.kept.near.search(query, mine[: self._first], limit)
        slots = np.concatenate([found, self._first + np.flatnonzero(mine[self._first :])])
        return slots if len(slots) >= min(limit, many) else np.flatnonzero(mine)

    def cosines(self, query: NDArray[np.float32], rows: Sequence[int]) -> dict[int, float]:
        """The cosine of the query to the texts of given rows; rows without a vector are left out."""
        known = self._texts(rows)
        scores = self._scores(query, np.asarray(list(known.values()), np.int64))
        return dict(zip(known, scores.tolist(), strict=True))

    def _texts(self, rows: Sequence[int]) -> dict[int, int]:
        """The slots of the texts of rows that have a vector; the file is asked once for all of them."""
        kept = self.kept.texts_of(rows) if self.kept else {}
        found = ((row, self._slot.get((row, 0), kept.get(row))) for row in rows)
        return {row: slot for row, slot in found if slot is not None and self._partition[slot] != GONE}

    def cue_cosines(self, query: NDArray[np.float32], rows: Sequence[int]) -> dict[int, float]:
        """The best cosine of the query to any situation of given rows."""
        kept = self.kept.situations_of(rows) if self.kept else {}
        mine = {row: [*kept.get(row, ()), *self._cues.get(row, ())] for row in rows if row in kept or row in self._cues}
        known = {row: [slot for slot in slots if self._partition[slot] != GONE] for row, slots in mine.items()}
        return {
            row: float(self._scores(query, np.asarray(slots, np.int64)).max()) for row, slots in known.items() if slots
        }

    def piece_frequencies(
        self, partitions: Sequence[int], ids: NDArray[np.integer[Any]] | Sequence[int]
    ) -> tuple[NDArray[np.int64], int]:
        """In how many visible memories each word piece occurs (at least these), and of how many; of a large partition
        the newest stand for all."""
        return self._common.among(partitions, self._newest_pieces)

    def _newest_pieces(self, partition: int) -> Iterator[bytes]:
        """Those of the newest texts of a partition."""
        texts = (self._partition[: self._size] == partition) & (self._cue[: self._size] == 0)
        return map(self._pieces_at, np.flatnonzero(texts)[-SAMPLE:].tolist())

    def _pieces_at(self, slot: int) -> bytes:
        if self.kept is not None and slot < self._first:
            return self.kept.pieces(slot)
        return self._pieces[slot - self._first]

    def similar(self, queries: NDArray[np.float32], partition: int, floor: float) -> list[list[tuple[int, float]]]:
        """For each query the texts of one partition whose cosine reaches the floor, best first."""
        mine, _ = self._sight([partition])
        if np.count_nonzero(mine) > self._exact_rows:
            near = self._nearest_to_each(queries, mine)
            return [[(row, cosine) for row, cosine in found if cosine >= floor] for found in near]
        slots = np.flatnonzero(mine)
        scores = self._scores(queries.T, slots).T
        return [self._best(slots[near], row[near], MOST_SIMILAR) for row in scores for near in [row >= floor]]

    def _nearest_to_each(
        self, queries: NDArray[np.float32], mine: NDArray[np.bool_]
    ) -> Iterator[list[tuple[int, float]]]:
        """What is nearly the same as each of several; what the file lacks is multiplied with all of them at once."""
        if self.kept is None or self.kept.near is None:
            yield from (self._nearest(query, mine, MOST_SIMILAR) for query in queries)
            return
        tail = np.flatnonzero(mine[self._first :])
        beside = (self._matrix[: self._size - self._first] @ queries.T)[tail]
        for number, query in enumerate(queries):
            found = self.kept.near.search(query, mine[: self._first], MOST_SIMILAR, alike=True)
            scores = np.concatenate([self.kept.matrix[found] @ query, beside[:, number]])
            yield self._best(np.concatenate([found, self._first + tail]), scores, MOST_SIMILAR)

    def vector(self, row: int) -> NDArray[np.float32] | None:
        slot = self._find(row, 0)
        return None if slot is None else self._rows(np.asarray([slot]))[0]

    def some_rows(self, partitions: Sequence[int], many: int) -> list[int]:
        """Rows of visible texts, spread over all of them."""
        slots = np.flatnonzero(self._sight(partitions)[0])
        step = max(1, len(slots) // many)
        return [int(row) for row in self._memory[slots[::step][:many]]]

    def partition_of(self, row: int) -> int | None:
        """The partition of a live row, or None."""
        slot = self._find(row, 0)
        place = HIDDEN if slot is None else int(self._partition[slot])
        return None if place < 0 else place

    def _scores(self, query: NDArray[np.float32], slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """The cosines of some slots to one query, or to the columns of several."""
        if self.kept is None:
            return _product(self._matrix[: self._size], slots, query)
        below = slots < self._first
        scores = np.empty((len(slots), *query.shape[1:]), np.float32)
        scores[below] = _product(self.kept.matrix, slots[below], query)
        scores[~below] = _product(self._matrix[: self._size - self._first], slots[~below] - self._first, query)
        return scores

    def _rows(self, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        if self.kept is None:
            return self._matrix[slots]
        below = slots < self._first
        found = np.empty((len(slots), self.dimension), np.float32)
        found[below] = self.kept.matrix[slots[below]]
        found[~below] = self._matrix[slots[~below] - self._first]
        return found

    def _coarse(self, query: NDArray[np.float32], slots: NDArray[np.int64], keep: int) -> NDArray[np.int64]:
        """The slots whose sign bits differ least from the query's."""
        away = np.zeros(self._size, np.uint16)
        for bits, asked in zip(self._sign_bits(), _sign_bits(query[None])[:, 0], strict=True):
            away += np.bitwise_count(bits ^ asked)
        near = np.argpartition(away[slots], min(keep, len(slots) - 1))[:keep]
        return slots[near]

    def _sign_bits(self) -> NDArray[np.uint64]:
        """Those of all slots; what was computed before is kept."""
        done = 0 if self._bits is None else self._bits.shape[1]
        starts = range(done, self._size, BITS_AT_ONCE)
        new = [_sign_bits(self._rows(np.arange(at, min(at + BITS_AT_ONCE, self._size)))) for at in starts]
        if new:
            self._bits = np.concatenate([*([] if self._bits is None else [self._bits]), *new], axis=1)
        assert self._bits is not None  # it is asked for among many slots only
        return self._bits

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
        if rows <= len(self._memory):
            return
        room = rows if self._size == 0 else self._first + SPARE + int((rows - self._first) * GROW)
        for name in ("_matrix", "_memory", "_cue", "_partition", "_changed"):
            old = getattr(self, name)
            first = self._first if name == "_matrix" else 0
            fresh = np.zeros((room - first, *old.shape[1:]), old.dtype)  # takes no memory before it is written
            fresh[: self._size - first] = old[: self._size - first]
            setattr(self, name, fresh)


def _copied(values: NDArray[np.int64] | tuple[()]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def _sign_bits(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """One bit a dimension, 64 of them a line: so that all rows are compared in one go, line by line."""
    packed = np.packbits(rows > 0, axis=1)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64).T)


def _product(matrix: NDArray[np.float32], rows: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of some rows; gathering most of them would cost more than multiplying all."""
    found: NDArray[np.float32] = (matrix @ query)[rows] if len(rows) * 2 > len(matrix) else matrix[rows] @ query
    return found
