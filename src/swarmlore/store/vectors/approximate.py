"""How much of the exact answer a search by an index finds: measured on vectors that are there, for a moment only."""

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
TRAINING_SAMPLE = 50_000  # vectors from which the codes are learnt
MOST_LISTS = 1024
PER_LIST = 48  # vectors of the sample for each list, at least; fewer are too few to learn from
AT_ONCE = 20_000
SHORTENED = 4  # dimensions that share half a byte
SEEN = 0.5  # of the lists, those nearest to the question; these five figures are from bench/approximate.py
ALL_SEEN = 200_000  # codes that are scanned in any case: one to two milliseconds
KEPT_PER_HIT = 20
KEPT = 1_000  # codes that are compared exactly, at least: they are short, so the best are only among the first
KEPT_SHARE = 0.002  # of the vectors: the more there are, the more have the same code
KEPT_ALIKE = 200  # codes, where only nearly the same is looked for: of 15,000 such pairs all were among the first 100


@cache
def library() -> ModuleType | None:
    """The library, if it is installed."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)  # others want to work too; one question takes a few milliseconds
    module: ModuleType = faiss
    return module


def can_shorten(dimension: int) -> bool:
    return dimension % SHORTENED == 0


class Near:
    """The codes of all vectors of a file, in lists of neighbours."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def load(cls, data: NDArray[Any]) -> Near | None:
        """An index as it was written, or None where nobody can read it."""
        faiss = library()
        if faiss is None or len(data) == 0:
            return None
        # A copy, 58 MB for a million vectors: read where it lies, the library takes one in the end.
        return cls(faiss.deserialize_index(np.array(data)))

    def search(
        self, query: NDArray[np.float32], mine: NDArray[np.bool_], limit: int, *, alike: bool = False
    ) -> NDArray[np.int64]:
        """The slots among `mine` whose codes are nearest, many times as many as asked for, in no order; `alike` where
        nothing else is wanted than what is nearly the same."""
        faiss, many = library(), int(np.count_nonzero(mine))
        assert faiss is not None  # else there would be no index
        lists = self._index.nlist
        # Where few may be seen, they are spread over more lists; skipping the others costs little.
        share = min(1.0, max(SEEN * len(mine), ALL_SEEN) / max(1, many))
        chosen = faiss.IDSelectorBitmap(np.packbits(mine, bitorder="little"))
        params = faiss.SearchParametersIVF(nprobe=max(1, math.ceil(lists * share)), sel=chosen)
        keep = min(many, KEPT_ALIKE if alike else max(KEPT, KEPT_PER_HIT * limit, int(KEPT_SHARE * len(mine))))
        _, found = self._index.search(np.ascontiguousarray(query[None], np.float32), keep, params=params)
        slots: NDArray[np.int64] = found[0][found[0] >= 0]
        return slots


def shortened(rows: int, read: Callable[[int, int], NDArray[np.float32]]) -> NDArray[np.uint8]:
    """The index of so many vectors, to be written; `read` gives those from one row to another. Empty where nobody can
    make one. No more than a few thousand are held at a time, whatever their number."""
    faiss = library()
    dimension = read(0, 1).shape[1] if rows else 0
    if faiss is None or rows < PER_LIST or not can_shorten(dimension):
        return np.zeros(0, np.uint8)
    sample = _sample(rows, read)
    lists = max(1, min(MOST_LISTS, math.isqrt(rows), len(sample) // PER_LIST))
    index = faiss.index_factory(dimension, f"IVF{lists},PQ{dimension // SHORTENED}x4fs", faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1  # else it complains of small stores
    index.train(sample)
    for start in range(0, rows, AT_ONCE):
        index.add(read(start, min(rows, start + AT_ONCE)))
    found: NDArray[np.uint8] = faiss.serialize_index(index)
    return found


def _sample(rows: int, read: Callable[[int, int], NDArray[np.float32]]) -> NDArray[np.float32]:
    """Vectors from which the codes are learnt, from all over the rows; the same from the same rows."""
    chosen = np.sort(np.random.default_rng(rows).choice(rows, min(rows, TRAINING_SAMPLE), replace=False))
    found = []
    for start in range(0, rows, AT_ONCE):
        mine = chosen[(chosen >= start) & (chosen < start + AT_ONCE)]
        found.append(read(start, min(rows, start + AT_ONCE))[mine - start])
    return np.concatenate(found)
