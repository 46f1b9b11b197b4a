"""`learnings` and `search-learnings` as a user types them, and `remember --note` at a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import Run, command, process
from waiting import Deadline

NOTE = """---
title: "tokio runtime panic"
category: {category}
tags: [rust, tokio]
symptoms:
  - "nested runtime panic"
key_insight: "Wrap it in spawn_blocking"
created: "2026-03-16"
confidence: high
language: rust
---
Do not call block_on inside async code.
"""


@pytest.fixture
def project(world: Path) -> Path:
    return world / "project"


@pytest.fixture
def note(project: Path) -> Path:
    path = project / "docs" / "solutions" / "debugging-sessions" / "tokio.md"
    path.parent.mkdir(parents=True)
    path.write_text(NOTE.format(category="debugging-sessions"))
    return path


def test_a_search_answers_people_and_programs(run: Run, note: Path) -> None:
    shown = run("learnings", "search", "tokio", "panic")
    assert shown.code == 0 and "tokio runtime panic" in shown.out and str(note) in shown.out
    assert "words" in shown.err  # there are no vectors here
    told = run("learnings", "search", "tokio panic", "--format", "json").json
    assert (told["query"], told["mode"]) == ("tokio panic", "naive")
    assert told["results"][0]["path"] == str(note) and "block_on" in told["context"]
    assert run("learnings", "search", "tokio panic", "--json", "--mode", "hybrid").json["results"][0]["tags"] == [
        "rust",
        "tokio",
    ]
    simple = run("learnings", "search", "tokio panic", "--format", "simple", "--mode", "keyword")
    assert simple.out == f"tokio runtime panic\tdebugging-sessions\t{note}\n"


def test_a_search_without_hits_says_so(run: Run, note: Path) -> None:
    assert run("learnings", "search", "zebra", "--mode", "keyword").out == "No note fits.\n"
    told = run("learnings", "search", "zebra", "--mode", "keyword", "--format", "json").json
    assert told["results"] == [] and told["message"] and told["context"] == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search"], "nothing to look for"),
        (["search", "x", "--mode", "nonsense"], "invalid choice"),
        (["nonsense"], "invalid choice"),
        (["list", "--mode", "local"], "does not belong"),
        (["stats", "x"], "takes no words"),
        (["add"], "name one file"),
        (["add", "missing.md"], "no file missing.md"),
    ],
)
def test_what_is_wrong_is_said_with_exit_code_2(run: Run, project: Path, words: list[str], said: str) -> None:
    reply = run("learnings", *words)
    assert reply.code == 2 and said in reply.err


def test_a_file_is_added_once_and_replaced_with_force(run: Run, project: Path, world: Path) -> None:
    (project / "doc.md").write_text(NOTE.format(category="patterns"))
    (project / "doc.entities.yaml").write_text("entities:\n  - name: tokio\n    type: technology\n")
    added = run("learnings", "add", "./doc.md", "--entities", "./doc.entities.yaml", "--json")
    assert added.code == 0 and added.json["indexed"] and not added.json["replaced"]
    assert Path(added.json["path"]).parent == world / "user" / ".learnings" / "documents" / "learnings"
    again = run("learnings", "add", "./doc.md")
    assert again.code == 2 and "--force" in again.err
    assert run("learnings", "add", "./doc.md", "--force").code == 0
    assert len(run("learnings", "list", "--json").json["documents"]) == 1


def test_a_file_without_an_insight_is_refused(run: Run, project: Path) -> None:
    (project / "doc.md").write_text("---\ntitle: x\n---\ntext\n")
    reply = run("learnings", "add", "doc.md")
    assert reply.code == 2 and "category, key_insight" in reply.err


def test_listing_counting_and_reindexing(run: Run, note: Path) -> None:
    assert "tokio runtime panic" in run("learnings", "list", "--category", "debugging").out
    assert "No note is of category zebra" in run("learnings", "list", "--category", "zebra").out
    counts = run("learnings", "stats", "--json").json
    assert (counts["notes"], counts["by_place"], counts["by_confidence"]) == (1, {"project": 1}, {"high": 1})
    assert "notes" in run("learnings", "stats").out
    assert run("learnings", "reindex", "--json").json["project"]["read"] == 0
    forced = run("learnings", "reindex", "--force", "--json").json["project"]
    assert (forced["read"], forced["kept"], forced["problems"]) == (1, 1, [])
    assert run("stats", "--json").json["notes"] == {"project": 1}
    assert run("reindex", "--json").json["notes"] == 1


def test_critical_patterns(run: Run, note: Path, project: Path) -> None:
    assert "No critical pattern" in run("learnings", "critical-patterns").out
    (project / "docs" / "solutions" / "p.md").write_text(NOTE.format(category="patterns"))
    assert "tokio runtime panic" in run("learnings", "critical-patterns", "--language", "rust").out
    assert run("learnings", "critical-patterns", "--language", "go", "--json").json == {"patterns": []}
    assert len(run("learnings", "critical-patterns", "--domain", "block_on", "--json").json["patterns"]) == 1


def test_a_file_search_prints_the_described_lines(run: Run, note: Path) -> None:
    reply = run("search-learnings", "tokio panic")
    assert (reply.code, reply.err) == (0, "")
    assert (
        reply.out == f"• tokio runtime panic [debugging-sessions]\n  Key: Wrap it in spawn_blocking\n  File: {note}\n"
    )
    full = run("search-learnings", "tokio panic", "-f", "full").out
    assert full.startswith(reply.out) and "Do not call block_on" in full
    (told,) = json.loads(run("search-learnings", "tokio", "-f", "json", "-c", "debugging-sessions", "-t", "rust").out)
    assert told == {
        "title": "tokio runtime panic",
        "category": "debugging-sessions",
        "key_insight": "Wrap it in spawn_blocking",
        "tags": ["rust", "tokio"],
        "file": str(note),
        "score": 140,
    }
    assert run("search-learnings", "tokio", "-t", "rust", "-t", "go", "--json").json == []


def test_a_missing_folder_is_a_warning_and_no_query_an_error(run: Run, project: Path) -> None:
    missing = run("search-learnings", "tokio", "-d", "nowhere")
    assert missing.code == 0 and "nowhere" in missing.err
    assert run("search-learnings", "tokio", "-d", "nowhere", "-f", "json").json == []
    assert run("search-learnings").code == 1


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--", "-tokio"), 1),
        (("--", "-x"), 0),
        (("-l", "3", "--", "--help", "panic"), 1),
        (("panic", "-c", "debugging-sessions", "--", "-f", "json"), 1),  # all of it is looked for
    ],
)
def test_words_behind_two_dashes_are_looked_for_whatever_they_begin_with(
    run: Run, note: Path, words: tuple[str, ...], found: int
) -> None:
    reply = run("search-learnings", "--json", *words)
    assert reply.code == 0 and len(reply.json) == found
    assert run("learnings", "search", "--json", *[word for word in words if word not in ("-l", "3", "-c")]).code == 0


def test_a_file_search_needs_no_store_and_no_settings(note: Path, world: Path) -> None:
    (world / "home").mkdir()
    (world / "home" / "config.toml").write_text("broken = [")
    before = sorted((world / "home").iterdir())
    reply = process("search-learnings", "tokio panic")
    assert reply.returncode == 0 and "tokio runtime panic" in reply.stdout
    assert sorted((world / "home").iterdir()) == before


def test_both_are_commands_of_their_own(note: Path) -> None:
    folder = Path(sys.executable).parent
    found = subprocess.run([folder / "search-learnings", "tokio"], capture_output=True, text=True, check=False)
    assert found.returncode == 0 and found.stdout.startswith("• tokio runtime panic")
    listed = subprocess.run([folder / "learnings", "list", "--json"], capture_output=True, text=True, check=False)
    assert [one["title"] for one in json.loads(listed.stdout)["documents"]] == ["tokio runtime panic"]
    none = subprocess.run([folder / "search-learnings"], capture_output=True, text=True, check=False)
    assert none.returncode == 1 and "nothing to look for" in none.stderr


def test_an_agent_that_notes_something_writes_no_file(run: Run, project: Path) -> None:
    told = run("remember", "--note", "A long text about snapshots. " * 20, "--category", "testing", "--json").json
    assert told["memory"]["source"] == "note" and "path" not in told["memory"]["source_ref"]
    assert not (project / "docs").exists()


# At a terminal


def at_terminal(*words: str, answer: str = "", until: str = "") -> tuple[int, str]:
    """Run a command as a person does: its code and what it showed."""
    shown = b""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.executable, command(words))
    deadline = Deadline("the command ends")
    while True:
        deadline.check()
        ready, _, _ = select.select([fd], [], [], 0.2)
        try:
            data = os.read(fd, 65_536) if ready else None
        except OSError:  # the other end is closed
            break
        if data == b"":
            break
        shown += data or b""
        if answer and until.encode() in shown:
            os.write(fd, answer.encode())
            answer = ""
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return os.waitstatus_to_exitcode(status), shown.decode().replace("\r\n", "\n")


@pytest.fixture
def terminal(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("NO_COLOR", "1")
    return project


def test_a_person_gets_a_page(terminal: Path) -> None:
    words = ("Snapshots are recorded by make snap-record", "--category", "testing-patterns", "--tag", "snapshots")
    code, shown = at_terminal("remember", "--note", *words)
    path = terminal / "docs" / "solutions" / "testing-patterns" / "snapshots-are-recorded-by-make-snap-record.md"
    assert code == 0 and str(path) in shown
    text = path.read_text()
    for field in (
        "title:",
        "created:",
        "confidence: medium",
        "category: testing-patterns",
        "tags: [snapshots]",
        "key_insight:",
    ):
        assert field in text
    found = json.loads(process("learnings", "search", "record snapshots", "--mode", "keyword", "--json").stdout)
    assert found["results"][0]["path"] == str(path)


def test_a_person_can_note_something_for_every_project(terminal: Path, world: Path) -> None:
    code, shown = at_terminal("remember", "--note", "Retry with jitter, always", "--tier", "hive", "--json")
    told: dict[str, Any] = json.loads(shown)
    assert code == 0 and Path(told["path"]).parent == world / "user" / ".learnings" / "documents" / "learnings"
    assert told["memory"]["tier"] == "hive" and not (terminal / "docs").exists()


def test_a_private_note_of_a_person_stays_a_memory(terminal: Path) -> None:
    code, _ = at_terminal("remember", "--note", "Retry with jitter, always", "--tier", "agent")
    assert code == 0 and not (terminal / "docs").exists()


def test_a_person_is_asked_before_a_note_is_replaced(terminal: Path, world: Path) -> None:
    (terminal / "doc.md").write_text(NOTE.format(category="patterns"))
    assert at_terminal("learnings", "add", "doc.md")[0] == 0
    code, shown = at_terminal("learnings", "add", "doc.md", answer="n\n", until="[y/N]")
    assert code == 0 and "Nothing was changed" in shown
    code, shown = at_terminal("learnings", "add", "doc.md", answer="y\n", until="[y/N]")
    assert code == 0 and "Replaced" in shown
