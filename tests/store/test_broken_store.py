"""A damaged store: what happened and what to do is said, nothing is lost, no empty one takes its place."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from conftest import NOW
from homes import (
    COUNT,
    IN_LOG,
    LESSON,
    PAGE,
    PROGRAM,
    fill,
    linux,
    open_lore,
    prints,
    process,
)
from swarmlore.errors import StoreCorrupt, StoreError, StoreTooNew, SwarmloreError
from swarmlore.lore import Lore
from swarmlore.store.sqlite import SqliteEngine
from swarmlore.store.store import Store


def use(home: Path) -> list[int]:
    """Read in every way; how many memories each found."""
    with open_lore(home) as lore:
        found = [len(lore.list(limit=1000)), len(lore.recall("which service listens on a port", limit=1000))]
        lore.recall("connection refused", profile="knowledge")
        lore.stats(), lore.sessions(), lore.receipts(), lore.rejected(), lore.history(lore.list()[0].id)
        return found


def assert_restores(home: Path) -> None:
    """A broken store gives way to its backup and is kept."""
    broken = prints(home)
    [backup] = (home / "backups").glob("lore-*.db")
    _, kept = Lore.restore_backup(str(backup), str(home))
    assert use(home)[0] == COUNT
    if broken:
        aside = Path(kept).name
        assert {
            name.replace(aside, "lore.db"): print for name, print in prints(home).items() if aside in name
        } == broken


# Damage

CUTS: dict[str, Callable[[int], int]] = {
    "nothing": lambda size: 0,
    "one byte": lambda size: 1,
    "half a header": lambda size: 50,
    "a header": lambda size: 100,
    "a page less one byte": lambda size: PAGE - 1,
    "a page": lambda size: PAGE,
    "two pages": lambda size: 2 * PAGE,
    "half": lambda size: size // 2,
    "half, in whole pages": lambda size: size // PAGE // 2 * PAGE,
    "all but a page": lambda size: size - PAGE,
    "all but half a page": lambda size: size - PAGE // 2,
    "all but one byte": lambda size: size - 1,
}


# An empty file that nobody marked is a new store.
@pytest.mark.parametrize(
    ("cut", "marked"), [*((cut, True) for cut in CUTS), *((cut, False) for cut in CUTS if cut != "nothing")]
)
def test_a_store_that_was_cut_short_is_refused_left_as_it_is_and_restored(
    healthy: Path, fast_path: Path, cut: str, marked: bool
) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    if not marked:
        (home / "store.json").unlink()
    os.truncate(home / "lore.db", CUTS[cut]((home / "lore.db").stat().st_size))
    before = prints(home)
    with pytest.raises(StoreCorrupt) as caught:
        open_lore(home)
    assert prints(home) == before
    assert "restore-backup" in caught.value.hint
    assert_restores(home)


@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_store_with_a_log_is_whole_again_or_refused_with_its_log(
    unsettled: Path, fast_path: Path, cut: str
) -> None:
    home = fast_path / "home"
    shutil.copytree(unsettled, home)
    os.truncate(home / "lore.db", CUTS[cut]((home / "lore.db").stat().st_size))
    before = prints(home)
    try:
        found = use(home)
    except StoreCorrupt:
        assert prints(home) == before
        assert_restores(home)
    else:
        assert found[0] == COUNT + IN_LOG


@pytest.mark.parametrize("log", [True, False], ids=["log", "no log"])
@pytest.mark.parametrize(
    "content",
    [
        b"hello, this is no database\n" * 500,
        bytes(8 * PAGE),
        random.Random(1).randbytes(8 * PAGE),
        random.Random(2).randbytes(8 * PAGE + 17),
        b"SQLite format 3\0" + random.Random(3).randbytes(8 * PAGE - 16),
    ],
    ids=["text", "zeros", "noise", "odd noise", "noise under a header"],
)
def test_what_is_no_store_is_refused_left_as_it_is_and_restored(
    unsettled: Path, fast_path: Path, content: bytes, log: bool
) -> None:
    home = fast_path / "home"
    shutil.copytree(unsettled, home)
    (home / "lore.db").write_bytes(content)
    if not log:
        (home / "lore.db-wal").unlink()
        (home / "lore.db-shm").unlink(missing_ok=True)
    before = prints(home)
    with pytest.raises(StoreCorrupt):
        use(home)
    assert prints(home) == before
    assert_restores(home)


def test_a_database_of_another_program_is_not_taken_over(fast_path: Path) -> None:
    home = fast_path / "home"
    home.mkdir()
    other = apsw.Connection(str(home / "lore.db"))
    other.execute("CREATE TABLE recipe (name); INSERT INTO recipe VALUES ('bread')")
    other.close()
    before = prints(home)
    with pytest.raises(StoreCorrupt, match="another program"):
        open_lore(home)
    assert prints(home) == before


def test_a_store_that_another_process_makes_at_this_moment_is_ours(
    fast_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other is done between two looks at the file: no version yet in the first, tables in the second."""
    look = SqliteEngine.version

    def look_then_others_finish(engine: SqliteEngine) -> int:
        found = look(engine)
        monkeypatch.undo()
        Store.open(str(fast_path), NOW).close()
        return found

    monkeypatch.setattr(SqliteEngine, "version", look_then_others_finish)
    with contextlib.closing(Store.open(str(fast_path), NOW)) as store:
        assert store.engine.check() == []


@pytest.mark.parametrize("what", ["lore.db", "everything but the log"])
def test_a_store_that_vanished_is_not_begun_anew(unsettled: Path, fast_path: Path, what: str) -> None:
    home = fast_path / "home"
    shutil.copytree(unsettled, home)
    (home / "lore.db").unlink()
    if what != "lore.db":
        (home / "store.json").unlink()
    before = prints(home)
    with pytest.raises(StoreCorrupt, match="missing or empty"):
        open_lore(home)
    assert prints(home) == before
    assert_restores(home)


def test_an_interrupted_beginning_goes_on(fast_path: Path) -> None:
    """A process that was killed before the first migration leaves a file without tables."""
    home = fast_path / "home"
    home.mkdir()
    begun = apsw.Connection(str(home / "lore.db"))
    begun.execute("PRAGMA journal_mode = WAL").fetchall()
    begun.close()
    with open_lore(home) as lore:
        assert lore.remember(LESSON).outcome == "added"
    os.truncate(home / "lore.db", 0)
    with pytest.raises(StoreCorrupt):
        open_lore(home)


def test_a_file_without_tables_in_a_home_that_had_a_store_is_refused(healthy: Path, fast_path: Path) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    (home / "lore.db").unlink()
    empty = apsw.Connection(str(home / "lore.db"))
    empty.execute("PRAGMA journal_mode = WAL").fetchall()
    empty.close()
    before = prints(home)
    with pytest.raises(StoreCorrupt, match="lost its content"):
        open_lore(home)
    assert prints(home) == before
    assert_restores(home)


DAMAGED_ROWS = {
    "memory": (
        "more = '{'",
        "more = '[]'",
        "more = '{\"nobody\": 1}'",
        "more = '{\"tags\": 5}'",
        "text = CAST(x'ff' AS TEXT)",
    ),
    "audit": ("before = '{'", "before = CAST(x'ff' AS TEXT)"),
    "session": ("extra = '{'",),
}


@pytest.mark.parametrize(
    ("table", "damage"), [(table, damage) for table, damages in DAMAGED_ROWS.items() for damage in damages]
)
def test_a_damaged_row_is_said(fast_path: Path, table: str, damage: str) -> None:
    home = fast_path / "home"
    fill(home, 2)
    with open_lore(home) as lore:
        lore.forget(lore.list()[0].id)
        database = apsw.Connection(str(home / "lore.db"))
        database.execute(f"UPDATE {table} SET {damage}").fetchall()
        database.close()
        with pytest.raises(StoreCorrupt, match="damaged") as caught:
            lore.list(status="any"), lore.sessions(), [lore.history(memory.id) for memory in lore.list(status="any")]
        assert "restore-backup" in caught.value.hint


@pytest.mark.parametrize("log", [True, False], ids=["log", "no log"])
@pytest.mark.parametrize("seed", range(5))
def test_flipped_bytes_are_harmless_or_said(unsettled: Path, fast_path: Path, seed: int, log: bool) -> None:
    """Anywhere in the file: a bit, a few bytes, a whole page. Whatever is read, no other error comes out."""
    rng = random.Random(seed)
    whole = (unsettled / "lore.db").read_bytes()
    for _ in range(12):
        content = bytearray(whole)
        size = rng.choice((1, 1, 16, 64, PAGE))
        # The first pages hold the header and the schema; half of the damage is there.
        at = rng.randrange(3 * PAGE if rng.random() < 0.5 else len(content) - size)
        content[at : at + size] = rng.randbytes(size) if size > 1 else bytes([content[at] ^ 1 << rng.randrange(8)])
        home = fast_path / "home"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        (home / "lore.db").write_bytes(content)
        for name in ("store.json", "lore.db-wal") if log else ("store.json",):
            shutil.copy(unsettled / name, home)
        before = prints(home)
        try:
            use(home)
        except (StoreCorrupt, StoreTooNew):
            assert prints(home) == before
        write_and_check(home)


def write_and_check(home: Path) -> None:
    """Writing to a damaged store works or is refused in our words too."""
    with contextlib.suppress(SwarmloreError), open_lore(home) as lore:
        lore.remember(LESSON)
        lore.forget(lore.list()[0].id)
        lore.undo()
        lore.doctor()
        lore.reindex()


def test_damage_is_told_on_the_command_line(healthy: Path, fast_path: Path) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    os.truncate(home / "lore.db", PAGE)
    before = prints(home)
    for words in (["list"], ["remember", LESSON], ["doctor"], ["stats"], ["backup"], ["reindex"]):
        told = process(home, *words)
        assert (told.returncode, told.stdout) == (8, "")
        assert told.stderr.startswith("error: ")
        assert "\nhint: " in told.stderr
        assert "Traceback" not in told.stderr
    assert prints(home) == before
    [backup] = (home / "backups").glob("*.db")
    told = process(home, "restore-backup", str(backup), "--yes", "--json")
    assert told.returncode == 0
    kept = json.loads(told.stdout)["kept"]
    assert hashlib.sha256(Path(kept).read_bytes()).hexdigest() == before["lore.db"]
    assert process(home, "doctor").returncode == 0


# A newer program's store


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_store_newer_than_the_program_is_refused_untouched(healthy: Path, fast_path: Path, journal: str) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    newer = apsw.Connection(str(home / "lore.db"))
    newer.execute(f"PRAGMA journal_mode = {journal}").fetchall()
    newer.execute("PRAGMA user_version = 9999").fetchall()
    newer.close()
    before = prints(home)
    stamp = os.stat(home / "lore.db").st_mtime_ns
    with pytest.raises(StoreTooNew, match="9999") as caught:
        open_lore(home)
    assert "pip install -U" in caught.value.hint
    assert process(home, "remember", LESSON).returncode == 8
    assert (prints(home), os.stat(home / "lore.db").st_mtime_ns) == (before, stamp)
    assert {path.name for path in (home / "backups").iterdir()} == {p.name for p in (healthy / "backups").iterdir()}


def test_a_newer_store_that_was_not_closed_keeps_its_log(unsettled: Path, fast_path: Path) -> None:
    home = fast_path / "home"
    shutil.copytree(unsettled, home)
    newer = apsw.Connection(str(home / "lore.db"))
    newer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    newer.execute("PRAGMA user_version = 9999").fetchall()
    newer.close()
    before = prints(home)
    with pytest.raises(StoreTooNew):
        open_lore(home)
    assert prints(home) == before


# Homes and settings that are none


def test_homes_that_are_none(fast_path: Path) -> None:
    (fast_path / "file").write_text("x")
    cases: dict[str, dict[str, str]] = {
        "SWARMLORE_HOME": {"SWARMLORE_HOME": str(fast_path / "file")},
        "set HOME": {"HOME": str(fast_path / "nowhere")},
        "HOME, or": {"HOME": str(fast_path / "file")},
        "SWARMLORE_HOME to": {"SWARMLORE_HOME": str(fast_path / "file" / "below")},
    }
    for hint, more in cases.items():
        env = {"PATH": os.environ["PATH"], "SWARMLORE_EMBEDDER_KIND": "none", **more}
        done = subprocess.run([*PROGRAM, "list"], capture_output=True, text=True, env=env, check=False, timeout=60)
        assert done.returncode in (8, 9), more
        assert done.stdout == ""
        assert done.stderr.startswith("error: ")
        assert hint in done.stderr
        assert "Traceback" not in done.stderr
    assert (fast_path / "file").read_text() == "x"
    assert [path.name for path in fast_path.iterdir()] == ["file"]


BROKEN = {
    "no TOML": b"[recall\nlimit = 5",
    "no UTF-8": b"[recall]\nprofile = '\xff'",
    "a wrong type": b"[recall]\nlimit = 'many'",
    "out of range": b"[recall]\nlimit = 0",
    "not a number": b"[recall]\nbar = nan",
    "a wrong word": b"[recall]\nprofile = 'fast'",
    "NUL": b"[recall]\n\0",
    "a list": b"[recall]\nlimit = [5]",
    "deeply nested": b"x = " + b"[" * 20_000,
    "twice": b"[recall]\nlimit = 5\nlimit = 6",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("name", ["config.toml", ".swarmlore.toml"])
def test_a_broken_settings_file_is_named_and_nothing_else_happens(
    healthy: Path, fast_path: Path, name: str, content: bytes
) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    path = (home if name == "config.toml" else fast_path) / name
    path.write_bytes(content)
    before = prints(home)
    with pytest.raises(SwarmloreError) as caught:
        open_lore(home)
    assert caught.value.exit_code == 9
    assert str(path) in caught.value.message + caught.value.hint
    assert (prints(home), path.read_bytes()) == (before, content)


@linux
@pytest.mark.parametrize("kind", ["endless", "waiting", "folder"])
def test_a_settings_file_of_a_project_that_is_none_is_not_read(fast_path: Path, kind: str) -> None:
    """A repository can hold a link to anything; a file that never ends or never begins must not stop us."""
    path = fast_path / ".swarmlore.toml"
    {"endless": lambda: path.symlink_to("/dev/zero"), "waiting": lambda: os.mkfifo(path), "folder": path.mkdir}[kind]()
    import resource

    limit = (2**31, resource.getrlimit(resource.RLIMIT_AS)[1])
    try:
        done = subprocess.run(
            [*PROGRAM, "list", "--home", str(fast_path / "home"), "--project", str(fast_path)],
            **{"capture_output": True, "text": True, "check": False, "timeout": 5},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
        )
    except subprocess.TimeoutExpired:
        pytest.fail("it waits for ever")
    assert done.returncode in (0, 9), done.stderr
    assert "Traceback" not in done.stderr


# Several at once


def test_a_writer_whose_file_was_replaced_does_not_write_to_the_old_one(healthy: Path, fast_path: Path) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    with open_lore(home) as lore:
        os.rename(home / "lore.db", home / "elsewhere")
        shutil.copy(healthy / "lore.db", home / "lore.db")
        with pytest.raises(StoreError, match="was replaced"):
            lore.remember(LESSON)


def test_two_openings_at_once_make_one_store(fast_path: Path) -> None:
    program = "import sys; from swarmlore.store.store import Store; Store.open(sys.argv[1], 1.0).close()"
    (fast_path / "home").mkdir()
    starts = [subprocess.Popen([sys.executable, "-c", program, str(fast_path / "home")]) for _ in range(6)]
    assert [start.wait(120) for start in starts] == [0] * 6
    store = Store.open(str(fast_path / "home"), NOW)
    assert store.engine.run("SELECT count(*) FROM migration") == [(store.engine.version(),)]
    store.close()
