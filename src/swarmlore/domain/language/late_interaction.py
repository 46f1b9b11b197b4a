"""Late interaction: score how well each word piece of a cue finds its nearest piece in a memory (as ColBERT does).

The piece vectors come from the same pass of the embedder as the sentence vector. A memory stores them with four bits a
dimension (fewer dimensions lost much more than coarser numbers) beside the ids of its pieces.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ids = NDArray[np.int32]

VOCABULARY = 65_536
STEEPNESS = 2.0
"""Slope of the tanh over scores: an exact match counts little more than a synonym, as BM25 counts words already."""
AT_ONCE = 128  # pieces of memories in one block: 200 KB as floats
MOST_QUERY_PIECES = 64
"""Pieces used of a cue, the heaviest first; more of a long error output cost time and change nothing."""

_HEADER = struct.Struct("<BHH")  # version, pieces, dimension
_VERSION = 1
_LEVELS = 7
_CLIP = 3.0  # standard deviations, so that a few large dimensions do not flatten all others
_TINY = 1e-9


def pack_pieces(pieces: Floats, piece_ids: Sequence[int] | Ids) -> bytes:
    """Pack a memory's pieces into bytes: version, count, dimension, ids, then two dimensions in each byte."""
    import numpy as np

    matrix = np.asarray(pieces, dtype=np.float32)
    count, dimension = matrix.shape
    even = matrix if dimension % 2 == 0 else np.pad(matrix, ((0, 0), (0, 1)))
    step = np.minimum(np.abs(even).max(axis=1, initial=0), _CLIP * matrix.std(axis=1)) / _LEVELS
    levels = np.clip(np.rint(even / np.maximum(step, _TINY)[:, None]), -_LEVELS, _LEVELS)
    nibbles = (levels + 8).astype(np.uint8)
    packed: bytes = (nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)).tobytes()
    return _HEADER.pack(_VERSION, count, dimension) + np.asarray(piece_ids, dtype="<u4").tobytes() + packed


def unpack_pieces(blob: bytes) -> tuple[Floats, Ids]:
    """Return packed pieces as rows of length 1, and their ids."""
    import numpy as np

    _, _, dimension = _HEADER.unpack_from(blob)
    halves = _levels(_nibbles(blob))
    levels = np.empty_like(halves)
    levels[:, 0::2], levels[:, 1::2] = np.split(halves, 2, axis=1)
    levels = levels[:, :dimension]
    rows: Floats = levels / np.maximum(np.linalg.norm(levels, axis=1, keepdims=True), _TINY)
    return rows, piece_ids(blob)


def piece_ids(blob: bytes) -> Ids:
    """Return the vocabulary ids of a packed memory's pieces."""
    import numpy as np

    _, count, _ = _HEADER.unpack_from(blob)
    return np.frombuffer(blob, dtype="<u4", count=count, offset=_HEADER.size).astype(np.int32)


def unique_ids(piece_ids: Sequence[int] | Ids) -> bytes:
    """Return the distinct piece ids of a memory, two bytes each; larger ids are outside our vocabulary."""
    import numpy as np

    return np.unique(np.asarray(piece_ids)).astype("<u2").tobytes()


def piece_frequencies(memories: Iterable[bytes]) -> NDArray[np.int64]:
    """Count the memories in which each piece occurs, from their `unique_ids`."""
    import numpy as np

    return np.bincount(np.frombuffer(b"".join(memories), "<u2"), minlength=VOCABULARY)


def piece_weights(ids: Ids, frequencies: NDArray[np.int64], size: int, emphasis: Floats | None = None) -> Floats:
    """Return the weight of each piece of the cue: the rarer among the `size` visible memories, the higher.

    `emphasis` limits each weight further (`tokenizer.piece_emphasis`).
    """
    import numpy as np

    count = np.minimum(frequencies[ids], size).astype(np.float32)
    weights: Floats = np.log1p((size - count + 0.5) / (count + 0.5))
    return weights if emphasis is None else weights * emphasis


def late_scores(query_pieces: Floats, query_weights: Floats, packed: Sequence[bytes]) -> Floats:
    """Score each packed memory from 0 to 1: the weighted mean of how well the cue's pieces are found in it."""
    import numpy as np

    scores: Floats = np.zeros(len(packed), dtype=np.float32)
    filled = [place for place, blob in enumerate(packed) if _HEADER.unpack_from(blob)[1]]
    if not filled or not len(query_weights):
        return scores
    pieces, weights = _heaviest(np.asarray(query_pieces, np.float32), np.asarray(query_weights, np.float32))
    parts = [_nibbles(packed[place]) for place in filled]
    starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
    best = np.maximum.reduceat(_cosines(np.concatenate(parts), pieces), starts, axis=0)
    scores[filled] = np.tanh(STEEPNESS * np.maximum(best, 0.0)) @ weights
    return scores


def _cosines(packed: Any, pieces: Floats) -> Floats:
    """Return the cosine of each packed piece to each of the cue's, in blocks that stay in the processor's cache."""
    import numpy as np

    asked = np.ascontiguousarray(_in_halves(pieces).T)
    found: Floats = np.empty((len(packed), len(pieces)), dtype=np.float32)
    for start in range(0, len(packed), AT_ONCE):
        levels, part = _levels(packed[start : start + AT_ONCE]), found[start : start + AT_ONCE]
        np.matmul(levels, asked, out=part)
        part /= np.maximum(np.sqrt(np.einsum("ij,ij->i", levels, levels)), _TINY)[:, None]
    return found


def _heaviest(pieces: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the pieces with the largest weights, and these weights normalised to sum 1."""
    import numpy as np

    if len(weights) > MOST_QUERY_PIECES:
        kept = np.argsort(-weights, kind="stable")[:MOST_QUERY_PIECES]
        pieces, weights = pieces[kept], weights[kept]
    total = float(weights.sum())
    even: Floats = np.full(len(weights), 1 / len(weights), dtype=np.float32)
    return pieces, weights / total if total > 0 else even


def _in_halves(pieces: Floats) -> Floats:
    """Reorder dimensions as `_levels` does: even ones first."""
    import numpy as np

    even = pieces if pieces.shape[1] % 2 == 0 else np.pad(pieces, ((0, 0), (0, 1)))
    return np.concatenate([even[:, 0::2], even[:, 1::2]], axis=1)


def _nibbles(blob: bytes) -> Any:
    import numpy as np

    _, count, dimension = _HEADER.unpack_from(blob)
    return np.frombuffer(blob, np.uint8, offset=_HEADER.size + 4 * count).reshape(count, (dimension + 1) // 2)


def _levels(packed: Any) -> Floats:
    """Unpack two dimensions from each byte as -7 to 7, even dimensions first: several times as fast as in order."""
    import numpy as np

    half = packed.shape[1]
    levels: Floats = np.empty((len(packed), 2 * half), dtype=np.float32)
    levels[:, :half] = packed & 15
    levels[:, half:] = packed >> 4
    levels -= 8.0
    return levels
