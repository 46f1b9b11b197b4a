"""Jobs while a warm process is there: vectors are made in it, as it has the model; the rest in a process beside it."""

from __future__ import annotations

import sys
import threading
import time

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.worker.burst import KINDS, is_due, new_owner
from swarmlore.worker.handlers import embed
from swarmlore.worker.running import do_here

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from swarmlore.lore import Lore

EMBED = ("embed",)
INDEX_S = 60.0  # between two looks whether there are many new vectors


class Chores:
    """Looks at the queue every few seconds and when woken, and sees to it that what is due is done."""

    def __init__(self, lore: Lore, note: Callable[[str, Exception], None]) -> None:
        self._lore = lore
        self._note = note
        self._wake = threading.Event()
        self._closed = False
        self._index_at = 0.0
        self._worker: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._work, name="swarmlore-chores", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def close(self, wait_s: float) -> None:
        """Take nothing else; a process that is at it brings its job to an end, or leaves it to the next."""
        self._closed = True
        self._wake.set()
        self._thread.join(wait_s)
        if self._worker is not None:
            self._worker.terminate()

    def _work(self) -> None:
        while not self._closed:
            self._wake.wait(self._lore.settings.worker.poll_s)
            self._wake.clear()
            try:
                self._look()
            except (SwarmloreError, OSError) as error:
                if not self._closed:
                    self._note("worker", error)

    def _look(self) -> None:
        if self._closed:
            return
        if time.monotonic() > self._index_at:
            self._index_at = time.monotonic() + INDEX_S
            self._lore.index_later()
        if self._lore.embedding.loaded and is_due(self._lore, EMBED):
            do_here(self._lore, {"embed": embed}, new_owner(), lambda: self._closed)
        busy = self._worker is not None and self._worker.poll() is None
        if not busy and not self._closed and is_due(self._lore):
            self._worker = start(self._lore.home)


def start(home: str) -> subprocess.Popen[bytes]:
    """A worker that does what is due and leaves, beside this process: it has threads, and handlers may misbehave."""
    import subprocess

    kinds = [word for kind in KINDS for word in ("--kind", kind)]
    words = [sys.executable, "-m", "swarmlore", "worker", "--until-empty", "--home", home, *kinds]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing, cwd=home, start_new_session=True)
