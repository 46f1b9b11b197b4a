"""Files of other memory programs, as those write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

# As the two programs make them; not as our exports do.
LANE_TABLE = """
CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT NOT NULL, metadata TEXT, collection TEXT DEFAULT 'memory-lane',
    tags TEXT, embedding F32_BLOB(3), decay_factor REAL DEFAULT 1.0, valid_from TEXT, valid_until TEXT,
    superseded_by TEXT, auto_tags TEXT, keywords TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
"""
LANE_CORE = """
ALTER TABLE memories ADD COLUMN access_count TEXT DEFAULT '0';
ALTER TABLE memories ADD COLUMN last_accessed TEXT;
ALTER TABLE memories ADD COLUMN category TEXT;
ALTER TABLE memories ADD COLUMN status TEXT DEFAULT 'active';
CREATE TABLE memory_links (id TEXT PRIMARY KEY, source_id TEXT NOT NULL, target_id TEXT NOT NULL,
    link_type TEXT NOT NULL, strength REAL DEFAULT 1.0, created_at TEXT, UNIQUE (source_id, target_id, link_type));
CREATE TABLE entities (id TEXT PRIMARY KEY, name TEXT NOT NULL, entity_type TEXT NOT NULL, canonical_name TEXT,
    pref_label TEXT, alt_labels TEXT DEFAULT '[]', created_at TEXT, updated_at TEXT);
CREATE TABLE relationships (id TEXT PRIMARY KEY, subject_id TEXT NOT NULL, predicate TEXT NOT NULL,
    object_id TEXT NOT NULL, memory_id TEXT, confidence REAL DEFAULT 1.0, created_at TEXT);
CREATE TABLE entity_taxonomy (id TEXT PRIMARY KEY, entity_id TEXT NOT NULL, related_entity_id TEXT NOT NULL,
    relationship_type TEXT NOT NULL, created_at TEXT);
CREATE TABLE memory_entities (memory_id TEXT NOT NULL, entity_id TEXT NOT NULL, role TEXT,
    PRIMARY KEY (memory_id, entity_id));
"""
SWARM_TABLE = """
CREATE TABLE agent_memory (id TEXT PRIMARY KEY, agentId TEXT, scope TEXT NOT NULL CHECK (scope IN ('agent', 'swarm')),
    name TEXT NOT NULL, content TEXT NOT NULL, summary TEXT, embedding BLOB,
    source TEXT NOT NULL CHECK (source IN ('manual', 'file_index', 'session_summary', 'task_completion')),
    sourceTaskId TEXT, sourcePath TEXT, chunkIndex INTEGER DEFAULT 0, totalChunks INTEGER DEFAULT 1,
    tags TEXT DEFAULT '[]', createdAt TEXT NOT NULL, accessedAt TEXT NOT NULL, expiresAt TEXT,
    accessCount INTEGER DEFAULT 0, embeddingModel TEXT);
"""
SWARM_LATER = """
ALTER TABLE agent_memory ADD COLUMN alpha REAL DEFAULT 1.0;
ALTER TABLE agent_memory ADD COLUMN beta REAL DEFAULT 1.0;
ALTER TABLE agent_memory ADD COLUMN key TEXT;
ALTER TABLE agent_memory ADD COLUMN contentHash TEXT;
ALTER TABLE agent_memory ADD COLUMN version INTEGER DEFAULT 1;
ALTER TABLE agent_memory ADD COLUMN updatedAt TEXT;
ALTER TABLE agent_memory ADD COLUMN contextKey TEXT;
"""


def database(path: Path, schema: str, rows: Mapping[str, Iterable[Mapping[str, Any]]], *, wal: bool = False) -> Path:
    """A file with these tables and rows, closed."""
    db = fill(path, schema, rows, wal=wal)
    db.close()
    return path


def fill(
    path: Path, schema: str, rows: Mapping[str, Iterable[Mapping[str, Any]]], *, wal: bool = False
) -> apsw.Connection:
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}").fetchall()
    db.execute(schema)
    with db:
        for table, items in rows.items():
            for row in items:
                names, places = ", ".join(row), ", ".join("?" * len(row))
                db.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(row.values()))
    return db


def every_row(path: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(db.execute(f"SELECT {', '.join(columns) or '*'} FROM {table} ORDER BY 1"))
    finally:
        db.close()


def row_dicts(path: Path, table: str, leave_out: Sequence[str] = ()) -> list[dict[str, Any]]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        names = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
        found = [dict(zip(names, row, strict=True)) for row in db.execute(f"SELECT * FROM {table} ORDER BY 1")]
    finally:
        db.close()
    return [{name: value for name, value in row.items() if name not in leave_out} for row in found]


def a_lane_row(number: int, **more: Any) -> dict[str, Any]:
    metadata = {"lane_version": "1.0.0", "memory_type": "insight", "confidence_score": number % 101}
    row = {
        "id": f"mem_m5_{number:07d}",
        "content": f"Service s{number * 31} listens on port {2000 + number * 13}, see {number * 7919}.md",
        "metadata": json.dumps(metadata),
        "tags": json.dumps([f"t{number % 7}"]),
        "embedding": b"\x00\x00\x80\x3f" * 3,
        "created_at": "2025-01-02T03:04:05.000Z",
        "updated_at": "2025-01-02T03:04:05.000Z",
    }
    return {**row, **more}


def a_swarm_row(number: int, **more: Any) -> dict[str, Any]:
    row = {
        "id": f"00000000-0000-4000-8000-{number:012d}",
        "agentId": "worker-1",
        "scope": "swarm",
        "name": f"Port {number}",
        "content": f"Service s{number * 31} listens on port {2000 + number * 13}, see {number * 7919}.md",
        "source": "manual",
        "tags": "[]",
        "createdAt": "2025-01-02T03:04:05.000Z",
        "accessedAt": "2025-01-02T03:04:05.000Z",
    }
    return {**row, **more}


def json_lines(path: Path, *rows: Mapping[str, Any] | bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows))
    return path
