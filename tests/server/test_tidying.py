"""The journal of a busy store: copied beside its writer, and begun anew though the writer never rests."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from conftest import ALICE, NOW, a_memory, an_operation
from homes import linux
from swarmlore.server import checkpointer
from swarmlore.server.checkpointer import Checkpointer
from swarmlore.store import sqlite
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store
from waiting import wait_until

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
    monkeypatch.setattr(checkpointer, "EACH_S", 0.05)
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 50)
    ended, counts = threading.Event(), []
    with closing(Store.open(str(fast_path), NOW)) as writer, closing(Store.open(str(fast_path), NOW)) as beside:
        writer.engine.leave_tidying()
        thread = threading.Thread(target=lambda: counts.append(write_on(writer, ended)))
        tidier = Checkpointer(beside.engine)
        thread.start()
        first = beginnings(fast_path)
        try:
            wait_until(lambda: beginnings(fast_path) >= first + BEGINNINGS, "the journal begins anew")
        finally:
            ended.set()
            thread.join()
            tidier.close()
        assert writer.count_selected(ALICE, Filter()) == counts[0]


def length_after_beginning_anew(home: Path, *, tidied_by_another: bool) -> int:
    """The bytes of a journal of some length after the first commit into it from its beginning."""
    home.mkdir()
    with closing(Store.open(str(home), NOW)) as writer, closing(Store.open(str(home), NOW)) as beside:
        if tidied_by_another:
            writer.engine.leave_tidying()
        for number in range(30):
            with writer.operation(an_operation(ALICE, "remember")) as operation:
                writer.put(operation, a_memory(f"Lesson {number} about the port of service {number}"))
        first = beginnings(home)
        beside.engine.tidy()
        with writer.operation(an_operation(ALICE, "remember")) as operation:
            writer.put(operation, a_memory("The journal begins anew with this one"))
        assert beginnings(home) == first + 1
        return (home / "lore.db-wal").stat().st_size


def test_a_journal_that_somebody_tidies_keeps_its_room(fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "WAL_LIMIT_BYTES", 100_000)
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 50)
    assert length_after_beginning_anew(fast_path / "alone", tidied_by_another=False) <= 100_000
    assert length_after_beginning_anew(fast_path / "served", tidied_by_another=True) > 100_000


TRY_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)  # what each reader of SQLite holds
    except OSError:
        sys.exit(3)
"""


def is_locked(path: Path) -> bool:
    """Whether another process finds this one's connections at the file."""
    return subprocess.run([sys.executable, "-c", TRY_LOCK, path], check=False).returncode == 3


@linux
def test_a_second_connection_leaves_the_locks_of_the_first(fast_path: Path) -> None:
    """Whoever closes a file gives up all locks of its process on it, those of other connections too: then another
    process could take the journal away that they write to."""
    with closing(Store.open(str(fast_path), NOW)) as first:
        first.engine.run("SELECT count(*) FROM memory")
        assert is_locked(fast_path / "lore.db")
        with closing(Store.open(str(fast_path), NOW)) as second:
            second.engine.tidy()
            with second.engine.writing():
                second.engine.copy_to(os.fspath(fast_path / "copy.db"))
            assert is_locked(fast_path / "lore.db")
        assert is_locked(fast_path / "lore.db")
    assert not is_locked(fast_path / "lore.db")
