-- How tasks ended. `more` holds what was said about it, as JSON.
CREATE TABLE outcome (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    task TEXT NOT NULL,
    success INTEGER NOT NULL,
    score REAL NOT NULL,
    verdict TEXT NOT NULL,
    more TEXT NOT NULL
);
CREATE INDEX outcome_session ON outcome (project, session);
