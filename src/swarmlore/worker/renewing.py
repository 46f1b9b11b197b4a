"""Keeping a lease while a job takes its time: a thread with its own line to the store, as the job's may be busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from swarmlore.config import Settings
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.parts import open_store

if TYPE_CHECKING:
    from swarmlore.domain.records import Job
    from swarmlore.store.store import Store

RENEWALS = 3  # tries in the time of one lease


class Renewing:
    """Renews the lease of the job at hand; nothing is opened for jobs that are done before that."""

    def __init__(self, home: str, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._store: Store | None = None

    @contextmanager
    def of(self, job: Job) -> Iterator[None]:
        """Inside, the lease is renewed until it is lost or the job has ended."""
        ended = threading.Event()
        thread = threading.Thread(target=self._renew, args=(job, ended), name="swarmlore-renew", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _renew(self, job: Job, ended: threading.Event) -> None:
        own = self._settings.worker
        held = True
        while held and not ended.wait(own.lease_s / RENEWALS):
            try:
                store = self._opened()
                with store.engine.hurried(own.lease_s / RENEWALS):
                    held = store.renew(job, store.engine.now, own.lease_s)
            except SwarmloreError:
                continue  # a store that is busy or gone for the moment: there is another try before the lease ends

    def _opened(self) -> Store:
        if self._store is None:
            self._store = open_store(self._home, self._settings, round(time.time(), 3))
            self._store.engine.leave_tidying()  # a lease is a row: whoever writes more does it
        return self._store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
