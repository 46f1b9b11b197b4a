"""Static word vectors of the wordllama package: very fast, weak on code. Reads the package's files and runs none of its
code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from swarmlore.errors import Unavailable
from swarmlore.models.local_files import clean, find_data, need_packages, read_checked, unit_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from swarmlore.models.providers import Vectors

WEIGHTS = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
TOKENIZER = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
HEADER = 8 + 88  # safetensors: a length, then that many bytes of JSON; fixed here because the hash is
PACKAGES = {"numpy": "numpy", "tokenizers": "tokenizers", "wordllama": "wordllama"}
INSTALL = 'pip install "wordllama==0.4.0.post1"'
LONGEST_TEXT = 65_536


class WordLlama:
    """An embedder of 256 dimensions: the mean of the pieces' vectors. Loads at first use; thread-safe."""

    name = "wordllama:256"
    dimension = 256

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._lock = Lock()
        self._loaded: tuple[Any, NDArray[np.float16]] | None = None
        need_packages(PACKAGES, INSTALL)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one float32 row of length 1 per text, in the order of the texts."""
        import numpy as np

        sums = np.empty((len(texts), self.dimension), np.float32)
        if len(texts):
            tokenizer, table = self._open()
            for row, text in enumerate(texts):
                # An empty text has no pieces; a space has one, so it gets a vector like any other.
                ids = tokenizer.encode(clean(text, LONGEST_TEXT) or " ", add_special_tokens=False).ids
                sums[row] = table[ids].sum(axis=0, dtype=np.float32)
        return unit_rows(sums, self.name)

    def _open(self) -> tuple[Any, NDArray[np.float16]]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load()
            return self._loaded


def _load() -> tuple[Any, NDArray[np.float16]]:
    weights = find_data("wordllama", "weights", "l2_supercat_256.safetensors", install=INSTALL)
    pieces = find_data("wordllama", "tokenizers", "l2_supercat_tokenizer_config.json", install=INSTALL)
    table, words = read_checked(weights, WEIGHTS, INSTALL), read_checked(pieces, TOKENIZER, INSTALL)
    try:
        import numpy as np
        from tokenizers import Tokenizer
    except ImportError as error:
        raise Unavailable(f"cannot import {error.name or 'a package'}: the install is broken", INSTALL) from error
    rows = np.frombuffer(table, np.dtype("<f2"), offset=HEADER).reshape(-1, WordLlama.dimension)
    return Tokenizer.from_str(words.decode()), rows
