"""Checkouts of one project may have different versions of a note: everybody finds the one they sit before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import an_operation
from noting import BODY, rows, titles, write
from repositories import git
from swarmlore.frozen import replace
from swarmlore.lore import Lore

pytestmark = pytest.mark.usefixtures("look_at_once")
NAME = "debugging-sessions/tokio.md"
PLACE = "docs/solutions/" + NAME


@pytest.fixture
def tree(project: Path, tmp_path: Path) -> Path:
    """A second work tree of a project that has one note."""
    write(project)
    git(project, "add", "-A")
    git(project, "commit", "--quiet", "-m", "note")
    git(project, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    return tmp_path / "tree"


def say(root: Path, text: str) -> Path:
    return write(root, body=f"{BODY}\n{text}\n")


def found(lore: Lore) -> list[str]:
    """What a search for the note answers with: its last line."""
    return [hit.memory.text.rsplit("\n", 1)[-1] for hit in lore.recall("tokio runtime panic")]


def seen_by(lore: Lore) -> list[str]:
    return [note.memory.text.rsplit("\n", 1)[-1] for note in lore.notes.all()]


def test_everybody_finds_the_note_of_their_own_work_tree(
    open_lore: Callable[..., Lore], project: Path, tree: Path
) -> None:
    here, there = open_lore(), open_lore(tree)
    here.notes.refresh()
    there.notes.refresh()
    assert len(rows(here)) == 1  # one version, however many checkouts have it
    say(tree, "Since version 2 it is a warning.")
    for _ in range(2):  # whoever looked last
        assert found(there) == seen_by(there) == ["Since version 2 it is a warning."]
        assert found(here) == seen_by(here) == ["The handler starts a second runtime, and tokio refuses that."]
    say(project, "It was reported upstream.")
    assert found(here) == ["It was reported upstream."]
    assert found(there) == ["Since version 2 it is a warning."]
    assert [note.path for note in there.notes.all()] == [str(tree / PLACE)]
    assert [note.path for note in here.notes.all()] == [str(project / PLACE)]


def test_looks_of_two_work_trees_do_not_undo_each_other(
    open_lore: Callable[..., Lore], project: Path, tree: Path
) -> None:
    here, there = open_lore(), open_lore(tree)
    say(project, "It was reported upstream.")
    say(tree, "Since version 2 it is a warning.")
    here.notes.refresh()
    there.notes.refresh()
    before = rows(here)
    for lore in (here, there, here):
        told, _ = lore.notes.refresh()
        assert (told.read, told.changed) == (0, 0)
        told, _ = lore.notes.reindex()
        assert told.changed == 0
    assert rows(here) == before and len(before) == 2


def test_versions_become_one_when_the_branches_are_merged(
    open_lore: Callable[..., Lore], project: Path, tree: Path
) -> None:
    here, there = open_lore(), open_lore(tree)
    here.notes.refresh()
    there.notes.refresh()
    text = say(tree, "Since version 2 it is a warning.").read_text()
    there.notes.refresh()
    assert len(rows(here)) == 2
    (project / PLACE).write_text(text)
    told, _ = here.notes.refresh()
    assert (told.added, told.forgotten) == (0, 1)
    assert found(here) == found(there) == ["Since version 2 it is a warning."]
    assert len(rows(here)) == 1


def test_an_edit_keeps_its_memory_where_nobody_has_the_former_text(
    open_lore: Callable[..., Lore], project: Path, tree: Path
) -> None:
    here, there = open_lore(), open_lore(tree)
    say(tree, "Since version 2 it is a warning.")
    here.notes.refresh()
    there.notes.refresh()
    before = {row.id for row in rows(here)}
    say(tree, "Since version 3 it is an error.")
    there.notes.refresh()
    assert {row.id for row in rows(here)} == before
    assert found(there) == ["Since version 3 it is an error."]


def test_a_note_of_another_work_tree_is_found_with_its_path(
    open_lore: Callable[..., Lore], project: Path, tree: Path
) -> None:
    write(tree, "patterns/retry.md", "retry with jitter", "\nWait for a random time.\n", "patterns")
    open_lore(tree).notes.refresh()
    here = open_lore()
    (hit,) = here.recall("retry with jitter", sources=("note",), limit=1)
    assert here.notes.path_of(hit.memory) == str(tree / "docs/solutions/patterns/retry.md")


def test_what_only_a_removed_work_tree_said_is_forgotten(
    open_lore: Callable[..., Lore], project: Path, tree: Path
) -> None:
    there = open_lore(tree)
    say(tree, "Since version 2 it is a warning.")
    write(tree, "patterns/retry.md", "retry with jitter", "\nWait for a random time.\n", "patterns")
    there.notes.refresh()
    here = open_lore()
    here.notes.refresh()
    assert titles(here) == ["retry with jitter", "tokio runtime panic"]
    git(project, "worktree", "remove", "--force", str(tree))
    told, _ = here.notes.refresh()
    assert told.forgotten == 2
    assert titles(here) == ["tokio runtime panic"] and len(rows(here)) == 1
    told, _ = here.notes.refresh()
    assert told.forgotten == 0


def test_a_work_tree_that_comes_back_brings_its_notes_back(
    open_lore: Callable[..., Lore], project: Path, tree: Path, tmp_path: Path
) -> None:
    there, here = open_lore(tree), open_lore()
    write(tree, "patterns/retry.md", "retry with jitter", "\nWait for a random time.\n", "patterns")
    there.notes.refresh()
    (before,) = [row for row in rows(there) if row.title == "retry with jitter"]
    shutil.move(tree, tmp_path / "away")
    here.notes.refresh()
    assert titles(here) == ["tokio runtime panic"]
    shutil.move(tmp_path / "away", tree)
    there.notes.refresh()
    assert before.id in {row.id for row in rows(there)}


def test_a_note_that_is_gone_here_stays_as_another_work_tree_has_it(
    open_lore: Callable[..., Lore], project: Path, tree: Path
) -> None:
    here, there = open_lore(), open_lore(tree)
    say(tree, "Since version 2 it is a warning.")
    here.notes.refresh()
    there.notes.refresh()
    (project / PLACE).unlink()
    here.notes.refresh()
    assert found(here) == ["Since version 2 it is a warning."] and len(rows(here)) == 1


def as_of_an_older_layout(home: Path) -> None:
    """What was seen, as it was written before there was a layout."""
    for file in (home / "notes").glob("*.json"):
        head, rest = map(json.loads, file.read_text().splitlines())
        del head["layout"]
        file.write_text(json.dumps(head | rest))


def test_what_was_erased_does_not_come_back_with_a_new_layout(notes_lore: Lore, project: Path, tmp_path: Path) -> None:
    path = write(project)
    write(project, "b.md", "other trouble")
    notes_lore.notes.refresh()
    notes_lore.forget(next(row.id for row in rows(notes_lore) if row.title == "tokio runtime panic"), erase=True)
    as_of_an_older_layout(tmp_path / "home")
    told, _ = notes_lore.notes.refresh()
    assert (told.read, told.added) == (2, 0) and titles(notes_lore) == ["other trouble"]
    path.write_text(path.read_text() + "\nIt is known since version 1.2.\n")
    notes_lore.notes.refresh()
    assert titles(notes_lore) == ["other trouble", "tokio runtime panic"]  # the file says it, and somebody changed it


def test_notes_of_an_older_layout_are_read_again_by_themselves(notes_lore: Lore, project: Path, tmp_path: Path) -> None:
    path = write(project)
    write(project, "b.md", "other trouble")
    notes_lore.notes.refresh()
    before, store = rows(notes_lore), notes_lore.store
    for row in before:  # as it was stored before there were versions
        ref = {name: value for name, value in row.source_ref.items() if name != "version"}
        act = an_operation(notes_lore.caller)
        store.perform(act, lambda act, row=row, ref=ref: store.revise(act, row, replace(row, source_ref=ref), "old"))
    as_of_an_older_layout(tmp_path / "home")
    path.unlink()  # that a file was there is still known
    told, _ = notes_lore.notes.refresh()
    assert (told.read, told.kept, told.forgotten) == (1, 1, 1)
    assert [row.source_ref for row in rows(notes_lore)] == [r.source_ref for r in before if r.title == "other trouble"]
    told, _ = notes_lore.notes.refresh()
    assert told.read == 0


# Forgetting


def test_a_note_is_forgotten_with_its_pieces_and_copies_and_comes_back_whole(notes_lore: Lore, project: Path) -> None:
    long = "".join(f"\n## Part {number}\n" + f"Step {number} of the tokio runtime panic. " * 40 for number in range(4))
    path = write(project, body=long)
    notes_lore.notes.add(str(path))
    before = rows(notes_lore)
    assert len(before) > 4 and {row.source_ref["place"] for row in before} == {"project", "global"}
    notes_lore.forget(before[1].id)
    assert rows(notes_lore) == [] and notes_lore.recall("tokio runtime panic") == ()
    notes_lore.notes.reindex()
    assert rows(notes_lore) == []
    notes_lore.undo()
    assert {row.id for row in rows(notes_lore)} == {row.id for row in before}


def test_what_is_forgotten_in_one_work_tree_is_not_shown_as_another_has_it(
    open_lore: Callable[..., Lore], project: Path, tree: Path
) -> None:
    here, there = open_lore(), open_lore(tree)
    say(tree, "Since version 2 it is a warning.")
    here.notes.refresh()
    there.notes.refresh()
    (hit,) = here.recall("tokio runtime panic")
    here.forget(hit.memory.id)
    assert found(here) == found(there) == []
    here.undo()
    assert found(there) == ["Since version 2 it is a warning."]


def test_an_erased_note_is_nowhere_and_its_files_are_named(
    open_lore: Callable[..., Lore], project: Path, tree: Path, tmp_path: Path
) -> None:
    here = open_lore()
    here.notes.add(str(project / PLACE))
    open_lore(tree).notes.refresh()
    (hit,) = here.recall("tokio runtime panic")
    files = here.notes.files_of(hit.memory)
    copy = here.notes.path_of(next(row for row in rows(here) if row.source_ref["place"] == "global"))
    assert set(files) == {str(project / PLACE), str(tree / PLACE), copy}
    here.forget(hit.memory.id, erase=True)
    assert rows(here) == [] and here.recall("tokio runtime panic") == ()


# A team


def test_a_colleagues_version_stays_beside_ones_own(
    env: dict[str, str], engine_name: str, project: Path, tmp_path: Path
) -> None:
    if engine_name == "sqlite":
        return  # a store of one's own has no colleagues
    git(project, "remote", "add", "origin", "https://git.example/app.git")
    write(project)
    git(project, "add", "-A")
    git(project, "commit", "--quiet", "-m", "note")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(project), str(clone))
    git(clone, "remote", "set-url", "origin", "https://git.example/app.git")
    say(project, "It was reported upstream.")
    with (
        Lore.open(tmp_path / "home", cwd=project, env=env) as alice,
        Lore.open(tmp_path / "another machine", cwd=clone, env={**env, "SWARMLORE_AGENT": "bob"}) as bob,
    ):
        alice.notes.refresh()
        bob.notes.refresh()
        assert found(alice) == ["It was reported upstream."]
        assert found(bob) == ["The handler starts a second runtime, and tokio refuses that."]
        say(clone, "It was reported upstream.")  # as git pull would
        bob.notes.refresh()
        assert found(alice) == found(bob) == ["It was reported upstream."] and len(rows(bob)) == 1
