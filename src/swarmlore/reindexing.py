"""Building all indexes anew in turns: the store is one thread's at a time, and no turn is long."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from swarmlore.domain.records import Caller
from swarmlore.models.embedding import Embedding, Progress
from swarmlore.retrieval.graph_communities import ensure as find_communities
from swarmlore.store.reindex import GIVE_WAY_S
from swarmlore.store.store import Store
from swarmlore.writing import Writing

EVERYTHING = 10**9


class Reindexing:
    """The indexes of one store, for one caller; `acting` keeps other threads out while it lasts."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        embedding: Embedding,
        writing: Writing,
        acting: Callable[[], AbstractContextManager[object]],
    ) -> None:
        self._store = store
        self._caller = caller
        self._embedding = embedding
        self._writing = writing
        self._acting = acting

    def run(self, embedding: Progress | None, indexing: Progress | None) -> dict[str, int]:
        """How many rows were indexed, texts embedded and new vectors compared; both tell how far they have come."""
        rows = self._rows(indexing)
        self._communities()
        with self._acting():
            self._embedding.note_provider()
            if self._store.engine.remote:
                self._embedding.build_index()  # before the vectors come: then nobody waits for it
        embedded = self._embedding.catch_up(EVERYTHING, embedding, self._acting)
        settled = self._writing.settle(self._acting)
        self._embedding.build_index(anew=True, acting=self._acting)
        return {"rows": rows, "embedded": embedded, "settled": settled}

    def _rows(self, progress: Progress | None) -> int:
        steps, done = self._store.rebuild(), 0
        while True:
            with self._acting():
                step = next(steps, None)
            if step is None:
                return done
            done, total = step
            if progress:
                progress(done, total)
            time.sleep(GIVE_WAY_S)

    def _communities(self) -> None:
        with self._acting():
            partitions = self._store.visible(self._caller)
        for partition in partitions:
            with self._acting():
                find_communities(self._store, [partition])
