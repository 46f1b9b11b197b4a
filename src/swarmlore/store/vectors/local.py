"""Vector search in memory: exact for small stores; larger ones pre-select by an index of short codes or by sign bits.

The table is the truth: the index catches up by the table's change numbers, so it sees writes of other processes. In
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
from swarmlore.store.vectors.mapped_file import MappedVectors

SAMPLE = 5_000  # newest memories of a partition that word pieces are counted in
TOLERATED = 0.01  # share of changed memories before a recount
MOST_COUNTED = 256  # partitions whose counts are cached

Read = Callable[[int], Iterable[bytes]]


@frozen
class Counted:
    """In how many of a partition's sampled memories each word piece occurs."""

    pieces: NDArray[np.intp]
    times: NDArray[np.int64]
    memories: int
    news: int  # number of changes of the partition when it was counted


class Common:
    """Cached word-piece counts of partitions. It keeps no `read`: a reference cycle with the index."""

    def __init__(self) -> None:
        self._news: dict[int, int] = {}
        self._counted: dict[int, Counted] = {}

    def changed(self, partition: int) -> None:
        """Note that a memory of this partition was added, changed or removed."""
        self._news[partition] = self._news.get(partition, 0) + 1

    def forget(self) -> None:
        """Drop all counts."""
        self._counted.clear()

    def among(self, partitions: Sequence[int], read: Read) -> tuple[NDArray[np.int64], int]:
        """Return for each word piece the number of memories in these partitions that hold it, and their total number;
        `read` yields the word pieces of a partition's newest memories."""
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


COARSE_KEEP = 200  # fewest candidates per requested row after the coarse pass
COARSE_SHARE = 0.01  # or this share of all vectors, if more; recall is measured in bench/approximate.py
GROW = 1.25
MOST_SIMILAR = 6
READ_AT_ONCE = 2_000
HIDDEN = -1  # the partition of a vector whose memory is not live
GONE = -2  # the partition of a deleted vector
SPARE = 1_024  # fewest slots added at once
BITS_AT_ONCE = 50_000
MOST_VISIBLE = 8  # sets of partitions whose visible slots are cached


class VectorIndex:
    """All vectors of one provider, with the memory row, situation and partition of each."""

    def __init__(self, provider: str, dimension: int, exact_rows: int, kept: MappedVectors | None = None) -> None:
        self.provider = provider
        self.dimension = dimension
        self.kept = kept
        self._exact_rows = exact_rows
        self._first = len(kept) if kept else 0  # slots below this are rows of the file
        self._change = kept.head.change if kept else 0
        self._gone: int | None = kept.head.change if kept else None
        self._size = self._first
        self._slot: dict[tuple[int, int], int] = {}
        self._matrix: NDArray[np.float32] = np.zeros((0, dimension), np.float32)
        self._memory = _copied(kept.memory if kept else ())
        self._cue = _copied(kept.cue if kept else ())
        self._partition = _copied(kept.partition if kept else ())
        self._changed = np.full(self._first, self._change, np.int64)
        self._bits: NDArray[np.uint64] | None = None  # of the slots that existed at the last coarse search
        self._pieces: list[bytes] = []
        self._cues: dict[int, list[int]] = {}
        self._common = Common()
        self._visible_cache: dict[tuple[int, ...], tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}

    @property
    def is_sound(self) -> bool:
        """Return whether the index can be searched: the mapped file was not truncated."""
        return self.kept is None or self.kept.is_sound

    def __len__(self) -> int:
        return int(np.count_nonzero(self._partition[: self._size] != GONE))

    def refresh(self, store: Store) -> None:
        """Apply the changes of the table since the last call."""
        if self._gone is None:
            self._gone = store.last_change()
            self._reserve(store.count_vectors())
        self._forget(store)
        while rows := store.vectors_since(self._change, self.provider, READ_AT_ONCE):
            self._take(rows)

    def _forget(self, store: Store) -> None:
        """Drop deleted vectors. If the deletion log no longer reaches back far enough, compare all keys."""
        since, deletions = store.vectors_gone()
        assert self._gone is not None
        if self._gone < since:
            last, remaining = store.last_change(), set(store.vector_keys(self.provider))
            keys = zip(self._memory[: self._size].tolist(), self._cue[: self._size].tolist(), strict=True)
            missing = [slot for slot, key in enumerate(keys) if key not in remaining]
            self._partition[missing] = GONE
            self._gone = last
            self._visible_cache.clear()
            self._common.forget()
            return
        for change, memory, cue in deletions:
            slot = self._find(memory, cue) if change > self._gone else None
            if slot is not None and self._changed[slot] < change:
                self._common.changed(int(self._partition[slot]))
                self._partition[slot] = GONE
                self._visible_cache.clear()
        self._gone = max(self._gone, deletions[-1][0] if deletions else 0)

    def _take(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add or replace vectors read from the table."""
        self._reserve(self._size + len(rows))
        for memory, cue, partition, live, change, data, piece_ids in rows:
            vector, self._change = np.frombuffer(data, np.float32), change
            if len(vector) != self.dimension:
                continue  # a vector of another dimension under the same model name
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
        self._visible_cache.clear()

    def _place(self, memory: int, cue: int, vector: NDArray[np.float32]) -> int:
        """Return the slot for a vector: the file's row if it holds the same vector, its current slot, or a new one."""
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
        """Return the slot of an existing vector, or None."""
        slot = self._slot.get((memory, cue))
        if slot is None and self.kept is not None:
            slot = self.kept.slot_of(memory, cue)
        return None if slot is None or self._partition[slot] == GONE else slot

    def nearest(
        self, query: NDArray[np.float32], partitions: Sequence[int], limit: int
    ) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
        """Return ((row, cosine) by text, (row, cosine) by situation), each best first."""
        texts, cues = self._visible(partitions)
        return self._nearest(query, texts, limit), self._nearest(query, cues, limit)

    def nearest_exactly(self, query: NDArray[np.float32], partitions: Sequence[int], limit: int) -> list[int]:
        """Return the rows of the nearest texts without approximation, to measure it against."""
        texts, _ = self._visible(partitions)
        slots = np.flatnonzero(texts)
        return [row for row, _ in self._best(slots, self._scores(query, slots), limit)]

    @property
    def way(self) -> str:
        """Return how large partitions are searched, in words."""
        return "sign bits" if self.kept is None or self.kept.near is None else "the index beside the store"

    def is_exact(self, partitions: Sequence[int]) -> bool:
        """Return whether these partitions are searched without approximation."""
        return bool(np.count_nonzero(self._visible(partitions)[0]) <= self._exact_rows)

    def _visible(self, partitions: Sequence[int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return masks of the slots that are visible texts and visible situations; cached."""
        asked = tuple(partitions)
        if asked not in self._visible_cache:
            if len(self._visible_cache) >= MOST_VISIBLE:
                self._visible_cache.clear()
            mine = np.isin(self._partition[: self._size], np.asarray(partitions, np.int64))
            situations = self._cue[: self._size] > 0
            self._visible_cache[asked] = mine & ~situations, mine & situations
        return self._visible_cache[asked]

    def _nearest(self, query: NDArray[np.float32], mine: NDArray[np.bool_], limit: int) -> list[tuple[int, float]]:
        slots = self._candidates(query, mine, limit)
        return self._best(slots, self._scores(query, slots), limit)

    def _candidates(self, query: NDArray[np.float32], mine: NDArray[np.bool_], limit: int) -> NDArray[np.int64]:
        """Return the slots to compare exactly: all if they are few, else those of an approximate search."""
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
        """Return the cosine of the query to the texts of these rows; rows without a vector are left out."""
        known = self._texts(rows)
        scores = self._scores(query, np.asarray(list(known.values()), np.int64))
        return dict(zip(known, scores.tolist(), strict=True))

    def _texts(self, rows: Sequence[int]) -> dict[int, int]:
        """Return the text slots of rows that have a vector; one lookup in the file for all."""
        kept = self.kept.texts_of(rows) if self.kept else {}
        found = ((row, self._slot.get((row, 0), kept.get(row))) for row in rows)
        return {row: slot for row, slot in found if slot is not None and self._partition[slot] != GONE}

    def cue_cosines(self, query: NDArray[np.float32], rows: Sequence[int]) -> dict[int, float]:
        """Return the best cosine of the query to any situation of each row."""
        kept = self.kept.situations_of(rows) if self.kept else {}
        mine = {row: [*kept.get(row, ()), *self._cues.get(row, ())] for row in rows if row in kept or row in self._cues}
        known = {row: [slot for slot in slots if self._partition[slot] != GONE] for row, slots in mine.items()}
        return {
            row: float(self._scores(query, np.asarray(slots, np.int64)).max()) for row, slots in known.items() if slots
        }

    def piece_frequencies(
        self, partitions: Sequence[int], ids: NDArray[np.integer[Any]] | Sequence[int]
    ) -> tuple[NDArray[np.int64], int]:
        """Return in how many visible memories each word piece occurs, and of how many; a large partition is sampled by
        its newest memories. All pieces are counted, not only these."""
        return self._common.among(partitions, self._newest_pieces)

    def _newest_pieces(self, partition: int) -> Iterator[bytes]:
        """Yield the word pieces of the newest texts of a partition."""
        texts = (self._partition[: self._size] == partition) & (self._cue[: self._size] == 0)
        return map(self._pieces_at, np.flatnonzero(texts)[-SAMPLE:].tolist())

    def _pieces_at(self, slot: int) -> bytes:
        if self.kept is not None and slot < self._first:
            return self.kept.pieces(slot)
        return self._pieces[slot - self._first]

    def similar(self, queries: NDArray[np.float32], partition: int, floor: float) -> list[list[tuple[int, float]]]:
        """Return for each query the texts of one partition with a cosine of at least `floor`, best first."""
        mine, _ = self._visible([partition])
        if np.count_nonzero(mine) > self._exact_rows:
            near = self._nearest_to_each(queries, mine)
            return [[(row, cosine) for row, cosine in found if cosine >= floor] for found in near]
        slots = np.flatnonzero(mine)
        scores = self._scores(queries.T, slots).T
        return [self._best(slots[near], row[near], MOST_SIMILAR) for row in scores for near in [row >= floor]]

    def _nearest_to_each(
        self, queries: NDArray[np.float32], mine: NDArray[np.bool_]
    ) -> Iterator[list[tuple[int, float]]]:
        """Yield each query's near-duplicates; newer vectors are multiplied with all queries at once."""
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
        """Return the vector of a memory's text, or None."""
        slot = self._find(row, 0)
        return None if slot is None else self._rows(np.asarray([slot]))[0]

    def some_rows(self, partitions: Sequence[int], many: int) -> list[int]:
        """Return rows of visible texts, spread evenly over all of them."""
        slots = np.flatnonzero(self._visible(partitions)[0])
        step = max(1, len(slots) // many)
        return [int(row) for row in self._memory[slots[::step][:many]]]

    def partition_of(self, row: int) -> int | None:
        """Return the partition of a live row, or None."""
        slot = self._find(row, 0)
        place = HIDDEN if slot is None else int(self._partition[slot])
        return None if place < 0 else place

    def _scores(self, query: NDArray[np.float32], slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the cosines of some slots to one query, or to the columns of several."""
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
        """Return the slots whose sign bits differ least from the query's."""
        away = np.zeros(self._size, np.uint16)
        for bits, asked in zip(self._sign_bits(), _sign_bits(query[None])[:, 0], strict=True):
            away += np.bitwise_count(bits ^ asked)
        near = np.argpartition(away[slots], min(keep, len(slots) - 1))[:keep]
        return slots[near]

    def _sign_bits(self) -> NDArray[np.uint64]:
        """Return the sign bits of all slots; computed only for new slots."""
        done = 0 if self._bits is None else self._bits.shape[1]
        starts = range(done, self._size, BITS_AT_ONCE)
        new = [_sign_bits(self._rows(np.arange(at, min(at + BITS_AT_ONCE, self._size)))) for at in starts]
        if new:
            self._bits = np.concatenate([*([] if self._bits is None else [self._bits]), *new], axis=1)
        assert self._bits is not None  # called only if there are many slots
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
            fresh = np.zeros((room - first, *old.shape[1:]), old.dtype)  # pages are allocated when written
            fresh[: self._size - first] = old[: self._size - first]
            setattr(self, name, fresh)


def _copied(values: NDArray[np.int64] | tuple[()]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def _sign_bits(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return one sign bit per dimension, as 64-bit words, transposed: all rows are compared word by word."""
    packed = np.packbits(rows > 0, axis=1)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64).T)


def _product(matrix: NDArray[np.float32], rows: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply some rows with the query; above half of them, multiplying all is cheaper than gathering."""
    found: NDArray[np.float32] = (matrix @ query)[rows] if len(rows) * 2 > len(matrix) else matrix[rows] @ query
    return found
