"""Embed texts and queries: loads the embedder and vector index on first use, and embeds texts that wait.

A failed embedding loses no text: it stays findable by its words, the failure is counted and shown, and the next
catch-up retries.
"""

from __future__ import annotations

import base64
import contextlib
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial

from swarmlore.background import BackgroundResult
from swarmlore.config import EmbedderSettings, RecallSettings
from swarmlore.errors import StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.search import EMBEDDER_META
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from swarmlore.models.providers import Embedded, Embedder
    from swarmlore.store.vectors.in_database import RemoteVectors
    from swarmlore.store.vectors.local import VectorIndex

    Vectors: TypeAlias = VectorIndex | RemoteVectors
    Rows: TypeAlias = list[dict[str, Any]]

GENERIC_REQUESTS = (
    "thanks, looks good",
    "hello, let's begin",
    "yes, go ahead",
    "revert what you just did",
    "what have we done so far today",
    "rename this variable to a clearer name",
    "write documentation comments for this method",
    "fix a spelling mistake in the text",
    "format this file and tidy up the whitespace",
    "put the import statements in alphabetical order",
    "delete unused functions and old comments",
    "write the message for this commit",
    "explain how this piece of code works",
    "what is the difference between these two language features",
    "turn this loop into a more idiomatic form",
    "break this long file up into smaller ones",
    "move this literal into a named constant",
    "write a regular expression for an e-mail address",
    "make a little script that reads a file and prints statistics",
    "add annotations for the argument types",
    "update the year in the license header",
    "write a paragraph for the readme",
    "translate these labels into another language",
    "convert this data into a table",
    "which library or tool would you recommend, just your opinion",
    "how do I do this with git",
    "suggest a few names for this class",
    "draft an e-mail to a colleague",
    "count the files and lines in this repository",
    "draw a diagram of the modules",
    "change the colours and layout of this page",
    "add a command line option",
    "add a small endpoint that returns a fixed value",
    "add a file to the ignore list",
    "give me a summary of this document",
    "is this algorithm efficient",
    "review this code for style",
    "replace print statements by logging",
    "add a button to the settings screen",
    "sort this list of items",
)

COMING_S = 0.05  # how long a query waits for a new vector file; a later query uses it
BATCH = 64
AT_ONCE = 4  # vectors stored per transaction, so that others can write in between
FEW = 48  # most texts embedded before an answer: about half a second
WRITER_S = 1.0  # how long an answer waits for other writers before it skips storing
MAX_ATTEMPTS = 5
Progress = Callable[[int, int], None]
Acting = Callable[[], contextlib.AbstractContextManager[object]]  # inside it, no other thread uses the store
Waiting = tuple[int, int, str]  # memory, situation, text


@frozen
class QueryVector:
    """The vector of a query, with word pieces if the embedder supports them."""

    vector: NDArray[np.float32]
    embedded: Embedded | None


class Embedding:
    """The store's embedder and vector index, both loaded on first use."""

    def __init__(self, store: Store, settings: EmbedderSettings, recall: RecallSettings, home: str) -> None:
        self._store = store
        self._settings = settings
        self._recall = recall
        self._home = home
        self._embedder: Embedder | None = None
        self._opened = False
        self._opening = threading.Lock()
        self._lender: Embedding | None = None
        self._leaves_rest = False
        self.in_turn = False  # whether a query uses one thread only, to leave the CPU to others
        self._index: Vectors | None = None
        self._file = ""  # token of the vector file last searched for
        self.file_problem = ""
        self._verifying: tuple[str, BackgroundResult] | None = None  # token and thread of a new vector file
        self._generic: NDArray[np.float32] | None = None
        self._nice = 0
        self.problem = ""

    @property
    def loaded(self) -> bool:
        """Return whether the embedder is loaded, here or in the lender."""
        return self._embedder is not None or (self._lender is not None and self._lender.loaded)

    @property
    def makes_the_rest(self) -> bool:
        """Return whether this process embeds waiting texts, at the latest before it ends."""
        return self.loaded and not self._leaves_rest

    def embedder(self) -> Embedder | None:
        """Return the configured embedder, or None if there is none or it failed to load (see `problem`)."""
        return self._embedder if self._opened else self.awaited()

    def awaited(self) -> Embedder | None:
        """Return the embedder, loading it first or waiting for the thread that loads it."""
        with self._opening:
            if not self._opened:
                self._opened = True
                self._open()
        return self._embedder

    def close(self) -> None:
        """Free embedder and vectors now: the parts of a Lore form cycles that would wait for the garbage collector."""
        with self._opening:
            self._opened, self.problem = True, "this memory is closed"
            self._embedder = self._lender = self._index = self._verifying = self._generic = None

    def borrow(self, lender: Embedding) -> None:
        """Share the embedder of another instance, as a model takes much memory."""
        self._lender = lender

    def leave_to_worker(self) -> None:
        """Never embed waiting texts before an answer; a worker does it."""
        self._leaves_rest = True

    def _open(self) -> None:
        from swarmlore.models.providers import open_embedder

        if self._lender is not None:
            self._embedder, self.problem = self._lender.embedder(), self._lender.problem
            return
        names = ("model", "base_url", "api_key_env", "dimension", "timeout_s", "batch", "threads")
        options = {name: value for name in names if (value := getattr(self._settings, name))}
        try:
            found = open_embedder(self._settings.kind, options)
            if self._nice and found is not None and hasattr(found, "step_back"):
                found.step_back(self._nice)
            self._embedder = found
        except SwarmloreError as error:
            self.problem = f"{error.message} ({error.hint})" if error.hint else error.message
        if self._settings.kind == "none":
            self.problem = "no embedder is configured: words only"

    def query(self, text: str) -> QueryVector | None:
        """Return the vector of a query, or None with `problem` set: then search uses words alone."""
        embedder = self.embedder()
        if embedder is None:
            return None
        try:
            found = _computed(embedder, [text])[0]
        except SwarmloreError as error:
            self.problem = error.message
            return None
        return QueryVector(found.vector, found) if hasattr(found, "pieces") else QueryVector(found, None)

    def everyday_closeness(self, query: QueryVector | None) -> float:
        """Return the cosine of a cue to the nearest generic request, which needs no memory; 0 without vectors."""
        if query is None:
            return 0.0
        if self._generic is None:
            self._generic = self._generic_vectors()
        return float((self._generic @ query.vector).max()) if len(self._generic) else 0.0

    def _generic_vectors(self) -> NDArray[np.float32]:
        """Return the vectors of the generic requests, computed once per store and embedder and then stored."""
        import numpy as np

        embedder = self.embedder()
        if embedder is None:
            return np.zeros((0, 0), np.float32)
        name = f"everyday:{embedder.name}:{zlib.crc32(repr(GENERIC_REQUESTS).encode())}"
        if stored := self._store.meta(name):
            return np.frombuffer(base64.b64decode(stored), "<f4").reshape(len(GENERIC_REQUESTS), -1)
        vectors = embedder.embed(GENERIC_REQUESTS)
        # The store may be read-only, busy or full: this is only a cache.
        with contextlib.suppress(StoreError), self._store.engine.hurried(WRITER_S):
            self._store.set_meta(name, base64.b64encode(vectors.astype("<f4").tobytes()).decode())
        return vectors

    def rows(self, texts: Sequence[str]) -> Rows | None:
        """Return the parameters of `Store.put_vector` for each text, or None with `problem` set."""
        embedder = self.embedder()
        if embedder is None:
            return None
        try:
            found = _computed(embedder, texts)
        except SwarmloreError as error:
            self.problem = error.message
            return None
        return [_row(embedder, text, item) for text, item in zip(texts, found, strict=True)]

    def step_back(self, nice: int) -> None:
        """Let an embedder loaded from now on compute with low priority, if it supports that."""
        self._nice = nice

    def index(self) -> Vectors | None:
        """Return the index with all vectors of the current embedder, including the writes of other processes."""
        embedder = self.embedder()
        if embedder is None or not embedder.dimension:
            return None
        if self._store.engine.remote:
            self._index = self._remote(embedder) if self._index is None else self._index
        else:
            self._index = self._local(embedder)
        self._index.refresh(self._store)
        return self._index

    def _remote(self, embedder: Embedder) -> Vectors:
        from swarmlore.store.vectors.in_database import RemoteVectors

        return RemoteVectors(self._store, embedder.name, embedder.dimension, self._exact_remotely)

    def _local(self, embedder: Embedder) -> Vectors:
        """Return the current index, or a new one if the store has another vector file now or the file was truncated."""
        from swarmlore.store.vectors.file_builder import find
        from swarmlore.store.vectors.file_state import known
        from swarmlore.store.vectors.local import VectorIndex

        sound = self._index is not None and self._index.is_sound
        has = known(self._store)
        if self._index is not None and sound and self._file == has.token:
            return self._index
        if self._index is not None and sound and has.provider == embedder.name and self._is_verifying(has.token):
            return self._index
        kept, self._verifying = self._verified(has.token), None
        if kept is None and self._recall.approximate and has.token:
            has, kept, self.file_problem = find(self._store, self._home, embedder.name)
        self._file = has.token
        if self._index is not None and sound and kept is None:
            return self._index  # it has no erased vectors, and the next file is being built
        return VectorIndex(embedder.name, embedder.dimension, self._exact_rows, kept)

    def _is_verifying(self, token: str) -> bool:
        """Return whether a new file is still being verified (up to a second); the current index serves until then."""
        if not token or not self._recall.approximate:
            return False
        if self._verifying is None or self._verifying[0] != token:
            from swarmlore.store.vectors.file_builder import look_at

            self._verifying = token, BackgroundResult(partial(look_at, self._home, token))
        return not self._verifying[1].is_done(COMING_S)

    def _verified(self, token: str) -> Any:
        """Return the file with this token if it was verified in the background, else None."""
        return self._verifying[1].result() if self._verifying is not None and self._verifying[0] == token else None

    @property
    def _exact_rows(self) -> int:
        return self._recall.exact_rows if self._recall.approximate else sys.maxsize

    @property
    def _exact_remotely(self) -> int | None:
        """Return the exact-search bound of a server, lower as it compares slowly, unless exactness is configured."""
        from swarmlore.store.vectors.in_database import EXACT_ROWS

        return min(self._exact_rows, EXACT_ROWS) if self._recall.approximate else self._exact_rows

    def is_index_due(self) -> bool:
        """Return whether a vector file would help and is missing or far behind."""
        from swarmlore.store.vectors.file_state import is_due

        return is_due(self._store, self._home, self._recall)

    def advice(self) -> tuple[str, str, str] | None:
        """Return (level, what is missing, command) to speed up search, or None if nothing would."""
        if self._store.engine.remote:
            size = self._index.dimension if self._index is not None else 0
            known = self._store.ask("has_vector_index", name=f"embedding_near_{size}")
            return None if known else ("warn", f"none for vectors of {size} dimensions", "swarmlore reindex")
        from swarmlore.store.vectors.approximate import INSTALL, library

        if library() is None:
            return "ok", f"none; so many vectors are searched faster after: {INSTALL}", ""
        missing = "there is none yet, or it is far behind: a worker makes a new one"
        return ("warn", missing, "swarmlore reindex") if self.is_index_due() else None

    def build_index(self, *, anew: bool = False, acting: Acting = nullcontext) -> int:
        """Build the vector file if it is due (with `anew` in any case); return how many vectors it holds. A server
        maintains its index itself; here only its existence for this dimension is ensured."""
        if self._store.engine.remote:
            if (embedder := self.embedder()) is not None and embedder.dimension:
                self._store.ask("index_vectors", size=embedder.dimension)
            return 0
        from swarmlore.store.vectors.file_state import can_build

        with acting():
            wanted = can_build(self._store, self._recall) if anew else self.is_index_due()
        if not wanted:
            return 0
        from swarmlore.store.vectors.file_builder import build

        return build(self._store, self._home, acting=acting)

    def note_provider(self) -> int:
        """Record whose vectors are stored; after a change queue all texts. Return how many texts wait."""
        embedder = self.embedder()
        if embedder is None or self._store.meta(EMBEDDER_META) == embedder.name:
            return 0
        with self._store.engine.writing():
            self._store.ask("put_meta", name=EMBEDDER_META, value=embedder.name)
            waiting = self._store.embed_again(embedder.name)
        if self._store.engine.remote:
            self.build_index()  # fast and without blocking, as there are no vectors of this dimension yet
        return waiting

    def catch_up(self, limit: int, progress: Progress | None = None, acting: Acting = nullcontext) -> int:
        """Embed up to `limit` waiting texts; return how many succeeded. Only store access runs inside `acting`."""
        if self.embedder() is None:
            return 0
        with acting():
            self.note_provider()
            total = min(limit, self._store.count_pending().get("embed", (0, 0))[0])
        done = 0
        for batch, vectors in self.made(limit, acting):
            with acting():
                done += self.keep(batch, vectors)
            if progress:
                progress(done, total)
        return done

    def catch_up_few(self) -> bool:
        """Before an answer, embed waiting texts if that is quick; return whether more are left waiting."""
        # A text that failed once is left to a worker.
        waiting = [row for row in self._store.pending("embed", FEW + 1) if not row[2]]
        if not waiting or self.problem or self.embedder() is None:
            return False
        if len(waiting) > FEW or self._store.engine.readonly:
            return True
        if self._leaves_rest:
            return False  # a worker embeds them within seconds
        try:
            with self._store.engine.hurried(WRITER_S):
                self.catch_up(FEW)
        except StoreError:
            return True  # the store is busy or full: answer without them
        return False

    def _waiting(self, limit: int) -> Iterator[list[Waiting]]:
        """Yield batches of (memory, situation, text); texts that failed in this run are not retried."""
        left, tried = limit, set[tuple[int, int]]()
        while left > 0:
            # Read more rows, as failed ones stay at the head of the queue.
            rows = self._store.pending("embed", BATCH + len(tried))
            fresh = [row for row in rows if row[:2] not in tried and row[2] < MAX_ATTEMPTS][: min(BATCH, left)]
            if not fresh:
                return
            tried.update(row[:2] for row in fresh)
            left -= len(fresh)
            yield [(memory, cue, self._text(memory, cue)) for memory, cue, _, _ in fresh]

    def _text(self, memory: int, cue: int) -> str:
        found = self._store.text_of(memory, cue)
        return found[0] if found else ""

    def made(self, most: int, acting: Acting) -> Iterator[tuple[list[Waiting], Rows | None]]:
        """Yield batches of waiting texts with their vectors; the next batch is computed while the caller stores one.
        The store is used only inside `acting`."""
        with acting():
            if self.embedder() is None:
                return
            self.note_provider()
            batches = self._waiting(most)
        batch, computing = self._start_batch(batches, acting)
        while computing is not None:
            vectors, next_batch = computing.result(), self._start_batch(batches, acting)
            yield batch, vectors
            batch, computing = next_batch

    def _start_batch(
        self, batches: Iterator[list[Waiting]], acting: Acting
    ) -> tuple[list[Waiting], BackgroundResult | None]:
        """Read the next batch and start to embed it in the background."""
        with acting():
            batch = next(batches, [])
        return batch, BackgroundResult(partial(self.rows, [text for _, _, text in batch])) if batch else None

    def keep(self, batch: Sequence[Waiting], vectors: Rows | None) -> int:
        """Store the vectors of a batch, or its failure if there are none; return how many were stored."""
        if vectors is None:
            with self._store.engine.writing():
                for memory, cue, _ in batch:
                    self._store.fail_embedding(memory, cue, self.problem)
            return 0
        found = list(zip(batch, vectors, strict=True))
        return sum(self._keep(found[start : start + AT_ONCE]) for start in range(0, len(found), AT_ONCE))

    def _keep(self, found: Sequence[tuple[Waiting, dict[str, Any]]]) -> int:
        """Store a few vectors per transaction, so that others can write in between, and without fsync: after a power
        cut the texts still wait and are embedded again."""
        stored = 0
        with self._store.engine.writing(durable=False):
            for (memory, cue, _), vector in found:
                stored += self._store.put_vector(memory, cue, vector)
                if cue == 0:
                    self._store.settle_later(memory)
        return stored


def _computed(embedder: Embedder, texts: Sequence[str]) -> list[Any]:
    from swarmlore.models.providers import TokenEmbedder

    if isinstance(embedder, TokenEmbedder):
        return list(embedder.embed_tokens(texts))
    return list(embedder.embed(texts))


def _row(embedder: Embedder, text: str, item: Any) -> dict[str, Any]:
    from swarmlore.domain.language.late_interaction import pack_pieces, unique_ids

    has_pieces = hasattr(item, "pieces")
    vector = item.vector if has_pieces else item
    return {
        "text": text,
        "provider": embedder.name,
        "dimension": len(vector),
        "data": vector.astype("<f4").tobytes(),
        "pieces": pack_pieces(item.pieces, item.piece_ids) if has_pieces else b"",
        "piece_ids": unique_ids(item.piece_ids) if has_pieces else b"",
    }
