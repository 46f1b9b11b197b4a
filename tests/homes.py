"""Homes of stores for tests that break, fill or lock them; its fixtures are there for every test."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import ALICE, LEAD, quick_env
from swarmlore.domain.records import Caller
from swarmlore.lore import Lore
from waiting import PATIENCE_S, wait_until

LESSON = "The release build runs with make release in the tools folder"
COUNT = 25
IN_LOG = 6
PAGE = 4096
# Without writing compiled modules: under a limit on file sizes Python would store half of them.
PROGRAM = [sys.executable, "-B", "-c", "import sys; from swarmlore.main import main; sys.exit(main())"]

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@pytest.fixture
def fast_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where the system has one: no test has to wait for a disk."""
    with in_memory(tmp_path) as folder:
        yield folder


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a closed store and one backup; to be copied, not used."""
    return healthy_home(tmp_path_factory.mktemp("healthy"))


@pytest.fixture(scope="module")
def unsettled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a killed process leaves it: its last memories are in the WAL only."""
    return unsettled_home(tmp_path_factory.mktemp("unsettled"))


@contextmanager
def in_memory(otherwise: Path) -> Iterator[Path]:
    if not (os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK)):
        yield otherwise
        return
    made = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        yield made
    finally:
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


def healthy_home(folder: Path) -> Path:
    home = folder / "home"
    fill(home)
    with open_lore(home) as lore:
        lore.backup()
    return home


def unsettled_home(folder: Path) -> Path:
    opened = healthy_home(folder / "open")
    home = folder / "home"
    with open_lore(opened) as lore:
        for number in range(IN_LOG):
            lore.remember(f"Lesson {number * 7919} was said last and is in the log of {number * 31} only")
        shutil.copytree(opened, home)
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


def use_all(home: Path) -> set[str]:
    with open_lore(home) as lore:
        assert lore.store.engine.check() == []
        return {memory.id for memory in lore.list(limit=1000)}


def process(home: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SWARMLORE_EMBEDDER_KIND": "none", "SWARMLORE_HOME": str(home), "SWARMLORE_AGENT": "alice"}
    env["SWARMLORE_PROJECT"] = ALICE.project
    return subprocess.run(
        [*PROGRAM, *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=env,
        cwd=home.parent,
        **options,
    )


def killed_import(home: Path, path: Path, after_rows: int, caller: Caller = LEAD) -> None:
    """Start an import in a process of its own and kill it once it has stored some rows."""
    code = (
        "from swarmlore import Lore; from swarmlore.domain.records import Caller; from conftest import quick_env\n"
        f"Lore.open({str(home)!r}, cwd={str(home.parent)!r}, caller={caller!r}, env=quick_env()).import_file({str(path)!r})"
    )
    env = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    child = subprocess.Popen([sys.executable, "-c", code], env=env)
    with Lore.open(home, cwd=home.parent, caller=caller, env=quick_env()) as lore:
        wait_until(lambda: lore.store.ask("last_audit")[0][0] >= after_rows, "some rows are stored", pause_s=0.005)
    child.kill()
    assert child.wait() == -signal.SIGKILL
