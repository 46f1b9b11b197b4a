"""`.memory-ingest-log.yaml`: which memory files became which notes, one line for each, in YAML that is JSON too.

Lines are only added; of several about one file the last counts. What stands there besides is kept and not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

FILE = ".memory-ingest-log.yaml"
HEAD = "# Which memory files of agent clients became notes. Written by swarmlore.\n"
_MOST_CHARS = 4_000  # of a line
_PLAIN = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}"
_NOTE = re.compile(rf"documents/learnings/{_PLAIN}\.md")
_COPY = re.compile(rf"documents/memories/{_PLAIN}/{_PLAIN}\.md|")
_NAMES = ("source", "hash", "id", "note", "note_hash", "copy", "at")


@frozen
class Logged:
    """A file of a client as it was last taken over: marks of its text and of the note that was written."""

    source: str
    hash: str
    id: str
    note: str
    note_hash: str
    copy: str = ""
    at: str = ""


def read_log(text: str) -> dict[str, Logged]:
    """What is noted, by source."""
    found: dict[str, Logged] = {}
    for line in text.split("\n"):
        if line.startswith("- {") and len(line) <= _MOST_CHARS and (entry := _entry(line[2:])):
            found[entry.source] = entry
    return found


def _entry(text: str) -> Logged | None:
    try:
        told: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, Mapping) or not all(isinstance(told.get(name), str) for name in _NAMES[:5]):
        return None
    entry = Logged(**{name: str(told.get(name, "")) for name in _NAMES})
    # The folder may come from elsewhere by git: a path that leads out of it is no entry.
    return entry if _NOTE.fullmatch(entry.note) and _COPY.fullmatch(entry.copy) else None


def log_line(entry: Logged, *, first: bool = False) -> bytes:
    """One more line; the first one comes with a head."""
    told = json.dumps({name: getattr(entry, name) for name in _NAMES}, ensure_ascii=False)
    return f"{HEAD if first else ''}- {told}\n".encode("utf-8", "backslashreplace")
