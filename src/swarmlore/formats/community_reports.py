"""What a language model wrote about communities: one small file in the home, for its owner only.

A report is kept under a mark of the texts it was made from, so that it is told only to who sees all of these, and only
as long as they are as they were. It repeats them in other words: whoever erases a memory drops the file.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from hashlib import sha256

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import frozen
from swarmlore.workspace.files import Folder

NAME = "community-reports.json"
MOST_KEPT = 500  # the newest


@frozen
class KeptReport:
    """The sentences of a model about a community, and its name; without sentences it had nothing to say."""

    sentences: tuple[str, ...]
    by: str


def mark_of(told: Sequence[str]) -> str:
    """What tells these texts from all others."""
    return sha256("\0".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read(home: str) -> dict[str, KeptReport]:
    """Every report that was kept, by the mark of its texts; nothing where the file cannot be read."""
    try:
        with Folder(os.path.realpath(home)) as folder:
            told = json.loads(folder.read(NAME) or b"{}")
        return {
            str(mark): KeptReport(tuple(map(str, item["sentences"])), str(item["by"])) for mark, item in told.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, SwarmloreError):
        return {}


def keep(home: str, mark: str, report: KeptReport) -> None:
    """Keep one more, as the newest."""
    with Folder(os.path.realpath(home)) as folder, folder.lock():
        known = read(home)
        known.pop(mark, None)
        newest = [*known.items(), (mark, report)][-MOST_KEPT:]
        told = {mark: {"sentences": list(one.sentences), "by": one.by} for mark, one in newest}
        folder.replace(NAME, [json.dumps(told, ensure_ascii=True).encode("ascii")], mode=0o600)


def drop(home: str) -> None:
    """Remove all of them."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(home, NAME))
