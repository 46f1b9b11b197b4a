"""A wording that a person changes in an editor: whatever the editor does, nothing is lost and nothing slips through."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from test_reflect_cli import items, project, talk

from command_line import Run
from reflecting import NOTE, RULE, World
from swarmlore.cli.terminal import edited
from swarmlore.errors import InvalidInput, SwarmloreError, Unavailable
from swarmlore.notes.reflect.answers import editable

__all__ = ["project"]  # a fixture
TOKEN = "ghp_" + "a8Dk3jL0pQ2rS4tU6vW8xY0zA1bC3dE5fG7h"


def editor(folder: Path, script: str) -> str:
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 1", "ended with 1"),
        ("kill -9 $$", "was killed (signal 9)"),
        ("rm $1", "no text"),
        (r"printf '\377\376\000a' > $1", "no text"),
        (r"printf 'a\000b' > $1", "no plain text"),
        ("head -c 300000 /dev/zero | tr '\\000' x > $1", "longer than 200 KB"),
    ],
)
def test_what_an_editor_did_not_leave_as_text_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, script))
    with pytest.raises(InvalidInput) as told:
        edited("words\n", "b1.md")
    assert why in told.value.message


@pytest.mark.parametrize(
    ("command", "error"), [('vi "', InvalidInput), ("/nowhere/to/be/found", Unavailable), ("sh -c false", InvalidInput)]
)
def test_a_variable_that_names_no_editor_is_said_with_what_to_set(
    monkeypatch: pytest.MonkeyPatch, command: str, error: type[SwarmloreError]
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", command)
    with pytest.raises(error) as told:
        edited("words\n", "b1.md")
    assert "set EDITOR" in told.value.hint


def test_an_empty_variable_counts_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", " ")
    monkeypatch.setenv("EDITOR", editor(tmp_path, r"printf '\357\273\277other words\r\n' > $1"))
    assert edited("words\n", "b1.md") == "other words\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nothing is left"),
        ("\n \n", "nothing is left"),
        ("no head at all\n", "lost its title"),
        ("---\ntitle: [a, : b\n---\n\nwords\n", "no YAML"),
        ("---\ncategory: x\n---\n\nwords\n", "lost its title"),
    ],
)
def test_a_note_that_cannot_be_read_any_more_stays_as_it_was(world_of: World, text: str, why: str) -> None:
    lore = world_of.open()
    [before] = lore.reflect(items=[NOTE]).proposals
    with pytest.raises(SwarmloreError) as told:
        lore.reflections.reword(before, text)
    assert why in told.value.message
    assert [item.edits for item in lore.reflections.open()] == [before.edits]


def test_a_secret_that_was_typed_in_the_editor_is_nowhere(world_of: World) -> None:
    lore = world_of.open()
    rule, note = lore.reflect(items=[RULE, NOTE]).proposals
    shown = [lore.reflections.reword(rule, f"- Use {TOKEN} for the pipeline")]
    shown.append(lore.reflections.reword(note, editable(note) + f"\nThe token is {TOKEN}.\n"))
    assert all(TOKEN not in repr(item) and "[redacted:" in item.diff for item in shown)
    lore.reflections.answer("Y", shown)
    lore.close()
    files = [path for path in world_of.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


def test_another_wording_that_contradicts_a_line_shows_it(world_of: World) -> None:
    world_of.write("AGENTS.md", "# Guide\n\n- Never run the slow tests before a commit\n")
    lore = world_of.open()
    [before] = lore.reflect(items=[{**RULE, "text": "Ask before you delete a branch"}]).proposals
    after = lore.reflections.reword(before, "- Always run the slow tests before a commit")
    assert "AGENTS.md:3" in after.conflict
    assert not lore.reflections.reword(after, "- Ask before you delete a tag").conflict


def test_what_was_refused_is_said_beside_the_question_and_opened_again(project: Path, run: Run, tmp_path: Path) -> None:
    script = f"grep -q broken $1 && cp $1 {tmp_path}/seen && exit 1\nprintf 'broken' > $1"
    run("reflect", "--from", items(project, NOTE))
    told = talk(["reflect", "--review"], ["modify k1", "modify", "N"], 200, EDITOR=editor(tmp_path, script), VISUAL="")
    first = told.index("k1 stays as it was: the note has lost its title")
    assert "modify k1 opens what you wrote" in told
    assert told.rindex("docs/solutions/", 0, told.index("Keep which?", first)) < first
    assert (tmp_path / "seen").read_text() == "broken"
