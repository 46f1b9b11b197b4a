"""Import of files from other memory programs: reads their records, and stores private memories and links too.

Private memories stay private. The caller's own go to the caller, those of another agent to that agent; the latter are
only added, in an operation of that agent, who alone may see and undo it.
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from swarmlore.compat import agent_swarm, foreign_values, lane, mcp_memory, mem0
from swarmlore.compat.lane import EntityTables
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.policy.merge import Version
from swarmlore.domain.records import LINK_KINDS, Caller, Link, Memory
from swarmlore.exchange.admit import Admission
from swarmlore.exchange.import_files import CHUNK, Import, Importer
from swarmlore.exchange.import_stream import SentLines
from swarmlore.exchange.knowledge_format import derived_id
from swarmlore.exchange.sqlite_tables import FIRST, Row, Tables
from swarmlore.frozen import TYPE_CHECKING, frozen, replace
from swarmlore.memory.decide import add_link
from swarmlore.store.database import Operation
from swarmlore.store.ledgers import ImportState
from swarmlore.workspace import jsonl
from swarmlore.workspace.identity import PERSON
from swarmlore.workspace.jsonl import DECODER, LINE_BYTES, BadLine, Line, check_value

if TYPE_CHECKING:
    from typing import Any, BinaryIO


PART = 1 << 16  # characters read at once
_SPACE = " \t\r\n"
_PLAIN = json.JSONDecoder()


class Document:
    """Streaming reader of one JSON document: it yields list items without loading the whole document."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._ended = self._broken = False

    def records(self, lists: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Yield each list item with the name of its list, which is '' if the document is a list itself.

        Of an object only the lists named in `lists` are read. An invalid item is yielded as a BadLine; a BadLine is
        raised if the document itself is broken.
        """
        first = self._next()
        if first == "[":
            yield from (("", item) for item in self._items())
        elif first == "{":
            yield from self._members(lists)
        else:
            raise BadLine("not JSON: neither a list nor an object")
        if self._next():
            raise BadLine("more text behind the end of the document")

    def _members(self, lists: Sequence[str]) -> Iterator[tuple[str, Any]]:
        self._at += 1
        while (sign := self._next()) != "}":
            if sign == ",":
                self._at += 1
                continue
            name = self._value()
            if self._next() != ":":
                raise BadLine("not JSON from here on: a colon is missing")
            self._at += 1
            if self._next() == "[" and name in lists:
                yield from ((str(name), item) for item in self._items())
            else:
                self._value()
        self._at += 1

    def _items(self) -> Iterator[Any]:
        self._at += 1
        while (sign := self._next()) != "]":
            if sign == ",":
                self._at += 1
                continue
            yield self._value()
        self._at += 1

    def _next(self) -> str:
        """Skip white space and return the next character, or '' at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read(PART):
                return ""

    def _value(self) -> Any:
        """Parse the value that begins here; if the buffer ends too early, read as much again and retry."""
        if not self._next():
            raise BadLine("not UTF-8 from here on" if self._broken else "not JSON: it ends too early")
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise BadLine("nested too deeply") from None
            except json.JSONDecodeError as error:
                self._grow(f"not JSON from here on: {error.msg.lower().removesuffix(' at').rstrip(': ')}")
                continue
            except ValueError as error:  # valid JSON that exceeds our limits
                value, end = BadLine(str(error)[:80]), _PLAIN.raw_decode(self._text, self._at)[1]
            if end == len(self._text) and not self._ended and self._grow(""):
                continue  # a number may continue
            self._at = end
            return _checked(value)

    def _grow(self, problem: str) -> bool:
        """Read as much again as is in the buffer; raise BadLine with `problem` at the end of the file."""
        left = len(self._text) - self._at
        if left > LINE_BYTES:
            raise BadLine("a value that is too long, or not JSON from here on")
        grown = self._read(max(PART, left))
        if not grown and problem:
            raise BadLine("not UTF-8 from here on" if self._broken else problem)
        return grown

    def _read(self, size: int) -> bool:
        data = b"" if self._ended else self._file.read(size)
        try:
            more = self._decode.decode(data, final=not data)
        except UnicodeDecodeError as error:  # the text before it is still read
            self._decode.reset()
            more, data, self._broken = error.object[: error.start].decode("utf-8", "replace"), b"", True
        self._ended = not data
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(data or more)


def _checked(value: Any) -> Any:
    try:
        if not isinstance(value, BadLine):
            check_value(value)
    except BadLine as problem:
        return problem
    return value


_TABLES: dict[str, tuple[str, tuple[str, ...], Callable[[Mapping[str, Any]], Memory]]] = {
    "lane-db": (lane.TABLE, lane.VECTOR, lane.from_row),
    "agent-swarm": (agent_swarm.TABLE, agent_swarm.VECTOR, agent_swarm.from_row),
}


_LINKS = {"lane-db": (lane.LINKS, lane.ENDS), "agent-swarm": (agent_swarm.EDGES, agent_swarm.ENDS)}


@frozen
class Found:
    """One record of a file: its number, the position after it, and its memories or the reason why it has none."""

    number: int
    position: int
    memories: tuple[Memory, ...] = ()
    problem: str = ""


class Records:
    """Reader of the records of a file; `done` is the share that was read, from 0 to 1."""

    done = 0.0

    def found(self, position: int, number: int) -> Iterator[Found]:
        """Yield the records after a position, numbered on from `number`."""
        raise NotImplementedError

    def links(self) -> Iterator[tuple[int, Link | str]]:
        """Yield numbered links between memories; an invalid link as the reason why."""
        return iter(())

    def close(self) -> None:
        """Close what the reader opened."""


def open_records(kind: str, file: BinaryIO) -> Records:
    """Return the reader for a file of a known format."""
    if kind in _TABLES:
        return _TableRecords(kind, file.name)
    if kind != "lane" and _is_document(file):
        return _DocumentRecords(file, kind)
    return _LineRecords(file, reader_of(kind))


def _read_mem0(obj: Mapping[str, Any], _: int) -> list[Memory]:
    is_relation = "relationship" in obj and not mem0.is_record(obj)
    return [mem0.from_relation(obj) if is_relation else mem0.from_object(obj)]


_OBJECTS: dict[str, Callable[[Mapping[str, Any], int], list[Memory]]] = {
    "mcp-memory": mcp_memory.from_object,
    "mem0": _read_mem0,
}


def reader_of(kind: str) -> Callable[[Mapping[str, Any], int], list[Memory]]:
    """Return the function that turns one record of a format (line, list item or row) into memories."""
    if kind in _TABLES:
        return lambda row, _: [_TABLES[kind][2](row)]
    return _OBJECTS.get(kind, lambda obj, _: [lane.from_line(obj)])


_LISTS = {"mcp-memory": ("entities", "relations"), "mem0": (*mem0.LISTS, mem0.RELATIONS)}


def _is_document(file: BinaryIO) -> bool:
    """Whether a file is one JSON document: a list, or an object with lists or over several lines."""
    first = next(jsonl.lines(file, cap=jsonl.LONG_BYTES), None)
    file.seek(0)
    begins = first.raw.lstrip() if first else b""
    if first is None or not begins.startswith(b"{"):
        return begins.startswith(b"[")
    try:
        obj = jsonl.parse(first)
    except BadLine:
        return first.cut or begins.rstrip().endswith((b"{", b"[", b",", b":"))
    lists = any(isinstance(obj.get(name), list) for name in ("results", "memories", "entities", "relations"))
    return lists and "type" not in obj and "memory" not in obj


def raw_records(kind: str, file: BinaryIO) -> Iterator[dict[str, Any] | BadLine]:
    """Yield the raw records of a file; a remote server turns them into memories with `reader_of`."""
    if kind in _TABLES:
        yield from _raw_rows(kind, file.name)
    elif kind != "lane" and _is_document(file):
        try:
            for _, item in Document(file).records(_LISTS[kind]):
                yield item if isinstance(item, (dict, BadLine)) else BadLine("not a JSON object")
        except BadLine as problem:
            yield problem
    else:
        for line in jsonl.lines(file, cap=jsonl.LONG_BYTES):
            try:
                yield jsonl.parse(line)
            except BadLine as problem:
                yield problem


def _raw_rows(kind: str, path: str) -> Iterator[dict[str, Any] | BadLine]:
    table, vector, _ = _TABLES[kind]
    with Tables(path) as tables:
        graph = EntityTables(tables) if kind == "lane-db" else None
        place = FIRST
        while page := tables.rows(table, place, vector):
            graphs = graph.of([str(row.values.get("id")) for row in page]) if graph else {}
            for row in page:
                row_graph = graphs.get(str(row.values.get("id")))
                values = {**row.values, "graph": row_graph} if row_graph else row.values
                yield BadLine(row.problem) if row.problem else values
            place = page[-1].place


class _LineRecords(Records):
    """Reader of files with one record per line."""

    def __init__(self, file: BinaryIO, read: Callable[[Mapping[str, Any], int], list[Memory]]) -> None:
        self._file = file
        self._read = read
        self._size = max(1, os.fstat(file.fileno()).st_size)

    def found(self, position: int, number: int) -> Iterator[Found]:
        self._file.seek(position)
        for line in jsonl.lines(self._file, position, number, jsonl.LONG_BYTES):
            self.done = line.end / self._size
            try:
                memories = tuple(self._read(jsonl.parse(line), line.number))
            except BadLine as problem:
                yield Found(line.number, line.end, problem=problem.reason)
                continue
            yield Found(line.number, line.end, memories)


class _DocumentRecords(Records):
    """Reader of the list items of one JSON document. To resume, it reads from the start and skips earlier items."""

    def __init__(self, file: BinaryIO, kind: str) -> None:
        self._file = file
        self._kind = kind
        self._size = max(1, os.fstat(file.fileno()).st_size)

    def found(self, position: int, number: int) -> Iterator[Found]:
        self._file.seek(0)
        records = self._items()
        for at, item in islice(records, position, None):
            self.done = self._file.tell() / self._size
            yield Found(at, at, *item)

    def _items(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        at = 0
        try:
            for at, (name, value) in enumerate(Document(self._file).records(_LISTS[self._kind]), start=1):
                yield at, self._read_item(name, value, at)
        except BadLine as problem:
            yield at + 1, ((), problem.reason)

    def _read_item(self, name: str, value: Any, at: int) -> tuple[tuple[Memory, ...], str]:
        if isinstance(value, BadLine):
            return (), value.reason
        if not isinstance(value, dict):
            return (), "not a JSON object"
        read = _OBJECTS[self._kind]
        try:
            if name == mem0.RELATIONS and self._kind == "mem0":
                return (mem0.from_relation(value),), ""
            return tuple(read(value, at)), ""
        except BadLine as problem:
            return (), problem.reason


class _TableRecords(Records):
    """Reader of an SQLite file with one record per row: memories first, then links."""

    def __init__(self, kind: str, path: str) -> None:
        self._table, self._vector, self._read = _TABLES[kind]
        self._tables = Tables(path)
        self._links, self._ends = _LINKS[kind]
        self._graph = EntityTables(self._tables) if kind == "lane-db" else None
        self._count = max(1, self._tables.count(self._table))

    def close(self) -> None:
        self._tables.close()

    def found(self, position: int, number: int) -> Iterator[Found]:
        place = position if number else FIRST
        while page := self._tables.rows(self._table, place, self._vector):
            graphs = self._graph.of([str(row.values.get("id")) for row in page]) if self._graph else {}
            for row in page:
                number += 1
                self.done = number / self._count
                yield self._read_row(row, number, graphs)
            place = page[-1].place

    def _read_row(self, row: Row, number: int, graphs: Mapping[str, Any]) -> Found:
        if row.problem:
            return Found(number, row.place, problem=row.problem)
        graph = graphs.get(str(row.values.get("id")))
        try:
            memory = self._read({**row.values, "graph": graph} if graph else row.values)
        except BadLine as problem:
            return Found(number, row.place, problem=problem.reason)
        return Found(number, row.place, (memory,))

    def links(self) -> Iterator[tuple[int, Link | str]]:
        if not all(name in self._tables.columns(self._links) for name in self._ends):
            return
        place, number = FIRST, 0
        while page := self._tables.rows(self._links, place):
            for row in page:
                number += 1
                yield number, _link(row, self._ends)
            place = page[-1].place


def _link(row: Row, ends: tuple[str, str, str]) -> Link | str:
    if row.problem:
        return row.problem
    source, target, kind = (row.values.get(name) for name in ends)
    if ends == agent_swarm.ENDS:
        kind = "related"  # Agent Swarm has one kind only: derived from
    if kind not in LINK_KINDS:
        return f"unknown kind of link: {str(kind)[:40]}"
    strength = foreign_values.number(row.values.get("strength"))
    at = foreign_values.moment(row.values.get("created_at")) or 0.0
    return Link(str(source), str(target), str(kind), at, min(max(1.0 if strength is None else strength, 0.0), 1.0))


LINKS_AT_ONCE = 500
MOST_FEEDBACK = 100.0
NOT_HERE = "a link between memories that are not here"
NO_NAME = "a private memory of an agent whose name cannot be kept"
NOT_A_PERSON = "a private memory of the person, which only the person can import"
MOST_NAME = 128


class ForeignImport(Import):
    """One import of a file of another program."""

    def __init__(self, importing: Importer, kind: str, operation: Operation, source: str, state: ImportState) -> None:
        super().__init__(importing, kind, operation, source, state)
        self._prefix = team_prefix(self._store.engine.user, self._caller.agent)
        self._parts: dict[tuple[str, str], _Part] = {}

    def run(self, file: BinaryIO) -> Iterator[tuple[int, int]]:
        records, size = open_records(self._kind, file), os.fstat(file.fileno()).st_size
        try:
            yield from ((int(done * size), size) for done in self._run(records))
        finally:
            records.close()
            self._store.act_for(self._caller)  # even if it failed while acting for another agent

    def _run(self, records: Records) -> Iterator[float]:
        chunk: list[tuple[Line, Version]] = []
        for found in records.found(self._position, self._line):
            chunk += self._versions(found)
            while len(chunk) > 2 * CHUNK:  # one record may hold many; it counts as read when all are stored
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
        """Return the memories of a record; refuse it if their owner is invalid or not the caller's to import for."""
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
        """Return a memory with its owner's name in this store, and with its counters limited."""
        accessed = memory.last_accessed_at
        return replace(
            memory,
            owner=self._prefix + memory.owner if memory.owner else "",
            last_accessed_at=None if accessed is None else min(accessed, self._operation.at),
            feedback_score=min(memory.feedback_score, MOST_FEEDBACK),
        )

    def _take_in(self, chunk: list[tuple[Line, Any]], *, durable: bool) -> None:
        """Store a chunk in one transaction; the memories of each owner pass an admission of their own."""
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
        """Store links that are new and connect memories visible to the caller."""
        ids = sorted({id for _, link in batch for id in (link.source, link.target)})
        visible = self._store.ids_among(self._store.visible(self._caller), ids)
        stored = {(link.source, link.target, link.kind) for link in self._store.links_of(self._caller, sorted(visible))}
        fresh = []
        for number, link in batch:
            key = (link.source, link.target, link.kind)
            if not {link.source, link.target} <= visible:
                self._refuse_link(number, NOT_HERE)
            elif key not in stored and link.source != link.target:
                stored.add(key)
                fresh.append(replace(link, at=min(link.at or self._operation.at, self._operation.at)))
        with self._store.operation(self._operation):
            for link in fresh:
                self._store.tell(self._operation)
                add_link(self._store, self._operation, link)
        self._counts["linked"] += len(fresh)

    def _refuse_link(self, number: int, why: str) -> None:
        self._refuse(Line(0, 0, 0, b""), f"link {number}: {why}")


class _Part(Import):
    """The part of one import that goes to one owner: the project's swarm, or an agent's private memories."""

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
        """Pass new memories through the validation gate. One that another agent already has counts as known;
        the caller is not told whether it changed."""
        if not self._others:
            return self._admitted(rows)
        known, elsewhere = self._door.known([version.memory.id for _, version in rows])
        fresh = [row for row in rows if row[1].memory.id not in known and row[1].memory.id not in elsewhere]
        self._counts["known"] += len(rows) - len(fresh)
        return self._admitted(fresh)

    def keep(self, fresh: list[tuple[Line, Any]]) -> None:
        """Store admitted memories and what was rejected."""
        with self._store.operation(self._operation):
            self._store_all(fresh)
            self._keep_rejected()

    def _added(self, version: Version) -> None:
        self._counts["private"] += self._others


def _is_name(owner: str) -> bool:
    """Whether a name would be stored unchanged: redaction must not give a memory another owner."""
    return 0 < len(owner) <= MOST_NAME and owner.isprintable() and scrub_text(owner) == owner


def _of_another(operation: Operation, owner: Caller) -> Operation:
    return replace(operation, id=derived_id(operation.id, owner.agent), caller=owner)


def team_prefix(user: str, agent: str) -> str:
    """Return the prefix of agents' names in a team's store: the login, as in `ada/claude`."""
    return f"{user}/" if user and agent.startswith(f"{user}/") else ""


OTHERS = "a private memory of another agent"


class SentRecords(SentLines, ForeignImport):
    """Import of another program's records that a remote machine sends, one per line."""

    def take(self, lines: Sequence[Line]) -> None:
        try:
            super().take(lines)
        finally:
            self._store.act_for(self._caller)

    def _read_one(self, line: Line, chunk: list[tuple[Line, Any]]) -> None:
        self._number = line.number
        super()._read_one(line, chunk)

    def _record(self, obj: dict[str, Any]) -> list[Memory]:
        memories = [self._placed(memory) for memory in reader_of(self._kind)(obj, self._number)]
        if any(memory.tier == "agent" and memory.owner != self._caller.agent for memory in memories):
            raise BadLine(OTHERS)
        return memories

    def _take_in(self, chunk: list[tuple[Line, Any]], *, durable: bool) -> None:
        flat = [(line, Version(memory)) for line, memories in chunk for memory in memories]
        ForeignImport._take_in(self, flat, durable=durable)
