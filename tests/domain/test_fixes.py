"""Failures that were overcome: what made the difference, and what was none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homes import open_lore
from hostile import SCANNERS
from swarmlore.domain.extraction.fixes import Attempt, error_excerpt, error_line, find_fix
from swarmlore.domain.language.shell import read_call
from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import Draft

DATA = Path(__file__).parents[1] / "data" / "fixes_labelled.jsonl"
SEQUENCES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
MISSING = "E   ModuleNotFoundError: No module named 'x'"


def attempt(row: dict[str, Any], failed: bool = False) -> Attempt:
    said = {"error" if failed else "output": row["output"]}
    return Attempt(row["tool"], row["command"], tuple(row["files"]), **said)


def lesson_of(row: dict[str, Any]) -> str:
    between = [attempt(step) for step in row["between"]]
    found = find_fix(attempt(row["failed"], failed=True), between, attempt(row["succeeded"]))
    return found.text if found else ""


def fix(failed: str, error: str, worked: str, *between: str) -> str:
    steps = [Attempt("shell", step) for step in between]
    found = find_fix(Attempt("shell", failed, error=error), steps, Attempt("shell", worked))
    return found.text if found else ""


# --- the labelled sequences


@pytest.mark.parametrize("part", ["tuned", "held out"])
def test_what_made_the_difference_is_found_in_the_labelled_sequences(part: str) -> None:
    rows = [row for row in SEQUENCES if row["set"] == part]
    overcome = [row for row in rows if row["words"]]
    right = [row for row in overcome if all(word in lesson_of(row) for word in row["words"])]
    junk = [lesson_of(row) for row in rows if not row["words"] and lesson_of(row)]
    assert len(right) / (len(right) + len(junk)) >= 0.95, junk
    assert len(right) / len(overcome) >= 0.8


def test_there_are_enough_sequences_with_and_without_a_lesson() -> None:
    assert len(SEQUENCES) >= 30 and 12 <= sum(row["words"] is None for row in SEQUENCES) <= 22


def test_every_fix_passes_the_gate_and_a_store_keeps_it(fast_path: Path) -> None:
    found = [text for row in SEQUENCES if (text := lesson_of(row))]
    with open_lore(fast_path / "home") as lore:
        for text in found:
            assert not pass_gate(Draft(text, kind="correction", source="reflect", trust=1)).quarantine
            lore.remember(text, kind="correction", source="reflect", trust=1, auto_generated=True, defer=True)
        assert lore.rejected() == ()
        assert len(list(lore.list(limit=100))) >= 0.9 * len(found)


# --- what the difference was


@pytest.mark.parametrize(
    ("failed", "worked", "between", "way"),
    [
        ("pytest", "uv run pytest", (), "`uv run pytest` works"),
        ("pytest", ".venv/bin/pytest", (), "`.venv/bin/pytest` works"),
        ("pytest a.py", "python -m pytest a.py", (), "`python -m pytest a.py` works"),
        ("pytest a.py", "MODE=ci pytest a.py", (), "`MODE=ci pytest a.py` works"),
        ("pytest a.py", "pytest --import-mode=importlib a.py", (), "`pytest --import-mode=importlib a.py` works"),
        ("npm test", "cd web && npm test", (), "`cd web && npm test` works"),
        ("npm ci", "pnpm ci", (), "`pnpm ci` works"),
        ("docker-compose up", "docker compose up", (), "`docker compose up` works"),
        ("pip install x", "uv pip install x", (), "`uv pip install x` works"),
        ("pytest", "pytest", ("pip install x",), "run `pip install x` first"),
        ("pytest", "pytest", ("ls", "export MODE=ci", "cat a.py"), "run `export MODE=ci` first"),
        ("pytest", "export MODE=ci && pytest", (), "run `export MODE=ci` first"),
        ("pytest 2>&1 | tail -5", "pytest", ("docker compose up -d db",), "run `docker compose up -d db` first"),
    ],
)
def test_the_lesson_says_what_works_instead(failed: str, worked: str, between: tuple[str, ...], way: str) -> None:
    shown = failed.partition(" 2>")[0]
    assert fix(failed, MISSING, worked, *between) == (
        f"`{shown}` fails here with ModuleNotFoundError: No module named 'x'; {way}."
    )


@pytest.mark.parametrize(
    ("failed", "error", "worked", "between", "way"),
    [
        ("make db", "OperationalError: database is locked by the worker", "make db", ("make stop-worker",), "make stop-worker"),
        ("docker compose up", "Error: network shop_net not found", "docker compose up", ("docker network create shop_net",), "docker network create shop_net"),
    ],
)  # fmt: skip
def test_a_step_that_names_what_the_error_names_comes_first(
    failed: str, error: str, worked: str, between: tuple[str, ...], way: str
) -> None:
    assert fix(failed, error, worked, *between) == f"`{failed}` fails here with {error}; run `{way}` first."


@pytest.mark.parametrize(
    ("failed", "error", "worked", "between"),
    [
        ("pytest", MISSING, "pytest", ()),  # a plain retry
        ("pytest", MISSING, "pytest -v", ()),
        ("pytest -q a.py", "FAILED a.py::test - assert 1 == 2", "uv run pytest -q a.py", ()),  # the code was wrong
        ("pytest a.py", MISSING, "pytest b.py", ()),  # another target
        ("python a.py", "ValueError: bad", "black a.py", ()),  # another program
        ("pytest -n 4 a.py", "error: unrecognized arguments: -n", "pytest a.py", ()),  # an option too many
        ("pyhton a.py", "bash: pyhton: command not found", "python a.py", ()),  # mistyped
        ("make biuld", "make: *** No rule to make target 'biuld', no such file", "make build", ()),
        ("cat a.txt", "cat: a.txt: No such file or directory", "cat b.txt", ()),
        ("pytest", MISSING, "pytest", ("sed -i s/x/y/ a.py", "pip install x")),  # edited as well
        ("pytest", MISSING, "pytest", ("git log", "ls -la", "cat setup.py")),  # only looked around
        ("pytest", "", "uv run pytest", ()),  # nobody knows why
        ("", MISSING, "", ()),
        ("cd web", "bash: cd: web: No such file or directory", "cd app", ()),
        ("cd web && npm test", "/bin/bash: line 1: cd: web: No such file or directory", "cd app && npm test", ()),
        ("make db", "OperationalError: database is locked by the worker", "make db", ("make docs", "python a.py")),
        ("npm run dev", "Error: listen EADDRINUSE: address already in use :::3000", "PORT=3001 npm run dev", ()),
    ],
)
def test_slips_retries_edits_and_other_work_are_no_lessons(
    failed: str, error: str, worked: str, between: tuple[str, ...]
) -> None:
    assert fix(failed, error, worked, *between) == ""


def test_a_test_that_turns_green_after_an_edit_is_no_lesson() -> None:
    steps = [Attempt("write", files=("a.py",)), Attempt("shell", "pip install x")]
    assert find_fix(Attempt("shell", "pytest", error=MISSING), steps, Attempt("shell", "pytest")) is None


def test_a_step_that_failed_itself_made_nothing_ready() -> None:
    steps = [Attempt("shell", "pip install x", error="no network"), Attempt("shell", "brew install x")]
    found = find_fix(Attempt("shell", "pytest", error=MISSING), steps, Attempt("shell", "pytest"))
    assert found and "brew install x" in found.text and "pip install" not in found.text


def test_a_fix_has_the_trust_of_tool_output_and_its_error_as_situation() -> None:
    found = find_fix(Attempt("shell", "pytest", error=f"x\n{MISSING}\n"), (), Attempt("shell", "uv run pytest"))
    assert found is not None
    assert (found.kind, found.trust, found.situation_via) == ("correction", 1, "error")
    assert found.situation == "ModuleNotFoundError: No module named 'x'"


def test_a_long_error_is_cut_before_a_command_is() -> None:
    text = fix("pytest " + "a" * 60, "ValueError: " + "b" * 300, "uv run pytest " + "a" * 60)
    assert len(text) <= 280 and text.endswith(f"`uv run pytest {'a' * 60}` works.") and "…;" in text


# --- excerpts of errors


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'A'\n\nDuring handling:\nValueError: b\n", "ValueError: b"),
        ("a.c:3:1: error: expected x\na.c:9:1: error: y\nmake: *** [all] Error 1", "a.c:3:1: error: expected x"),
        ("npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://x\nnpm ERR! A complete log", "npm ERR! 404 Not Found - GET https://x"),
        ("bash: foo: command not found", "bash: foo: command not found"),
        ("Exit code 127\n/bin/bash: line 1: foo: command not found", "foo: command not found"),
        ("\x1b[31merror\x1b[0m: red", "error: red"),
        ("2026-01-05T10:00:00Z ERROR cannot open /tmp/pytest-of-me/x1/f.db", "ERROR cannot open <tmp>"),
        ("nothing telling\nlast line", "last line"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_telling_line_of_an_output_is_found(output: str, line: str) -> None:
    assert error_line(output) == line


def test_two_runs_that_fail_alike_have_the_same_excerpt() -> None:
    run = "[10:00:{0}] start\nError: cannot write /tmp/run-{0}/a.db at 0x7f00{0}00\n1 failed in {0}.5s\n"
    assert error_excerpt(run.format(11)) == error_excerpt(run.format(42)) == "Error: cannot write <tmp> at 0x…"


def test_an_excerpt_keeps_the_order_and_the_limit() -> None:
    output = "\n".join(["noise"] * 500 + ["a.c:1: error: one", "noise", "a.c:2: error: two"] + ["noise"] * 500)
    assert error_excerpt(output) == "a.c:1: error: one\na.c:2: error: two"
    assert error_excerpt(output, limit=20) == "a.c:1: error: one"


# --- hostile text


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300), st.text(max_size=100))
def test_any_commands_and_outputs_can_be_read(failed: str, error: str, worked: str, step: str) -> None:
    found = find_fix(Attempt("shell", failed, error=error), [Attempt("shell", step)], Attempt("shell", worked))
    assert found is None or (15 <= len(found.text) <= 280 and "\n" not in found.text)
    assert len(error_excerpt(error, 100)) <= 100


@given(st.text(alphabet="abc -='\"`$(){}|&;<>\\\n", max_size=200))
def test_any_command_line_is_a_call_or_none_and_shows_on_one_line(command: str) -> None:
    call = read_call(command)
    assert call is None or ("\n" not in call.shown and "`" not in call.shown)


@pytest.mark.parametrize("piece", SCANNERS["errors"].pieces)
def test_the_excerpt_of_a_long_output_stays_short(piece: str) -> None:
    output = SCANNERS["errors"].text(piece, 1_000_000)
    assert len(error_excerpt(output)) <= 300
    assert len(error_line(output)) <= 120
    assert (error_line(output) == "") is (piece == "\n")
