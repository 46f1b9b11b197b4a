"""One pass over a project's files: which of them hold which terms of a question.

Bytes are searched for the beginnings of words, which is a question of a second for ten thousand files. What is large,
binary or behind a link is left out; a project that is too large is cut, and the report says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from swarmlore.frozen import frozen
from swarmlore.research.question import ALSO, Question
from swarmlore.workspace.cited_code import Tree, Unreadable
from swarmlore.workspace.codebase import Listing, is_binary, is_text

MOST_BYTES = 400_000_000
MOST_SECONDS = 20.0
FILE_BYTES = 1_000_000


@frozen
class Holding:
    """A file that holds some of the terms: which, as indexes into the question's."""

    path: str
    terms: tuple[int, ...]


@frozen
class Scan:
    """The files that hold something, how many files hold each term, how many were read, and whether all were."""

    files: tuple[Holding, ...]
    counts: tuple[int, ...]
    read: int
    cut: str = ""


def scan(tree: Tree, listing: Listing, question: Question, stop: Callable[[], bool] = lambda: False) -> Scan:
    """Look through every text file of a project once."""
    found: list[Holding] = []
    counts = [0] * len(question.needles)
    read = size = 0
    ends_at = time.monotonic() + MOST_SECONDS
    cut = "the list of files was cut" if listing.cut else ""
    for path in listing.paths:
        if time.monotonic() > ends_at or size > MOST_BYTES or stop():
            cut = f"only {read:,} of {len(listing.paths):,} files were read"
            break
        data = low_bytes(tree, path) if is_text(path) else b""
        read += bool(data)
        size += len(data)
        held = tuple(number for number, needle in enumerate(question.needles) if _holds(data, needle))
        for number in held:
            counts[number] += 1
        if held:
            found.append(Holding(path, held))
    return Scan(tuple(found), tuple(counts), read, cut)


def _holds(data: bytes, needle: bytes) -> bool:
    return needle in data or any(other in data for other in ALSO.get(needle, ()))


def low_bytes(tree: Tree, path: str) -> bytes:
    """A text file in small letters; nothing where it is none."""
    try:
        data = tree.content(path, FILE_BYTES)
    except Unreadable:
        return b""
    return b"" if is_binary(data) else data.lower()


def text_of(tree: Tree, path: str) -> str:
    """A text file as it stands; '' where it cannot be read, or is none."""
    try:
        data = tree.content(path, FILE_BYTES)
    except Unreadable:
        return ""
    return "" if is_binary(data) else data.decode("utf-8", "replace")
