"""The state that an older reflect tool left in `~/.reflect` (or REFLECT_STATE_DIR): read, never written."""

from __future__ import annotations

import os
from collections.abc import Mapping

from swarmlore.domain.policy.gate import scrub_text
from swarmlore.formats.yaml_text import Unreadable, plain, read
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.reflect.scanning import home_of
from swarmlore.workspace.files import open_own

if TYPE_CHECKING:
    from typing import Any

FILE = "reflect-state.yaml"
MOST_BYTES = 262_144
MOST_PENDING = 200
_LISTS = ("pending_low_confidence", "pending_reviews")
_WORDS = ("learning", "text", "rule", "title", "quote", "signal")


@frozen
class Older:
    """Whether it was told to reflect unasked, and the learnings that wait there."""

    auto: bool = False
    pending: tuple[str, ...] = ()


def older_state(env: Mapping[str, str]) -> Older:
    """What stands there; nothing where there is no such file or it cannot be read."""
    folder = env.get("REFLECT_STATE_DIR") or os.path.join(home_of(env), ".reflect")
    file, _ = open_own(os.path.join(os.path.abspath(os.path.expanduser(folder)), FILE))
    if file is None:
        return Older()
    with file:
        data = file.read(MOST_BYTES + 1)
    try:
        said: Any = plain(read(data.decode("utf-8")).root) if len(data) <= MOST_BYTES else {}
    except (Unreadable, UnicodeDecodeError):
        return Older()
    if not isinstance(said, dict):
        return Older()
    auto = str(said.get("auto_reflect", "")).strip().lower() in ("true", "yes", "on", "1")
    lists: list[Any] = [said.get(name) for name in _LISTS]
    waiting = [item for listed in lists if isinstance(listed, list) for item in listed]
    return Older(auto, tuple(filter(None, map(_words, waiting[:MOST_PENDING]))))


def _words(item: Any) -> str:
    if isinstance(item, dict):
        item = next((item[name] for name in _WORDS if isinstance(item.get(name), str)), "")
    return scrub_text(" ".join(item.split()))[:400] if isinstance(item, str) else ""
