"""Nearest vectors: in memory or in a file that all processes map, or left to the database of a team's store."""

from __future__ import annotations

import contextlib
import os

FILE = "vectors.idx"
UNFINISHED = ".new"


def path_of(home: str) -> str:
    return os.path.join(home, FILE)


def unfinished(home: str) -> list[str]:
    """Files that are being made, or that somebody who was killed left."""
    names = os.listdir(home)
    return [os.path.join(home, name) for name in names if name.startswith(f"{FILE}.") and name.endswith(UNFINISHED)]


def remove(home: str) -> None:
    """Take the file away, also one that is being made: what is erased must not stay in it."""
    for path in (path_of(home), *unfinished(home)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
