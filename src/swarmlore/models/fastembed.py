"""Embedder for any text model of the fastembed package, which downloads the model at first use unless it is cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from swarmlore.errors import Unavailable
from swarmlore.models.local_files import clean, keep_silent, need_packages, unit_rows
from swarmlore.models.providers import text_option, whole_option

if TYPE_CHECKING:
    from swarmlore.models.providers import Vectors

PACKAGES = {"numpy": "numpy", "fastembed": "fastembed"}
INSTALL = 'pip install "swarmlore[fastembed]"'
LONGEST_TEXT = 20_000


class FastEmbed:
    """The embedder named by the option `model`; its dimension is known after the first text."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._model_name = text_option(options, "model", "BAAI/bge-small-en-v1.5")
        self._folder = text_option(options, "cache_dir")
        self._threads = whole_option(options, "threads", 1, low=1, high=64)
        self._batch = whole_option(options, "batch", 8, low=1, high=4096)
        self._lock = Lock()
        self._model: Any = None
        self.name = f"fastembed:{self._model_name}"
        self.dimension = whole_option(options, "dimension", 0, low=0, high=65_536)
        need_packages(PACKAGES, INSTALL)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one float32 row of length 1 per text, in the order of the texts."""
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), np.float32)
        with self._lock:  # fastembed does not say that a model may be shared between threads
            rows = self._rows([clean(text, LONGEST_TEXT) for text in texts])
            if len(rows) != len(texts) or self.dimension not in (0, rows.shape[1]):
                raise Unavailable(f"{self.name} returned {rows.shape}", "check the options model and dimension")
            self.dimension = rows.shape[1]
        return unit_rows(rows, self.name)

    def _rows(self, texts: list[str]) -> Vectors:
        import numpy as np

        try:
            if self._model is None:
                self._model = self._open()
            return np.stack(list(self._model.embed(texts, batch_size=self._batch)))
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            hint = "fetch the model once with network, or choose minilm, which needs none"
            raise Unavailable(f"fastembed could not load or run {self._model_name}", hint) from error

    def _open(self) -> Any:
        keep_silent()
        from fastembed import TextEmbedding

        return TextEmbedding(model_name=self._model_name, cache_dir=self._folder or None, threads=self._threads)
