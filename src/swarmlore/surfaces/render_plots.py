"""Plots as inline SVG: bars and lines over time, small lines for tables. Colours are variables of the page around them.

Every number that is drawn can be read: axes have their largest value, bars tell theirs when pointed at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from swarmlore.frozen import frozen

WIDTH, HEIGHT = 640, 170
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 24
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10)
_DATES = 5  # at most, along the time axis


@frozen
class Series:
    """One thing that is drawn: its name, the CSS class of its colour, one value per period; `down` hangs it below."""

    name: str
    colour: str
    values: Sequence[float]
    down: bool = False


def bars(series: Sequence[Series], dates: Sequence[str], about: str) -> str:
    """Bars over time; several series stand on each other, those that hang go down."""
    top = _ceiling(_stacked(series, down=False))
    hanging = _stacked(series, down=True)
    low = _ceiling(hanging) if any(hanging) else 0.0
    scale = _Scale(top, low)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(dates))
    drawn = []
    for number, date in enumerate(dates):
        up = down = 0.0
        for item in series:
            value = float(item.values[number])
            base = -down - value if item.down else up
            up, down = (up, down + value) if item.down else (up + value, down)
            if value:
                tip = f"{date}: {item.name} {amount(value)}"
                drawn.append(_bar(LEFT + number * step, step, scale, base, base + value, item.colour, tip))
    return _svg(scale.axis() + "".join(drawn) + _dates(dates, step), about, series)


def line(series: Series, dates: Sequence[str], about: str) -> str:
    """A line over time with the area under it, and its last value written at its end."""
    scale = _Scale(_ceiling(series.values), 0.0)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(dates))
    points = [(LEFT + (number + 0.5) * step, scale.y(value)) for number, value in enumerate(series.values)]
    if not points:
        return ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    floor = f"{points[-1][0]:.1f},{scale.y(0):.1f} {points[0][0]:.1f},{scale.y(0):.1f}"
    tips = "".join(
        f'<rect class="reach" x="{LEFT + number * step:.1f}" y="{TOP}" width="{step:.1f}" '
        f'height="{HEIGHT - TOP - BOTTOM}"><title>{escape(date)}: {amount(series.values[number])}</title></rect>'
        for number, date in enumerate(dates)
    )
    dot = f'<circle class="{series.colour} dot" cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" r="3.5"/>'
    drawn = (
        f'<polygon class="{series.colour} area" points="{path} {floor}"/>'
        f'<polyline class="{series.colour} stroke" points="{path}"/>{dot}'
    )
    return _svg(scale.axis() + drawn + tips + _dates(dates, step), about, ())


def spark(values: Sequence[float], colour: str, about: str) -> str:
    """A line of the height of a word, for a table."""
    if not values:
        return ""
    width, height, most = 120, 22, max(values) or 1
    step = (width - 4) / max(1, len(values) - 1)
    points = [(2 + number * step, height - 3 - (height - 6) * value / most) for number, value in enumerate(values)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points if len(points) > 1)
    dot = f'<circle class="{colour} dot" cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" r="2"/>'
    return (
        f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(about)}">'
        f'<polyline class="{colour} stroke" points="{path}"/>{dot}</svg>'
    )


def share(value: float, colour: str) -> str:
    """A bar within a table cell, from nothing to all."""
    width = 100 * min(1.0, max(0.0, value))
    return f'<span class="track"><span class="{colour} fill" style="width:{width:.1f}%"></span></span>'


def amount(value: float) -> str:
    """A count as people read it: 950, 1,204, 88.1k, 2.4M."""
    for size, unit in ((1_000_000, "M"), (10_000, "k")):
        if abs(value) >= size:
            return f"{value / (1_000 if unit == 'k' else size):.1f}".removesuffix(".0") + unit
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


class _Scale:
    """Where a value is drawn, between the largest above and the largest below the line."""

    def __init__(self, top: float, low: float) -> None:
        self.top, self.low = top, low

    def y(self, value: float) -> float:
        room = HEIGHT - TOP - BOTTOM
        return TOP + room * (self.top - value) / (self.top + self.low)

    def axis(self) -> str:
        marks = [self.top, self.top / 2, 0.0, *([-self.low] if self.low else [])]
        return "".join(
            f'<line class="{"base" if not mark else "grid"}" x1="{LEFT}" x2="{WIDTH - RIGHT}" '
            f'y1="{self.y(mark):.1f}" y2="{self.y(mark):.1f}"/>'
            f'<text class="tick" x="{LEFT - 6}" y="{self.y(mark) + 3.5:.1f}" text-anchor="end">'
            f"{amount(abs(mark))}</text>"
            for mark in marks
        )


def _stacked(series: Sequence[Series], *, down: bool) -> list[float]:
    columns = [item.values for item in series if item.down == down]
    return [sum(values) for values in zip(*columns, strict=True)]


def _ceiling(values: Sequence[float]) -> float:
    """The next round number that nothing goes above."""
    most = max(values, default=0)
    if most <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(most))
    found = next(step * size for step in _STEPS if step * size >= most)
    return max(2.0, math.ceil(found / 2) * 2)  # even, so that half of it is a whole number too


def _bar(x: float, step: float, scale: _Scale, low: float, high: float, colour: str, tip: str) -> str:
    top, bottom = scale.y(high), scale.y(low)
    gap = min(2.0, step / 4)
    return (
        f'<rect class="{colour} fill" x="{x + gap / 2:.1f}" y="{top:.1f}" width="{step - gap:.1f}" '
        f'height="{max(0.5, bottom - top):.1f}"><title>{escape(tip)}</title></rect>'
    )


def _dates(dates: Sequence[str], step: float) -> str:
    each = max(1, math.ceil(len(dates) / _DATES))
    # A narrow page shows every other date, and larger.
    return "".join(
        f'<text class="tick date{" other" if number // each % 2 else ""}" x="{LEFT + (number + 0.5) * step:.1f}" '
        f'y="{HEIGHT - 7}" text-anchor="middle">'
        f"{escape(dates[number])}</text>"
        for number in range(0, len(dates), each)
        if LEFT + (number + 0.5) * step < WIDTH - 24
    )


def _svg(content: str, about: str, series: Sequence[Series]) -> str:
    keys = "".join(f'<span><i class="{item.colour} fill"></i>{escape(item.name)}</span>' for item in series)
    legend = f'<p class="legend">{keys}</p>' if len(series) > 1 else ""
    return (
        f'{legend}<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(about)}">'
        f"{content}</svg>"
    )
