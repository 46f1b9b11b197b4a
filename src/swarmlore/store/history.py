"""Audit rows of memories, undo, forgetting and erasing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarmlore.domain.json_codec import memory_from_dict, memory_to_dict
from swarmlore.domain.records import AuditRow, Caller, Memory
from swarmlore.errors import Conflict, NotAllowed, NotFound
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.store.database import Operation
from swarmlore.store.memories import FILE_META, MAKING_META, Memories, drop_vectors, from_json

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.store.engine import Row

# Counters continue whatever happens to the content: an undo does not reset them.
_COUNTERS = (
    *("access_count", "last_accessed_at", "feedback_score", "feedback_count", "last_validated_at", "outcomes"),
)
# The audit actions of a rating. It changes no content, so it does not prevent the undo of an earlier operation.
RATED = {True: "rated helpful", False: "rated harmful"}
UNRATED = "unrated"
SCRUB_META = "scrub"  # the last erasure whose text may still be in the files
SCRUBBED = "done"
_FEEDBACK = ("feedback_score", "feedback_count", "last_validated_at")


@frozen
class Past:
    """How a memory came to its current state. `taken_back`: its last change was the undo of an import; `before` is its
    state before that import, None if it did not exist. `hidden_by` is the operation that hid it, `verb` that
    operation's verb."""

    taken_back: bool = False
    before: Memory | None = None
    hidden_by: str = ""
    verb: str = ""


class History(Memories):
    """The methods of `Store` for audit rows, undo, forget and erase."""

    def history(self, caller: Caller, ref: str) -> list[AuditRow]:
        """Return every change of one memory, oldest first, with the record before and after it."""
        memory = self.resolve(caller, ref)
        rows = self.ask("audit_of_memory", id=memory.id)
        if not rows:
            return []
        befores: list[Mapping[str, Any] | None] = [None if row[5] is None else from_json(row[5]) for row in rows]
        afters = [*befores[1:], memory_to_dict(memory)]
        return [
            AuditRow(str(row[0]), row[1], memory.id, row[2], row[3], row[4], before, after)
            for row, before, after in zip(rows, befores, afters, strict=True)
        ]

    def pasts(self, ids: Sequence[str]) -> dict[str, Past]:
        """Return for each memory how it came to its current state."""
        rows: dict[str, list[Row]] = {}
        for row in self.ask("pasts_of", ids=list(ids)) if ids else ():  # newest first
            rows.setdefault(str(row[0]), []).append(row)
        return {id: _past(found) for id, found in rows.items()}

    def forget(self, operation: Operation, memory: Memory, reason: str = "") -> Memory:
        """Hide a memory; `undo` restores it."""
        return self.revise(operation, memory, replace(memory, forgotten_at=operation.at), "forgotten", reason)

    def erase(self, operation: Operation, memory: Memory) -> None:
        """Delete a memory's text from rows, audit rows and indexes. The caller must scrub the files afterwards."""
        seq, partition = self._row_of(memory)
        self._unindex(seq, partition, memory)
        self._replace_situations(seq, ())
        drop_vectors(self, seq)
        for name in (FILE_META, MAKING_META):  # the vector file may contain them; the caller removes it
            self.ask("drop_meta", name=name)
        self.ask("delete_pieces", memory_seq=seq)
        self.ask("drop_pending_of", memory_seq=seq)
        for name in (
            "erase_reasons",
            "erase_audit",
            "erase_receipt_items",
            "erase_receipt_cues",
            "delete_links_of",
            "delete_memory",
        ):
            self.ask(name, id=memory.id)
        self.ask("clear_answers")
        self.audit(operation, replace(memory, text="", title=""), "erased", None)

    def owe_scrub(self, operation: Operation) -> None:
        """Record that something was erased and the files need scrubbing; part of its transaction."""
        self.ask("put_meta", name=SCRUB_META, value=operation.id)

    def scrub(self) -> None:
        """Make erased text unrecoverable in the files; if that fails, the scrub stays owed."""
        owed = self.meta(SCRUB_META)
        self.engine.scrub()
        with self.engine.writing(durable=False):
            if self.meta(SCRUB_META) == owed:  # otherwise something was erased meanwhile
                self.ask("put_meta", name=SCRUB_META, value=SCRUBBED)

    def is_scrub_owed(self) -> bool:
        """Return whether erased text may still be in the files. An older store looks in its audit rows."""
        owed = self.meta(SCRUB_META)
        return owed != SCRUBBED if owed else bool(self.ask("any_erased"))

    def superseded_by(self, caller: Caller, id: str) -> list[Memory]:
        """Return every visible memory that this one replaced, directly or through another."""
        found: dict[str, Memory] = {}
        queue = [id]
        while queue:
            for (former,) in self.ask("ids_superseded_by", id=queue.pop()):
                memory = self.get(caller, str(former))
                if memory is not None and memory.id not in found:
                    found[memory.id] = memory
                    queue.append(memory.id)
        return list(found.values())

    def last_operation(self, caller: Caller) -> str:
        """Return the caller's newest operation that can be undone, or ''."""
        self.act_for(caller)
        rows = self.ask("last_operation", by=caller.agent, projects=self.names_of(caller.project))
        return str(rows[0][0]) if rows else ""

    def last_act(self, caller: Caller) -> tuple[str, str]:
        """Return id and verb of the caller's newest operation in force, even one that cannot be undone, or ('', '')."""
        self.act_for(caller)
        rows = self.ask("last_act", by=caller.agent, projects=self.names_of(caller.project))
        return (str(rows[0][0]), str(rows[0][1])) if rows else ("", "")

    def last_undo(self, caller: Caller) -> str:
        """Return the caller's newest undo that is in force, or ''."""
        self.act_for(caller)
        rows = self.ask("last_undo", by=caller.agent, projects=self.names_of(caller.project))
        return str(rows[0][0]) if rows else ""

    def undo(self, operation: Operation, target: str) -> list[Memory]:
        """Revert all changes of one operation, or raise and change nothing. An undo can be undone too."""
        undoes = self._check_undoable(operation.caller, target)
        self.tell(operation)  # even if it changes no memory: an undo can be undone
        reverted = [self._revert(operation, *change) for change in self._changes_of(target)]
        self.ask("delete_links_of_operation", operation=target)
        self.ask("mark_undone", id=target, undone_by=operation.id)
        if undoes:  # undoing an undo puts the first operation in force again
            self.ask("mark_undone", id=undoes, undone_by="")
        return reverted

    def undone(self, operation: str) -> str:
        """Return the operation that an undo reverted, or '' if this is not an undo."""
        rows = self.ask("get_operation", id=operation)
        return str(rows[0][6]) if rows else ""

    def was_undone(self, operation: str) -> bool:
        """Return whether an operation was undone."""
        rows = self.ask("get_operation", id=operation)
        return bool(rows and rows[0][7])

    def _changes_of(self, target: str) -> list[tuple[str, str, int, str | None]]:
        """Return each memory of an operation once: last action and audit row there, and its state before."""
        changes: dict[str, tuple[str, str, int, str | None]] = {}
        for id, action, seq, before in self.ask("audit_of_operation", operation=target):  # newest first
            last = changes.get(id, (id, action, seq, before))
            changes[id] = (id, last[1], last[2], before)
        return list(changes.values())

    def _check_undoable(self, caller: Caller, target: str) -> str:
        """Return the operation that the target itself undid, or ''; raise if the target cannot be undone."""
        rows = self.ask("get_operation", id=target)
        if not rows or rows[0][4] not in self.names_of(caller.project):
            raise NotFound(*_no_operation(target))
        _, _, verb, by, _, _, undoes, undone_by = rows[0]
        if by != caller.agent:
            self._check_of_others(caller, target, str(verb))
        if undone_by:
            raise Conflict(f"operation {target} was undone already", f"to bring it back: swarmlore undo {undone_by}")
        if verb == "erase":
            raise Conflict("an erased memory cannot be brought back", "restore a backup if you have one")
        return str(undoes)

    def _check_of_others(self, caller: Caller, target: str, verb: str) -> None:
        """Check that the caller may undo another agent's operation: a lead that sees all of it. If it sees nothing of
        it, the operation does not exist for it."""
        touched = {int(row[0]) for row in self.ask("partitions_of_operation", operation=target)}
        visible, shared = set(self.visible(caller)), set(self.visible(caller, ("swarm",)))
        whose = {"projects": self.names_of(caller.project), "agent": caller.agent, "every": int(caller.leads)}
        if not touched & visible and not (not touched and self.ask("get_outcome", **whose, id=target)):
            raise NotFound(*_no_operation(target))
        # On a server the private half of a promotion is not visible.
        out_of_private = verb == "promote" and bool(touched & shared)
        if not caller.leads or not touched <= visible or out_of_private:
            raise NotAllowed("this operation is another agent's", "only its author, a lead or a person can undo it")

    def _revert(self, operation: Operation, id: str, action: str, seq: int, before: str | None) -> Memory:
        """Restore the state of a memory before one change; raise Conflict if it was changed since."""
        now = self.get(operation.caller, id)
        if now is None:
            raise NotFound(f"memory {id} is not there any more", "it was erased, or it is not yours to see")
        if before is not None and action in (*RATED.values(), UNRATED):
            return self._unrate(operation, now, seq, memory_from_dict(from_json(before)))
        if self.ask("changes_since", id=id, seq=seq)[0][0]:
            raise Conflict(
                f"memory {now.handle} was changed after this operation",
                f"see what happened: swarmlore history {now.handle}",
            )
        if before is None:
            return self.revise(operation, now, replace(now, forgotten_at=operation.at), "undone", f"undo of {action}")
        former = memory_from_dict(from_json(before))
        kept = {name: getattr(now, name) for name in _COUNTERS}
        restored = replace(former, **kept, updated_at=operation.at)
        return self.revise(operation, now, restored, "undone", f"undo of {action}")

    def _unrate(self, operation: Operation, now: Memory, seq: int, former: Memory) -> Memory:
        """Undo a rating, or the undo of one; later changes of the content stay."""
        if self.ask("ratings_since", id=now.id, seq=seq)[0][0]:
            raise Conflict(
                f"memory {now.handle} was rated again since", f"see what happened: swarmlore history {now.handle}"
            )
        untouched = not self.ask("changes_since", id=now.id, seq=seq)[0][0]
        names = (*_FEEDBACK, *(("situations", "extra", "status") if untouched else ()))
        restored = replace(now, **{name: getattr(former, name) for name in names})
        return self.revise(operation, now, restored, UNRATED)


def _no_operation(target: str) -> tuple[str, str]:
    return f"no operation {target!r}", "swarmlore history ID shows the operations on a memory"


def _past(rows: Sequence[Row]) -> Past:
    """Derive the past of a memory from its changes, newest first."""
    taken_back, before, position = False, None, 0
    # The change is the undo of an import: continue with the changes before that import.
    while position < len(rows) and rows[position][4] == "import":
        of_import = [number for number, row in enumerate(rows) if row[1] == rows[position][3]]
        if not of_import:
            break
        taken_back, before, position = True, rows[of_import[-1]][5], of_import[-1] + 1
    hidden_by, verb = next(((str(row[1]), str(row[2])) for row in rows if not _is_hidden(row[5])), ("", ""))
    former = memory_from_dict(from_json(before)) if before is not None else None
    return Past(taken_back, former, hidden_by, verb)


def _is_hidden(before: str | None) -> bool:
    return before is not None and from_json(before).get("forgotten_at") is not None
