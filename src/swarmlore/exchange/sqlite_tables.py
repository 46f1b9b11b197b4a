"""Read and write SQLite files of other memory programs; reading is page by page and changes nothing on disk.

A file in rollback mode is read under its own locks. In WAL mode SQLite would create files beside it. So a file without
a WAL is opened as immutable, and a change meanwhile ends the reading. A file with a WAL or a left-over journal is
copied to a temporary folder, which is removed as soon as the copy is open.

No view, trigger or computed column of the file is executed. A row is read completely or not at all.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import apsw

from swarmlore.errors import InvalidInput, StoreBusy
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.store.files import address
from swarmlore.workspace.foreign_sqlite import BUSY_MS, STEPS, confine

if TYPE_CHECKING:
    from typing import Any


MOST_ADDED = 100  # most columns of a table after adding those of a row
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
# Memory Lane's columns, then those of swarm-mail. Its vectors have 1,024 dimensions by default; none is written.
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
# Columns of later versions, added only if a memory has a value for them, as the program adds them itself.
LATER = {
    **{"alpha": "REAL DEFAULT 1.0", "beta": "REAL DEFAULT 1.0", "key": "TEXT", "contentHash": "TEXT"},
    **{"version": "INTEGER DEFAULT 1", "updatedAt": "TEXT", "contextKey": "TEXT"},
}


class NewFile:
    """Write a new database in the schema of another program; `finish` commits it."""

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
        """Insert a row, adding missing columns; with `once`, ignore a row that exists already."""
        known = self._known(table)
        for name in [name for name in row if name not in known]:
            self._add_column(table, known, name)
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

    def _add_column(self, table: str, known: set[str], name: str) -> None:
        taken = {column.lower() for column in known}
        if _NAME.fullmatch(name) and name.lower() not in taken and len(known) < MOST_ADDED:
            self._db.execute(f'ALTER TABLE "{table}" ADD COLUMN "{name}" {LATER.get(name, "")}').fetchall()
            known.add(name)

    def finish(self) -> None:
        """Commit and close the database."""
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


MAGIC = b"SQLite format 3\x00"
HEAD_BYTES = 100
MOST_ROW = 1_000_000  # bytes of one row
MOST_COLUMNS = 200
MOST_S = 20.0  # time limit for one page
PAGE = 200
TRIES = 3
BESIDE = ("-wal", "-journal")
FIRST = -(2**63)
_ROW_NUMBERS = ("_rowid_", "rowid", "oid")
_CODECS = {"UTF-8": "utf-8", "UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}
_TABLES = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


@frozen
class Table:
    """An ordinary table: its stored columns, and the name of its row number ('' without one)."""

    name: str
    columns: tuple[str, ...]
    number: str


@frozen
class Row:
    """One row: its place in the table, its values by column, or the problem that makes it unreadable."""

    place: int
    values: dict[str, Any]
    problem: str = ""


def is_database(head: bytes) -> bool:
    """Return True if the first bytes of a file are those of a SQLite database."""
    return head.startswith(MAGIC)


class Tables:
    """Read the ordinary tables of one SQLite file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._until = 0.0
        self._stamp = ""  # inode, size and time of a file opened as immutable
        with self._guarded():
            self._db = self._open(os.path.realpath(path))
            self._codec = _CODECS[str(self._db.execute("PRAGMA encoding").fetchall()[0][0])]
            self.tables = {table.name: table for table in self._listed()}

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table, none if there is no such table."""
        known = self.tables.get(table)
        return known.columns if known else ()

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        with self._guarded():
            return int(str(self._db.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchall()[0][0]))

    def rows(self, table: str, after: int, leave_out: Sequence[str] = (), limit: int = PAGE) -> list[Row]:
        """Return a page of rows after a place, in order."""
        known = self.tables[table]
        columns = [name for name in known.columns if name not in leave_out]
        where = f"WHERE {known.number} > ? ORDER BY {known.number} LIMIT ?" if known.number else "LIMIT ? OFFSET ?"
        values = (after, limit) if known.number else (limit, max(0, after))
        rows = self._select(known, columns, where, values)
        if known.number:
            return rows
        return [Row(max(0, after) + at, row.values, row.problem) for at, row in enumerate(rows, start=1)]

    def with_values(self, table: str, column: str, values: Sequence[str], limit: int) -> list[Row]:
        """Return the rows of a table that have one of these values in a column."""
        known = self.tables.get(table)
        if known is None or column not in known.columns or not values:
            return []
        places = ",".join("?" * len(values))
        return self._select(known, known.columns, f"WHERE {_quoted(column)} IN ({places}) LIMIT ?", (*values, limit))

    def _select(self, table: Table, columns: Sequence[str], rest: str, values: Sequence[Any]) -> list[Row]:
        names = [_quoted(name) for name in columns]
        size = " + ".join(f"iif(typeof({name}) = 'text', octet_length({name}), 0)" for name in names) or "0"
        # Texts are read as bytes, since one in a wrong encoding would abort the statement. Blobs such as vectors are
        # skipped, as they hold no text to remember.
        cells = [
            f"CASE WHEN typeof({name}) = 'blob' OR octet_length({name}) > {MOST_ROW} THEN NULL "
            f"WHEN typeof({name}) = 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in names
        ]
        number = table.number or "0"
        sql = f"SELECT {', '.join((number, size, *cells))} FROM {_quoted(table.name)} {rest}"
        with self._guarded():
            rows = self._db.execute(sql, tuple(values)).fetchall()
            self._check_unchanged()
        return [self._row(row, columns) for row in rows]

    def _row(self, row: Sequence[Any], columns: Sequence[str]) -> Row:
        place, size, *cells = row
        if size > MOST_ROW:
            return Row(int(place), {}, f"too long ({size} bytes)")
        try:
            values = {name: self._value(cell) for name, cell in zip(columns, cells, strict=True)}
        except UnicodeDecodeError:
            return Row(int(place), {}, "a text that is not Unicode")
        return Row(int(place), values)

    def _value(self, cell: Any) -> Any:
        if isinstance(cell, bytes):
            return cell.decode(self._codec)
        if isinstance(cell, float) and cell - cell != 0.0:
            return None  # an infinity is no meaningful value of these formats
        return cell

    def _listed(self) -> Iterator[Table]:
        for name, sql in self._db.execute(_TABLES).fetchall():
            if isinstance(name, str) and isinstance(sql, str) and not sql[:20].upper().startswith("CREATE VIRTUAL"):
                yield self._described(name)

    def _described(self, name: str) -> Table:
        """Describe a table by its stored columns, without computed and hidden ones."""
        info = self._db.execute(f"PRAGMA table_xinfo({_quoted(name)})").fetchall()
        columns = tuple(str(row[1]) for row in info if not row[6])[:MOST_COLUMNS]
        taken = {str(row[1]).lower() for row in info}
        number = next((word for word in _ROW_NUMBERS if word not in taken), "")
        if number:
            try:
                self._db.execute(f"SELECT {number} FROM {_quoted(name)} LIMIT 0").fetchall()
            except apsw.SQLError:
                number = ""  # a table without row numbers
        return Table(name, columns, number)

    # Opening

    def _open(self, path: str) -> apsw.Connection:
        """Open the file directly, as immutable, or as a copy, depending on its journal mode and WAL."""
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
        if not is_database(head):
            raise InvalidInput(f"{self.path} is no SQLite database", "check the file")
        if any(_size(path + end) for end in BESIDE):
            return self._open_copy(path)
        if head[18:20] == b"\x01\x01":
            return self._connect(path, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)
        self._stamp = _stamp(path)
        return self._connect(address(path, still=True), apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)

    def _open_copy(self, path: str) -> apsw.Connection:
        """Open a copy with its WAL and unlink it at once, so that no killed process leaves a copy behind."""
        folder = tempfile.mkdtemp(prefix="swarmlore-")
        try:
            copy = os.path.join(folder, "copy.db")
            _copy(path, copy, self.path)
            return self._connect(copy, apsw.SQLITE_OPEN_READWRITE, exclusive=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _connect(self, path: str, flags: int, *, exclusive: bool = False) -> apsw.Connection:
        db = apsw.Connection(path, flags=flags)
        try:
            db.set_busy_timeout(BUSY_MS)
            confine(db)
            db.set_progress_handler(lambda: time.monotonic() > self._until, STEPS)
            self._until = time.monotonic() + MOST_S
            db.execute("PRAGMA cell_size_check = ON").fetchall()
            if exclusive:
                db.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()  # then the WAL needs no shared memory
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except BaseException:
            db.close()
            raise
        return db

    def _check_unchanged(self) -> None:
        if self._stamp and _stamp(os.path.realpath(self.path)) != self._stamp:
            raise _changing(self.path)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Context manager: limit a statement to 20 seconds, and turn errors of SQLite and the system into ours."""
        self._until = time.monotonic() + MOST_S
        try:
            yield
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreBusy(f"{self.path} is in use by another program", "try again when it has stopped") from error
        except apsw.InterruptError as error:
            raise InvalidInput(f"{self.path} takes too long to read", "check the file") from error
        except (apsw.Error, UnicodeDecodeError) as error:
            what = str(error).partition(": ")[2] or str(error)
            raise InvalidInput(f"{self.path} cannot be read: {what}", "it may be damaged: check the file") from error
        except OSError as error:
            raise InvalidInput(
                f"{self.path} cannot be read: {error.strerror}", "check the path and its permissions"
            ) from error


def _copy(path: str, copy: str, shown: str) -> None:
    for _ in range(TRIES):
        before = _stamp(path)
        for end in ("", *BESIDE):
            if _size(path + end):
                shutil.copyfile(path + end, copy + end)
        if _stamp(path) == before:
            return
    raise _changing(shown)


def _changing(path: str) -> StoreBusy:
    return StoreBusy(f"{path} changes while it is read", "stop the program that writes it, then run the same command")


def _stamp(path: str) -> str:
    """Return inode, size and time of a file. A growing WAL does not count, as its copied transactions suffice."""
    stat = os.stat(path)
    return f"{stat.st_ino}.{stat.st_size}.{stat.st_mtime_ns}"


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
