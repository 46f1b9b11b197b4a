"""What people and agents read about LEARNED comments, in the words that recall.sh has always used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarmlore.capture.beads import label
from swarmlore.domain.extraction.learned_comments import Learned
from swarmlore.surfaces.page import clean, one_line

NOTHING = "No knowledge entries yet."
FOUND_CHARS = 200
RECENT_CHARS = 120


def found(entries: Sequence[Learned], query: str, type: str) -> str:
    """Each entry with a blank line after it, or which question found none."""
    if not entries:
        lines = [f"No knowledge entries matching '{clean(query)}'"]
        return "\n".join([*lines, f"  (filtered by type: {clean(type)})"] if type else lines)
    return "\n".join(_entry(entry, FOUND_CHARS, f" tags={','.join(entry.tags)}") for entry in entries)


def recent(entries: Sequence[Learned]) -> str:
    head = f"## Recent Knowledge ({len(entries)} entries)\n"
    return "\n".join((head, *(_entry(entry, RECENT_CHARS) for entry in entries)))


def _entry(entry: Learned, chars: int, tags: str = "") -> str:
    text = one_line(entry.content, 0)[:chars]
    about = one_line(f"source={entry.source} bead={entry.bead}{tags}", 0)
    return f"{one_line(f'{label(entry)} {entry.key}', 0)}\n  {text}\n  {about}\n"


def stats(counts: Mapping[str, int]) -> str:
    if not counts["active"]:
        return NOTHING
    names = {
        "Active entries:": "active",
        "Unique keys:": "unique",
        "Learned:": "learned",
        "Investigation:": "investigation",
        "Archived:": "archived",
    }
    return "\n".join(("## Knowledge Base Stats", *(f"  {name.ljust(15)} {counts[key]}" for name, key in names.items())))
