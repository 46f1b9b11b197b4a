"""Vector search in the database of a team's store: exact in small partitions, else by pgvector's index.

It has the methods of `VectorIndex`, as SQL. Nothing is cached, so nothing has to be refreshed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swarmlore.domain.language.late_interaction import VOCABULARY
from swarmlore.store.store import Store
from swarmlore.store.vectors.local import MOST_SIMILAR

EXACT_ROWS = 20_000  # above this many visible vectors the index is used
INDEXED_SIZE = 2_000  # most dimensions the index supports


class RemoteVectors:
    """All vectors of one provider, searched by the store's own database."""

    def __init__(self, store: Store, provider: str, dimension: int, exact_rows: int | None = None) -> None:
        self._exact_rows = EXACT_ROWS if exact_rows is None else exact_rows
        self.provider = provider
        self.dimension = dimension
        self._store = store

    def __len__(self) -> int:
        places = [int(row[0]) for row in self._store.ask("seen_partitions")]
        return self._count(places)

    def _count(self, partitions: Sequence[int]) -> int:
        asked = {"partitions": list(partitions), "provider": self.provider}
        return int(self._store.ask("count_embedded", **asked)[0][0])

    way = "the index of the database"

    @property
    def is_sound(self) -> bool:
        return True

    def refresh(self, store: Store) -> None:
        """Do nothing: the database is always up to date."""

    def nearest(
        self, query: NDArray[np.float32], partitions: Sequence[int], limit: int
    ) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
        """Return ((row, cosine) by text, (row, cosine) by situation), each best first."""
        if not partitions:
            return [], []
        asked = self._query_params(query, partitions, limit)
        return self._near_texts(asked), _pairs(self._store.ask("nearest_cues", **asked))

    def _near_texts(self, asked: dict[str, object]) -> list[tuple[int, float]]:
        partitions = asked["partitions"]
        assert isinstance(partitions, list)
        many = self._count(partitions)
        if self.dimension > INDEXED_SIZE or many <= self._exact_rows:
            return self._exact_texts(asked)
        with self._store.engine.reading():
            self._store.ask("search_widely")
            found = _pairs(self._store.ask_sized("nearest_by_index", self.dimension, **asked))
        # The index stops early if most of what it meets is not visible: then search exactly.
        return found if len(found) >= min(int(str(asked["limit"])), many) else self._exact_texts(asked)

    def _exact_texts(self, asked: dict[str, object]) -> list[tuple[int, float]]:
        return _pairs(self._store.ask("nearest_texts", **asked))

    def nearest_exactly(self, query: NDArray[np.float32], partitions: Sequence[int], limit: int) -> list[int]:
        """Return the rows of the nearest texts without the index, to measure the index against."""
        return [row for row, _ in self._exact_texts(self._query_params(query, partitions, limit))] if partitions else []

    def some_rows(self, partitions: Sequence[int], many: int) -> list[int]:
        """Return the newest rows of visible texts."""
        asked = {"partitions": list(partitions), "provider": self.provider, "limit": many}
        return [int(row[0]) for row in self._store.ask("newest_embedded", **asked)] if partitions else []

    def is_exact(self, partitions: Sequence[int]) -> bool:
        """Return whether these partitions are searched without the index."""
        return self.dimension > INDEXED_SIZE or self._count(partitions) <= self._exact_rows

    def _query_params(self, query: NDArray[np.float32], partitions: Sequence[int], limit: int) -> dict[str, object]:
        text = self._store.engine.vector(query.astype("<f4").tobytes())
        return {"query": text, "partitions": list(partitions), "provider": self.provider, "limit": limit}

    def cosines(self, query: NDArray[np.float32], rows: Sequence[int]) -> dict[int, float]:
        """Return the cosine of the query to the texts of these rows; rows without a vector are left out."""
        return self._cosines(query, rows, cues=0)

    def cue_cosines(self, query: NDArray[np.float32], rows: Sequence[int]) -> dict[int, float]:
        """Return the best cosine of the query to any situation of each row."""
        return self._cosines(query, rows, cues=1)

    def _cosines(self, query: NDArray[np.float32], rows: Sequence[int], cues: int) -> dict[int, float]:
        text = self._store.engine.vector(query.astype("<f4").tobytes())
        found = self._store.ask("cosines_of", query=text, seqs=list(rows), provider=self.provider, cues=cues)
        return dict(_pairs(found))

    def piece_frequencies(
        self, partitions: Sequence[int], ids: NDArray[np.integer[Any]] | Sequence[int]
    ) -> tuple[NDArray[np.int64], int]:
        """Return in how many visible memories each of these word pieces occurs, and of how many."""
        pieces = sorted({int(id) for id in ids})
        found = self._store.ask(
            "count_pieces", partitions=list(partitions), provider=self.provider, pieces=[-1, *pieces]
        )
        counts = {int(piece): int(count) for piece, count in found}
        frequencies = np.zeros(VOCABULARY, np.int64)
        for piece in pieces:
            frequencies[piece] = counts.get(piece, 0)
        return frequencies, counts.get(-1, 0)

    def similar(self, queries: NDArray[np.float32], partition: int, floor: float) -> list[list[tuple[int, float]]]:
        """Return for each query the texts of one partition with a cosine of at least `floor`, best first."""
        near = [self._near_texts(self._query_params(query, [partition], MOST_SIMILAR)) for query in queries]
        return [[(row, cosine) for row, cosine in found if cosine >= floor] for found in near]

    def vector(self, row: int) -> NDArray[np.float32] | None:
        found = self._store.ask("embedding_of", seqs=[row], provider=self.provider)
        return np.asarray(json.loads(found[0][3]), np.float32) if found else None

    def partition_of(self, row: int) -> int | None:
        """Return the partition of a live row, or None."""
        found = self._store.ask("embedding_of", seqs=[row], provider=self.provider)
        return int(found[0][1]) if found and found[0][2] else None


def _pairs(rows: Sequence[tuple[object, ...]]) -> list[tuple[int, float]]:
    """Return (row, cosine) with each row once, at its best."""
    best: dict[int, float] = {}
    for seq, cosine in rows:
        best.setdefault(int(str(seq)), float(str(cosine)))
    return list(best.items())
