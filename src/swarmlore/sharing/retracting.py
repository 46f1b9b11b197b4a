"""Retractions of others, carried out here: what was taken back goes to quarantine, where nobody is shown it."""

from __future__ import annotations

from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.policy.lifecycle import quarantined
from swarmlore.domain.records import Caller, Memory
from swarmlore.formats.retractions import Retraction
from swarmlore.store.database import Operation
from swarmlore.store.store import Store
from swarmlore.workspace.project import may_change


def retract(store: Store, operation: Operation, retraction: Retraction) -> list[tuple[str, str]]:
    """Quarantine what a retraction means, inside a transaction; returns what became of each memory."""
    found = meant(store, operation.caller, retraction)
    if not found:
        return [("known", "nothing here says that")]
    return [_quarantine(store, operation, memory, retraction) for memory in found]


def meant(store: Store, caller: Caller, retraction: Retraction) -> list[Memory]:
    """The memories that say what was taken back. A name alone is not believed: ids in a file are claims."""
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
