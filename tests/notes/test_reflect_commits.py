"""Commits of what was approved: what may be in the way, and that nothing is lost by it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PERSON, quick_env
from reflecting import LINE, NOTE, RULE, World, answer, states
from repositories import NEUTRAL, git
from swarmlore.domain.records import Edit
from swarmlore.notes.reflect.git_commit import find
from swarmlore.notes.reflect.targets import apply_edit, difference, only_adds


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    made = World(tmp_path, quick_env())
    made.write("CLAUDE.md", "# Guide\n")
    return made


def approve(world: World, *items: dict[str, object]) -> object:
    lore = world.open(PERSON)
    lore.reflect(items=list(items) or [RULE])
    return answer(lore, "Y").applied


def finish(world: World) -> list[str]:
    """What the next command does about it: the states of what was not finished."""
    return [item.state for done in world.open(PERSON).reflections.finish() for item in done.proposals]


def hook(world: World, name: str, script: str) -> Path:
    path = world.project / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_hook_runs_on_what_is_committed_and_may_refuse(world: World) -> None:
    path = hook(world, "pre-commit", "git diff --cached --name-only > .git/seen; echo 'no rules on Mondays'; exit 1")
    done = approve(world)
    assert (world.project / ".git" / "seen").read_text() == "CLAUDE.md\n"
    assert "no rules on Mondays" in done.approval.problems[0]
    assert RULE["text"] in (world.project / "CLAUDE.md").read_text()
    assert world.commits() == 2
    path.unlink()
    assert finish(world) == ["applied"]
    assert world.commits() == 3
    assert (world.project / "CLAUDE.md").read_text().count(str(RULE["text"])) == 1
    assert git(world.project, "status", "--short") == ""


def test_a_hook_may_change_the_message(world: World) -> None:
    hook(world, "commit-msg", 'echo "Reviewed-by: hook" >> "$1"')
    approve(world)
    assert "Reviewed-by: hook" in git(world.project, "log", "-1", "--format=%B")


def test_the_hook_that_prepares_a_message_runs_and_the_commit_is_found_again(world: World) -> None:
    script = "echo $2 > .git/seen; sed -i '1s/^/PAY-1 /' $1; printf '\\nsee the wiki\\n' >> $1"
    hook(world, "prepare-commit-msg", script)
    done = approve(world)
    assert (world.project / ".git" / "seen").read_text() == "message\n"
    assert git(world.project, "log", "-1", "--format=%s").startswith("PAY-1 reflect: add learnings")
    assert find(str(world.project), done.approval.id) == git(world.project, "rev-parse", "HEAD")


def test_a_filter_of_the_repository_keeps_its_form_of_a_file(world: World) -> None:
    clean, smudge = "sed s/^/k:/", "sed s/^k://"
    git(world.project, "config", "filter.marked.clean", clean)
    git(world.project, "config", "filter.marked.smudge", smudge)
    world.write(".gitattributes", "CLAUDE.md filter=marked\n*.yaml filter=marked\n")
    git(world.project, "add", "--renormalize", ".")
    git(world.project, "commit", "-q", "-m", "mark")
    approve(world, RULE, NOTE)
    kept = git(world.project, "show", "HEAD:CLAUDE.md").splitlines()
    assert kept == ["k:# Guide", "k:", "k:## Learned rules", "k:", f"k:- {RULE['text']}"]
    [sidecar] = (world.project / "docs").rglob("*.yaml")
    assert git(world.project, "show", f"HEAD:{sidecar.relative_to(world.project)}").startswith("k:document_id")
    assert sidecar.read_text().startswith("document_id")
    assert git(world.project, "status", "--short") == ""


def test_a_filter_that_is_missing_leaves_the_commit_for_later(world: World) -> None:
    git(world.project, "config", "filter.marked.smudge", "/nowhere/smudge")
    git(world.project, "config", "filter.marked.clean", "/nowhere/clean")
    git(world.project, "config", "filter.marked.required", "true")
    (world.project / ".git" / "info" / "attributes").write_text("CLAUDE.md filter=marked\n")
    done = approve(world)
    assert "CLAUDE.md cannot be read as git keeps it" in done.approval.problems[0]
    (world.project / ".git" / "info" / "attributes").unlink()
    assert finish(world) == ["applied"]
    assert git(world.project, "status", "--short") == ""


@pytest.mark.parametrize(
    ("lock", "why"),
    [("index.lock", "another git command is at work"), ("refs/heads/main.lock", "cannot move the branch")],
)
def test_whoever_holds_the_repository_is_named_and_waited_for(world: World, lock: str, why: str) -> None:
    path = world.project / ".git" / lock
    path.touch()
    done = approve(world)
    assert why in done.approval.problems[0]
    assert str(path) in done.approval.problems[0]
    path.unlink()
    assert finish(world) == ["applied"]
    assert git(world.project, "status", "--short") == ""


def test_a_key_that_is_missing_leaves_the_commit_for_later(world: World) -> None:
    git(world.project, "config", "commit.gpgsign", "true")
    git(world.project, "config", "gpg.program", "/nowhere/gpg")
    assert "gpg" in approve(world).approval.problems[0]
    git(world.project, "config", "commit.gpgsign", "false")
    assert finish(world) == ["applied"]
    assert git(world.project, "status", "--short") == ""


def test_without_git_nothing_is_written_until_it_is_there(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(world.folder))
    done = approve(world)
    assert "git cannot be run" in done.approval.problems[0]
    assert RULE["text"] not in (world.project / "CLAUDE.md").read_text()
    monkeypatch.setenv("PATH", usual)
    assert finish(world) == ["applied"]


def test_in_a_submodule_the_commit_is_its_own(world: World) -> None:
    git(world.project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(world.project), "part")
    git(world.project, "commit", "-q", "-m", "add a part")
    outer, world.project = world.project, world.project / "part"
    before = git(outer, "rev-parse", "HEAD")
    approve(world)
    assert git(world.project, "log", "-1", "--format=%s").startswith("reflect: ")
    assert (git(outer, "rev-parse", "HEAD"), git(world.project, "status", "--short")) == (before, "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"# Guide\r\n\r\n- Be kind\r\n", b"# Guide\r\n\r\n- Be kind\r\n\r\n## Learned rules\r\n\r\n- %s\r\n"),
        (b"\xef\xbb\xbf# Guide\n\nBe kind", b"\xef\xbb\xbf# Guide\n\nBe kind\n\n## Learned rules\n\n- %s\n"),
        (b"", b"## Learned rules\n\n- %s\n"),
    ],
)
@pytest.mark.parametrize("autocrlf", ["true", "false"])
def test_line_ends_and_marks_of_a_file_stay_and_a_revert_gives_it_back(
    world: World, before: bytes, after: bytes, autocrlf: str
) -> None:
    git(world.project, "config", "core.autocrlf", autocrlf)
    path = world.project / "CLAUDE.md"
    path.write_bytes(before)
    git(world.project, "commit", "-q", "-a", "-m", "other")
    approve(world)
    assert path.read_bytes() == after % str(RULE["text"]).encode()
    assert git(world.project, "status", "--short") == ""
    git(world.project, "-c", "user.name=a", "revert", "--no-edit", "HEAD")
    assert path.read_bytes().replace(b"\r\n", b"\n") == before.replace(b"\r\n", b"\n")  # git writes them as it is told


def test_while_a_merge_is_under_way_nothing_is_written(world: World) -> None:
    git(world.project, "switch", "-q", "-c", "other")
    world.write("CLAUDE.md", "# Other\n")
    git(world.project, "switch", "-q", "main")
    world.write("CLAUDE.md", "# Ours\n")
    subprocess.run(["git", "merge", "other"], cwd=world.project, capture_output=True, check=False)
    before = (world.project / "CLAUDE.md").read_text()
    done = approve(world)
    assert "a merge is under way" in done.approval.problems[0]
    assert (world.project / "CLAUDE.md").read_text() == before
    git(world.project, "merge", "--abort")
    assert finish(world) == ["applied"]
    assert git(world.project, "log", "-1", "--format=%s").startswith("reflect: ")


def test_on_no_branch_nothing_is_written(world: World) -> None:
    git(world.project, "checkout", "-q", "--detach")
    assert "detached HEAD" in approve(world).approval.problems[0]
    assert git(world.project, "status", "--short") == ""
    git(world.project, "checkout", "-q", "main")
    assert finish(world) == ["applied"]


def test_without_a_name_nothing_is_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NEUTRAL:
        if "AUTHOR" in name or "COMMITTER" in name:
            monkeypatch.delenv(name)
    git(world.project, "config", "user.useConfigOnly", "true")
    done = approve(world)
    assert "does not know who commits" in done.approval.problems[0]
    assert "git config --global user.name" in done.approval.problems[0]
    git(world.project, "config", "user.name", "Ada")
    git(world.project, "config", "user.email", "ada@example.com")
    assert finish(world) == ["applied"]


def test_outside_of_a_repository_it_is_written_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    world = World(tmp_path, quick_env())
    for path in sorted((world.project / ".git").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (world.project / ".git").rmdir()
    done = approve(world)
    assert [item.state for item in done.proposals] == ["applied"]
    assert "lies in no repository" in done.notes[0]
    assert RULE["text"] in (world.project / "AGENTS.md").read_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_a_folder_that_cannot_be_written_is_said_and_tried_again(world: World) -> None:
    world.project.chmod(0o555)
    try:
        assert approve(world).approval.problems
    finally:
        world.project.chmod(0o755)
    assert finish(world) == ["applied"]


def test_what_git_ignores_is_written_and_not_committed(world: World) -> None:
    world.write(".gitignore", ".agents/\n")
    done = approve(world, LINE)
    assert any(".agents/MEMORY.md is ignored by git" in note for note in done.notes)
    assert LINE["text"] in (world.project / ".agents" / "MEMORY.md").read_text()
    assert git(world.project, "show", "--name-only", "--format=", "HEAD") == "CLAUDE.md"


def test_a_file_that_git_does_not_know_is_not_committed_for_its_owner(world: World) -> None:
    world.write("CLAUDE.md", "", commit=True)
    git(world.project, "rm", "-q", "CLAUDE.md")
    git(world.project, "commit", "-q", "-m", "gone")
    world.write("AGENTS.md", "# Mine, not committed\n", commit=False)
    done = approve(world)
    assert any("not known to git yet" in note for note in done.notes)
    assert git(world.project, "status", "--short") == "?? AGENTS.md"


def test_in_a_repository_without_a_commit_ours_is_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    world = World(tmp_path, quick_env())
    git(world.project, "checkout", "-q", "--orphan", "fresh")
    assert approve(world, NOTE).approval.problems == ()
    assert world.commits() == 1
    assert git(world.project, "status", "--short") == ""


def test_in_a_worktree_the_commit_is_on_its_branch(world: World) -> None:
    tree = world.folder / "tree"
    git(world.project, "worktree", "add", "-q", "-b", "feature", str(tree))
    world.project, main = tree, world.project
    approve(world)
    assert git(tree, "log", "-1", "--format=%s").startswith("reflect: ")
    assert git(main, "log", "-1", "--format=%s") == "add CLAUDE.md"


def test_a_link_in_place_of_a_file_is_never_followed(world: World) -> None:
    secret = world.folder / "elsewhere.md"
    secret.write_text("not yours\n")
    (world.project / ".agents").symlink_to(world.folder)
    (world.project / "CLAUDE.md").unlink()
    (world.project / "CLAUDE.md").symlink_to(secret)
    lore = world.open(PERSON)
    made = lore.reflect(items=[RULE, LINE])
    assert [item.target for item in made.proposals] == ["AGENTS.md"]
    assert "symbolic link" in made.refused[0]
    answer(lore, "Y")
    assert secret.read_text() == "not yours\n"


def test_a_file_that_changed_meanwhile_fails_alone(world: World) -> None:
    lore = world.open(PERSON)
    note, rule = lore.reflect(items=[NOTE, RULE]).proposals
    world.write(note.target, "somebody else's\n")
    done = answer(lore, "Y").applied
    assert states(lore) == {note.label: "failed", rule.label: "applied"}
    assert "was written by somebody else" in done.proposals[0].reason
    assert (world.project / note.target).read_text() == "somebody else's\n"


def test_whoever_commits_meanwhile_loses_nothing(world: World) -> None:
    """A hook that commits something else between our look and our commit stands for another process."""
    script = (
        "rm .git/hooks/pre-commit; unset GIT_INDEX_FILE; echo x > other.txt; git add other.txt; git commit -q -m other"
    )
    hook(world, "pre-commit", script)
    approve(world)
    assert git(world.project, "log", "--format=%s").splitlines()[:2] == [
        "reflect: add learnings from session [2027-01-15]",
        "other",
    ]
    assert "other.txt" in git(world.project, "ls-tree", "--name-only", "HEAD").splitlines()
    assert git(world.project, "status", "--short") == ""


# Additions


@pytest.mark.parametrize(
    ("before", "after", "adds"),
    [
        ("", "a\n", True),
        ("a\n", "a\nb\n", True),
        ("a\nb\n", "a\nx\nb\n", True),
        ("a", "a\nb\n", True),
        ("a\r\nb\r\n", "a\r\nb\r\nc\r\n", True),
        ("a\nb\n", "b\na\n", False),
        ("a\nb\n", "a\n", False),
        ("a\n", "A\n", False),
        ("a\na\n", "a\n", False),
    ],
)
def test_only_lines_that_are_added_are_an_addition(before: str, after: str, adds: bool) -> None:
    assert only_adds(before, after) is adds


def test_an_addition_done_twice_is_done_once() -> None:
    for edit in (
        Edit("project", "a.md", "rule", "- Test first", "## Learned rules"),
        Edit("project", "a.md", "section", "More.\n\nAnd more.", "## Update 2026-01-01"),
        Edit("project", "a.md", "entry", "A gotcha", "Testing"),
        Edit("project", "a.md", "reference"),
        Edit("project", "a.md", "create", "whole\n"),
    ):
        text = "" if edit.verb == "create" else "# Head\n\nBody.\n"
        once = apply_edit(text, edit)
        assert once != text
        assert apply_edit(once, edit) == once


def test_a_difference_has_the_numbers_of_the_whole_file() -> None:
    lines = [f"line {number}\n" for number in range(1, 101)]
    told = difference("".join(lines), "".join([*lines[:50], "new\n", *lines[50:]]), "a.md")
    assert told.splitlines() == [
        "--- a/a.md",
        "+++ b/a.md",
        "@@ -48,6 +48,7 @@",
        *(f" line {number}" for number in (48, 49, 50)),
        "+new",
        *(f" line {number}" for number in (51, 52, 53)),
    ]


@pytest.mark.parametrize("where", ["", "--postgres"])
def test_whoever_is_killed_loses_no_proposal_and_applies_none_twice(where: str) -> None:
    script = Path(__file__).parents[2] / "torture" / "reflect.py"
    words = ["--stride", "90"] if not where else ["--stride", "150", where]
    done = subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
