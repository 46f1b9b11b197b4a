"""Putting memories aside and bringing them back: quarantine, restore, and taking back what was said.

A retraction is told to the files of the project as well, where a person agreed to them: other tools read it there.
"""

from __future__ import annotations

from collections.abc import Callable

from swarmlore.config import Settings
from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.policy.gate import pass_gate, profile_of, scrub_text
from swarmlore.domain.policy.lifecycle import REASON_CHARS, brought_back, quarantined, said_in_short, state_of
from swarmlore.domain.records import LIVE_STATUSES, Caller, Draft, Link, Memory, Rejection
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, Rejected
from swarmlore.formats.retractions import Retraction
from swarmlore.frozen import frozen, replace
from swarmlore.remember import Terms, add_link, decided
from swarmlore.sharing.retracting import meant
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.project import may_change

_SAYS = {"NOOP": "the same", "REJECT": "the opposite"}


@frozen
class Retracted:
    """What was put aside, and the record of it."""

    memories: tuple[Memory, ...]
    record: Retraction


class Aside:
    """What one caller puts aside and brings back."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        settings: Settings,
        operation: Callable[[str], Operation],
        terms: Callable[[], Terms],
    ) -> None:
        self._store = store
        self._caller = caller
        self._settings = settings
        self._operation = operation
        self._terms = terms

    def quarantine(self, memory: Memory, reason: str = "") -> Memory:
        """Hide a memory from everybody, with the reason; `restore` brings it back."""
        if not isinstance(reason, str):
            raise InvalidInput("a reason is a text", "say why, or nothing")
        self._check_change(memory, "quarantine")
        if memory.status == "quarantined" and memory.forgotten_at is None:
            return self._explain(memory, reason.strip())
        if not memory.live:
            raise Conflict(f"memory {memory.handle} is {state_of(memory)}", "nobody is shown it as it is")
        act = self._operation("quarantine")
        return self._store.perform(act, lambda act: self._put_aside(act, memory, reason.strip() or "no reason given"))

    def archive(self, memory: Memory, reason: str = "") -> Memory:
        """Take a memory out of every query, with the reason; `restore` brings it back."""
        if not isinstance(reason, str):
            raise InvalidInput("a reason is a text", "say why, or nothing")
        self._check_change(memory, "archive")
        if memory.status == "archived" and memory.forgotten_at is None:
            return memory
        if not memory.live:
            raise Conflict(f"memory {memory.handle} is {state_of(memory)}", "nobody is shown it as it is")
        act, said = self._operation("archive"), said_in_short(scrub_text(reason), REASON_CHARS)
        after = replace(memory, status="archived", updated_at=act.at)
        return self._store.perform(act, lambda act: self._store.revise(act, memory, after, "archived", said))

    def _explain(self, memory: Memory, reason: str) -> Memory:
        """Another reason for what is in quarantine already; nothing where none is given."""
        said = said_in_short(reason, REASON_CHARS)
        if not said or said == memory.extra.get("quarantine_reason"):
            return memory
        after = replace(memory, extra={**memory.extra, "quarantine_reason": said})
        act = self._operation("quarantine")
        return self._store.perform(act, lambda act: self._store.revise(act, memory, after, "quarantined", said))

    def _put_aside(self, act: Operation, memory: Memory, reason: str) -> Memory:
        hidden = quarantined(memory, reason, _reporter(self._caller), act.at)
        said = str(hidden.extra["quarantine_reason"])
        stored = self._store.revise(act, memory, hidden, "quarantined", said)
        keep = self._settings.knowledge.rejected_max_entries
        self._store.reject(self._caller, memory.tier, Rejection(memory.id, memory.text[:2000], said, 2, act.at), keep)
        return stored

    def restore(self, memory: Memory) -> Memory:
        """Bring back a memory from quarantine or the archive, if its text passes the gate as it is now."""
        self._check_change(memory, "restore")
        if memory.status not in ("quarantined", "archived") or memory.forgotten_at is not None:
            hint = "only what was quarantined or archived is restored"
            if memory.forgotten_at is not None:
                hint = (
                    f"swarmlore history {memory.handle} names the operation that hid it; take that back: swarmlore undo"
                )
            raise Conflict(f"memory {memory.handle} is {state_of(memory)}", hint)
        act = self._operation("restore")
        former, by = self._former(memory)
        if memory.status == "quarantined" and not self._caller.leads and by != self._caller.agent:
            raise NotAllowed(f"memory {memory.handle} was quarantined by {by}", "a lead or a person can restore it")
        if why := self._why_not(memory):
            raise Rejected(why, 2, f"it stays where it is: swarmlore get {memory.handle}")
        after = brought_back(memory, former, act.at)
        return self._store.perform(act, lambda act: self._bring_back(act, memory, after))

    def _bring_back(self, act: Operation, memory: Memory, after: Memory) -> Memory:
        """Restore what neither repeats nor, in profile knowledge, contradicts what was learned meanwhile; elsewhere
        the two are linked, for somebody to decide."""
        decision, other = decided(self._store, after, act.at, self._terms())
        if other is not None and not other.live:  # a twin in quarantine: which of them comes back is said by name
            decision = other = None
        if decision is not None and other is not None and decision.operation in ("NOOP", "REJECT"):
            hint = f"it stays where it is; forget {other.handle} first if that is the wrong one"
            raise Rejected(f"{other.handle} says {_SAYS[decision.operation]}: {other.text[:200]}", 3, hint)
        self._store.accept_again(self._caller, [memory.id])
        stored = self._store.revise(act, memory, after, "restored", f"from {memory.status}")
        if decision is not None and other is not None and decision.operation in ("DELETE", "LINK"):
            add_link(self._store, act, Link(stored.id, other.id, "contradicts", act.at))
        return stored

    def _why_not(self, memory: Memory) -> str:
        """Why the gate would not let a text in today; '' where it would."""
        draft = Draft(memory.text, title=memory.title, tags=memory.tags, source=memory.source)
        try:
            profile = profile_of(memory.extra, self._settings.recall.profile)
            return pass_gate(draft, profile=profile, validate=True).quarantine
        except Rejected as refusal:
            return refusal.reason

    def _former(self, memory: Memory) -> tuple[str, str]:
        """What a memory was before it was put aside, and by whom that was done."""
        rows = self._store.history(self._caller, memory.id)
        for row in reversed(rows):
            status = row.before["status"] if row.before else ""
            if status in LIVE_STATUSES:
                return str(status), row.by
        return "candidate", rows[0].by if rows else ""  # it came so from a file, whose word for its rank counts nothing

    def retract(self, text: str, *, again: bool = True) -> Retracted:
        """Quarantine every lesson that says exactly this, in the project and in the hive; unless `again`, not those
        that somebody brought back since the same was retracted."""
        if not isinstance(text, str) or not normalize(text):
            raise InvalidInput("what is to be taken back is a text", "give the lesson in its words")
        act = self._operation("retract")
        said = Retraction(scrub_text(text), normalize(text), act.at, _reporter(self._caller), (), ())
        reason = f"retracted: {said.lesson}"
        found = [memory for memory in meant(self._store, self._caller, said) if may_change(self._caller, memory)]
        found = [memory for memory in found if again or not self._was_put_aside(memory, reason)]
        hidden = self._store.perform(act, lambda act: [self._put_aside(act, memory, reason) for memory in found])
        ids = [tuple(memory.id for memory in hidden if memory.tier == tier) for tier in ("swarm", "hive")]
        return Retracted(tuple(hidden), replace(said, swarm_ids=ids[0], hive_ids=ids[1]))

    def _was_put_aside(self, memory: Memory, reason: str) -> bool:
        short = said_in_short(reason, REASON_CHARS)
        return any(row.reason == short for row in self._store.history(self._caller, memory.id))

    def _check_change(self, memory: Memory, verb: str) -> None:
        if not may_change(self._caller, memory):
            raise NotAllowed(
                f"memory {memory.handle} was shared by {memory.owner or 'somebody else'}",
                f"only its author, a lead or a person can {verb} it",
            )


def _reporter(caller: Caller) -> str:
    """Who put a memory aside, in the words of the files: a user or an agent that leads."""
    return "user" if caller.role == "person" else "architect"
