"""Record ratings and task outcomes, and credit the memories that were shown, cited or applied."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping

from swarmlore.domain.policy.gate import scrub_value
from swarmlore.domain.policy.outcomes import (
    FAILURE_MODES,
    NEUTRAL,
    Criterion,
    Usage,
    criteria_of,
    outcome_score,
    rated,
    verdict_of,
    with_credit,
    with_outcome,
)
from swarmlore.domain.records import Caller, Memory, Outcome, Session, choose, make
from swarmlore.errors import InvalidInput, NotAllowed
from swarmlore.frozen import TYPE_CHECKING, fields, frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.history import RATED
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.retrieval.patterns import Patterns


MAX_TEXT = 4_000  # characters of a summary or an evaluation
MAX_NAME = 200  # characters of the name of a task, a strategy, a path
MAX_ITEMS = 100
MOST = 10**15  # milliseconds, errors or retries
JUDGED = 2_000  # newest tasks from which the weights of criteria are computed
ACKNOWLEDGED = ("applied", "ignored", "violated", "contradicted")
_TEXTS = ("summary", "evaluation", "failure_details")
_NAMES = ("session", "task", "strategy", "agent", "task_type")
_LISTS = ("files", "criteria", "cited", "applied", "tags")
_EXTRACTION_FIELDS = ("task_type", "tags", "persist", "failure_details")  # used to extract lessons, not to score


@frozen
class Report:
    """Report of how a task ended.

    `cited` and `applied` name memories by handle or id; `agent` is set when a lead reports for another agent.
    `task_type`, `tags`, `persist` and `failure_details` control which lessons are kept of it, and for whom.
    Unreported duration, errors, retries and files come from the session, if hooks counted them.
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
        """Return the fields that lesson extraction gets besides the outcome."""
        return {**{name: getattr(self, name) for name in _EXTRACTION_FIELDS}, "tags": list(self.tags)}


@frozen
class _Used:
    """Ids of the memories that a task cited or applied."""

    cited: frozenset[str]
    applied: frozenset[str]
    counted: frozenset[str] = frozenset()  # citations that the hooks counted during the session


class Feedback:
    """Record ratings and task outcomes for one caller."""

    def __init__(self, store: Store, caller: Caller, operation: Callable[[str], Operation], patterns: Patterns) -> None:
        self._store = store
        self._caller = caller
        self._operation = operation
        self._patterns = patterns

    def rate(self, memory: Memory, helpful: bool) -> Memory:
        """Count one rating of a memory as an operation that can be undone."""
        if not isinstance(helpful, bool):
            raise InvalidInput(
                f"helpful must be true or false, not {type(helpful).__name__}", "rate(ref, helpful=True)"
            )
        after = rated(memory, helpful, (act := self._operation("rate")).at)
        after = replace(after, access_count=after.access_count + 1, last_accessed_at=act.at)
        return self._store.perform(act, lambda act: self._store.revise(act, memory, after, RATED[helpful]))

    def acknowledge(self, memory: Memory, how: str) -> Memory:
        """Count that a shown memory was applied, ignored, violated or contradicted, without a new version."""
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
        """Record a task outcome, credit the memories shown for it, and call `after`, all in one transaction."""
        report = report_of(facts)
        if report.agent not in ("", self._caller.agent) and not self._caller.leads:
            raise NotAllowed("this is another agent's task", "only a lead or a person can report for others")
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
        """Compute the weight of each success criterion from the newest outcomes that the caller may see."""
        outcomes = self._store.outcomes(self._caller, limit=JUDGED)
        return criteria_of(((name, item.verdict, item.at) for item in outcomes for name in item.criteria), now)

    def _record(
        self, act: Operation, report: Report, named: Mapping[str, list[Memory]], strategy: Memory | None
    ) -> Outcome:
        who = replace(self._caller, agent=report.agent or self._caller.agent)
        report = replace(report, session=self._store.session_of(who, report.session))
        session = self._store.session(who, report.session) if report.session else None
        report = _with_session_figures(report, session, act.at)
        score = outcome_score(report.success, report.duration_ms, report.errors or 0, report.retries or 0)
        verdict = verdict_of(score)
        shown = self._store.showings(self._caller, report.session, None if self._caller.leads else who.agent)
        memories = {id: memory for id in shown if (memory := self._store.get(self._caller, id)) is not None}
        used = _used(report, named, memories.values(), _recorded(session, "cited"))
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
        """Adjust the outcome counters of memories inside the transaction that undoes or restores an outcome."""
        undone = self._store.undone(operation)
        outcome = self._store.outcome(self._caller, undone or operation)
        if outcome is None or outcome.told_before:
            return
        session = self._store.session(replace(self._caller, agent=outcome.agent), outcome.session)
        cited_before = _recorded(session, "cited")
        for id in {*outcome.shown, *outcome.cited, *outcome.applied}:
            memory = self._store.get(self._caller, id)
            if memory is not None:
                cited = id in outcome.cited and memory.handle not in cited_before  # hooks counted those at once
                part = Usage(cited, id in outcome.applied, id not in outcome.shown)
                self._store.count_outcomes(with_outcome(memory, outcome.verdict, part, 1 if undone else -1))

    def _credit(self, act: Operation, memory: Memory, verdict: str, cues: Mapping[str, str], used: _Used) -> None:
        """Count the outcome on a memory that was shown; rate it as well, audited, if the task used it."""
        now = self._store.get(self._caller, memory.id) or memory
        part = Usage(memory.id in used.cited - used.counted, memory.id in used.applied, not cues)
        if memory.id not in used.cited | used.applied:
            self._store.count_outcomes(with_outcome(now, verdict, part))
            return
        after = with_credit(now, verdict, cues, act.at, part)
        self._store.revise(act, now, after, RATED[verdict == "helpful"], "a task that used it")


def report_of(facts: Mapping[str, Any]) -> Report:
    """Return a validated report of a task with its texts redacted and shortened."""
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


def _with_session_figures(report: Report, session: Session | None, now: float) -> Report:
    """Fill unreported figures from the session, unless the report is about one task within the session."""
    known = session if session is not None and not report.task else None
    counted = {name: known.extra.get(name) if known else None for name in ("errors", "retries")}
    figures = {name: value if isinstance(value, int) and value >= 0 else 0 for name, value in counted.items()}
    reported = {name: getattr(report, name) for name in figures}
    return replace(
        report,
        files=report.files or _recorded(known, "files")[:MAX_ITEMS],
        **{name: figures[name] if value is None else value for name, value in reported.items()},
        duration_ms=_duration_ms(known, now) if report.duration_ms is None else report.duration_ms,
    )


def _duration_ms(session: Session | None, now: float) -> float | None:
    """Return the duration of a session, up to now if it is still open."""
    if session is None or not session.started_at:
        return None
    return max(0.0, round(1000 * ((session.ended_at or now) - session.started_at)))


def _recorded(session: Session | None, name: str) -> tuple[str, ...]:
    """Return a list that hooks recorded in a session: its `files`, or the handles that the agent `cited`."""
    listed = session.extra.get(name) if session else ()
    return tuple(map(str, listed)) if isinstance(listed, (list, tuple)) else ()


def _used(
    report: Report, named: Mapping[str, Iterable[Memory]], shown: Iterable[Memory], cited_before: Container[str]
) -> _Used:
    """Return the memories that the report names or mentions by handle, and those cited earlier in the session."""
    shown = list(shown)
    words = set(re.findall(r"[0-9A-Za-z_.:-]+", f"{report.summary} {report.evaluation} {report.strategy}".lower()))
    mentioned = {memory.id for memory in shown if memory.handle.lower() in words or memory.id.lower() in words}
    counted = frozenset(memory.id for memory in shown if memory.handle in cited_before)
    cited, applied = ({memory.id for memory in named[name]} for name in ("cited", "applied"))
    return _Used(counted | cited | mentioned, frozenset(applied), counted)


def _outcome(
    act: Operation, report: Report, score: float, verdict: str, used: _Used, shown: tuple[str, ...]
) -> Outcome:
    excluded = ("success", "cited", "applied", "errors", "retries", "agent", *_EXTRACTION_FIELDS)
    facts = {spec.name: getattr(report, spec.name) for spec in fields(Report) if spec.name not in excluded}
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
        **facts,
    )
