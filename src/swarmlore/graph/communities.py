"""Communities: entities that are mentioned together. Each partition has its own, kept with the store.

Found by letting labels settle between memories and the entities they mention: a memory takes the label most of its
entities have, an entity that of most of its memories. What everybody mentions belongs to no community.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from swarmlore.domain.policy.graph import rarity
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store.graph import NONE
from swarmlore.store.store import Store

if TYPE_CHECKING:
    from typing import Any

ROUNDS = 10
DRIFT = 0.1  # of the names may be placed one by one before all are found anew
SMALL = 500  # names; so few are found anew in no time
HUB_SHARE = 0.02  # of the memories; what more of them mention is a hub
HUB_LEAST = 12


def ensure(store: Store, partitions: Sequence[int]) -> dict[int, dict[str, int]]:
    """Bring the communities of these partitions up to date: all anew where much has changed, else the new names only.

    Gives those that could not be kept, because the store is only read.
    """
    known = store.community_sizes(partitions)
    unkept: dict[int, dict[str, int]] = {}
    for partition in partitions:
        have, highest = known.get(partition, (0, NONE))
        new = store.names_without_community(partition)
        anew = len(new) > DRIFT * have or have + len(new) <= SMALL
        if new and anew:
            numbers = _found_anew(store, partition)
            if store.engine.readonly:
                unkept[partition] = numbers
            else:
                store.keep_communities(partition, numbers)
        elif new and not store.engine.readonly:
            store.keep_communities(partition, _placed(store, partition, new, highest + 1), add=True)
    return unkept


def ensure_any(store: Store, partitions: Sequence[int]) -> dict[int, dict[str, int]]:
    """The same for partitions that have none yet; cheap where all have."""
    return ensure(store, [partition for partition in partitions if not store.has_communities(partition)])


def _found_anew(store: Store, partition: int) -> dict[str, int]:
    """A number for every name; what everybody mentions has that of a hub."""
    pairs = store.every_pair(partition)
    return dict.fromkeys((name for name, _ in pairs), NONE) | find(pairs, _relations(store, partition))


def _placed(store: Store, partition: int, new: Sequence[str], free: int) -> dict[str, int]:
    """New names in the community that the memories which mention them belong to, or together in one of their own."""
    mentions = store.mentions_in(
        [partition], {row for rows in store.mentioning([partition], new).values() for row in rows}
    )
    numbers = {
        name: number for (_, name), number in store.communities_of([partition], {m.name for m in mentions}).items()
    }
    by_row: dict[int, list[str]] = {}
    for mention in sorted(mentions, key=lambda mention: (mention.seq, mention.name)):
        by_row.setdefault(mention.seq, []).append(mention.name)
    placed: dict[str, int] = {}
    waiting = set(new)
    for names in by_row.values():
        votes = Counter(number for name in names if (number := numbers.get(name, placed.get(name, NONE))) != NONE)
        number = min(votes, key=lambda each: (-votes[each], each)) if votes else free
        free = max(free, number + 1)
        placed.update((name, number) for name in names if name in waiting and name not in placed)
    return placed


def _relations(store: Store, partition: int) -> list[tuple[str, str, float]]:
    return [(edge.source, edge.target, edge.strength) for edge in store.every_edge([partition])]


def find(pairs: Sequence[tuple[str, int]], relations: Sequence[tuple[str, str, float]] = ()) -> dict[str, int]:
    """A number for every name that is no hub; equal ones belong together. The same graph gives the same numbers."""
    import numpy as np

    names = sorted({name for name, _ in pairs})
    if not names:
        return {}
    place = {name: number for number, name in enumerate(names)}
    rows = {row: number for number, row in enumerate(sorted({row for _, row in pairs}))}
    ends = [(place[name], rows[row], 1.0) for name, row in pairs]
    memories = len(rows)
    for source, target, strength in relations:  # a relation is a small memory of its own, of two names
        if source in place and target in place:
            joint = len(rows)
            rows[-joint - 1] = joint
            ends += [(place[source], joint, strength / 5), (place[target], joint, strength / 5)]
    table = np.array(ends, dtype=np.float64)
    labels, hubs = _settle(table, len(names), len(rows), memories)
    _, numbers = np.unique(labels, return_inverse=True)
    numbered = zip(names, numbers.ravel(), hubs, strict=True)
    return {name: int(number) for name, number, hub in numbered if not hub}


def _settle(table: Any, names: int, rows: int, memories: int) -> Any:
    """Labels of the names after they have settled, and which names are hubs; the first rows are memories."""
    import numpy as np

    name, row = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    counts = np.bincount(name[row < memories], minlength=names)
    weights = table[:, 2] * np.array([rarity(int(count), memories) ** 2 for count in counts])[name]
    hub = counts > max(HUB_LEAST, HUB_SHARE * memories)
    hub = hub if not hub.all() else np.zeros(names, dtype=bool)
    inner = ~hub[name]
    joins = inner & (counts[name] > 1)  # what one memory alone mentions joins nothing: it goes where that one goes
    labels = np.arange(names)
    for _ in range(ROUNDS):
        row_labels = _most(row[joins], labels[name[joins]], weights[joins], rows)
        settled = _most(name[joins], row_labels[row[joins]], weights[joins], names, labels)
        if (settled == labels).all():
            break
        labels = settled
    alone = inner & (counts[name] == 1)
    row_labels = _most(row[inner], labels[name[inner]], weights[inner] * np.where(alone[inner], 1e-6, 1.0), rows)
    return _most(name[alone], row_labels[row[alone]], weights[alone], names, labels), hub


def _most(nodes: Any, labels: Any, weights: Any, size: int, before: Any = None) -> Any:
    """For every node the label with the most weight around it; of equals the smallest; -1 or `before` where none is."""
    import numpy as np

    found = np.full(size, -1) if before is None else before.copy()
    if not len(nodes):
        return found
    span = int(labels.max()) + 2
    keys, inverse = np.unique(nodes * span + labels + 1, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=weights)
    owners, owned = keys // span, keys % span - 1
    order = np.lexsort((owned, -np.round(sums, 9), owners))
    first = np.unique(owners[order], return_index=True)[1]
    found[owners[order][first]] = owned[order][first]
    return found
