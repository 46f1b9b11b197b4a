"""A memory that was closed says so, whatever it is asked."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from conftest import ALICE, quick_env
from swarmlore.domain.records import Citation, Memory
from swarmlore.errors import InvalidInput
from swarmlore.lore import Lore

LESSON = "The release build runs with make release in the tools folder"
NEEDS_NO_STORE = {"open", "close", "restore_backup", "scopes", "now", "new_id"}
ARGUMENTS: dict[str, dict[str, Any]] = {"forget_origin": {"session": "s"}, "remember_many": {"drafts": []}}
MEMORY = Memory("m", LESSON, citations=(Citation("tools/Makefile", 1, 2),))
METHODS = [
    name
    for name, value in vars(Lore).items()
    if inspect.isfunction(value) and not name.startswith("_") and name not in NEEDS_NO_STORE
]


def arguments(name: str) -> dict[str, Any]:
    """A memory or a text for every argument that has to be given."""
    asked = list(inspect.signature(getattr(Lore, name)).parameters.values())[1:]
    needed = [one for one in asked if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    given = {one.name: MEMORY if one.annotation == "Memory" else LESSON for one in needed}
    return given | ARGUMENTS.get(name, {})


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Lore:
    home = tmp_path_factory.mktemp("closed")
    with Lore.open(home, cwd=home, caller=ALICE, env=quick_env()) as lore:
        lore.remember(LESSON)
    return lore


@pytest.mark.parametrize("name", METHODS)
def test_a_closed_memory_says_so(closed: Lore, name: str) -> None:
    with pytest.raises(InvalidInput, match="this memory is closed") as caught:
        answer = getattr(closed, name)(**arguments(name))
        if inspect.isgenerator(answer):
            next(answer)
    assert caught.value.hint == "open it again: Lore.open()"


def test_a_closed_memory_is_not_entered_again_and_closing_twice_is_nothing(closed: Lore) -> None:
    closed.close()
    with pytest.raises(InvalidInput, match="this memory is closed"), closed:
        pass


def test_what_another_thread_asks_after_the_close_is_refused_and_waits_for_nobody(closed: Lore) -> None:
    told: list[str] = []

    def ask() -> None:
        try:
            closed.list()
        except InvalidInput as error:
            told.append(error.message)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert told == ["this memory is closed"] * 4


def test_the_same_home_can_be_opened_again(tmp_path: Path) -> None:
    for _ in range(2):
        with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
            lore.remember(LESSON)
            assert len(lore.list()) == 1
