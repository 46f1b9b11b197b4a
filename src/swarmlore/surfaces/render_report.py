"""A report on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import Page, ago, clean, hang, many, one_line, table

if TYPE_CHECKING:
    from swarmlore.reporting.figures import MemoryFigures, ProjectFigures, Report
    from swarmlore.rules.junk import Limit

LISTED = 5
REASONS = 8
_BARS = "▁▂▃▄▅▆▇█"
_PERIODS = {86_400: "day", 604_800: "week", 2_419_200: "four weeks"}


def report(found: Report, page: Page, listed: int = LISTED) -> str:
    """All of it, in the order of the questions people ask."""
    lines = [page.paint("bold", clean(_title(found))), ""]
    lines += table(_totals(found), page, indent=0)
    for head, part in (
        ("over time", _over_time(found)),
        ("by project", _projects(found.projects, page)),
        ("when nothing was given", _silences(found)),
        ("found, but not shown", _cuts(found)),
        *_memories(found, page, listed),
        ("limits", limits(found, page)),
    ):
        if part:
            lines += ["", page.paint("bold", head), *part]
    return "\n".join(lines)


def limits(found: Report, page: Page) -> list[str]:
    """Every limit with what was found, those that are not kept in red."""
    return [_limit(limit, page) for limit in found.limits]


def written(path: str, page: Page) -> str:
    return f"Written to {clean(path)}. Open it in a browser."


def day(at: float) -> str:
    """A date in UTC, as periods are cut."""
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def period_name(seconds: float) -> str:
    return _PERIODS.get(round(seconds), f"{seconds / 86_400:.0f} days")


def percent(value: float) -> str:
    """A share; a little is not nothing, and nearly all is not all."""
    if 0 < value < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < value < 1 else f"{100 * value:.0f} %"


def part_of(count: int, of: int) -> float:
    return count / of if of else 0.0


def _title(found: Report) -> str:
    whose = "all projects" if found.all_projects else found.project
    return f"{whose}, {day(found.since)} to {day(found.at)}, by {period_name(found.period_s)}"


def _totals(found: Report) -> Iterator[tuple[str, str]]:
    standing, counts = found.standing, found.counts
    raw = f" and {standing.raw:,} of raw material" if standing.raw else ""
    yield "live", f"{_lessons(standing.lessons)}{raw}; {counts.added:,} added, {counts.ended:,} ended in this time"
    given = f"given something at {counts.given:,} of {counts.moments:,} moments"
    last = f", last {ago(found.last_given_at, found.at)}" if found.last_given_at else ""
    yield "agents", f"{given} ({percent(part_of(counts.given, counts.moments))}){last}"
    yield "shown", f"{counts.shown:,} times, {counts.tokens:,} tokens; {_lessons(standing.never_shown)} never"
    yield "used", f"{counts.used:,} cited or applied; helped {counts.helped:,}, did harm {counts.hurt:,}"
    if tasks := counts.tasks_helpful + counts.tasks_neutral + counts.tasks_harmful:
        yield "tasks", f"{tasks:,}: {counts.tasks_helpful:,} went well, {counts.tasks_harmful:,} badly"
    if found.sessions:
        yield "sessions", f"{found.sessions}, {found.sessions_without_moment} in which nothing was ever asked for"
    wrong = (
        f"{standing.stale} stale, {standing.duplicate} duplicates, {standing.harmful} harmful, {standing.unused} unused"
    )
    yield "junk", f"{wrong}: {_lessons(standing.junk)} ({percent(part_of(standing.junk, standing.lessons))})"


def _lessons(count: int) -> str:
    return f"{count:,} lesson{'' if count == 1 else 's'}"


def _over_time(found: Report) -> list[str]:
    if len(found.periods) < 2:
        return []
    rows = {
        "live": [period.live for period in found.periods],
        **{
            name: [getattr(period.counts, name) for period in found.periods]
            for name in ("added", "moments", "shown", "used", "helped", "hurt", "tokens")
        },
    }
    return [f"  {name.ljust(9)}{spark(values)}  {_most(name, values)}" for name, values in rows.items() if any(values)]


def _most(name: str, values: Sequence[int]) -> str:
    return f"now {values[-1]:,}" if name == "live" else f"{sum(values):,} in all, {max(values):,} at most"


def spark(values: Sequence[float], width: int = 40) -> str:
    """Values as blocks of eight heights; nothing is a space; more than fit are taken together."""
    each = -(-len(values) // width)
    parts = [max(values[first : first + each]) for first in range(0, len(values), each)]
    top = max(parts, default=0)
    return "".join(_BARS[min(7, int(8 * part / top))] if part > 0 else " " for part in parts)


def _projects(projects: Sequence[ProjectFigures], page: Page) -> list[str]:
    if len(projects) < 2:
        return []
    width = min(40, max(len(clean(item.project)) for item in projects))
    heads = ("lessons", "shown", "used", "helped", "hurt", "stale", "junk", "tokens")
    lines = ["  " + page.paint("dim", "".ljust(width) + "".join(head.rjust(9) for head in heads))]
    for item in projects:
        counts, standing = item.counts, item.standing
        did = (counts.shown, counts.used, counts.helped, counts.hurt)
        values = (standing.lessons, *did, standing.stale, standing.junk, counts.tokens)
        name = one_line(item.project, width).ljust(width)
        lines.append("  " + name + "".join(f"{value:,}".rjust(9) for value in values))
    return lines


def _silences(found: Report) -> list[str]:
    rows = [(item.count, f"{item.trigger}: {item.reason}") for item in found.silences]
    if found.sessions_without_moment:
        rows.append((found.sessions_without_moment, "sessions: the client never asked; see swarmlore status"))
    return _counted(rows)


def _cuts(found: Report) -> list[str]:
    return _counted([(item.count, item.reason) for item in found.cuts])


def _counted(rows: Sequence[tuple[int, str]]) -> list[str]:
    """Reasons with how often, most often first; the rest is summed up."""
    rows = sorted(rows, key=lambda row: -row[0])
    lines = [f"  {count:>7,} × {clean(one_line(reason, 100))}" for count, reason in rows[:REASONS]]
    rest = rows[REASONS:]
    if rest:
        lines.append(f"  {sum(count for count, _ in rest):>7,} × for {many(len(rest), 'other reason')}")
    return lines


Sorted = tuple[str, "list[MemoryFigures]", "Callable[[MemoryFigures], str]"]


def groups(found: Report) -> list[Sorted]:
    """The memories worth a look: a heading, the memories, and what to say about each."""
    every = found.memories
    lessons = [item for item in every if not item.raw]
    helped = sorted((item for item in every if item.helped), key=lambda item: (item.hurt - item.helped, -item.shown))
    hurt = sorted((item for item in lessons if "harmful" in item.junk), key=lambda item: item.helped - item.hurt)
    never = sorted((item for item in lessons if "unused" in item.junk), key=lambda item: item.created_at)
    spent = sorted((item for item in every if item.tokens), key=lambda item: -item.tokens)
    return [
        ("helped most", helped, lambda item: f"helped {item.helped}, hurt {item.hurt}, shown {item.shown}"),
        ("did harm", hurt, lambda item: f"hurt {item.hurt}, helped {item.helped}, shown {item.shown}"),
        ("stale", [item for item in lessons if "stale" in item.junk], lambda item: f"cited code is {item.code}"),
        (
            "duplicates",
            [item for item in lessons if item.duplicate_of],
            lambda item: f"says what {item.duplicate_of} says",
        ),
        ("never shown", never, lambda item: _since(item, found.at)),
        ("most tokens", spent, lambda item: f"{item.tokens:,} tokens, shown {item.shown}, helped {item.helped}"),
    ]


def _since(item: MemoryFigures, now: float) -> str:
    """How long a memory waits to be shown, and why it was not although it was found."""
    left = f", found {many(item.cut, 'time')}: {item.cut_reason}" if item.cut else ""
    return f"made {ago(item.created_at, now)}{left}"


def _memories(found: Report, page: Page, listed: int) -> Iterator[tuple[str, list[str]]]:
    for head, items, say in groups(found):
        lines = [_line(item, say(item), page) for item in items[:listed]]
        if len(items) > listed:
            lines.append(page.paint("dim", f"  and {len(items) - listed:,} more: --limit N, or --json"))
        yield head, lines if listed else []


def _line(item: MemoryFigures, about: str, page: Page) -> str:
    head = f"  {page.paint('bold', clean(item.handle))}  "
    return hang(head, f"{one_line(item.text, 90)} ({about})", page, len(item.handle) + 4)


def _limit(limit: Limit, page: Page) -> str:
    least = limit.name == "given"
    word = page.paint("green", "ok   ") if limit.kept else page.paint("red", "under" if least else "over ")
    sign = "at least" if least else "at most"
    said = f"{limit.name}: {limit.count:,} of {limit.of:,} ({percent(limit.share)}), {sign} {100 * limit.limit:g} %"
    note = f"; {limit.note}" if limit.note else ""
    return f"  {word}  {said}{note}  {page.paint('dim', limit.setting)}"
