"""Keeps the journal of a busy store small, beside its writer: whoever commits does not pay for copying pages."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.store.engine import Engine


EACH_S = 0.5
RESTS = 10  # times as long as it took: where a disk is slow, others need it more


class Tidier:
    """Has a connection of its own; looks at it now and then, and copies where something was written meanwhile."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="swarmlore-tidy", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        pause_s = EACH_S
        while not self._closed.wait(pause_s):
            begun = time.monotonic()
            with suppress(SwarmloreError):  # busy or gone: the next time, or the writer itself
                if self._engine.changed():
                    self._engine.tidy()
            pause_s = max(EACH_S, RESTS * (time.monotonic() - begun))

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
