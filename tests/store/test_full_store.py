"""Read-only or full: what is there can be read, what cannot be written is refused whole, and there is a way on."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from conftest import ALICE
from homes import (
    COUNT,
    LESSON,
    PAGE,
    fill,
    linux,
    open_lore,
    prints,
    process,
    use_all,
)
from swarmlore.errors import StoreBusy, StoreFull, StoreReadOnly
from swarmlore.lore import Lore
from swarmlore.store import sqlite

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


@linux
def test_a_setting_for_a_home_that_cannot_be_written_is_refused_in_words(fast_path: Path) -> None:
    home = fast_path / "home"
    home.mkdir(mode=0o555)
    for path in (home, home / "deeper"):
        told = as_a_user(path, "config", "recall.limit", "8")
        assert (told.returncode, told.stdout) == (9, "")
        said = " ".join(told.stderr.split())  # it may be wrapped
        assert said.startswith(f"error: {path}")
        assert " cannot be written: Permission denied hint: check " in said
        assert "SWARMLORE_HOME" in said
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


@pytest.mark.parametrize("pages", [0, 6, 20])
def test_a_text_without_room_for_its_vector_is_acknowledged_all_the_same(fast_path: Path, pages: int) -> None:
    """The text is durable before its vector is stored; an error would make an agent say it again."""
    with open_lore(fast_path / "home", SWARMLORE_EMBEDDER_KIND="minilm") as lore:
        lore.remember(LESSON)
        limit_pages(lore, pages)
        acknowledged = remember_until_full(lore)
        assert {memory.id for memory in lore.list(limit=1000)} - set(acknowledged) == {lore.recall(LESSON)[0].memory.id}


def test_leaving_without_room_for_the_vectors_that_wait_is_no_error(fast_path: Path) -> None:
    with open_lore(fast_path / "home", SWARMLORE_EMBEDDER_KIND="minilm") as lore:
        lore.remember(LESSON)
        for number in range(20):
            lore.remember(f"Queue q{number * 37} is drained by worker w{number * 53}, says {number}", defer=True)
        limit_pages(lore, 0)
    with open_lore(fast_path / "home", SWARMLORE_EMBEDDER_KIND="minilm") as lore:
        assert lore.stats()["waiting_for_vector"] == 20
        lore.reindex()
        assert lore.stats()["waiting_for_vector"] == 0


WRITER = """
import json, resource, sys
from swarmlore import Lore
from swarmlore.errors import SwarmloreError
from swarmlore.domain.records import Caller
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


@linux
def test_a_command_under_a_limit_on_file_sizes(healthy: Path, fast_path: Path) -> None:
    import resource

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


# Erasing needs room and the file to itself; where it has neither, `reindex` finishes it later

SECRETIVE = "The zebracrossing of the harbour is repainted every spring"


def is_left(home: Path) -> bool:
    return any(b"zebracross" in path.read_bytes() for path in home.glob("lore.db*"))


def test_an_erasure_without_room_says_what_is_left_to_do(small_disk: Path) -> None:
    home = small_disk / "home"
    fill(home, 5)
    with open_lore(home) as lore:
        memory = lore.remember(SECRETIVE).memory
        fill_disk(small_disk / "filler")
        os.truncate(small_disk / "filler", os.path.getsize(small_disk / "filler") - 150_000)
        with pytest.raises(StoreFull, match="what was erased may still be in it") as caught:
            lore.forget(memory.id, erase=True)
        assert "swarmlore reindex" in caught.value.hint
        assert memory.id not in {found.id for found in lore.list()}
        os.unlink(small_disk / "filler")
        lore.reindex()
        assert not is_left(home)


def test_an_erasure_under_a_reader_says_what_is_left_to_do(fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 50)
    home = fast_path / "home"
    with open_lore(home) as lore:
        memory = lore.remember(SECRETIVE).memory
        reader = apsw.Connection(str(home / "lore.db"))
        reader.execute("BEGIN").fetchall()
        reader.execute("SELECT count(*) FROM memory").fetchall()
        with pytest.raises(StoreBusy, match="what was erased is still in the log"):
            lore.forget(memory.id, erase=True)
        assert is_left(home)
        reader.close()
        lore.reindex()
        assert not is_left(home)
