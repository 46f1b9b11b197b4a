"""Background WAL checkpointer on its own connection, so that commits never pay for a checkpoint."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from swarmlore.store.engine import Engine


EACH_S = 0.5
RESTS = 10  # pause this many times as long as a checkpoint took, to leave a slow disk to others


class Checkpointer:
    """Thread that checkpoints the WAL every half second if the store was written to."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="swarmlore-tidy", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        pause_s = EACH_S
        while not self._closed.wait(pause_s):
            begun = time.monotonic()
            with suppress(SwarmloreError):  # busy or gone: the next round tries again, or the writer checkpoints itself
                if self._engine.changed():
                    self._engine.tidy()
            pause_s = max(EACH_S, RESTS * (time.monotonic() - begun))

    def close(self) -> None:
        """Stop the thread and wait for it."""
        self._closed.set()
        self._thread.join()
