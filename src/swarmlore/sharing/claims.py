"""What a line may claim that was sent over the network. Pure.

The claims of a worker's lines are dropped, so that nobody exports them as the team's. A lead answers for what a file
says; that a person said it, no token can claim.
"""

from __future__ import annotations

from swarmlore.domain.policy.merge import STANDING, Version, with_file_standing
from swarmlore.domain.records import Caller, Memory
from swarmlore.formats.knowledge import derived_id
from swarmlore.frozen import replace
from swarmlore.workspace.project import PERSON

RISEN = ("established", "promoted")
COUNTED = "retrieval_outcomes"


def as_own(version: Version, caller: Caller) -> Version:
    """A version as its sender may say it."""
    memory = version.memory
    memory = replace(memory, trust=min(memory.trust, caller.trust))
    if caller.leads:
        owner = caller.agent if memory.owner.rpartition("/")[2] == PERSON else memory.owner
        return replace(version, memory=replace(memory, owner=owner))
    return replace(version, memory=_of_a_worker(memory, caller))


def _of_a_worker(memory: Memory, caller: Caller) -> Memory:
    extra = {name: value for name, value in memory.extra.items() if name != COUNTED}
    filed = with_file_standing(memory, "import", caller.agent)
    return replace(filed, project="", max_phases=None, extra=extra)


def under_another_id(version: Version, caller: Caller) -> Version:
    """What was sent under an id that is taken where its sender cannot see. That it is taken is nobody's business, so it
    is not refused; the same line has the same other id each time."""
    memory = version.memory
    place = f"{caller.project}\n{caller.agent}\n{memory.tier}"
    return replace(version, memory=replace(memory, id=derived_id(place, memory.id)))


def keeping(version: Version, known: Memory) -> Version:
    """The same about a memory that is there: what its sender could not say stays as it is known."""
    if version.gone:
        return version
    memory = version.memory
    counted = {COUNTED: known.extra[COUNTED]} if COUNTED in known.extra else {}
    kept = {name: getattr(known, name) for name in (*STANDING, "max_phases", "project") if name != "status"}
    risen = memory.status == "candidate" and known.status in RISEN
    kept["status"] = known.status if risen else memory.status
    return replace(version, memory=replace(memory, **kept, extra={**memory.extra, **counted}))


def is_settled(local: Memory | None, version: Version) -> bool:
    """Whether somebody decided about a memory what its sender cannot take back by sending it once more."""
    if local is None or version.gone:
        return False
    return local.forgotten_at is not None or local.status == "quarantined"
