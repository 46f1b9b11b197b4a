"""What `lore.graph` can say: communities with a report each, what is around a name, and a picture of all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from swarmlore.domain.language.concepts import canonical
from swarmlore.domain.records import Caller, Entity, Memory, Relation
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from swarmlore.graph.picture import Picture
    from swarmlore.graph.reports import Community

COMMUNITIES = 20
MOST = 1_000


@frozen
class Known:
    """An entity as memories know it: how many mention it, which, and how it stands to others."""

    entity: Entity
    memories: tuple[str, ...]
    relations: tuple[Relation, ...]


class GraphView:
    """The graph as one caller sees it now: what `recall` would not show has no part in it."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        now: Callable[[], float],
        looking: Callable[[], AbstractContextManager[None]],
        home: str = "",
        holds: Callable[[Memory], bool] = lambda _: True,
    ) -> None:
        self._store = store
        self._caller = caller
        self._now = now
        self._looking = looking
        self._home = home
        self._holds = holds  # of several versions of a note, which is to be shown

    def communities(self, limit: int = COMMUNITIES) -> tuple[Community, ...]:
        """What belongs together, the largest first, each with a short report."""
        from swarmlore.formats.community_reports import read
        from swarmlore.graph.reports import Communities

        if not isinstance(limit, int) or not 1 <= limit <= MOST:
            raise InvalidInput(f"limit {limit!r} is out of range", f"from 1 to {MOST}")
        with self._looking():
            written = partial(read, self._home) if self._home else dict
            known = Communities(self._store, self._store.visible(self._caller), self._fits(), written)
            return tuple(known.every(limit))

    def about(self, name: str) -> Known | None:
        """What is known about a thing under this name or a variant of it; None where nobody mentions it."""
        with self._looking():
            partitions, key = self._store.visible(self._caller), canonical(name)
            rows = sorted(self._store.mentioning(partitions, [key]).get(key, ()))[:MOST]
            fits, found = self._fits(), self._store.by_seqs(rows)
            memories = {row: memory for row, memory in found.items() if fits(memory)}
            mentions = [item for item in self._store.mentions_in(partitions, memories) if item.name == key]
            if not mentions:
                return None
            edges = [edge for edge in self._store.edges_at(partitions, [key]) if edge.seq in memories]
            best = max(mentions, key=lambda item: (len(item.entity.description), -item.seq))
            relations = tuple(Relation(e.source, e.target, e.kind, e.about, e.strength) for e in edges)
            return Known(best.entity, tuple(memory.id for memory in memories.values()), relations)

    def picture(self) -> Picture:
        """Entities, connections and memories with a place for each entity, as `visualize` draws them."""
        from swarmlore.graph.picture import picture

        with self._looking():
            return picture(self._store, self._store.visible(self._caller), self._fits())

    def _fits(self) -> Callable[[Memory], bool]:
        """Whether a memory may be shown here and now."""
        from swarmlore.domain.policy.gate import in_force

        store, caller, now = self._store, self._caller, self._now()

        def fits(memory: Memory) -> bool:
            told = "episode" in memory.source_ref  # where lessons come from; found only by who asks for it
            there = memory.live and not told and in_force(memory, now) and store.is_of_here(caller, memory)
            return there and self._holds(memory)

        return fits
