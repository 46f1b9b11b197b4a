"""What would take a memory out of sight, in the order in which it may happen. Pure."""

from __future__ import annotations

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.curation import UNUSED_DAYS, may_be_unused
from swarmlore.domain.policy.gate import in_force
from swarmlore.domain.policy.lifecycle import APPLIED_TO_FLAG, LifeTerms, is_evergreen, is_low_utility, life_of
from swarmlore.domain.records import Memory


def endings(memory: Memory, now: float, terms: LifeTerms, profile: str) -> tuple[str, ...]:
    """Sentences on what would remove it; for one that is out of sight, why it is."""
    if not memory.live or not in_force(memory, now):
        return (_gone(memory, now),)
    told = [*_times(memory), *_age(memory, now, terms, profile)]
    if is_low_utility(memory, terms):
        told.append("`curate` recommends archiving it: it was followed often, and tasks went wrong")
    else:
        share = (
            f"{terms.low_utility:.0%} of the tasks or fewer going well after it was followed {APPLIED_TO_FLAG} times"
        )
        told.append(f"`curate` would recommend archiving it at {share}")
    told.append(f"a correction of trust {memory.trust} or more takes its place")
    return (*told, "its author, a lead or a person can forget it")


def _gone(memory: Memory, now: float) -> str:
    if memory.forgotten_at is not None:
        return f"it was forgotten on {_day(memory.forgotten_at)}"
    if memory.superseded_by:
        return "another memory took its place"
    if not memory.live:
        return f"it is {memory.status}: {memory.extra.get('quarantine_reason') or 'no query shows it'}"
    if memory.valid_from is not None and memory.valid_from > now:
        return f"it holds from {_day(memory.valid_from)} on"
    return "its time is over"


def _times(memory: Memory) -> list[str]:
    ends = {"it expires on": memory.expires_at, "it holds until": memory.valid_until}
    return [f"{words} {_day(at)}" for words, at in ends.items() if at is not None]


def _age(memory: Memory, now: float, terms: LifeTerms, profile: str) -> list[str]:
    if memory.raw:
        return []
    if memory.status == "promoted" or is_evergreen(memory, terms):
        return [f"age does not: it is {'promoted' if memory.status == 'promoted' else 'evergreen'}"]
    if profile == "knowledge":
        return [f"more than {life_of(memory, terms)} phases without a confirmation, by a sweep"]
    if memory.source == "manual" or memory.trust >= 3:
        return ["age does not: a person or an agent wrote it to be kept"]
    if may_be_unused(memory, now, terms):
        return ["`curate` recommends archiving it, unless somebody was shown it"]
    return [f"`curate` would recommend archiving it after {UNUSED_DAYS:.0f} days in which nobody is shown it"]


def _day(at: float) -> str:
    return (iso(at) or "")[:10]
