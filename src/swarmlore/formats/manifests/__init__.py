"""Manifests and lock files: which packages a project names, which versions it holds, and on which line.

They come with a repository: nothing is executed or fetched, no entity is expanded, and a broken file gives nothing.
Formats that need no more are read line by line, XML and YAML among them.
"""

from __future__ import annotations

import re

from swarmlore.frozen import frozen

MAX_BYTES = 1_000_000
LOCK_BYTES = 16_000_000
MOST = 5_000  # packages of one file


@frozen
class Named:
    """A package, image or runtime that a file names, with what it asks for. `kind` is package, image or a kind of
    technology that is known already."""

    name: str
    wanted: str = ""
    line: int = 0
    kind: str = "package"


def line_of(text: str, name: str, after: int = 0) -> int:
    """The number of the first line that names a package as a word of its own; 0 where none does."""
    found = re.compile(rf"(?<![\w@/.-]){re.escape(name)}(?![\w/-])", re.IGNORECASE).search(text, after)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, max(place, 0)) + 1
