-- What clients reported and was digested: a report that comes twice counts once.
CREATE TABLE event_seen (
    id TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (id, project, agent)
);
CREATE INDEX event_seen_at ON event_seen (at);
ALTER TABLE event_seen ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_seen FORCE ROW LEVEL SECURITY;
CREATE POLICY sight ON event_seen USING (project = ANY ((SELECT every_own_project())::TEXT[]));

-- The files that memories cite stand among their entities now, so that they are found when a tool is about to touch one.
INSERT INTO meta (name, value) SELECT 'reindex', 'memories are found by the files they cite now'
WHERE EXISTS (SELECT 1 FROM memory WHERE more LIKE '%"citations":[%') ON CONFLICT (name) DO NOTHING;
