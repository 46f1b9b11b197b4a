-- Who may ask a server, as whom. Of a token only a mark is kept, from which it cannot be found.
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    mark TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    role TEXT NOT NULL,
    folder TEXT NOT NULL,
    created_at REAL NOT NULL,
    created_by TEXT NOT NULL,
    expires_at REAL,
    used_at REAL,
    revoked_at REAL
) WITHOUT ROWID;

-- What was answered to a request that its sender named: asked again, because the answer was lost on the way, it is
-- answered the same, and nothing is done twice.
CREATE TABLE answered (
    token TEXT NOT NULL,
    name TEXT NOT NULL,
    asked TEXT NOT NULL,
    answer TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (token, name)
) WITHOUT ROWID;
CREATE INDEX answered_at ON answered (at);
