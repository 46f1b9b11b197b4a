"""The short form of `make torture`: real processes, really killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ALICE, BOB, quick_env
from swarmlore.lore import Lore

sys.path.insert(0, str(Path(__file__).parents[1] / "torture"))
import kill

TORTURE = Path(kill.__file__).parent


def test_acknowledged_memories_survive_kills(tmp_path: Path) -> None:
    kills = kill.kill_loop(str(tmp_path), writers=4, kills=20, seed=7)
    found = kill.examine(str(tmp_path))
    assert int(str(found["acknowledged"])) > 0
    assert kill.verdict(found, kills) == [], found


def test_four_writers_keep_everything(tmp_path: Path) -> None:
    kill.run_to_end(str(tmp_path), 4, 50)
    found = kill.examine(str(tmp_path))
    assert (found["stored"], kill.verdict(found, 0)) == (200, []), found


@pytest.mark.parametrize("kind", ["none", "minilm"])
def test_a_process_with_warm_caches_finds_what_another_writes(tmp_path: Path, kind: str) -> None:
    env = quick_env(SWARMLORE_EMBEDDER_KIND=kind)
    with (
        Lore.open(tmp_path, cwd=tmp_path, caller=ALICE, env=env) as one,
        Lore.open(tmp_path, cwd=tmp_path, caller=BOB, env=env) as two,
    ):
        one.remember("Use pnpm for everything in the frontend workspace")
        assert len(two.recall("which package manager for the frontend?")) == 1
        one.remember("Database migrations run with alembic upgrade head before the tests")
        hits = two.recall("how do I run the database migrations?", limit=1)
        assert "alembic" in hits[0].memory.text


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_every_job_has_its_effect_once_whoever_is_killed(engine: str) -> None:
    words = ["--messages", "200", "--workers", "4", "--every", "0.4", "--limit", "150"]
    words += ["--postgres"] if engine == "postgres" else []
    done = subprocess.run(
        [sys.executable, str(TORTURE / "jobs.py"), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["kills"] > 5
