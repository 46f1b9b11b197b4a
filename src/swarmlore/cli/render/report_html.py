"""HTML of `report`: one file with SVG plots, without scripts or external resources, in light and dark.

Stored text is escaped, and the content security policy of the page lets a browser load and run nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from swarmlore.cli.layout import ago, clean, many
from swarmlore.cli.render.report import day, groups, names_of, part_of, percent, period_name, total, whose, why_unjudged
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from swarmlore.domain.policy.curation import Limit
    from swarmlore.memory.report import MemoryFigures, ProjectFigures, Report


STYLE = """
:root{color-scheme:light dark;--paper:#fbfbfa;--card:#fff;--ink:#1c1d1f;--dim:#61656b;--rule:#e4e5e3;
--c1:#2f6fd0;--c2:#7a55c7;--c3:#1b8a6b;--c4:#c8502c;--c5:#b4b8bd;--ok:#1b7a4b;--bad:#b3361b}
@media (prefers-color-scheme:dark){:root{--paper:#15171a;--card:#1d2024;--ink:#e8e9ea;--dim:#9da3ab;--rule:#30343a;
--c1:#6ba0f2;--c2:#ad8ff0;--c3:#45b994;--c4:#ee8560;--c5:#5a616a;--ok:#5cc58f;--bad:#ff8e73}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.45 system-ui,sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:1180px;margin:0 auto;padding:28px 20px 60px}
header p,footer,figure p,.more,.about,small{color:var(--dim)}
h1{font-size:26px;margin:0 0 2px}
header p{margin:0 0 20px;overflow-wrap:anywhere}
h2{font-size:17px;margin:34px 0 8px}
h3{font-size:15px;margin:0}
figure{margin:0;padding:14px 14px 8px;background:var(--card);border:1px solid var(--rule);border-radius:8px}
figure p{margin:0 0 6px;font-size:13px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:12px}
.tile{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px 14px}
.tile span{display:block;font-size:13px;color:var(--dim)}
.tile b{display:block;font-size:26px;font-weight:600;line-height:1.2}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:14px;margin-top:34px}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px}
th{text-align:left;font-weight:500;color:var(--dim);font-size:13px;white-space:nowrap}
td,th{padding:5px 16px 5px 0;border-bottom:1px solid var(--rule);vertical-align:top}
.n{text-align:right;white-space:nowrap}
.text{overflow-wrap:anywhere;min-width:220px}
.about{min-width:230px}
code{font:13px ui-monospace,monospace}
details{margin-top:34px}
summary{cursor:pointer;font-weight:600}
.mark{white-space:nowrap;font-weight:600}
.ok{color:var(--ok)}
.bad{color:var(--bad)}
.plot{display:block;width:100%;height:auto}
.spark{width:120px;height:22px;display:block}
.tick{font-size:11px;fill:var(--dim)}
.grid .base,.base{stroke:var(--dim);stroke-width:1}
line.grid{stroke:var(--rule);stroke-width:1}
.c1{--c:var(--c1)}
.c2{--c:var(--c2)}
.c3{--c:var(--c3)}
.c4{--c:var(--c4)}
.c5{--c:var(--c5)}
.fill,.dot{fill:var(--c);background:var(--c)}
.stroke{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
.area{fill:var(--c);opacity:.12}
.reach{fill:transparent}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--ink)}
.legend i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
.track{display:block;width:140px;height:9px;margin-top:6px;border-radius:4px;background:var(--rule)}
.track span{display:block;height:100%;border-radius:4px}
footer{margin-top:40px;font-size:13px}
.none,.kind{color:var(--dim)}
.kind{font-size:13px}
@media (max-width:640px){
.plot{overflow:visible;margin-bottom:10px}
.tick{font-size:19px}
.date{transform:translateY(10px)}
.other{display:none}
.text,.about{min-width:0}
th.drawn,td.drawn{display:none}
.stacked thead,.cards thead{display:none}
.stacked tr,.cards tr{display:flex;flex-wrap:wrap;gap:2px 14px;padding:7px 0;border-bottom:1px solid var(--rule)}
.stacked td,.cards td{padding:0;border:0}
.stacked .below,.cards .text,.cards .name{flex-basis:100%}
.lessons.stacked .text{flex:1;min-width:70%}
.cards .name{font-weight:600}
.cards .n::before{content:attr(data-name) " ";color:var(--dim)}
.cards td:empty{display:none}
}
"""


# Plots

WIDTH, HEIGHT = 640, 170
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 24
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10)
_DATES = 5  # at most, along the time axis


@frozen
class Series:
    """One data series of a plot: name, CSS class of its colour, a value per period; `down` draws it below the axis."""

    name: str
    colour: str
    values: Sequence[float]
    down: bool = False


def bars(series: Sequence[Series], dates: Sequence[str], about: str) -> str:
    """Draw a stacked bar chart over time; series with `down` stack below the axis."""
    top = _ceiling(_stacked(series, down=False))
    below = _stacked(series, down=True)
    low = _ceiling(below) if any(below) else 0.0
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
    """Draw a line chart over time with a filled area and a dot at the last value."""
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
    """Draw a small line chart for a table cell."""
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
    """Draw a share from 0 to 1 as a bar in a table cell."""
    width = 100 * min(1.0, max(0.0, value))
    return f'<span class="track"><span class="{colour} fill" style="width:{width:.1f}%"></span></span>'


def amount(value: float) -> str:
    """Format a count: 950, 1,204, 88.1k, 2.4M."""
    for size, unit in ((1_000_000, "M"), (10_000, "k")):
        if abs(value) >= size:
            return f"{value / (1_000 if unit == 'k' else size):.1f}".removesuffix(".0") + unit
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


class _Scale:
    """Vertical scale of a plot, from the largest value above the axis to the largest below it."""

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
    """Return the sums, per period, of the series above or below the axis."""
    columns = [item.values for item in series if item.down == down]
    return [sum(values) for values in zip(*columns, strict=True)]


def _ceiling(values: Sequence[float]) -> float:
    """Return the next round number at or above all values."""
    most = max(values, default=0)
    if most <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(most))
    top = next(step * size for step in _STEPS if step * size >= most)
    return max(2.0, math.ceil(top / 2) * 2)  # even, so that the mark at half of it is whole


def _bar(x: float, step: float, scale: _Scale, low: float, high: float, colour: str, tip: str) -> str:
    top, bottom = scale.y(high), scale.y(low)
    gap = min(2.0, step / 4)
    return (
        f'<rect class="{colour} fill" x="{x + gap / 2:.1f}" y="{top:.1f}" width="{step - gap:.1f}" '
        f'height="{max(0.5, bottom - top):.1f}"><title>{escape(tip)}</title></rect>'
    )


def _dates(dates: Sequence[str], step: float) -> str:
    each = max(1, math.ceil(len(dates) / _DATES))
    # CSS shows every other date on a narrow page, in a larger font.
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


# The document

LISTED = 12
MOST_ROWS = 1_000
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(found: Report) -> Iterator[str]:
    """Yield the HTML document in parts."""
    about = whose(found)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Swarmlore report: {_text(about)}</title><style>{STYLE}</style></head><body><main>\n"
    )
    yield f"<header><h1>What the memory did</h1><p>{_text(_subtitle(found, about))}</p></header>\n"
    yield _tiles(found)
    yield _limits(found.limits)
    yield f'<div class="grid">{"".join(_plots(found))}</div>\n'
    yield _projects(found)
    yield _reasons(found)
    yield from _groups(found)
    yield _all(found)
    yield f"<footer>Made by swarmlore report on {_moment(found.at)} UTC.</footer></main></body></html>\n"


def _subtitle(found: Report, about: str) -> str:
    return f"{about} · {day(found.since)} to {day(found.at)} · by {period_name(found.period_s)}"


def _tiles(found: Report) -> str:
    standing, counts = found.standing, found.counts
    given = percent(part_of(counts.given, counts.moments)) if counts.moments else "–"
    last = f"last {ago(found.last_given_at, found.at)}" if found.last_given_at else "never yet"
    junk = percent(part_of(standing.junk, standing.lessons)) if standing.lessons else "–"
    tiles = (
        ("lessons live", amount(standing.lessons), f"{counts.added:,} added, {counts.ended:,} ended"),
        ("moments given", given, f"{counts.given:,} of {counts.moments:,}, {last}"),
        ("shown", amount(counts.shown), f"{many(standing.never_shown, 'lesson')} never"),
        ("cited or applied", amount(counts.used), f"helped {counts.helped:,}, did harm {counts.hurt:,}"),
        ("tokens spent", amount(counts.tokens), f"{part_of(counts.tokens, counts.given):,.0f} a block"),
        ("junk", junk, f"{standing.junk:,} of {many(standing.lessons, 'lesson')}"),
    )
    cells = "".join(
        f'<div class="tile"><span>{name}</span><b>{value}</b><small>{_text(about)}</small></div>'
        for name, value, about in tiles
    )
    return f'<section class="tiles">{cells}</section>\n'


def _limits(limits: Sequence[Limit]) -> str:
    rows = "".join(
        f"<tr><td>{_mark(limit)}</td><td>{limit.name}</td>"
        f'<td class="n">{limit.count:,} of {limit.of:,}</td><td class="n">{percent(limit.share)}</td>'
        f'<td class="n">{"≥" if limit.name == "given" else "≤"} {100 * limit.limit:g} %</td>'
        f'<td class="below"><code>{limit.setting}</code> {_text(why_unjudged(limit.note))}</td></tr>'
        for limit in limits
    )
    head = _head("", "what", "count|n", "share|n", "limit|n", "setting")
    return _section("Limits", f'<table class="stacked">{head}{rows}</table>')


def _mark(limit: Limit) -> str:
    if limit.note:
        return '<span class="mark none">– not judged</span>'
    return f'<span class="mark {"ok" if limit.kept else "bad"}">{"✓ kept" if limit.kept else "✗ not kept"}</span>'


def _plots(found: Report) -> Iterator[str]:
    dates = [day(period.started_at) for period in found.periods]
    counts = [period.counts for period in found.periods]
    live = Series("live", "c1", [period.live for period in found.periods])
    yield _figure("Live memories", "lessons and raw material, at the end of each period", line(live, dates, "live"))
    added = Series("added", "c1", [item.added for item in counts])
    ended = Series("ended", "c5", [item.ended for item in counts], down=True)
    yield _figure(
        "Added and ended", "ended: archived, replaced, expired or hidden", bars([added, ended], dates, "growth")
    )
    given = Series("given something", "c1", [item.given for item in counts])
    silent = Series("given nothing", "c5", [item.moments - item.given for item in counts])
    yield _figure("Moments", "prompts, errors, files and starts of sessions", bars([given, silent], dates, "moments"))
    shown = Series("shown", "c1", [item.shown for item in counts])
    yield _figure("Shown", "memories in blocks", bars([shown], dates, "shown"))
    used = Series("used", "c2", [item.used for item in counts])
    yield _figure("Cited or applied", "each memory once a session", bars([used], dates, "cited or applied"))
    helped = Series("helped", "c3", [item.helped for item in counts])
    hurt = Series("did harm", "c4", [item.hurt for item in counts], down=True)
    yield _figure("Helped and did harm", "ratings, and tasks that used a memory", bars([helped, hurt], dates, "helped"))
    tokens = Series("tokens", "c1", [item.tokens for item in counts])
    yield _figure("Tokens spent", "estimated from the size of blocks", bars([tokens], dates, "tokens"))
    stale = Series("stale today", "c4", [period.stale for period in found.periods])
    stands = Series("as it was", "c3", [period.cited_code - period.stale for period in found.periods])
    yield _figure("Stale", "lessons that cite code, by when they were learned", bars([stands, stale], dates, "stale"))


def _figure(title: str, about: str, plot: str) -> str:
    return f"<figure><h3>{title}</h3><p>{about}</p>{plot}</figure>"


def _projects(found: Report) -> str:
    names = names_of(found)
    rows = "".join(
        f'<tr><td class="name">{_text(names[item.project])}</td>'
        f'<td class="drawn">{spark(item.live, "c1", "live memories over time")}</td>{_of_project(item)}'
        f'<td class="drawn">{spark(item.tokens, "c1", "tokens over time")}</td></tr>'
        for item in found.projects
    )
    heads = _head("project", "live", *(f"{name}|n" for name in _OF_PROJECT), "tokens over time")
    return _section("By project", f'<table class="cards">{heads}{rows}</table>')


_OF_PROJECT = ("lessons", "moments", "shown", "used", "helped", "hurt", "stale", "junk", "tokens")


def _of_project(item: ProjectFigures) -> str:
    counts, standing = item.counts, item.standing
    did = (counts.moments, counts.shown, counts.used, counts.helped, counts.hurt)
    return _named(_OF_PROJECT, (standing.lessons, *did, standing.stale, standing.junk, counts.tokens))


def _reasons(found: Report) -> str:
    silent = sum(item.count for item in found.silences)
    rows = [
        f"<tr><td>{_text(item.trigger)}</td><td>{_text(item.reason)}</td>{_numbers(item.count)}"
        f'<td class="drawn">{share(part_of(item.count, silent), "c5")}</td></tr>'
        for item in found.silences[:MOST_ROWS]
    ]
    if found.sessions_without_moment:
        text = f"of {many(found.sessions, 'session')}: the client never asked for anything"
        rows.append(
            f"<tr><td>sessions</td><td>{text}</td>{_numbers(found.sessions_without_moment)}<td class='drawn'></td></tr>"
        )
    cuts = "".join(f"<tr><td>{_text(item.reason)}</td>{_numbers(item.count)}</tr>" for item in found.cuts)
    first = f"<table>{_head('moment', 'reason', 'times|n', '|drawn')}{''.join(rows)}</table>" if rows else _NOTHING
    second = f"<table>{_head('reason', 'times|n')}{cuts}</table>" if cuts else _NOTHING
    return _section("When nothing was given", first) + _section("Found, but not shown", second)


def _groups(found: Report) -> Iterator[str]:
    for group in groups(found):
        if group.items:
            rows = "".join(_memory(item, group.say(item)) for item in group.items[:LISTED])
            rest = total(group, found) - LISTED
            more = f"<p class='more'>and {rest:,} more, in the list of all memories below</p>" if rest > 0 else ""
            yield _section(group.head.capitalize(), f"<table class='lessons stacked'>{rows}</table>{more}")


def _memory(item: MemoryFigures, about: str) -> str:
    return (
        f'<tr><td><code>{_text(item.handle)}</code></td><td class="text">{_text(item.text)}</td>'
        f'<td class="about below">{_text(about)}</td></tr>'
    )


def _all(found: Report) -> str:
    rows = "".join(
        f'<tr><td><code>{_text(item.handle)}</code></td><td class="text">{_kind(item)}{_text(item.text)}</td>'
        + _named(_OF_MEMORY, [getattr(item, name) for name in _OF_MEMORY])
        + f"<td>{_text(item.code)}</td><td>{_text(', '.join(item.junk))}</td></tr>"
        for item in found.memories[:MOST_ROWS]
    )
    heads = ("memory", "", *(f"{name}|n" for name in _OF_MEMORY), "code", "junk")
    count = len(found.memories) + found.memories_left_out
    more = count - min(len(found.memories), MOST_ROWS)
    note = f"<p class='more'>and {more:,} others: swarmlore report --json lists more</p>" if more > 0 else ""
    table = f"<table class='lessons cards'>{_head(*heads)}{rows}</table>{note}"
    summary = f"<summary>All of {many(count, 'memory', 'memories')}, newest first</summary>"
    return f'<section><details>{summary}<div class="wide">{table}</div></details></section>'


_OF_MEMORY = ("shown", "cited", "applied", "helped", "hurt", "cut", "tokens")


def _kind(item: MemoryFigures) -> str:
    """Return a label for strategies, which are not lessons."""
    return '<span class="kind">strategy</span> ' if item.strategy else ""


_NOTHING = "<p class='more'>nothing</p>"


def _section(title: str, content: str) -> str:
    return f'<section><h2>{title}</h2><div class="wide">{content}</div></section>\n'


def _head(*names: str) -> str:
    """Return the heading row of a table; a name may carry the CSS class of its column, as in `count|n`."""
    parts = (name.partition("|") for name in names)
    cells = "".join(f'<th class="{kind}">{name}</th>' if kind else f"<th>{name}</th>" for name, _, kind in parts)
    return f"<thead><tr>{cells}</tr></thead>"


def _numbers(*values: int) -> str:
    return "".join(f'<td class="n">{value:,}</td>' for value in values)


def _named(names: Sequence[str], values: Sequence[int]) -> str:
    """Return number cells that carry their headings, which CSS shows on pages too narrow for a table."""
    pairs = zip(names, values, strict=True)
    return "".join(f'<td class="n" data-name="{name}">{value:,}</td>' for name, value in pairs)


def _text(value: object) -> str:
    """Escape stored text: markup, control characters and marks that reorder text."""
    return escape(clean(value))


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))


def lines(found: Report) -> Iterable[bytes]:
    """Encode the document in parts; lone surrogates are written as escapes instead of failing."""
    return (part.encode("utf-8", "backslashreplace") for part in page(found))
