"""Time cut into periods of one length, and counters over them."""

from __future__ import annotations

import math

from swarmlore.frozen import frozen
from swarmlore.reporting.figures import Counts

DAY_S = 86_400.0
LENGTHS_S = (DAY_S, 7 * DAY_S, 28 * DAY_S)
MOST = 60  # periods that a plot can show
LONGEST_S = 3650 * DAY_S  # what is older falls into the first period: a clock was wrong, or a date was made up


@frozen
class Span:
    """Periods of equal length that end with the one in which `end` lies."""

    start: float
    length: float
    count: int

    def place(self, at: float) -> int:
        """The number of the period in which a moment lies; what lies outside counts at the edge."""
        return self.clamp(math.floor((at - self.start) / self.length))

    def clamp(self, number: float) -> int:
        return min(max(int(number), 0), self.count - 1)

    def starts(self) -> list[float]:
        return [self.start + number * self.length for number in range(self.count)]


def span_of(first: float, end: float) -> Span:
    """Days, weeks or four weeks from the first moment to the end, as few as a plot can show."""
    first = min(max(first, end - LONGEST_S), end)
    lasted = end - first
    length = next((length for length in LENGTHS_S if lasted / length < MOST - 1), LENGTHS_S[-1])
    if lasted / length >= MOST - 1:
        length = math.ceil(lasted / (MOST - 1) / LENGTHS_S[-1]) * LENGTHS_S[-1]
    start = math.floor(first / DAY_S) * DAY_S
    return Span(start, length, math.floor((end - start) / length) + 1)


class Tally:
    """Counters of the fields of `Counts`, by project and period, and over all of either."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self._found: dict[tuple[str | None, int | None], dict[str, float]] = {}

    def add(self, project: str, period: float, name: str, times: float = 1) -> None:
        """Count something; tokens come as shares of a block, so the sums are rounded when they are told."""
        number = self.span.clamp(period)
        for key in ((project, number), (project, None), (None, number), (None, None)):
            counted = self._found.setdefault(key, {})
            counted[name] = counted.get(name, 0) + times

    def projects(self) -> set[str]:
        return {project for project, _ in self._found if project is not None}

    def counts(self, project: str | None = None, period: int | None = None) -> Counts:
        """The sum over one or all projects, over one or all periods."""
        return Counts(**{name: round(value) for name, value in self._found.get((project, period), {}).items()})
