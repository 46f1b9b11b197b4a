"""What `undo` takes back when nobody names an operation, and what it says where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import LEAD, quick_env
from homes import process
from swarmlore.errors import Conflict, NotFound
from swarmlore.lore import Lore

FIRST = "Run the linter before each push to main"
SECOND = "The staging database listens on port 6543"


def last_word(text: str) -> str:
    return text.split()[-1]


@pytest.fixture
def lore(tmp_path: Path) -> Lore:
    return Lore.open(tmp_path / "home", cwd=tmp_path, caller=LEAD, env=quick_env())


def test_an_undo_tells_its_id_and_so_does_the_next_one_that_finds_nothing(lore: Lore) -> None:
    with lore:
        id = lore.remember(FIRST).memory.id
        undone = lore.undo()
        assert [memory.id for memory in undone] == [id]
        with pytest.raises(NotFound, match="nothing more to undo") as nothing:
            lore.undo()
        assert last_word(nothing.value.hint) == undone.operation
        lore.undo(undone.operation)
        assert [memory.id for memory in lore.list()] == [id]


def test_where_nothing_ever_happened_there_is_nothing_to_redo(lore: Lore) -> None:
    with lore, pytest.raises(NotFound, match="there is nothing to undo"):
        lore.undo()


def test_the_command_prints_how_to_bring_it_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process(home, "remember", FIRST)
    told = process(home, "undo").stdout
    assert "To bring it back: swarmlore undo " in told
    failed = process(home, "undo")
    assert (failed.returncode, last_word(told) in failed.stderr) == (4, True)
    assert process(home, "undo", last_word(told)).returncode == 0
    assert FIRST in process(home, "list").stdout


def test_an_erasure_is_not_passed_over(lore: Lore) -> None:
    with lore:
        former = lore.remember(FIRST)
        lore.forget(lore.remember(SECOND).memory.id, erase=True)
        with pytest.raises(Conflict, match="the last change was an erasure") as refused:
            lore.undo()
        assert [memory.text for memory in lore.list()] == [FIRST]
        assert last_word(refused.value.hint) == former.operation
        assert [memory.id for memory in lore.undo(last_word(refused.value.hint))] == [former.memory.id]


def test_what_came_after_an_erasure_is_undone_as_ever(lore: Lore) -> None:
    with lore:
        lore.forget(lore.remember(FIRST).memory.id, erase=True)
        later = lore.remember(SECOND).memory
        assert [memory.id for memory in lore.undo()] == [later.id]
        with pytest.raises(Conflict, match="erasure") as refused:
            lore.undo()
        assert "backup" in refused.value.hint
