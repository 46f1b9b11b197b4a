-- What clients reported and was digested: a report that comes twice counts once.
CREATE TABLE event_seen (
    id TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (id, project, agent)
) WITHOUT ROWID;
CREATE INDEX event_seen_at ON event_seen (at);

-- The files that memories cite stand among their entities now, so that they are found when a tool is about to touch one.
INSERT INTO meta (name, value) SELECT 'reindex', 'memories are found by the files they cite now'
WHERE EXISTS (SELECT 1 FROM memory WHERE more LIKE '%"citations":[%') ON CONFLICT (name) DO NOTHING;
