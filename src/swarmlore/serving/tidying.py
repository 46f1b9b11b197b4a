"""Keeps the journal of a busy store small, beside its writer: whoever commits does not pay for copying pages."""

from __future__ import annotations

import threading
from contextlib import suppress

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.store.engine import Engine

EACH_S = 1.0


class Tidier:
    """Has a connection of its own; looks at it once a second, and copies where something was written meanwhile."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="swarmlore-tidy", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._closed.wait(EACH_S):
            with suppress(SwarmloreError):  # busy or gone: the next time, or the writer itself
                if self._engine.changed():
                    self._engine.tidy()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
