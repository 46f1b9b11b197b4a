"""Damaged, read-only and full: what happened and what to do is said, nothing is lost, no empty store takes its place."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import random
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import ALICE, NOW, quick_env
from swarmlore import Lore
from swarmlore.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreTooNew, SwarmloreError
from swarmlore.store.store import Store

LESSON = "The release build runs with make release in the tools folder"
COUNT = 25
IN_LOG = 6
PAGE = 4096
# Without writing compiled modules: under a limit on file sizes Python would store half of them.
PROGRAM = [sys.executable, "-B", "-c", "import sys; from swarmlore.main import main; sys.exit(main())"]
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@pytest.fixture
def fast_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where the system has one."""
    if not (os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK)):
        yield tmp_path
        return
    made = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield made
    for folder in (made, *(path for path in made.rglob("*") if path.is_dir())):
        folder.chmod(0o700)
    shutil.rmtree(made)


def open_lore(home: Path, **env: str) -> Lore:
    return Lore.open(home, cwd=home.parent, caller=ALICE, env=quick_env(**env))


def fill(home: Path, count: int = COUNT) -> None:
    with open_lore(home) as lore:
        for number in range(count):
            lore.remember(
                f"Service s{number * 31} listens on port {2000 + number * 13}, see {number * 7919}.md",
                tags=[f"tag{number}", "é"],
                situation=f"connection to s{number * 31} was refused",
                extra={"number": number},
            )
        lore.start_session("s", cwd="/x")
        lore.block("connection to s31 was refused", session="s")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a closed store and one backup."""
    home = tmp_path_factory.mktemp("healthy") / "home"
    fill(home)
    with open_lore(home) as lore:
        lore.backup()
    return home


@pytest.fixture(scope="module")
def unsettled(tmp_path_factory: pytest.TempPathFactory, healthy: Path) -> Path:
    """The same home as a killed process leaves it: its last memories are in the WAL only."""
    home = tmp_path_factory.mktemp("unsettled") / "home"
    shutil.copytree(healthy, home.parent / "open")
    with open_lore(home.parent / "open") as lore:
        for number in range(IN_LOG):
            lore.remember(f"Lesson {number * 7919} was said last and is in the log of {number * 31} only")
        shutil.copytree(home.parent / "open", home)
    assert (home / "lore.db-wal").stat().st_size
    return home


def prints(home: Path) -> dict[str, str]:
    """The content of every file of the store; an empty WAL is none, and locks and shared memory hold nothing."""
    found = {}
    for path in sorted(home.glob("lore.db*")):
        content = path.read_bytes()
        if content and not path.name.endswith((".lock", ".lock-waiting", "-shm")):
            found[path.name] = hashlib.sha256(content).hexdigest()
    return found


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


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize("cut", CUTS)
def test_a_store_that_was_cut_short_is_refused_left_as_it_is_and_restored(
    healthy: Path, fast_path: Path, cut: str, marked: bool
) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    if not marked:
        (home / "store.json").unlink()
        if cut == "nothing":
            pytest.skip("an empty file that nobody marked is a new store")
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


def process(home: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SWARMLORE_EMBEDDER_KIND": "none", "SWARMLORE_HOME": str(home), "SWARMLORE_AGENT": "alice"}
    env["SWARMLORE_PROJECT"] = ALICE.project
    return subprocess.run(
        [*PROGRAM, *words], capture_output=True, text=True, timeout=60, check=False, env=env, cwd=home.parent, **options
    )


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


# Read-only


def unprivileged() -> None:
    """In a child: give up root's right to ignore permissions, which survives no exec then."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if libc.prctl(24, capability, 0, 0, 0) != 0:  # PR_CAPBSET_DROP
                raise OSError(ctypes.get_errno(), "prctl")


def as_a_user(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return process(home, *words, preexec_fn=unprivileged)
    except subprocess.SubprocessError:
        pytest.skip("root may not give up its rights here")


@linux
@pytest.mark.parametrize(
    ("file_mode", "folder_mode"), [(0o444, 0o700), (0o600, 0o555), (0o444, 0o555)], ids=["file", "folder", "both"]
)
def test_what_cannot_be_written_can_be_read(healthy: Path, fast_path: Path, file_mode: int, folder_mode: int) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    (home / "lore.db").chmod(file_mode)
    home.chmod(folder_mode)
    before = prints(home)
    assert len(json.loads(as_a_user(home, "list", "--limit", "100", "--json").stdout)["memories"]) == COUNT
    hits = json.loads(as_a_user(home, "recall", "port of service s31", "--json").stdout)["hits"]
    assert "s31 " in hits[0]["memory"]["text"]
    assert as_a_user(home, "get", hits[0]["memory"]["handle"]).returncode == 0
    assert as_a_user(home, "stats").returncode == 0
    assert as_a_user(home, "recall", "connection to s31 was refused", "--block").returncode == 0
    for words in (["remember", LESSON], ["forget", hits[0]["memory"]["handle"]], ["undo"], ["reindex"]):
        told = as_a_user(home, *words)
        assert (told.returncode, told.stdout) == (8, "")
        assert told.stderr.splitlines() == [
            f"error: {home / 'lore.db'} was opened for reading only",
            "hint: check its permissions and those of its folder",
        ]
    assert prints(home) == before


@linux
def test_what_can_neither_be_read_nor_written_is_said(healthy: Path, fast_path: Path) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    (home / "lore.db").chmod(0)
    told = as_a_user(home, "list")
    assert (told.returncode, told.stdout) == (8, "")
    assert "cannot be read: Permission denied" in told.stderr
    (home / "lore.db").chmod(0o600)
    (home / "lore.db.lock").chmod(0)
    assert as_a_user(home, "list").returncode == 0
    told = as_a_user(home, "remember", LESSON)
    assert told.returncode == 8
    assert "lore.db.lock cannot be written" in told.stderr


@linux
def test_a_new_store_in_a_folder_that_cannot_be_written_is_refused(fast_path: Path) -> None:
    home = fast_path / "home"
    home.mkdir(mode=0o555)
    for path in (home, home / "deeper"):
        told = as_a_user(path, "remember", LESSON)
        assert (told.returncode, told.stdout) == (8, "")
        assert "SWARMLORE_HOME" in told.stderr
    assert list(home.iterdir()) == []


def test_a_store_opened_for_reading_refuses_to_write_and_still_answers(healthy: Path, fast_path: Path) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    with open_lore(home) as lore:
        lore.store.engine.readonly = True
        with pytest.raises(StoreReadOnly):
            lore.remember(LESSON)
        memory = lore.list()[0]
        assert lore.get(memory.id) == memory  # not counted
        assert "the receipt was not stored" in lore.block("connection to s31 was refused").receipt.reason


# Full


def limit_pages(lore: Lore, more: int) -> None:
    """Let the file grow by so many pages and no further, as a full disk would."""
    [[pages]] = lore.store.engine.run("PRAGMA page_count")
    lore.store.engine.run(f"PRAGMA max_page_count = {pages + more}")


def remember_until_full(lore: Lore, most: int = 500) -> list[str]:
    """The ids that were acknowledged before the disk was full."""
    acknowledged: list[str] = []
    with pytest.raises(StoreFull) as caught:
        for number in range(most):
            text = f"Queue q{number * 37} is drained by worker w{number * 53} every {number} minutes, says {number * 7}"
            acknowledged.append(
                lore.remember(text, tags=[f"t{number}"], situation=f"q{number * 37} ran full").memory.id
            )
    assert "nothing was changed" in caught.value.message
    assert "free some space" in caught.value.hint
    return acknowledged


@pytest.mark.parametrize("pages", [0, 1, 3, 8, 20])
def test_nothing_is_half_written_when_the_disk_is_full(fast_path: Path, pages: int) -> None:
    with open_lore(fast_path / "home") as lore:
        lore.remember(LESSON)
        limit_pages(lore, pages)
        acknowledged = remember_until_full(lore)
        assert {memory.id for memory in lore.list(limit=1000)} >= set(acknowledged)
        assert len(lore.list(status="any", limit=1000)) == len(acknowledged) + 1
        assert lore.recall("how does the release build run")[0].memory.text == LESSON
        assert lore.store.engine.check() == []
        counts = lore.store.engine.run("SELECT (SELECT count(*) FROM audit), (SELECT count(*) FROM operation)")
        assert counts == [(len(acknowledged) + 1, len(acknowledged) + 1)]
        limit_pages(lore, 10_000)
        assert lore.remember("There is room again for what the workers learn").outcome == "added"
    assert len(use_all(fast_path / "home")) == len(acknowledged) + 2


def use_all(home: Path) -> set[str]:
    with open_lore(home) as lore:
        assert lore.store.engine.check() == []
        return {memory.id for memory in lore.list(limit=1000)}


WRITER = """
import json, resource, sys
from swarmlore import Lore
from swarmlore.errors import SwarmloreError
from swarmlore.records import Caller
home, limit = sys.argv[1], int(sys.argv[2])
with Lore.open(home, cwd="/", caller=Caller(*json.loads(sys.argv[3])), env={"SWARMLORE_EMBEDDER_KIND": "none"}) as lore:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        for number in range(10_000):
            text = f"Queue q{number * 37} is drained by worker w{number * 53} every {number} minutes, says {number * 7}"
            print(json.dumps({"id": lore.remember(text).memory.id}), flush=True)
    except SwarmloreError as error:
        found = len(lore.recall("which queue is drained by worker w53"))
        print(json.dumps({"error": type(error).__name__, "code": error.exit_code, "found": found}), flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(json.dumps({"id": lore.remember("There is room again for what the workers learn").memory.id}))
"""


@linux
@pytest.mark.parametrize("limit", [150_000, 400_000])
def test_a_limit_on_file_sizes_is_a_full_disk(fast_path: Path, limit: int) -> None:
    home = fast_path / "home"
    fill(home, 1)
    caller = json.dumps([ALICE.project, ALICE.agent, ALICE.role, ALICE.trust])
    done = subprocess.run(
        [sys.executable, "-B", "-c", WRITER, str(home), str(limit), caller],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    [error] = [line for line in lines if "error" in line]
    assert (error["error"], error["code"]) == ("StoreFull", 8)
    acknowledged = {line["id"] for line in lines if "id" in line}
    assert len(acknowledged) > 1
    assert error["found"]
    assert len(use_all(home)) == len(acknowledged) + 1
    assert use_all(home) >= acknowledged


def test_a_command_under_a_limit_on_file_sizes(healthy: Path, fast_path: Path) -> None:
    home = fast_path / "home"
    shutil.copytree(healthy, home)
    limit = (20_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    before = prints(home)
    told = process(home, "remember", LESSON, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    assert (told.returncode, told.stdout) == (8, "")
    assert told.stderr.startswith("error: ")
    assert "\nhint: " in told.stderr
    assert "Traceback" not in told.stderr
    assert prints(home) == before
    assert process(home, "remember", LESSON).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)]
    if (
        sys.platform != "linux"
        or os.geteuid() != 0
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("mounting is not permitted here")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def fill_disk(path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(PAGE))
        except OSError:
            return


def test_a_full_disk_keeps_what_it_has_and_takes_more_when_there_is_room(small_disk: Path) -> None:
    home = small_disk / "home"
    fill(home, 5)
    with open_lore(home) as lore:
        fill_disk(small_disk / "filler")
        with pytest.raises(StoreFull):
            lore.remember(LESSON)
        assert len(lore.list()) == 5
        assert lore.recall("port of service s31")
        with pytest.raises(StoreFull):
            lore.backup()
        os.unlink(small_disk / "filler")
        assert lore.remember(LESSON).outcome == "added"
        acknowledged = remember_until_full(lore)
    assert len(use_all(home)) == 6 + len(acknowledged)
    assert [path.name for path in home.rglob("*") if ".part" in path.name] == []


def test_on_a_full_disk_commands_still_read(small_disk: Path) -> None:
    """Even where there is no room for the files that SQLite makes beside the store."""
    home = small_disk / "home"
    fill(home, 5)
    fill_disk(small_disk / "filler")
    assert len(json.loads(process(home, "list", "--json").stdout)["memories"]) == 5
    assert process(home, "recall", "port of service s31").returncode == 0
    told = process(home, "remember", LESSON)
    assert (told.returncode, told.stdout) == (8, "")
    assert "free" in told.stderr
    os.unlink(small_disk / "filler")
    assert process(home, "remember", LESSON).returncode == 0
    assert len(use_all(home)) == 6


def test_a_disk_too_small_for_a_store_leaves_none_that_looks_like_one(small_disk: Path) -> None:
    fill_disk(small_disk / "filler")
    os.truncate(small_disk / "filler", os.path.getsize(small_disk / "filler") - 60_000)
    home = small_disk / "home"
    with pytest.raises(StoreFull):
        open_lore(home)
    os.unlink(small_disk / "filler")
    fill(home, 2)
    assert len(use_all(home)) == 2


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


@pytest.mark.parametrize("name", ["config.toml", ".swarmlore.toml"])
def test_a_settings_file_that_is_a_folder_is_said(fast_path: Path, name: str) -> None:
    home = fast_path / "home"
    ((home if name == "config.toml" else fast_path) / name).mkdir(parents=True)
    with pytest.raises(SwarmloreError) as caught:
        open_lore(home)
    assert caught.value.exit_code == 9


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
    assert [start.wait(60) for start in starts] == [0] * 6
    store = Store.open(str(fast_path / "home"), NOW)
    assert store.engine.run("SELECT count(*) FROM migration") == [(store.engine.version(),)]
    store.close()
