"""A report for one caller: the working tree is looked at first, then the rows are read once."""

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
from swarmlore.domain.language.similarity import jaccard_bigram
from swarmlore.domain.policy.contradiction import compare
from swarmlore.domain.policy.curation import WORDS, JunkEvidence, Limit, Limits, check, junk
from swarmlore.domain.policy.ranking import STALE
from swarmlore.domain.records import LIVE_STATUSES, RAW_SOURCES, STRATEGY_SOURCE, Caller
from swarmlore.frozen import TYPE_CHECKING, field, fields, frozen, replace
from swarmlore.store.history import RATED
from swarmlore.store.memories import Filter
from swarmlore.store.report_queries import Figures
from swarmlore.store.search import EMBEDDER_META
from swarmlore.store.store import Store
from swarmlore.workspace.cited_code import WHOLE, Budget, Look

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row


_STATES = ("waiting", "running", "dead")
GROUPS = ("tier", "status", "kind", "category", "source")
UNCOUNTED = ("session", "owner", "path")  # filters of `list` by which nothing is counted beforehand


def count_listed(store: Store, caller: Caller, wanted: Filter) -> int | None:
    """How many memories `list` would show without a limit; None where only listing them would tell."""
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
            total += _of_status(wanted.status, facts["status"], rows, hidden)
    return total


def _of_status(wanted: str, status: str, rows: int, hidden: int) -> int:
    """How many of rows with one status `list` shows where it is asked for `wanted`."""
    if wanted in ("any", "forgotten"):
        return rows if wanted == "any" else hidden
    fits = status == wanted if wanted else status in LIVE_STATUSES
    return rows - hidden if fits else 0


def count(store: Store, caller: Caller) -> dict[str, Any]:
    """Live and forgotten memories; the live ones by tier, kind, category and source, all that are not forgotten by
    status; the store's size; what waits."""
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
    """What one live memory did. `tokens` is its share of the blocks it was shown in; `cut` how often it was found
    and left out, `cut_reason` mostly why; `code` the state of what it cites, the worst first; `duplicate_of` the
    handle of the older lesson that says the same; `junk` what is wrong with it. `raw` material and a `strategy` are no
    lessons."""

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
    """Events, counted: of a period, of a project, or of all."""

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
    """Live lessons, and what is wrong with some of them; beside them raw material and strategies."""

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
    """One stretch of time: what happened in it, how many memories were live at its end, and of the lessons learned in
    it that cite code, how many are stale today."""

    started_at: float
    counts: Counts
    live: int = 0
    cited_code: int = 0
    stale: int = 0


@frozen
class ProjectFigures:
    """One project, or the hive; `live` and `tokens` by period."""

    project: str
    standing: Standing
    counts: Counts
    live: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()


@frozen
class Silence:
    """Moments at which nothing was given, for one reason."""

    trigger: str
    reason: str
    count: int


@frozen
class Cut:
    """Memories that were found and not shown, for one reason."""

    reason: str
    count: int


@frozen
class Report:
    """Everything a report says. Figures are of what its reader may see. Of very many memories, `memories` has those
    about which there is something to tell and the newest; `memories_left_out` is how many there are besides."""

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
        """Whether every limit is kept."""
        return all(limit.kept for limit in self.limits)


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


LEAST_SHARED = 2  # keys: one alone is mostly a word that two lessons have in common
MOST_HELD = 800_000  # pairs that are counted at once; beyond that those that share least are let go
MOST_PAIRS = 200_000  # compared at most; beyond that the pairs that share most come first


def find_twins(figures: Figures, lessons: Container[int], threshold: float) -> dict[int, int]:
    """The row of each lesson that repeats an older one, and that older one."""
    pairs = _candidates(figures.alike(), lessons)
    texts = figures.texts(sorted({seq for pair in pairs for seq in pair}))
    twins: dict[int, int] = {}
    for older, younger in sorted(pairs):
        if younger not in twins and same(texts.get(older, ""), texts.get(younger, ""), threshold):
            twins[younger] = twins.get(older, older)
    return twins


def same(one: str, other: str, threshold: float) -> bool:
    """Whether two lessons say the same: enough common word pairs, and nothing of weight that only one of them says."""
    if not one or not other:
        return False
    return jaccard_bigram(one, other) >= threshold and not compare(other, one).reasons


def _candidates(groups: Iterable[list[int]], lessons: Container[int]) -> list[tuple[int, int]]:
    found = _Pairs()
    for group in groups:
        found.add((one << 32) + other for one, other in combinations([seq for seq in group if seq in lessons], 2))
    enough = ((count, pair) for pair, count in found.counted() if count >= LEAST_SHARED)
    return [(pair >> 32, pair & 0xFFFFFFFF) for _, pair in nlargest(MOST_PAIRS, enough)]


class _Pairs:
    """How often pairs were met. A pair is one number, and numbers stand in arrays: of a large store there are
    millions."""

    def __init__(self) -> None:
        import numpy as np

        self._fresh = array("Q")
        self._pairs, self._counts = np.empty(0, np.uint64), np.empty(0, np.uint32)

    def add(self, pairs: Iterable[int]) -> None:
        self._fresh.extend(pairs)
        if len(self._fresh) > MOST_HELD // 2:
            self._join()
            self._let_go()

    def counted(self) -> Iterator[tuple[int, int]]:
        self._join()
        return zip(map(int, self._pairs), map(int, self._counts), strict=True)

    def _join(self) -> None:
        """Count the fresh ones with the others."""
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

    def _let_go(self) -> None:
        """Of too many, forget those that were met least."""
        import numpy as np

        if len(self._pairs) > MOST_HELD:
            most = np.argsort(self._counts)[-(MOST_HELD // 2) :]
            self._pairs, self._counts = self._pairs[most], self._counts[most]


MOST_NAMED = 20_000  # memories of one report
OLDEST_NAMED = 1_000  # of those, the unused ones that wait longest
Ranked = tuple[bool, float, str, MemoryFigures]


class Sums:
    """Figures of all memories, by project, and of lessons by the period they were born in."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._standing: dict[str, Counter[str]] = {}
        self._shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._best: list[Ranked] = []
        self._oldest: list[Ranked] = []
        self.words: list[tuple[str, ...]] = []  # of each lesson, what is wrong with it
        self.born: Counter[int] = Counter()  # lessons whose cited code can be looked at
        self.stale: Counter[int] = Counter()
        self.count = 0

    def add(self, item: MemoryFigures) -> None:
        self.count += 1
        self._standing.setdefault(item.project, Counter()).update(_counted(item))
        if item.lesson:
            self.words.append(self._shared.setdefault(item.junk, item.junk))
            if item.code in ("unchanged", "moved", *STALE):
                period = self._span.place(item.created_at)
                self.born[period] += 1
                self.stale[period] += item.code in STALE
        _keep(self._best, (_tells(item), item.created_at, item.id, item), MOST_NAMED)
        if "unused" in item.junk:
            _keep(self._oldest, (False, -item.created_at, item.id, item), OLDEST_NAMED)

    def projects(self) -> set[str]:
        return set(self._standing)

    def standing(self, project: str | None = None) -> Standing:
        """Of one project, or of all."""
        mine = self._standing.values() if project is None else [self._standing.get(project, Counter())]
        return Standing(**sum(mine, Counter()))

    def chosen(self) -> tuple[MemoryFigures, ...]:
        """The memories to tell, newest first: those about which there is something to tell, then the newest, and the
        unused ones that wait longest."""
        items = {item.id: item for *_, item in (*self._best, *self._oldest)}
        return tuple(sorted(items.values(), key=lambda item: (-item.created_at, item.id)))


def _tells(item: MemoryFigures) -> bool:
    """Whether there is more to tell than that it is there, or was never shown."""
    return bool(item.shown or item.cut or item.helped or item.hurt or item.tokens or set(item.junk) - {"unused"})


def _keep(heap: list[Ranked], ranked: Ranked, most: int) -> None:
    heapq.heappush(heap, ranked) if len(heap) < most else heapq.heappushpop(heap, ranked)


def _counted(item: MemoryFigures) -> dict[str, int]:
    """What one memory adds to a standing."""
    if not item.lesson:
        return {"strategies" if item.strategy else "raw": 1}
    found = {
        "lessons": True,
        "never_shown": not (item.shown + item.succeeded_after + item.failed_after),
        "cited_code": bool(item.code),
        "moved": item.code == "moved",
        "junk": bool(item.junk),
    }
    return {name: 1 for name, holds in found.items() if holds} | {word: 1 for word in WORDS if word in item.junk}


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


class Reporting:
    """Reports over one store, for one caller; `look` looks at the working tree of its project."""

    def __init__(self, store: Store, caller: Caller, settings: Settings, look: Callable[[Budget], Look]) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._look = look

    def report(self, days: float, at: float, *, all_projects: bool = False) -> Report:
        """Everything the caller may know about what the memory did, up to `at`."""
        look = self._look(WHOLE)
        code = {memory.id: [cited.state for cited in look.cited(memory)] for memory in self._store.citing(self._caller)}
        rows = Figures(self._store, self._caller, all_projects=all_projects)
        order = Order(at, self._caller.project, days, self._limits(), self._settings.knowledge.dedup_threshold)
        return Gathering(rows, order, code).report()

    def _limits(self) -> Limits:
        return Limits(**{spec.name: getattr(self._settings.report, spec.name) for spec in fields(Limits)})
