"""How far long work has come: a bar at a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render

if TYPE_CHECKING:
    from typing import TextIO

LINE_EVERY_S = 3.0
BAR_EVERY_S = 0.1


class Progress:
    """Call it with what is done and, where known, the total; leave it to clear the line."""

    def __init__(self, doing: str, stream: TextIO | None, *, terminal: bool) -> None:
        self._doing = doing
        self._stream = stream
        self._terminal = terminal
        self._every_s = BAR_EVERY_S if terminal else LINE_EVERY_S
        self._next_at = time.monotonic() + (0.0 if terminal else self._every_s)
        self._drawn = 0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._stream is None or now < self._next_at:
            return
        self._next_at = now + self._every_s
        line = render.progress(self._doing, done, total, bar=self._terminal)
        if self._terminal:
            self._stream.write("\r" + line.ljust(self._drawn))
            self._drawn = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn and self._stream is not None:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
