"""Reading writes nothing, and what is written is private."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from homes import (
    COUNT,
    LESSON,
    fill,
    open_lore,
    prints,
    process,
)

# Reading writes nothing

READ_ACTIONS = {
    *(apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE, apsw.SQLITE_TRANSACTION),
}
LOCAL_PRAGMAS = {
    "foreign_keys",
    "secure_delete",
    "journal_size_limit",
    "wal_autocheckpoint",
    "cache_size",
    "temp_store",
    "synchronous",
}
ASKING_PRAGMAS = {"user_version", "schema_version", "data_version", "journal_mode", "page_count"}


@pytest.fixture
def acts() -> Iterator[list[tuple[str, str | None, str | None]]]:
    """Everything that connections opened from here on ask SQLite to do, apart from reading."""
    seen: list[tuple[str, str | None, str | None]] = []

    def watch(connection: apsw.Connection) -> None:
        def allow(action: int, one: str | None, two: str | None, *_: Any) -> int:
            if action not in READ_ACTIONS:
                seen.append((str(apsw.mapping_authorizer_function[action]), one, two))
            return apsw.SQLITE_OK

        connection.authorizer = allow

    apsw.connection_hooks.append(watch)
    yield seen
    apsw.connection_hooks.remove(watch)


def is_harmless(act: tuple[str, str | None, str | None]) -> bool:
    kind, name, value = act
    if kind == "SQLITE_PRAGMA":
        return name in LOCAL_PRAGMAS or (name in ASKING_PRAGMAS and value is None)
    # A virtual table that is used for the first time declares its columns: nothing of that reaches the file.
    return kind in ("SQLITE_CREATE_VTABLE", "SQLITE_CREATE_TABLE", "SQLITE_INSERT", "SQLITE_UPDATE") and name in (
        *("sqlite_master", "json_each"),
    )


def test_opening_and_reading_runs_no_statement_that_writes(
    healthy: Path, fast_path: Path, acts: list[tuple[str, str | None, str | None]]
) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    before = (prints(home), os.stat(home / "lore.db").st_mtime_ns)
    with open_lore(home) as lore:
        assert len(lore.list(limit=100)) == COUNT
        for profile in ("default", "knowledge", "lane", "swarm", "learnings", "beads"):
            hits = lore.recall("connection to s31 was refused, which port", profile=profile)
            assert hits or profile in ("lane", "beads")  # which know vectors only, and whole phrases only
        lore.stats(), lore.sessions(), lore.receipts(), lore.rejected(), lore.history(lore.list()[0].id)
        assert [act for act in acts if not is_harmless(act)] == []
        acts.clear()
        lore.remember(LESSON)
        assert ("SQLITE_INSERT", "memory", None) in acts  # the watch does see writes
    after = (prints(home), os.stat(home / "lore.db").st_mtime_ns)
    assert after != before


def test_commands_that_read_leave_the_file_as_it_was(healthy: Path, fast_path: Path) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    before = (prints(home), os.stat(home / "lore.db").st_mtime_ns)
    for words in (["list"], ["recall", "port of service s31"], ["stats"], ["receipts"], ["doctor"], ["config"]):
        assert process(home, *words).returncode == 0
    assert (prints(home), os.stat(home / "lore.db").st_mtime_ns) == before


def test_the_files_of_a_store_are_private(fast_path: Path) -> None:
    home = fast_path / "home"
    former = os.umask(0)
    try:
        fill(home, 1)
        with open_lore(home) as lore:
            lore.remember(LESSON)
            backup = lore.backup()
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*")}
    finally:
        os.umask(former)
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}
    assert Path(backup.path).name in modes
