"""Notes by meaning, with the model that ships: what is found, and what is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from noting import write
from swarmlore.lore import Lore


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lore]:
    world = tmp_path_factory.mktemp("search")
    write(world)
    pool = "\nEach worker holds one connection; the server refuses more clients than that.\n"
    write(world, "patterns/pool.md", "Postgres pool starves under load", pool, "patterns")
    with Lore.open(world / "home", cwd=world, env={"HOME": str(world / "user")}) as lore:
        lore.notes.refresh()
        yield lore


@pytest.mark.parametrize("mode", ["naive", "local", "global", "hybrid", "keyword"])
@pytest.mark.parametrize("question", ["zxqv blorp frobnicate", "how do I bake a chocolate cake", "-x", "!?"])
def test_a_question_that_no_note_is_about_finds_none(shelf: Lore, mode: str, question: str) -> None:
    assert shelf.notes.search(question, mode).notes == ()


@pytest.mark.parametrize("mode", ["naive", "local", "global", "hybrid"])
@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("too many clients on the sql server", "Postgres pool starves under load"),
        ("async event loop crashes inside of another one", "tokio runtime panic"),
    ],
)
def test_a_question_in_other_words_finds_its_note(shelf: Lore, mode: str, question: str, title: str) -> None:
    found = shelf.notes.search(question, mode)
    assert [note.title for note in found.notes][:1] == [title]
    assert "there are no vectors: found by words" not in found.said
