"""Files of other memory programs as memories: lines, one document, or the tables of a database."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from swarmlore.domain.records import LINK_KINDS, Link, Memory
from swarmlore.formats.elsewhere import agent_swarm, lane, mcp_memory, mem0, values
from swarmlore.formats.json_stream import Document
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.sharing.foreign_graph import EntityTables
from swarmlore.store.tables import FIRST, Row, Tables
from swarmlore.workspace import jsonl
from swarmlore.workspace.jsonl import BadLine

if TYPE_CHECKING:
    from typing import Any, BinaryIO

_TABLES: dict[str, tuple[str, tuple[str, ...], Callable[[Mapping[str, Any]], Memory]]] = {
    "lane-db": (lane.TABLE, lane.VECTOR, lane.from_row),
    "agent-swarm": (agent_swarm.TABLE, agent_swarm.VECTOR, agent_swarm.from_row),
}


_LINKS = {"lane-db": (lane.LINKS, lane.ENDS), "agent-swarm": (agent_swarm.EDGES, agent_swarm.ENDS)}


@frozen
class Found:
    """One record: its number, where to go on after it, the memories in it, or why there are none."""

    number: int
    position: int
    memories: tuple[Memory, ...] = ()
    problem: str = ""


class Records:
    """The records of a file, from a place on; `done` says how much of it was read, from 0 to 1."""

    done = 0.0

    def found(self, position: int, number: int) -> Iterator[Found]:
        raise NotImplementedError

    def links(self) -> Iterator[tuple[int, Link | str]]:
        """Links between memories with their numbers, or why one is none."""
        return iter(())

    def close(self) -> None:
        """Let go of what was opened."""


def open_records(kind: str, file: BinaryIO) -> Records:
    """The records of a file of a known format."""
    if kind in _TABLES:
        return _OfTables(kind, file.name)
    if kind == "lane":
        return _OfLines(file, lambda obj, _: [lane.from_line(obj)])
    if _is_document(file):
        return _OfDocument(file, kind)
    return _OfLines(file, _OBJECTS[kind])


def _of_mem0(obj: Mapping[str, Any], _: int) -> list[Memory]:
    related = "relationship" in obj and not mem0.is_record(obj)
    return [mem0.from_relation(obj) if related else mem0.from_object(obj)]


_OBJECTS: dict[str, Callable[[Mapping[str, Any], int], list[Memory]]] = {
    "mcp-memory": mcp_memory.from_object,
    "mem0": _of_mem0,
}


def reader_of(kind: str) -> Callable[[Mapping[str, Any], int], list[Memory]]:
    """What turns one record of a format into memories: a line, an item of a document, a row."""
    if kind in _TABLES:
        return lambda row, _: [_TABLES[kind][2](row)]
    return _OBJECTS.get(kind, lambda obj, _: [lane.from_line(obj)])


_LISTS = {"mcp-memory": ("entities", "relations"), "mem0": (*mem0.LISTS, mem0.RELATIONS)}


def _is_document(file: BinaryIO) -> bool:
    """Whether a file is one document: a list, or an object that holds lists or goes on in the next line."""
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
    """The records of a file as they are, for a program elsewhere that reads them with `reader_of`."""
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
                of_row = graphs.get(str(row.values.get("id")))
                values_ = {**row.values, "graph": of_row} if of_row else row.values
                yield BadLine(row.problem) if row.problem else values_
            place = page[-1].place


class _OfLines(Records):
    """A record a line."""

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


class _OfDocument(Records):
    """A record of a list in one document. To go on, what was read before is read again, and left out."""

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
                yield at, self._one(name, value, at)
        except BadLine as problem:
            yield at + 1, ((), problem.reason)

    def _one(self, name: str, value: Any, at: int) -> tuple[tuple[Memory, ...], str]:
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


class _OfTables(Records):
    """A record a row. The memories come first, then the links between them."""

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
                yield self._one(row, number, graphs)
            place = page[-1].place

    def _one(self, row: Row, number: int, graphs: Mapping[str, Any]) -> Found:
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
        kind = "related"  # it knows one sort: where a memory was taken from
    if kind not in LINK_KINDS:
        return f"unknown kind of link: {str(kind)[:40]}"
    strength = values.number(row.values.get("strength"))
    at = values.moment(row.values.get("created_at")) or 0.0
    return Link(str(source), str(target), str(kind), at, min(max(1.0 if strength is None else strength, 0.0), 1.0))
