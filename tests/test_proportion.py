"""Four times the text is at most about four times the work, counted in calls; `bench/proportion.py` times the same."""

from __future__ import annotations

import pytest

from counting import calls
from hostile import CASES, SCANNERS

SMALL = 5_000
MOST_GROWTH = 6  # quadratic work grows 16 times
STEADY = 100  # calls that do not depend on the text


@pytest.mark.parametrize(("name", "piece"), CASES)
def test_four_times_the_text_takes_four_times_the_calls(name: str, piece: str) -> None:
    scanner = SCANNERS[name]
    small, large = scanner.text(piece, SMALL), scanner.text(piece, 4 * SMALL)
    scanner.scan(small), scanner.scan(large)  # what is compiled and imported once
    once, more = calls(lambda: scanner.scan(small)), calls(lambda: scanner.scan(large))
    assert more < MOST_GROWTH * once + STEADY


def test_calls_are_counted_the_same_each_time_and_grow_with_the_work() -> None:
    def pairs(many: int) -> int:
        return calls(lambda: [max(one, other) for one in range(many) for other in range(many)])

    assert pairs(40) == pairs(40)
    assert pairs(160) > MOST_GROWTH * pairs(40) + STEADY
