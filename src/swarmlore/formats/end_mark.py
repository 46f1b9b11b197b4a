"""The last line of an export that comes over the network: how many lines there were. Without it, some are missing."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace.jsonl import dump

if TYPE_CHECKING:
    from typing import Any


def end_line(count: int) -> bytes:
    return dump({"end": True, "count": count}) + b"\n"


def is_end(obj: Mapping[str, Any]) -> bool:
    """Whether a record is such a line; no memory has this form."""
    return obj.keys() == {"end", "count"} and obj["end"] is True and type(obj["count"]) is int
