"""The graph in the store: which memories mention what, derived from the rows in the transaction that writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from swarmlore.domain.records import Entity, Memory
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.database import StoreBase

if TYPE_CHECKING:
    from typing import Any

PAGE = 500  # names or rows of one question
NONE = -1  # the community of what very many memories mention


@frozen
class Edge:
    """A relation between two canonical names, and the row of the memory that tells it."""

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
    """Mentions, relations and communities; every read takes the partitions that its caller may see."""

    def index_graph(self, seq: int, partition: int, memory: Memory) -> None:
        """Note what a memory mentions."""
        mentions, relations = graph_rows(seq, partition, memory)
        self.ask_many("add_mention", mentions)
        self.ask_many("add_relation", relations)

    def unindex_graph(self, seqs: Sequence[int]) -> None:
        self.ask("delete_mentions_of", seqs=list(seqs))
        self.ask("delete_relations_of", seqs=list(seqs))

    def forget_lonely_names(self) -> None:
        """Take names out of the communities that no memory has any more, whatever wording or tier it had them in."""
        self.ask("forget_lonely_names")

    def has_graph(self, partitions: Sequence[int]) -> bool:
        """Whether anything is mentioned at all."""
        return bool(self.ask("any_mention", partitions=list(partitions)))

    def count_mentions(self, partitions: Sequence[int], names: Iterable[str]) -> dict[str, int]:
        """In how many memories each of these names is mentioned; those that nobody mentions are left out."""
        found: dict[str, int] = {}
        for page in _pages(list(names)):
            rows = self.ask("count_mentions", partitions=list(partitions), names=page)
            found.update({str(name): int(count) for name, count in rows})
        return found

    def mentioning(self, partitions: Sequence[int], names: Iterable[str]) -> dict[str, dict[int, float]]:
        """The rows that mention each name, with the weight of the mention."""
        found: dict[str, dict[int, float]] = {}
        for page in _pages(list(names)):
            for name, seq, weight in self.ask("mentions_of_names", partitions=list(partitions), names=page):
                found.setdefault(str(name), {})[int(seq)] = float(weight)
        return found

    def mentions_in(self, partitions: Sequence[int], seqs: Iterable[int]) -> list[Mention]:
        """What these rows mention."""
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
        """The relations that begin or end at one of these names."""
        found: dict[tuple[str, str, str, int], Edge] = {}
        for page in _pages(list(names)):
            for statement in ("relations_from", "relations_to"):
                for row in self.ask(statement, partitions=list(partitions), names=page):
                    edge = _edge(row)
                    found[edge.source, edge.target, edge.kind, edge.seq] = edge
        return list(found.values())

    def every_mention(self, partitions: Sequence[int]) -> list[Mention]:
        rows = self.ask("every_mention", partitions=list(partitions))
        return [
            Mention(int(seq), str(name), Entity(str(said), str(type), str(about)))
            for name, seq, said, type, about in rows
        ]

    def every_edge(self, partitions: Sequence[int]) -> list[Edge]:
        return [_edge(row) for row in self.ask("every_relation", partitions=list(partitions))]

    def every_pair(self, partition: int) -> list[tuple[str, int]]:
        """(name, row) of every mention in a partition."""
        return [(str(name), int(seq)) for name, seq in self.ask("every_pair", partition=partition)]

    def keep_communities(self, partition: int, numbers: Mapping[str, int], *, add: bool = False) -> None:
        """Put these communities in the place of the former ones, or add these names to them."""
        with self.engine.writing(durable=False):
            if not add:
                self.ask("clear_communities_of", partition=partition)
            rows = [{"partition": partition, "name": name, "number": number} for name, number in numbers.items()]
            self.ask_many("add_to_community", rows)

    def has_communities(self, partition: int) -> bool:
        return bool(self.ask("any_community", partition=partition))

    def communities_of(self, partitions: Sequence[int], names: Iterable[str]) -> dict[tuple[int, str], int]:
        """The community of each name, by partition and name; NONE for a hub, nothing for a name that is new."""
        found: dict[tuple[int, str], int] = {}
        for page in _pages(list(names)):
            rows = self.ask("communities_of", partitions=list(partitions), names=page)
            found.update({(int(partition), str(name)): int(number) for partition, name, number in rows})
        return found

    def community(self, partition: int, number: int) -> list[Mention]:
        """What belongs to a community, each with a row that mentions it."""
        rows = self.ask("members_of_community", partition=partition, number=number)
        return [Mention(int(seq), str(name), Entity(str(said), str(type))) for name, seq, said, type in rows]

    def community_sizes(self, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        """How many names have a community in each partition, and the highest number of one."""
        rows = self.ask("count_communities", partitions=list(partitions))
        return {int(partition): (int(names), int(highest)) for partition, names, highest in rows}

    def names_without_community(self, partition: int) -> list[str]:
        """Names that came since the communities of a partition were found."""
        return sorted(str(name) for (name,) in self.ask("names_without_community", partition=partition))


def graph_rows(seq: int, partition: int, memory: Memory) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What a memory adds to the graph, as rows: mentions and relations."""
    from swarmlore.domain.policy.graph import mentions_of  # reading does not need it

    found = mentions_of(memory)
    place = {"partition": partition, "memory_seq": seq}
    return [place | _mention_row(name, entity, found.weights[name]) for name, entity in found.entities.items()], [
        place | {"source": r.source, "target": r.target, "kind": r.kind, "about": r.description, "strength": r.strength}
        for r in found.relations
    ]


def _mention_row(name: str, entity: Entity, weight: float) -> dict[str, object]:
    said = {"said": entity.name, "type": entity.type, "about": entity.description}
    return {"name": name, **said, "weight": weight}


def _edge(row: Sequence[object]) -> Edge:
    source, target, kind, strength, seq, about = row
    return Edge(str(source), str(target), str(kind), float(str(strength)), int(str(seq)), str(about))


def _pages(items: list[Any]) -> Iterable[list[Any]]:
    return (items[start : start + PAGE] for start in range(0, len(items), PAGE))
