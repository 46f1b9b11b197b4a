"""How much of the exact answer the coarse pass over sign bits finds, and how much faster it is.

python bench/vectors.py --rows 200000
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import json
import time
from collections.abc import Iterator

import numpy as np

import corpus
from swarmlore.providers.registry import open_embedder
from swarmlore.vectors.local import VectorIndex

PARTITION = 1


class Table:
    """Stands for the store's table of vectors: real ones, and the same with noise."""

    def __init__(self, rows: int) -> None:
        embedder = open_embedder("minilm", {})
        assert embedder is not None
        real = embedder.embed(corpus.lessons(2_000, 5))
        rng = np.random.default_rng(1)
        noisy = real[rng.integers(len(real), size=rows)] + 0.02 * rng.standard_normal((rows, 384)).astype(np.float32)
        self.vectors = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
        self.queries = embedder.embed(corpus.questions(100))

    def count_vectors(self, provider: str) -> int:
        return len(self.vectors)

    def vectors_since(self, change: int, provider: str, limit: int) -> list[tuple[object, ...]]:
        return list(self._rows(change, min(change + limit, len(self.vectors))))

    def _rows(self, start: int, end: int) -> Iterator[tuple[object, ...]]:
        for seq in range(start, end):
            yield (seq + 1, 0, PARTITION, 1, seq + 1, self.vectors[seq].tobytes(), b"")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    table = Table(rows)
    exact, coarse = VectorIndex("p", 384, rows + 1), VectorIndex("p", 384, 0)
    for index in (exact, coarse):
        index.refresh(table)  # type: ignore[arg-type]  # the two methods an index asks of a store
        index.nearest(table.queries[0], [PARTITION], 50)
    times = {"exact": 0.0, "coarse": 0.0}
    found = {10: 0.0, 50: 0.0}
    for query in table.queries:
        answers = {}
        for name, index in (("exact", exact), ("coarse", coarse)):
            began = time.perf_counter()
            answers[name] = [seq for seq, _ in index.nearest(query, [PARTITION], 50)[0]]
            times[name] += time.perf_counter() - began
        for top in found:
            found[top] += len(set(answers["exact"][:top]) & set(answers["coarse"][:top])) / top / len(table.queries)
    result = {f"recall@{top}": round(share, 4) for top, share in found.items()}
    print(json.dumps({"rows": rows, **{f"{n}_ms": round(10 * t, 2) for n, t in times.items()}, **result}))


if __name__ == "__main__":
    main()
