-- The phases of a project: announced, read from its plan, or its active days. `ended` counts completions through the
-- whole store, 0 while a phase goes on; `note` says why the sweep at its end was refused.
CREATE TABLE phase (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    started_at REAL NOT NULL,
    completed_at REAL,
    ended INTEGER NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT '',
    by TEXT NOT NULL
);
CREATE INDEX phase_project ON phase (project, ended);
CREATE INDEX phase_ended ON phase (ended);

-- How many phases were completed when a memory was born or seen again. Its age is counted from there, so that a phase
-- that ends touches only the rows that leave.
ALTER TABLE memory ADD COLUMN renewed_in INTEGER NOT NULL DEFAULT 0;
