"""Cited code for people: where it is, what became of it, how it differs. `render` loads it where code is cited."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.policy.ranking import CHANGED, STALE, place, place_now
from swarmlore.domain.records import Cited, Memory, Stale
from swarmlore.surfaces.page import Page, clean, hang, many, say

_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def in_words(cited: Cited) -> str:
    """One citation and its state."""
    citation = cited.citation
    where = place(citation.path, citation.first_line, citation.last_line)
    why = f" ({cited.note})" if cited.note else ""
    return {
        "unchanged": f"{where}, unchanged",
        "moved": f"{place_now(cited)}, moved from {where}",
        "changed": f"{where}: {CHANGED}{why}",
        "gone": f"{where}: {CHANGED}, it is gone{why}",
    }.get(cited.state, f"{where}, not checked{why}")


def places(memory: Memory) -> str:
    """What a memory cites, in one line."""
    return clean("cites " + ", ".join(place(item.path, item.first_line, item.last_line) for item in memory.citations))


def under(found: Sequence[Cited], page: Page, indent: int) -> list[str]:
    """The lines under a hit that cites code."""
    lines = []
    for cited in found:
        style = "yellow" if cited.state in STALE else "dim"
        lines.append(say(f"cites {in_words(cited)}", page, indent, style))
    return lines


def stale(found: Sequence[Stale], page: Page) -> str:
    """Memories with what became of the code they cite, and how it differs."""
    if not found:
        return "All cited code is as it was."
    lines: list[str] = []
    for item in found:
        handle = clean(item.memory.handle)
        lines.append(hang(page.paint("bold", handle) + "  ", item.memory.text, page, len(handle) + 2))
        for cited in item.cited:
            lines += [*under([cited], page, 4), *_diff(cited.diff, page)]
    return "\n".join(lines)


def _diff(text: str, page: Page) -> list[str]:
    return ["      " + _painted(clean(line), page) for line in text.splitlines()]


def _painted(line: str, page: Page) -> str:
    style = _DIFF.get(line[:1])
    return page.paint(style, line) if style else line


def followed(memories: Sequence[Memory], page: Page) -> str:
    if not memories:
        return "No cited code has moved."
    names = ", ".join(page.paint("bold", clean(memory.handle)) for memory in memories)
    return f"Followed the code of {many(len(memories), 'memory', 'memories')}: {names}. swarmlore undo takes it back."
