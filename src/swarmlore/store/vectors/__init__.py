"""Vector indexes: in memory, in a file that all processes map, or in the database of a team's store."""

from __future__ import annotations

import contextlib
import os

FILE = "vectors.idx"
UNFINISHED = ".new"


def path_of(home: str) -> str:
    """Return the path of a home's vector file."""
    return os.path.join(home, FILE)


def unfinished(home: str) -> list[str]:
    """Return vector files under construction, or left by a process that was killed."""
    names = os.listdir(home)
    return [os.path.join(home, name) for name in names if name.startswith(f"{FILE}.") and name.endswith(UNFINISHED)]


def remove(home: str) -> None:
    """Delete the vector file and unfinished ones: erased text must not stay in them."""
    for path in (path_of(home), *unfinished(home)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
