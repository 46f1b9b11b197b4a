-- What sessions taught, as proposals that people decide on. A reflection is one look at one session or text.
CREATE TABLE reflection (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    client TEXT NOT NULL,
    at REAL NOT NULL,
    source TEXT NOT NULL,
    more TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX reflection_session ON reflection (project, session);

-- `numbering` is its number, unique among those of its project that are open. What was rejected stays, so that it is not
-- proposed again.
CREATE TABLE proposal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    reflection TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    numbering INTEGER NOT NULL,
    label TEXT NOT NULL,
    route TEXT NOT NULL,
    level TEXT NOT NULL,
    state TEXT NOT NULL,
    approval TEXT NOT NULL DEFAULT '',
    more TEXT NOT NULL
);
CREATE INDEX proposal_state ON proposal (project, state, seq);
CREATE INDEX proposal_reflection ON proposal (reflection);
CREATE INDEX proposal_approval ON proposal (approval) WHERE approval <> '';

-- What a person approved at once: the intention comes first, then files, commits and counts. `state`: approved, done.
CREATE TABLE approval (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    at REAL NOT NULL,
    state TEXT NOT NULL,
    more TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX approval_open ON approval (project, at) WHERE state <> 'done';
