"""One open memory for everybody who asks the warm process: events are kept, digested and answered."""

from __future__ import annotations

import contextlib
import os
import threading
import time

from swarmlore.capture.answering import answer
from swarmlore.capture.lore_pool import Siblings
from swarmlore.capture.pipeline import Digester
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event import AGENT_START, COMPACTED, from_plain, is_answered
from swarmlore.clients.hook.home import spool_dir
from swarmlore.errors import StoreBusy, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.lore import Lore
from swarmlore.meanwhile import Meanwhile
from swarmlore.retrieval.context import TooLate
from swarmlore.warm.chores import Chores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from swarmlore.clients.hook.event import Event

LAST_DRAIN_S = 1.0  # at the end; what is left waits for the next process
DIGEST_S = 0.5
ANSWER_S = 1.2  # a hook waits a little longer
WRITER_S = 0.5  # for another process, while those who ask us wait; what is left is tried again
PAUSE_S = 0.2
IDLE_S = 30.0  # between two looks at the spool, where hooks may leave what they could not hand over
CATCH_UP = 8


class SharedMemory:
    """The memory of a home, opened once. Threads may ask at the same time; the store lets one in at a time."""

    def __init__(self, home: str, cwd: str, client: str, env: Mapping[str, str], served: Lore | None = None) -> None:
        """`served` is the memory of a server that has opened it already, and has a worker of its own."""
        self.home = home
        self._spool = spool_dir(home)
        self._served = served is not None
        self._lore = served or Lore.open(home, cwd=cwd, client=client, env={**os.environ, **env})
        self._siblings = Siblings(self._lore)
        self._digester = Digester(self._lore, self._siblings)
        self._wake = threading.Event()
        self._closed = False
        self._chores = None if self._served else Chores(self._lore, self._note)
        self._worker = threading.Thread(target=self._work, name="swarmlore-digest", daemon=True)
        self._worker.start()

    def lore_for(self, cwd: str, client: str, env: Mapping[str, str], profile: str = "") -> Lore:
        """The memory as a client in a folder sees it, by the rules of a profile where its door has some."""
        return self._siblings.of_folder(cwd, client, env, profile)

    def take(self, record: Any, quiet: bool = False) -> dict[str, Any]:
        """Keep an event, on disk before anybody is told so; answer it where its moment wants that, unless `quiet`:
        another hook does."""
        deadline = time.monotonic() + ANSWER_S
        event = from_plain(record)
        if event is None:
            return {"ok": False, "error": "that is no event"}
        if quiet or not is_answered(event):
            self._keep(record)
            return {"ok": True, "text": ""}
        kept = Meanwhile(lambda: self._keep(record))  # the disk is waited for while the answer is looked for
        try:
            self._wait_for_digest(event.moment, kept)
            told = self._answer(event, deadline)
        except Exception as error:  # noqa: BLE001 - a hook's door: the event is kept, its answer is not worth a thread
            self._note(event.name, error)
            told = {"ok": True, "text": ""}
        kept.result()
        return told

    def _keep(self, record: dict[str, Any]) -> None:
        spool.append(self._spool, record)
        self._wake.set()

    def _answer(self, event: Event, deadline: float) -> dict[str, Any]:
        """The context for an event. Whoever asked does not wait for it for long: one that comes too late would leave a
        receipt of what nobody was shown."""
        lore = self._siblings.of_actor(event)
        with lore.acting():
            left = deadline - time.monotonic()
            if left <= 0:
                return {"ok": False, "error": "too late"}
            with lore.store.engine.hurried(left):
                try:
                    return {"ok": True, "text": answer(lore, event, self._mode, deadline)}
                except TooLate:
                    return {"ok": False, "error": "too late"}

    def _wait_for_digest(self, moment: str, kept: Meanwhile) -> None:
        """Answers that depend on what the session did just before wait a moment for that."""
        if moment not in (COMPACTED, AGENT_START):
            return
        kept.result()
        deadline = time.monotonic() + DIGEST_S
        while spool.waits(self._spool) and time.monotonic() < deadline:
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
        self._digest()
        self._try(self._lore.embedding.embedder)
        self._wake.set()
        while not self._closed:
            self._wake.wait(IDLE_S)
            self._wake.clear()
            self._digest()

    def _digest(self) -> None:
        with self._lore.store.engine.hurried(WRITER_S):
            self._try(self._drain)
            self._try(self._catch_up)
        if self._chores is not None:
            self._chores.wake()  # what was digested may have left something to do

    def _drain(self) -> None:
        while any(self._digester.drain(LAST_DRAIN_S).counts) and not self._closed:
            pass

    def _catch_up(self) -> None:
        """In small steps: whoever asks meanwhile waits for one of them at most."""
        while not self._served and self.has_model and self._lore.catch_up(CATCH_UP) and not self._wake.is_set():
            pass

    def _try(self, work: Callable[[], object]) -> None:
        """Do something; whatever goes wrong is told to the doctor, and the next round tries again."""
        try:
            work()
        except StoreBusy:
            time.sleep(PAUSE_S)
            self._wake.set()  # somebody writes much: soon again
        except Exception as error:  # noqa: BLE001 - the worker's loop: it has to outlive a full disk and a broken event
            self._note("digest", error)
            time.sleep(PAUSE_S)  # a busy or full store: not in a tight loop

    def _note(self, hook: str, error: Exception) -> None:
        what = error.message if isinstance(error, SwarmloreError) else type(error).__name__
        with contextlib.suppress(OSError):
            spool.note_problem(self._spool, {"at": round(time.time(), 3), "hook": hook, "what": what[:200]})

    def close(self) -> None:
        """Digest what a second allows, then let go."""
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        self._worker.join(LAST_DRAIN_S)
        if self._chores is not None:
            self._chores.close(LAST_DRAIN_S)
        with contextlib.suppress(SwarmloreError, OSError):  # it goes on waiting
            self._digester.drain(LAST_DRAIN_S)
        if not self._served:
            self._lore.close()
