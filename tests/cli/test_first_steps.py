"""What somebody types who has never seen the commands for notes, reflecting and prime, and what they are told."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from test_reflect_cli import items, talk

from command_line import Run, command
from reflecting import NOTE, RULE
from repositories import NEUTRAL, a_repository


@pytest.fixture
def project(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(world / "user"))
    monkeypatch.delenv("LEARNINGS_HOME", raising=False)
    monkeypatch.delenv("GLOBAL_LEARNINGS_PATH", raising=False)
    folder = a_repository(world / "repository", commit=True)
    monkeypatch.chdir(folder)
    return folder


def test_in_the_overview_every_name_stands_apart_from_its_summary(run: Run) -> None:
    assert "  search-learnings  find notes" in run("--help").out


@pytest.mark.parametrize(
    ("words", "missing", "first"), [("learnings", "VERB", "search"), ("mail", "ACTION", "register")]
)
def test_a_command_without_its_verb_names_the_verbs(run: Run, words: str, missing: str, first: str) -> None:
    told = run(words)
    assert (told.code, told.err.splitlines()[0]) == (2, f"error: the following arguments are required: {missing}")
    assert f"hint: one of: {first}, " in told.err


def test_a_note_that_gets_no_page_says_so(project: Path, run: Run) -> None:
    told = run("remember", "--note", "Redis reconnects for ever where the password is wrong")
    assert told.code == 0
    assert "without a page" in told.err
    assert not (project / "docs").exists()


def test_what_was_kept_without_a_title_is_called_by_how_it_begins(project: Path, run: Run) -> None:
    text = "Redis reconnects for ever where the password is wrong"
    run("remember", "--note", text)
    assert run("learnings", "search", "redis password", "--mode", "keyword").out.count(text) == 1
    assert run("learnings", "search", "redis", "--mode", "keyword", "--format", "simple").out.startswith(text)
    assert run("learnings", "search", "redis", "--mode", "keyword", "--json").json["context"] == text


def test_a_category_without_notes_is_not_a_place_without_notes(project: Path, run: Run) -> None:
    assert run("learnings", "list", "--category", "zebras").out.startswith("No note is of category zebras.")
    assert run("learnings", "list").out.startswith("No notes yet.")


def test_a_file_that_is_not_there_is_not_taken_for_an_agent(project: Path, run: Run) -> None:
    for name in ("talk.txt", "logs/talk"):
        told = run("reflect", name)
        assert (told.code, told.err) == (4, f"error: there is no file {name}\nhint: check the path\n")
    assert "no agent 'reviewer'" in run("reflect", "reviewer").err


def test_a_conversation_behind_from_is_told_where_it_belongs(project: Path, run: Run) -> None:
    talk = project.parent / "talk.txt"
    talk.write_text("User: never commit the .env file\n")
    told = run("reflect", "--from", str(talk))
    assert told.code == 2
    assert "without --from" in told.err


def test_an_answer_that_names_nothing_hears_what_is_open(project: Path, run: Run) -> None:
    assert "error: nothing is open" in run("reflect", "--answer", "7").err
    run("reflect", "--from", items(project, RULE, NOTE))
    assert "'7' decides nothing; open: 1 (b1), 2 (k1)" in run("reflect", "--answer", "7").err


def test_what_was_open_before_is_told_from_what_is_new(project: Path, run: Run) -> None:
    run("reflect", "--from", items(project, RULE))
    told = run("reflect", "--from", items(project, NOTE)).out
    assert told.index("Open from before") < told.index("1  b1") < told.index("\nNew\n") < told.index("2  k1")
    assert "Open from before" not in run("reflect", "--review").out


def test_a_terminal_without_colours_is_asked_and_not_sent_to_a_terminal(project: Path, run: Run) -> None:
    run("reflect", "--from", items(project, RULE))
    told = talk(["reflect", "--review"], ["N"], NO_COLOR="1")
    assert "Rejected" in told
    assert "A person decides" not in told


def test_nobody_is_asked_about_proposals_that_went_into_a_pipe(project: Path, run: Run) -> None:
    run("reflect", "--from", items(project, RULE))
    main, child = pty.openpty()
    told = subprocess.run(
        command(["reflect", "--review"]), stdin=child, stdout=subprocess.PIPE, stderr=child, text=True, timeout=60
    )
    os.close(child)
    os.close(main)
    assert told.returncode == 0
    assert "A person decides" in told.stdout


def test_nobody_is_asked_about_an_instinct_that_is_not_there(project: Path, run: Run) -> None:
    told = run("instincts", "promote", "nothere")
    assert (told.code, told.err.splitlines()[0]) == (4, "error: no instinct 'nothere'")


def test_a_folder_as_output_is_called_a_folder(project: Path, run: Run) -> None:
    (project / "pictures").mkdir()
    told = run("visualize", "--output", "pictures")
    assert (told.code, told.err) == (2, "error: pictures is a folder\nhint: name a file in it\n")


def test_prime_names_the_lines_of_a_manifest_behind_its_path(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text(
        '[project]\nname = "pebble"\ndependencies = [\n  "fastapi>=0.110",\n  "redis",\n]\n'
    )
    told = run("prime").out
    assert "FastAPI 0.110+ (pyproject.toml:4)" in told
    assert "Redis via redis (pyproject.toml:5)" in told
    assert "Nothing that is remembered fits here yet." in told
