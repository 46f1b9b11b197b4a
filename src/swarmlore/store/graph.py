"""The knowledge graph in the store: mentions, relations and communities, derived from each memory in the transaction
that writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from swarmlore.domain.records import Entity, Memory
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.database import StoreBase

if TYPE_CHECKING:
    from typing import Any

PAGE = 500  # names or rows per query
NONE = -1  # the community of hubs: names that very many memories mention


@frozen
class Edge:
    """A relation between two canonical names, and the row of the memory that states it."""

    source: str
    target: str
    kind: str
    strength: float
    seq: int
    about: str = ""


@frozen
class Mention:
    """An entity as one memory names it."""

    seq: int
    name: str
    entity: Entity
    weight: float = 1.0


class Graphs(StoreBase):
    """Mentions, relations and communities; every read takes the partitions its caller may see."""

    def index_graph(self, seq: int, partition: int, memory: Memory) -> None:
        """Store the mentions and relations of a memory."""
        mentions, relations = graph_rows(seq, partition, memory)
        self.ask_many("add_mention", mentions)
        self.ask_many("add_relation", relations)

    def unindex_graph(self, seqs: Sequence[int]) -> None:
        """Delete the mentions and relations of some memories."""
        self.ask("delete_mentions_of", seqs=list(seqs))
        self.ask("delete_relations_of", seqs=list(seqs))

    def forget_lonely_names(self) -> None:
        """Remove names from the communities that no memory mentions any more, in any spelling or tier."""
        self.ask("forget_lonely_names")

    def has_graph(self, partitions: Sequence[int]) -> bool:
        """Return whether anything is mentioned in these partitions."""
        return bool(self.ask("any_mention", partitions=list(partitions)))

    def count_mentions(self, partitions: Sequence[int], names: Iterable[str]) -> dict[str, int]:
        """Return in how many memories each of these names is mentioned; names without a mention are left out."""
        found: dict[str, int] = {}
        for page in _pages(list(names)):
            rows = self.ask("count_mentions", partitions=list(partitions), names=page)
            found.update({str(name): int(count) for name, count in rows})
        return found

    def mentioning(self, partitions: Sequence[int], names: Iterable[str]) -> dict[str, dict[int, float]]:
        """Return the rows that mention each name, with the weight of the mention."""
        found: dict[str, dict[int, float]] = {}
        for page in _pages(list(names)):
            for name, seq, weight in self.ask("mentions_of_names", partitions=list(partitions), names=page):
                found.setdefault(str(name), {})[int(seq)] = float(weight)
        return found

    def mentions_in(self, partitions: Sequence[int], seqs: Iterable[int]) -> list[Mention]:
        """Return the mentions of these rows."""
        rows = [
            row
            for page in _pages(list(seqs))
            for row in self.ask("mentions_of_rows", partitions=list(partitions), seqs=page)
        ]
        return [
            Mention(int(seq), str(name), Entity(str(said), str(type), str(about)), float(weight))
            for seq, name, said, type, about, weight in rows
        ]

    def edges_at(self, partitions: Sequence[int], names: Iterable[str]) -> list[Edge]:
        """Return the relations that begin or end at one of these names."""
        found: dict[tuple[str, str, str, int], Edge] = {}
        for page in _pages(list(names)):
            for statement in ("relations_from", "relations_to"):
                for row in self.ask(statement, partitions=list(partitions), names=page):
                    edge = _edge(row)
                    found[edge.source, edge.target, edge.kind, edge.seq] = edge
        return list(found.values())

    def every_mention(self, partitions: Sequence[int]) -> list[Mention]:
        """Return all mentions in these partitions."""
        rows = self.ask("every_mention", partitions=list(partitions))
        return [
            Mention(int(seq), str(name), Entity(str(said), str(type), str(about)))
            for name, seq, said, type, about in rows
        ]

    def every_edge(self, partitions: Sequence[int]) -> list[Edge]:
        """Return all relations in these partitions."""
        return [_edge(row) for row in self.ask("every_relation", partitions=list(partitions))]

    def every_pair(self, partition: int) -> list[tuple[str, int]]:
        """Return (name, row) of every mention in a partition."""
        return [(str(name), int(seq)) for name, seq in self.ask("every_pair", partition=partition)]

    def keep_communities(self, partition: int, numbers: Mapping[str, int], *, add: bool = False) -> None:
        """Replace the communities of a partition or, with `add`, add names to them."""
        with self.engine.writing(durable=False):
            if not add:
                self.ask("clear_communities_of", partition=partition)
            rows = [{"partition": partition, "name": name, "number": number} for name, number in numbers.items()]
            self.ask_many("add_to_community", rows)

    def has_communities(self, partition: int) -> bool:
        """Return whether communities were computed for a partition."""
        return bool(self.ask("any_community", partition=partition))

    def communities_of(self, partitions: Sequence[int], names: Iterable[str]) -> dict[tuple[int, str], int]:
        """Return the community of each name by (partition, name); NONE for a hub, no item for a name that is new."""
        found: dict[tuple[int, str], int] = {}
        for page in _pages(list(names)):
            rows = self.ask("communities_of", partitions=list(partitions), names=page)
            found.update({(int(partition), str(name)): int(number) for partition, name, number in rows})
        return found

    def community(self, partition: int, number: int) -> list[Mention]:
        """Return the members of a community, each with a row that mentions it."""
        rows = self.ask("members_of_community", partition=partition, number=number)
        return [Mention(int(seq), str(name), Entity(str(said), str(type))) for name, seq, said, type in rows]

    def community_sizes(self, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Return the number of names with a community in each partition, and its highest community number."""
        rows = self.ask("count_communities", partitions=list(partitions))
        return {int(partition): (int(names), int(highest)) for partition, names, highest in rows}

    def names_without_community(self, partition: int) -> list[str]:
        """Return the names that are newer than the communities of a partition."""
        return sorted(str(name) for (name,) in self.ask("names_without_community", partition=partition))


def graph_rows(seq: int, partition: int, memory: Memory) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the mention rows and relation rows of a memory."""
    from swarmlore.domain.policy.graph import mentions_of  # imported here: reading does not need it

    found = mentions_of(memory)
    place = {"partition": partition, "memory_seq": seq}
    return [
        place | {"name": name, "said": e.name, "type": e.type, "about": e.description, "weight": found.weights[name]}
        for name, e in found.entities.items()
    ], [
        place | {"source": r.source, "target": r.target, "kind": r.kind, "about": r.description, "strength": r.strength}
        for r in found.relations
    ]


def _edge(row: Sequence[object]) -> Edge:
    source, target, kind, strength, seq, about = row
    return Edge(str(source), str(target), str(kind), float(str(strength)), int(str(seq)), str(about))


def _pages(items: list[Any]) -> Iterable[list[Any]]:
    return (items[start : start + PAGE] for start in range(0, len(items), PAGE))
