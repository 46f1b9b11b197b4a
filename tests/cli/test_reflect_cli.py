"""reflect as people, agents and hooks use it: the command line, MCP, sessions that end."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import Run, command
from conftest import NOW, PERSON, quick_env
from reflecting import NOTE, RULE, answer
from repositories import NEUTRAL, a_repository, git
from swarmlore.capture.answering import answer as answer_event
from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event import Event
from swarmlore.lore import Lore
from swarmlore.server.worker.child import run_due_jobs
from swarmlore.server.worker.handlers import HANDLERS
from swarmlore.workspace.project import find_project
from waiting import PATIENCE_S, Deadline

DATA = Path(__file__).parents[1] / "data" / "reflect"


@pytest.fixture
def project(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    folder = a_repository(world / "repository", commit=True)
    monkeypatch.chdir(folder)
    return folder


def items(folder: Path, *given: dict[str, object]) -> str:
    path = folder.parent / "items.json"
    path.write_text(json.dumps(list(given)))
    return str(path)


def test_without_a_terminal_it_shows_and_leaves_it_open(project: Path, run: Run) -> None:
    told = run("reflect", str(DATA / "claude.jsonl"))
    assert told.code == 0
    assert "Reflected on session c0ffee00-0000-4000-8000-000000000001 (claude)" in told.out
    assert "A person decides" in told.out
    assert git(project, "status", "--short") == ""
    assert run("reflect", "--review", "--json").json["proposals"]


def test_json_holds_everything(project: Path, run: Run) -> None:
    told = run("reflect", "--from", items(project, RULE, NOTE), "--json").json
    assert [item["label"] for item in told["proposals"]] == ["b1", "k1"]
    assert told["proposals"][0]["diff"].startswith("--- /dev/null\n+++ b/AGENTS.md")
    assert told["reflection"]["signals"] == {"high": 2, "medium": 0, "low": 0}
    decided = run("reflect", "--answer", "k1", "--json").json["decided"]
    assert [(item["label"], item["state"], item["by"]) for item in decided["proposals"]] == [("k1", "prepared", "cli")]


def test_only_one_kind_is_shown_where_one_is_asked_for(project: Path, run: Run) -> None:
    run("reflect", "--from", items(project, RULE, NOTE))
    assert [item["label"] for item in run("reflect", "--review", "--knowledge", "--json").json["proposals"]] == ["k1"]
    assert [item["label"] for item in run("reflect", "--review", "--behavioral", "--json").json["proposals"]] == ["b1"]


def test_low_confidence_is_for_the_review(project: Path, run: Run) -> None:
    told = run("reflect", "--from", items(project, {**RULE, "level": "low"}), "--json").json
    assert (told["proposals"], told["low"]) == ([], 1)
    assert len(run("reflect", "--review", "--json").json["proposals"]) == 1


def test_all_is_what_was_shown_and_not_what_is_unsure(project: Path, run: Run) -> None:
    run("reflect", "--from", items(project, RULE, {**NOTE, "level": "low"}))
    decided = run("reflect", "--answer", "Y", "--json").json["decided"]
    assert [item["label"] for item in decided["proposals"]] == ["b1"]
    decided = run("reflect", "--answer", "k1", "--json").json["decided"]
    assert [item["label"] for item in decided["proposals"]] == ["k1"]


@pytest.mark.parametrize(
    "words",
    [
        ("--review", "--status"),
        ("nobody",),
        ("--session", "nothing"),
        ("-",),
        ("--behavioral", "--knowledge"),
        ("--from", "missing.json"),
        ("--answer", "Y"),
        (),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_type(project: Path, run: Run, words: tuple[str, ...]) -> None:
    told = run("reflect", *words)
    assert told.code != 0
    assert told.err


def test_it_is_switched_on_for_the_user_and_never_by_a_project(project: Path, run: Run) -> None:
    assert "On" in run("reflect", "on").out
    assert run("config", "reflect.auto", "--json").json["value"] is True
    assert run("reflect", "off", "--json").json["auto"] is False
    (project / ".swarmlore.toml").write_text("[reflect]\nauto = true\n")
    assert run("config", "reflect.auto", "--json").json["value"] is False


def test_status_tells_figures_and_what_is_open(project: Path, run: Run) -> None:
    run("reflect", "--from", items(project, RULE, NOTE))
    told = run("reflect", "--status", "--json").json
    assert (told["metrics"]["sessions"], told["open"]) == (1, {"behavioral": 1, "knowledge": 1})
    assert "proposed" in run("reflect", "--status").out


# At a terminal


def talk(words: list[str], said: list[str], columns: int = 80, **env: str) -> str:
    """Speak with a command at a terminal of its own; what it showed."""
    main, child = pty.openpty()
    outer = {name: value for name, value in os.environ.items() if name not in ("CLAUDECODE", "COLUMNS")}
    process = subprocess.Popen(
        command(words),
        stdin=child,
        stdout=child,
        stderr=child,
        env={**outer, "TERM": "xterm", "COLUMNS": str(columns), **env},
    )
    os.close(child)
    told, deadline = b"", Deadline("the command ends")
    waiting = list(said)
    while True:
        deadline.check()
        ready, _, _ = select.select([main], [], [], 0.2)
        try:
            told += os.read(main, 65_536) if ready else b""
        except OSError:
            break
        if waiting and told.rstrip().endswith((b")", b"[y/N]")) and not ready:
            os.write(main, waiting.pop(0).encode() + b"\n")
            told += b" "
        if process.poll() is not None and not ready:
            break
    process.wait(PATIENCE_S)
    os.close(main)
    return told.decode("utf-8", "replace")


@pytest.mark.parametrize("columns", [80, 120])
def test_a_person_decides_at_a_terminal(project: Path, run: Run, columns: int) -> None:
    run("reflect", "--from", items(project, RULE, NOTE))
    told = talk(["reflect", "--review"], ["what?", "b1"], columns)
    assert "\x1b[32m+- Run the whole test suite before each commit\x1b[0m" in told
    assert told.count("Keep which?") == 2
    assert "git revert" in told
    assert git(project, "log", "-1", "--format=%s").startswith("reflect: add learnings from session [")
    assert "k1" in run("reflect", "--review").out


def test_a_wording_is_changed_in_the_editor(project: Path, run: Run, tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text("import sys\nopen(sys.argv[1], 'w').write('- Run make test before each commit\\n')\n")
    run("reflect", "--from", items(project, RULE))
    told = talk(["reflect", "--review"], ["modify", "y"], EDITOR=f"{sys.executable} {editor}")
    assert told.count("Keep which?") == 2
    assert (project / "AGENTS.md").read_text() == "## Learned rules\n\n- Run make test before each commit\n"


# Sessions that end


def event(moment: str, name: str, folder: Path, **facts: object) -> Event:
    common = {"client": "claude", "session": "s1", "cwd": str(folder), "transcript": str(DATA / "claude.jsonl")}
    return Event(f"{name}-1", NOW, name=name, moment=moment, **{**common, **facts})  # type: ignore[arg-type]


@pytest.mark.parametrize("auto", ["true", "false"])
def test_a_session_that_ends_is_looked_at_where_that_is_wanted(tmp_path: Path, auto: str) -> None:
    env = quick_env(SWARMLORE_REFLECT_AUTO=auto, HOME=str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    folder = a_repository(tmp_path / "project", commit=True)
    with Lore.open(tmp_path / "home", cwd=folder, client="claude", env=env) as lore:
        SpoolReader(lore).digest(event(e.SESSION_END, "SessionEnd", folder))
        waiting = [job for job in lore.jobs() if job.kind == "reflect"]
        assert len(waiting) == (1 if auto == "true" else 0)
        run_due_jobs(lore, HANDLERS, "test")
        begun = event(e.SESSION_START, "SessionStart", folder, session="s2", transcript="")
        told = answer_event(lore.beside(find_project(str(folder)), "claude", env), begun)
        assert ("swarmlore reflect --review" in told) is (auto == "true")
        assert not lore.settings.knowledge.enabled or (folder / ".agents").exists() is False
    person = Lore.open(tmp_path / "home", cwd=folder, env=env, interactive=True, client="cli")
    with person as lore:
        assert bool(lore.reflections.open()) is (auto == "true")


def test_a_worker_carries_out_what_whoever_approved_could_not_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    folder = a_repository(tmp_path / "project", commit=True)
    (tmp_path / "user").mkdir()
    env = quick_env(HOME=str(tmp_path / "user"))
    git(folder, "checkout", "-q", "--detach")
    with Lore.open(tmp_path / "home", cwd=folder, caller=PERSON, env=env) as lore:
        lore.reflect(items=[RULE])
        assert answer(lore, "Y").applied.approval.problems
        git(folder, "checkout", "-q", "main")
        run_due_jobs(lore, HANDLERS, "test")
        with lore.acting():
            assert [item.state for item in lore.store.proposals(lore.caller)] == ["applied"]
    assert git(folder, "log", "-1", "--format=%s").startswith("reflect: ")


# With a language model


class Words:
    """A writer that says what it is told to."""

    name = "words"

    def __init__(self, said: str) -> None:
        self.said = said

    def complete(self, system: str, user: str, *, max_tokens: int = 512) -> str:
        return self.said


@pytest.mark.parametrize(
    ("title", "kept"),
    [("The worker reads its configuration at import time", True), ("Buy more servers from example.org", False)],
)
def test_a_model_words_notes_with_what_was_said(title: str, kept: bool) -> None:
    from swarmlore.clients.transcripts import read_transcript
    from swarmlore.domain.extraction.session_lessons import extract_lessons
    from swarmlore.domain.pages.drafting import draft
    from swarmlore.notes.reflect.llm_items import reword_notes

    turns = list(read_transcript("claude", str(DATA / "claude.jsonl")))
    lesson = next(one for one in extract_lessons(turns) if "root cause" in one.text)
    note = draft(lesson, "knowledge")
    said = json.dumps({"notes": [{"number": 1, "title": title}]})
    [worded], many = reword_notes(Words(said), [note], turns)  # type: ignore[list-item]
    assert (worded.title == title, many) == (kept, int(kept))
    assert reword_notes(Words("no JSON"), [note], turns) == ([note], 0)  # type: ignore[list-item]


def test_what_worktrees_learned_is_shown_and_brought_in_by_a_person(project: Path, run: Run) -> None:
    tree = project.parent / "tree"
    git(project, "worktree", "add", "-q", "-b", "feature", str(tree))
    (tree / ".agents").mkdir()
    (tree / ".agents" / "MEMORY.md").write_text("# Project Memory\n\n## Testing\n\n- Run make snap-record first\n")
    told = run("reflect", "--consolidate", "--json").json
    assert [one["path"] for one in told["changes"]] == [".agents/MEMORY.md"]
    assert not (project / ".agents").exists()
    shown = talk(["reflect", "--consolidate"], ["y"])
    assert "git revert" in shown
    assert "- Run make snap-record first" in (project / ".agents" / "MEMORY.md").read_text()
    assert git(project, "log", "-1", "--format=%s").startswith("reflect: consolidate")
