-- Who can be written to: agents that said that they are there.
CREATE TABLE agent (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    program TEXT NOT NULL,
    model TEXT NOT NULL,
    task TEXT NOT NULL,
    registered_at REAL NOT NULL,
    active_at REAL NOT NULL,
    PRIMARY KEY (project, name)
) WITHOUT ROWID;

CREATE TABLE message (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    sender TEXT NOT NULL,
    addressed TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    thread TEXT NOT NULL,
    importance TEXT NOT NULL,
    ack_required INTEGER NOT NULL,
    sent_at REAL NOT NULL,
    UNIQUE (id, sender)
);
CREATE INDEX message_sender ON message (project, sender, seq);

-- A message in the inbox of one who was written to.
CREATE TABLE recipient (
    message TEXT NOT NULL,
    project TEXT NOT NULL,
    sender TEXT NOT NULL,
    agent TEXT NOT NULL,
    read_at REAL,
    acked_at REAL,
    PRIMARY KEY (message, agent),
    FOREIGN KEY (message, sender) REFERENCES message (id, sender) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX recipient_agent ON recipient (project, agent, message);

-- Work that nobody waits for, done in the name of whoever put it there. `fence` grows with each lease: whoever holds an
-- older one can neither finish the job nor leave an effect. `again`: it was asked for once more while it was at it.
-- `since`: when its pause or its lease began. One that would last longer than it was meant to is from a clock that was
-- ahead, and is over.
CREATE TABLE job (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    role TEXT NOT NULL,
    trust INTEGER NOT NULL,
    folder TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    queued_at REAL NOT NULL,
    not_before REAL NOT NULL,
    since REAL NOT NULL,
    ended_at REAL,
    owner TEXT NOT NULL DEFAULT '',
    fence INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0,
    again INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX job_key ON job (project, agent, key) WHERE key <> '';
CREATE INDEX job_open ON job (seq) WHERE state IN ('waiting', 'running');
CREATE INDEX job_running ON job (lease_until) WHERE state = 'running';
CREATE INDEX job_ended ON job (state, ended_at) WHERE state IN ('done', 'dead');

-- What a job has changed, by key: it happens once, however often the job is tried.
CREATE TABLE effect (
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    key TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (project, agent, key)
) WITHOUT ROWID;
CREATE INDEX effect_at ON effect (at);

CREATE TABLE worker (
    id TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started_at REAL NOT NULL,
    seen_at REAL NOT NULL
) WITHOUT ROWID;

-- The job for which an operation was done: `undo` takes back what a caller did, not what was done for it meanwhile.
ALTER TABLE operation ADD COLUMN job TEXT NOT NULL DEFAULT '';
