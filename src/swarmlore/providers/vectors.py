"""Small steps that every embedder shares: readable text in, unit rows out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swarmlore.errors import Unavailable

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from swarmlore.providers.base import Vectors


def clean(text: str, longest: int) -> str:
    """The first `longest` characters as valid Unicode: surrogate pairs are joined, lone surrogates replaced."""
    text = text[:longest]
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def unit_rows(rows: NDArray[np.floating[Any]], who: str) -> Vectors:
    """The rows scaled to length 1 as float32; a row that has no direction is an error, never a made-up vector."""
    import numpy as np

    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise Unavailable(
            f"{who} returned a vector that is empty or not finite", "check the model; see docs/providers.md"
        )
    units: Vectors = (rows / lengths).astype(np.float32)
    return units
