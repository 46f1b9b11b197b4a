"""A body that comes in parts, cut into lines. Of a line that is too long only the beginning is kept."""

from __future__ import annotations

from swarmlore.workspace.jsonl import LINE_BYTES

BOM = b"\xef\xbb\xbf"


class Splitter:
    """Takes parts of any size, gives whole lines; holds one line at most."""

    def __init__(self, cap: int = LINE_BYTES) -> None:
        self._most = cap + 1  # so that whoever reads it sees that it is too long
        self._held = bytearray()
        self._begun = False

    def feed(self, part: bytes) -> list[bytes]:
        """The lines that end in this part."""
        *ended, rest = part.split(b"\n")
        found = []
        for piece in ended:
            self._hold(piece)
            found.append(self._whole())
        self._hold(rest)
        return found

    def rest(self) -> list[bytes]:
        """A last line that no line end follows."""
        return [self._whole()] if self._held else []

    def _hold(self, piece: bytes) -> None:
        if (room := self._most - len(self._held)) > 0:
            self._held += piece[:room]

    def _whole(self) -> bytes:
        line = bytes(self._held)
        self._held.clear()
        if not self._begun:
            self._begun, line = True, line.removeprefix(BOM)
        return line
