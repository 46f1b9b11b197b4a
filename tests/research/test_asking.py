"""What a question asks for: what is needed, how something is run, which variables, how much."""

from __future__ import annotations

import pytest

from swarmlore.research.question import Asked, read_asked


def asked(text: str) -> tuple[str, tuple[str, ...], bool, bool]:
    found = read_asked(text)
    return found.needs, found.tasks, found.variables, found.amount


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What do I need to install to build this?", ("needs", ("build",), False, False)),
        ("what must be installed first?", ("needs", ("setup",), False, False)),
        ("What are the prerequisites?", ("needs", (), False, False)),
        ("Which system packages must be installed?", ("system", ("setup",), False, False)),
        ("How do I install the dependencies?", ("steps", ("setup",), False, False)),
        ("How do I set this up?", ("steps", (), False, False)),
        ("How do I run the tests?", ("", ("test",), False, False)),
        ("how can we lint the code", ("", ("lint",), False, False)),
        ("How is it deployed to production?", ("", ("deploy",), False, False)),
        ("what is the command to migrate?", ("", ("migrate",), False, False)),
        ("Which environment variables do I have to set?", ("", (), True, False)),
        ("How many times are failed webhooks retried?", ("", (), False, True)),
        ("What is the rate limit?", ("", (), False, True)),
        ("Why do the tests fail to run?", ("", (), False, False)),
        ("How do the tests isolate the database?", ("", (), False, False)),
        ("Where are readings stored?", ("", (), False, False)),
    ],
)
def test_a_question_asks_for(text: str, wanted: tuple[str, tuple[str, ...], bool, bool]) -> None:
    assert asked(text) == wanted


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("how many bookings?", ("count",)),
        ("how long is it kept?", ("time",)),
        ("how large may it be?", ("size", "count")),
        ("on which port?", ("port",)),
        ("where is it?", ()),
    ],
)
def test_an_amount_is_of_the_kind_that_was_asked_for(text: str, kinds: tuple[str, ...]) -> None:
    assert read_asked(text).kinds == kinds


def test_a_question_of_another_sort_asks_for_nothing_of_this() -> None:
    assert read_asked("who calls pass_gate?") == Asked(rest=("call", "pass", "gate", "passgat"))
    assert read_asked("who calls pass_gate?").plain
