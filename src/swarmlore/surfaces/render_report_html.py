"""A report as one HTML file: no script, nothing from elsewhere, light and dark.

Stored text may hold anything. It is escaped here, and the page's own policy lets a browser load and run nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.page import ago, clean, many
from swarmlore.surfaces.render_plots import Series, amount, bars, line, share, spark
from swarmlore.surfaces.render_report import (
    day,
    groups,
    names_of,
    part_of,
    percent,
    period_name,
    total,
    whose,
    why_unjudged,
)
from swarmlore.surfaces.report_style import STYLE

if TYPE_CHECKING:
    from swarmlore.domain.policy.curation import Limit
    from swarmlore.memory.report import MemoryFigures, ProjectFigures, Report

LISTED = 12
MOST_ROWS = 1_000
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(found: Report) -> Iterator[str]:
    """The file, part by part."""
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
        said = f"of {many(found.sessions, 'session')}: the client never asked for anything"
        rows.append(
            f"<tr><td>sessions</td><td>{said}</td>{_numbers(found.sessions_without_moment)}<td class='drawn'></td></tr>"
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
    """A word for what is no lesson."""
    return '<span class="kind">strategy</span> ' if item.strategy else ""


_NOTHING = "<p class='more'>nothing</p>"


def _section(title: str, content: str) -> str:
    return f'<section><h2>{title}</h2><div class="wide">{content}</div></section>\n'


def _head(*names: str) -> str:
    """A row of headings, each with the class that stands behind its bar: n over numbers."""
    parts = (name.partition("|") for name in names)
    cells = "".join(f'<th class="{kind}">{name}</th>' if kind else f"<th>{name}</th>" for name, _, kind in parts)
    return f"<thead><tr>{cells}</tr></thead>"


def _numbers(*values: int) -> str:
    return "".join(f'<td class="n">{value:,}</td>' for value in values)


def _named(names: Sequence[str], values: Sequence[int]) -> str:
    """Numbers that know their headings, for a page that is too narrow for a table."""
    pairs = zip(names, values, strict=True)
    return "".join(f'<td class="n" data-name="{name}">{value:,}</td>' for name, value in pairs)


def _text(value: object) -> str:
    """Stored text that is neither markup nor able to reorder what stands beside it."""
    return escape(clean(value))


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))


def lines(found: Report) -> Iterable[bytes]:
    """The file as bytes; a lone half of a character is shown as such and does not stop the writing."""
    return (part.encode("utf-8", "backslashreplace") for part in page(found))
