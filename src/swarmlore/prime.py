"""What an agent should know before it begins: the stack, what fits the topic or stands for itself, what is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.recall import SAME, Recaller
from swarmlore.records import Caller, Hit, Memory, Query
from swarmlore.rules.birth import in_force
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store
from swarmlore.text.similarity import jaccard_bigram

if TYPE_CHECKING:
    from swarmlore.patterns import Patterns

RELEVANT = 5
RECENT = 5
LOOKED_AT = 100  # newest memories among which the recent lessons are sought


@frozen
class Primed:
    """`relevant` fits the topic or, without one, has earned to be known; `recent` are the newest others; `approaches`
    are those that are proven, and those to avoid."""

    project: str
    stacks: tuple[str, ...]
    topic: str
    relevant: tuple[Hit, ...]
    recent: tuple[Hit, ...]
    approaches: tuple[Hit, ...] = ()


def prime(
    store: Store,
    caller: Caller,
    recaller: Recaller,
    patterns: Patterns,
    query: Query,
    stacks: Sequence[str],
    now: float,
) -> Primed:
    """The few memories to begin with; the query says for which topic, within which scopes, and how many."""
    approaches = patterns.listed(now)
    told = {hit.memory.id for hit in approaches}
    found = recaller.recall(query, now) if query.text else recaller.standing(query, now)
    relevant = [hit for hit in patterns.told(found, now) if hit.memory.id not in told]
    scopes = ("global", *query.scopes)
    lately = [memory for memory in store.select(caller, Filter(limit=LOOKED_AT)) if memory.scope in scopes]
    recent = newest(lately, now, [hit.memory for hit in relevant])
    new = tuple(Hit(item, 0.0) for item in recent)
    return Primed(caller.project, tuple(stacks), query.text, tuple(relevant), new, tuple(approaches))


def newest(memories: Iterable[Memory], now: float, known: Sequence[Memory] = (), limit: int = RECENT) -> list[Memory]:
    """The newest lessons, each said once, without what is known already."""
    fit = [memory for memory in memories if not memory.raw and memory.live and in_force(memory, now)]
    kept: list[Memory] = []
    for memory in sorted(fit, key=lambda memory: (memory.updated_at, memory.id), reverse=True):
        if len(kept) < limit and not any(_says_the_same(memory, other) for other in (*known, *kept)):
            kept.append(memory)
    return kept


def _says_the_same(one: Memory, other: Memory) -> bool:
    same_key = bool(one.key) and one.key == other.key
    return one.id == other.id or same_key or jaccard_bigram(one.text, other.text) >= SAME
