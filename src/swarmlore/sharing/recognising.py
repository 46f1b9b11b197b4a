"""Which format a file has: by what was said, by what it holds, by its name."""

from __future__ import annotations

import os
from contextlib import suppress

from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.memory.quarantine import is_retraction
from swarmlore.workspace import jsonl
from swarmlore.workspace.jsonl import BadLine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, BinaryIO

FOREIGN = ("lane", "lane-db", "agent-swarm", "mcp-memory", "mem0")  # of other memory programs
DATABASES = {"lane-db": "memories", "agent-swarm": "agent_memory"}  # and their tables
IMPORTED = ("auto", "knowledge", "shared", "legacy-hive", "retractions", *FOREIGN)
HEAD_BYTES = 65_536
_LISTS = ("results", "memories", "entities", "relations")


def check_format(format: str, others: tuple[str, ...]) -> None:
    if format not in IMPORTED:
        raise InvalidInput(f"unknown format: {format}", "one of: " + ", ".join((*IMPORTED, *others)))


def recognised(path: str, format: str, file: BinaryIO) -> str:
    """The format of an open file, which is at its beginning before and after; raises InvalidInput where the file is
    none of the named one."""
    head = file.read(HEAD_BYTES)
    file.seek(0)
    if head.startswith(b"SQLite format 3\x00"):
        return _of_database(path, format)
    if format in DATABASES:
        raise InvalidInput(f"{path} is no SQLite database", f"{format} is read from one; lines of JSON: --format lane")
    if format != "auto":
        return format
    return _of_content(head, file) or _of_name(path)


def _of_database(path: str, format: str) -> str:
    from swarmlore.store.tables import Tables

    wanted = "lane-db" if format == "lane" else format
    if wanted not in ("auto", *DATABASES):
        raise InvalidInput(f"{path} is a database", "import it with --format lane-db or agent-swarm, or without")
    with Tables(path) as tables:
        found = [kind for kind, table in DATABASES.items() if "content" in tables.columns(table)]
        own = {"memory", "operation", "audit"} <= set(tables.tables)
    if wanted in found:
        return wanted
    if len(found) == 1 and wanted == "auto":
        return found[0]
    if own:
        raise InvalidInput(f"{path} is a store of Swarmlore", "put it in place: swarmlore restore-backup FILE")
    if not found or wanted != "auto":
        table = DATABASES.get(wanted, "memories or agent_memory")
        raise InvalidInput(f"{path} has no table {table} with a content", "check that it is the file that you meant")
    raise InvalidInput(f"{path} has memories of two programs", "say which: --format lane-db or --format agent-swarm")


def _of_content(head: bytes, file: BinaryIO) -> str:
    """By the first record, whatever the file is called; '' where that tells nothing."""
    begins = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if begins.startswith(b"["):
        return _of_list(begins)
    found = ""
    for line in jsonl.lines(file, cap=jsonl.LONG_BYTES):
        with suppress(BadLine):
            found = kind_of_record(jsonl.parse(line))
            break
        if line.end > HEAD_BYTES:
            break
    file.seek(0)
    return found or _of_document(begins)


def kind_of_record(obj: Mapping[str, Any]) -> str:
    """By what a record looks like; '' where that tells nothing."""
    from swarmlore.formats.elsewhere.mcp_memory import is_graph
    from swarmlore.formats.elsewhere.mem0 import is_record

    if is_retraction(obj):
        return "retractions"
    if isinstance(obj.get("information"), str) and "lesson" not in obj:
        return "lane"
    if is_graph(obj) or (isinstance(obj.get("entities"), list) and isinstance(obj.get("relations"), list)):
        return "mcp-memory"
    if is_record(obj) or isinstance(obj.get("results"), list) or isinstance(obj.get("memories"), list):
        return "mem0"
    return ""


def _of_list(begins: bytes) -> str:
    """A document that is a list: of entities, or of memories."""
    return "mcp-memory" if b'"entityType"' in begins and b'"memory"' not in begins else "mem0"


def _of_document(begins: bytes) -> str:
    """A document over several lines, by the names of its lists."""
    if not begins.startswith(b"{"):
        return ""
    at = {name: begins.find(f'"{name}"'.encode()) for name in _LISTS}
    there = {name: place for name, place in at.items() if place >= 0}
    first = min(there, key=lambda name: there[name], default="")
    if first in ("results", "memories"):
        return "mem0"
    return "mcp-memory" if first in ("entities", "relations") and b'"entityType"' in begins else ""


def _of_name(path: str) -> str:
    name = os.path.basename(path)
    if name.startswith("hive-knowledge"):
        return "legacy-hive"
    if name.startswith("knowledge-retractions"):
        return "retractions"
    if name == "memories.jsonl":
        return "lane"
    return "shared" if name.startswith("shared-learnings") else "knowledge"
