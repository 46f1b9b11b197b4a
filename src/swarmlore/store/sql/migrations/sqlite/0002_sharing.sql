-- Names of projects, ledgers and imports. Equal texts are found by their shingle, no longer by a column of their own.

-- A project that got a remote, moved or changed its address is known under several names; `project` is the first.
CREATE TABLE project_alias (
    alias TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX project_alias_project ON project_alias (project);

DROP INDEX memory_text_hash;
ALTER TABLE memory DROP COLUMN text_hash;
CREATE INDEX memory_order ON memory (partition, created_at, id);
INSERT INTO meta (name, value) SELECT 'reindex', 'texts are indexed in another way now' WHERE EXISTS (SELECT 1 FROM memory);

-- A database of a team has a type of this name.
ALTER TABLE vector RENAME TO embedding;
DROP INDEX vector_change;
CREATE INDEX embedding_change ON embedding (change);

-- Rows that came through a ledger: they were compared with their neighbours where they were written.
CREATE TABLE arrived (
    memory_seq INTEGER PRIMARY KEY REFERENCES memory (seq) ON DELETE CASCADE
);

-- The files that a person agreed to keep in step: up to which change they follow, and how they looked then.
CREATE TABLE ledger (
    place TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    seen INTEGER NOT NULL,
    stamp TEXT NOT NULL,
    problem TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;

-- Each line as it was last written. A deletion is kept whole: there may be no row to make it from.
CREATE TABLE ledger_line (
    place TEXT NOT NULL,
    project TEXT NOT NULL,
    memory TEXT NOT NULL,
    hash TEXT NOT NULL,
    born_at REAL NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (place, memory)
) WITHOUT ROWID;

-- How far an import has come, so that it can go on after a kill.
CREATE TABLE import_state (
    source TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    position INTEGER NOT NULL,
    line INTEGER NOT NULL,
    counts TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
