"""`swarmlore why`: explain one memory by its origin, changes, showings, outcomes, rank, and what would remove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarmlore.config import Settings
from swarmlore.domain.json_codec import iso
from swarmlore.domain.language.citations import is_stale
from swarmlore.domain.policy.curation import UNUSED_DAYS, may_be_unused
from swarmlore.domain.policy.lifecycle import (
    APPLIED_TO_FLAG,
    LifeTerms,
    is_evergreen,
    is_low_utility,
    life_of,
    terms_of,
)
from swarmlore.domain.policy.new_memory import in_force
from swarmlore.domain.policy.ranking import default_priors, standing
from swarmlore.domain.records import Caller, Cited, Memory, Outcomes, Part
from swarmlore.frozen import TYPE_CHECKING, fields, frozen
from swarmlore.store.sessions import Showings
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any


def endings(memory: Memory, now: float, terms: LifeTerms, profile: str) -> tuple[str, ...]:
    """Return sentences on what would remove a memory or, if it is hidden already, why."""
    if not memory.live or not in_force(memory, now):
        return (_why_hidden(memory, now),)
    sentences = [*_times(memory), *_age(memory, now, terms, profile)]
    if is_low_utility(memory, terms):
        sentences.append("`curate` recommends archiving it: it was followed often, and tasks went wrong")
    else:
        share = (
            f"{terms.low_utility:.0%} of the tasks or fewer going well after it was followed {APPLIED_TO_FLAG} times"
        )
        sentences.append(f"`curate` would recommend archiving it at {share}")
    sentences.append(f"a correction of trust {memory.trust} or more takes its place")
    return (*sentences, "its author, a lead or a person can forget it")


def _why_hidden(memory: Memory, now: float) -> str:
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


LISTED = 5  # newest changes


@frozen
class Change:
    """One audited change of a memory, without its former content."""

    action: str
    at: float
    by: str
    reason: str


@frozen
class Why:
    """Explanation of one memory.

    `factor`, composed of `parts`, multiplies its relevance in a recall; `standing` (0 to 1) ranks it at session start.
    """

    memory: Memory
    origin: Mapping[str, Any]
    changes: tuple[Change, ...]
    showings: Showings
    outcomes: Mapping[str, int]
    factor: float
    parts: tuple[Part, ...]
    standing: float
    cited: tuple[Cited, ...]
    links: Mapping[str, tuple[str, ...]]
    ends: tuple[str, ...]


def explain(
    store: Store, caller: Caller, settings: Settings, memory: Memory, cited: Sequence[Cited], now: float
) -> Why:
    """Collect the facts that a person needs to judge a memory."""
    ranked = default_priors(memory, now, stale=is_stale(cited))
    profile = settings.recall.profile
    counted, names = memory.outcomes, [spec.name for spec in fields(Outcomes)]
    return Why(
        memory=memory,
        origin=_origin(memory),
        changes=tuple(
            Change(row.action, row.at, row.by, row.reason) for row in store.history(caller, memory.id)[-LISTED:]
        ),
        showings=store.showings_of(caller, memory.id),
        outcomes={name: getattr(counted, name) for name in names if getattr(counted, name)},
        factor=ranked.score,
        parts=ranked.parts,
        standing=0.0 if memory.raw else standing(memory, now).score,
        cited=tuple(cited),
        links=_links(store, caller, memory),
        ends=endings(memory, now, terms_of(settings.knowledge), profile),
    )


def _origin(memory: Memory) -> dict[str, Any]:
    """Return source, author, trust, project and source reference of a memory."""
    origin = {"source": memory.source, "by": memory.owner, "trust": memory.trust, "project": memory.project}
    return {**origin, **{str(name): value for name, value in memory.source_ref.items()}}


def _links(store: Store, caller: Caller, memory: Memory) -> dict[str, tuple[str, ...]]:
    """Return the handles of visible linked memories by kind; incoming links have a kind of their own."""
    backwards = {"supersedes": "superseded by", "elaborates": "elaborated by"}
    handles: dict[str, tuple[str, ...]] = {}
    for link in store.links_of(caller, [memory.id]):
        ahead = link.source == memory.id
        other = store.get(caller, link.target if ahead else link.source)
        if other is not None:
            kind = link.kind if ahead else backwards.get(link.kind, link.kind)
            handles[kind] = (*handles.get(kind, ()), other.handle)
    return handles
