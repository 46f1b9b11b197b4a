"""One open memory for everybody who asks the warm process: events are kept, digested and answered."""

from __future__ import annotations

import contextlib
import os
import threading
import time

from swarmlore.capture.answering import answer
from swarmlore.capture.digest import Digester
from swarmlore.capture.siblings import Siblings
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.hooks import spool
from swarmlore.hooks.event import AGENT_START, ANSWERED, COMPACTED, from_plain
from swarmlore.hooks.places import spool_dir
from swarmlore.lore import Lore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LAST_DRAIN_S = 1.0  # at the end; what is left waits for the next process
DIGEST_S = 0.5
IDLE_S = 30.0  # between two looks at the spool, where hooks may leave what they could not hand over
CATCH_UP = 8


class SharedMemory:
    """The memory of a home, opened once. Threads may ask at the same time; the store lets one in at a time."""

    def __init__(self, home: str, cwd: str, client: str, env: Mapping[str, str]) -> None:
        self.home = home
        self._spool = spool_dir(home)
        self._lore = Lore.open(home, cwd=cwd, client=client, env={**os.environ, **env})
        self._siblings = Siblings(self._lore)
        self._digester = Digester(self._lore, self._siblings)
        self._wake = threading.Event()
        self._closed = False
        self._worker = threading.Thread(target=self._work, name="swarmlore-digest", daemon=True)
        self._worker.start()

    def lore_for(self, cwd: str, client: str, env: Mapping[str, str]) -> Lore:
        """The memory as a client in a folder sees it."""
        return self._siblings.of_folder(cwd, client, env)

    def take(self, record: Any) -> dict[str, Any]:
        """Keep an event, on disk before anything else; answer it where its moment wants that."""
        event = from_plain(record)
        if event is None:
            return {"ok": False, "error": "that is no event"}
        spool.append(self._spool, record)
        self._wake.set()
        text = ""
        if event.moment in ANSWERED:
            self._wait_for_digest(event.moment)
            try:
                text = answer(self._siblings.of_event(event), event, self._mode)
            except SwarmloreError as error:
                spool.note_problem(self._spool, {"at": event.at, "hook": event.name, "what": error.message[:200]})
        return {"ok": True, "text": text}

    def _wait_for_digest(self, moment: str) -> None:
        """Answers that depend on what the session did just before wait a moment for that."""
        deadline = time.monotonic() + DIGEST_S
        while moment in (COMPACTED, AGENT_START) and spool.waits(self._spool) and time.monotonic() < deadline:
            time.sleep(0.01)

    @property
    def has_model(self) -> bool:
        return self._lore.embedding.loaded

    @property
    def _mode(self) -> str:
        """By words while the model loads: an agent waits."""
        return "" if self.has_model else "keyword"

    def _work(self) -> None:
        """Load the model, then digest what comes and embed what waits, until closed."""
        self._wake.set()
        self._digest()
        self._lore.embedding.embedder()
        while not self._closed:
            self._wake.wait(IDLE_S)
            self._wake.clear()
            self._digest()

    def _digest(self) -> None:
        try:
            self._digester.drain(LAST_DRAIN_S)
            while self.has_model and self._lore.catch_up(CATCH_UP) and not self._wake.is_set():
                pass  # in small steps: whoever asks meanwhile waits for one of them at most
        except SwarmloreError as error:
            spool.note_problem(self._spool, {"at": time.time(), "hook": "digest", "what": error.message[:200]})
            time.sleep(0.2)  # a busy or full store: not in a tight loop

    def close(self) -> None:
        """Digest what a second allows, then let go."""
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        self._worker.join(LAST_DRAIN_S)
        with contextlib.suppress(SwarmloreError):  # it goes on waiting
            self._digester.drain(LAST_DRAIN_S)
        self._lore.close()
