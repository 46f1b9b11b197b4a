"""Statistics of `stats` and `report`: counts by status and period, use of each memory, duplicates and junk lessons.

A report first checks the cited code in the working tree, then streams the memory rows twice without keeping them.
"""

from __future__ import annotations

import heapq
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import nlargest
from itertools import accumulate, combinations
from sys import intern

from swarmlore.config import Settings
from swarmlore.domain.language.citations import STALE
from swarmlore.domain.language.similarity import jaccard_bigram
from swarmlore.domain.policy.contradiction import compare
from swarmlore.domain.policy.curation import WORDS, JunkEvidence, Limit, Limits, check, junk
from swarmlore.domain.records import LIVE_STATUSES, RAW_SOURCES, STRATEGY_SOURCE, Caller
from swarmlore.frozen import TYPE_CHECKING, field, fields, frozen, replace
from swarmlore.store.history import RATED
from swarmlore.store.memories import Filter
from swarmlore.store.report_queries import Figures
from swarmlore.store.search import EMBEDDER_META
from swarmlore.store.store import Store
from swarmlore.workspace.cited_code import UNLIMITED, Budget, CitationCheck

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row


_STATES = ("waiting", "running", "dead")
GROUPS = ("tier", "status", "kind", "category", "source")
UNCOUNTED = ("session", "owner", "path")  # filters of `list` for which the store keeps no ready counts


def count_listed(store: Store, caller: Caller, wanted: Filter) -> int | None:
    """Return how many memories `list` would show without a limit, or None if only listing them can tell."""
    if wanted.tags:
        return None
    if any(getattr(wanted, name) for name in UNCOUNTED):
        return store.count_selected(caller, wanted)
    asked = {"tier": wanted.every_tier, "source": wanted.every_source}
    asked |= {name: (value,) for name in ("kind", "category") if (value := getattr(wanted, name))}
    total = 0
    for *names, rows, hidden in store.counts(caller):
        facts = dict(zip(GROUPS, names, strict=True))
        fits = all(not values or facts[name] in values for name, values in asked.items())
        if fits and facts["source"] != wanted.without:
            total += _count_with_status(wanted.status, facts["status"], rows, hidden)
    return total


def _count_with_status(wanted: str, status: str, rows: int, hidden: int) -> int:
    """Return how many rows of one status match the status filter `wanted` of `list`."""
    if wanted in ("any", "forgotten"):
        return rows if wanted == "any" else hidden
    fits = status == wanted if wanted else status in LIVE_STATUSES
    return rows - hidden if fits else 0


def count(store: Store, caller: Caller) -> dict[str, Any]:
    """Return the figures of `stats`: memories, pending vectors, jobs, mail and the size of the store.

    Live memories are counted by tier, kind, category and source; all that are not forgotten by status.
    """
    groups: dict[str, dict[str, int]] = {name: {} for name in GROUPS}
    live = forgotten = 0
    for *names, rows, hidden in store.counts(caller):
        is_live = names[1] in LIVE_STATUSES
        for name, value in zip(GROUPS, names, strict=True):
            if rows > hidden and (is_live or name == "status"):
                groups[name][value] = groups[name].get(value, 0) + rows - hidden
        live += rows - hidden if is_live else 0
        forgotten += hidden
    waiting = store.count_waiting(caller)
    jobs = {state: sum(many for found, _, many, _ in store.job_counts(caller) if found == state) for state in _STATES}
    mail, unread = store.count_mail(caller)
    facts = store.engine.facts()
    return {
        "live": live,
        "forgotten": forgotten,
        **{f"by_{name}": dict(sorted(values.items())) for name, values in groups.items()},
        "waiting_for_vector": waiting.get("embed", 0),
        "waiting_to_settle": waiting.get("settle", 0),
        **{f"jobs_{state}": many for state, many in jobs.items()},
        "mail": mail,
        "mail_unread": unread,
        "embedder": store.meta(EMBEDDER_META) or "not used yet",
        "store": facts["path"],
        "bytes": facts["bytes"],
    }


@frozen
class MemoryFigures:
    """Use of one live memory: how often it was shown, cited, helpful, harmful or cut from a context block.

    `tokens` is its share of the blocks it was shown in. `cut` counts how often it was found but left out, `cut_reason`
    is the most frequent reason. `code` is the worst state of its cited code, `duplicate_of` the handle of the older
    lesson that says the same, `junk` what is wrong with it. `raw` material and a `strategy` are not lessons.
    """

    id: str
    handle: str
    text: str
    project: str
    tier: str
    kind: str
    source: str
    status: str
    created_at: float
    shown: int = 0
    cited: int = 0
    applied: int = 0
    helped: int = 0
    hurt: int = 0
    succeeded_after: int = 0
    failed_after: int = 0
    tokens: int = 0
    last_shown_at: float | None = None
    cut: int = 0
    cut_reason: str = ""
    raw: bool = False
    strategy: bool = False
    code: str = ""
    duplicate_of: str = ""
    junk: tuple[str, ...] = ()

    @property
    def lesson(self) -> bool:
        return not (self.raw or self.strategy)


@frozen
class Counts:
    """Event counts of one period, of one project, or of the whole report."""

    added: int = 0
    ended: int = 0
    moments: int = 0
    given: int = 0
    shown: int = 0
    used: int = 0
    helped: int = 0
    hurt: int = 0
    tokens: int = 0
    tasks_helpful: int = 0
    tasks_neutral: int = 0
    tasks_harmful: int = 0


@frozen
class Standing:
    """Number of live lessons, how many have which problem, and how much raw material and how many strategies exist."""

    lessons: int = 0
    raw: int = 0
    strategies: int = 0
    never_shown: int = 0
    cited_code: int = 0
    stale: int = 0
    moved: int = 0
    duplicate: int = 0
    harmful: int = 0
    unused: int = 0
    junk: int = 0


@frozen
class Period:
    """Figures of one period: its events, and how many memories were live at its end.

    Of the lessons learned in it, `cited_code` counts those that cite code and `stale` those that are stale today.
    """

    started_at: float
    counts: Counts
    live: int = 0
    cited_code: int = 0
    stale: int = 0


@frozen
class ProjectFigures:
    """Figures of one project or of the hive; `live` and `tokens` have one value per period."""

    project: str
    standing: Standing
    counts: Counts
    live: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()


@frozen
class Silence:
    """How many recalls gave the agent nothing, for one trigger and reason."""

    trigger: str
    reason: str
    count: int


@frozen
class Cut:
    """How many memories were found but left out of the context block, for one reason."""

    reason: str
    count: int


@frozen
class Report:
    """The content of `swarmlore report`, limited to what the caller may see.

    In a large store, `memories` lists only those with recorded use or a problem, and the newest;
    `memories_left_out` counts the others.
    """

    at: float
    project: str
    since: float
    period_s: float
    all_projects: bool
    standing: Standing
    counts: Counts
    sessions: int
    sessions_without_moment: int
    last_given_at: float | None
    periods: tuple[Period, ...] = ()
    projects: tuple[ProjectFigures, ...] = ()
    silences: tuple[Silence, ...] = ()
    cuts: tuple[Cut, ...] = ()
    limits: tuple[Limit, ...] = ()
    memories: tuple[MemoryFigures, ...] = field(default_factory=tuple)
    memories_left_out: int = 0

    @property
    def kept(self) -> bool:
        """Return True if no configured limit is exceeded."""
        return all(limit.kept for limit in self.limits)


DAY_S = 86_400.0
LENGTHS_S = (DAY_S, 7 * DAY_S, 28 * DAY_S)
MOST = 60  # periods that a plot can show
LONGEST_S = 3650 * DAY_S  # older events count in the first period: their clock was wrong or the date invented


@frozen
class Span:
    """Time axis of a report: `count` periods of equal length, the first of which begins at `start`."""

    start: float
    length: float
    count: int

    def place(self, at: float) -> int:
        """Return the number of the period that contains a time; a time outside counts in the first or last one."""
        return self.clamp(math.floor((at - self.start) / self.length))

    def clamp(self, number: float) -> int:
        return min(max(int(number), 0), self.count - 1)

    def starts(self) -> list[float]:
        return [self.start + number * self.length for number in range(self.count)]


def span_of(first: float, end: float) -> Span:
    """Divide the time from `first` to `end` into days, weeks or multiples of four weeks, at most 60 periods."""
    first = min(max(first, end - LONGEST_S), end)
    duration = end - first
    length = next((length for length in LENGTHS_S if duration / length < MOST - 1), LENGTHS_S[-1])
    if duration / length >= MOST - 1:
        length = math.ceil(duration / (MOST - 1) / LENGTHS_S[-1]) * LENGTHS_S[-1]
    start = math.floor(first / DAY_S) * DAY_S
    return Span(start, length, math.floor((end - start) / length) + 1)


class Tally:
    """Event counters by project and period, with totals over all projects and over all periods."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self._counters: dict[tuple[str | None, int | None], dict[str, float]] = {}

    def add(self, project: str, period: float, name: str, times: float = 1) -> None:
        """Add to the counter `name`; tokens come as shares of a block, so `counts` rounds the sums."""
        number = self.span.clamp(period)
        for key in ((project, number), (project, None), (None, number), (None, None)):
            counted = self._counters.setdefault(key, {})
            counted[name] = counted.get(name, 0) + times

    def projects(self) -> set[str]:
        return {project for project, _ in self._counters if project is not None}

    def counts(self, project: str | None = None, period: int | None = None) -> Counts:
        """Return the counts of one or of all projects, in one or in all periods."""
        return Counts(**{name: round(value) for name, value in self._counters.get((project, period), {}).items()})


LEAST_SHARED = 2  # index keys; a single shared one is mostly a word that two lessons have in common
MOST_HELD = 800_000  # pairs counted at a time; beyond that, those with the fewest shared keys are dropped
MOST_PAIRS = 200_000  # pairs compared at most, those with the most shared keys first


def find_duplicates(figures: Figures, lessons: Container[int], threshold: float) -> dict[int, int]:
    """Map the row of each lesson that repeats an older one to the row of that older lesson."""
    pairs = _candidates(figures.alike(), lessons)
    texts = figures.texts(sorted({seq for pair in pairs for seq in pair}))
    originals: dict[int, int] = {}
    for older, younger in sorted(pairs):
        if younger not in originals and is_duplicate(texts.get(older, ""), texts.get(younger, ""), threshold):
            originals[younger] = originals.get(older, older)
    return originals


def is_duplicate(older: str, younger: str, threshold: float) -> bool:
    """Return True if two lessons share enough word pairs and no important detail is in only one of them."""
    if not older or not younger:
        return False
    return jaccard_bigram(older, younger) >= threshold and not compare(younger, older).reasons


def _candidates(groups: Iterable[list[int]], lessons: Container[int]) -> list[tuple[int, int]]:
    """Return the row pairs of lessons that share at least two index keys, those with the most shared keys first."""
    counter = _PairCounter()
    for group in groups:
        counter.add((one << 32) + other for one, other in combinations([seq for seq in group if seq in lessons], 2))
    enough = ((count, pair) for pair, count in counter.counted() if count >= LEAST_SHARED)
    return [(pair >> 32, pair & 0xFFFFFFFF) for _, pair in nlargest(MOST_PAIRS, enough)]


class _PairCounter:
    """Count row pairs. Each pair is packed into one integer of an array, since a large store has millions."""

    def __init__(self) -> None:
        import numpy as np

        self._fresh = array("Q")
        self._pairs, self._counts = np.empty(0, np.uint64), np.empty(0, np.uint32)

    def add(self, pairs: Iterable[int]) -> None:
        self._fresh.extend(pairs)
        if len(self._fresh) > MOST_HELD // 2:
            self._merge_fresh()
            self._drop_rarest()

    def counted(self) -> Iterator[tuple[int, int]]:
        self._merge_fresh()
        return zip(map(int, self._pairs), map(int, self._counts), strict=True)

    def _merge_fresh(self) -> None:
        """Add the pairs that were collected since the last merge to the sorted counts."""
        import numpy as np

        fresh = np.frombuffer(self._fresh, np.uint64)
        counts = np.concatenate([self._counts, np.ones(len(fresh), np.uint32)])
        pairs = np.concatenate([self._pairs, fresh])
        self._fresh = array("Q")
        order = np.argsort(pairs)
        pairs, counts = pairs[order], counts[order]
        if len(pairs):
            first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
            pairs, counts = pairs[first], np.add.reduceat(counts, first, dtype=np.uint32)
        self._pairs, self._counts = pairs, counts

    def _drop_rarest(self) -> None:
        """Keep only the most frequent half if there are more pairs than MOST_HELD."""
        import numpy as np

        if len(self._pairs) > MOST_HELD:
            most = np.argsort(self._counts)[-(MOST_HELD // 2) :]
            self._pairs, self._counts = self._pairs[most], self._counts[most]


MOST_NAMED = 20_000  # memories listed in one report
OLDEST_NAMED = 1_000  # further ones: the oldest unused lessons
Ranked = tuple[bool, float, str, MemoryFigures]


class Sums:
    """Sums over all live memories by project, over lessons by period of creation, and the memories worth listing."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._standing: dict[str, Counter[str]] = {}
        self._shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._best: list[Ranked] = []
        self._oldest: list[Ranked] = []
        self.words: list[tuple[str, ...]] = []  # the problems of each lesson
        self.born: Counter[int] = Counter()  # lessons whose cited code can be checked
        self.stale: Counter[int] = Counter()
        self.count = 0

    def add(self, item: MemoryFigures) -> None:
        self.count += 1
        self._standing.setdefault(item.project, Counter()).update(_standing_of(item))
        if item.lesson:
            self.words.append(self._shared.setdefault(item.junk, item.junk))
            if item.code in ("unchanged", "moved", *STALE):
                period = self._span.place(item.created_at)
                self.born[period] += 1
                self.stale[period] += item.code in STALE
        _keep(self._best, (_is_notable(item), item.created_at, item.id, item), MOST_NAMED)
        if "unused" in item.junk:
            _keep(self._oldest, (False, -item.created_at, item.id, item), OLDEST_NAMED)

    def projects(self) -> set[str]:
        return set(self._standing)

    def standing(self, project: str | None = None) -> Standing:
        """Return the lesson counts of one project, or of all projects."""
        mine = self._standing.values() if project is None else [self._standing.get(project, Counter())]
        return Standing(**sum(mine, Counter()))

    def chosen(self) -> tuple[MemoryFigures, ...]:
        """Return the memories to list, newest first: notable ones, then the newest, and the oldest unused ones."""
        items = {item.id: item for *_, item in (*self._best, *self._oldest)}
        return tuple(sorted(items.values(), key=lambda item: (-item.created_at, item.id)))


def _is_notable(item: MemoryFigures) -> bool:
    """Return True if a memory was ever shown, cut or rated, or has another problem than being unused."""
    return bool(item.shown or item.cut or item.helped or item.hurt or item.tokens or set(item.junk) - {"unused"})


def _keep(heap: list[Ranked], ranked: Ranked, most: int) -> None:
    """Add an item to a heap that keeps the `most` highest ones."""
    heapq.heappush(heap, ranked) if len(heap) < most else heapq.heappushpop(heap, ranked)


def _standing_of(item: MemoryFigures) -> dict[str, int]:
    """Return the fields of `Standing` that one memory increases by 1."""
    if not item.lesson:
        return {"strategies" if item.strategy else "raw": 1}
    facts = {
        "lessons": True,
        "never_shown": not (item.shown + item.succeeded_after + item.failed_after),
        "cited_code": bool(item.code),
        "moved": item.code == "moved",
        "junk": bool(item.junk),
    }
    return {name: 1 for name, holds in facts.items() if holds} | {word: 1 for word in WORDS if word in item.junk}


HIVE = "(hive)"
TEXT_CHARS = 160
_WORST = ("gone", "changed", "moved", "unchecked", "unchanged")
# Patterns that remove the figures from a reason, so that equal reasons are counted together.
_FIGURES_IN_REASONS = (
    (r"^\d+ characters of context left.*", "too few characters of context left"),
    (r"^(nothing relevant enough): the best reached .*", r"\1"),
    (r"^headroom .* needed$", "too little headroom"),
    (r" \([^()]*\)$", ""),
    (r"; the receipt was not stored:.*", ""),
)


@frozen
class Order:
    """Parameters of a report: its time, project, how many days it looks back (0: all), limits and dedup threshold."""

    at: float
    project: str
    days: float = 0.0
    limits: Limits = Limits()
    threshold: float = 0.6


class _RowSet:
    """Set of row numbers with one byte per number, since a large store has a million lessons."""

    def __init__(self) -> None:
        self._flags = bytearray()

    def add(self, seq: int) -> None:
        if seq >= len(self._flags):
            self._flags.extend(bytes(seq + 1 - len(self._flags) + len(self._flags) // 2))
        self._flags[seq] = 1

    def __contains__(self, seq: object) -> bool:
        return isinstance(seq, int) and seq < len(self._flags) and self._flags[seq] == 1


class ReportBuilder:
    """Build one report: read the rows, count them by project and period, and judge every live lesson."""

    def __init__(self, rows: Figures, order: Order, code: Mapping[str, Sequence[str]]) -> None:
        """Prepare the time axis; `code` maps a memory's id to the states of the code it cites."""
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
        self._steps: dict[str, list[int]] = {}  # by project: per period, memories created less memories ended
        self._lessons = _RowSet()
        self._watched = False

    def report(self) -> Report:
        """Build the report. Rows are read twice and only listed ones are kept, as a store may hold a million."""
        sessions = list(self._rows.sessions(self._since))
        shown = self._showings()
        self._survey(shown.keys())
        self._count_moments()
        self._count_uses(sessions)
        facts = self._add_ratings_and_cuts(shown)
        counts = self._tally.counts()
        sums = self._judged(facts, self._watched or counts.moments > 0)
        chosen = sums.chosen()
        return Report(
            at=self._order.at,
            project=self._order.project,
            since=self._span.start,
            period_s=self._span.length,
            all_projects=self._rows.wide,
            standing=sums.standing(),
            counts=counts,
            sessions=len(sessions),
            sessions_without_moment=sum(not asked for *_, asked in sessions),
            last_given_at=self._last_given,
            periods=tuple(self._periods(sums)),
            projects=tuple(self._projects(sums)),
            silences=tuple(Silence(*key, count) for key, count in self._silences.most_common()),
            cuts=tuple(Cut(reason, count) for reason, count in self._reasons.most_common() if count),
            limits=check(sums.words, counts.moments, counts.given, self._order.limits),
            memories=chosen,
            memories_left_out=sums.count - len(chosen),
        )

    def _survey(self, shown: Container[str]) -> None:
        """Count when each memory, live or not, was created and ended, and collect the rows of live lessons."""
        for seq, id, _, _, project, tier, _, source, status, created_at, *times, _, _, _ in self._rows.memories():
            ended_at = self._end(status, *times)
            if ended_at is None and id in shown:
                self._watched = True
            place = self._place(project, tier)
            if source == STRATEGY_SOURCE:  # `live`, `added` and `ended` count only lessons and raw material
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
        """Return the project's current name, or HIVE for a memory that every project sees."""
        return HIVE if tier == "hive" else self._order.project if project in self._rows.names else project

    def _end(
        self, status: str, updated_at: float, valid_until: float | None, forgotten_at: float | None, expires_at: Any
    ) -> float | None:
        """Return when a memory was forgotten, superseded, archived or expired; None while it is live."""
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
        """Count an event inside the requested time; a memory's own figures cover its whole life instead."""
        if period >= 0 or not self._since:
            self._tally.add(self._place(project, ""), period, name, times)

    def _add_ratings_and_cuts(self, usage: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Add ratings and cuts to the showings of each memory; a memory without any of them has no key."""
        for more in (self._ratings(), self._cuts()):
            for id, facts in more.items():
                usage[id] = {**usage.get(id, {}), **facts}
        return usage

    def _showings(self) -> dict[str, dict[str, Any]]:
        usage: dict[str, dict[str, Any]] = {}
        for id, project, period, times, tokens, last in self._rows.showings(0.0, *self._cut):
            self._count(project, period, "shown", times)
            own = usage.setdefault(id, {"shown": 0, "tokens": 0.0, "last_shown_at": 0.0})
            own["shown"] += times
            own["tokens"] += float(tokens)  # PostgreSQL returns the sum as a Decimal
            own["last_shown_at"] = max(own["last_shown_at"], float(last))
        return {id: {**own, "tokens": round(own["tokens"])} for id, own in usage.items()}

    def _ratings(self) -> dict[str, dict[str, int]]:
        ratings: dict[str, dict[str, int]] = {}
        for id, action, project, period, times, own in self._rows.ratings(0.0, *self._cut):
            name = "helped" if action == RATED[True] else "hurt"
            if own and id not in self._strategies:  # a task also rates its strategy and would be counted twice
                self._count(project, period, name, own)
            ratings.setdefault(id, {"helped": 0, "hurt": 0})[name] += times
        return ratings

    def _count_uses(self, sessions: Sequence[tuple[Any, ...]]) -> None:
        """Count task verdicts, and memories that were cited or applied, each memory once per session."""
        named = {handle for *_, handles, _ in sessions for handle in handles}
        followed = {id for *_, outcome in self._rows.outcomes(self._since) for id in _used(outcome)}
        ids, visible = self._rows.known(named, followed)
        seen: set[tuple[str, str]] = set()
        for id, project, at, handles, _ in sessions:
            known = {ids[handle] for handle in handles if handle in ids}
            self._tally.add(self._place(project, ""), self._span.place(at), "used", len(known))
            seen |= {(id, memory) for memory in known}
        for at, project, session, verdict, outcome in self._rows.outcomes(self._since):
            place, period = self._place(project, ""), self._span.place(at)
            self._tally.add(place, period, f"tasks_{verdict}")
            fresh = {id for id in _used(outcome) if id in visible and (not session or (session, id) not in seen)}
            self._tally.add(place, period, "used", len(fresh))
            seen |= {(session, id) for id in fresh}

    def _judged(self, facts: Mapping[str, Mapping[str, Any]], watched: bool) -> Sums:
        """Sum up all live memories, each lesson with the older one it repeats and with its problems."""
        originals = find_duplicates(self._rows, self._lessons, self._order.threshold)
        handles, repeated = dict[int, str](), set(originals.values())
        sums = Sums(self._span)
        for row in self._rows.memories():
            if self._end(row[8], *row[10:14]) is not None:
                continue
            seq, item = row[0], self._figures(row)
            item = _with(item, facts.get(item.id, {}))
            if seq in repeated:
                handles[seq] = item.handle
            original = handles.get(originals[seq], "") if seq in originals else ""  # rows come oldest first
            problems = self._problems(item, original, watched) if item.lesson else ()
            sums.add(_with(item, {"duplicate_of": original, "junk": problems} if problems else {}))
        return sums

    def _problems(self, item: MemoryFigures, original: str, watched: bool) -> tuple[str, ...]:
        # Outcomes also count showings that were reported but have no receipt here.
        shown = item.shown + item.succeeded_after + item.failed_after
        age_s = self._order.at - item.created_at
        evidence = JunkEvidence(item.code, original, item.helped, item.hurt, shown, age_s)
        return junk(evidence, unused_after_days=self._order.limits.unused_after_days, watched=watched)

    def _periods(self, sums: Sums) -> Iterable[Period]:
        steps = [sum(steps) for steps in zip(*self._steps.values(), strict=True)] or [0] * self._span.count
        live = list(accumulate(steps))
        for number, start in enumerate(self._span.starts()):
            counts = self._tally.counts(period=number)
            yield Period(start, counts, live[number], sums.born[number], sums.stale[number])

    def _projects(self, sums: Sums) -> Iterable[ProjectFigures]:
        """Return the figures of each project and of the hive, the one with the most lessons first."""
        names = self._tally.projects() | self._steps.keys() | sums.projects()
        return sorted(map(partial(self._project, sums), names), key=lambda it: (-it.standing.lessons, it.project))

    def _project(self, sums: Sums, name: str) -> ProjectFigures:
        return ProjectFigures(
            name,
            sums.standing(name),
            self._tally.counts(name),
            tuple(accumulate(self._steps.get(name) or [0] * self._span.count))[: self._span.count],
            tuple(self._tally.counts(name, number).tokens for number in range(self._span.count)),
        )

    def _cuts(self) -> dict[str, dict[str, Any]]:
        """Map each memory's id to how often it was found but left out, and the most frequent reason."""
        cuts: dict[str, Counter[str]] = {}
        for id, why, times, lately in self._rows.cuts(self._since):
            reason = plain_reason(why)
            cuts.setdefault(id, Counter())[reason] += times
            self._reasons[reason] += int(lately)
        return {id: {"cut": own.total(), "cut_reason": own.most_common(1)[0][0]} for id, own in cuts.items()}


_COUNTERS = ("cited", "applied", "succeeded_after", "failed_after")


def plain_reason(reason: str) -> str:
    """Remove the figures from a reason, so that equal reasons are counted together."""
    for pattern, instead in _FIGURES_IN_REASONS:
        reason = re.sub(pattern, instead, reason)
    return reason or "no reason was recorded"


def _with(item: MemoryFigures, facts: Mapping[str, Any]) -> MemoryFigures:
    return replace(item, **facts) if facts else item


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS else line[: TEXT_CHARS - 1] + "…"


def _used(outcome: Mapping[str, Any]) -> set[str]:
    return {id for name in ("cited", "applied") for id in outcome.get(name, ()) if isinstance(id, str)}


class Reports:
    """Make reports over one store for one caller; `look` checks cited code in the project's working tree."""

    def __init__(
        self, store: Store, caller: Caller, settings: Settings, look: Callable[[Budget], CitationCheck]
    ) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._look = look

    def report(self, days: float, at: float, *, all_projects: bool = False) -> Report:
        """Report how the memories that the caller may see were used, over the `days` before `at`."""
        look = self._look(UNLIMITED)
        code = {memory.id: [cited.state for cited in look.cited(memory)] for memory in self._store.citing(self._caller)}
        rows = Figures(self._store, self._caller, all_projects=all_projects)
        limits = Limits(**{spec.name: getattr(self._settings.report, spec.name) for spec in fields(Limits)})
        order = Order(at, self._caller.project, days, limits, self._settings.knowledge.dedup_threshold)
        return ReportBuilder(rows, order, code).report()
