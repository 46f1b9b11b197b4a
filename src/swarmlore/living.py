"""What `Lore` can say about the life of a memory: confirmed, in a phase, risen, aged out, promoted, put aside."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from swarmlore.domain.records import Draft, choose, make
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, StoreError, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.parts import Parts
from swarmlore.workspace.project import may_change

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.records import Memory, Remembered
    from swarmlore.memory.lifecycle import Begun, Phase, Swept
    from swarmlore.memory.promotion import Promotion


class Living(Parts):
    """The verbs of a memory's life."""

    def confirm(self, ref: str, session: str = "") -> Remembered:
        """Count that somebody has seen for themselves that a memory holds; what the session was shown does not."""
        with self._changing():
            return self._life.confirm(self._resolve(ref), session)

    def phase(self) -> Phase:
        """The phase that the project is in: announced, from its plan, or the day."""
        with self._guard:
            return self._phases.current(self.now())

    def phases(self, limit: int = 20) -> tuple[Phase, ...]:
        """The phases of the project so far, newest first."""
        with self._guard:
            return tuple(self._phases.newest(limit))

    def start_phase(self, name: str) -> Begun:
        """Begin a phase; the one before it is complete with that."""
        with self._changing():
            return self._life.start_phase(name)

    def complete_phase(self) -> Swept:
        """End the phase that goes on: memories rise, leave, and go to the hive as the rules say."""
        with self._changing():
            return self._life.complete_phase()

    def sweep(self, *, dry_run: bool = False, force: bool = False) -> Swept:
        """Let memories rise and leave as their phases say; a trial changes nothing."""
        if dry_run:
            with self._looking():
                return self._life.sweep(dry_run=True)
        with self._changing():
            return self._life.sweep(force=force)

    def promote(self, text: str, *, from_swarm: bool = False, to: str = "hive", **facts: Any) -> Remembered:
        """Write a lesson into the hive; with `from_swarm` or `to="swarm"` the memory that `text` names."""
        choose("tier", [to], ("hive", "swarm"))
        with self._changing():
            if to == "swarm":
                return self._promoting.share(self._resolve(text))
            if from_swarm:
                return self._promoting.promote_from_swarm(self._resolve(text))
            told = self._promoting.promote(make(Draft, {**facts, "text": text}, "promote"))
            self._life.trim()
            return told

    def inject(self, agent: str, text: str, category: str, *, tags: Sequence[str] = ()) -> Remembered:
        """Teach an agent, and with it the whole swarm, what it has to know; for a lead or a person."""
        from swarmlore.domain.extraction.lesson_text import ONLY_LEADS, check_category, taught, taught_draft

        check_category(category)
        if not self.caller.leads:
            raise NotAllowed(ONLY_LEADS, "ask the lead of the swarm, or use remember: the swarm sees that too")
        draft: Draft = make(Draft, taught_draft(text, category, tags), "inject")
        with self._changing():
            self._follow_phases()
            owner = self.mail.address(agent)
            told = self.writing.remember(draft, form=lambda memory: taught(memory, owner))
            self._let_live(told, "")
            self._keep_names()
            return told

    def edit(self, ref: str, text: str, *, version: int | None = None, reason: str = "") -> Memory:
        """Put another text in the place of a memory's; refused where it is not of the version that was seen."""
        with self._changing():
            memory = self._resolve(ref)
            if not may_change(self.caller, memory):
                who = memory.owner or "somebody else"
                raise NotAllowed(f"memory {memory.handle} was shared by {who}", "only its author or a lead can edit it")
            self._check_editable(memory, version)
            return self.writing.rewrite(memory, text, reason)

    @staticmethod
    def _check_editable(memory: Memory, version: int | None) -> None:
        look = f"swarmlore get {memory.handle}"
        if version is not None and version != memory.version:
            raise Conflict(f"memory {memory.handle} is at version {memory.version}, not {version}", f"see it: {look}")
        if not memory.live:
            raise Conflict(f"memory {memory.handle} is not in use any more", f"see it: {look}")
        if memory.source in ("note", "file_index"):
            raise NotAllowed(f"memory {memory.handle} follows a file", "change the file: the memory follows")

    def acknowledge(self, ref: str, how: str) -> Memory:
        """Count what an agent did with a memory that it was shown: applied, ignored, violated or contradicted."""
        with self._changing():
            return self.learning.acknowledge(self._resolve(ref), how)

    def archive(self, ref: str, reason: str = "") -> Memory:
        """Take a memory out of use, with the reason; `restore` brings it back."""
        with self._changing():
            return self._aside.archive(self._resolve(ref), reason)

    def promotions(self) -> tuple[Promotion, ...]:
        """Lessons of this project that have a route to the hive and are not there, each with what it waits for."""
        with self._looking():
            return tuple(self._promoting.candidates(self.now()))

    def quarantine(self, ref: str, reason: str = "") -> Memory:
        """Hide a memory from everybody, with the reason."""
        with self._changing():
            return self._aside.quarantine(self._resolve(ref), reason)

    def restore(self, ref: str) -> Memory:
        """Bring back a memory from quarantine or the archive, if its text passes the gate."""
        with self._changing():
            return self._aside.restore(self._resolve(ref))

    def retract(self, text: str) -> tuple[Memory, ...]:
        """Quarantine every lesson that says exactly this, in the project and in the hive."""
        with self._changing():
            return self._retract(text)

    def _retract(self, text: str, *, again: bool = True) -> tuple[Memory, ...]:
        told = self._aside.retract(text, again=again)
        if told.memories and self._shares:
            with suppress(SwarmloreError):  # the memories are hidden; `doctor` tells of a folder that cannot be written
                self.exchange.tell_retraction(told.record, self.new_id())
        return told.memories

    def _look_back(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take in what the project's plan says was learned, and take back what it calls a bad rule: the ids of both.
        A plan comes with the repository, so a person must have agreed to its files."""
        if not self._shares or not self.exchange.own_folder():
            return (), ()
        from swarmlore.compat.opencode_swarm import Migrating

        parts = (self.store, self.caller, self.settings, self.writing, self.new_id)
        learned, bad = Migrating(self.project.root, *parts).plan(self._operation("curate"))
        gone = [memory.id for text in bad for memory in self._retract(text, again=False)]
        return learned, tuple(gone)

    def _follow_phases(self) -> Phase | None:
        """Follow the plan and the calendar before something is remembered; their failure is no failure of that. Returns
        the phase that goes on, where there was nothing to follow."""
        try:
            phase = self._phases.going_on(self.now())
            if phase is None and not self.store.engine.readonly and self._phases.is_due(self.now()):
                self._life.follow()
        except StoreError:
            return None  # what is due is due at the next time as well
        return phase

    def _let_live(self, told: Remembered, session: str) -> None:
        """What a lesson means for those that are there: the hive meets it again, and the oldest may have to go."""
        try:
            if told.memory.live and self.store.visible(self.caller, ("hive",)):
                shown = frozenset(self.store.showings(self.caller, session))
                self._promoting.meet(told.memory, told.operation, shown)
            if self.settings.recall.profile == "knowledge" and told.outcome in ("added", "linked"):
                self._life.trim()
        except (Conflict, StoreError):
            return  # the text is stored; somebody else has changed what it meets

    def _resolve(self, ref: str) -> Memory:
        if not isinstance(ref, str) or not ref.strip() or len(ref) > 128:
            raise InvalidInput("that is not an id", "give a handle, an id or the beginning of one")
        return self.store.resolve(self.caller, ref.strip())
