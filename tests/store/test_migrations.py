"""From one schema to the next: once, recorded, whole or not at all, and never without a copy."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import ALICE, quick_env
from swarmlore.errors import StoreError, StoreFull, StoreReadOnly, StoreTooNew
from swarmlore.lore import Lore
from swarmlore.store import database as migrate
from swarmlore.store import database as queries
from swarmlore.store.sqlite import SqliteEngine
from swarmlore.store.store import Store
from waiting import wait_until

LATER = 1_900_000_000.0
LESSONS = [f"Service s{number * 31} listens on port {2000 + number * 13}" for number in range(5)]
SECOND = """
CREATE TABLE nickname (memory TEXT PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO nickname SELECT id, handle FROM memory;
ALTER TABLE memory ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
"""
FIRST = migrate.newest("sqlite")
NEXT = FIRST + 1


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a store of today's schema."""
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        for lesson in LESSONS:
            lore.remember(lesson)
    return tmp_path / "home"


@pytest.fixture
def sql_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The statements of a later program: a copy of today's, to which a test adds migrations."""
    shutil.copytree(queries.SQL_DIR, tmp_path / "sql")
    monkeypatch.setattr(queries, "SQL_DIR", str(tmp_path / "sql"))
    forget_statements()
    yield tmp_path / "sql"
    forget_statements()


def forget_statements() -> None:
    """Statements are read once per process."""
    for function in (queries.load, queries.migrations):
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def add(sql_dir: Path, number: int, script: str, name: str = "nicknames") -> None:
    (sql_dir / "migrations" / "sqlite" / f"{number:04d}_{name}.sql").write_text(script)
    forget_statements()


def schema(path: Path) -> list[tuple[Any, ...]]:
    """Version, tables and the record of migrations, read beside the program."""
    database = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = database.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        applied = database.execute("SELECT version, name, applied_at FROM migration ORDER BY version").fetchall()
        return [*database.execute("PRAGMA user_version").fetchall(), *applied, *tables]
    finally:
        database.close()


def texts(home: Path) -> set[str]:
    with Lore.open(home, cwd=home.parent, caller=ALICE, env=quick_env()) as lore:
        assert lore.store.engine.check() == []
        return {memory.text for memory in lore.list()}


def copies(home: Path) -> list[Path]:
    return sorted(home.glob("backups/before-migration-*.db"))


def test_a_new_store_records_its_migrations(home: Path) -> None:
    store = Store.open(str(home), LATER)
    recorded = store.engine.run("SELECT version, name FROM migration ORDER BY version")
    store.close()
    assert recorded == [(number, name) for number, name, _ in queries.migrations("sqlite")]
    assert copies(home) == []


def test_the_numbers_of_migrations_have_no_gaps() -> None:
    steps = queries.migrations("sqlite")
    assert [number for number, _, _ in steps] == list(range(1, len(steps) + 1))


def test_a_migration_is_applied_once_recorded_and_preceded_by_a_copy(home: Path, sql_dir: Path) -> None:
    before = schema(home / "lore.db")
    add(sql_dir, NEXT, SECOND)
    Store.open(str(home), LATER).close()
    assert schema(home / "lore.db")[0] == (NEXT,)
    store = Store.open(str(home), LATER + 1)
    recorded = store.engine.run("SELECT version, name, applied_at FROM migration WHERE version > ?1", {"1": FIRST})
    nicknames = store.engine.run("SELECT count(*) FROM nickname")
    store.close()
    assert recorded == [(NEXT, "nicknames", LATER)]
    assert nicknames == [(len(LESSONS),)]
    [copy] = copies(home)
    assert schema(copy) == before
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert texts(home) == set(LESSONS)


def test_several_migrations_are_applied_in_order(home: Path, sql_dir: Path) -> None:
    add(sql_dir, NEXT, SECOND)
    add(sql_dir, NEXT + 1, "INSERT INTO nickname VALUES ('x', 'y');", "more")
    Store.open(str(home), LATER).close()
    assert schema(home / "lore.db")[0] == (NEXT + 1,)
    assert [path.name.split("-")[2] for path in copies(home)] == [f"{FIRST:04d}"]  # one copy of what was there


def test_the_copy_can_be_restored_by_the_older_program(
    home: Path, sql_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(sql_dir, NEXT, SECOND)
    Store.open(str(home), LATER).close()
    [copy] = copies(home)
    monkeypatch.undo()
    forget_statements()
    with pytest.raises(StoreTooNew):
        Store.open(str(home), LATER)
    _, kept = Lore.restore_backup(str(copy), str(home))
    assert texts(home) == set(LESSONS)
    assert schema(Path(kept))[0] == (NEXT,)


def test_a_backup_of_an_older_schema_is_migrated_when_it_is_restored(home: Path, sql_dir: Path) -> None:
    with Lore.open(home, cwd=home.parent, caller=ALICE, env=quick_env()) as lore:
        old = lore.backup(str(home.parent / "old.db")).path
    add(sql_dir, NEXT, SECOND)
    Lore.restore_backup(old, str(home))
    assert schema(home / "lore.db")[0] == (NEXT,)
    assert schema(Path(old))[0] == (FIRST,)
    assert texts(home) == set(LESSONS)


@pytest.mark.parametrize(
    "script",
    [
        SECOND + "INSERT INTO nowhere VALUES (1);",
        SECOND + "INSERT INTO nickname SELECT id, handle FROM memory;",
        SECOND + "UPDATE memory SET text = NULL;",
        SECOND + "this is no SQL;",
    ],
    ids=["no table", "a key twice", "a missing value", "no SQL"],
)
def test_a_migration_that_fails_is_undone_whole(home: Path, sql_dir: Path, script: str) -> None:
    before = schema(home / "lore.db")
    add(sql_dir, NEXT, script)
    for _ in range(2):
        with pytest.raises(StoreError, match="could not be changed"):
            Store.open(str(home), LATER)
        assert schema(home / "lore.db") == before
    assert all(schema(copy) == before for copy in copies(home))
    assert copies(home)
    add(sql_dir, NEXT, SECOND)
    Store.open(str(home), LATER).close()
    assert schema(home / "lore.db")[0] == (NEXT,)
    assert texts(home) == set(LESSONS)


def test_without_room_for_the_copy_nothing_is_migrated(home: Path, sql_dir: Path) -> None:
    before = schema(home / "lore.db")
    add(sql_dir, NEXT, SECOND)
    (home / "backups").write_text("in the way")
    with pytest.raises(StoreError, match="backups cannot be used"):
        Store.open(str(home), LATER)
    assert schema(home / "lore.db") == before
    (home / "backups").unlink()
    Store.open(str(home), LATER).close()
    assert schema(home / "lore.db")[0] == (NEXT,)


def test_a_migration_for_which_there_is_no_room_is_undone(home: Path, sql_dir: Path) -> None:
    before = schema(home / "lore.db")
    add(sql_dir, NEXT, SECOND + "CREATE TABLE big (data); INSERT INTO big VALUES (zeroblob(1000000));")

    def limit(connection: apsw.Connection) -> None:
        connection.execute("PRAGMA max_page_count = 150").fetchall()

    apsw.connection_hooks.append(limit)
    try:
        with pytest.raises(StoreFull):
            Store.open(str(home), LATER)
    finally:
        apsw.connection_hooks.remove(limit)
    assert schema(home / "lore.db") == before
    assert texts_without_migration(home) == set(LESSONS)


def texts_without_migration(home: Path) -> set[str]:
    database = apsw.Connection(str(home / "lore.db"), flags=apsw.SQLITE_OPEN_READONLY)
    found = {str(row[0]) for row in database.execute("SELECT text FROM memory")}
    database.close()
    return found


def test_an_older_store_that_cannot_be_written_is_refused_untouched(home: Path, sql_dir: Path) -> None:
    add(sql_dir, NEXT, SECOND)
    engine = SqliteEngine(str(home / "lore.db"), readonly=True)
    with pytest.raises(StoreReadOnly):
        migrate.migrate(engine, str(home / "backups"), LATER)
    engine.close()
    assert schema(home / "lore.db")[0] == (FIRST,)
    assert copies(home) == []


# Several processes, and a kill in the middle

OPEN = """
import sys
from swarmlore.store import database
database.SQL_DIR = sys.argv[1]
from swarmlore.store.store import Store
Store.open(sys.argv[2], float(sys.argv[3])).close()
"""
# A statement that takes long: there is time to be killed in the middle of it.
SLOW = """
CREATE TABLE slow AS
WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 3000000) SELECT n FROM count;
"""


def opening(sql_dir: Path, home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", OPEN, str(sql_dir), str(home), str(LATER)])


def test_several_processes_migrate_once(home: Path, sql_dir: Path) -> None:
    add(sql_dir, NEXT, SECOND)
    starts = [opening(sql_dir, home) for _ in range(5)]
    assert [start.wait(120) for start in starts] == [0] * 5
    assert schema(home / "lore.db")[0] == (NEXT,)
    assert len(copies(home)) == 1
    assert texts(home) == set(LESSONS)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("delay", [0.0, 0.15, 0.4])
def test_a_kill_in_the_middle_of_a_migration_leaves_the_old_schema(home: Path, sql_dir: Path, delay: float) -> None:
    before = schema(home / "lore.db")
    add(sql_dir, NEXT, SECOND + SLOW)
    start = opening(sql_dir, home)
    # The copy is made right before the change begins.
    wait_until(lambda: copies(home) or start.poll() is not None, "the store is copied", pause_s=0.0)
    try:
        start.wait(delay)
    except subprocess.TimeoutExpired:
        start.send_signal(signal.SIGKILL)
    start.wait()
    assert start.returncode == -signal.SIGKILL
    assert schema(home / "lore.db") == before
    assert texts_without_migration(home) == set(LESSONS)
    add(sql_dir, NEXT, SECOND)
    Store.open(str(home), LATER).close()
    assert schema(home / "lore.db")[0] == (NEXT,)
    assert texts(home) == set(LESSONS)


def test_a_store_of_the_first_schema_goes_on_with_everything_in_it(tmp_path: Path) -> None:
    """The file was made by the first program that could make one."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(Path(__file__).parents[1] / "data" / "store-0001.db", home / "lore.db")
    with Lore.open(home, cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        assert lore.store.engine.version() == FIRST
        assert lore.store.engine.check() == []
        snapshots = lore.recall("snap-record", mode="keyword")[0].memory
        assert (snapshots.kind, snapshots.tags, len(snapshots.situations)) == ("correction", ("testing",), 1)
        assert {memory.tier for memory in lore.list()} == {"agent", "swarm"}
        (superseded,) = lore.list(status="superseded")
        assert [row.action for row in lore.history(superseded.id)] == ["added", "superseded"]
        assert len(lore.list(status="forgotten")) == 1
        assert lore.store.count_vectors("minilm-int8:8199be6f") == 6
        assert [check.state for check in lore.doctor() if check.name == "indexes"] == ["warn"]
        lore.reindex()
        assert [check for check in lore.doctor() if check.name == "indexes"] == []
        again = lore.remember("The staging database listens on port 5433")
        assert again.outcome == "confirmed"
    assert len(copies(home)) == 1
