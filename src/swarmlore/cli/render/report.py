"""Text of `report` on a terminal: totals, sparklines over time, projects, reasons, memories to look at, limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from swarmlore.cli.layout import Page, ago, clean, hang, many, one_line, say, table
from swarmlore.domain.language.display import project_names
from swarmlore.domain.policy.curation import WORDS
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.memory.report import MOST

if TYPE_CHECKING:
    from swarmlore.domain.policy.curation import Limit
    from swarmlore.memory.report import MemoryFigures, ProjectFigures, Report


LISTED = 5
REASONS = 8
SHORTEST_NAME = 12  # columns for a project's name; with fewer it stands above its figures
FEWEST_MARKS = 20  # in a sparkline
BESIDE_MARKS = 44  # columns of a sparkline's row that hold its name and figures
LIFE = "in its whole life"
_BARS = "▁▂▃▄▅▆▇█"
_PERIODS = {86_400: "day", 604_800: "week", 2_419_200: "four weeks"}


def report(found: Report, page: Page, listed: int = LISTED) -> str:
    """Render the whole report."""
    lines = [page.paint("bold", clean(_title(found))), ""]
    lines += table(_totals(found), page, indent=0)
    for head, part in (
        (f"over time{_marks(found, page)}", _over_time(found, page)),
        ("by project", _projects(found.projects, names_of(found), page)),
        ("when nothing was given", _silences(found, page)),
        ("found, but not shown", _cuts(found, page)),
        *_memories(groups(found), found, page, listed),
        ("limits", limits(found, page)),
    ):
        if part:
            lines += ["", page.paint("bold", head), *part]
    return "\n".join(lines)


def limits(found: Report, page: Page) -> list[str]:
    """Render each limit with its figure, broken ones in red; limits not judged come last, grouped by reason."""
    lines = [_limit(limit, page) for limit in found.limits if not limit.note]
    unjudged: dict[str, list[str]] = {}
    for limit in found.limits:
        if limit.note:
            unjudged.setdefault(limit.note, []).append(limit.name)
    return [*lines, *(_unjudged(names, note, page) for note, names in unjudged.items())]


def check(found: Report, page: Page, listed: int = LISTED) -> str:
    """Render the limits and, if one is broken, memories that broke it and what to do."""
    lines = limits(found, page)
    if found.kept:
        return "\n".join(lines)
    broken = {limit.name for limit in found.limits if not limit.kept}
    words = set(WORDS) if "junk" in broken else broken
    guilty = [group for group in groups(found) if group.word in words]
    for head, part in _memories(guilty, found, page, listed):
        lines += ["", page.paint("bold", head), *part] if part else []
    hints = ["swarmlore curate proposes what to do"] if broken - {"given"} else []
    hints += ["swarmlore status and swarmlore doctor tell whether clients ask"] if "given" in broken else []
    hint = "; ".join([*hints, "all of it: swarmlore report --html report.html"])
    return "\n".join([*lines, "", hang(page.paint("cyan", "hint: "), hint, page, 6)])


def written(path: str, page: Page) -> str:
    """Render where the HTML report was written."""
    return f"Written to {clean(path)}. Open it in a browser."


def day(at: float) -> str:
    """Format a date in UTC, because periods begin at midnight UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def period_name(seconds: float) -> str:
    """Name the length of a period: day, week, four weeks or a number of days."""
    return _PERIODS.get(round(seconds), f"{seconds / 86_400:.0f} days")


def percent(value: float) -> str:
    """Format a share as a percentage; small and nearly full shares become `under 1 %` and `over 99 %`."""
    if 0 < value < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < value < 1 else f"{100 * value:.0f} %"


def part_of(count: int, of: int) -> float:
    """Return a count as a share of a total; 0 of nothing is 0."""
    return count / of if of else 0.0


def _title(found: Report) -> str:
    return f"{whose(found)}, {day(found.since)} to {day(found.at)}, by {period_name(found.period_s)}"


def whose(found: Report) -> str:
    """Name the project of a report, or `all projects`."""
    return "all projects" if found.all_projects else names_of(found)[found.project]


def names_of(found: Report) -> dict[str, str]:
    """Return short names of the projects in a report, by their ids."""
    return project_names({found.project, *(item.project for item in found.projects)})


def _totals(found: Report) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table of totals: name and text."""
    standing, counts = found.standing, found.counts
    raw = f", {standing.raw:,} of raw material" if standing.raw else ""
    known = f", {many(standing.strategies, 'strategy', 'strategies')}" if standing.strategies else ""
    live = f"{_lessons(standing.lessons)}{raw}{known}"
    yield "live", f"{live}; {counts.added:,} added, {counts.ended:,} ended in this time"
    given = f"given something at {counts.given:,} of {counts.moments:,} moments"
    last = f", last {ago(found.last_given_at, found.at)}" if found.last_given_at else ""
    yield "agents", f"{given} ({percent(part_of(counts.given, counts.moments))}){last}"
    yield "shown", f"{counts.shown:,} times, {counts.tokens:,} tokens; {_lessons(standing.never_shown)} never"
    yield "used", f"{counts.used:,} cited or applied; helped {counts.helped:,}, did harm {counts.hurt:,}"
    if tasks := counts.tasks_helpful + counts.tasks_neutral + counts.tasks_harmful:
        neither = f", {counts.tasks_neutral:,} neither" if counts.tasks_neutral else ""
        yield "tasks", f"{tasks:,}: {counts.tasks_helpful:,} went well, {counts.tasks_harmful:,} badly{neither}"
    if found.sessions:
        yield "sessions", f"{found.sessions}, {found.sessions_without_moment} in which nothing was ever asked for"
    wrong = (
        f"{standing.stale} stale, {standing.duplicate} duplicates, {standing.harmful} harmful, {standing.unused} unused"
    )
    yield "junk", f"{wrong}: {_lessons(standing.junk)} ({percent(part_of(standing.junk, standing.lessons))})"


def _lessons(count: int) -> str:
    return f"{count:,} lesson{'' if count == 1 else 's'}"


def _marks(found: Report, page: Page) -> str:
    """Describe how much time one mark of a sparkline covers."""
    each = marks_each(len(found.periods), _room(page))
    name = period_name(found.period_s)
    return f", each mark the highest of {each} {name.removesuffix('s')}s" if each > 1 else f", each mark a {name}"


def _room(page: Page) -> int:
    """Return how many sparkline marks fit between the name of a row and its figures."""
    return max(FEWEST_MARKS, page.width - BESIDE_MARKS) if page.width else MOST


def _over_time(found: Report, page: Page) -> list[str]:
    if len(found.periods) < 2:
        return []
    rows = {
        "live": [period.live for period in found.periods],
        **{
            name: [getattr(period.counts, name) for period in found.periods]
            for name in ("added", "moments", "shown", "used", "helped", "hurt", "tokens")
        },
    }
    width = _room(page)
    a = f"a {period_name(found.period_s)}" if found.period_s in _PERIODS else f"{period_name(found.period_s)}"
    lines = [
        f"  {name.ljust(9)}{spark(values, width)}  {_most(name, values, a)}"
        for name, values in rows.items()
        if any(values)
    ]
    return [*lines, page.paint("dim", _dates(found, width))] if lines else []


def _dates(found: Report, width: int) -> str:
    """Return the line with the first and the last date, placed under the first and the last mark."""
    first, last = day(found.since), day(found.at)
    if first[:4] == last[:4]:
        first, last = first[5:], last[5:]
    drawn = -(-len(found.periods) // marks_each(len(found.periods), width))
    gap = drawn - len(first) - len(last)
    return " " * 11 + (first + " " * gap + last if gap > 0 else f"{first} … {last}")


def _most(name: str, values: Sequence[int], a_period: str) -> str:
    return f"now {values[-1]:,}" if name == "live" else f"{sum(values):,} in all, at most {max(values):,} in {a_period}"


def marks_each(count: int, width: int) -> int:
    """Return how many values one mark must cover so that `count` values fit into `width`."""
    return max(1, -(-count // width))


def spark(values: Sequence[float], width: int = 40) -> str:
    """Draw values as a sparkline with eight heights, 0 as a space; a mark shows the highest of its values."""
    each = marks_each(len(values), width)
    parts = [max(values[first : first + each]) for first in range(0, len(values), each)]
    top = max(parts, default=0)
    return "".join(_BARS[min(7, int(8 * part / top))] if part > 0 else " " for part in parts)


def _projects(projects: Sequence[ProjectFigures], names: Mapping[str, str], page: Page) -> list[str]:
    if len(projects) < 2:
        return []
    heads = ("lessons", "shown", "used", "helped", "hurt", "stale", "junk", "tokens")
    rows = [[f"{value:,}" for value in _figures(item)] for item in projects]
    widths = [max(map(len, column)) + 2 for column in zip(heads, *rows, strict=True)]
    longest = min(40, max(len(clean(names[item.project])) for item in projects))
    room = min(longest, page.width - 2 - sum(widths)) if page.width else longest
    apart = room < min(longest, SHORTEST_NAME)  # no room beside the figures: names stand above them
    left = 0 if apart else room
    lines = ["  " + " " * left + page.paint("dim", _cells(heads, widths))]
    for item, row in zip(projects, rows, strict=True):
        name = one_line(names[item.project], 40 if apart else left)
        lines += [f"  {name}", "  " + _cells(row, widths)] if apart else ["  " + name.ljust(left) + _cells(row, widths)]
    return lines


def _figures(item: ProjectFigures) -> tuple[int, ...]:
    counts, standing = item.counts, item.standing
    did = (counts.shown, counts.used, counts.helped, counts.hurt)
    return (standing.lessons, *did, standing.stale, standing.junk, counts.tokens)


def _cells(values: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(value.rjust(width) for value, width in zip(values, widths, strict=True))


def _silences(found: Report, page: Page) -> list[str]:
    rows = [(item.count, f"{item.trigger}: {item.reason}") for item in found.silences]
    if found.sessions_without_moment:
        rows.append((found.sessions_without_moment, "sessions: the client never asked; see swarmlore status"))
    return _counted(rows, page)


def _cuts(found: Report, page: Page) -> list[str]:
    return _counted([(item.count, item.reason) for item in found.cuts], page)


def _counted(rows: Sequence[tuple[int, str]], page: Page) -> list[str]:
    """Render reasons with their counts, most frequent first; after 8 the rest is summed up."""
    rows = sorted(rows, key=lambda row: -row[0])
    lines = [hang(f"  {count:>7,} × ", one_line(reason, 100), page, 12) for count, reason in rows[:REASONS]]
    rest = rows[REASONS:]
    if rest:
        lines.append(f"  {sum(count for count, _ in rest):>7,} × for {many(len(rest), 'other reason')}")
    return lines


@frozen
class Group:
    """Memories under one heading; `word` is their kind of junk, if any, and `say` the remark on each."""

    head: str
    word: str
    items: Sequence[MemoryFigures]
    say: Callable[[MemoryFigures], str]


def groups(found: Report) -> list[Group]:
    """Return the groups of memories to look at. Figures of a memory cover its whole life, not the report's period."""
    every = [item for item in found.memories if not item.strategy]
    lessons = [item for item in every if item.lesson]
    helped = sorted((item for item in every if item.helped), key=lambda item: (item.hurt - item.helped, -item.shown))
    hurt = sorted((item for item in lessons if "harmful" in item.junk), key=lambda item: item.helped - item.hurt)
    stale = [item for item in lessons if "stale" in item.junk]
    twins = [item for item in lessons if item.duplicate_of]
    never = sorted((item for item in lessons if "unused" in item.junk), key=lambda item: item.created_at)
    spent = sorted((item for item in found.memories if item.tokens), key=lambda item: -item.tokens)
    return [
        Group(f"helped most, {LIFE}", "", helped, lambda it: f"helped {it.helped}, hurt {it.hurt}, shown {it.shown}"),
        Group(f"did harm, {LIFE}", "harmful", hurt, lambda it: f"hurt {it.hurt}, helped {it.helped}, shown {it.shown}"),
        Group("stale", "stale", stale, lambda it: f"cited code is {it.code}"),
        Group("duplicates", "duplicate", twins, lambda it: f"says what {it.duplicate_of} says"),
        Group("unused: never shown", "unused", never, lambda it: _since(it, found.at)),
        Group(f"most tokens, {LIFE}", "", spent, lambda it: _spent(it)),
    ]


def total(group: Group, found: Report) -> int:
    """Return how many memories belong to a group; a large report lists only some of them."""
    return max(len(group.items), getattr(found.standing, group.word) if group.word else 0)


def _spent(item: MemoryFigures) -> str:
    what = "a strategy, " if item.strategy else ""
    return f"{what}{item.tokens:,} tokens, shown {item.shown}, helped {item.helped}"


def _since(item: MemoryFigures, now: float) -> str:
    """Describe since when a memory waits to be shown, and why it was cut if it was found."""
    left = f", found {many(item.cut, 'time')}: {item.cut_reason}" if item.cut else ""
    return f"made {ago(item.created_at, now)}{left}"


def _memories(chosen: Sequence[Group], found: Report, page: Page, listed: int) -> Iterator[tuple[str, list[str]]]:
    for group in chosen:
        lines = [_line(item, group.say(item), page) for item in group.items[:listed]]
        if (rest := total(group, found) - listed) > 0:
            lines.append(say(f"and {rest:,} more: --limit N, or --json", page, 2, "dim"))
        yield group.head, lines if listed else []


def _line(item: MemoryFigures, about: str, page: Page) -> str:
    head = f"  {page.paint('bold', clean(item.handle))}  "
    return hang(head, f"{one_line(item.text, 90)} ({about})", page, len(item.handle) + 4)


def _limit(limit: Limit, page: Page) -> str:
    least = limit.name == "given"
    word = page.paint("green", "ok   ") if limit.kept else page.paint("red", "under" if least else "over ")
    sign = "at least" if least else "at most"
    text = f"{limit.name}: {limit.count:,} of {limit.of:,} ({percent(limit.share)}), {sign} {100 * limit.limit:g} %"
    return hang(f"  {word}  ", f"{text} ({limit.setting})", page, 9)


def _unjudged(names: Sequence[str], note: str, page: Page) -> str:
    return hang(f"  {page.paint('dim', '–')}      ", f"{', '.join(names)}: not judged, {why_unjudged(note)}", page, 9)


def why_unjudged(note: str) -> str:
    """Return the reason why a limit is not judged, from its note."""
    return note.removesuffix(" are not judged")
