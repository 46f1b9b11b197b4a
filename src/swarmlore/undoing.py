"""Which act is taken back when nobody names one, and what to say where there is none."""

from __future__ import annotations

from collections.abc import Iterable

from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import Conflict, NotFound
from swarmlore.store.store import Store


class Undone(tuple[Memory, ...]):
    """The memories that an undo changed, and its own id: undone in its turn it brings everything back."""

    operation: str

    def __new__(cls, reverted: Iterable[Memory] = (), operation: str = "") -> Undone:
        made = super().__new__(cls, reverted)
        made.operation = operation
        return made


def last_undoable(store: Store, caller: Caller) -> str:
    """The caller's last act. An erasure is not passed over: what was done before it is another thing than was meant."""
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
