"""Strategies that worked or failed, kept as memories of a project, and which of them are worth listing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.policy.gate import PATTERN, in_force
from swarmlore.domain.policy.outcomes import (
    DEPRECATED,
    ESTABLISHED,
    HELPFUL,
    MULTIPLIERS,
    NEUTRAL,
    PROVEN,
    Record,
    avoid_line,
    carried,
    decayed,
    maturity,
    observed,
    rated,
    record_of,
)
from swarmlore.domain.records import Caller, Draft, Hit, Memory, Outcome, Outcomes, Part
from swarmlore.errors import InvalidInput, NotAllowed, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.history import RATED
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any


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
