"""Turning texts into vectors, when first needed, and catching up with those that wait.

A text is never lost because a vector failed: it stays findable by its words, the failure is counted and shown, and
the next catch-up tries again.
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

from swarmlore.background import Meanwhile
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


COMING_S = 0.05  # that a question waits for a new file of vectors; the next one finds it
BATCH = 64
AT_ONCE = 4  # vectors that are stored before others may write
FEW = 48  # texts that are embedded before an answer: about half a second
WRITER_S = 1.0  # for other writers, before an answer goes on without what is stored on the way
MAX_ATTEMPTS = 5
Progress = Callable[[int, int], None]
Acting = Callable[[], contextlib.AbstractContextManager[object]]  # while it lasts, no other thread uses the store
Waiting = tuple[int, int, str]  # memory, situation, text


@frozen
class QueryVector:
    """A question in vector space; pieces where the embedder gives them."""

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
        self.in_turn = False  # whether a question takes one thread: somebody else wants the processors
        self._index: Vectors | None = None
        self._file = ""  # the file of vectors that was looked for last
        self.file_problem = ""
        self._coming: tuple[str, Meanwhile] | None = None  # a new file that is being looked through
        self._everyday: NDArray[np.float32] | None = None
        self._nice = 0
        self.problem = ""

    @property
    def loaded(self) -> bool:
        return self._embedder is not None or (self._lender is not None and self._lender.loaded)

    @property
    def makes_the_rest(self) -> bool:
        """Whether texts that wait get their vector from this process, before it ends at the latest."""
        return self.loaded and not self._leaves_rest

    def embedder(self) -> Embedder | None:
        """The configured embedder, or None where there is none or it cannot be had (`problem` says why)."""
        return self._embedder if self._opened else self.awaited()

    def awaited(self) -> Embedder | None:
        """The same, after whoever is loading it: for questions that words cannot answer."""
        with self._opening:
            if not self._opened:
                self._opened = True
                self._open()
        return self._embedder

    def close(self) -> None:
        """Free embedder and vectors now: the parts of a Lore form cycles, which wait for the garbage collector."""
        with self._opening:
            self._opened, self.problem = True, "this memory is closed"
            self._embedder = self._lender = self._index = self._coming = self._everyday = None

    def borrow(self, lender: Embedding) -> None:
        """Use the embedder that another one has loaded or will load: a model takes room."""
        self._lender = lender

    def leave_to_worker(self) -> None:
        """Make no vectors on the way of a question: a worker does."""
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
        """The question's vector, or None with `problem` set: then words alone have to do."""
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
        """How much a cue resembles requests that need no memory at all; 0 without vectors."""
        if query is None:
            return 0.0
        if self._everyday is None:
            self._everyday = self._everyday_vectors()
        return float((self._everyday @ query.vector).max()) if len(self._everyday) else 0.0

    def _everyday_vectors(self) -> NDArray[np.float32]:
        """The vectors of the everyday requests: made once per store and embedder, then read from it."""
        import numpy as np

        embedder = self.embedder()
        if embedder is None:
            return np.zeros((0, 0), np.float32)
        name = f"everyday:{embedder.name}:{zlib.crc32(repr(GENERIC_REQUESTS).encode())}"
        if stored := self._store.meta(name):
            return np.frombuffer(base64.b64decode(stored), "<f4").reshape(len(GENERIC_REQUESTS), -1)
        vectors = embedder.embed(GENERIC_REQUESTS)
        # Read-only, busy or full: it is only a cache.
        with contextlib.suppress(StoreError), self._store.engine.hurried(WRITER_S):
            self._store.set_meta(name, base64.b64encode(vectors.astype("<f4").tobytes()).decode())
        return vectors

    def rows(self, texts: Sequence[str]) -> Rows | None:
        """What `Store.put_vector` wants for each text, or None with `problem` set."""
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
        """Let the model that is loaded from now on leave the processors to others, if it can."""
        self._nice = nice

    def index(self) -> Vectors | None:
        """All vectors of the current embedder, caught up with every process's writes."""
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
        """The index at hand, or a new one where the store has another file now, or the file was cut."""
        from swarmlore.store.vectors.file_builder import find
        from swarmlore.store.vectors.file_state import known
        from swarmlore.store.vectors.local import VectorIndex

        sound = self._index is not None and self._index.is_sound
        has = known(self._store)
        if self._index is not None and sound and self._file == has.token:
            return self._index
        if self._index is not None and sound and has.provider == embedder.name and self._is_coming(has.token):
            return self._index
        kept, self._coming = self._come(has.token), None
        if kept is None and self._recall.approximate and has.token:
            has, kept, self.file_problem = find(self._store, self._home, embedder.name)
        self._file = has.token
        if self._index is not None and sound and kept is None:
            return self._index  # what was erased is gone from it, and the next file is being made
        return VectorIndex(embedder.name, embedder.dimension, self._exact_rows, kept)

    def _is_coming(self, token: str) -> bool:
        """Whether a new file is still being looked through: that takes up to a second, and what is at hand will do."""
        if not token or not self._recall.approximate:
            return False
        if self._coming is None or self._coming[0] != token:
            from swarmlore.store.vectors.file_builder import look_at

            self._coming = token, Meanwhile(partial(look_at, self._home, token))
        return not self._coming[1].is_done(COMING_S)

    def _come(self, token: str) -> Any:
        """The file that was looked through meanwhile, if it is this one and whole."""
        return self._coming[1].result() if self._coming is not None and self._coming[0] == token else None

    @property
    def _exact_rows(self) -> int:
        return self._recall.exact_rows if self._recall.approximate else sys.maxsize

    @property
    def _exact_remotely(self) -> int | None:
        """A server compares more slowly, so that its own bound holds where nobody asked for exactness."""
        from swarmlore.store.vectors.in_database import EXACT_ROWS

        return min(self._exact_rows, EXACT_ROWS) if self._recall.approximate else self._exact_rows

    def is_index_due(self) -> bool:
        """Whether a file of vectors would help, and is missing or far behind."""
        from swarmlore.store.vectors.file_state import is_due

        return is_due(self._store, self._home, self._recall)

    def advice(self) -> tuple[str, str, str] | None:
        """Whether it matters, what would make searching quicker, and what to type; None where nothing would."""
        if self._store.engine.remote:
            size = self._index.dimension if self._index is not None else 0
            known = self._store.ask("has_vector_index", name=f"embedding_near_{size}")
            return None if known else ("warn", f"none for vectors of {size} dimensions", "swarmlore reindex")
        from swarmlore.store.vectors.approximate import INSTALL, library

        if library() is None:
            return "ok", f"none; so many vectors are searched faster after: {INSTALL}", ""
        behind = "there is none yet, or it is far behind: a worker makes a new one"
        return ("warn", behind, "swarmlore reindex") if self.is_index_due() else None

    def build_index(self, *, anew: bool = False, acting: Acting = nullcontext) -> int:
        """Make what large stores are searched by, where it is due; returns how many vectors it holds. A server keeps
        its index in step itself: here it is made sure that it has one for vectors of this size."""
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
        """Remember whose vectors are stored; after a change queue all others. Returns how many texts wait."""
        embedder = self.embedder()
        if embedder is None or self._store.meta(EMBEDDER_META) == embedder.name:
            return 0
        with self._store.engine.writing():
            self._store.ask("put_meta", name=EMBEDDER_META, value=embedder.name)
            waiting = self._store.embed_again(embedder.name)
        if self._store.engine.remote:
            self.build_index()  # while there are no vectors of this size, that takes a moment and stops nobody
        return waiting

    def catch_up(self, limit: int, progress: Progress | None = None, acting: Acting = nullcontext) -> int:
        """Embed up to `limit` waiting texts; returns how many got their vector. The store is used inside of `acting`
        alone, the model outside of it."""
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
        """Before an answer: embed what waits, where that takes a moment; tells whether more is left waiting."""
        waiting = [row for row in self._store.pending("embed", FEW + 1) if not row[2]]  # what failed once can wait
        if not waiting or self.problem or self.embedder() is None:
            return False
        if len(waiting) > FEW or self._store.engine.readonly:
            return True
        if self._leaves_rest:
            return False  # a matter of seconds
        try:
            with self._store.engine.hurried(WRITER_S):
                self.catch_up(FEW)
        except StoreError:
            return True  # busy or full: the answer does not depend on it
        return False

    def _waiting(self, limit: int) -> Iterator[list[Waiting]]:
        """Batches of (memory, situation, text); texts that failed in this run are not tried twice."""
        left, tried = limit, set[tuple[int, int]]()
        while left > 0:
            # Room for those that failed and stay at the head of the queue.
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
        """Texts that wait, with their vectors, some at a time: the next are computed while whoever asked stores these.
        The store is used inside of `acting` alone."""
        with acting():
            if self.embedder() is None:
                return
            self.note_provider()
            batches = self._waiting(most)
        batch, coming = self._begun(batches, acting)
        while coming is not None:
            vectors, following = coming.result(), self._begun(batches, acting)
            yield batch, vectors
            batch, coming = following

    def _begun(self, batches: Iterator[list[Waiting]], acting: Acting) -> tuple[list[Waiting], Meanwhile | None]:
        with acting():
            batch = next(batches, [])
        return batch, Meanwhile(partial(self.rows, [text for _, _, text in batch])) if batch else None

    def keep(self, batch: Sequence[Waiting], vectors: Rows | None) -> int:
        """Store the vectors of texts that waited, or that they could not be had; returns how many got one."""
        if vectors is None:
            with self._store.engine.writing():
                for memory, cue, _ in batch:
                    self._store.fail_embedding(memory, cue, self.problem)
            return 0
        found = list(zip(batch, vectors, strict=True))
        return sum(self._keep(found[start : start + AT_ONCE]) for start in range(0, len(found), AT_ONCE))

    def _keep(self, found: Sequence[tuple[Waiting, dict[str, Any]]]) -> int:
        """A few, so that others may write in between. Nobody waits for the disk: what a machine that loses its power
        forgets is made again, as its text waits then as before."""
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
