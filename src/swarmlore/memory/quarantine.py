"""Quarantine, archive, restore and retract memories, and find the operation that `undo` reverts by default."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from swarmlore.config import Settings
from swarmlore.domain.json_codec import from_iso, iso
from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.policy.gate import pass_gate, profile_of, scrub_text
from swarmlore.domain.policy.lifecycle import REASON_CHARS, clean_reason, quarantined, restored, state_of
from swarmlore.domain.records import LIVE_STATUSES, Caller, Draft, Link, Memory, Rejection
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, NotFound, Rejected
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.decide import Terms, add_link, decision_about
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.identity import may_change
from swarmlore.workspace.jsonl import BadLine

if TYPE_CHECKING:
    from typing import Any


@frozen
class Retraction:
    """A lesson that was declared wrong: its text, who reported it when, and the ids it matched then."""

    lesson: str
    normalized: str
    recorded_at: float
    reported_by: str
    swarm_ids: tuple[str, ...]
    hive_ids: tuple[str, ...]


def is_retraction(obj: Mapping[str, Any]) -> bool:
    """Return True if a JSON object is a retraction and not a lesson."""
    return "retracted_lesson" in obj and "lesson" not in obj


def retraction_from(obj: Mapping[str, Any]) -> Retraction:
    """Parse a retraction; raise BadLine if the object names neither a text nor ids."""
    lesson = obj.get("retracted_lesson")
    swarm, hive = _ids(obj.get("matched_swarm_ids")), _ids(obj.get("matched_hive_ids"))
    if not isinstance(lesson, str) or not (normalize(lesson) or swarm or hive):
        raise BadLine("no retracted lesson")
    by = obj.get("reported_by")
    return Retraction(lesson, normalize(lesson), _recorded_at(obj), by if isinstance(by, str) else "user", swarm, hive)


def retraction_line(retraction: Retraction, id: str) -> bytes:
    """Return a retraction as one line of JSON."""
    fields = {
        "id": id,
        "retracted_lesson": retraction.lesson,
        "normalized_lesson": retraction.normalized,
        "recorded_at": iso(retraction.recorded_at),
        "reported_by": retraction.reported_by,
        "matched_swarm_ids": list(retraction.swarm_ids),
        "matched_hive_ids": list(retraction.hive_ids),
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _ids(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _recorded_at(obj: Mapping[str, Any]) -> float:
    try:
        return from_iso(obj["recorded_at"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return 0.0


def retract(store: Store, operation: Operation, retraction: Retraction) -> list[tuple[str, str]]:
    """Quarantine the memories that a retraction matches, inside a transaction; return each outcome with a reason."""
    matches = matching(store, operation.caller, retraction)
    if not matches:
        return [("known", "nothing here says that")]
    return [_quarantine(store, operation, memory, retraction) for memory in matches]


def matching(store: Store, caller: Caller, retraction: Retraction) -> list[Memory]:
    """Return the live lessons with the retracted text; an id listed in a file counts only if the text matches."""
    found: dict[str, Memory] = {}
    for tier, ids in (("swarm", retraction.swarm_ids), ("hive", retraction.hive_ids)):
        partitions = store.visible(caller, (tier,))
        named = store.by_ids(partitions, ids).values()
        alike = [m for place in partitions for m in store.neighbours(place, retraction.lesson).values()]
        for memory in (*named, *alike):
            if memory.live and not memory.raw and normalize(memory.text) == retraction.normalized:
                found[memory.id] = memory
    return list(found.values())


def _quarantine(store: Store, operation: Operation, memory: Memory, retraction: Retraction) -> tuple[str, str]:
    if not may_change(operation.caller, memory):
        return ("refused", "only its author, a lead or a person can take a memory back")
    hidden = quarantined(memory, f"retracted: {retraction.lesson}", retraction.reported_by, operation.at)
    store.revise(operation, memory, hidden, "quarantined", operation.reason)
    return ("removed", "")


_SAYS = {"NOOP": "the same", "REJECT": "the opposite"}


@frozen
class Retracted:
    """The memories that a retraction quarantined, and its record."""

    memories: tuple[Memory, ...]
    record: Retraction


class Quarantine:
    """Quarantine, archive, restore and retract memories for one caller."""

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
        """Hide a memory from every query, with a reason; `restore` brings it back."""
        if not isinstance(reason, str):
            raise InvalidInput("a reason is a text", "say why, or nothing")
        self._check_change(memory, "quarantine")
        if memory.status == "quarantined" and memory.forgotten_at is None:
            return self._change_reason(memory, reason.strip())
        if not memory.live:
            raise Conflict(f"memory {memory.handle} is {state_of(memory)}", "nobody is shown it as it is")
        act = self._operation("quarantine")
        return self._store.perform(act, lambda act: self._hide(act, memory, reason.strip() or "no reason given"))

    def archive(self, memory: Memory, reason: str = "") -> Memory:
        """Take a memory out of every query as aged out, with a reason; `restore` brings it back."""
        if not isinstance(reason, str):
            raise InvalidInput("a reason is a text", "say why, or nothing")
        self._check_change(memory, "archive")
        if memory.status == "archived" and memory.forgotten_at is None:
            return memory
        if not memory.live:
            raise Conflict(f"memory {memory.handle} is {state_of(memory)}", "nobody is shown it as it is")
        act, short = self._operation("archive"), clean_reason(scrub_text(reason), REASON_CHARS)
        after = replace(memory, status="archived", updated_at=act.at)
        return self._store.perform(act, lambda act: self._store.revise(act, memory, after, "archived", short))

    def _change_reason(self, memory: Memory, reason: str) -> Memory:
        """Replace the reason of a quarantined memory, unless the new one is empty or the same."""
        short = clean_reason(reason, REASON_CHARS)
        if not short or short == memory.extra.get("quarantine_reason"):
            return memory
        after = replace(memory, extra={**memory.extra, "quarantine_reason": short})
        act = self._operation("quarantine")
        return self._store.perform(act, lambda act: self._store.revise(act, memory, after, "quarantined", short))

    def _hide(self, act: Operation, memory: Memory, reason: str) -> Memory:
        """Quarantine a memory and add it to the list of rejected texts."""
        hidden = quarantined(memory, reason, _reporter(self._caller), act.at)
        short = str(hidden.extra["quarantine_reason"])
        stored = self._store.revise(act, memory, hidden, "quarantined", short)
        keep = self._settings.knowledge.rejected_max_entries
        self._store.reject(self._caller, memory.tier, Rejection(memory.id, memory.text[:2000], short, 2, act.at), keep)
        return stored

    def restore(self, memory: Memory) -> Memory:
        """Bring back a memory from quarantine or the archive, if its text passes the current gate."""
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
        if why := self._refusal(memory):
            raise Rejected(why, 2, f"it stays where it is: swarmlore get {memory.handle}")
        after = restored(memory, former, act.at)
        return self._store.perform(act, lambda act: self._bring_back(act, memory, after))

    def _bring_back(self, act: Operation, memory: Memory, after: Memory) -> Memory:
        """Restore a memory, unless it repeats a lesson learned since.

        A contradiction is refused in profile `knowledge`; in other profiles the two memories are linked.
        """
        decision, other = decision_about(self._store, after, act.at, self._terms())
        if other is not None and not other.live:  # a quarantined duplicate is no obstacle: the caller chose this one
            decision = other = None
        if decision is not None and other is not None and decision.operation in ("NOOP", "REJECT"):
            hint = f"it stays where it is; forget {other.handle} first if that is the wrong one"
            raise Rejected(f"{other.handle} says {_SAYS[decision.operation]}: {other.text[:200]}", 3, hint)
        self._store.accept_again(self._caller, [memory.id])
        stored = self._store.revise(act, memory, after, "restored", f"from {memory.status}")
        if decision is not None and other is not None and decision.operation in ("DELETE", "LINK"):
            add_link(self._store, act, Link(stored.id, other.id, "contradicts", act.at))
        return stored

    def _refusal(self, memory: Memory) -> str:
        """Return why the current gate would refuse or quarantine a memory's text; '' if it passes."""
        draft = Draft(memory.text, title=memory.title, tags=memory.tags, source=memory.source)
        try:
            profile = profile_of(memory.extra, self._settings.recall.profile)
            return pass_gate(draft, profile=profile, validate=True).quarantine
        except Rejected as refusal:
            return refusal.reason

    def _former(self, memory: Memory) -> tuple[str, str]:
        """Return the status that a memory had before it was hidden, and who hid it."""
        rows = self._store.history(self._caller, memory.id)
        for row in reversed(rows):
            status = row.before["status"] if row.before else ""
            if status in LIVE_STATUSES:
                return str(status), row.by
        return "candidate", rows[0].by if rows else ""  # it was imported hidden; a rank claimed by a file is ignored

    def retract(self, text: str, *, again: bool = True) -> Retracted:
        """Quarantine every lesson with exactly this text in the project and in the hive.

        Without `again`, lessons that were restored after an earlier retraction of the same text are left alone.
        """
        if not isinstance(text, str) or not normalize(text):
            raise InvalidInput("what is to be taken back is a text", "give the lesson in its words")
        act = self._operation("retract")
        record = Retraction(scrub_text(text), normalize(text), act.at, _reporter(self._caller), (), ())
        reason = f"retracted: {record.lesson}"
        matches = [memory for memory in matching(self._store, self._caller, record) if may_change(self._caller, memory)]
        matches = [memory for memory in matches if again or not self._was_hidden(memory, reason)]
        hidden = self._store.perform(act, lambda act: [self._hide(act, memory, reason) for memory in matches])
        ids = [tuple(memory.id for memory in hidden if memory.tier == tier) for tier in ("swarm", "hive")]
        return Retracted(tuple(hidden), replace(record, swarm_ids=ids[0], hive_ids=ids[1]))

    def _was_hidden(self, memory: Memory, reason: str) -> bool:
        short = clean_reason(reason, REASON_CHARS)
        return any(row.reason == short for row in self._store.history(self._caller, memory.id))

    def _check_change(self, memory: Memory, verb: str) -> None:
        if not may_change(self._caller, memory):
            raise NotAllowed(
                f"memory {memory.handle} was shared by {memory.owner or 'somebody else'}",
                f"only its author, a lead or a person can {verb} it",
            )


def _reporter(caller: Caller) -> str:
    """Return who hid a memory in the terms of opencode-swarm's files: `user` or `architect`."""
    return "user" if caller.role == "person" else "architect"


class Undone(tuple[Memory, ...]):
    """The memories that an undo changed, with the id of the undo itself, which can be undone in turn."""

    operation: str

    def __new__(cls, reverted: Iterable[Memory] = (), operation: str = "") -> Undone:
        made = super().__new__(cls, reverted)
        made.operation = operation
        return made


def last_undoable(store: Store, caller: Caller) -> str:
    """Return the caller's last operation that can be undone.

    Raise if the last one was an erasure or a change of phase: undoing an earlier one is not what the caller meant.
    """
    target = store.last_operation(caller)
    _, verb = store.last_act(caller)
    if verb == "erase":
        hint = f"the operation before it: swarmlore undo {target}" if target else "restore a backup if you have one"
        raise Conflict("the last change was an erasure, which cannot be undone", hint)
    if verb == "phase" and store.last_act(caller)[0] != target:
        hint = f"the operation before it: swarmlore undo {target}" if target else "begin another: swarmlore phase start"
        raise Conflict("the last thing you did was to begin or complete a phase, which stays", hint)
    if target:
        return target
    if last := store.last_undo(caller):
        raise NotFound("there is nothing more to undo", f"to bring back what was undone last: swarmlore undo {last}")
    raise NotFound("there is nothing to undo", "swarmlore history ID shows what happened to a memory")
