"""Remember: what becomes of a draft that passed the gate, and of a memory whose vector has arrived.

The decision itself is `rules.upsert.decide`; here it is carried out, in one transaction, and nothing is destroyed:
an update keeps the id and its former text in the history, a correction supersedes.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.policy.gate import Passed, confirm, in_force
from swarmlore.domain.records import MAX_CITATIONS, Citation, Link, Memory, Remembered, Situation
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.database import Operation, place_of
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.policy.deduplication import Decision, Neighbour
    from swarmlore.domain.policy.lifecycle import EncounterTerms, Phase


DEFAULT = Memory(id="", text="")


@frozen
class Terms:
    """How to judge sameness: whose rules, how alike, what this session was shown, and a model's advice if asked."""

    profile: str = "default"
    dedup_threshold: float = 0.6
    shown: frozenset[str] = frozenset()
    judge_meaning: bool = True
    advice: Decision | None = None
    advised_on: frozenset[tuple[str, int]] = frozenset()
    phase: Phase | None = None
    encounters: EncounterTerms | None = None

    def place_at(self, at: float) -> str:
        """What a sighting at a time is counted under, where that is a phase; what is older belongs to its day."""
        phase = self.phase
        return phase.place if phase is not None and phase.number and at >= (phase.started_at or 0.0) else ""


@frozen
class Stored:
    """What happened to one memory: its outcome, the rows whose vectors are now due, and related ids."""

    outcome: str
    memory: Memory
    related: tuple[str, ...] = ()
    reason: str = ""


def store_new(store: Store, operation: Operation, memory: Memory, passed: Passed, terms: Terms) -> Remembered:
    """Decide and carry out what a new memory means for what is already there."""
    if passed.quarantine:
        hidden = replace(memory, status="quarantined")
        stored = Stored("quarantined", store.put(operation, hidden, "quarantined", passed.quarantine))
        return _told(operation, stored, passed, passed.quarantine)
    near = neighbours_of(store, memory, operation.at, thorough=terms.profile == "knowledge")
    if held := next((other for other in near if not other.live), None):
        _refuse_what_is_held(held)
    if not near:
        return _told(operation, Stored("added", store.put(operation, memory)), passed, "nothing like it is known")
    decision = _decide(memory, near, terms)
    targets = {item.id: item for item in near}
    stored = carry_out(store, operation, memory, decision, targets.get(decision.target), terms)
    return _told(operation, stored, passed, decision.reason)


def foresee(store: Store, memory: Memory, now: float, terms: Terms) -> tuple[str, Memory | None, str]:
    """What would become of a new memory, beside which one, and why. Nothing is written."""
    decision, target = decided(store, memory, now, terms)
    if decision is None or target is None or decision.operation == "ADD":
        return "added", None, decision.reason if decision else ""
    may = {
        "NOOP": True,
        "REJECT": True,
        "UPDATE": _may_update(memory, target, decision),
        "DELETE": _may_replace(memory, target),
    }
    words = {"NOOP": "confirmed", "REJECT": "rejected", "UPDATE": "updated", "DELETE": "superseded"}
    outcome = words[decision.operation] if may.get(decision.operation) else "linked"
    return outcome, target, decision.reason


def decided(store: Store, memory: Memory, now: float, terms: Terms) -> tuple[Decision | None, Memory | None]:
    """What the rules say about a new memory, and beside which one; None where nothing like it is known."""
    place = dict(zip(("tier", "project", "owner"), place_of(memory.tier, memory.project, memory.owner), strict=True))
    known = neighbours_of(store, memory, now) if store.ask("find_partition", **place) else []
    near = [other for other in known if other.live]
    if held := next((other for other in known if not other.live and other.id != memory.id), None):
        from swarmlore.domain.policy.deduplication import Decision

        return Decision("REJECT", held.id, memory.text, _why_held(held)), held
    if not near:
        return None, None
    decision = _decide(memory, near, terms)
    return decision, next((other for other in near if other.id == decision.target), None)


def neighbours_of(store: Store, memory: Memory, now: float, *, thorough: bool = False) -> list[Memory]:
    """Memories in force of the same partition that might say the same or the opposite, and what is in quarantine
    because it says this."""
    partition = store.partition_of(memory)
    found = store.like(partition, memory.text, memory.key, thorough=thorough).values()
    near = [other for other in found if (in_force(other, now) if other.live else _is_held(other, memory))]
    if memory.raw:
        return [other for other in near if other.raw and (_same_place(memory, other) or _same_key(memory, other))]
    return [other for other in near if not other.raw]


def _is_held(other: Memory, memory: Memory) -> bool:
    same = " ".join(other.text.lower().split()) == " ".join(memory.text.lower().split())
    return same and other.status == "quarantined" and other.forgotten_at is None and not memory.raw


def _refuse_what_is_held(held: Memory) -> None:
    from swarmlore.errors import Rejected

    raise Rejected(_why_held(held), 3, f"if it holds: swarmlore restore {held.handle}")


def _why_held(held: Memory) -> str:
    why = str(held.extra.get("quarantine_reason", "")) or "no reason given"
    return f"the same lesson is in quarantine as {held.handle}: {why}"


def _decide(memory: Memory, near: Sequence[Memory], terms: Terms) -> Decision:
    from swarmlore.domain.policy.deduplication import Decision

    if memory.key:
        for other in near:
            if memory.raw and other.text == memory.text:
                return Decision("NOOP", other.id, reason="identical")
            if other.key == memory.key:
                return Decision("DELETE", other.id, memory.text, "same key: the later wins", "supersedes")
    seen = frozenset((other.id, other.version) for other in near)
    if terms.advice is not None and seen == terms.advised_on:
        return terms.advice
    same = [other for other in near if other.scope == memory.scope]
    decision = _modest(memory, same, _by_rule(memory, same, terms))
    if decision.operation == "ADD" and len(same) < len(near):
        across = _by_rule(memory, [other for other in near if other.scope != memory.scope], terms)
        if across.operation in ("DELETE", "LINK"):  # in another scope both may hold: only the link is drawn
            return across
    return decision


def _by_rule(memory: Memory, near: Sequence[Memory], terms: Terms) -> Decision:
    from swarmlore.domain.language.similarity import jaccard_bigram
    from swarmlore.domain.policy.deduplication import Decision, decide

    decision = decide(
        memory.text,
        memory.trust,
        [as_neighbour(memory, other, jaccard_bigram(memory.text, other.text)) for other in near],
        profile=terms.profile,
        measure="jaccard",
        lesson=not memory.raw,
        dedup_threshold=terms.dedup_threshold,
    )
    return Decision("ADD") if decision.operation == "REJECT" and not terms.judge_meaning else decision


def _modest(memory: Memory, near: Sequence[Memory], decision: Decision) -> Decision:
    """What a rule or a model took from a session confirms what is known at most: it rewrites neither what somebody
    said on purpose nor what is another's, and nothing is stored beside its like."""
    target = next((other for other in near if other.id == decision.target), None)
    again = decision.operation == "UPDATE" or decision.link == "elaborates"
    if target is None or not again or memory.source != "reflect" or not memory.auto_generated:
        return decision
    from swarmlore.domain.policy.contradiction import differences
    from swarmlore.domain.policy.deduplication import Decision

    own = target.auto_generated and target.owner == memory.owner and decision.operation == "UPDATE"
    if not own and not differences(memory.text, target.text):
        return Decision("NOOP", target.id, reason="known already, in other words")
    if own or decision.operation != "UPDATE":
        return decision
    return Decision("LINK", target.id, reason="says more about it", link="elaborates")


def as_neighbour(memory: Memory, other: Memory, similarity: float) -> Neighbour:
    from swarmlore.domain.policy.deduplication import Neighbour

    shared = bool(set(memory.entities) & set(other.entities))
    return Neighbour(other.id, other.text, similarity, other.trust, shared)


def carry_out(
    store: Store, operation: Operation, memory: Memory, decision: Decision, target: Memory | None, terms: Terms
) -> Stored:
    """Apply a decision about a memory that is not stored yet."""
    if decision.operation == "REJECT":
        from swarmlore.errors import Rejected

        raise Rejected(decision.reason, 3, "if the old lesson is wrong, forget it first: swarmlore forget ID")
    if target is None or decision.operation == "ADD":
        return Stored("added", store.put(operation, memory), reason=decision.reason)
    if decision.operation == "NOOP":
        return _confirm(store, operation, memory, target, terms)
    if decision.operation == "UPDATE" and _may_update(memory, target, decision):
        return Stored("updated", _update(store, operation, memory, target, decision), (target.id,), decision.reason)
    if decision.operation == "DELETE" and _may_replace(memory, target):
        return _supersede(store, operation, memory, target, decision.reason)
    kind = decision.link or ("elaborates" if decision.operation == "UPDATE" else "contradicts")
    stored = store.put(operation, memory)
    add_link(store, operation, Link(stored.id, target.id, kind, operation.at))
    return Stored("linked", stored, (target.id,), decision.reason)


def settle(
    store: Store, operation: Operation, memory: Memory, near: Sequence[tuple[Memory, float]], terms: Terms
) -> Stored:
    """Decide again, by cosine, about a memory that is already stored."""
    from swarmlore.domain.policy.deduplication import decide

    similar = [as_neighbour(memory, other, cosine) for other, cosine in near]
    decision = decide(memory.text, memory.trust, similar, profile=terms.profile, measure="cosine")
    decision = _modest(memory, [other for other, _ in near], decision)
    target = next((other for other, _ in near if other.id == decision.target), None)
    if target is None or decision.operation in ("ADD", "REJECT"):
        return Stored("added", memory)
    if target.scope != memory.scope and decision.operation in ("NOOP", "UPDATE"):
        return Stored("added", memory)
    reason = f"by meaning: {decision.reason}"
    if decision.operation == "NOOP":
        kept = _confirm(store, operation, memory, target, terms)
        _hide(store, operation, memory, kept.memory, reason)
        return kept
    if decision.operation == "UPDATE" and _may_update(memory, target, decision):
        updated = _update(store, operation, memory, target, decision)
        _hide(store, operation, memory, updated, reason)
        return Stored("updated", updated, (target.id,), reason)
    if decision.operation == "DELETE" and _may_replace(memory, target):
        _hide(store, operation, target, memory, reason)
        heir = _inherited(memory, target)
        newer = replace(heir, supersedes=(*memory.supersedes, target.id), updated_at=operation.at)
        newer = store.revise(operation, memory, newer, "superseded another", reason)
        add_link(store, operation, Link(memory.id, target.id, "supersedes", operation.at))
        return Stored("superseded", newer, (target.id,), reason)
    kind = decision.link or ("elaborates" if decision.operation == "UPDATE" else "contradicts")
    add_link(store, operation, Link(memory.id, target.id, kind, operation.at))
    return Stored("linked", memory, (target.id,), reason)


def add_link(store: Store, operation: Operation, link: Link) -> None:
    values = {name: getattr(link, name) for name in ("source", "target", "kind", "at", "strength")}
    store.ask("add_link", **values, operation=operation.id)


def _confirm(store: Store, operation: Operation, memory: Memory, target: Memory, terms: Terms) -> Stored:
    """The same thing again: one more sighting, unless this session was shown it and only repeats it."""
    if target.id in terms.shown:
        return Stored(
            "confirmed", target, (target.id,), "already known; this session was shown it, so it does not count"
        )
    again = _same_session(memory, target)
    where = terms.place_at(memory.created_at)
    seen = (None if again else _sighted(target, operation, memory.created_at, where, terms)) or target
    after = replace(
        seen,
        situations=_joined(target.situations, memory.situations),
        citations=joined_citations(target.citations, memory.citations),
        expires_at=_later(target.expires_at, memory.expires_at),
        **_more_trusted(memory, target),
    )
    if after == target:
        return Stored("confirmed", target, (target.id,), "already known")
    reason = "seen again" if seen is not target else "said again"
    after = store.revise(operation, target, after, "confirmed", reason)
    return Stored("confirmed", after, (target.id,), "already known")


def _more_trusted(memory: Memory, target: Memory) -> dict[str, Any]:
    """What changes where the same is said by somebody trusted more: words count as theirs only if they said them."""
    if memory.trust <= target.trust:
        return {}
    names = ("trust",) if memory.text == target.text else ("text", "trust", "owner", "source", "source_ref")
    return {name: getattr(memory, name) for name in names}


def _sighted(target: Memory, operation: Operation, at: float, where: str, terms: Terms) -> Memory | None:
    """The target with one more sighting; a project that meets a lesson of the hive raises its score as well."""
    caller = operation.caller
    if target.tier != "hive" or caller.project == target.project:
        return confirm(target, caller, at, where)
    from swarmlore.domain.policy.lifecycle import EncounterTerms, encountered

    return encountered(target, caller.project, caller.agent, at, terms.encounters or EncounterTerms())


def _same_session(memory: Memory, target: Memory) -> bool:
    """Whether both come from one session: a long one may repeat itself on another day."""
    session = memory.source_ref.get("session")
    return bool(session) and session == target.source_ref.get("session")


def _later(one: float | None, other: float | None) -> float | None:
    """The later of two ends; None never ends."""
    return None if one is None or other is None else max(one, other)


def _update(store: Store, operation: Operation, memory: Memory, target: Memory, decision: Decision) -> Memory:
    trust = min(target.trust, memory.trust)
    said = _more_trusted(memory, target) if decision.text == memory.text else {}
    after = replace(
        target,
        tags=tuple(dict.fromkeys((*target.tags, *memory.tags))),
        entities=tuple(dict.fromkeys((*target.entities, *memory.entities))),
        situations=_joined(target.situations, memory.situations),
        citations=joined_citations(target.citations, memory.citations),
        updated_at=operation.at,
        **{"text": decision.text, "trust": trust, **said},
    )
    return store.revise(operation, target, after, "updated", decision.reason)


def _supersede(store: Store, operation: Operation, memory: Memory, target: Memory, reason: str) -> Stored:
    fresh = store.put(operation, replace(_inherited(memory, target), supersedes=(target.id,)), reason=reason)
    _hide(store, operation, target, fresh, reason)
    add_link(store, operation, Link(fresh.id, target.id, "supersedes", operation.at))
    return Stored("superseded", fresh, (target.id,), reason)


def _inherited(memory: Memory, target: Memory) -> Memory:
    """A correction is about the same thing: what was known about that and not said anew is kept."""
    return replace(
        memory,
        kind=target.kind if memory.kind == DEFAULT.kind else memory.kind,
        category=target.category if memory.category == DEFAULT.category else memory.category,
        tags=tuple(dict.fromkeys((*memory.tags, *target.tags))),
        entities=tuple(dict.fromkeys((*memory.entities, *target.entities))),
        situations=_joined(target.situations, memory.situations),
    )


def _hide(store: Store, operation: Operation, loser: Memory, winner: Memory, reason: str) -> None:
    """Mark as superseded: out of every query, kept with its history."""
    after = replace(
        loser, status="superseded", superseded_by=winner.id, valid_until=operation.at, updated_at=operation.at
    )
    store.revise(operation, loser, after, "superseded", reason)


def _may_change(memory: Memory, target: Memory) -> bool:
    """A text is not rewritten by one that is trusted less, nor across scopes."""
    return memory.trust >= target.trust and memory.scope == target.scope


def _may_update(memory: Memory, target: Memory, decision: Decision) -> bool:
    """Words of somebody trusted more never end up under a text of somebody trusted less."""
    return _may_change(memory, target) and (memory.trust == target.trust or decision.text == memory.text)


def _may_replace(memory: Memory, target: Memory) -> bool:
    return _may_change(memory, target) and memory.project == target.project


def _same_key(memory: Memory, other: Memory) -> bool:
    return bool(memory.key) and memory.key == other.key and memory.source == other.source


def _same_place(memory: Memory, other: Memory) -> bool:
    return other.source == memory.source and other.source_ref == memory.source_ref


def _joined(old: tuple[Situation, ...], new: tuple[Situation, ...]) -> tuple[Situation, ...]:
    texts = {situation.text for situation in old}
    return (*old, *(situation for situation in new if situation.text not in texts))


def joined_citations(old: Sequence[Citation], new: Sequence[Citation]) -> tuple[Citation, ...]:
    """Both, newest last; the same place cited again takes the place of its older self."""
    joined = {(item.path, item.first_line, item.last_line): item for item in old}
    for item in new:
        joined.pop((item.path, item.first_line, item.last_line), None)
        joined[item.path, item.first_line, item.last_line] = item
    return tuple(joined.values())[-MAX_CITATIONS:]


def _told(operation: Operation, stored: Stored, passed: Passed, reason: str) -> Remembered:
    return Remembered(
        memory=stored.memory,
        outcome=stored.outcome,
        operation=operation.id,
        related=stored.related,
        warnings=passed.warnings,
        redacted=passed.redacted,
        stripped=passed.stripped,
        reason=stored.reason or reason,
    )
