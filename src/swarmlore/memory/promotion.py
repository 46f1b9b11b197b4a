"""Lessons on their way into the hive, and from one agent to its swarm.

Whatever the route, the text passes the gate again, and what the hive knows already is not written twice. What goes
there unasked must have a route, must not speak of one project, and must not have come in through a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from swarmlore.config import Settings
from swarmlore.domain.policy.gate import in_force
from swarmlore.domain.policy.lifecycle import (
    DAY_S,
    FAST_TRACK,
    encounter_terms,
    encountered,
    goes_alone,
    names_project,
    policy_of,
    route_of,
    state_of,
    terms_of,
    why_ask,
)
from swarmlore.domain.records import Caller, Draft, Link, Memory, Outcomes, Remembered
from swarmlore.errors import InvalidInput, NotAllowed, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.decide import Terms, add_link, carry_out, decided
from swarmlore.store.database import Operation
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.memory.write import Writing


ALREADY = "Lesson already exists in hive (near-duplicate)."
MOST_AT_ONCE = 500  # lessons looked at when a phase ends; the older ones were looked at before
START_CONFIDENCE = 0.5
_BY_HAND: dict[str, Any] = {"confidence": 1.0, "status": "promoted"}
# What opencode-swarm's lessons say beside their text about when and how they act.
DIRECTIVES = frozenset(
    "triggers required_actions forbidden_actions applies_to_agents applies_to_tools verification_checks "
    "verification_predicate source_refs source_knowledge_ids generated_skill_slug generated_skill_path "
    "directive_priority enforcement_mode escalation_history last_applied_at last_acknowledged_at".split()
)
KNOWN = ("NOOP", "UPDATE")  # the hive says it already, in these words or others


@frozen
class Promotion:
    """A lesson that may go to the hive: by which route, and why it waits for somebody to ask; '' where it just goes."""

    memory: Memory
    route: str
    waits: str = ""


class Promoting:
    """The ways into the hive of one project."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        operation: Callable[[str], Operation],
        writing: Callable[[], Writing],
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
        """never, propose or auto."""
        said = "life.hive" in self._settings.origins
        return policy_of(self._settings.life.hive, said, self._settings.recall.profile)

    # By themselves

    def candidates(self, now: float) -> list[Promotion]:
        """Lessons of this project that have a route to the hive and are not there, each with what it waits for."""
        if self.policy == "never" or not self._settings.knowledge.hive_enabled:
            return []
        terms = terms_of(self._settings.knowledge)
        born_before = now - terms.promote_days * DAY_S
        found = self._store.hive_bound(self._store.visible(self._caller, ("swarm",)), born_before, MOST_AT_ONCE)
        routed = [(memory, route) for memory in found if (route := route_of(memory, now, terms))]
        foreign = self._store.came_by_file([memory.id for memory, _ in routed])
        return [Promotion(memory, route, self._waits(memory, memory.id in foreign)) for memory, route in routed]

    def _waits(self, memory: Memory, arrived: bool) -> str:
        if why := why_ask(memory, self._names, arrived=arrived):
            return why
        return "" if goes_alone(memory, self.policy) else f"life.hive is {self.policy}"

    def carry_all(self, act: Operation, candidates: Sequence[Promotion]) -> list[tuple[Memory, str]]:
        """Carry those that wait for nobody; returns the new lessons of the hive and their routes."""
        going = (candidate for candidate in candidates if not candidate.waits)
        return [(memory, item.route) for item in going if (memory := self._carry(act, item)) is not None]

    def _carry(self, act: Operation, candidate: Promotion) -> Memory | None:
        """One lesson into the hive, or None where the gate or the hive does not want it."""
        try:
            fresh = self._prepare(act, self._draft(candidate.memory), candidate.memory)
        except Rejected:
            return None  # it stands on the list of what was refused
        decision, _ = decided(self._store, fresh, act.at, self._terms())
        if decision is not None and decision.operation != "ADD":
            return None
        stored = self._store.put(act, fresh, "promoted to the hive", candidate.route)
        self._link(stored, candidate.memory, act.at)
        return stored

    # By hand

    def promote(self, draft: Draft) -> Remembered:
        """Write a lesson into the hive because somebody says so."""
        self.check_allowed()
        where = {"tier": "hive", "source": "promotion", "category": draft.category or "process"}
        return self._place(replace(draft, **where, **_BY_HAND), None)

    def promote_from_swarm(self, memory: Memory) -> Remembered:
        """Carry a lesson of the project into the hive because somebody says so."""
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
        """Let the swarm see a private memory: as one of its own, so that former private wordings stay private."""
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
        # The private one says what took its place; the shared one does not name what nobody else may see.
        said = {name: value for name, value in memory.source_ref.items() if name != "derived_from"}
        place = {"tier": "swarm", "project": self._caller.project, "source_ref": said}
        fresh = replace(memory, id=self._new_id(), **place, **_fresh(act.at))
        decision, target = decided(self._store, fresh, act.at, self._terms())
        if decision is not None and target is not None and decision.operation in KNOWN:
            return Remembered(target, "confirmed", act.id, (memory.id,), reason="the swarm knows it already")
        stored = carry_out(self._store, act, fresh, decision, target, self._terms()) if decision else None
        shared = stored.memory if stored else self._store.put(act, fresh, "shared", "with the swarm")
        gone = replace(memory, status="superseded", superseded_by=shared.id, valid_until=act.at, updated_at=act.at)
        self._store.revise(act, memory, gone, "superseded", "shared with the swarm")
        return Remembered(shared, stored.outcome if stored else "added", act.id, (memory.id,))

    def _place(self, draft: Draft, origin: Memory | None) -> Remembered:
        act = self._operation("promote")
        fresh = self._prepare(act, draft, origin)  # before the transaction: what is refused is listed all the same
        return self._store.perform(act, lambda act: self._place_now(act, fresh, origin))

    def _place_now(self, act: Operation, fresh: Memory, origin: Memory | None) -> Remembered:
        decision, target = decided(self._store, fresh, act.at, self._terms())
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
        """What whoever promotes should know: that it tells of this project, and what it does to the hive."""
        told = []
        if names := names_project(promoted, self._names):
            told.append(f"every project will see it, and {names}")
        if other is not None:
            does = "takes the place of" if outcome == "superseded" else "may contradict"
            told.append(f"it {does} {other.handle} in the hive: {other.text}")
        return tuple(told)

    def _prepare(self, act: Operation, draft: Draft, origin: Memory | None) -> Memory:
        """What a draft becomes in the hive, past the gate."""
        fresh = self._writing().prepare(draft, act)
        if fresh.status == "quarantined":
            raise Rejected("this would be quarantined", 2, "say it as a lesson, not as an instruction to an agent")
        score = self._settings.knowledge.initial_encounter_score
        owner = origin.owner if origin is not None else fresh.owner
        return replace(fresh, encounter_score=score, owner=owner, born_in_phase=0, expires_at=None)

    def _draft(self, memory: Memory) -> Draft:
        """A lesson of the swarm as a draft for the hive; of a long text its lesson line."""
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
        """Under no operation: the link outlives an undo, so that what was taken back is not carried there again."""
        add_link(self._store, Operation("", at, self._caller, "promote"), Link(copy.id, origin.id, "related", at))

    def _terms(self) -> Terms:
        return self._writing().plain_terms()

    def _check_in_force(self, memory: Memory) -> None:
        if memory.live and not in_force(memory, self._operation("promote").at):
            raise NotAllowed(f"memory {memory.handle} is expired", "remember it again if it still holds")

    def check_allowed(self) -> None:
        """Raise where the hive is off, or the project keeps its lessons and the caller may not decide otherwise."""
        if not self._settings.knowledge.hive_enabled:
            hint = "turn it on: swarmlore config knowledge.hive_enabled true"
            raise NotAllowed("the hive is switched off here", hint)
        if self.policy == "never" and not self._caller.leads:
            raise NotAllowed("this project keeps its lessons (life.hive is never)", "a lead or a person may promote")

    # Encounters

    def meet(self, memory: Memory, operation: str, shown: frozenset[str]) -> list[Memory]:
        """Count that this project has learned what the hive knows; what the session was shown does not count."""
        if memory.tier != "swarm" or memory.raw or not self._settings.knowledge.hive_enabled:
            return []
        places = self._store.visible(self._caller, ("hive",))
        known = [other for place in places for other in self._store.neighbours(place, memory.text).values()]
        met = [other for other in known if other.id not in shown and self._says_the_same(memory, other)]
        counted = [(other, after) for other in met if (after := self._encountered(other, memory.updated_at))]
        if not counted:
            return []
        act = replace(self._operation("remember"), id=operation)
        reason = "learned again"
        return self._store.perform(
            act, lambda act: [self._store.revise(act, other, after, "confirmed", reason) for other, after in counted]
        )

    def _says_the_same(self, memory: Memory, other: Memory) -> bool:
        from swarmlore.domain.language.similarity import jaccard_bigram
        from swarmlore.domain.policy.deduplication import decide
        from swarmlore.memory.decide import as_neighbour

        near = as_neighbour(memory, other, jaccard_bigram(memory.text, other.text))
        threshold = self._settings.knowledge.dedup_threshold
        told = decide(
            memory.text, memory.trust, [near], profile="knowledge", measure="jaccard", dedup_threshold=threshold
        )
        return told.operation == "NOOP"

    def _encountered(self, other: Memory, at: float) -> Memory | None:
        own = other.project in self._store.names_of(self._caller.project)
        project = other.project if own else self._caller.project
        return encountered(other, project, self._caller.agent, at, encounter_terms(self._settings.knowledge))


def _fresh(at: float) -> dict[str, Any]:
    """What a shared memory begins with: nothing of what was gathered in private, and no end."""
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
