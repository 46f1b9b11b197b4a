"""Answers to proposals: which of them are meant, by tables."""

from __future__ import annotations

import pytest

from swarmlore.domain.records import Proposal
from swarmlore.notes.reflect.answers import MOST_CHARS, read_answer

LABELS = ("b1", "k1", "k2", "s1", "i1", "m1")
ROUTES = {"b": "behavioral", "k": "knowledge", "s": "skill", "i": "instinct", "m": "memory"}
SHOWN = [Proposal(label, number=number, label=label, route=ROUTES[label[0]]) for number, label in enumerate(LABELS, 1)]
ALL = LABELS


@pytest.mark.parametrize(
    ("said", "verb", "ids"),
    [
        ("Y", "approve", ALL),
        (" y ", "approve", ALL),
        ("YES", "approve", ALL),
        ("n", "reject", ALL),
        ("No", "reject", ALL),
        ("modify", "modify", ALL),
        ("Modify k2", "modify", ("k2",)),
        ("1,3", "approve", ("b1", "k2")),
        ("3 , 1", "approve", ("b1", "k2")),
        ("1 3", "approve", ("b1", "k2")),
        ("2-4", "approve", ("k1", "k2", "s1")),
        ("2 - 4", "approve", ("k1", "k2", "s1")),
        ("k2", "approve", ("k2",)),
        ("K1-2", "approve", ("k1", "k2")),
        ("k1-k2", "approve", ("k1", "k2")),
        ("b1,k2", "approve", ("b1", "k2")),
        ("1,k2,i1", "approve", ("b1", "k2", "i1")),
        ("all", "approve", ALL),
        ("all-knowledge", "approve", ("k1", "k2", "s1")),
        ("ALL-BEHAVIORAL", "approve", ("b1",)),
        ("all-behavioural,m1", "approve", ("b1", "m1")),
        ("N k2", "reject", ("k2",)),
        ("n all-knowledge", "reject", ("k1", "k2", "s1")),
        ("y 1,3", "approve", ("b1", "k2")),
    ],
)
def test_an_answer_names_proposals(said: str, verb: str, ids: tuple[str, ...]) -> None:
    answer = read_answer(said, SHOWN)
    assert answer is not None
    assert (answer.verb, answer.ids) == (verb, ids)


@pytest.mark.parametrize(
    "said",
    [
        *("", " ", "perhaps", "yeah sure", "0", "7", "1,7", "k3", "x1", "1-9", "4-2", "b1-k2", "-1", "1-", "k", "1.3"),
        *("y please", "not k2", "all-of-it", "1;;x", "9" * 50, "k" * MOST_CHARS, "1," * MOST_CHARS, "²", "１"),
    ],
)
def test_what_is_no_answer_decides_nothing(said: str) -> None:
    assert read_answer(said, SHOWN) is None


def test_where_nothing_is_shown_nothing_is_decided() -> None:
    assert read_answer("Y", []) is None
