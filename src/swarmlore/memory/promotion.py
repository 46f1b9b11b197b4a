"""Promotion of lessons: from the swarm to the hive, automatic or by hand, and from an agent to its swarm.

Every promoted text passes the gate again and is deduplicated against the hive. Automatic promotion requires a route,
a text that names no project, and a lesson that did not come in through a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from swarmlore.config import Settings
from swarmlore.domain.policy.lifecycle import (
    DAY_S,
    FAST_TRACK,
    approval_reason,
    encounter_terms,
    encountered,
    is_auto_promoted,
    policy_of,
    project_reference,
    promotion_reason,
    state_of,
    terms_of,
)
from swarmlore.domain.policy.new_memory import in_force
from swarmlore.domain.records import Caller, Draft, Link, Memory, Outcomes, Remembered
from swarmlore.errors import InvalidInput, NotAllowed, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.decide import Terms, add_link, carry_out, decision_about
from swarmlore.store.database import Operation
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.memory.write import MemoryWriter


ALREADY = "Lesson already exists in hive (near-duplicate)."
MOST_AT_ONCE = 500  # newest lessons considered when a phase ends; older ones were considered before
START_CONFIDENCE = 0.5
_BY_HAND: dict[str, Any] = {"confidence": 1.0, "status": "promoted"}
# Fields in which opencode-swarm's lessons say when and how they act.
DIRECTIVES = frozenset(
    "triggers required_actions forbidden_actions applies_to_agents applies_to_tools verification_checks "
    "verification_predicate source_refs source_knowledge_ids generated_skill_slug generated_skill_path "
    "directive_priority enforcement_mode escalation_history last_applied_at last_acknowledged_at".split()
)
KNOWN = ("NOOP", "UPDATE")  # decisions which mean that the hive has the lesson already


@frozen
class Promotion:
    """A lesson with a route to the hive; `waits` says why it needs a request, '' if it is promoted automatically."""

    memory: Memory
    route: str
    waits: str = ""


class Promoter:
    """Promote lessons of one project to the hive, and share private ones with the swarm."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        operation: Callable[[str], Operation],
        writing: Callable[[], MemoryWriter],
        new_id: Callable[[], str],
        project_name: str,
    ) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._operation = operation
        self._writing = writing
        self._new_id = new_id
        self._names = tuple(dict.fromkeys(name for name in (project_name, _last(caller.project)) if name))

    @property
    def policy(self) -> str:
        """Return how lessons reach the hive: `never`, `propose` or `auto`."""
        is_set = "life.hive" in self._settings.origins
        return policy_of(self._settings.life.hive, is_set, self._settings.recall.profile)

    # Automatic

    def candidates(self, now: float) -> list[Promotion]:
        """Return the project's lessons that have a route to the hive and are not there yet."""
        if self.policy == "never" or not self._settings.knowledge.hive_enabled:
            return []
        terms = terms_of(self._settings.knowledge)
        born_before = now - terms.promote_days * DAY_S
        lessons = self._store.hive_bound(self._store.visible(self._caller, ("swarm",)), born_before, MOST_AT_ONCE)
        routed = [(memory, route) for memory in lessons if (route := promotion_reason(memory, now, terms))]
        foreign = self._store.came_by_file([memory.id for memory, _ in routed])
        return [Promotion(memory, route, self._waits(memory, memory.id in foreign)) for memory, route in routed]

    def _waits(self, memory: Memory, arrived: bool) -> str:
        if why := approval_reason(memory, self._names, arrived=arrived):
            return why
        return "" if is_auto_promoted(memory, self.policy) else f"life.hive is {self.policy}"

    def carry_all(self, act: Operation, candidates: Sequence[Promotion]) -> list[tuple[Memory, str]]:
        """Promote the candidates that need no request; return the new hive lessons and their routes."""
        going = (candidate for candidate in candidates if not candidate.waits)
        return [(memory, item.route) for item in going if (memory := self._carry(act, item)) is not None]

    def _carry(self, act: Operation, candidate: Promotion) -> Memory | None:
        """Promote one lesson; return None if the gate refuses it or the hive has a similar one."""
        try:
            fresh = self._prepare(act, self._draft(candidate.memory), candidate.memory)
        except Rejected:
            return None  # the gate has listed it as rejected
        decision, _ = decision_about(self._store, fresh, act.at, self._terms())
        if decision is not None and decision.operation != "ADD":
            return None
        stored = self._store.put(act, fresh, "promoted to the hive", candidate.route)
        self._link(stored, candidate.memory, act.at)
        return stored

    # By hand

    def promote(self, draft: Draft) -> Remembered:
        """Write a new lesson into the hive at the caller's request."""
        self.check_allowed()
        where = {"tier": "hive", "source": "promotion", "category": draft.category or "process"}
        return self._place(replace(draft, **where, **_BY_HAND), None)

    def promote_from_swarm(self, memory: Memory) -> Remembered:
        """Promote a lesson of the project to the hive at the caller's request."""
        self.check_allowed()
        if memory.tier != "swarm" or memory.raw:
            raise InvalidInput(f"{memory.handle} is no lesson of the swarm", "swarmlore list --tier swarm shows them")
        if not memory.live:
            hint = f"bring it back: swarmlore restore {memory.handle}"
            if memory.forgotten_at is not None or memory.status not in ("archived", "quarantined"):
                hint = f"swarmlore history {memory.handle} tells why"
            raise NotAllowed(f"memory {memory.handle} is {state_of(memory)}", hint)
        self._check_in_force(memory)
        return self._place(replace(self._draft(memory), **_BY_HAND), memory)

    def share(self, memory: Memory) -> Remembered:
        """Share a private memory with the swarm as a new memory, so that its former wordings stay private."""
        if memory.tier != "agent" or memory.owner != self._caller.agent:
            raise InvalidInput(
                f"memory {memory.handle} is not private to you", "swarmlore list --tier agent shows yours"
            )
        self._check_in_force(memory)
        if not memory.live:
            raise NotAllowed(
                f"memory {memory.handle} is {state_of(memory)}", f"swarmlore history {memory.handle} tells why"
            )
        act = self._operation("promote")
        return self._store.perform(act, lambda act: self._share(act, memory))

    def _share(self, act: Operation, memory: Memory) -> Remembered:
        # The private memory names its successor; the shared one must not name memories that others cannot see.
        source_ref = {name: value for name, value in memory.source_ref.items() if name != "derived_from"}
        place = {"tier": "swarm", "project": self._caller.project, "source_ref": source_ref}
        fresh = replace(memory, id=self._new_id(), **place, **_initial_state(act.at))
        decision, target = decision_about(self._store, fresh, act.at, self._terms())
        if decision is not None and target is not None and decision.operation in KNOWN:
            return Remembered(target, "confirmed", act.id, (memory.id,), reason="the swarm knows it already")
        stored = carry_out(self._store, act, fresh, decision, target, self._terms()) if decision else None
        shared = stored.memory if stored else self._store.put(act, fresh, "shared", "with the swarm")
        gone = replace(memory, status="superseded", superseded_by=shared.id, valid_until=act.at, updated_at=act.at)
        self._store.revise(act, memory, gone, "superseded", "shared with the swarm")
        return Remembered(shared, stored.outcome if stored else "added", act.id, (memory.id,))

    def _place(self, draft: Draft, origin: Memory | None) -> Remembered:
        act = self._operation("promote")
        fresh = self._prepare(act, draft, origin)  # before the transaction, so that a rejection stays listed
        return self._store.perform(act, lambda act: self._place_now(act, fresh, origin))

    def _place_now(self, act: Operation, fresh: Memory, origin: Memory | None) -> Remembered:
        decision, target = decision_about(self._store, fresh, act.at, self._terms())
        if decision is not None and target is not None and decision.operation in KNOWN:
            return Remembered(target, "confirmed", act.id, (target.id,), reason=ALREADY)
        if decision is None:
            stored, outcome = self._store.put(act, fresh, "promoted to the hive", "by hand"), "added"
        else:
            done = carry_out(self._store, act, fresh, decision, target, self._terms())
            stored, outcome = done.memory, done.outcome
        if origin is not None:
            self._link(stored, origin, act.at)
        warnings = self._warnings(origin or fresh, target if outcome in ("superseded", "linked") else None, outcome)
        related = tuple(memory.id for memory in (origin, target) if memory is not None)
        return Remembered(stored, outcome, act.id, related, warnings, reason=decision.reason if decision else "")

    def _warnings(self, promoted: Memory, other: Memory | None, outcome: str) -> tuple[str, ...]:
        """Warn if a promoted lesson names this project, or replaces or contradicts a hive lesson."""
        warnings = []
        if names := project_reference(promoted, self._names):
            warnings.append(f"every project will see it, and {names}")
        if other is not None:
            effect = "takes the place of" if outcome == "superseded" else "may contradict"
            warnings.append(f"it {effect} {other.handle} in the hive: {other.text}")
        return tuple(warnings)

    def _prepare(self, act: Operation, draft: Draft, origin: Memory | None) -> Memory:
        """Pass a draft through the gate and return the hive lesson it would become."""
        fresh = self._writing().prepare(draft, act)
        if fresh.status == "quarantined":
            raise Rejected("this would be quarantined", 2, "say it as a lesson, not as an instruction to an agent")
        score = self._settings.knowledge.initial_encounter_score
        owner = origin.owner if origin is not None else fresh.owner
        return replace(fresh, encounter_score=score, owner=owner, born_in_phase=0, expires_at=None)

    def _draft(self, memory: Memory) -> Draft:
        """Return a draft for the hive from a lesson of the swarm; of a long text only its lesson line."""
        from swarmlore.domain.extraction.lesson_text import lesson_line

        return Draft(
            text=lesson_line(memory),
            kind=memory.kind,
            category=memory.category,
            tags=tuple(tag for tag in memory.tags if tag != FAST_TRACK),
            tier="hive",
            scope=memory.scope,
            confidence=START_CONFIDENCE,
            source="promotion",
            source_ref={"derived_from": [memory.id]},
            auto_generated=memory.auto_generated,
            extra={name: value for name, value in memory.extra.items() if name in DIRECTIVES},
        )

    def _link(self, copy: Memory, origin: Memory, at: float) -> None:
        """Link a copy to its origin outside any operation: the link survives an undo and prevents a new promotion."""
        add_link(self._store, Operation("", at, self._caller, "promote"), Link(copy.id, origin.id, "related", at))

    def _terms(self) -> Terms:
        return self._writing().plain_terms()

    def _check_in_force(self, memory: Memory) -> None:
        if memory.live and not in_force(memory, self._operation("promote").at):
            raise NotAllowed(f"memory {memory.handle} is expired", "remember it again if it still holds")

    def check_allowed(self) -> None:
        """Raise NotAllowed if the hive is off, or if its policy is `never` and the caller is no lead."""
        if not self._settings.knowledge.hive_enabled:
            hint = "turn it on: swarmlore config knowledge.hive_enabled true"
            raise NotAllowed("the hive is switched off here", hint)
        if self.policy == "never" and not self._caller.leads:
            raise NotAllowed("this project keeps its lessons (life.hive is never)", "a lead or a person may promote")

    # Encounters

    def meet(self, memory: Memory, operation: str, shown: frozenset[str]) -> list[Memory]:
        """Count an encounter on every hive lesson that a new lesson repeats, unless the session was shown it."""
        if memory.tier != "swarm" or memory.raw or not self._settings.knowledge.hive_enabled:
            return []
        places = self._store.visible(self._caller, ("hive",))
        known = [other for place in places for other in self._store.neighbours(place, memory.text).values()]
        met = [other for other in known if other.id not in shown and self._is_duplicate(memory, other)]
        counted = [(other, after) for other in met if (after := self._encountered(other, memory.updated_at))]
        if not counted:
            return []
        act = replace(self._operation("remember"), id=operation)
        reason = "learned again"
        return self._store.perform(
            act, lambda act: [self._store.revise(act, other, after, "confirmed", reason) for other, after in counted]
        )

    def _is_duplicate(self, memory: Memory, other: Memory) -> bool:
        from swarmlore.domain.language.similarity import jaccard_bigram
        from swarmlore.domain.policy.deduplication import decide
        from swarmlore.memory.decide import as_neighbour

        near = as_neighbour(memory, other, jaccard_bigram(memory.text, other.text))
        threshold = self._settings.knowledge.dedup_threshold
        decision = decide(
            memory.text, memory.trust, [near], profile="knowledge", measure="jaccard", dedup_threshold=threshold
        )
        return decision.operation == "NOOP"

    def _encountered(self, other: Memory, at: float) -> Memory | None:
        own = other.project in self._store.names_of(self._caller.project)
        project = other.project if own else self._caller.project
        return encountered(other, project, self._caller.agent, at, encounter_terms(self._settings.knowledge))


def _initial_state(at: float) -> dict[str, Any]:
    """Return the fields that a shared memory starts with: no private history or counters, and no expiry."""
    return {
        "handle": "",
        "situations": (),
        "supersedes": (),
        "confirmed_by": (),
        "outcomes": Outcomes(),
        "feedback_score": 1.0,
        "feedback_count": 0,
        "last_validated_at": None,
        "access_count": 0,
        "last_accessed_at": None,
        "expires_at": None,
        "created_at": at,
        "updated_at": at,
        "version": 1,
    }


def _last(project: str) -> str:
    return project.rstrip("/").removesuffix("/.git").rpartition("/")[2]
