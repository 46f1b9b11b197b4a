"""Import from other memory programs: the same steps as for our own lines, with private memories and links as well.

What is private stays so: a row of the caller's own goes to their private memories, one of another agent to that
agent's, where it is added and nothing else. That is an operation of theirs, for they alone can see what it did.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.merge import Version
from swarmlore.domain.records import Caller, Link, Memory
from swarmlore.exchange.admit import Admission
from swarmlore.exchange.import_files import CHUNK, Import, Importing
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.memory.decide import add_link
from swarmlore.sharing.foreign_records import Found, Records, open_records
from swarmlore.store.database import Operation
from swarmlore.store.ledgers import ImportState
from swarmlore.workspace.jsonl import Line
from swarmlore.workspace.project import PERSON

if TYPE_CHECKING:
    from typing import Any, BinaryIO

LINKS_AT_ONCE = 500
MOST_FEEDBACK = 100.0
NOT_HERE = "a link between memories that are not here"
NO_NAME = "a private memory of an agent whose name cannot be kept"
NOT_A_PERSON = "a private memory of the person, which only the person can import"
MOST_NAME = 128


class ForeignImport(Import):
    """One run over one file of another program."""

    def __init__(self, door: Importing, kind: str, operation: Operation, source: str, state: ImportState) -> None:
        super().__init__(door, kind, operation, source, state)
        self._prefix = team_prefix(self._store.engine.user, self._caller.agent)
        self._parts: dict[tuple[str, str], _Part] = {}

    def run(self, file: BinaryIO) -> Iterator[tuple[int, int]]:
        records, size = open_records(self._kind, file), os.fstat(file.fileno()).st_size
        try:
            yield from ((int(done * size), size) for done in self._run(records))
        finally:
            records.close()
            self._store.act_for(self._caller)  # also where it ended while another agent's rows were looked up

    def _run(self, records: Records) -> Iterator[float]:
        chunk: list[tuple[Line, Version]] = []
        for found in records.found(self._position, self._line):
            chunk += self._versions(found)
            while len(chunk) > 2 * CHUNK:  # one record may hold many; until all are in, it counts as not read
                self._take_in(chunk[:CHUNK], durable=False)
                chunk = chunk[CHUNK:]
            self._counts["read"] = self._counts.get("read", 0) + 1
            self._position, self._line = found.position, found.number
            if len(chunk) >= CHUNK:
                self._take_in(chunk, durable=False)
                chunk = []
                yield min(records.done, 1.0)
        self._take_in(chunk, durable=True)
        self._link_all(records.links())
        yield 1.0

    def _versions(self, found: Found) -> list[tuple[Line, Version]]:
        line = Line(found.number, 0, 0, b"")
        if found.problem:
            self._refuse(line, found.problem)
        placed = [self._placed(memory) for memory in found.memories]
        private = [memory.owner for memory in placed if memory.tier == "agent"]
        if not all(map(_is_name, private)):
            self._refuse(line, NO_NAME)
            return []
        if self._caller.role != PERSON and self._prefix + PERSON in private:
            self._refuse(line, NOT_A_PERSON)
            return []
        return [(line, Version(memory)) for memory in placed]

    def _placed(self, memory: Memory) -> Memory:
        """A memory with its owner's name as it is here, and counters that a file can claim."""
        accessed = memory.last_accessed_at
        return replace(
            memory,
            owner=self._prefix + memory.owner if memory.owner else "",
            last_accessed_at=None if accessed is None else min(accessed, self._operation.at),
            feedback_score=min(memory.feedback_score, MOST_FEEDBACK),
        )

    def _take_in(self, chunk: list[tuple[Line, Any]], *, durable: bool) -> None:
        """The same, each place's memories through a door of their own."""
        places: dict[_Part, list[tuple[Line, Any]]] = {}
        for line, version in chunk:
            places.setdefault(self._part(version.memory), []).append((line, version))
        ready = [(part, part.admitted(rows)) for part, rows in places.items()]
        with self._store.operation(self._operation, durable=durable):
            for part, fresh in ready:
                part.keep(fresh)
            self._keep_place()

    def _part(self, memory: Memory) -> _Part:
        place = (memory.tier, memory.owner if memory.tier == "agent" else "")
        if place not in self._parts:
            self._parts[place] = _Part(self, *place)
        return self._parts[place]

    # Links

    def _link_all(self, links: Iterator[tuple[int, Link | str]]) -> None:
        batch: list[tuple[int, Link]] = []
        for number, link in links:
            if isinstance(link, str):
                self._refuse_link(number, link)
                continue
            batch.append((number, link))
            if len(batch) >= LINKS_AT_ONCE:
                self._link(batch)
                batch = []
        if batch:
            self._link(batch)

    def _link(self, batch: list[tuple[int, Link]]) -> None:
        """Draw the links that are not there yet, between memories that the caller sees."""
        ids = sorted({id for _, link in batch for id in (link.source, link.target)})
        there = self._store.ids_among(self._store.visible(self._caller), ids)
        drawn = {(link.source, link.target, link.kind) for link in self._store.links_of(self._caller, sorted(there))}
        fresh = []
        for number, link in batch:
            key = (link.source, link.target, link.kind)
            if not {link.source, link.target} <= there:
                self._refuse_link(number, NOT_HERE)
            elif key not in drawn and link.source != link.target:
                drawn.add(key)
                fresh.append(replace(link, at=min(link.at or self._operation.at, self._operation.at)))
        with self._store.operation(self._operation):
            for link in fresh:
                self._store.tell(self._operation)
                add_link(self._store, self._operation, link)
        self._counts["linked"] += len(fresh)

    def _refuse_link(self, number: int, why: str) -> None:
        self._refuse(Line(0, 0, 0, b""), f"link {number}: {why}")


class _Part(Import):
    """What of one import goes to one place: the project's swarm, or an agent's private memories."""

    def __init__(self, whole: ForeignImport, tier: str, owner: str) -> None:
        self._store, self._settings, self._name = whole._store, whole._settings, whole._name
        self._legacy = False
        self._tier = tier
        self.sent = whole.sent
        own = tier != "agent" or owner == whole._caller.agent
        self._others = not own
        self._caller = whole._caller if own else Caller(whole._caller.project, owner, "worker", 1)
        self._operation = whole._operation if own else _of_another(whole._operation, self._caller)
        facts = (self._store, self._caller, self._settings, tier, self._name)
        self._door = Admission(*facts, source="import", raw=True, sent=self.sent)
        self._counts, self._refusals, self._hidden_by = whole._counts, whole._refusals, whole._hidden_by
        self._rejected = []
        self._revived = set()

    def admitted(self, rows: list[tuple[Line, Any]]) -> list[tuple[Line, Any]]:
        """Those that say something new, through the gate. What became of one that another agent has already,
        nobody is told."""
        if not self._others:
            return self._admitted(rows)
        there, elsewhere = self._door.known([version.memory.id for _, version in rows])
        fresh = [row for row in rows if row[1].memory.id not in there and row[1].memory.id not in elsewhere]
        self._counts["known"] += len(rows) - len(fresh)
        return self._admitted(fresh)

    def keep(self, fresh: list[tuple[Line, Any]]) -> None:
        with self._store.operation(self._operation):
            self._store_all(fresh)
            self._keep_rejected()

    def _added(self, version: Version) -> None:
        self._counts["private"] += self._others


def _is_name(owner: str) -> bool:
    """Whether a name would pass unchanged: whose rows these are must not change on the way."""
    return 0 < len(owner) <= MOST_NAME and owner.isprintable() and scrub_text(owner) == owner


def _of_another(operation: Operation, owner: Caller) -> Operation:
    return replace(operation, id=derived_id(operation.id, owner.agent), caller=owner)


def team_prefix(user: str, agent: str) -> str:
    """In a team's store agents are called after whoever logs in, as `ada/claude`."""
    return f"{user}/" if user and agent.startswith(f"{user}/") else ""
