"""SQLite files made for other programs: their tables, filled row by row.

The file is new and nobody else's until it is whole, so it needs no journal; whoever asked for it puts it in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import apsw

from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

MOST_ADDED = 100  # columns that the tables here do not have
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
# Memory Lane's columns, then those of swarm-mail. Its vectors have 1024 numbers by default; none is written.
LANE = """
CREATE TABLE memories (
    id TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    metadata TEXT DEFAULT '{}',
    collection TEXT DEFAULT 'memory-lane',
    tags TEXT DEFAULT '[]',
    embedding F32_BLOB(1024),
    confidence REAL,
    decay_factor REAL DEFAULT 1.0,
    valid_from TEXT,
    valid_until TEXT,
    superseded_by TEXT,
    auto_tags TEXT,
    keywords TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    access_count TEXT DEFAULT '0',
    last_accessed TEXT,
    category TEXT,
    status TEXT DEFAULT 'active'
);
CREATE INDEX idx_memories_collection ON memories (collection);
CREATE TABLE memory_links (
    id TEXT PRIMARY KEY,
    source_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    target_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    link_type TEXT NOT NULL,
    strength REAL DEFAULT 1.0,
    created_at TEXT,
    UNIQUE (source_id, target_id, link_type)
);
CREATE TABLE entities (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    entity_type TEXT NOT NULL,
    canonical_name TEXT,
    pref_label TEXT,
    alt_labels TEXT DEFAULT '[]',
    created_at TEXT,
    updated_at TEXT,
    UNIQUE (name, entity_type)
);
CREATE TABLE relationships (
    id TEXT PRIMARY KEY,
    subject_id TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    predicate TEXT NOT NULL,
    object_id TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    memory_id TEXT REFERENCES memories (id) ON DELETE SET NULL,
    confidence REAL DEFAULT 1.0,
    created_at TEXT,
    UNIQUE (subject_id, predicate, object_id)
);
CREATE TABLE memory_entities (
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    entity_id TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    role TEXT,
    PRIMARY KEY (memory_id, entity_id)
);
CREATE TABLE entity_taxonomy (
    id TEXT PRIMARY KEY,
    entity_id TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    related_entity_id TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    relationship_type TEXT NOT NULL,
    created_at TEXT,
    UNIQUE (entity_id, related_entity_id, relationship_type)
);
"""
AGENT_SWARM = """
CREATE TABLE agent_memory (
    id TEXT PRIMARY KEY,
    agentId TEXT,
    scope TEXT NOT NULL CHECK (scope IN ('agent', 'swarm')),
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    summary TEXT,
    embedding BLOB,
    source TEXT NOT NULL CHECK (source IN ('manual', 'file_index', 'session_summary', 'task_completion')),
    sourceTaskId TEXT,
    sourcePath TEXT,
    chunkIndex INTEGER DEFAULT 0,
    totalChunks INTEGER DEFAULT 1,
    tags TEXT DEFAULT '[]',
    createdAt TEXT NOT NULL,
    accessedAt TEXT NOT NULL,
    expiresAt TEXT,
    accessCount INTEGER DEFAULT 0,
    embeddingModel TEXT
);
CREATE INDEX idx_agent_memory_agent ON agent_memory (agentId);
CREATE INDEX idx_agent_memory_scope ON agent_memory (scope);
CREATE INDEX idx_agent_memory_source ON agent_memory (source);
"""
SCHEMAS = {"lane-db": LANE, "agent-swarm": AGENT_SWARM}
# Columns of later versions: only where a memory has something to say there, for the program adds them itself.
LATER = {
    **{"alpha": "REAL DEFAULT 1.0", "beta": "REAL DEFAULT 1.0", "key": "TEXT", "contentHash": "TEXT"},
    **{"version": "INTEGER DEFAULT 1", "updatedAt": "TEXT", "contextKey": "TEXT"},
}


class NewFile:
    """One database in the making; `finish` makes it whole."""

    def __init__(self, path: str, schema: str) -> None:
        self._path = path
        self._columns: dict[str, set[str]] = {}
        try:
            self._db = apsw.Connection(path)
            for setting in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE"):
                self._db.execute(f"PRAGMA {setting}").fetchall()
            self._db.execute("BEGIN")
            self._db.execute(SCHEMAS[schema])
        except apsw.Error as error:
            raise self._refused(error) from error

    def add(self, table: str, row: Mapping[str, Any], *, once: bool = False) -> None:
        """Write a row, `once` where it may be there already. A column that the table does not have is added."""
        known = self._known(table)
        for name in [name for name in row if name not in known]:
            self._widen(table, known, name)
        names = [name for name in row if name in known]
        listed, places = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
        verb = "INSERT OR IGNORE" if once else "INSERT"
        sql = f'{verb} INTO "{table}" ({listed}) VALUES ({places})'
        try:
            self._db.execute(sql, tuple(row[name] for name in names)).fetchall()
        except (apsw.Error, OverflowError, TypeError) as error:
            raise self._refused(error) from error

    def _known(self, table: str) -> set[str]:
        if table not in self._columns:
            rows = self._db.execute(f'PRAGMA table_info("{table}")').fetchall()
            self._columns[table] = {str(row[1]) for row in rows}
        return self._columns[table]

    def _widen(self, table: str, known: set[str], name: str) -> None:
        taken = {column.lower() for column in known}
        if _NAME.fullmatch(name) and name.lower() not in taken and len(known) < MOST_ADDED:
            self._db.execute(f'ALTER TABLE "{table}" ADD COLUMN "{name}" {LATER.get(name, "")}').fetchall()
            known.add(name)

    def finish(self) -> None:
        try:
            self._db.execute("COMMIT").fetchall()
        except apsw.Error as error:
            raise self._refused(error) from error
        self.close()

    def close(self) -> None:
        self._db.close()

    def _refused(self, error: Exception) -> InvalidInput:
        what = str(error).partition(": ")[2] or str(error)
        return InvalidInput(f"{self._path} cannot be written: {what}", "name another file")
