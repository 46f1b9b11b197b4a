"""Databases of other programs: read whatever they hold, changed in nothing, and nothing in them is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from test_elsewhere import open_in

from elsewhere_files import LANE_TABLE, a_lane_row, database, fill
from homes import linux
from swarmlore.errors import InvalidInput, StoreBusy, SwarmloreError
from swarmlore.exchange import sqlite_tables
from swarmlore.exchange.sqlite_tables import FIRST, Tables

ROWS = {"memories": [a_lane_row(number) for number in range(3)]}


def ids(path: Path) -> list[Any]:
    with Tables(str(path)) as found:
        return [row.values["id"] for row in found.rows("memories", FIRST)]


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("wal", [False, True])
def test_a_file_and_its_folder_stay_as_they_are(place: Path, wal: bool) -> None:
    path = database(place / "swarm.db", LANE_TABLE, ROWS, wal=wal)
    before = content_of(place)
    assert len(ids(path)) == 3
    assert content_of(place) == before


def test_what_is_only_in_the_log_is_read_while_its_program_goes_on(place: Path) -> None:
    writer = fill(place / "swarm.db", LANE_TABLE, ROWS, wal=True)
    before = content_of(place)
    assert set(before) == {"swarm.db", "swarm.db-shm", "swarm.db-wal"}
    assert len(ids(place / "swarm.db")) == 3
    assert content_of(place) == before
    writer.close()


@pytest.mark.parametrize("left", [("-wal",), ("-wal", "-shm")])
def test_a_log_that_a_killed_program_left_is_read_and_left(place: Path, tmp_path: Path, left: tuple[str, ...]) -> None:
    writer = fill(tmp_path / "swarm.db", LANE_TABLE, ROWS, wal=True)
    for end in ("", *left):
        shutil.copy(tmp_path / f"swarm.db{end}", place / f"swarm.db{end}")
    writer.close()
    before = content_of(place)
    assert len(ids(place / "swarm.db")) == 3
    assert content_of(place) == before


def test_a_journal_that_a_killed_program_left_is_rolled_back_in_a_copy(place: Path, tmp_path: Path) -> None:
    writer = fill(tmp_path / "swarm.db", LANE_TABLE, ROWS)
    writer.execute("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN")
    for number in range(100, 400):
        row = a_lane_row(number)
        writer.execute(f"INSERT INTO memories ({', '.join(row)}) VALUES (?, ?, ?, ?, ?, ?, ?)", tuple(row.values()))
    for end in ("", "-journal"):
        shutil.copy(tmp_path / f"swarm.db{end}", place / f"swarm.db{end}")
    writer.close()
    before = content_of(place)
    assert len(ids(place / "swarm.db")) == 3
    assert content_of(place) == before


@linux
@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare")
@pytest.mark.parametrize("wal", [False, True])
def test_a_folder_that_cannot_be_written_is_read_all_the_same(place: Path, wal: bool) -> None:
    path = database(place / "swarm.db", LANE_TABLE, ROWS, wal=wal)
    code = f"from swarmlore.exchange.sqlite_tables import *\nwith Tables({str(path)!r}) as t: print(len(t.rows('memories', FIRST)))"
    mounted = f"mount --bind {place} {place} && mount -o remount,ro,bind {place} && exec {sys.executable} -c '{{}}'"
    script = place.parent / "read.py"
    script.write_text(code)
    mounted = mounted.replace("-c '{}'", str(script))
    done = subprocess.run(["unshare", "-rm", "sh", "-c", mounted], capture_output=True, text=True)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("no namespaces here")
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_no_copy_stays_behind(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(sqlite_tables.tempfile, "tempdir", str(copies))
    writer = fill(place / "swarm.db", LANE_TABLE, ROWS, wal=True)
    with Tables(str(place / "swarm.db")) as found:
        assert list(copies.iterdir()) == []  # a kill from here on leaves nothing
        assert len(found.rows("memories", FIRST)) == 3
    writer.close()


def test_a_file_that_changes_while_it_is_read_says_so(place: Path) -> None:
    path = database(place / "swarm.db", LANE_TABLE, ROWS, wal=True)
    with Tables(str(path)) as found:
        writer = apsw.Connection(str(path))
        writer.execute("DELETE FROM memories")
        writer.close()
        with pytest.raises(StoreBusy, match="changes while it is read"):
            found.rows("memories", FIRST)


def test_a_file_that_another_program_locks_is_busy(place: Path) -> None:
    path = database(place / "swarm.db", LANE_TABLE, ROWS)
    writer = apsw.Connection(str(path))
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusy):
        ids(path)
    writer.close()


def test_pages_go_on_where_the_last_one_ended(place: Path) -> None:
    rows = {"memories": [a_lane_row(number) for number in range(950)]}
    for schema in (LANE_TABLE, LANE_TABLE.rstrip().removesuffix(";") + " WITHOUT ROWID;"):
        path = database(place / f"{len(schema)}.db", schema, rows)
        with Tables(str(path)) as found:
            place_, seen = FIRST, []
            while page := found.rows("memories", place_, limit=100):
                seen += [row.values["id"] for row in page]
                place_ = page[-1].place
            assert sorted(seen) == sorted(str(row["id"]) for row in rows["memories"])
            assert found.count("memories") == 950


# Hostile


def test_views_triggers_and_computed_columns_are_not_run(place: Path) -> None:
    schema = """
    CREATE TABLE real (id TEXT, content TEXT, secret TEXT AS (upper(content)), kept TEXT AS (lower(content)) STORED);
    CREATE VIEW memories AS SELECT id, content FROM real;
    CREATE TABLE agent_memory (id TEXT, content TEXT, hidden TEXT AS (replace(content, 'b', 'c')));
    CREATE TRIGGER t AFTER INSERT ON real BEGIN DELETE FROM agent_memory; END;
    INSERT INTO agent_memory (id, content) VALUES ('a', 'b');
    """
    path = database(place / "x.db", schema, {})
    with Tables(str(path)) as found:
        assert "memories" not in found.tables
        assert found.columns("real") == ("id", "content")
        assert found.rows("agent_memory", FIRST)[0].values == {"id": "a", "content": "b"}


def test_virtual_tables_are_none_of_ours(place: Path) -> None:
    path = place / "x.db"
    db = apsw.Connection(str(path))
    db.execute("CREATE VIRTUAL TABLE memories USING fts5 (content)")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("INSERT INTO sqlite_schema VALUES ('table', 'vec', 'vec', 0, 'CREATE VIRTUAL TABLE vec USING vec0(x)')")
    db.close()
    with Tables(str(path)) as found:
        assert "memories" not in found.tables
        assert "vec" not in found.tables


def test_the_vector_index_of_a_libsql_file_is_no_hindrance(place: Path) -> None:
    path = place / "swarm.db"
    db = fill(path, LANE_TABLE + "CREATE INDEX vectors ON memories (embedding);", ROWS)
    db.execute("PRAGMA writable_schema = ON")
    sql = "CREATE INDEX vectors ON memories (libsql_vector_idx(embedding))"
    db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'vectors'", (sql,))
    db.close()
    assert len(ids(path)) == 3


def test_odd_cells_are_read_or_named(place: Path) -> None:
    path = database(place / "x.db", "CREATE TABLE memories (id, content, metadata, n)", {})
    db = apsw.Connection(str(path))
    db.execute("INSERT INTO memories VALUES (1, x'41ff', 2.5, NULL), ('a', CAST(x'ff' AS TEXT), NULL, 0)")
    db.execute(
        "INSERT INTO memories VALUES ('b', CAST(zeroblob(40000000) AS TEXT), '', 0), ('c', 'x', zeroblob(9999999), 9e999)"
    )
    db.close()
    with Tables(str(path)) as found:
        rows = found.rows("memories", FIRST)
    assert [(row.values, row.problem) for row in rows] == [
        ({"id": 1, "content": None, "metadata": 2.5, "n": None}, ""),
        ({}, "a text that is not Unicode"),
        ({}, "too long (40000001 bytes)"),
        ({"id": "c", "content": "x", "metadata": None, "n": None}, ""),
    ]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_texts_are_read_in_the_encoding_of_their_file(place: Path, encoding: str) -> None:
    schema = f'PRAGMA encoding = \'{encoding}\'; CREATE TABLE memories (id, "a""b ☂", _rowid_, rowid);'
    path = database(place / "x.db", schema, {})
    db = apsw.Connection(str(path))
    db.execute("INSERT INTO memories VALUES ('é', '数据', 1, 2)")
    db.close()
    with Tables(str(path)) as found:
        assert found.rows("memories", FIRST)[0].values == {"id": "é", 'a"b ☂': "数据", "_rowid_": 1, "rowid": 2}


def test_a_table_of_very_many_columns_is_read_in_part(place: Path) -> None:
    schema = f"CREATE TABLE memories ({', '.join(f'c{number}' for number in range(1500))})"
    path = database(place / "x.db", schema, {"memories": [{"c0": "x"}]})
    with Tables(str(path)) as found:
        assert len(found.rows("memories", FIRST)[0].values) == sqlite_tables.MOST_COLUMNS


def test_damaged_files_are_errors_in_words(place: Path, tmp_path: Path) -> None:
    rows = {"memories": [a_lane_row(number) for number in range(400)]}
    whole = database(place / "swarm.db", LANE_TABLE, rows).read_bytes()
    for name, data in (
        ("cut", whole[: len(whole) // 3]),
        ("head", whole[:100]),
        ("short", whole[:30]),
        ("holes", whole[:5000] + b"\xff" * 60_000 + whole[65_000:]),
        ("schema", whole.replace(b"CREATE TABLE memories", b"CREATE TABLE )(*&^%$#")),
    ):
        path = place / name
        path.write_bytes(data)
        with open_in(tmp_path / "home") as lore, pytest.raises((InvalidInput, StoreBusy)) as raised:
            lore.import_file(str(path))
        assert raised.value.hint
        assert path.read_bytes() == data


@pytest.mark.parametrize("seed", range(12))
def test_whatever_bytes_are_changed_ends_in_rows_or_in_words(place: Path, seed: int) -> None:
    import random

    chance = random.Random(seed)
    data = bytearray(database(place / "swarm.db", LANE_TABLE, ROWS, wal=bool(seed % 2)).read_bytes())
    for _ in range(chance.randrange(1, 200)):
        data[chance.randrange(16, len(data))] = chance.randrange(256)
    path = place / "odd.db"
    path.write_bytes(data)
    with suppress(SwarmloreError), Tables(str(path)) as found:
        for name in found.tables:
            found.rows(name, FIRST)
    assert sorted(os.listdir(place)) == ["odd.db", "swarm.db"]
