"""From rows to a report: each memory's figures, the same by project and over time, silences, and limits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from sys import intern

from swarmlore.domain.policy.curation import JunkEvidence, Limits, check, junk
from swarmlore.domain.records import LIVE_STATUSES, RAW_SOURCES, STRATEGY_SOURCE
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.reporting.duplicates import find_twins
from swarmlore.reporting.figures import Cut, MemoryFigures, Period, ProjectFigures, Report, Silence
from swarmlore.reporting.periods import DAY_S, Tally, span_of
from swarmlore.reporting.sums import Sums
from swarmlore.store.history import RATED
from swarmlore.store.report_queries import Figures

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


class _Lessons:
    """Row numbers, a byte each: a large store has a million of them."""

    def __init__(self) -> None:
        self._there = bytearray()

    def add(self, seq: int) -> None:
        if seq >= len(self._there):
            self._there.extend(bytes(seq + 1 - len(self._there) + len(self._there) // 2))
        self._there[seq] = 1

    def __contains__(self, seq: object) -> bool:
        return isinstance(seq, int) and seq < len(self._there) and self._there[seq] == 1


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
        self._steps: dict[str, list[int]] = {}  # by project and period, how many memories came and went
        self._lessons = _Lessons()
        self._watched = False

    def report(self) -> Report:
        """The rows are read twice, and none but those that are told are kept: a store may hold a million."""
        sessions = list(self._rows.sessions(self._since))
        shown = self._showings()
        self._survey(shown.keys())
        self._count_moments()
        self._count_uses(sessions)
        facts = self._joined(shown)
        told = self._tally.counts()
        sums = self._judged(facts, self._watched or told.moments > 0)
        chosen = sums.chosen()
        return Report(
            at=self._order.at,
            project=self._order.project,
            since=self._span.start,
            period_s=self._span.length,
            all_projects=self._rows.wide,
            standing=sums.standing(),
            counts=told,
            sessions=len(sessions),
            sessions_without_moment=sum(not asked for *_, asked in sessions),
            last_given_at=self._last_given,
            periods=tuple(self._periods(sums)),
            projects=tuple(self._projects(sums)),
            silences=tuple(Silence(*key, count) for key, count in self._silences.most_common()),
            cuts=tuple(Cut(reason, count) for reason, count in self._reasons.most_common() if count),
            limits=check(sums.words, told.moments, told.given, self._order.limits),
            memories=chosen,
            memories_left_out=sums.count - len(chosen),
        )

    def _survey(self, shown: Container[str]) -> None:
        """Count births and ends of all memories that are or were, and note the live lessons."""
        for seq, id, _, _, project, tier, _, source, status, created_at, *times, _, _, _ in self._rows.memories():
            ended_at = self._end(status, *times)
            if ended_at is None and id in shown:
                self._watched = True
            place = self._place(project, tier)
            if source == STRATEGY_SOURCE:  # neither a lesson nor material: `live`, `added` and `ended` speak of those
                self._strategies.add(id)
                self._steps.setdefault(place, [0] * (self._span.count + 1))
                continue
            self._count_life(place, created_at, ended_at)
            if ended_at is None and source not in RAW_SOURCES:
                self._lessons.add(seq)

    def _figures(self, row: Row) -> MemoryFigures:
        _, id, handle, _, project, tier, kind, source, status, created_at, *_, title, text, outcomes = row
        counted: dict[str, Any] = {name: int(outcomes.get(name, 0)) for name in _COUNTERS}
        place, tier, kind, source, status = map(intern, (self._place(project, tier), tier, kind, source, status))
        return MemoryFigures(
            *(id, handle, _line(title or text), place, tier, kind, source, status, created_at),
            **counted,
            raw=source in RAW_SOURCES and source != STRATEGY_SOURCE,
            strategy=source == STRATEGY_SOURCE,
            code=next((state for state in _WORST if state in self._code.get(id, ())), ""),
        )

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

    def _count_life(self, project: str, created_at: float, ended_at: float | None) -> None:
        if created_at >= self._since:
            self._tally.add(project, self._span.place(created_at), "added")
        if ended_at is not None and ended_at >= self._since:
            self._tally.add(project, self._span.place(ended_at), "ended")
        steps = self._steps.setdefault(project, [0] * (self._span.count + 1))
        born = self._span.place(created_at)
        steps[born] += 1
        steps[self._span.count if ended_at is None else max(born, self._span.place(ended_at))] -= 1

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

    def _joined(self, told: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """By memory, how often it was shown, helped, did harm and was cut; nothing about most."""
        for more in (self._ratings(), self._cuts()):
            for id, facts in more.items():
                told[id] = {**told.get(id, {}), **facts}
        return told

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

    def _count_uses(self, sessions: Sequence[tuple[Any, ...]]) -> None:
        """Memories that were mentioned or followed, each once per session; and how tasks ended."""
        named = {handle for *_, handles, _ in sessions for handle in handles}
        followed = {id for *_, told in self._rows.outcomes(self._since) for id in _used(told)}
        ids, visible = self._rows.known(named, followed)
        seen: set[tuple[str, str]] = set()
        for id, project, at, handles, _ in sessions:
            known = {ids[handle] for handle in handles if handle in ids}
            self._tally.add(self._place(project, ""), self._span.place(at), "used", len(known))
            seen |= {(id, memory) for memory in known}
        for at, project, session, verdict, told in self._rows.outcomes(self._since):
            place, period = self._place(project, ""), self._span.place(at)
            self._tally.add(place, period, f"tasks_{verdict}")
            fresh = {id for id in _used(told) if id in visible and (not session or (session, id) not in seen)}
            self._tally.add(place, period, "used", len(fresh))
            seen |= {(session, id) for id in fresh}

    def _judged(self, facts: Mapping[str, Mapping[str, Any]], watched: bool) -> Sums:
        """Every live memory with the twin of a lesson and what is wrong with it, summed up."""
        twins = find_twins(self._rows, self._lessons, self._order.threshold)
        handles, olders = dict[int, str](), set(twins.values())
        sums = Sums(self._span)
        for row in self._rows.memories():
            if self._end(row[8], *row[10:14]) is not None:
                continue
            seq, item = row[0], self._figures(row)
            item = _with(item, facts.get(item.id, {}))
            if seq in olders:
                handles[seq] = item.handle
            twin = handles.get(twins[seq], "") if seq in twins else ""  # the older one came before
            words = self._words(item, twin, watched) if item.lesson else ()
            sums.add(_with(item, {"duplicate_of": twin, "junk": words} if words else {}))
        return sums

    def _words(self, item: MemoryFigures, twin: str, watched: bool) -> tuple[str, ...]:
        shown = (
            item.shown + item.succeeded_after + item.failed_after
        )  # showings that were told but have no receipt here
        age_s = self._order.at - item.created_at
        evidence = JunkEvidence(item.code, twin, item.helped, item.hurt, shown, age_s)
        return junk(evidence, unused_after_days=self._order.limits.unused_after_days, watched=watched)

    def _periods(self, sums: Sums) -> Iterable[Period]:
        live = _summed([sum(steps) for steps in zip(*self._steps.values(), strict=True)] or [0] * self._span.count)
        for number, start in enumerate(self._span.starts()):
            counts = self._tally.counts(period=number)
            yield Period(start, counts, live[number], sums.born[number], sums.stale[number])

    def _projects(self, sums: Sums) -> Iterable[ProjectFigures]:
        """Each project and the hive, the largest first."""
        names = self._tally.projects() | self._steps.keys() | sums.projects()
        return sorted(map(partial(self._project, sums), names), key=lambda it: (-it.standing.lessons, it.project))

    def _project(self, sums: Sums, name: str) -> ProjectFigures:
        return ProjectFigures(
            name,
            sums.standing(name),
            self._tally.counts(name),
            tuple(_summed(self._steps.get(name) or [0] * self._span.count)[: self._span.count]),
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


def _used(told: Mapping[str, Any]) -> set[str]:
    return {id for name in ("cited", "applied") for id in told.get(name, ()) if isinstance(id, str)}


def _summed(steps: Iterable[int]) -> list[int]:
    """How many were live at the end of each period."""
    return list(accumulate(steps))
