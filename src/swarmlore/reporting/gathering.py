"""From rows to a report: each memory's figures, the same by project and over time, silences, and limits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from sys import intern

from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.records import LIVE_STATUSES, RAW_SOURCES, STRATEGY_SOURCE
from swarmlore.reporting.duplicates import find_twins
from swarmlore.reporting.figures import Cut, MemoryFigures, Period, ProjectFigures, Report, Silence, Standing
from swarmlore.reporting.periods import DAY_S, Span, Tally, span_of
from swarmlore.rules.freshness import STALE
from swarmlore.rules.junk import WORDS, Evidence, Limits, check, junk
from swarmlore.store.figures import Figures
from swarmlore.store.history import RATED

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row

HIVE = "(hive)"
TEXT_CHARS = 160
_WORST = ("gone", "changed", "moved", "unchecked", "unchanged")
# Reasons that carry figures of their moment, told as one.
_ALIKE = (
    (r"^\d+ characters of context left.*", "too few characters of context left"),
    (r"^(nothing relevant enough): the best reached .*", r"\1"),
    (r"^headroom .* needed$", "too little headroom"),
    (r" \([^()]*\)$", ""),
    (r"; the receipt was not stored:.*", ""),
)


@frozen
class Order:
    """What a report is asked for: its moment, how far it looks back (0: to the beginning), limits, and a threshold."""

    at: float
    project: str
    days: float = 0.0
    limits: Limits = Limits()
    threshold: float = 0.6


@frozen
class _Life:
    """A memory's row number, figures, and when it ended, if it did."""

    seq: int
    figures: MemoryFigures
    ended_at: float | None


class Gathering:
    """One report in the making."""

    def __init__(self, rows: Figures, order: Order, code: Mapping[str, Sequence[str]]) -> None:
        """`code` has, by memory, the states of the code it cites."""
        self._rows = rows
        self._order = order
        self._code = code
        first = rows.first_time()
        began = order.at if first is None else first
        self._span = span_of(max(began, order.at - order.days * DAY_S if order.days else began), order.at)
        self._since = self._span.start if order.days else 0.0
        self._cut = (self._span.start, self._span.length)
        self._tally = Tally(self._span)
        self._reasons: Counter[str] = Counter()  # why memories were cut
        self._silences: Counter[tuple[str, str]] = Counter()
        self._last_given: float | None = None
        self._strategies: set[str] = set()

    def report(self) -> Report:
        lives = list(self._lives())
        self._strategies = {life.figures.id for life in lives if life.figures.strategy}
        sessions = list(self._rows.sessions(self._since))
        self._count_moments()
        self._count_uses(lives, sessions)
        figures = self._judged(self._with_showings(lives))
        told = self._tally.counts()
        lessons = [item for item in figures if item.lesson]
        return Report(
            at=self._order.at,
            project=self._order.project,
            since=self._span.start,
            period_s=self._span.length,
            all_projects=self._rows.wide,
            standing=_standing(figures),
            counts=told,
            sessions=len(sessions),
            sessions_without_moment=sum(not asked for *_, asked in sessions),
            last_given_at=self._last_given,
            periods=tuple(self._periods(lives, lessons)),
            projects=tuple(self._projects(lives, figures)),
            silences=tuple(Silence(*key, count) for key, count in self._silences.most_common()),
            cuts=tuple(Cut(reason, count) for reason, count in self._reasons.most_common() if count),
            limits=check([item.junk for item in lessons], told.moments, told.given, self._order.limits),
            memories=tuple(figures),
        )

    def _lives(self) -> Iterable[_Life]:
        """Every memory that is or was, with its birth and its end counted."""
        for row in self._rows.memories():
            life = self._life(row)
            self._count_life(life)
            yield life

    def _life(self, row: Row) -> _Life:
        seq, id, handle, _, project, tier, kind, source, status, created_at, *times, title, text, outcomes = row
        counted: dict[str, Any] = {name: int(outcomes.get(name, 0)) for name in _COUNTERS}
        place, tier, kind, source, status = map(intern, (self._place(project, tier), tier, kind, source, status))
        figures = MemoryFigures(
            *(id, handle, _line(title or text), place, tier, kind, source, status, created_at),
            **counted,
            raw=source in RAW_SOURCES and source != STRATEGY_SOURCE,
            strategy=source == STRATEGY_SOURCE,
            code=next((state for state in _WORST if state in self._code.get(id, ())), ""),
        )
        return _Life(seq, figures, self._end(status, *times))

    def _place(self, project: str, tier: str) -> str:
        """The project under its name of today; what every project sees stands apart."""
        return HIVE if tier == "hive" else self._order.project if project in self._rows.names else project

    def _end(
        self, status: str, updated_at: float, valid_until: float | None, forgotten_at: float | None, expires_at: Any
    ) -> float | None:
        """When a memory left: hidden, replaced, expired or put away; None while it is live."""
        ends = [at for at in (forgotten_at, expires_at) if at is not None and at <= self._order.at]
        if status not in LIVE_STATUSES:
            ends.append(valid_until if status == "superseded" and valid_until is not None else updated_at)
        return min(ends, default=None)

    def _count_life(self, life: _Life) -> None:
        item = life.figures
        if item.strategy:  # neither a lesson nor material: `live`, `added` and `ended` speak of those
            return
        if item.created_at >= self._since:
            self._tally.add(item.project, self._span.place(item.created_at), "added")
        if life.ended_at is not None and life.ended_at >= self._since:
            self._tally.add(item.project, self._span.place(life.ended_at), "ended")

    def _count_moments(self) -> None:
        for project, period, trigger, reason, given, count, tokens, last in self._rows.moments(self._since, *self._cut):
            place = self._place(project, "")
            self._tally.add(place, period, "moments", count)
            self._tally.add(place, period, "tokens", int(tokens or 0))
            if given:
                self._tally.add(place, period, "given", count)
                self._last_given = max(self._last_given or 0.0, float(last))
            else:
                self._silences[trigger, plain_reason(reason)] += count

    def _count(self, project: str, period: float, name: str, times: int) -> None:
        """Count what happened in the time that is asked for; a memory's own figures are of its whole life."""
        if period >= 0 or not self._since:
            self._tally.add(self._place(project, ""), period, name, times)

    def _with_showings(self, lives: Sequence[_Life]) -> list[tuple[int, MemoryFigures]]:
        """The live memories with how often they were shown, helped and did harm."""
        told = self._showings()
        for more in (self._ratings(), self._cuts()):
            for id, facts in more.items():
                told[id] = {**told.get(id, {}), **facts}
        live = [life for life in lives if life.ended_at is None]
        return [(life.seq, _with(life.figures, told.get(life.figures.id, {}))) for life in live]

    def _showings(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for id, project, period, times, tokens, last in self._rows.showings(0.0, *self._cut):
            self._count(project, period, "shown", times)
            told = found.setdefault(id, {"shown": 0, "tokens": 0.0, "last_shown_at": 0.0})
            told["shown"] += times
            told["tokens"] += float(tokens)  # a server sums up decimals
            told["last_shown_at"] = max(told["last_shown_at"], float(last))
        return {id: {**told, "tokens": round(told["tokens"])} for id, told in found.items()}

    def _ratings(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for id, action, project, period, times, own in self._rows.ratings(0.0, *self._cut):
            name = "helped" if action == RATED[True] else "hurt"
            if own and id not in self._strategies:  # a task rates its strategy too, and would be counted twice
                self._count(project, period, name, own)
            told = found.setdefault(id, {"helped": 0, "hurt": 0})
            told[name] += times
        return found

    def _count_uses(self, lives: Sequence[_Life], sessions: Iterable[tuple[Any, ...]]) -> None:
        """Memories that were mentioned or followed, each once per session; and how tasks ended."""
        ids = {life.figures.handle: life.figures.id for life in lives}
        seen: set[tuple[str, str]] = set()
        for id, project, at, handles, _ in sessions:
            known = {ids[handle] for handle in handles if handle in ids}
            self._tally.add(self._place(project, ""), self._span.place(at), "used", len(known))
            seen |= {(id, memory) for memory in known}
        visible = set(ids.values())
        for at, project, session, verdict, told in self._rows.outcomes(self._since):
            place, period = self._place(project, ""), self._span.place(at)
            self._tally.add(place, period, f"tasks_{verdict}")
            used = {id for name in ("cited", "applied") for id in told.get(name, ()) if id in visible}
            fresh = {id for id in used if not session or (session, id) not in seen}
            self._tally.add(place, period, "used", len(fresh))
            seen |= {(session, id) for id in fresh}

    def _judged(self, found: Sequence[tuple[int, MemoryFigures]]) -> list[MemoryFigures]:
        """The figures with the twin of each lesson and what is wrong with it, newest first."""
        lessons = {seq: item for seq, item in found if item.lesson}
        twins = find_twins(self._rows, lessons.keys(), self._order.threshold)
        watched = self._tally.counts().moments > 0 or any(item.shown for _, item in found)
        judged = []
        for seq, item in found:
            twin = lessons[twins[seq]].handle if seq in twins else ""
            words = self._words(item, twin, watched) if item.lesson else ()
            judged.append(_with(item, {"duplicate_of": twin, "junk": words} if words else {}))
        return sorted(judged, key=lambda item: (-item.created_at, item.id))

    def _words(self, item: MemoryFigures, twin: str, watched: bool) -> tuple[str, ...]:
        shown = (
            item.shown + item.succeeded_after + item.failed_after
        )  # showings that were told but have no receipt here
        age_s = self._order.at - item.created_at
        evidence = Evidence(item.code, twin, item.helped, item.hurt, shown, age_s)
        return junk(evidence, unused_after_days=self._order.limits.unused_after_days, watched=watched)

    def _periods(self, lives: Sequence[_Life], lessons: Sequence[MemoryFigures]) -> Iterable[Period]:
        live = _live_by_period(lives, self._span)
        citing = [item for item in lessons if item.code in ("unchanged", "moved", *STALE)]
        born = Counter(self._span.place(item.created_at) for item in citing)
        stale = Counter(self._span.place(item.created_at) for item in citing if item.code in STALE)
        for number, start in enumerate(self._span.starts()):
            counts = self._tally.counts(period=number)
            yield Period(start, counts, live[number], born[number], stale[number])

    def _projects(self, lives: Sequence[_Life], figures: Sequence[MemoryFigures]) -> Iterable[ProjectFigures]:
        """Each project and the hive, the largest first."""
        mine: dict[str, tuple[list[_Life], list[MemoryFigures]]] = {name: ([], []) for name in self._tally.projects()}
        for life in lives:
            mine.setdefault(life.figures.project, ([], []))[0].append(life)
        for item in figures:
            mine[item.project][1].append(item)
        found = [self._project(name, *its) for name, its in mine.items()]
        return sorted(found, key=lambda item: (-item.standing.lessons, item.project))

    def _project(self, name: str, lives: Sequence[_Life], figures: Sequence[MemoryFigures]) -> ProjectFigures:
        return ProjectFigures(
            name,
            _standing(figures),
            self._tally.counts(name),
            tuple(_live_by_period(lives, self._span)),
            tuple(self._tally.counts(name, number).tokens for number in range(self._span.count)),
        )

    def _cuts(self) -> dict[str, dict[str, Any]]:
        """By memory, how often it was found and left out, and mostly why."""
        found: dict[str, Counter[str]] = {}
        for id, why, times, lately in self._rows.cuts(self._since):
            reason = plain_reason(why)
            found.setdefault(id, Counter())[reason] += times
            self._reasons[reason] += int(lately)
        return {id: {"cut": told.total(), "cut_reason": told.most_common(1)[0][0]} for id, told in found.items()}


_COUNTERS = ("cited", "applied", "succeeded_after", "failed_after")


def plain_reason(reason: str) -> str:
    """A reason without the figures of its moment, so that equal ones are counted together."""
    for pattern, instead in _ALIKE:
        reason = re.sub(pattern, instead, reason)
    return reason or "no reason was recorded"


def _with(item: MemoryFigures, facts: Mapping[str, Any]) -> MemoryFigures:
    return replace(item, **facts) if facts else item


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS else line[: TEXT_CHARS - 1] + "…"


def _standing(figures: Sequence[MemoryFigures]) -> Standing:
    lessons = [item for item in figures if item.lesson]
    words = Counter(word for item in lessons for word in item.junk)
    return Standing(
        lessons=len(lessons),
        raw=sum(item.raw for item in figures),
        strategies=sum(item.strategy for item in figures),
        never_shown=sum(not (item.shown + item.succeeded_after + item.failed_after) for item in lessons),
        cited_code=sum(bool(item.code) for item in lessons),
        moved=sum(item.code == "moved" for item in lessons),
        junk=sum(bool(item.junk) for item in lessons),
        **{word: words[word] for word in WORDS},
    )


def _live_by_period(lives: Iterable[_Life], span: Span) -> list[int]:
    """How many lessons and how much material was live at the end of each period."""
    steps = [0] * (span.count + 1)
    for life in lives:
        if life.figures.strategy:
            continue
        born = span.place(life.figures.created_at)
        ended = span.count if life.ended_at is None else max(born, span.place(life.ended_at))
        steps[born] += 1
        steps[ended] -= 1
    total, found = 0, []
    for step in steps[:-1]:
        total += step
        found.append(total)
    return found
