"""The beginning of a text, cut between two words."""

from __future__ import annotations

MARK = "…"


def whole_words(text: str, most: int) -> str:
    """As many whole words as fit into so many characters; a first word that is longer is cut."""
    return text if len(text) <= most else text[: most + 1].rpartition(" ")[0].rstrip() or text[:most]


def shortened(text: str, most: int) -> str:
    """A text in one line and within so many characters, with a mark where something was left out."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return whole_words(text, most - 1).rstrip(" ,;:-–—") + MARK
