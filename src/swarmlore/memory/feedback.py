"""Approaches that worked or failed, as memories of the project: how they are kept, and which are worth listing.

An approach is a swarm memory of kind `pattern_seed` and source `outcome`; its record goes with it in `extra`. One that
fails too often is out of sight, and a second memory says what to avoid, under the id `anti-<id>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.policy.gate import PATTERN, in_force, scrub_value
from swarmlore.domain.policy.outcomes import (
    DEPRECATED,
    ESTABLISHED,
    FAILURE_MODES,
    HELPFUL,
    MULTIPLIERS,
    NEUTRAL,
    PROVEN,
    Criterion,
    PartPlayed,
    Record,
    avoid_line,
    carried,
    credited,
    criteria_of,
    decayed,
    maturity,
    observed,
    outcome_score,
    rated,
    record_of,
    verdict_of,
    witnessed,
)
from swarmlore.domain.records import Caller, Draft, Hit, Memory, Outcome, Outcomes, Part, Session, choose, make
from swarmlore.errors import InvalidInput, NotAllowed, Rejected
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.history import RATED
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any


MAX_TEXT = 4_000  # of a summary or an evaluation
MAX_NAME = 200  # of a task, a strategy, a path
MAX_ITEMS = 100
MOST = 10**15  # of milliseconds, errors or retries
JUDGED = 2_000  # newest tasks that the weights of criteria are made of
ACKNOWLEDGED = ("applied", "ignored", "violated", "contradicted")
_TEXTS = ("summary", "evaluation", "failure_details")
_NAMES = ("session", "task", "strategy", "agent", "task_type")
_LISTS = ("files", "criteria", "cited", "applied", "tags")
_LATER = ("task_type", "tags", "persist", "failure_details")  # for what is kept of a task, not for its score


@frozen
class Report:
    """What was said about the end of a task. `cited` and `applied` name memories by handle or id, `agent` whose task
    it was where a lead reports for another. `task_type`, `tags`, `persist` and `failure_details` say what is kept of it
    and for whom.

    Duration, errors, retries and files that nobody reports are those of the session, if hooks counted them.
    """

    success: bool
    session: str = ""
    task: str = ""
    duration_ms: float | None = None
    errors: int | None = None
    retries: int | None = None
    files: tuple[str, ...] = ()
    summary: str = ""
    evaluation: str = ""
    strategy: str = ""
    criteria: tuple[str, ...] = ()
    failure_mode: str = ""
    cited: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()
    agent: str = ""
    task_type: str = ""
    tags: tuple[str, ...] = ()
    persist: bool = False
    failure_details: str = ""

    @property
    def kept(self) -> dict[str, Any]:
        """What the memory-catcher is told beside the outcome."""
        said = {name: getattr(self, name) for name in _LATER}
        return {**said, "tags": list(self.tags)}


@frozen
class _Used:
    """The memories that a task used: mentioned, or said to have been followed."""

    cited: frozenset[str]
    applied: frozenset[str]
    counted: frozenset[str] = frozenset()  # mentions that were counted when they were made


class Learning:
    """Ratings and outcomes in one store, for one caller."""

    def __init__(self, store: Store, caller: Caller, operation: Callable[[str], Operation], patterns: Patterns) -> None:
        self._store = store
        self._caller = caller
        self._operation = operation
        self._patterns = patterns

    def rate(self, memory: Memory, helpful: bool) -> Memory:
        """Count one rating; it can be undone."""
        if not isinstance(helpful, bool):
            raise InvalidInput(
                f"helpful must be true or false, not {type(helpful).__name__}", "rate(ref, helpful=True)"
            )
        after = rated(memory, helpful, (act := self._operation("rate")).at)
        after = replace(after, access_count=after.access_count + 1, last_accessed_at=act.at)
        return self._store.perform(act, lambda act: self._store.revise(act, memory, after, RATED[helpful]))

    def acknowledge(self, memory: Memory, how: str) -> Memory:
        """Count what an agent did with a memory that it was shown. A counter: no new version, and no history."""
        choose("way to take a memory", [how], ACKNOWLEDGED)

        def work() -> Memory:
            with self._store.engine.writing():
                now = self._store.get(self._caller, memory.id) or memory
                counted = replace(now.outcomes, **{how: getattr(now.outcomes, how) + 1})
                self._store.count_outcomes(after := replace(now, outcomes=counted))
                return after

        return self._store.look(work)

    def record(
        self,
        facts: Mapping[str, Any],
        resolve: Callable[[str], Memory],
        after: Callable[[Outcome, Mapping[str, Any]], None] | None = None,
    ) -> Outcome:
        """Record how a task ended and credit the memories shown for it, in one transaction; `after` is part of that."""
        report = report_of(facts)
        self._check_agent(report.agent)
        named = {name: [resolve(ref) for ref in getattr(report, name)] for name in ("cited", "applied")}
        act = self._operation("outcome")
        strategy = self._patterns.draft(report.strategy, act) if report.strategy else None

        def work(act: Operation) -> Outcome:
            outcome = self._record(act, report, named, strategy)
            if after is not None:
                after(outcome, report.kept)
            return outcome

        return self._store.perform(act, work)

    def criteria(self, now: float) -> tuple[Criterion, ...]:
        """What the criteria are worth by which tasks were judged, from the outcomes that the caller may see."""
        found = self._store.outcomes(self._caller, limit=JUDGED)
        return criteria_of(((name, item.verdict, item.at) for item in found for name in item.criteria), now)

    def _check_agent(self, agent: str) -> None:
        if agent not in ("", self._caller.agent) and not self._caller.leads:
            raise NotAllowed("this is another agent's task", "only a lead or a person can report for others")

    def _record(
        self, act: Operation, report: Report, named: Mapping[str, list[Memory]], strategy: Memory | None
    ) -> Outcome:
        who = replace(self._caller, agent=report.agent or self._caller.agent)
        report = replace(report, session=self._store.session_of(who, report.session))
        session = self._store.session(who, report.session) if report.session else None
        report = _filled(report, session, act.at)
        score = outcome_score(report.success, report.duration_ms, report.errors or 0, report.retries or 0)
        verdict = verdict_of(score)
        shown = self._store.showings(self._caller, report.session, None if self._caller.leads else who.agent)
        memories = {id: memory for id in shown if (memory := self._store.get(self._caller, id)) is not None}
        used = _used(report, named, memories.values(), _cited_in(session))
        memories |= {memory.id: memory for listed in named.values() for memory in listed}
        credited_before = self._store.was_credited(who, report.session, report.task)
        if verdict != NEUTRAL and not credited_before:
            for memory in memories.values():
                self._credit(act, memory, verdict, shown.get(memory.id, {}), used)
        outcome = _outcome(act, report, score, verdict, used, tuple(id for id in shown if id in memories))
        outcome = replace(outcome, told_before=credited_before)
        if strategy is not None and not credited_before:
            self._patterns.observe(act, strategy, outcome)
        self._store.put_outcome(who, outcome, act)
        return outcome

    def recount(self, operation: str) -> None:
        """Let the counters follow, where an outcome was undone or an undo of one was: part of that transaction."""
        undone = self._store.undone(operation)
        outcome = self._store.outcome(self._caller, undone or operation)
        if outcome is None or outcome.told_before:
            return
        mentioned = _cited_in(self._store.session(replace(self._caller, agent=outcome.agent), outcome.session))
        for id in {*outcome.shown, *outcome.cited, *outcome.applied}:
            memory = self._store.get(self._caller, id)
            if memory is not None:
                cited = id in outcome.cited and memory.handle not in mentioned  # those count since they were made
                part = PartPlayed(cited, id in outcome.applied, id not in outcome.shown)
                self._store.count_outcomes(witnessed(memory, outcome.verdict, part, 1 if undone else -1))

    def _credit(self, act: Operation, memory: Memory, verdict: str, cues: Mapping[str, str], used: _Used) -> None:
        """Whoever was only shown is counted; whoever was used is rated as well, and that is audited."""
        now = self._store.get(self._caller, memory.id) or memory
        part = PartPlayed(memory.id in used.cited - used.counted, memory.id in used.applied, not cues)
        if memory.id not in used.cited | used.applied:
            self._store.count_outcomes(witnessed(now, verdict, part))
            return
        after = credited(now, verdict, cues, act.at, part)
        self._store.revise(act, now, after, RATED[verdict == "helpful"], "a task that used it")


def report_of(facts: Mapping[str, Any]) -> Report:
    """What was reported, checked, shortened and without secrets."""
    report: Report = make(Report, facts, "outcome")
    for name in ("duration_ms", "errors", "retries"):
        value = getattr(report, name)
        if value is not None and not 0 <= value <= MOST:
            raise InvalidInput(f"{name} is no count", f"a number from 0 to {MOST}")
    if report.failure_mode:
        choose("failure mode", [report.failure_mode], FAILURE_MODES)
        if report.success:
            raise InvalidInput("a task that was done has no failure mode", "leave it out, or say that it failed")
    clean = {name: scrub_value(getattr(report, name))[:MAX_TEXT] for name in _TEXTS}
    clean |= {name: scrub_value(getattr(report, name)).strip()[:MAX_NAME] for name in _NAMES}
    for name in _LISTS:
        listed = [scrub_value(item).strip()[:MAX_NAME] for item in getattr(report, name)[:MAX_ITEMS]]
        clean[name] = tuple(dict.fromkeys(item for item in listed if item))
    return replace(report, **clean)


def _filled(report: Report, session: Session | None, now: float) -> Report:
    """The report with what was counted in its session; figures of a session are not those of one task in it."""
    known = session if session is not None and not report.task else None
    counted = {name: known.extra.get(name) if known else None for name in ("errors", "retries")}
    figures = {name: value if isinstance(value, int) and value >= 0 else 0 for name, value in counted.items()}
    said = {name: getattr(report, name) for name in figures}
    return replace(
        report,
        files=report.files or _files_of(known),
        **{name: figures[name] if value is None else value for name, value in said.items()},
        duration_ms=_lasted(known, now) if report.duration_ms is None else report.duration_ms,
    )


def _lasted(session: Session | None, now: float) -> float | None:
    """How long a session has taken so far, or took if it is over."""
    if session is None or not session.started_at:
        return None
    return max(0.0, round(1000 * ((session.ended_at or now) - session.started_at)))


def _files_of(session: Session | None) -> tuple[str, ...]:
    listed = session.extra.get("files") if session else ()
    return tuple(map(str, listed))[:MAX_ITEMS] if isinstance(listed, (list, tuple)) else ()


def _cited_in(session: Session | None) -> frozenset[str]:
    """Handles that were seen in the agent's words during a session."""
    listed = session.extra.get("cited") if session else ()
    return frozenset(map(str, listed)) if isinstance(listed, (list, tuple)) else frozenset()


def _used(
    report: Report, named: Mapping[str, Iterable[Memory]], shown: Iterable[Memory], cited_before: frozenset[str]
) -> _Used:
    """What the report names, what its words mention by handle, and what was mentioned before."""
    shown = list(shown)
    words = set(re.findall(r"[0-9A-Za-z_.:-]+", f"{report.summary} {report.evaluation} {report.strategy}".lower()))
    mentioned = {memory.id for memory in shown if memory.handle.lower() in words or memory.id.lower() in words}
    counted = frozenset(memory.id for memory in shown if memory.handle in cited_before)
    cited, applied = ({memory.id for memory in named[name]} for name in ("cited", "applied"))
    return _Used(counted | cited | mentioned, frozenset(applied), counted)


def _outcome(
    act: Operation, report: Report, score: float, verdict: str, used: _Used, shown: tuple[str, ...]
) -> Outcome:
    named = ("success", "cited", "applied", "errors", "retries", "agent", *_LATER)
    said = {spec.name: getattr(report, spec.name) for spec in fields(Report) if spec.name not in named}
    return Outcome(
        act.id,
        act.at,
        report.success,
        score,
        verdict,
        project=act.caller.project,
        agent=report.agent or act.caller.agent,
        cited=tuple(sorted(used.cited)),
        applied=tuple(sorted(used.applied)),
        errors=report.errors or 0,
        retries=report.retries or 0,
        shown=shown,
        **said,
    )


ENTITY = "chore:strategies"  # by which all of them are found
AVOIDED = "anti-"
KEY, AGAINST = "strategy:", ":avoid"
LISTED = 3  # of either kind
USED = "a task was approached like this"
_STATUS = {DEPRECATED: "deprecated", ESTABLISHED: "established", PROVEN: "established"}


@frozen
class Pattern:
    """An approach as it stands now. `helpful` and `harmful` are decayed sums; `avoid` is what is said against it."""

    memory: Memory
    maturity: str
    multiplier: float
    helpful: float
    harmful: float
    succeeded: int
    failed: int
    avoid: str = ""


class Patterns:
    """The approaches of one project, for one caller."""

    def __init__(self, store: Store, caller: Caller, prepare: Callable[[Draft, Operation], Memory]) -> None:
        self._store = store
        self._caller = caller
        self._prepare = prepare

    def draft(self, strategy: str, act: Operation) -> Memory | None:
        """The memory that an approach would be, past the gate; None where that refuses it, or memory is off."""
        key = key_of(strategy)
        if not key:
            return None
        facts: dict[str, Any] = {"kind": "pattern_seed", "category": "pattern", "tier": "swarm", "source": "outcome"}
        try:
            return self._prepare(Draft(strategy, **facts, key=key, entities=(ENTITY,), auto_generated=True), act)
        except (Rejected, InvalidInput, NotAllowed):  # the task is worth recording whatever its approach is called
            return None

    def observe(self, act: Operation, fresh: Memory, outcome: Outcome) -> None:
        """Count one task for its approach, as part of the transaction that records the task."""
        known = self._known(fresh.key)
        if known is not None and not _counts(known):
            return
        before = record_of(known.extra) if known is not None else None
        record = observed(before or Record(), outcome.verdict, outcome.success, act.at)
        against = avoid_line((known or fresh).text, record.succeeded, record.failed)
        grown = DEPRECATED if against else maturity(record.helpful, record.harmful)
        changed = {"extra": {PATTERN: carried(record)}, "status": _STATUS.get(grown, "candidate")}
        pattern = self._keep(act, known, fresh, changed, outcome.verdict)
        if pattern.status != "quarantined":
            self._speak_against(act, pattern, against)

    def _known(self, key: str) -> Memory | None:
        """The memory of an approach; one that an undo hid is as if it had never been there."""
        found = [memory for memory in self._store.of_key(self._caller, key, ("swarm",)) if not self._was_undone(memory)]
        return found[-1] if found else None

    def _was_undone(self, memory: Memory) -> bool:
        if memory.forgotten_at is None:
            return False
        past = self._store.pasts([memory.id]).get(memory.id)
        return past is not None and past.verb == "undo"

    def _keep(
        self, act: Operation, known: Memory | None, fresh: Memory, changed: Mapping[str, Any], verdict: str
    ) -> Memory:
        """The memory of an approach after one more task; a neutral end that changes no status is only counted."""
        if known is None:
            born = replace(fresh, extra=changed["extra"], status=changed["status"] if fresh.live else fresh.status)
            return self._store.put(act, born, reason=USED)
        after = replace(known, **changed, trust=min(known.trust, fresh.trust))
        if verdict != NEUTRAL:
            after = rated(after, verdict == HELPFUL, act.at)
            return self._store.revise(act, known, after, RATED[verdict == HELPFUL], USED)
        if (after.status, after.trust) != (known.status, known.trust):
            return self._store.revise(act, known, after, "updated", USED)
        self._store.count_outcomes(after)
        return after

    def _speak_against(self, act: Operation, pattern: Memory, text: str) -> None:
        """Say it once, and keep it true: the line follows the counts, and goes when the approach works again."""
        known = self._store.get(self._caller, AVOIDED + pattern.id)
        if known is None:
            if text:
                avoiding = _avoiding(pattern, text, act.at)
                self._store.put(act, avoiding, reason="most tasks that were approached like this failed")
            return
        after = self._followed(known, pattern, text)
        if after is not None and after != known:
            after = replace(after, updated_at=act.at)
            self._store.revise(act, known, after, "updated", USED)

    def _followed(self, known: Memory, pattern: Memory, text: str) -> Memory | None:
        """The line as the counts want it; None where somebody took it away: it is not said again."""
        undone = self._was_undone(known)
        if not undone and (known.forgotten_at is not None or known.status not in ("candidate", "deprecated")):
            return None
        if undone and not text:
            return None
        status = "candidate" if text else "deprecated"
        trust = min(known.trust, pattern.trust)
        extra = pattern.extra if text else known.extra
        return replace(known, text=text or known.text, status=status, trust=trust, extra=extra, forgotten_at=None)

    def erase(self, act: Operation, memory: Memory) -> None:
        """Where an approach is erased, its name goes everywhere: from what is said for and against it, and from the
        tasks that the caller may see."""
        if ENTITY not in memory.entities or not memory.key.startswith(KEY):
            return
        own = memory.id.removeprefix(AVOIDED)
        for id in (own, AVOIDED + own):
            other = self._store.get(self._caller, id) if id != memory.id else None
            if other is not None:
                self._store.erase(act, other)
        key = memory.key.removesuffix(AGAINST)
        for strategy in self._store.strategies(self._caller):
            if key_of(strategy) == key:
                self._store.erase_strategy(self._caller, strategy)

    def all(self, now: float) -> tuple[Pattern, ...]:
        """The approaches that may be shown, best first, then those to avoid, most often failed first."""
        found = [memory for memory in self._store.about(self._caller, [ENTITY]) if in_force(memory, now)]
        records = ((memory, _record(memory)) for memory in found)
        patterns = [_pattern(memory, record, now) for memory, record in records if record is not None]
        return tuple(sorted(patterns, key=_order))

    def listed(self, now: float, most: int = LISTED) -> list[Hit]:
        """What to tell before a task: what is proven, and what is to be avoided; `most` of either."""
        patterns = self.all(now)
        proven = [item for item in patterns if not item.avoid and item.maturity == PROVEN][:most]
        avoid = [item for item in patterns if item.avoid][:most]
        return [_hit(item) for item in (*proven, *avoid)]

    def told(self, hits: Iterable[Hit], now: float) -> list[Hit]:
        """Hits that may be shown unasked: of approaches only what is proven, in these words, or to be avoided."""
        shown = ((hit, _told(hit.memory, now)) for hit in hits)
        return [replace(hit, memory=memory) for hit, memory in shown if memory is not None]


def key_of(strategy: str) -> str:
    """What two names of the same approach have in common; nothing for a name without a word in it."""
    words = normalize(strategy)
    return f"{KEY}{blake2b(words.encode(), digest_size=10).hexdigest()}" if words else ""


def _counts(memory: Memory) -> bool:
    """Whether a task is still counted: not where somebody forgot, quarantined or archived the approach."""
    return memory.forgotten_at is None and (memory.live or memory.status == "deprecated")


def _avoiding(pattern: Memory, text: str, at: float) -> Memory:
    return replace(
        pattern,
        id=AVOIDED + pattern.id,
        handle="",
        text=text,
        category="mistake-pattern",
        status="candidate",
        key=pattern.key + AGAINST,
        source_ref={"derived_from": [pattern.id]},
        created_at=at,
        updated_at=at,
        feedback_score=1.0,
        feedback_count=0,
        last_validated_at=None,
        outcomes=Outcomes(),
        situations=(),
        access_count=0,
        last_accessed_at=None,
        version=1,
    )


def _pattern(memory: Memory, record: Record, now: float) -> Pattern:
    sums = decayed(record, now)
    avoid = memory.text if memory.id.startswith(AVOIDED) else ""
    grown = DEPRECATED if avoid else maturity(sums.helpful, sums.harmful)
    return Pattern(
        memory, grown, MULTIPLIERS[grown], sums.helpful, sums.harmful, record.succeeded, record.failed, avoid
    )


def _order(item: Pattern) -> tuple[bool, float, float, str]:
    value = -float(item.failed) if item.avoid else -item.multiplier * item.helpful
    return (bool(item.avoid), value, -item.memory.updated_at, item.memory.id)


def _hit(item: Pattern) -> Hit:
    """An approach as one line: what is proven says so and by how many tasks."""
    if item.avoid:
        return Hit(item.memory, float(item.failed), (Part("avoid", float(item.failed), "failed too often"),))
    score = item.multiplier * item.helpful
    return Hit(_praised(item), score, (Part("proven", score, f"{item.helpful:.1f} times lately"),))


def _praised(item: Pattern) -> Memory:
    text = (
        f"Proven approach: {item.memory.text.rstrip('.')}. Worked {item.succeeded}/{item.succeeded + item.failed} times"
    )
    return replace(item.memory, text=text)


def _record(memory: Memory) -> Record | None:
    """The record of an approach. One that did not come from the ends of tasks is a claim, and counts for nothing."""
    ours = memory.source == "outcome" and memory.key.startswith(KEY) and ENTITY in memory.entities
    return record_of(memory.extra) if ours else None


def _told(memory: Memory, now: float) -> Memory | None:
    record = _record(memory)
    if record is None or memory.id.startswith(AVOIDED):
        return memory
    item = _pattern(memory, record, now)
    return _praised(item) if item.maturity == PROVEN else None
