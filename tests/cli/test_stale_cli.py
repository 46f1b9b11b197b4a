"""Cited code at the command line: `remember --cite`, `recall`, `get`, `stale`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from homes import PROGRAM

CODE = "".join(f"def step_{n}(order):\n    return order.total * {n}\n\n\n" for n in range(9))
LESSON = "Totals are multiplied by the step, never by the rate"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "orders.py").write_text(CODE)
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)
    return folder


def swarmlore(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SWARMLORE_EMBEDDER_KIND": "none", "SWARMLORE_HOME": str(project.parent / "home")}
    env["SWARMLORE_AGENT"] = "alice"
    env.pop("COLUMNS", None)  # lines stay whole
    return subprocess.run([*PROGRAM, *words], capture_output=True, text=True, timeout=60, cwd=project, env=env)


def answer(project: Path, *words: str) -> Any:
    return json.loads(swarmlore(project, *words, "--json").stdout)


def test_cited_code_is_named_followed_and_reported(project: Path) -> None:
    told = swarmlore(project, "remember", LESSON, "--cite", "orders.py:5-6", "--cite", "orders.py:9-10")
    assert "cites orders.py:5-6, orders.py:9-10" in told.stdout
    assert "cites orders.py:5-6, unchanged" in swarmlore(project, "recall", "totals multiplied").stdout
    assert swarmlore(project, "stale").stdout == "All cited code is as it was.\n"
    (project / "orders.py").write_text("import os\n" + CODE.replace("total * 2", "total * 2.0"))
    shown = swarmlore(project, "recall", "totals multiplied").stdout
    assert "cites orders.py:6-7, moved from orders.py:5-6" in shown
    assert "cites orders.py:9-10: cited code has changed" in shown
    listed = swarmlore(project, "stale").stdout
    assert "-    return order.total * 2\n" in listed and "+    return order.total * 2.0\n" in listed
    assert "orders.py:5-6" not in listed
    assert "moved from orders.py:5-6" in swarmlore(project, "stale", "--all").stdout


def test_programs_get_states_and_diffs(project: Path) -> None:
    told = answer(project, "remember", LESSON, "--cite", "orders.py:5-6")
    assert [item["path"] for item in told["memory"]["citations"]] == ["orders.py"]
    (project / "orders.py").write_text("")
    (stale,) = answer(project, "stale")["stale"]
    assert stale["memory"]["id"] == told["memory"]["id"]
    assert stale["cited"][0]["state"] == "changed"
    assert "-def step_1(order):" in stale["cited"][0]["diff"]
    assert answer(project, "get", told["memory"]["id"])["cited"][0]["state"] == "changed"
    assert answer(project, "recall", "totals multiplied")["hits"][0]["cited"][0]["state"] == "changed"


def test_get_shows_what_became_of_cited_code(project: Path) -> None:
    handle = answer(project, "remember", f"{LESSON}, see orders.py:5-6")["memory"]["handle"]
    assert "cites       orders.py:5-6, unchanged" in swarmlore(project, "get", handle).stdout
    (project / "orders.py").unlink()
    assert "it is gone (there is no such file)" in swarmlore(project, "get", handle).stdout


def test_following_is_said_and_undone(project: Path) -> None:
    swarmlore(project, "remember", LESSON, "--cite", "orders.py:5-6")
    assert swarmlore(project, "stale", "--follow").stdout == "No cited code has moved.\n"
    (project / "orders.py").write_text("import os\n" + CODE)
    assert "Followed the code of 1 memory" in swarmlore(project, "stale", "--follow").stdout
    assert "cites orders.py:6-7, unchanged" in swarmlore(project, "recall", "totals multiplied").stdout
    swarmlore(project, "undo")
    assert "moved from orders.py:5-6" in swarmlore(project, "recall", "totals multiplied").stdout


@pytest.mark.parametrize("place", ["../orders.py:1", "/etc/passwd", "none.py", "orders.py:99", "orders.py:3"])
def test_a_place_that_cannot_be_cited_is_an_error_with_a_hint(project: Path, place: str) -> None:
    done = swarmlore(project, "remember", LESSON, "--cite", place)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and "hint: " in done.stderr
    assert "Nothing is stored" in swarmlore(project, "list").stdout


def test_code_in_a_diff_cannot_move_the_cursor(project: Path) -> None:
    swarmlore(project, "remember", LESSON, "--cite", "orders.py:5-6")
    (project / "orders.py").write_text(CODE.replace("total * 1\n", "total * 1 # \x1b[2J\x07\n"))
    listed = swarmlore(project, "stale").stdout
    assert "\x1b" not in listed and "\x07" not in listed
