"""Copies made while others write, and the way back from them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import apsw
import pytest

from conftest import ALICE, BOB, OTHER, an_operation, quick_env
from swarmlore.domain.records import Caller
from swarmlore.errors import Conflict, InvalidInput, NotFound, StoreCorrupt, StoreError, StoreFull, StoreTooNew
from swarmlore.lore import Lore
from swarmlore.store import backup

LESSON = "The release build runs with make release in the tools folder"
LATER = "The nightly build runs with make nightly in the tools folder"
WRITER = """
import itertools, json, sys
from swarmlore import Lore
from swarmlore.errors import NotFound
from swarmlore.domain.records import Caller
home, caller = sys.argv[1], Caller(*json.loads(sys.argv[2]))
with Lore.open(home, cwd=home, caller=caller, env={"SWARMLORE_EMBEDDER_KIND": "none"}) as lore:
    for number in itertools.count():
        told = lore.remember(f"Queue q{number * 37} is drained by worker w{number * 53} after {number * 7919} ms")
        sys.stdout.write(told.memory.id + "\\n")
        sys.stdout.flush()
        if number % 5 == 4:
            try:
                lore.forget(told.memory.id)
            except NotFound:
                pass  # a restore was faster
"""


def open_lore(home: Path, caller: Caller = ALICE, **env: str) -> Lore:
    return Lore.open(home, cwd=home.parent, caller=caller, env=quick_env(**env))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with open_lore(tmp_path / "home") as lore:
        lore.remember(LESSON)
    return tmp_path / "home"


def texts(home: Path, caller: Caller = ALICE) -> list[str]:
    with open_lore(home, caller) as lore:
        assert lore.store.engine.check() == []
        return sorted(memory.text for memory in lore.list(limit=1000))


def ids_in(path: str) -> set[str]:
    """The memories in a copy, read beside the program, after SQLite's own check."""
    copy = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("PRAGMA foreign_key_check").fetchall() == []
        return {str(row[0]) for row in copy.execute("SELECT id FROM memory")}
    finally:
        copy.close()


@pytest.fixture
def writer(home: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that remembers and forgets without a pause, and says the id of each memory that is durable."""
    caller = json.dumps([BOB.project, BOB.agent, BOB.role, BOB.trust])
    command = [sys.executable, "-c", WRITER, str(home), caller]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def heard(writer: subprocess.Popen[str], count: int) -> set[str]:
    """The next ids that the writer says."""
    assert writer.stdout is not None
    found = {writer.stdout.readline().strip() for _ in range(count)}
    assert "" not in found, "the writer died"
    return found


def test_copies_made_under_a_writer_are_whole_and_hold_what_was_acknowledged(
    home: Path, writer: subprocess.Popen[str]
) -> None:
    acknowledged: set[str] = set()
    seen: list[int] = []
    with open_lore(home) as lore:
        for _ in range(5):
            acknowledged |= heard(writer, 20)
            made = lore.backup()
            found = ids_in(made.path)
            assert found >= acknowledged
            assert made.memories == len(found)
            seen.append(len(found))
        assert writer.poll() is None
    assert sorted(set(seen)) == seen  # it went on writing between any two of them
    assert len(list((home / "backups").iterdir())) == 5


def test_a_copy_can_be_opened_as_a_store_of_its_own(home: Path, writer: subprocess.Popen[str], tmp_path: Path) -> None:
    acknowledged = heard(writer, 30)
    with open_lore(home) as lore:
        made = lore.backup(str(tmp_path / "copy.db"))
    (tmp_path / "other").mkdir()
    shutil.copy(made.path, tmp_path / "other" / "lore.db")
    with open_lore(tmp_path / "other", BOB) as lore:
        assert {memory.id for memory in lore.list(status="any", limit=10_000)} >= acknowledged
        assert lore.recall("what drains queue q37")
        assert lore.remember("A copy can be written to like any other store").outcome == "added"
        assert lore.store.engine.check() == []


def test_an_existing_file_is_not_overwritten(home: Path, tmp_path: Path) -> None:
    (tmp_path / "taken.db").write_text("something else")
    with open_lore(home) as lore:
        with pytest.raises(InvalidInput, match="is there already"):
            lore.backup(str(tmp_path / "taken.db"))
        with pytest.raises(InvalidInput, match="is there already"):
            lore.backup(str(home / "lore.db"))
    assert (tmp_path / "taken.db").read_text() == "something else"
    assert texts(home) == [LESSON]


def test_a_name_that_is_taken_meanwhile_is_not_overwritten_either(tmp_path: Path) -> None:
    (tmp_path / "part").write_text("new")
    (tmp_path / "taken.db").write_text("something else")
    with pytest.raises(InvalidInput, match="is there already"):
        backup._publish(str(tmp_path / "part"), str(tmp_path / "taken.db"))
    assert (tmp_path / "taken.db").read_text() == "something else"


def test_where_files_cannot_be_linked_a_backup_is_renamed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)  # as on the file system of a memory stick
    with open_lore(home) as lore:
        made = lore.backup(str(tmp_path / "copy.db"))
    assert len(ids_in(made.path)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "home"]


def test_backups_of_one_second_have_names_of_their_own(home: Path) -> None:
    with open_lore(home) as lore:
        paths = [lore.backup().path for _ in range(3)]
    assert len(set(paths)) == 3
    assert set(backup.list_backups(str(home))) == set(paths)


def test_a_backup_is_private_and_alone(home: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    former = os.umask(0)
    try:
        with open_lore(home) as lore:
            made = lore.backup(str(tmp_path / "folder" / "copy.db"))
    finally:
        os.umask(former)
    assert stat.S_IMODE(os.stat(made.path).st_mode) == 0o600
    assert os.listdir(tmp_path / "folder") == ["copy.db"]
    assert made.bytes == os.path.getsize(made.path)


def test_a_backup_makes_no_folder_but_the_one_of_the_home(home: Path, tmp_path: Path) -> None:
    with open_lore(home) as lore:
        with pytest.raises(InvalidInput, match="there is no folder") as caught:
            lore.backup(str(tmp_path / "mnt disk" / "copy.db"))
        assert caught.value.hint == f"make it first: mkdir -p '{tmp_path}/mnt disk'"
        assert not (tmp_path / "mnt disk").exists()
        lore.backup(str(home / "backups" / "named.db"))
    assert os.listdir(home / "backups") == ["named.db"]


@pytest.mark.parametrize("place", ["file/below.db", "file"])
def test_a_backup_that_cannot_be_written_says_so_and_leaves_nothing(home: Path, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    with open_lore(home) as lore, pytest.raises((StoreError, InvalidInput)):
        lore.backup(str(tmp_path / place))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "home"]


# The way back


def test_a_restored_store_is_the_one_of_the_backup_and_the_former_is_kept(home: Path) -> None:
    with open_lore(home) as lore:
        made = lore.backup()
        lore.remember(LATER)
    restored, kept = Lore.restore_backup(made.path, str(home))
    assert (restored.memories, texts(home)) == (1, [LESSON])
    assert len(ids_in(kept)) == 2
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    _, kept_again = Lore.restore_backup(kept, str(home))
    assert texts(home) == sorted([LESSON, LATER])
    assert kept_again != kept


def test_a_backup_can_be_restored_into_a_new_home_which_then_notices_a_loss(home: Path, tmp_path: Path) -> None:
    with open_lore(home) as lore:
        made = lore.backup()
    fresh = tmp_path / "fresh"
    assert Lore.restore_backup(made.path, str(fresh))[1] == ""
    assert texts(fresh) == [LESSON]
    os.truncate(fresh / "lore.db", 0)
    with pytest.raises(StoreCorrupt):
        open_lore(fresh)


@pytest.mark.parametrize("lost", [1, 4096, 30_000])
def test_a_backup_that_was_cut_short_is_refused_and_the_store_goes_on(home: Path, lost: int) -> None:
    with open_lore(home) as lore:
        path = Path(lore.backup().path)
    path.write_bytes(path.read_bytes()[:-lost])
    with pytest.raises(StoreCorrupt):
        Lore.restore_backup(str(path), str(home))
    assert texts(home) == [LESSON]
    assert not list(home.glob("*corrupt*"))
    assert [entry.name for entry in (home / "backups").iterdir()] == [path.name]


def test_a_backup_with_a_damaged_page_is_refused(home: Path) -> None:
    with open_lore(home) as lore:
        path = Path(lore.backup().path)
    content = bytearray(path.read_bytes())
    content[8 * 4096 : 9 * 4096] = Random(7).randbytes(4096)
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        Lore.restore_backup(str(path), str(home))
    assert texts(home) == [LESSON]


def other_program(path: Path, version: int) -> None:
    """A database that is none of ours, with a log as many programs keep one."""
    other = apsw.Connection(str(path))
    other.execute("PRAGMA journal_mode = WAL").fetchall()
    other.execute(f"CREATE TABLE recipe (name); PRAGMA user_version = {version}").fetchall()
    other.close()


STRANGERS: dict[str, Callable[[Path], object]] = {
    "a text": lambda path: path.write_text("no store\n" * 999),
    "empty": lambda path: path.touch(),
    "zeros": lambda path: path.write_bytes(bytes(9999)),
    "a folder": lambda path: path.mkdir(),
    "a database without a version": lambda path: other_program(path, 0),
    "a database of the same version": lambda path: other_program(path, 1),
    "a database of a high version": lambda path: other_program(path, 9999),
}


@pytest.mark.parametrize("kind", STRANGERS)
def test_what_is_no_copy_of_a_store_is_called_that_and_nothing_is_changed(
    home: Path, tmp_path: Path, kind: str
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    STRANGERS[kind](place / "other.db")
    before = (place / "other.db").stat()
    for target in (home, tmp_path / "new home"):
        with pytest.raises(InvalidInput, match=r"other\.db is not a copy of a store$") as caught:
            Lore.restore_backup(str(place / "other.db"), str(target))
        assert "backup" in caught.value.hint
    assert texts(home) == [LESSON]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "place"]
    assert not (home / "backups").exists()
    assert os.listdir(place) == ["other.db"]
    assert (place / "other.db").stat().st_mtime_ns == before.st_mtime_ns


def test_a_pipe_is_not_waited_for(home: Path, tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes with a name here")
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(InvalidInput, match="is not a copy of a store"):
        Lore.restore_backup(str(tmp_path / "pipe.db"), str(home))


def test_a_missing_backup_and_the_store_itself_are_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Lore.restore_backup(str(tmp_path / "missing.db"), str(home))
    with pytest.raises(InvalidInput, match="the store itself"):
        Lore.restore_backup(str(home / "lore.db"), str(home))
    assert texts(home) == [LESSON]


def test_a_backup_of_a_newer_program_is_refused_untouched(home: Path) -> None:
    with open_lore(home) as lore:
        path = lore.backup().path
    newer = apsw.Connection(path)
    newer.execute("PRAGMA user_version = 9999").fetchall()
    newer.close()
    before = Path(path).read_bytes()
    with pytest.raises(StoreTooNew):
        Lore.restore_backup(path, str(home))
    assert Path(path).read_bytes() == before
    assert texts(home) == [LESSON]


def test_a_store_of_a_newer_program_gives_way_and_is_kept_as_it_is(home: Path) -> None:
    with open_lore(home) as lore:
        made = lore.backup()
    newer = apsw.Connection(str(home / "lore.db"))
    newer.execute("PRAGMA user_version = 9999").fetchall()
    newer.close()
    before = (home / "lore.db").read_bytes()
    _, kept = Lore.restore_backup(made.path, str(home))
    assert Path(kept).read_bytes() == before
    assert texts(home) == [LESSON]


def test_a_restore_that_has_no_room_for_the_former_store_changes_nothing(home: Path) -> None:
    with open_lore(home) as lore:
        made = lore.backup(str(home.parent / "copy.db"))
        lore.remember(LATER)
    (home / "backups").write_text("in the way")
    with pytest.raises(StoreError):
        Lore.restore_backup(made.path, str(home))
    assert texts(home) == sorted([LESSON, LATER])
    assert not list(home.glob("*corrupt*"))


# While others have the store open


def test_a_process_that_has_the_store_open_sees_the_restored_rows(home: Path, tmp_path: Path) -> None:
    with open_lore(home) as lore:
        made = lore.backup()
    with open_lore(home, BOB) as bob:
        bob.remember(LATER)
        assert len(bob.list()) == 2
        command = [sys.executable, "-c", "import sys; from swarmlore.main import main; sys.exit(main())"]
        done = subprocess.run(
            [*command, "restore-backup", made.path, "--yes", "--home", str(home)],
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert [memory.text for memory in bob.list()] == [LESSON]
        assert bob.remember("What is learned after a restore is kept").outcome == "added"
        assert bob.store.engine.check() == []
    assert texts(home) == sorted([LESSON, "What is learned after a restore is kept"])


def test_under_a_writer_a_restore_loses_nothing_that_was_acknowledged(
    home: Path, writer: subprocess.Popen[str]
) -> None:
    """Whatever the writer was told to be durable is in the store or in the copy that was kept of it."""
    with open_lore(home) as lore:
        made = lore.backup()
    acknowledged = heard(writer, 20)
    _, kept = Lore.restore_backup(made.path, str(home))
    acknowledged |= heard(writer, 40)
    writer.kill()
    writer.wait()
    with open_lore(home, BOB) as lore:
        stored = {memory.id for memory in lore.list(status="any", limit=10_000)}
        assert lore.store.engine.check() == []
    assert acknowledged - stored - ids_in(kept) == set()
    assert ids_in(kept) - stored


def test_row_numbers_are_not_given_out_again_after_a_restore(home: Path) -> None:
    """Other processes know memories by their numbers: vectors, for one, are kept in mind with them."""
    with open_lore(home) as lore:
        made = lore.backup()
        later = lore.remember(LATER).memory.id
        [[number]] = lore.store.engine.run("SELECT seq FROM memory WHERE id = :id", {"id": later})
    Lore.restore_backup(made.path, str(home))
    with open_lore(home) as lore:
        lore.remember("Quite another thing is learned after the restore")
        assert lore.store.engine.run("SELECT max(seq) > :last FROM memory", {"last": number}) == [(1,)]


def test_a_partition_made_after_the_backup_is_not_mistaken_for_another(home: Path) -> None:
    """A process that had the store open writes into the right project after a restore took its partition away."""
    with open_lore(home) as lore:
        made = lore.backup()
    with open_lore(home, OTHER) as other:
        other.remember("Beta deploys from the branch called production")
        Lore.restore_backup(made.path, str(home))
        with open_lore(home, Caller("git.example/gamma", "gus")) as gamma:
            gamma.remember("Gamma deploys from the branch called main")
        other.remember("Beta runs its tests with make beta before a deploy")
        assert [memory.text for memory in other.list()] == ["Beta runs its tests with make beta before a deploy"]
    assert texts(home, Caller("git.example/gamma", "gus")) == ["Gamma deploys from the branch called main"]


def test_vectors_of_a_restored_store_are_found_by_a_process_that_had_it_open(home: Path) -> None:
    with open_lore(home, SWARMLORE_EMBEDDER_KIND="minilm") as lore:
        lore.reindex()
        made = lore.backup()
        lore.remember("Nightly jobs are started by cron on the machine called moon")
        lore.remember("Database dumps are kept for thirty days in cold storage")
        assert "cron" in lore.recall("who launches work after midnight?", limit=1, mode="naive")[0].memory.text
        Lore.restore_backup(made.path, str(home))
        assert [hit.memory.text for hit in lore.recall("how do we compile a release?", mode="naive")] == [LESSON]
        lore.remember("Timers of systemd begin all batches late in the evening")
        hits = lore.recall("who launches work after midnight?", limit=1, mode="naive")
        assert "systemd" in hits[0].memory.text


def test_a_restore_that_fails_leaves_no_empty_store(home: Path) -> None:
    with open_lore(home) as lore:
        made = lore.backup()
    os.truncate(home / "lore.db", 5000)
    (home / "store.json").unlink()

    def limit(connection: apsw.Connection) -> None:
        connection.execute("PRAGMA max_page_count = 10").fetchall()

    apsw.connection_hooks.append(limit)
    try:
        with pytest.raises(StoreFull):
            Lore.restore_backup(made.path, str(home))
    finally:
        apsw.connection_hooks.remove(limit)
    with pytest.raises(StoreCorrupt):
        open_lore(home)
    assert [path.stat().st_size for path in home.glob("lore.db.corrupt-*")] == [5000]
    Lore.restore_backup(made.path, str(home))
    assert texts(home) == [LESSON]


def test_what_another_process_changed_or_erased_is_not_overwritten(home: Path) -> None:
    with open_lore(home) as alice, open_lore(home) as twin:
        stale = alice.list()[0]
        twin.forget(stale.id)
        twin.undo()
        with pytest.raises(Conflict, match="changed meanwhile"), alice.store.operation(an_operation()) as operation:
            alice.store.forget(operation, stale)
        assert [memory.version for memory in twin.list()] == [stale.version + 2]
        twin.forget(stale.id, erase=True)
        with pytest.raises(NotFound, match="not there any more"), alice.store.operation(an_operation()) as operation:
            alice.store.forget(operation, stale)


def test_a_broken_store_that_others_have_open_is_not_written_to_after_it_gave_way(home: Path) -> None:
    with open_lore(home) as lore:
        made = lore.backup()
    with open_lore(home, BOB) as bob:
        content = bytearray((home / "lore.db").read_bytes())
        content[4096 * 2 : 4096 * 3] = Random(7).randbytes(4096)
        (home / "lore.db").write_bytes(content)
        _, kept = Lore.restore_backup(made.path, str(home))
        assert "corrupt" in Path(kept).name
        with pytest.raises(StoreError):
            bob.remember("This would be written to the file that was moved away")
    assert texts(home) == [LESSON]
