"""Shared steps of the local embedders: check packages and data files, clean texts, normalise vectors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING

from swarmlore.errors import Unavailable

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from swarmlore.models.providers import Vectors


def keep_silent() -> None:
    """Disable onnxruntime's telemetry; call before it is loaded. It would store device and process in the user's cache
    and send them later, and its own switch comes too late for the first record."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def need_packages(packages: Mapping[str, str], install: str) -> None:
    """Raise Unavailable unless every module (name -> distribution) is installed; nothing is imported."""
    missing = [distribution for module, distribution in packages.items() if not _folders(module)]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}", install)


def find_data(module: str, *names: str, install: str) -> str:
    """Return the path of a data file in an installed top-level package."""
    for folder in _folders(module):
        path = os.path.join(folder, *names)
        if os.path.isfile(path):
            return path
    raise Unavailable(f"not installed: {'/'.join((module, *names))}", install)


def read_checked(path: str, digest: str, install: str) -> bytes:
    """Read a file and verify its SHA-256; the bytes that were hashed are the bytes returned."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Unavailable(f"cannot read {path}: {error.strerror}", install) from error
    if sha256(data).hexdigest() != digest:
        raise Unavailable(f"{path} is not the file this version was made for (SHA-256 differs)", install)
    return data


def _folders(module: str) -> list[str]:
    # For a top-level name find_spec only searches; for a dotted one it would import the parents.
    if "." in module:
        raise ValueError(module)
    try:
        spec = find_spec(module)
    except ValueError:  # a module loaded without a spec
        return []
    return list(spec.submodule_search_locations or ()) if spec else []


def clean(text: str, longest: int) -> str:
    """Return the first `longest` characters as valid Unicode: surrogate pairs are joined, lone surrogates replaced."""
    text = text[:longest]
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def unit_rows(rows: NDArray[np.floating[Any]], who: str) -> Vectors:
    """Return the rows scaled to length 1 as float32; raise Unavailable for a row without a direction."""
    import numpy as np

    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise Unavailable(
            f"{who} returned a vector that is empty or not finite", "check the model; see docs/providers.md"
        )
    units: Vectors = (rows / lengths).astype(np.float32)
    return units
