"""Build the vector file from the table, page by page, by one process at a time, while others write.

Vectors written meanwhile have a higher change number than the file and are read from the table. If something is erased
meanwhile, the file is discarded before use, as it could contain it.
"""

from __future__ import annotations

import json
import os
import time
from array import array
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from swarmlore.errors import StoreBusy, StoreCorrupt
from swarmlore.store.files import FairLock, refusal
from swarmlore.store.memories import FILE_META, MAKING_META
from swarmlore.store.store import Store
from swarmlore.store.vectors import mapped_file, path_of
from swarmlore.store.vectors.approximate import shortened
from swarmlore.store.vectors.file_state import Known, known

LOCK = "vectors.lock"
READ_AT_ONCE = 2_000
LOOK_AGAIN_S = 0.05
Progress = Callable[[int, int], None]
Acting = Callable[[], AbstractContextManager[object]]


def look_at(home: str, token: str) -> mapped_file.MappedVectors | None:
    """Map the file with this token; None if it is missing or damaged. Uses no store, so threads may call it."""
    try:
        return mapped_file.load(home, token)
    except StoreCorrupt:
        return None


def find(store: Store, home: str, provider: str) -> tuple[Known, mapped_file.MappedVectors | None, str]:
    """Return the store's file record and the mapped file if it holds this provider's vectors, else the problem."""
    why = ""
    for pause_s in (LOOK_AGAIN_S, 0.0):
        has = known(store)
        if has.provider != provider:
            break
        try:
            return has, mapped_file.load(home, has.token), ""
        except StoreCorrupt as error:
            why = why or error.message  # a damaged file was deleted: the second try only finds it missing
            time.sleep(pause_s)  # perhaps it is just being replaced
    return has, None, why


def build(store: Store, home: str, progress: Progress | None = None, acting: Acting = nullcontext) -> int:
    """Build the file from the table; return the number of vectors, 0 if another process is building it. The store is
    used only inside `acting`."""
    with acting():
        newest = store.newest_vector()
    lock = FairLock(os.path.join(home, LOCK), 0.0)
    try:
        with lock:
            return Builder(store, home, *newest, acting).build(progress) if newest else 0
    except StoreBusy:
        return 0
    finally:
        lock.close()


class Builder:
    """Builds one file for the vectors of one provider."""

    def __init__(self, store: Store, home: str, provider: str, dimension: int, acting: Acting = nullcontext) -> None:
        self._store = store
        self._acting = acting
        self._home = home
        self._provider = provider
        self._dimension = dimension
        self._token = os.urandom(16).hex()
        self._columns = {name: array("q") for name in ("memory", "cue", "partition", "ends")}
        self._pieces = bytearray()

    def build(self, progress: Progress | None) -> int:
        """Build the file and put it in place; return the number of vectors, 0 if it was discarded."""
        try:
            making = mapped_file.VectorFileWriter(self._home)
            try:
                return self._build(making, progress)
            finally:
                making.drop()
        except OSError as error:
            raise refusal(path_of(self._home), error) from error

    def _build(self, making: mapped_file.VectorFileWriter, progress: Progress | None) -> int:
        change, total = self._begin()
        making.begin()
        for page in iter(self._page, []):
            for row in page:
                making.write(self._take(*row))
            if progress:
                progress(len(self._columns["memory"]), total)
        making.end("matrix")
        rows = len(self._columns["memory"])
        making.add("near", shortened(rows, lambda first, last: making.rows(first, last, self._dimension)))
        making.add("pieces", np.frombuffer(bytes(self._pieces), np.uint8))
        for name, values in self._columns.items():
            making.add(name, np.frombuffer(values, np.int64))
        facts = Known(self._token, self._provider, change, rows)
        making.finish(dimension=self._dimension, **facts.facts())
        return rows if self._take_place(making, facts) else 0

    def _begin(self) -> tuple[int, int]:
        """Record the build in the store; return the last change number and the approximate number of vectors."""
        with self._acting(), self._store.engine.writing():
            self._store.ask("put_meta", name=MAKING_META, value=self._token)
            return self._store.last_change(), self._store.count_vectors()

    def _page(self) -> list[tuple[Any, ...]]:
        memory, cue = (self._columns[name][-1] if self._columns[name] else -1 for name in ("memory", "cue"))
        with self._acting():
            return self._store.vectors_in_order((self._provider, self._dimension), memory, cue, READ_AT_ONCE)

    def _take(self, memory: int, cue: int, partition: int, live: int, data: bytes, pieces: bytes) -> bytes:
        self._pieces += b"" if cue else pieces
        place = partition if live else -1
        for name, value in zip(self._columns, (memory, cue, place, len(self._pieces)), strict=True):
            self._columns[name].append(value)
        return data

    def _take_place(self, making: mapped_file.VectorFileWriter, facts: Known) -> bool:
        """Make the new file the store's own, unless something was erased since the build began."""
        with self._acting(), self._store.engine.writing():
            if self._store.meta(MAKING_META) != self._token:
                return False
            self._store.ask("drop_meta", name=MAKING_META)
            self._store.ask("put_meta", name=FILE_META, value=json.dumps(facts.facts()))
            making.take_place()  # if the commit fails, the token differs and the file is not used
        return True
