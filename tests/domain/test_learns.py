"""It learns: the simulation of bench/learns.py in short, and the rule that makes harm count."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import NOW, a_memory
from swarmlore.domain.policy.outcomes import HARMFUL, HELPFUL, NEUTRAL, Usage, with_credit
from swarmlore.domain.records import Situation

BENCH = Path(__file__).parents[2] / "bench"
LEARNED = (Situation("the snapshot tests fail after the new theme", "prompt", NOW),)


@pytest.fixture(scope="module")
def runs() -> dict[bool, list[Any]]:
    """The same tasks with learning off and on, with the built-in model."""
    sys.path.insert(0, str(BENCH))
    try:
        import learns
    finally:
        sys.path.remove(str(BENCH))
    return {on: list(learns.simulate(100, learning=on, seed=2, window=25, others=20)) for on in (False, True)}


def summed(windows: list[Any], name: str) -> float:
    return float(sum(getattr(window, name) for window in windows))


def test_mistakes_are_repeated_less_when_the_ends_of_tasks_are_reported(runs: dict[bool, list[Any]]) -> None:
    off, on = (summed(runs[on], "repeated") for on in (False, True))
    assert off >= 10  # there was something to learn
    assert on <= 0.7 * off


def test_wrong_lessons_sink_and_mislead_less(runs: dict[bool, list[Any]]) -> None:
    off, on = runs[False], runs[True]
    assert summed(on, "misled") < summed(off, "misled")
    assert on[-1].wrong_rank > off[-1].wrong_rank
    assert on[-1].wrong_first <= off[-1].wrong_first


def test_learning_costs_no_more_tokens(runs: dict[bool, list[Any]]) -> None:
    assert summed(runs[True], "tokens") <= summed(runs[False], "tokens")


@pytest.mark.parametrize(
    ("cue", "verdict", "kept"),
    [
        ("the snapshot tests fail after the new theme", HARMFUL, False),
        ("please look at this: the snapshot tests fail after the new theme, ticket 12", HARMFUL, False),
        ("snapshot tests of the footer", HARMFUL, True),
        ("make the release", HARMFUL, True),
        ("", HARMFUL, True),
        ("the snapshot tests fail after the new theme", NEUTRAL, True),
        ("the snapshot tests fail after the new theme", HELPFUL, True),
    ],
)
def test_a_memory_loses_the_situations_like_the_one_in_which_it_did_harm(cue: str, verdict: str, kept: bool) -> None:
    memory = a_memory(situations=LEARNED)
    after = with_credit(memory, verdict, {cue: "prompt"}, NOW, Usage(applied=True))
    assert (LEARNED[0] in after.situations) is kept
