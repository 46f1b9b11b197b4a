"""Connections to one server, kept for the next who needs one.

Made by the thread that needs it, when it needs it: nothing works in the background, so a command that asks one question
opens one connection, and a server that comes back is noticed by the next question.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Connection = psycopg.Connection[Any]

IDLE_S = 30.0  # one that lay idle longer is asked whether it still lives


class Pool:
    """At most `size` connections at a time; who finds none free waits for one."""

    def __init__(self, connect: Callable[[], Connection], size: int) -> None:
        self._connect = connect
        self._free: list[tuple[Connection, float]] = []
        self._places = threading.BoundedSemaphore(size)
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection for one transaction; a broken one is not given to anybody else."""
        with self._places:
            db = self._take() or self._connect()
            try:
                yield db
            finally:
                self._give_back(db)

    def _take(self) -> Connection | None:
        while True:
            with self._guard:
                if not self._free:
                    return None
                db, since = self._free.pop()
            if time.monotonic() - since < IDLE_S or _lives(db):
                return db
            db.close()

    def _give_back(self, db: Connection) -> None:
        idle = psycopg.pq.TransactionStatus.IDLE
        with self._guard:
            if not self._closed and not db.closed and db.info.transaction_status == idle:
                self._free.append((db, time.monotonic()))
                return
        db.close()

    def forget(self) -> None:
        """Close what is free: after one line broke, the others are likely to be dead as well."""
        with self._guard:
            free, self._free = self._free, []
        for db, _ in free:
            db.close()

    def close(self) -> None:
        self._closed = True
        self.forget()


def _lives(db: Connection) -> bool:
    try:
        db.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True
