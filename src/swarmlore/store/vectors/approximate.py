"""Approximate nearest neighbours with faiss: an index of short codes (IVF, PQ) over the vectors of a file."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

INSTALL = 'pip install "swarmlore[ann]"'
TRAINING_SAMPLE = 50_000  # vectors the codes are trained on
MOST_LISTS = 1024
PER_LIST = 48  # fewest vectors of the sample per list; fewer are too few to train on
AT_ONCE = 20_000
SHORTENED = 4  # dimensions coded together in half a byte
SEEN = 0.5  # share of the lists searched, nearest first; this and the next five figures are from bench/approximate.py
ALL_SEEN = 200_000  # codes scanned in any case: one to two milliseconds
KEPT_PER_HIT = 20
KEPT = 1_000  # fewest candidates compared exactly: codes are short, so the best are only among the first
KEPT_SHARE = 0.002  # or this share of the vectors: the more there are, the more have the same code
KEPT_ALIKE = 200  # candidates in a search for near-duplicates: all of 15,000 such pairs were among the first 100


@cache
def library() -> ModuleType | None:
    """Return the faiss module, or None if it is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)  # leave the other cores to others; a query takes a few milliseconds
    module: ModuleType = faiss
    return module


def can_shorten(dimension: int) -> bool:
    """Return whether vectors of this dimension can be coded."""
    return dimension % SHORTENED == 0


class Near:
    """The codes of all vectors of a file, in lists of neighbours (an inverted file index)."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def load(cls, data: NDArray[Any]) -> Near | None:
        """Deserialise an index; return None if it is empty or faiss is missing."""
        faiss = library()
        if faiss is None or len(data) == 0:
            return None
        # A copy of 58 MB for a million vectors: faiss would copy mapped memory anyway.
        return cls(faiss.deserialize_index(np.array(data)))

    def search(
        self, query: NDArray[np.float32], mine: NDArray[np.bool_], limit: int, *, alike: bool = False
    ) -> NDArray[np.int64]:
        """Return the slots among `mine` with the nearest codes, unordered and many times more than `limit`. With
        `alike` only near-duplicates matter, and fewer are returned."""
        faiss, many = library(), int(np.count_nonzero(mine))
        assert faiss is not None  # else there would be no index
        lists = self._index.nlist
        # If few slots are visible, search more lists: skipping invisible slots costs little.
        share = min(1.0, max(SEEN * len(mine), ALL_SEEN) / max(1, many))
        chosen = faiss.IDSelectorBitmap(np.packbits(mine, bitorder="little"))
        params = faiss.SearchParametersIVF(nprobe=max(1, math.ceil(lists * share)), sel=chosen)
        keep = min(many, KEPT_ALIKE if alike else max(KEPT, KEPT_PER_HIT * limit, int(KEPT_SHARE * len(mine))))
        _, found = self._index.search(np.ascontiguousarray(query[None], np.float32), keep, params=params)
        slots: NDArray[np.int64] = found[0][found[0] >= 0]
        return slots


def shortened(rows: int, read: Callable[[int, int], NDArray[np.float32]]) -> NDArray[np.uint8]:
    """Build the index of `rows` vectors and serialise it; `read` returns the vectors from one row to another. Return an
    empty array if no index can be built. Only a few thousand vectors are held at a time."""
    faiss = library()
    dimension = read(0, 1).shape[1] if rows else 0
    if faiss is None or rows < PER_LIST or not can_shorten(dimension):
        return np.zeros(0, np.uint8)
    sample = _sample(rows, read)
    lists = max(1, min(MOST_LISTS, math.isqrt(rows), len(sample) // PER_LIST))
    index = faiss.index_factory(dimension, f"IVF{lists},PQ{dimension // SHORTENED}x4fs", faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1  # else faiss warns about small stores
    index.train(sample)
    for start in range(0, rows, AT_ONCE):
        index.add(read(start, min(rows, start + AT_ONCE)))
    found: NDArray[np.uint8] = faiss.serialize_index(index)
    return found


def _sample(rows: int, read: Callable[[int, int], NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return vectors to train on, spread over all rows; the same rows give the same sample."""
    chosen = np.sort(np.random.default_rng(rows).choice(rows, min(rows, TRAINING_SAMPLE), replace=False))
    found = []
    for start in range(0, rows, AT_ONCE):
        mine = chosen[(chosen >= start) & (chosen < start + AT_ONCE)]
        found.append(read(start, min(rows, start + AT_ONCE))[mine - start])
    return np.concatenate(found)
