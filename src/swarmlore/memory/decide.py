"""Deduplicate a new memory: confirm, update, link or supersede a similar one, or add it.

`domain.policy.deduplication.decide` makes the decision; this module carries it out in one transaction, first by shared
words, later by cosine. Nothing is destroyed: an update keeps the former text in the history, a correction supersedes.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.policy.gate import Passed
from swarmlore.domain.policy.new_memory import confirm, in_force
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
    """Terms of deduplication: profile, threshold, memories shown to the session, the LLM's advice, open phase."""

    profile: str = "default"
    dedup_threshold: float = 0.6
    shown: frozenset[str] = frozenset()
    judge_meaning: bool = True
    advice: Decision | None = None
    advised_on: frozenset[tuple[str, int]] = frozenset()
    phase: Phase | None = None
    encounters: EncounterTerms | None = None

    def place_at(self, at: float) -> str:
        """Return the open phase under which a confirmation counts, or '' if it predates the phase: its day counts."""
        phase = self.phase
        return phase.place if phase is not None and phase.number and at >= (phase.started_at or 0.0) else ""


@frozen
class Stored:
    """What became of one memory: the outcome, the memory that is stored now, and the ids of related ones."""

    outcome: str
    memory: Memory
    related: tuple[str, ...] = ()
    reason: str = ""


def store_new(store: Store, operation: Operation, memory: Memory, passed: Passed, terms: Terms) -> Remembered:
    """Store a new memory, or apply it to the similar one that is stored already."""
    if passed.quarantine:
        hidden = replace(memory, status="quarantined")
        stored = Stored("quarantined", store.put(operation, hidden, "quarantined", passed.quarantine))
        return _remembered(operation, stored, passed, passed.quarantine)
    near = neighbours_of(store, memory, operation.at, thorough=terms.profile == "knowledge")
    if held := next((other for other in near if not other.live), None):
        from swarmlore.errors import Rejected

        raise Rejected(_why_held(held), 3, f"if it holds: swarmlore restore {held.handle}")
    if not near:
        stored = Stored("added", store.put(operation, memory))
        return _remembered(operation, stored, passed, "nothing like it is known")
    decision = _decide(memory, near, terms)
    targets = {item.id: item for item in near}
    stored = carry_out(store, operation, memory, decision, targets.get(decision.target), terms)
    return _remembered(operation, stored, passed, decision.reason)


def preview(store: Store, memory: Memory, now: float, terms: Terms) -> tuple[str, Memory | None, str]:
    """Return the outcome that storing a memory would have, the memory it concerns and the reason; write nothing."""
    decision, target = decision_about(store, memory, now, terms)
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


def decision_about(store: Store, memory: Memory, now: float, terms: Terms) -> tuple[Decision | None, Memory | None]:
    """Return the deduplication decision about a new memory and its target; (None, None) if nothing is similar."""
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
    """Return similar memories in force in the same partition, and quarantined ones with the same text."""
    partition = store.partition_of(memory)
    similar = store.like(partition, memory.text, memory.key, thorough=thorough).values()
    near = [other for other in similar if (in_force(other, now) if other.live else _is_held(other, memory))]
    if memory.raw:
        return [other for other in near if other.raw and _is_same_material(memory, other)]
    return [other for other in near if not other.raw]


def _is_held(other: Memory, memory: Memory) -> bool:
    """Return True if `other` is in quarantine and has the same text as the lesson `memory`."""
    same = " ".join(other.text.lower().split()) == " ".join(memory.text.lower().split())
    return same and other.status == "quarantined" and other.forgotten_at is None and not memory.raw


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
    decision = _restrict_extracted(memory, same, _by_rule(memory, same, terms))
    if decision.operation == "ADD" and len(same) < len(near):
        across = _by_rule(memory, [other for other in near if other.scope != memory.scope], terms)
        if across.operation in ("DELETE", "LINK"):  # in different scopes both may hold: they are only linked
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


def _restrict_extracted(memory: Memory, near: Sequence[Memory], decision: Decision) -> Decision:
    """Restrict the decision about an automatically extracted lesson.

    It may confirm a memory, but never rewrites a manual one or another agent's; near-duplicates are dropped.
    """
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
    """Return a stored memory in the form that `decide` compares with a new one."""
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
    """Decide again about a stored memory, now by the cosine to its neighbours, and apply the decision."""
    from swarmlore.domain.policy.deduplication import decide

    similar = [as_neighbour(memory, other, cosine) for other, cosine in near]
    decision = decide(memory.text, memory.trust, similar, profile=terms.profile, measure="cosine")
    decision = _restrict_extracted(memory, [other for other, _ in near], decision)
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
    """Store a link between two memories as part of an operation."""
    values = {name: getattr(link, name) for name in ("source", "target", "kind", "at", "strength")}
    store.ask("add_link", **values, operation=operation.id)


def _confirm(store: Store, operation: Operation, memory: Memory, target: Memory, terms: Terms) -> Stored:
    """Confirm a memory that was said again, unless this session was shown it and only repeats it."""
    if target.id in terms.shown:
        return Stored(
            "confirmed", target, (target.id,), "already known; this session was shown it, so it does not count"
        )
    repeated = _same_session(memory, target)
    where = terms.place_at(memory.created_at)
    confirmed = (None if repeated else _confirmed(target, operation, memory.created_at, where, terms)) or target
    after = replace(
        confirmed,
        situations=_joined(target.situations, memory.situations),
        citations=joined_citations(target.citations, memory.citations),
        expires_at=_later_end(target.expires_at, memory.expires_at),
        **_more_trusted(memory, target),
    )
    if after == target:
        return Stored("confirmed", target, (target.id,), "already known")
    reason = "seen again" if confirmed is not target else "said again"
    after = store.revise(operation, target, after, "confirmed", reason)
    return Stored("confirmed", after, (target.id,), "already known")


def _more_trusted(memory: Memory, target: Memory) -> dict[str, Any]:
    """Return the fields to change when a more trusted caller repeats a memory.

    Text and origin are replaced along with the trust unless both texts are equal.
    """
    if memory.trust <= target.trust:
        return {}
    names = ("trust",) if memory.text == target.text else ("text", "trust", "owner", "source", "source_ref")
    return {name: getattr(memory, name) for name in names}


def _confirmed(target: Memory, operation: Operation, at: float, where: str, terms: Terms) -> Memory | None:
    """Add one confirmation; another project that confirms a hive lesson raises its encounter score as well."""
    caller = operation.caller
    if target.tier != "hive" or caller.project == target.project:
        return confirm(target, caller, at, where)
    from swarmlore.domain.policy.lifecycle import EncounterTerms, encountered

    return encountered(target, caller.project, caller.agent, at, terms.encounters or EncounterTerms())


def _same_session(memory: Memory, target: Memory) -> bool:
    """Return True if both come from one session, which may last days and repeat itself."""
    session = memory.source_ref.get("session")
    return bool(session) and session == target.source_ref.get("session")


def _later_end(one: float | None, other: float | None) -> float | None:
    """Return the later of two expiry times; None means never."""
    return None if one is None or other is None else max(one, other)


def _update(store: Store, operation: Operation, memory: Memory, target: Memory, decision: Decision) -> Memory:
    trust = min(target.trust, memory.trust)
    origin = _more_trusted(memory, target) if decision.text == memory.text else {}
    after = replace(
        target,
        tags=tuple(dict.fromkeys((*target.tags, *memory.tags))),
        entities=tuple(dict.fromkeys((*target.entities, *memory.entities))),
        situations=_joined(target.situations, memory.situations),
        citations=joined_citations(target.citations, memory.citations),
        updated_at=operation.at,
        **{"text": decision.text, "trust": trust, **origin},
    )
    return store.revise(operation, target, after, "updated", decision.reason)


def _supersede(store: Store, operation: Operation, memory: Memory, target: Memory, reason: str) -> Stored:
    fresh = store.put(operation, replace(_inherited(memory, target), supersedes=(target.id,)), reason=reason)
    _hide(store, operation, target, fresh, reason)
    add_link(store, operation, Link(fresh.id, target.id, "supersedes", operation.at))
    return Stored("superseded", fresh, (target.id,), reason)


def _inherited(memory: Memory, target: Memory) -> Memory:
    """Give a correction the kind, category, tags, entities and situations of the memory it replaces."""
    return replace(
        memory,
        kind=target.kind if memory.kind == DEFAULT.kind else memory.kind,
        category=target.category if memory.category == DEFAULT.category else memory.category,
        tags=tuple(dict.fromkeys((*memory.tags, *target.tags))),
        entities=tuple(dict.fromkeys((*memory.entities, *target.entities))),
        situations=_joined(target.situations, memory.situations),
    )


def _hide(store: Store, operation: Operation, loser: Memory, winner: Memory, reason: str) -> None:
    """Mark a memory as superseded: queries skip it, its history stays."""
    after = replace(
        loser, status="superseded", superseded_by=winner.id, valid_until=operation.at, updated_at=operation.at
    )
    store.revise(operation, loser, after, "superseded", reason)


def _may_change(memory: Memory, target: Memory) -> bool:
    """Return True if the new memory is trusted as much as the old one and has the same scope."""
    return memory.trust >= target.trust and memory.scope == target.scope


def _may_update(memory: Memory, target: Memory, decision: Decision) -> bool:
    """Return True if an update never puts words of a more trusted author under a less trusted one's text."""
    return _may_change(memory, target) and (memory.trust == target.trust or decision.text == memory.text)


def _may_replace(memory: Memory, target: Memory) -> bool:
    return _may_change(memory, target) and memory.project == target.project


def _is_same_material(memory: Memory, other: Memory) -> bool:
    """Return True if both have the same source, and the same key or the same reference into it."""
    same_key = bool(memory.key) and memory.key == other.key
    return other.source == memory.source and (same_key or other.source_ref == memory.source_ref)


def _joined(old: tuple[Situation, ...], new: tuple[Situation, ...]) -> tuple[Situation, ...]:
    texts = {situation.text for situation in old}
    return (*old, *(situation for situation in new if situation.text not in texts))


def joined_citations(old: Sequence[Citation], new: Sequence[Citation]) -> tuple[Citation, ...]:
    """Join two lists of citations, newest last; a place cited again replaces its older citation."""
    joined = {(item.path, item.first_line, item.last_line): item for item in old}
    for item in new:
        joined.pop((item.path, item.first_line, item.last_line), None)
        joined[item.path, item.first_line, item.last_line] = item
    return tuple(joined.values())[-MAX_CITATIONS:]


def _remembered(operation: Operation, stored: Stored, passed: Passed, reason: str) -> Remembered:
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
