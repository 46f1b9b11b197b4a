"""Which phase a project is in: one that was announced, else the one its plan names, else the day.

Where phases are announced or planned, days are not counted as phases: both together would age everything too fast.
"""

from __future__ import annotations

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.lifecycle import DAY_S, said_in_short
from swarmlore.domain.records import Caller
from swarmlore.errors import Conflict, InvalidInput
from swarmlore.formats.plan import MOST_NAME, number_in, planned_phase
from swarmlore.frozen import frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.phases import PhaseRow
from swarmlore.store.store import Store

ANNOUNCED, PLAN, DAY = "announced", "plan", "day"
QUIET_S = 30 * DAY_S  # so long after the last announced phase the days count again


@frozen
class Phase:
    """A phase of a project. `place` is what a sighting in it is counted under. A day has no number, unless it lies
    between announced phases: then it belongs to the last of them."""

    name: str
    kind: str
    place: str
    number: int = 0
    started_at: float | None = None
    completed_at: float | None = None


class Phases:
    """The phases of one project."""

    def __init__(self, store: Store, caller: Caller, root: str) -> None:
        self._store = store
        self._caller = caller
        self._root = root

    def current(self, now: float) -> Phase:
        """The phase at this time; nothing is written."""
        row = self._store.open_phase(self._caller)
        found = self._found(row, now)
        if row is None and found.kind == DAY and self._announces(now):
            last = next((item for item in self.newest() if item.kind != DAY), None)
            return replace(found, place=last.place, number=last.number) if last else found
        return found

    def going_on(self, now: float) -> Phase | None:
        """The phase at this time, where it was begun already: then nothing is due."""
        found = self._found(self._store.open_phase(self._caller), now)
        return found if found.started_at else None

    def newest(self, limit: int = 20) -> list[Phase]:
        """The phases so far, newest first."""
        return [_phase(row) for row in self._store.phases(self._caller, limit)]

    def start(self, operation: Operation, name: str) -> tuple[Phase, Phase | None]:
        """Begin a phase; the one before it is complete with that. Returns both; the same again goes on, also where the
        plan began it."""
        name = clean_name(name)
        before = self._store.open_phase(self._caller)
        if before is not None and before.kind != DAY and before.name == name:
            self._store.announce_phase(before)
            return self.current(operation.at), None
        ended = self._end(before, operation.at)
        self._begin(Phase(name, ANNOUNCED, "", self._number(number_in(name), name)), operation.at)
        return self.current(operation.at), ended

    def complete(self, operation: Operation) -> Phase:
        """End the phase that goes on: an announced one, a planned one, or the day. A plan that has moved on since then
        begins its next one with that."""
        found = self._store.open_phase(self._caller)
        if found is None or (found.kind == DAY and planned_phase(self._root) is not None):
            self.roll(operation)
            found = self._store.open_phase(self._caller)
        if found is None:
            raise Conflict("no phase is under way", 'begin one: swarmlore phase start "Phase 2: build"')
        self._store.end_phase(found, operation.at)
        if found.kind == PLAN:
            self.roll(operation)
        return replace(_phase(found), completed_at=operation.at)

    def is_due(self, now: float) -> bool:
        """Whether `roll` would do something; asked before a transaction is opened for it."""
        ends, begins = self._turn(self._store.open_phase(self._caller), now)
        return ends or begins is not None

    def roll(self, operation: Operation) -> Phase | None:
        """Follow the plan and the calendar; returns the phase that is complete with that, if one is."""
        before = self._store.open_phase(self._caller)
        ends, begins = self._turn(before, operation.at)
        if ends and before is not None and begins is not None and begins.kind == before.kind == DAY:
            self._store.end_phase(before, operation.at)
            ended: Phase | None = replace(_phase(before), completed_at=operation.at)
        else:
            ended = self._end(before, operation.at) if ends else None
        if begins is not None:
            self._begin(begins, operation.at)
        return ended

    def _end(self, phase: PhaseRow | None, at: float) -> Phase | None:
        """End a phase because another one is named. A day that it ends was no phase of its own: days are counted only
        where nobody names phases."""
        if phase is None:
            return None
        if phase.kind == DAY:
            self._store.drop_phase(phase)
            return None
        self._store.end_phase(phase, at)
        return replace(_phase(phase), completed_at=at)

    def _turn(self, before: PhaseRow | None, now: float) -> tuple[bool, Phase | None]:
        """Whether the open phase is over, and which one begins.

        | open | now | over | begins |
        |---|---|---|---|
        | announced, or the same | | no | |
        | a phase of the plan, or a day | another phase of the plan | yes | it |
        | a phase of the plan | a day | yes | the day, in 30 days at the earliest |
        | a day | a later day | yes | that day |
        | none | what was completed last | | nothing |
        """
        found = self._found(before, now)
        if found.started_at:
            return False, None
        if found.kind == DAY:
            known = self._is_known(found.name)
            if before is not None and before.kind == DAY and known:
                return False, None  # the clock went back to a day that was counted
            begins = not known and not self._announces(now)
            return before is not None, found if begins else None
        last = next((phase for phase in self.newest() if phase.kind != DAY), None)
        if last is not None and self._is_again(found, last, now):
            return False, None
        return before is not None, found

    def _is_again(self, found: Phase, last: Phase, now: float) -> bool:
        """Whether a plan names what it named before: the phase that was completed last, or, within a day, one before
        that, as whoever goes from branch to branch does. Later on that is another plan with the same names."""
        if found.name == last.name:
            return True
        return self._is_known(found.name) and now - (last.started_at or 0.0) < DAY_S

    def _found(self, row: PhaseRow | None, now: float) -> Phase:
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
        """A number of its own: what the name says, unless another phase had it, else the next one."""
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
    """The name of a day, in UTC."""
    return f"day:{(iso(now) or '')[:10]}"


def clean_name(name: str) -> str:
    """A phase's name as it is kept."""
    words = said_in_short(name, MOST_NAME) if isinstance(name, str) else ""
    if not words or words.startswith("day:"):
        raise InvalidInput("a phase needs a name", 'swarmlore phase start "Phase 2: build the importer"')
    return words


def _phase(row: PhaseRow) -> Phase:
    place = row.name if row.kind == DAY else f"phase:{row.number}"
    return Phase(row.name, row.kind, place, row.number, row.started_at, row.completed_at)
