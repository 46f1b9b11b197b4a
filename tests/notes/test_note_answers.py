"""What comes back of notes: a line and a place, each note once, and episodes only where they belong."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Run
from swarmlore.notes.note_format import note_id

NOTE = """---
title: "{title}"
category: {category}
tags: [postgres, c++]
key_insight: "Give each worker its own small pool"
created: "2026-10-16"
confidence: high
---
## Problem
{body}
"""
LONG = "A slow query takes all connections, and everything else waits for the pool to get one back. " * 5
EPISODE = """---
type: episode
title: "Session in {project}: the pool starves"
category: session-reflections
project: {project}
key_insight: "What {project} pays for its pool"
created: "2026-11-01"
---
The connection pool of {project} starves under load.
"""


@pytest.fixture
def project(world: Path) -> Path:
    return world / "project"


@pytest.fixture
def note(project: Path) -> Path:
    return write(project / "docs/solutions/patterns/pool.md")


def write(path: Path, title: str = "Connection pools starve", category: str = "patterns", body: str = LONG) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(NOTE.format(title=title, category=category, body=body))
    return path


def write_episode(world: Path, name: str, project: str) -> Path:
    path = world / "user/.learnings/documents/episodes/2026-11-01" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(EPISODE.format(project=project))
    return path


def test_recall_shows_a_note_by_its_insight_and_place_and_get_the_whole(run: Run, note: Path) -> None:
    shown = run("recall", "connection pools starve").out
    assert "Connection pools starve: Give each worker its own small pool\n" in shown
    assert str(note) in shown and "A slow query" not in shown
    handle = run("recall", "connection pools starve", "--json").json["hits"][0]["memory"]["handle"]
    assert "A slow query takes all connections" in run("get", handle).out


def test_an_agent_is_given_the_insight_of_a_long_note_and_not_its_title_alone(run: Run, note: Path) -> None:
    run("learnings", "reindex")
    assert "«Connection pools starve: Give each worker its own small pool»" in run(
        "recall", "--block", "the connection pools starve").out  # fmt: skip


def test_prime_has_a_line_for_a_note(run: Run, note: Path) -> None:
    shown = run("prime", "connection pools").out
    assert "Connection pools starve: Give each worker its own small pool" in shown
    assert "A slow query" not in shown


@pytest.mark.parametrize("verb", ["list", "critical-patterns"])
def test_a_note_and_its_copy_are_one_with_both_places(run: Run, note: Path, world: Path, verb: str) -> None:
    copy = Path(run("learnings", "add", str(note), "--json").json["path"])
    shown = run("learnings", verb).out
    assert shown.count("Connection pools starve") == 1
    assert str(note) in shown and f"also {copy}" in shown
    told = run("learnings", verb, "--format", "json").json
    listed = told["documents" if verb == "list" else "patterns"]
    assert [(one["path"], one["also"]) for one in listed] == [(str(note), [str(copy)])]


def test_reports_on_what_belongs_together_come_first_and_once(run: Run, note: Path, project: Path) -> None:
    write(project / "docs/solutions/patterns/more.md", title="Pools need a limit", body="Four connections are enough.")
    run("learnings", "add", str(note))
    told = run("learnings", "search", "connection pools", "--mode", "global", "--format", "json").json
    assert told["reports"] and len(set(told["reports"])) == len(told["reports"])
    assert told["context"].startswith(told["reports"][0]) and not set(told["reports"]) & set(told["notes"])
    for words in (("learnings", "search"), ("recall",)):
        shown = run(*words, "connection pools", "--mode", "global")
        assert shown.out.startswith(f"» {told['reports'][0].partition(' (')[0]}")
        assert "memories)" not in shown.err


def test_episodes_are_found_only_where_they_are_asked_for_and_in_their_project(
    run: Run, world: Path, note: Path
) -> None:
    own = write_episode(world, "ep-20261101-aaaaaa.md", "project")
    other = write_episode(world, "ep-20261101-bbbbbb.md", "customer")
    run("learnings", "reindex")
    asked = "the connection pool starves under load"
    plain = [("recall", asked), ("recall", "--block", asked), ("prime", asked), ("recall", asked, "--mode", "global")]
    for words in plain:
        shown = run(*words)
        assert "Session in" not in shown.out + shown.err and "pays for" not in shown.out + shown.err
    for words in (
        ("learnings", "search", asked),
        ("learnings", "search", asked, "--mode", "global"),
        ("learnings", "list", "--category", "session-reflections"),
        ("recall", asked, "--category", "session-reflections"),
    ):
        shown = run(*words)
        assert str(own) in shown.out
        assert str(other) not in shown.out and "customer" not in shown.out + shown.err


def test_a_note_keeps_its_place_after_the_notes_folder_changed(
    run: Run, world: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(world / "one/documents/learnings/pool.md")
    second = write(world / "two/documents/learnings/other.md", title="Another note")
    monkeypatch.setenv("LEARNINGS_HOME", str(world / "one"))
    assert str(first) in run("learnings", "list").out
    monkeypatch.setenv("LEARNINGS_HOME", str(world / "two"))
    shown = run("learnings", "list").out
    assert str(first) in shown and str(second) in shown
    run("learnings", "reindex", "--force")  # it forgets what no file says
    assert str(first) in run("learnings", "list").out
    first.unlink()
    run("learnings", "reindex", "--force")
    assert str(first) not in run("learnings", "list").out


@pytest.mark.parametrize(
    ("tag", "found"), [("postgres", True), ("post.*", True), ("post", False), ("C++", True), ("c[", False)]
)
def test_a_tag_may_be_a_pattern_and_fits_as_a_whole(run: Run, note: Path, tag: str, found: bool) -> None:
    assert bool(run("search-learnings", "pools", "-t", tag, "-f", "json").json) is found


def test_an_id_cuts_its_slug_after_50_characters_wherever_that_is() -> None:
    title = "a" * 49 + " word behind"
    assert note_id(title, "x").startswith("a" * 49 + "--")


def test_who_erases_a_note_is_told_that_its_file_still_says_it(run: Run, note: Path) -> None:
    handle = run("learnings", "list", "--format", "json").json["documents"][0]["handle"]
    assert str(note) in run("forget", handle, "--erase", "--yes").out
    assert note.exists()
