"""How much may be injected: the regimes, their edges, and the floor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.policy.context_block import Allowance, allowance


@pytest.mark.parametrize(
    ("headroom", "count", "chars"),
    [
        (1.0, 5, 2000),
        (0.6, 5, 2000),
        (1 - 0.4, 5, 2000),
        (0.599, 2, 1000),
        (0.2, 2, 1000),
        (1 - 0.8, 2, 1000),
        (0.199, 1, 500),
        (0.05, 1, 500),
        (1 - 0.95, 1, 500),
        (0.0499, 0, 0),
        (0.0, 0, 0),
        (-0.1, 0, 0),
        (None, 5, 2000),
        (float("nan"), 5, 2000),
    ],
)
def test_headroom_decides_how_much_is_injected(headroom: float | None, count: int, chars: int) -> None:
    given = allowance(headroom, None)
    assert (given.count, given.chars) == (count, chars)


@pytest.mark.parametrize(
    ("chars_left", "count"), [(300, 5), (301, 5), (299, 0), (0, 0), (-20, 0), (None, 5), (10**9, 5)]
)
def test_below_three_hundred_characters_nothing_is_injected(chars_left: int | None, count: int) -> None:
    assert allowance(0.9, chars_left).count == count
    assert allowance(None, chars_left).count == count


@pytest.mark.parametrize(
    ("headroom", "max_count", "char_budget", "count", "chars"),
    [
        (0.3, 7, 999, 3, 499),
        (0.1, 7, 999, 1, 249),
        (0.1, 11, 4000, 2, 1000),
        (0.3, 1, 2000, 1, 1000),
        (0.1, 3, 2000, 1, 500),
        (0.9, 50, 100_000, 50, 9000),
        (0.3, 50, 100_000, 25, 9000),
        (0.3, 50, 10_000, 25, 5000),
        (0.9, 0, 2000, 0, 0),
        (0.9, 5, 0, 0, 0),
    ],
)
def test_shares_are_rounded_down_and_hold_at_least_one(
    headroom: float, max_count: int, char_budget: int, count: int, chars: int
) -> None:
    given = allowance(headroom, None, max_count=max_count, char_budget=char_budget)
    assert (given.count, given.chars) == (count, chars)


@pytest.mark.parametrize(
    ("headroom", "chars_left", "reason"),
    [
        (0.72, None, "headroom 72%: full budget"),
        (0.3, None, "headroom 30%: half budget"),
        (0.1, None, "headroom 10%: a quarter of the budget"),
        (0.012, None, "headroom 1.2%, 5% needed"),
        (None, None, "headroom unknown: full budget"),
        (0.9, 120, "120 characters of context left, 300 needed"),
    ],
)
def test_an_allowance_says_why(headroom: float | None, chars_left: int | None, reason: str) -> None:
    assert allowance(headroom, chars_left).reason == reason


@given(st.floats(allow_nan=True), st.none() | st.integers(), st.integers(-1, 60), st.integers(-1, 20_000))
def test_more_than_asked_or_than_clients_take_is_never_allowed(
    headroom: float, chars_left: int | None, max_count: int, char_budget: int
) -> None:
    given: Allowance = allowance(headroom, chars_left, max_count=max_count, char_budget=char_budget)
    assert 0 <= given.count <= max(0, max_count)
    assert 0 <= given.chars <= max(0, min(char_budget, 9000))
    assert (given.count == 0) == (given.chars == 0)
