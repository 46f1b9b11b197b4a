"""Git merge driver for ledgers: merge two versions of a file by the sync's rule, without a store.

    [merge "swarmlore"]
        driver = /path/of/python -P -m swarmlore merge-driver %O %A %B %P || git merge-file --union %A %O %B

The common ancestor is not needed, since the rule gives the same lines for any history.
"""

from __future__ import annotations

import os

from swarmlore.domain.policy.merge import Version, merge
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.exchange.knowledge_format import from_object, to_line
from swarmlore.exchange.ledger_files import rejected_lines
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace import jsonl
from swarmlore.workspace.jsonl import MARK, BadLine

if TYPE_CHECKING:
    from typing import BinaryIO


REJECTED_KEPT = 20


def merge_files(ours: str, theirs: str, name: str = "") -> int:
    """Merge two files into the first one; return its new number of lines."""
    if name.endswith("-rejected.jsonl"):
        content = rejected_lines(_content(ours) + b"\n" + _content(theirs), (), REJECTED_KEPT)
    else:
        content = merge_lines(ours, theirs)
    with open(ours, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return content.count(b"\n")


def merge_lines(*paths: str) -> bytes:
    """Merge the lines of several files; unreadable lines go to the end, where the next sync sets them aside."""
    versions: dict[str, Version] = {}
    odd: dict[bytes, None] = {}
    for path in paths:
        _gather(path, versions, odd)
    lines = [to_line(version) for version in sorted(versions.values(), key=lambda version: version.at)]
    return b"".join(line + b"\n" for line in (*lines, *odd))


def _gather(path: str, versions: dict[str, Version], odd: dict[bytes, None]) -> None:
    with _opened(path) as file:
        for line in jsonl.lines(file):
            if line.cut:
                raise InvalidInput(f"line {line.number} of {path} is too long to merge", "shorten it by hand")
            try:
                version = from_object(jsonl.parse(line))
            except BadLine as problem:
                if problem.reason != MARK:
                    odd[line.raw] = None
                continue
            id = version.memory.id
            versions[id] = merge(versions[id], version) if id in versions else version


def _content(path: str) -> bytes:
    with _opened(path) as file:
        return file.read()


def _opened(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}", "git gives these names: %O %A %B") from None
