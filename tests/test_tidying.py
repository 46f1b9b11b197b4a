"""The journal of a busy store: copied beside its writer, and begun anew though the writer never rests."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from conftest import ALICE, NOW, a_memory, an_operation
from swarmlore.serving import tidying
from swarmlore.serving.tidying import Tidier
from swarmlore.store import sqlite
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store

BEGINNINGS = 20  # by luck about one in two seconds
WAIT_S = 20.0


def beginnings(home: Path) -> int:
    """How often the journal was begun, as its head says."""
    with open(home / "lore.db-wal", "rb") as file:
        return int.from_bytes(file.read(16)[12:])


def write_on(store: Store, ended: threading.Event) -> int:
    """Lessons, one commit each, without a pause."""
    count = 0
    while not ended.is_set():
        with store.operation(an_operation(ALICE, "remember")) as operation:
            store.put(operation, a_memory(f"Lesson {count} about the port of service {count}"))
        count += 1
    return count


def test_a_journal_begins_anew_while_others_write(fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidying, "EACH_S", 0.05)
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 50)
    ended, counts = threading.Event(), []
    with closing(Store.open(str(fast_path), NOW)) as writer, closing(Store.open(str(fast_path), NOW)) as beside:
        writer.engine.leave_tidying()
        thread = threading.Thread(target=lambda: counts.append(write_on(writer, ended)))
        tidier = Tidier(beside.engine)
        thread.start()
        until = time.monotonic() + WAIT_S
        first = beginnings(fast_path)
        while beginnings(fast_path) < first + BEGINNINGS and time.monotonic() < until:
            time.sleep(0.02)
        found = beginnings(fast_path) - first
        ended.set()
        thread.join()
        tidier.close()
        assert found >= BEGINNINGS
        assert writer.count_selected(ALICE, Filter()) == counts[0]
