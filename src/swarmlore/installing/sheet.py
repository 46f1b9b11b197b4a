"""A text that is changed piece by piece, and that knows the way back."""

from __future__ import annotations

from collections.abc import Iterable

Splice = tuple[int, int, str]  # where, how many characters now, and what stood there before


class Sheet:
    """The text of a file under change; `undo` leads back to what it was."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.undo: list[Splice] = []
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def splice(self, start: int, end: int, new: str) -> None:
        """Put new text in place of a piece."""
        if self.text[start:end] == new:
            return
        self.undo.append((start, len(new), self.text[start:end]))
        self.text = self.text[:start] + new + self.text[end:]


def undone(text: str, splices: Iterable[Splice]) -> str:
    """The text before these changes were made to it, the last of them first."""
    for start, length, before in reversed(list(splices)):
        text = text[:start] + before + text[start + length :]
    return text
