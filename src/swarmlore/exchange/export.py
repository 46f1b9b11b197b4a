"""Export memories as our own lines or in the format of another memory program.

Forgotten and quarantined memories are never exported; private ones only on request, if they are the caller's own and
the format can mark them as private.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.merge import as_claimed
from swarmlore.domain.records import Caller, Memory
from swarmlore.errors import InvalidInput
from swarmlore.exchange import compat
from swarmlore.exchange.import_files import DATABASES, FOREIGN, NOTES, OWN, export_lines, write_lines
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.store.store import Store
from swarmlore.workspace.files import refuse_store_file, replace_file
from swarmlore.workspace.jsonl import dump

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from swarmlore.exchange.sqlite_tables import NewFile

    T = TypeVar("T")


EXPORTED = (*OWN, *FOREIGN)
KNOWS_PRIVATE = ("agent-swarm",)
RAW = {"agent-swarm": ("task_completion", "session_summary", "file_index")}
PAGE = 500


class Export:
    """One export; `count` is the number of memories exported so far.

    The guard is held per memory, not for the whole export, so that a slow reader does not block other threads.
    """

    def __init__(
        self,
        store: Store,
        caller: Caller,
        name: str,
        format: str,
        guard: AbstractContextManager[Any],
        *,
        private: bool = False,
    ) -> None:
        if format not in EXPORTED:
            raise InvalidInput(f"unknown format: {format}", "one of: " + ", ".join((*EXPORTED, *NOTES)))
        self._store, self._caller, self._name = store, caller, name
        self._format, self._private = format, private
        self._guard = guard
        self.count = 0

    def lines(self) -> Iterator[bytes]:
        """Yield the parts of a text file."""
        if self._format in DATABASES:
            raise InvalidInput(
                f"{self._format} is a database", f"name a file: swarmlore export --format {self._format} FILE"
            )
        if self._format in OWN:
            for line in self._in_turn(export_lines(self._store, self._caller, self._name, self._format)):
                self.count += 1
                yield line
            return
        yield from {"lane": self._lane, "mcp-memory": self._graph, "mem0": self._mem0}[self._format]()

    def write(self, path: str, *, overwrite: bool = False) -> int:
        """Write a file atomically; return its number of memories."""
        refuse_store_file(path, self._store.engine.path)
        if self._format not in DATABASES:
            write_lines(path, self.lines, overwrite=overwrite)
            return self.count
        from swarmlore.exchange.sqlite_tables import NewFile

        with replace_file(path, overwrite=overwrite, private=self._private) as part:
            database = NewFile(part, self._format)
            try:
                self._fill(database)
                database.finish()
            finally:
                database.close()
        return self.count

    # Choosing

    def _in_turn(self, items: Iterator[T]) -> Iterator[T]:
        while True:
            with self._guard:
                item = next(items, None)
            if item is None:
                return
            yield item

    def _memories(self) -> Iterator[Memory]:
        for memory in self._in_turn(self._chosen()):
            self.count += 1
            yield memory

    def _chosen(self) -> Iterator[Memory]:
        tiers = ("swarm", "agent") if self._private else ("swarm",)
        names = self._store.names_of(self._caller.project)
        prefix = f"{self._store.engine.user}/"
        for memory in self._store.in_order(self._store.visible(self._caller, tiers)):
            if self._is_exported(memory) and (memory.tier != "agent" or memory.project in names):
                claimed = as_claimed(memory)
                yield replace(claimed, owner=claimed.owner.removeprefix(prefix)) if prefix != "/" else claimed

    def _is_exported(self, memory: Memory) -> bool:
        if memory.forgotten_at is not None or memory.status == "quarantined" or memory.strategy:
            return False
        if memory.raw and memory.source not in RAW.get(self._format, ()):
            return False
        if self._format == "lane-db":
            return True  # its table has a column for the status
        return memory.live or (self._format == "lane" and memory.status == "superseded")

    # As texts

    def _lane(self) -> Iterator[bytes]:
        to_line = compat("lane").to_line
        yield from (dump(to_line(memory)) + b"\n" for memory in self._memories())

    def _graph(self) -> Iterator[bytes]:
        objects = compat("mcp_memory").to_objects
        yield from (dump(obj) + b"\n" for obj in objects(self._memories(), self._name))

    def _mem0(self) -> Iterator[bytes]:
        mem0 = compat("mem0")
        relations, sign = [], b'{"results":[\n'
        for memory in self._memories():
            if relation := mem0.relation_of(memory):
                relations.append(relation)
                continue
            yield sign + dump(mem0.to_object(memory))
            sign = b",\n"
        related = b',\n"relations":' + dump(relations) if relations else b""
        yield (b'{"results":[' if sign != b",\n" else b"\n") + b"]" + related + b"}\n"

    # As tables

    def _fill(self, database: NewFile) -> None:
        if self._format == "agent-swarm":
            agent_swarm = compat("agent_swarm")
            for memory in self._memories():
                database.add(agent_swarm.TABLE, agent_swarm.to_row(memory))
            return
        self._fill_lane(database)

    def _fill_lane(self, database: NewFile) -> None:
        lane = compat("lane")
        entities, written = lane.EntityRows(), []
        for memory in self._memories():
            database.add(lane.TABLE, lane.to_row(memory))
            for table, row in entities.of(memory):
                database.add(table, row, once=True)
            written.append(memory.id)
        self._fill_links(database, written)

    def _fill_links(self, database: NewFile, written: list[str]) -> None:
        exported, ids = set(written), iter(written)
        while page := list(islice(ids, PAGE)):
            with self._guard:
                links = self._store.links_of(self._caller, page)
            for link in links:
                if {link.source, link.target} <= exported:
                    key = f"{link.source}\n{link.target}\n{link.kind}".encode("utf-8", "replace")
                    ends = {"source_id": link.source, "target_id": link.target, "link_type": link.kind}
                    id = f"link_{blake2b(key, digest_size=8).hexdigest()}"
                    more = {"strength": link.strength, "created_at": iso(link.at)}
                    database.add("memory_links", {"id": id, **ends, **more}, once=True)


def check_private(format: str) -> None:
    """Raise InvalidInput if a format cannot mark memories as private."""
    if format not in KNOWS_PRIVATE:
        hint = "leave --private out, or write --format " + " or ".join(KNOWS_PRIVATE)
        raise InvalidInput(f"{format} has no place for private memories", hint)
