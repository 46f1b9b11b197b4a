"""Track strategies of tasks as memories: count successes and failures, list proven ones and those to avoid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.policy.new_memory import PATTERN, in_force
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


ENTITY = "chore:strategies"  # marks all of them, so that they can be found
AVOIDED = "anti-"
KEY, AGAINST = "strategy:", ":avoid"
LISTED = 3  # proven approaches, and as many to avoid
USED = "a task was approached like this"
_STATUS = {DEPRECATED: "deprecated", ESTABLISHED: "established", PROVEN: "established"}


@frozen
class Pattern:
    """An approach with its current record; `helpful` and `harmful` are decayed sums, `avoid` is a warning text."""

    memory: Memory
    maturity: str
    multiplier: float
    helpful: float
    harmful: float
    succeeded: int
    failed: int
    avoid: str = ""


class Patterns:
    """Record, list and erase the approaches of one project, for one caller."""

    def __init__(self, store: Store, caller: Caller, prepare: Callable[[Draft, Operation], Memory]) -> None:
        self._store = store
        self._caller = caller
        self._prepare = prepare

    def draft(self, strategy: str, act: Operation) -> Memory | None:
        """Return the memory that an approach would become; None if the gate refuses it or memory is off."""
        key = key_of(strategy)
        if not key:
            return None
        facts: dict[str, Any] = {"kind": "pattern_seed", "category": "pattern", "tier": "swarm", "source": "outcome"}
        try:
            return self._prepare(Draft(strategy, **facts, key=key, entities=(ENTITY,), auto_generated=True), act)
        except (Rejected, InvalidInput, NotAllowed):  # the outcome of the task is recorded without its approach
            return None

    def observe(self, act: Operation, fresh: Memory, outcome: Outcome) -> None:
        """Count one task for its approach, inside the transaction that records the task."""
        known = self._known(fresh.key)
        if known is not None and not _counts(known):
            return
        before = record_of(known.extra) if known is not None else None
        record = observed(before or Record(), outcome.verdict, outcome.success, act.at)
        against = avoid_line((known or fresh).text, record.succeeded, record.failed)
        level = DEPRECATED if against else maturity(record.helpful, record.harmful)
        changed = {"extra": {PATTERN: carried(record)}, "status": _STATUS.get(level, "candidate")}
        pattern = self._store_pattern(act, known, fresh, changed, outcome.verdict)
        if pattern.status != "quarantined":
            self._update_warning(act, pattern, against)

    def _known(self, key: str) -> Memory | None:
        """Return the memory of an approach, ignoring one that an undo hid."""
        rows = [memory for memory in self._store.of_key(self._caller, key, ("swarm",)) if not self._was_undone(memory)]
        return rows[-1] if rows else None

    def _was_undone(self, memory: Memory) -> bool:
        if memory.forgotten_at is None:
            return False
        past = self._store.pasts([memory.id]).get(memory.id)
        return past is not None and past.verb == "undo"

    def _store_pattern(
        self, act: Operation, known: Memory | None, fresh: Memory, changed: Mapping[str, Any], verdict: str
    ) -> Memory:
        """Store an approach after one more task; a neutral outcome that changes no status is only counted."""
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

    def _update_warning(self, act: Operation, pattern: Memory, text: str) -> None:
        """Store or update the warning against an approach; deprecate it once the approach works again."""
        known = self._store.get(self._caller, AVOIDED + pattern.id)
        if known is None:
            if text:
                warning = _warning(pattern, text, act.at)
                self._store.put(act, warning, reason="most tasks that were approached like this failed")
            return
        after = self._updated_warning(known, pattern, text)
        if after is not None and after != known:
            self._store.revise(act, known, replace(after, updated_at=act.at), "updated", USED)

    def _updated_warning(self, known: Memory, pattern: Memory, text: str) -> Memory | None:
        """Return the warning with the current counts; None if a caller removed it, so that it stays away."""
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
        """Erase the counterpart of an approach or warning, and its name in the outcomes that the caller may see."""
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
        """Return the approaches, best first, then those to avoid, the most often failed first."""
        current = [memory for memory in self._store.about(self._caller, [ENTITY]) if in_force(memory, now)]
        records = ((memory, _record(memory)) for memory in current)
        patterns = [_pattern(memory, record, now) for memory, record in records if record is not None]
        return tuple(sorted(patterns, key=_order))

    def listed(self, now: float, most: int = LISTED) -> list[Hit]:
        """Return hits to show before a task: at most `most` proven approaches and `most` to avoid."""
        patterns = self.all(now)
        proven = [item for item in patterns if not item.avoid and item.maturity == PROVEN][:most]
        avoid = [item for item in patterns if item.avoid][:most]
        return [_hit(item) for item in (*proven, *avoid)]

    def told(self, hits: Iterable[Hit], now: float) -> list[Hit]:
        """Drop unproven approaches from hits that are shown unasked, and word proven ones as such."""
        shown = ((hit, _worded(hit.memory, now)) for hit in hits)
        return [replace(hit, memory=memory) for hit, memory in shown if memory is not None]


def key_of(strategy: str) -> str:
    """Return the key of an approach, equal for spellings that normalise alike; '' for a name without a word."""
    words = normalize(strategy)
    return f"{KEY}{blake2b(words.encode(), digest_size=10).hexdigest()}" if words else ""


def _counts(memory: Memory) -> bool:
    """Return True unless a caller forgot, quarantined or archived the approach."""
    return memory.forgotten_at is None and (memory.live or memory.status == "deprecated")


def _warning(pattern: Memory, text: str, at: float) -> Memory:
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
    level = DEPRECATED if avoid else maturity(sums.helpful, sums.harmful)
    return Pattern(
        memory, level, MULTIPLIERS[level], sums.helpful, sums.harmful, record.succeeded, record.failed, avoid
    )


def _order(item: Pattern) -> tuple[bool, float, float, str]:
    value = -float(item.failed) if item.avoid else -item.multiplier * item.helpful
    return (bool(item.avoid), value, -item.memory.updated_at, item.memory.id)


def _hit(item: Pattern) -> Hit:
    """Return an approach as a hit; the text of a proven one says how many tasks it worked for."""
    if item.avoid:
        return Hit(item.memory, float(item.failed), (Part("avoid", float(item.failed), "failed too often"),))
    score = item.multiplier * item.helpful
    return Hit(_proven(item), score, (Part("proven", score, f"{item.helpful:.1f} times lately"),))


def _proven(item: Pattern) -> Memory:
    text = (
        f"Proven approach: {item.memory.text.rstrip('.')}. Worked {item.succeeded}/{item.succeeded + item.failed} times"
    )
    return replace(item.memory, text=text)


def _record(memory: Memory) -> Record | None:
    """Return the record of an approach; None if it was not built from task outcomes here and is only a claim."""
    ours = memory.source == "outcome" and memory.key.startswith(KEY) and ENTITY in memory.entities
    return record_of(memory.extra) if ours else None


def _worded(memory: Memory, now: float) -> Memory | None:
    """Return a memory as it is shown unasked: a proven approach is worded as such, an unproven one is None."""
    record = _record(memory)
    if record is None or memory.id.startswith(AVOIDED):
        return memory
    item = _pattern(memory, record, now)
    return _proven(item) if item.maturity == PROVEN else None
