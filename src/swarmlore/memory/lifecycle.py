"""Phases of a project and the life cycle of memories: confirm, establish, promote, archive and sweep, all audited.

Completing a phase does this in one operation: lessons that earned it rise one step, and lessons that qualify for the
hive are promoted or proposed. In profile `knowledge`, lessons unconfirmed for too long are archived (todos removed) and
the caps are applied. A sweep that would remove more than a fifth removes nothing and reports why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from swarmlore.config import Settings
from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.lifecycle import (
    DAY_S,
    PHASES_TO_RISE,
    Fate,
    LifeTerms,
    Phase,
    clean_reason,
    encounter_terms,
    encountered,
    is_suspicious_sweep,
    next_step,
    over_cap,
    phases_since,
    state_of,
    sweep_action,
    terms_of,
    with_next_status,
)
from swarmlore.domain.policy.new_memory import confirm, in_force
from swarmlore.domain.records import Caller, Memory, Remembered
from swarmlore.errors import Conflict, InvalidInput, NotAllowed
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.promotion import Promoter, Promotion
from swarmlore.memory.swarm_files import MOST_NAME, number_in, planned_phase
from swarmlore.store.database import Operation
from swarmlore.store.phases import PhaseRow
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from swarmlore.domain.records import Check


ANNOUNCED, PLAN, DAY = "announced", "plan", "day"
QUIET_S = 30 * DAY_S  # this long after the last announced phase, days count as phases again


class Phases:
    """Phases of one project: announced by a person, taken from a plan file, or one per calendar day."""

    def __init__(self, store: Store, caller: Caller, root: str) -> None:
        self._store = store
        self._caller = caller
        self._root = root

    def current(self, now: float) -> Phase:
        """Return the phase at this time without writing anything."""
        row = self._store.open_phase(self._caller)
        phase = self._phase_at(row, now)
        if row is None and phase.kind == DAY and self._announces(now):
            last = next((item for item in self.newest() if item.kind != DAY), None)
            return replace(phase, place=last.place, number=last.number) if last else phase
        return phase

    def going_on(self, now: float) -> Phase | None:
        """Return the phase at this time if it has been started already, else None."""
        phase = self._phase_at(self._store.open_phase(self._caller), now)
        return phase if phase.started_at else None

    def newest(self, limit: int = 20) -> list[Phase]:
        """Return the phases so far, newest first."""
        return [_phase(row) for row in self._store.phases(self._caller, limit)]

    def start(self, operation: Operation, name: str) -> tuple[Phase, Phase | None]:
        """Start a phase and complete the open one; return both.

        Starting the open phase again changes nothing, except that a phase of the plan then counts as announced.
        """
        name = clean_name(name)
        before = self._store.open_phase(self._caller)
        if before is not None and before.kind != DAY and before.name == name:
            self._store.announce_phase(before)
            return self.current(operation.at), None
        ended = self._end(before, operation.at)
        self._begin(Phase(name, ANNOUNCED, "", self._number(number_in(name), name)), operation.at)
        return self.current(operation.at), ended

    def complete(self, operation: Operation) -> Phase:
        """Complete the open phase. If the plan file names another phase by now, that phase starts."""
        row = self._store.open_phase(self._caller)
        if row is None or (row.kind == DAY and planned_phase(self._root) is not None):
            self.roll(operation)
            row = self._store.open_phase(self._caller)
        if row is None:
            raise Conflict("no phase is under way", 'begin one: swarmlore phase start "Phase 2: build"')
        self._store.end_phase(row, operation.at)
        if row.kind == PLAN:
            self.roll(operation)
        return replace(_phase(row), completed_at=operation.at)

    def is_due(self, now: float) -> bool:
        """Return True if `roll` would change something; callers check this before they open a transaction."""
        ends, begins = self._transition(self._store.open_phase(self._caller), now)
        return ends or begins is not None

    def roll(self, operation: Operation) -> Phase | None:
        """End and start phases as the plan file and the calendar demand; return the completed phase, if any."""
        before = self._store.open_phase(self._caller)
        ends, begins = self._transition(before, operation.at)
        if ends and before is not None and begins is not None and begins.kind == before.kind == DAY:
            self._store.end_phase(before, operation.at)
            ended: Phase | None = replace(_phase(before), completed_at=operation.at)
        else:
            ended = self._end(before, operation.at) if ends else None
        if begins is not None:
            self._begin(begins, operation.at)
        return ended

    def _end(self, phase: PhaseRow | None, at: float) -> Phase | None:
        """End a phase because a named one starts; an open day is dropped, as days count only if nothing is named."""
        if phase is None:
            return None
        if phase.kind == DAY:
            self._store.drop_phase(phase)
            return None
        self._store.end_phase(phase, at)
        return replace(_phase(phase), completed_at=at)

    def _transition(self, before: PhaseRow | None, now: float) -> tuple[bool, Phase | None]:
        """Return whether the open phase is over, and the phase that starts, if any.

        | open | now | over | begins |
        |---|---|---|---|
        | announced, or the same | | no | |
        | a phase of the plan, or a day | another phase of the plan | yes | it |
        | a phase of the plan | a day | yes | the day, in 30 days at the earliest |
        | a day | a later day | yes | that day |
        | none | what was completed last | | nothing |
        """
        phase = self._phase_at(before, now)
        if phase.started_at:
            return False, None
        if phase.kind == DAY:
            known = self._is_known(phase.name)
            if before is not None and before.kind == DAY and known:
                return False, None  # the clock was set back to a day that was counted
            begins = not known and not self._announces(now)
            return before is not None, phase if begins else None
        last = next((item for item in self.newest() if item.kind != DAY), None)
        if last is not None and self._is_repeated(phase, last, now):
            return False, None
        return before is not None, phase

    def _is_repeated(self, planned: Phase, last: Phase, now: float) -> bool:
        """Return True if the plan names the last completed phase or, within a day, any earlier one.

        Switching between branches causes that. After a day it is taken for another plan with the same names.
        """
        if planned.name == last.name:
            return True
        return self._is_known(planned.name) and now - (last.started_at or 0.0) < DAY_S

    def _phase_at(self, row: PhaseRow | None, now: float) -> Phase:
        """Return the announced phase that is open, else the phase the plan file names, else the day."""
        if row is not None and row.kind == ANNOUNCED:
            return _phase(row)
        planned = planned_phase(self._root)
        if planned is not None:
            if row is not None and row.kind == PLAN and row.name == planned.name:
                return _phase(row)
            number = self._number(planned.number, planned.name)
            return Phase(planned.name, PLAN, f"phase:{number}", number)
        day = day_of(now)
        if row is not None and row.name == day:
            return _phase(row)
        return Phase(day, DAY, day)

    def _begin(self, phase: Phase, at: float) -> None:
        self._store.add_phase(self._caller, phase.number, phase.name, phase.kind, at)

    def _number(self, wanted: int, name: str) -> int:
        """Return a number for a new phase: the one in its name unless another phase has it, else the next free one."""
        if wanted:
            alike = self._store.phases_like(self._caller, wanted, name)
            if all(row.name == name for row in alike if row.number == wanted):
                return wanted
        return self._store.last_phase_number(self._caller) + 1

    def _is_known(self, day: str) -> bool:
        return any(row.name == day for row in self._store.phases_like(self._caller, -1, day))

    def _announces(self, now: float) -> bool:
        return self._store.announces_phases(self._caller, now - QUIET_S)


def day_of(now: float) -> str:
    """Return the name of the UTC day that contains a time: `day:2025-01-31`."""
    return f"day:{(iso(now) or '')[:10]}"


def clean_name(name: str) -> str:
    """Return a phase's name as it is stored; raise InvalidInput if it is empty or names a day."""
    words = clean_reason(name, MOST_NAME) if isinstance(name, str) else ""
    if not words or words.startswith("day:"):
        raise InvalidInput("a phase needs a name", 'swarmlore phase start "Phase 2: build the importer"')
    return words


def _phase(row: PhaseRow) -> Phase:
    place = row.name if row.kind == DAY else f"phase:{row.number}"
    return Phase(row.name, row.kind, place, row.number, row.started_at, row.completed_at)


AUTOMATIC = "life"  # agent name of automatic changes, so that `undo` of one's own last operation skips them
LEAVING = ("archived", "removed")
LOOK = "look at it: swarmlore sweep --dry-run; then: swarmlore sweep --force"


@frozen
class Change:
    """A change of a memory with its reason: established, promoted, archived, removed, or promoted to the hive."""

    memory: Memory
    action: str
    reason: str


@frozen
class Swept:
    """Result of a sweep or of its dry run.

    `proposed` are promotions to the hive that wait for a request; `refused` is the reason why nothing was archived.
    """

    scanned: int = 0
    changes: tuple[Change, ...] = ()
    proposed: tuple[Promotion, ...] = ()
    refused: str = ""
    phase: Phase | None = None
    operation: str = ""
    dry_run: bool = False

    def count(self, *actions: str) -> int:
        return sum(change.action in actions for change in self.changes)


@frozen
class Begun:
    """A phase that started, and the sweep that completing the one before it caused."""

    phase: Phase
    completed: Swept | None = None


class _TooMuch(Exception):
    """Raised inside the transaction of a sweep that would remove too much, to roll it back."""


class Lifecycle:
    """Confirm, sweep and trim a project's memories, and start and complete its phases, for one caller."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        operation: Callable[[str], Operation],
        phases: Phases,
        promoting: Promoter,
    ) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._operation = operation
        self._phases = phases
        self.promoting = promoting
        self.terms: LifeTerms = terms_of(settings.knowledge)

    # Confirming

    def confirm(self, memory: Memory, session: str = "") -> Remembered:
        """Count one confirmation by the caller; a memory shown to the same session or counted already gets none."""
        act = self._operation("confirm")
        if not memory.live or not in_force(memory, act.at):
            state = "expired" if memory.live else state_of(memory)
            raise Conflict(f"memory {memory.handle} is {state}", "what was put aside is not confirmed")
        if memory.id in self._store.showings(self._caller, self._store.session_of(self._caller, session)):
            reason = "it was shown to this session, and repeating it is no evidence"
            return Remembered(memory, "confirmed", "", reason=reason)
        after = self._confirmed(memory, act.at)
        if after is None:
            where = "project" if memory.tier == "hive" else "phase"
            return Remembered(memory, "confirmed", "", reason=f"this {where} was counted already")
        reason = f"seen again in {after.confirmed_by[-1].where}"
        stored = self._store.perform(act, lambda act: self._count(act, memory.id, reason))
        if stored is None:
            return Remembered(memory, "confirmed", "", reason="another one has counted it meanwhile")
        return Remembered(stored, "confirmed", act.id, reason=reason)

    def _count(self, act: Operation, id: str, reason: str) -> Memory | None:
        """Count a confirmation on the current version of a memory, since another caller may have changed it."""
        now = self._store.get(self._caller, id)
        after = self._confirmed(now, act.at) if now is not None and now.live else None
        return self._store.revise(act, now, after, "confirmed", reason) if now is not None and after else None

    def _confirmed(self, memory: Memory, at: float) -> Memory | None:
        """Return the memory with one confirmation more, or None if this phase or project was counted already."""
        if memory.tier != "hive":
            phase = self._phases.current(at)
            return confirm(memory, self._caller, at, phase.place if phase.number else "")
        if memory.project in self._store.names_of(self._caller.project):
            return None
        terms = encounter_terms(self._settings.knowledge)
        return encountered(memory, self._caller.project, self._caller.agent, at, terms)

    # Phases

    def start_phase(self, name: str) -> Begun:
        """Start a phase and complete the open one, with its sweep."""
        act = self._operation("phase")

        def begin(act: Operation) -> Begun:
            self._store.tell(act)
            phase, before = self._phases.start(act, name)
            return Begun(phase, self._finish(act, before) if before else None)

        return self._store.perform(act, begin)

    def complete_phase(self) -> Swept:
        """Complete the open phase and sweep."""
        act = self._operation("phase")

        def end(act: Operation) -> Swept:
            phase = self._phases.complete(act)
            self._store.tell(act)
            return self._finish(act, phase)

        return self._store.perform(act, end)

    def follow(self) -> Swept | None:
        """Complete and start phases as the plan file and the calendar demand, audited under the agent `life`."""
        act = self._operation("phase")
        if not self._phases.is_due(act.at):
            return None
        act = replace(act, caller=replace(self._caller, agent=AUTOMATIC))

        def turn(act: Operation) -> Swept | None:
            before = self._phases.roll(act)
            return self._finish(act, before) if before else None

        return self._store.perform(act, turn)

    def _finish(self, act: Operation, phase: Phase) -> Swept:
        sweeps = self._settings.knowledge.sweep_enabled
        return replace(self._sweep(act, force=False, ages=sweeps and self._knowledge), phase=phase)

    @property
    def _knowledge(self) -> bool:
        return self._settings.recall.profile == "knowledge"

    # Sweeping

    def sweep(self, *, dry_run: bool = False, force: bool = False) -> Swept:
        """Promote, establish and archive memories that are due.

        Raise Conflict if more than a fifth would leave, unless `force` is set, which takes a lead or a person.
        """
        act = self._operation("sweep")
        if dry_run:
            return self._try(act)
        if force and not self._caller.leads:
            raise NotAllowed("only a lead or a person can force a sweep", "look at it: swarmlore sweep --dry-run")
        try:
            return self._store.perform(
                act, lambda act: self._sweep(act, force=force, ages=self._knowledge, all_or_nothing=True)
            )
        except _TooMuch as much:
            why = str(much)
        self._store.perform(act, lambda act: self._store.note_refusal(self._caller, why))  # the sweep was rolled back
        raise Conflict(why, LOOK)

    def _try(self, act: Operation) -> Swept:
        """Return what a sweep would do."""
        scanned, fates = self._fates(act.at, ages=self._knowledge)
        crowded, too_many = self._hive_over_cap(force=False) if self._knowledge else ([], "")
        changes = tuple(Change(memory, fate.action, fate.reason) for memory, fate in (*fates, *crowded))
        refused = _refusal(_count_leaving(fates), scanned) or too_many
        return Swept(scanned, changes, tuple(self.promoting.candidates(act.at)), refused, dry_run=True)

    def _sweep(self, act: Operation, *, force: bool, ages: bool, all_or_nothing: bool = False) -> Swept:
        """Carry out every change that is due.

        If too many memories would leave, keep them all or, with `all_or_nothing`, raise _TooMuch.
        """
        refused = "" if force or not ages else self._foreseen_refusal(act.at)
        scanned, fates = self._fates(act.at, ages=ages and not refused)
        refused = refused or ("" if force else _refusal(_count_leaving(fates), scanned))
        crowded, too_many = self._hive_over_cap(force=force) if ages else ([], "")
        if (refused or too_many) and all_or_nothing:
            raise _TooMuch(refused or too_many)
        if refused:
            fates = [(memory, fate) for memory, fate in fates if fate.action not in LEAVING]
        refused = refused or too_many
        if ages:
            self._store.note_refusal(self._caller, refused)
        changes = self._carry_out(act, [*fates, *crowded])
        candidates = self.promoting.candidates(act.at)
        carried = self.promoting.carry_all(act, candidates)
        if carried and self._knowledge:
            changes += self._trim(act, "hive", self._settings.knowledge.hive_max_entries)
        changes += [Change(memory, "promoted to the hive", route) for memory, route in carried]
        proposed = tuple(candidate for candidate in candidates if candidate.waits)
        return Swept(scanned, tuple(changes), proposed, refused, operation=act.id if changes else "")

    def _foreseen_refusal(self, now: float) -> str:
        """Return why a sweep is sure to be refused, without loading the memories that would leave; '' if not sure.

        It counts memories below the evergreen confidence, less those promoted above it in the same run.
        """
        mine = self._store.visible(self._caller, ("swarm",))
        sure = self.terms.evergreen_confidence
        leaving = sum(confidence < sure for _, _, confidence in self._outlived(mine))
        scanned = self._store.count_lessons(mine)
        if not is_suspicious_sweep(leaving, scanned):
            return ""
        rising = sum(fate.action == "promoted" for _, fate in self._rising(mine, now))
        return _refusal(leaving - rising, scanned)

    def _rising(self, mine: Sequence[int], now: float) -> list[tuple[Memory, Fate]]:
        looked = self._store.rising(mine, PHASES_TO_RISE, now - self.terms.promote_days * DAY_S)
        return [(memory, fate) for memory in looked if (fate := next_step(memory, now, self.terms))]

    def _outlived(self, mine: Sequence[int]) -> list[tuple[int, int, float]]:
        completed = self._store.completed_phases(self._caller)
        return self._store.aged(mine, completed, self.terms.max_phases, self.terms.todo_phases)

    def _fates(self, now: float, *, ages: bool) -> tuple[int, list[tuple[Memory, Fate]]]:
        """Return the number of lessons, and each lesson that a sweep would change with its fate."""
        mine = self._store.visible(self._caller, ("swarm",))
        scanned = self._store.count_lessons(mine)
        fates = {memory.id: (memory, fate) for memory, fate in self._rising(mine, now)}
        if ages:
            promoted = {id for id, (_, fate) in fates.items() if fate.action == "promoted"}
            fates |= {id: aged for id, aged in self._aged(mine).items() if id not in promoted}
            fates |= self._over_cap(mine, scanned, fates)
        return scanned, list(fates.values())

    def _aged(self, mine: Sequence[int]) -> dict[str, tuple[Memory, Fate]]:
        completed = self._store.completed_phases(self._caller)
        marks = {seq: mark for seq, mark, _ in self._outlived(mine)}
        old = self._store.by_row(list(marks))
        fates = {
            memory.id: (memory, sweep_action(memory, phases_since(marks[seq], completed), self.terms))
            for seq, memory in old.items()
        }
        return {id: (memory, fate) for id, (memory, fate) in fates.items() if fate is not None}

    def _over_cap(
        self, mine: Sequence[int], scanned: int, fates: dict[str, tuple[Memory, Fate]]
    ) -> dict[str, tuple[Memory, Fate]]:
        cap = self._settings.knowledge.swarm_max_entries
        left = scanned - sum(fate.action in LEAVING for _, fate in fates.values())
        if left <= cap:
            return {}
        oldest = self._store.oldest(mine, left - cap + len(fates))
        kept = [m for m in oldest if m.id not in fates or fates[m.id][1].action == "established"]
        return {memory.id: (memory, fate) for memory, fate in _archived(over_cap(kept, cap, left), cap)}

    def _carry_out(self, act: Operation, fates: Sequence[tuple[Memory, Fate]]) -> list[Change]:
        """Apply the fates: promote memories one by one, and retire all that leave in one statement."""
        leaving = [(memory, fate) for memory, fate in fates if fate.action in LEAVING]
        self._store.retire(act, [(memory, fate.action, fate.reason) for memory, fate in leaving])
        changes = [Change(_gone(memory, fate, act.at), fate.action, fate.reason) for memory, fate in leaving]
        for memory, fate in fates:
            if fate.action not in LEAVING:
                after = self._store.revise(
                    act, memory, with_next_status(memory, fate, act.at), fate.action, fate.reason
                )
                changes.append(Change(after, fate.action, fate.reason))
        return changes

    def trim(self) -> tuple[Change, ...]:
        """Archive the oldest lessons over the caps of profile `knowledge`; too many at once wait for the next sweep."""
        if not self._knowledge:
            return ()
        caps = (
            ("swarm", self._settings.knowledge.swarm_max_entries),
            ("hive", self._settings.knowledge.hive_max_entries),
        )
        act = self._operation("sweep")
        act = replace(act, caller=replace(self._caller, agent=AUTOMATIC))
        return tuple(change for tier, cap in caps for change in self._trim(act, tier, cap))

    def _trim(self, act: Operation, tier: str, cap: int) -> list[Change]:
        places = self._store.visible(self._caller, (tier,))
        total = self._store.count_lessons(places) if places else 0
        if total <= cap or is_suspicious_sweep(total - cap, total):
            return []
        return self._store.perform(act, lambda act: self._carry_out(act, self._oldest(places, cap, total)))

    def _hive_over_cap(self, *, force: bool) -> tuple[list[tuple[Memory, Fate]], str]:
        """Return the oldest lessons over the hive's cap, or none and the reason if that is too much at once."""
        places = self._store.visible(self._caller, ("hive",))
        total, cap = self._store.count_lessons(places) if places else 0, self._settings.knowledge.hive_max_entries
        if total <= cap:
            return [], ""
        if not force and (refused := _refusal(total - cap, total)):
            return [], refused.replace("memories", "memories of the hive")
        return self._oldest(places, cap, total), ""

    def _oldest(self, places: Sequence[int], cap: int, total: int) -> list[tuple[Memory, Fate]]:
        return _archived(over_cap(self._store.oldest(places, total - cap), cap, total), cap)

    def checks(self) -> Iterator[Check]:
        """Yield a warning for `doctor` if the last sweep was refused."""
        from swarmlore.domain.records import Check

        if refused := self._store.refused_sweep(self._caller):
            yield Check("sweep", "warn", refused, LOOK)


def _gone(memory: Memory, fate: Fate, at: float) -> Memory:
    if fate.action == "removed":
        return replace(memory, version=memory.version + 1, forgotten_at=at)
    return replace(memory, version=memory.version + 1, status="archived", updated_at=at)


def _archived(memories: Sequence[Memory], cap: int) -> list[tuple[Memory, Fate]]:
    fate = Fate("archived", f"the oldest of more than {cap}")
    return [(memory, fate) for memory in memories]


def _count_leaving(fates: Sequence[tuple[Memory, Fate]]) -> int:
    return sum(fate.action in LEAVING for _, fate in fates)


def _refusal(leaving: int, scanned: int) -> str:
    if not is_suspicious_sweep(leaving, scanned):
        return ""
    return f"a sweep would take {leaving} of {scanned} memories, which is more than a fifth"
